//! A month of a user of the medication log.

use anyhow::{Result, ensure};
use domain::okusuri::{DoseRecord, Email, Flow, Log, Plan, StockChange, Symptom};
use domain::{EntryId, ShortText, UserId};
use jiff::civil::time;
use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp, ToSpan};
use okusuri_store::rows::{EmailOwner, User};
use okusuri_store::{DoseKey, Doses, LogEntry, Logs, MedicineDraft, Medicines, Row, SignIns, UserData, item};
use store_base::{Table, unless_condition_failed};

use super::{EMAIL, Ids};

const ZONE: &str = "Asia/Tokyo";
const DAYS: i32 = 30;
/// Days without medication, counted back from today. Today is left to the visitor.
const MISSED: [i32; 3] = [0, 9, 23];
/// Days of bleeding, in the same way.
const BLEEDING: [(i32, Flow, &[Symptom]); 4] = [
    (17, Flow::Spotting, &[Symptom::Mood]),
    (16, Flow::Heavy, &[Symptom::Cramps, Symptom::Tiredness]),
    (15, Flow::Medium, &[Symptom::Cramps]),
    (14, Flow::Light, &[]),
];

fn user(ids: Ids) -> Result<UserId> {
    Ok(UserId::new(EntryId::derived(ids.at, "demo user").to_string())?)
}

/// Refuses a user with the demo's address who is not the demo's.
pub(super) async fn refuse_foreign(table: &Table, ids: Option<Ids>) -> Result<()> {
    let found = SignIns::new(table).of_email(&Email::new(EMAIL)?).await?;
    let own = ids.map(user).transpose()?.map(|id| id.to_string());
    let is_foreign = found.is_some_and(|found| Some(found.user_id) != own);
    ensure!(!is_foreign, "a user {EMAIL} exists, and is not the demo's");
    Ok(())
}

pub(super) async fn add(table: &Table, ids: Ids) -> Result<()> {
    let id = user(ids)?;
    let created_at = ids.at - SignedDuration::from_hours(24 * i64::from(DAYS));
    put(
        table,
        &User {
            user_id: id.to_string(),
            name: Some("Demo".to_owned()),
            email: Some(EMAIL.to_owned()),
            email_verified: true,
            image: None,
            time_zone: ZONE.to_owned(),
            regimen: None,
            asks_regimen: false,
            sessions_from: None,
            sign_in_grants_added: None,
            deleting: None,
            created_at,
            updated_at: created_at,
        },
    )
    .await?;
    put(table, &EmailOwner { email: EMAIL.to_owned(), user_id: id.to_string(), created_at }).await?;

    let today = ids.at.in_tz(ZONE)?.date();
    let days: Vec<_> = (0..DAYS).filter(|ago| !MISSED.contains(ago)).map(|ago| (ago, today - ago.days())).collect();
    let entry = |(ago, date): &(i32, jiff::civil::Date)| LogEntry {
        log: Log { date: *date, has_bleeding: BLEEDING.iter().any(|(day, ..)| day == ago) },
        is_taken: true,
        note: None,
        flow: BLEEDING.iter().find(|(day, ..)| day == ago).map(|(_, flow, _)| Some(*flow)),
        symptoms: BLEEDING.iter().find(|(day, ..)| day == ago).map(|(.., symptoms)| symptoms.iter().copied().collect()),
        id: EntryId::derived(created_at, &format!("demo log {date}")).uuid(),
    };
    let entries: Vec<_> = days.iter().rev().map(entry).collect();
    Logs::new(table).put_all(&id, &entries, ids.at).await?;

    let (medicines, doses) = (Medicines::new(table), Doses::new(table));
    let known = medicines.all(&id).await?;
    let zone = TimeZone::get(ZONE)?;
    for (name, dose, at, left) in [
        ("Iron", "1 tablet", Some(time(8, 0, 0, 0)), Some(34)),
        ("Vitamin D", "2 drops", Some(time(20, 0, 0, 0)), None),
        ("Ibuprofen", "1 tablet, as needed", None, None),
    ] {
        let medicine = EntryId::derived(created_at, &format!("demo {name}")).uuid();
        if !known.iter().any(|known| known.medicine_id == medicine.to_string()) {
            let plan = Plan::new(at.into_iter().collect(), today - DAYS.days(), None)?;
            let stock = left.map(|left| StockChange { left: Some(left), per_dose: 1, pack_size: 28, warn_days: 7 });
            let (name, dose) = (ShortText::new(name)?, ShortText::new(dose)?);
            medicines.add(&id, medicine, &MedicineDraft { name, dose, plan, stock }, created_at).await?;
        }
        for (ago, date) in &days {
            // A dose as needed was taken now and then.
            let Some(at) = at.or_else(|| (ago % 8 == 5).then(|| time(15, 20, 0, 0))) else { continue };
            let key = DoseKey { date: *date, time: at, medicine_id: medicine.to_string() };
            let taken_at = date.to_datetime(at).to_zoned(zone.clone())?.timestamp();
            doses.mark(&id, &key, (DoseRecord::Taken, Some(taken_at)), &zone, ids.at).await?;
        }
    }
    Ok(())
}

/// Stores a row, unless there is one.
async fn put<R: Row>(table: &Table, row: &R) -> Result<()> {
    // Stops an interrupted command that runs again from replacing what the user has changed.
    let put = table.put_item(item(row)?).condition_expression("attribute_not_exists(PK)").send().await;
    unless_condition_failed(put)?;
    Ok(())
}

pub(super) async fn remove(table: &Table, ids: Ids) -> Result<()> {
    UserData::new(table).delete(&user(ids)?, Timestamp::now(), || true).await?;
    Ok(())
}
