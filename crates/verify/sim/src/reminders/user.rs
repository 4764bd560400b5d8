//! Users: their medicines and browsers, and what they do with their doses.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use domain::UserId;
use domain::okusuri::{DoseRecord, Language};
use jiff::civil::Time;
use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp, ToSpan as _};
use okusuri_store::rows::{Medicine, PushSubscription, User as Profile};
use okusuri_store::{DoseKey, DoseReminderChange, Doses, Reminders, Row, item};
use tokio::time::sleep;

use super::push::keys;
use super::world::{Change, Dose, Mark, User, World};
use super::{MINUTES, TIME_LIMIT};
use crate::wire::{Behind as _, Wire};

const ZONES: [&str; 5] = ["Asia/Tokyo", "Europe/Berlin", "America/New_York", "Asia/Kathmandu", "Pacific/Kiritimati"];

/// What push services answer usually.
const ANSWERS: [u16; 6] = [201, 201, 201, 201, 403, 410];

/// How often a user tries a request until it succeeds.
const TRIES_MAX: usize = 12;

/// Makes all users; their number.
pub(super) async fn set_up(world: &World) -> anyhow::Result<usize> {
    world.with(|state| state.history.is_stormy = false);
    let users = world.with(|state| state.history.rng.usize(2..=4));
    for number in 0..users {
        let user = add(world, number).await?;
        world.with(|state| state.users.push(user));
    }
    world.with(|state| state.history.is_stormy = true);
    Ok(users)
}

async fn add(world: &World, number: usize) -> anyhow::Result<User> {
    let wire = Wire::perfect(world.clone());
    let (begin, mut rng) = world.with(|state| (state.begin, state.history.rng.fork()));
    let id = UserId::new(format!("user-{number}"))?;
    let zone = TimeZone::get(ZONES[rng.usize(..ZONES.len())])?;
    // Now and then somebody has more doses than a day has messages, and records none.
    let is_active = number > 0 || rng.u8(..3) > 0;
    let count = if is_active { rng.usize(1..7) } else { 14 };
    let mut times = BTreeSet::new();
    for _ in 0..count {
        let at = begin + SignedDuration::from_mins(rng.i64(0..MINUTES.cast_signed() - 60));
        let time = zone.to_datetime(at).time();
        times.insert(Time::new(time.hour(), time.minute(), 0, 0)?);
    }
    let profile = Profile {
        user_id: id.to_string(),
        name: None,
        email: Some(format!("user-{number}@example.com")),
        email_verified: rng.u8(..4) > 0,
        image: None,
        time_zone: zone.iana_name().unwrap_or_default().to_owned(),
        regimen: None,
        asks_regimen: false,
        sessions_from: None,
        sign_in_grants_added: None,
        deleting: None,
        created_at: begin,
        updated_at: begin,
    };
    put(&wire, &profile).await?;
    let today = zone.to_datetime(begin).date();
    let (mut names, mut doses) = (Vec::new(), BTreeMap::new());
    let times: Vec<_> = times.into_iter().collect();
    for (index, times) in times.chunks(7).enumerate() {
        let (name, medicine_id) = (format!("medicine-{index}-of-{id}"), format!("medicine-{index}"));
        let medicine = Medicine {
            user_id: id.to_string(),
            medicine_id: medicine_id.clone(),
            name: name.clone(),
            dose: String::new(),
            times: times.to_vec(),
            from: today.checked_sub(9.days())?,
            until: None,
            former: Vec::new(),
            stock: None,
            version: 0,
            created_at: begin - SignedDuration::from_hours(999),
            updated_at: begin,
        };
        put(&wire, &medicine).await?;
        names.push(name);
        for date in [today.yesterday()?, today, today.tomorrow()?] {
            doses.extend(times.iter().map(|time| {
                // The first minute in which the user's clock shows the time, or a later one.
                let is_reached = |at: &Timestamp| zone.to_datetime(*at) >= date.to_datetime(*time);
                let from = begin.as_second().div_euclid(60) * 60 - 40 * 3_600;
                let mut minutes = (0..6_000).filter_map(|minute| Timestamp::from_second(from + minute * 60).ok());
                let due = minutes.find(is_reached).unwrap_or_default();
                let changes = vec![Change { at: Timestamp::MIN, mark: Mark::Open, told: Some(Timestamp::MIN) }];
                ((date, *time), Dose { medicine_id: medicine_id.clone(), due, changes })
            }));
        }
    }
    let change = DoseReminderChange {
        is_enabled: Some(true),
        is_mailed: Some(rng.u8(..4) > 0),
        language: Some(if rng.bool() { Language::Ja } else { Language::En }),
    };
    let mut is_reachable = change.is_mailed == Some(true) && profile.email_verified;
    let [p256dh, auth] = keys()?;
    for browser in 0..rng.u8(..3) {
        let answer = ANSWERS[rng.usize(..ANSWERS.len())];
        is_reachable |= answer == 201;
        let subscription = PushSubscription {
            user_id: id.to_string(),
            platform: "web".to_owned(),
            endpoint: format!("https://push.example/{id}/{browser}/{answer}"),
            p256dh: p256dh.clone(),
            auth: auth.clone(),
            is_enabled: true,
            disabled_because: None,
            failures: 0,
            last_sent_at: None,
            created_at: begin,
            updated_at: begin,
        };
        put(&wire, &subscription).await?;
    }
    Reminders::new(&wire.table()).change_doses(&id, change, &zone, begin).await?;
    Ok(User { id, zone, names, doses, is_reachable, is_active })
}

async fn put<R: Row>(wire: &Wire<World>, row: &R) -> anyhow::Result<()> {
    wire.client().put_item().table_name("okusuri").set_item(Some(item(row)?)).send().await?;
    Ok(())
}

/// What a user does with a dose.
#[derive(Debug, Clone, Copy)]
enum Action {
    Record(DoseRecord),
    Undo,
}

/// Now and then does something with a dose that is due about now.
pub(super) async fn live(world: World, user: usize) {
    while world.with(|state| state.history.is_stormy && state.users[user].is_active) {
        let wait_s = world.with(|state| state.history.rng.u64(60..1_500));
        sleep(Duration::from_secs(wait_s)).await;
        let chosen = world.with(|state| {
            let now = state.now();
            let near = |due: Timestamp| (-30 * 60..180 * 60).contains(&now.duration_since(due).as_secs());
            let near: Vec<_> = state.users[user].doses.iter().filter(|(_, dose)| near(dose.due)).collect();
            let ((date, time), dose) = near.get(state.history.rng.usize(..near.len().max(1)))?;
            let key = DoseKey { date: *date, time: *time, medicine_id: dose.medicine_id.clone() };
            let until = now + SignedDuration::from_secs(state.history.rng.i64(300..2_700));
            Some((
                key,
                match state.history.rng.u8(..10) {
                    0..4 => Action::Record(DoseRecord::Taken),
                    4 => Action::Record(DoseRecord::Skipped),
                    5..8 => Action::Record(DoseRecord::Snoozed { until }),
                    _ => Action::Undo,
                },
            ))
        });
        let Some((key, action)) = chosen else { continue };
        world.history(|history| {
            history.under_way += 1;
            history.count("actions", 1);
            history.note(|| format!("user {user}: {action:?} {key:?}"));
        });
        for _ in 0..TRIES_MAX {
            let wire = Wire::new(world.clone());
            if wire.unless_killed(act(&wire, user, &key, action), TIME_LIMIT).await == Some(true) {
                world.with(|state| {
                    let now = state.now();
                    let dose = state.users[user].doses.get_mut(&(key.date, key.time));
                    dose.and_then(|dose| dose.changes.last_mut()).map(|change| change.told.get_or_insert(now));
                });
                break;
            }
            let wait_ms = world.with(|state| state.history.rng.u64(..20_000));
            sleep(Duration::from_millis(wait_ms)).await;
        }
        world.history(|history| history.under_way -= 1);
    }
}

/// A request to the API; whether it was answered with success, or with 404 for nothing to undo.
async fn act(wire: &Wire<World>, user: usize, key: &DoseKey, action: Action) -> bool {
    let (id, zone, now) = wire.world.with(|state| {
        let user = &state.users[user];
        (user.id.clone(), user.zone.clone(), state.now())
    });
    let (doses, reminders) = (Doses::new(&wire.table()), Reminders::new(&wire.table()));
    let (is_done, is_followed) = match action {
        Action::Record(record) => {
            let marked = doses.mark(&id, key, (record, None), &zone, now).await;
            (marked.is_ok(), matches!(record, DoseRecord::Snoozed { .. }))
        }
        Action::Undo => (doses.unmark(&id, key).await.is_ok(), true),
    };
    is_done && (!is_followed || reminders.follow_doses(&id, &zone, now).await.is_ok())
}
