//! Logs, the user's status, and the calendar.

use domain::calendar::{DateRange, YearMonth, parse_date};
use domain::okusuri::{Day, Flow, Log, Note, Status, Summary, Symptom, check_loggable};
use jiff::civil::Date;
use lambda_kit::http::{Reply, Request, invalid_parameter};
use lambda_kit::page::{Listing, limit};
use lambda_kit::problem::{INTERNAL, INVALID_BODY, Problem};
use okusuri_store::rows::MedicationLog;
use okusuri_store::{LogEntry, LogRange, LogWriteOutcome};
use serde::{Deserialize, Deserializer};
use serde_json::{Value, json};
use store_base::Direction;

use crate::problems::{LOG_NOT_FOUND, date_problem, store_problem, write_problem};
use crate::session::SignedIn;
use crate::{LIMIT_DEFAULT, LIMIT_MAX, Okusuri, doses as of_doses};

/// The largest body: a note of 500 characters takes 6 KB, escaped.
const BODY_BYTES_MAX: usize = 16 * 1024;

/// The body of `PUT /okusuri/api/logs/{date}`.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct LogBody {
    has_bleeding: bool,
    #[serde(default = "taken")]
    is_taken: bool,
    #[serde(default, deserialize_with = "present")]
    note: Option<Option<String>>,
    #[serde(default, deserialize_with = "present")]
    flow: Option<Option<String>>,
    #[serde(default, deserialize_with = "present")]
    symptoms: Option<Vec<String>>,
}

fn taken() -> bool {
    true
}

/// Distinguishes `null` from a missing member.
fn present<'de, T: Deserialize<'de>, D: Deserializer<'de>>(value: D) -> Result<Option<T>, D::Error> {
    T::deserialize(value).map(Some)
}

/// Logs a day: 201 if it had no log, 200 if it had one.
pub(crate) async fn put(okusuri: &Okusuri, request: &Request) -> Result<Reply, Problem> {
    let signed_in = okusuri.user(request).await?;
    let date = request.parse_path("date", parse_date)?;
    let body: LogBody = request.json(BODY_BYTES_MAX)?;
    let note = body.note.map(|note| note.as_deref().map_or(Ok(None), Note::new)).transpose();
    let note = note.map_err(|why| INVALID_BODY.detail(format!("`note` {why}")))?;
    let LogBody { has_bleeding, is_taken, .. } = body;
    let flow = body.flow.map(|flow| flow.map(|flow| Flow::of_day(&flow, has_bleeding)).transpose()).transpose();
    let flow = flow.map_err(|why| INVALID_BODY.detail(format!("`flow` {why}")))?;
    let symptoms = body.symptoms.map(|names| Symptom::set(names.iter().map(String::as_str))).transpose();
    let symptoms = symptoms.map_err(|why| INVALID_BODY.detail(format!("`symptoms` {why}")))?;
    check_loggable(date, signed_in.today((okusuri.now)())).map_err(date_problem)?;
    let id = (okusuri.new_id)();
    let entry = LogEntry { log: Log { date, has_bleeding }, is_taken, note, flow, symptoms, id };
    let (written, summary) =
        okusuri.logs_of(&signed_in).put(&signed_in.id, &entry, (okusuri.now)()).await.map_err(write_problem)?;
    let status = if matches!(written, LogWriteOutcome::New(_)) { 201 } else { 200 };
    let log = written.row().map(to_json).ok_or(INTERNAL)?;
    let standing = current_status(okusuri, &signed_in, summary.as_ref()).await?;
    Ok(Reply::json(status, &json!({ "log": log, "status": standing })))
}

/// Deletes the log of a day.
pub(crate) async fn delete(okusuri: &Okusuri, request: &Request) -> Result<Reply, Problem> {
    let signed_in = okusuri.user(request).await?;
    let date = request.parse_path("date", parse_date)?;
    let (written, summary) =
        okusuri.logs_of(&signed_in).delete(&signed_in.id, date, (okusuri.now)()).await.map_err(write_problem)?;
    if written == LogWriteOutcome::Nothing {
        return Err(LOG_NOT_FOUND);
    }
    let standing = current_status(okusuri, &signed_in, summary.as_ref()).await?;
    Ok(Reply::json(200, &json!({ "status": standing })))
}

/// The log of a day.
pub(crate) async fn show(okusuri: &Okusuri, request: &Request) -> Result<Reply, Problem> {
    let signed_in = okusuri.user(request).await?;
    let date = request.parse_path("date", parse_date)?;
    let log =
        okusuri.logs_of(&signed_in).get(&signed_in.id, date).await.map_err(store_problem)?.ok_or(LOG_NOT_FOUND)?;
    Ok(Reply::json(200, &to_json(&log)))
}

/// The logs of a range of days, newest first or oldest first.
pub(crate) async fn list(okusuri: &Okusuri, request: &Request) -> Result<Reply, Problem> {
    let signed_in = okusuri.user(request).await?;
    let [from, to] = ["from", "to"].map(|name| request.parse_query(name, parse_date));
    let range = LogRange { from: from?, to: to? };
    if range.from.zip(range.to).is_some_and(|(from, to)| from > to) {
        return Err(invalid_parameter("from", "is after `to`"));
    }
    let direction = request.parse_query("order", str::parse)?.unwrap_or(Direction::Desc);
    let limit = limit(request, LIMIT_DEFAULT, LIMIT_MAX)?;
    let scope = format!("okusuri logs {} {range:?} {direction:?}", signed_in.id);
    let listing = Listing::new(&okusuri.cursors, scope, (okusuri.now)());
    let after = listing.position(request)?;
    let page =
        okusuri.logs_of(&signed_in).page(&signed_in.id, range, direction, limit, after).await.map_err(store_problem)?;
    let items: Vec<_> = page.items.iter().map(to_json).collect();
    listing.reply(&items, page.next.as_ref(), page.skipped)
}

/// The user's status today.
pub(crate) async fn status(okusuri: &Okusuri, request: &Request) -> Result<Reply, Problem> {
    let signed_in = okusuri.user(request).await?;
    let summary = okusuri.logs_of(&signed_in).summary(&signed_in.id).await.map_err(store_problem)?;
    Ok(Reply::json(200, &current_status(okusuri, &signed_in, summary.as_ref()).await?))
}

/// The days of a month.
pub(crate) async fn calendar(okusuri: &Okusuri, request: &Request) -> Result<Reply, Problem> {
    let signed_in = okusuri.user(request).await?;
    let month: YearMonth = request.parse_path("month", str::parse)?;
    let range = month_range(month).ok_or_else(|| invalid_parameter("month", "is not a month of the calendar"))?;
    let today = signed_in.today((okusuri.now)());
    let logs_of_user = okusuri.logs_of(&signed_in);
    let calendar = logs_of_user.calendar(&signed_in.id, range, today);
    let doses = okusuri.doses.of_days(&signed_in.id, range, &signed_in.time_zone, (okusuri.now)());
    let (calendar, doses) = tokio::try_join!(calendar, doses).map_err(store_problem)?;
    let mut logs = calendar.logs.iter().peekable();
    let days = calendar.days.iter().map(|day| {
        let mut shown = day_to_json(day);
        if let Some(log) = logs.next_if(|log| log.date == day.date) {
            shown["log"] = to_json(log);
        }
        if let Some(of_day) = doses.get(&day.date) {
            shown["doses"] = of_doses::count(of_day);
        }
        shown
    });
    let days: Vec<_> = days.collect();
    let mut body = json!({ "month": month.to_string(), "today": today.to_string(), "days": days });
    body["medicines"] = of_doses::by_medicine(&doses).into();
    Ok(Reply::json(200, &body))
}

fn month_range(month: YearMonth) -> Option<DateRange> {
    let first = month.day(1)?;
    DateRange::new(first, first.last_of_month()).ok()
}

/// The status of today from the user's summary, as clients see it.
pub(crate) async fn current_status(
    okusuri: &Okusuri,
    signed_in: &SignedIn,
    summary: Option<&Summary>,
) -> Result<Value, Problem> {
    let today = signed_in.today((okusuri.now)());
    let status = okusuri.logs_of(signed_in).status_of(&signed_in.id, summary, today).await.map_err(store_problem)?;
    Ok(status_to_json(today, &status))
}

fn status_to_json(today: Date, status: &Status) -> Value {
    let mut body = json!({
        "today": today.to_string(),
        "streak": status.streak,
        "bestStreak": status.best_streak,
        "consecutiveBleedingDays": status.consecutive_bleeding_days,
        "isResting": status.is_resting,
        "restDaysLeft": status.rest_days_left,
        "loggedToday": status.logged_today,
    });
    if let Some(last) = status.last_log_on {
        body["lastLogOn"] = last.to_string().into();
    }
    body
}

fn day_to_json(day: &Day) -> Value {
    json!({ "date": day.date.to_string(), "state": day.state.as_str() })
}

/// A log as clients see it.
pub(crate) fn to_json(log: &MedicationLog) -> Value {
    let mut body = json!({
        "id": log.log_id,
        "date": log.date.to_string(),
        "hasBleeding": log.has_bleeding,
        "isTaken": log.is_taken,
        "createdAt": log.created_at.to_string(),
        "updatedAt": log.updated_at.to_string(),
    });
    for (name, text) in [("note", &log.note), ("flow", &log.flow)] {
        if let Some(text) = text {
            body[name] = text.as_str().into();
        }
    }
    if !log.symptoms.is_empty() {
        body["symptoms"] = log.symptoms.as_slice().into();
    }
    body
}
