//! Doses: the doses of a day, what the user recorded for them, and adherence.

use std::collections::BTreeMap;

use domain::calendar::{DateRange, parse_date};
use domain::okusuri::{
    Adherence, Dose, DoseRecord, DoseState, SNOOZE_MINUTES_MAX, adherence_range, check_loggable, clock_time, may_ask,
    parse_clock_time, taken_at,
};
use jiff::civil::Date;
use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp};
use lambda_kit::http::{Reply, Request, invalid_parameter};
use lambda_kit::problem::{INTERNAL, INVALID_BODY, Problem};
use okusuri_store::rows::{self, DoseMark, Medicine};
use okusuri_store::{DayDoses, DoseKey};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::Okusuri;
use crate::medicines::{is_id, medicine_problem};
use crate::problems::{DOSE_NOT_FOUND, date_problem, store_problem, write_problem};

/// The doses of days.
type Days = BTreeMap<Date, Vec<DayDoses>>;

const BODY_BYTES_MAX: usize = 1_024;

/// The length of a snooze without `minutes`.
const SNOOZE_MINUTES_DEFAULT: u16 = 10;

/// The body of `PUT /okusuri/api/doses/{date}/{time}/{medicineId}`.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct DoseBody {
    state: StateBody,
    minutes: Option<u16>,
    at: Option<String>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
enum StateBody {
    Taken,
    Skipped,
    Snoozed,
}

impl DoseBody {
    fn recorded(&self, now: Timestamp) -> Result<DoseRecord, Problem> {
        match (&self.state, self.minutes) {
            (StateBody::Taken, None) => Ok(DoseRecord::Taken),
            (StateBody::Skipped, None) => Ok(DoseRecord::Skipped),
            (StateBody::Snoozed, minutes) => {
                let minutes = minutes.unwrap_or(SNOOZE_MINUTES_DEFAULT);
                if !(1..=SNOOZE_MINUTES_MAX).contains(&minutes) {
                    return Err(INVALID_BODY.detail(format!("`minutes` must be 1 to {SNOOZE_MINUTES_MAX}")));
                }
                let until = now.checked_add(SignedDuration::from_mins(minutes.into())).map_err(|_| INTERNAL)?;
                Ok(DoseRecord::Snoozed { until })
            }
            _ => Err(INVALID_BODY.detail("`minutes` is allowed only with `snoozed`")),
        }
    }

    /// When the dose was taken, if the request says it.
    fn at(&self, date: Date, zone: &TimeZone, now: Timestamp) -> Result<Option<Timestamp>, Problem> {
        let Some(at) = &self.at else { return Ok(None) };
        if !matches!(self.state, StateBody::Taken) {
            return Err(INVALID_BODY.detail("`at` is allowed only with `taken`"));
        }
        let at: Timestamp = at.parse().map_err(|why| INVALID_BODY.detail(format!("`at`: {why}")))?;
        let at = taken_at(at, date, zone, now);
        at.map(Some).ok_or_else(|| INVALID_BODY.detail("`at` must be within a day of the dose's day"))
    }
}

/// The doses of a day, earliest first; of today if the request names no day.
pub(crate) async fn list(okusuri: &Okusuri, request: &Request) -> Result<Reply, Problem> {
    let signed_in = okusuri.user(request).await?;
    let now = (okusuri.now)();
    let date = request.parse_query("date", parse_date)?.unwrap_or_else(|| signed_in.today(now));
    let day = DateRange::new(date, date).map_err(|_| INTERNAL)?;
    let days = okusuri.doses.of_days(&signed_in.id, day, &signed_in.time_zone, now).await.map_err(store_problem)?;
    let mut items: Vec<_> = days.get(&date).into_iter().flatten().flat_map(|of_day| to_json(date, of_day)).collect();
    items.sort_by(|(a, _), (b, _)| a.cmp(b));
    let items: Vec<_> = items.into_iter().map(|(_, dose)| dose).collect();
    Ok(Reply::json(200, &json!({ "date": date.to_string(), "items": items })))
}

/// Records a dose as taken, skipped or snoozed: 201, or 200 if it replaces an earlier record.
pub(crate) async fn mark(okusuri: &Okusuri, request: &Request) -> Result<Reply, Problem> {
    let signed_in = okusuri.user(request).await?;
    let name = dose_key(request)?;
    let now = (okusuri.now)();
    let body: DoseBody = request.json(BODY_BYTES_MAX)?;
    let recorded = body.recorded(now)?;
    let today = signed_in.today(now);
    check_loggable(name.date, today).map_err(date_problem)?;
    let is_snoozed = matches!(recorded, DoseRecord::Snoozed { .. });
    if is_snoozed && !may_ask(name.date, today) {
        return Err(invalid_parameter("date", "a dose that is more than two days old never asks again"));
    }
    let zone = &signed_in.time_zone;
    let at = body.at(name.date, zone, now)?;
    let marked = okusuri.doses.mark(&signed_in.id, &name, (recorded, at), zone, now).await.map_err(medicine_problem)?;
    if is_snoozed {
        okusuri.follow_doses(&signed_in, now).await?;
    }
    Ok(Reply::json(if marked.is_new { 201 } else { 200 }, &row_to_json(&marked.row)))
}

/// Deletes the record of a dose.
pub(crate) async fn unmark(okusuri: &Okusuri, request: &Request) -> Result<Reply, Problem> {
    let signed_in = okusuri.user(request).await?;
    let name = dose_key(request)?;
    let is_deleted = okusuri.doses.unmark(&signed_in.id, &name).await.map_err(write_problem)?;
    // Without a record too: an earlier attempt may have deleted it, and ended before this.
    okusuri.follow_doses(&signed_in, (okusuri.now)()).await?;
    if !is_deleted {
        return Err(DOSE_NOT_FOUND);
    }
    let DoseKey { date, time, medicine_id } = name;
    Ok(Reply::json(200, &json!({ "date": date.to_string(), "time": clock_time(time), "medicineId": medicine_id })))
}

/// The share that was taken in the last thirty days. Days with doses count by their doses, other
/// days by their logs. So a medicine that is added today does not change the days before it.
pub(crate) async fn adherence(okusuri: &Okusuri, request: &Request) -> Result<Reply, Problem> {
    let signed_in = okusuri.user(request).await?;
    let now = (okusuri.now)();
    let today = signed_in.today(now);
    let range = adherence_range(today);
    let medicines = okusuri.medicines.all(&signed_in.id).await.map_err(store_problem)?;
    let doses = okusuri.doses.of_days(&signed_in.id, range, &signed_in.time_zone, now).await.map_err(store_problem)?;
    let calendar = okusuri.logs_of(&signed_in).calendar(&signed_in.id, range, today).await.map_err(store_problem)?;
    let has_planned = |date: &Date| doses.get(date).is_some_and(|of_day| planned(of_day).next().is_some());
    let others: Vec<_> = calendar.days.into_iter().filter(|day| !has_planned(&day.date)).collect();
    let of_logs = Adherence::of_days(&others);
    let of_doses = doses.values().fold(Adherence::default(), |sum, of_day| sum.and(Adherence::of_doses(all(of_day))));
    let mut body = json!({ "from": range.from().to_string(), "to": range.to().to_string() });
    body["of"] = match (of_logs.due, of_doses.due) {
        (0, 0) if medicines.is_empty() => "logs",
        (_, 0) if of_logs.due > 0 => "logs",
        (0, _) => "doses",
        _ => "both",
    }
    .into();
    if !medicines.is_empty() {
        body["medicines"] = medicines.iter().map(|medicine| medicine_to_json(medicine, &doses)).collect();
    }
    write_adherence(&mut body, of_logs.and(of_doses));
    Ok(Reply::json(200, &body))
}

/// The adherence of each medicine that has doses on these days, the oldest medicine first.
pub(crate) fn by_medicine(doses: &Days) -> Vec<Value> {
    // The ids are sorted by time.
    let medicines: BTreeMap<_, _> =
        doses.values().flatten().map(|of_day| (&of_day.medicine.medicine_id, &of_day.medicine)).collect();
    medicines.into_values().map(|medicine| medicine_to_json(medicine, doses)).collect()
}

fn medicine_to_json(medicine: &Medicine, doses: &Days) -> Value {
    let of_days = doses.values().flatten().filter(|of_day| of_day.medicine.medicine_id == medicine.medicine_id);
    let of_medicine: Vec<_> = of_days.flat_map(|of_day| &of_day.doses).collect();
    let as_needed = of_medicine.iter().filter(|dose| dose.is_as_needed).count();
    let mut item = json!({ "medicineId": medicine.medicine_id, "name": medicine.name, "asNeeded": as_needed });
    write_adherence(&mut item, Adherence::of_doses(of_medicine));
    item
}

fn all(of_day: &[DayDoses]) -> impl Iterator<Item = &Dose> {
    of_day.iter().flat_map(|of_day| &of_day.doses)
}

/// Without those that were taken as needed.
fn planned(of_day: &[DayDoses]) -> impl Iterator<Item = &Dose> {
    all(of_day).filter(|dose| !dose.is_as_needed)
}

/// The numbers of a day's doses, for the calendar.
pub(crate) fn count(of_day: &[DayDoses]) -> Value {
    let count = |is: fn(&Dose) -> bool| planned(of_day).filter(|dose| is(dose)).count();
    json!({
        "planned": planned(of_day).count(),
        "taken": count(|dose| dose.state == DoseState::Taken),
        "skipped": count(|dose| dose.state == DoseState::Skipped),
        "missed": count(|dose| dose.state == DoseState::Missed),
        "asNeeded": all(of_day).filter(|dose| dose.is_as_needed).count(),
    })
}

fn write_adherence(body: &mut Value, adherence: Adherence) {
    body["due"] = adherence.due.into();
    body["taken"] = adherence.taken.into();
    if let Some(rate) = adherence.rate() {
        body["rate"] = rate.into();
    }
}

fn dose_key(request: &Request) -> Result<DoseKey, Problem> {
    let medicine_id = request.path_parameter("medicineId");
    // The id becomes part of a key. Whether the user has this medicine is checked later.
    if !is_id(medicine_id) {
        return Err(invalid_parameter("medicineId", "is not the id of a medicine"));
    }
    Ok(DoseKey {
        date: request.parse_path("date", parse_date)?,
        time: request.parse_path("time", parse_clock_time)?,
        medicine_id: medicine_id.to_owned(),
    })
}

/// Each dose of a day as clients see it, with its sort key.
fn to_json(date: Date, of_day: &DayDoses) -> impl Iterator<Item = ((Timestamp, String, String), Value)> {
    of_day.doses.iter().map(move |dose| {
        let medicine = &of_day.medicine;
        let mut body = json!({
            "date": date.to_string(),
            "time": clock_time(dose.time),
            "medicineId": medicine.medicine_id,
            "name": medicine.name,
            "dose": medicine.dose,
            "state": dose.state.as_str(),
            "dueAt": dose.due_at.to_string(),
        });
        if let Some(until) = dose.snoozed_until {
            body["snoozedUntil"] = until.to_string().into();
        }
        if let Some(at) = of_day.taken_at.get(&dose.time) {
            body["takenAt"] = at.to_string().into();
        }
        if dose.is_as_needed {
            body["isAsNeeded"] = true.into();
        }
        ((dose.due_at, medicine.name.clone(), medicine.medicine_id.clone()), body)
    })
}

fn row_to_json(row: &rows::Dose) -> Value {
    let state = match row.state {
        DoseMark::Taken => "taken",
        DoseMark::Skipped => "skipped",
        DoseMark::Snoozed => "snoozed",
    };
    let mut body = json!({
        "date": row.date.to_string(),
        "time": clock_time(row.time),
        "medicineId": row.medicine_id,
        "state": state,
        "at": row.at.to_string(),
    });
    if let Some(until) = row.snoozed_until {
        body["snoozedUntil"] = until.to_string().into();
    }
    body
}
