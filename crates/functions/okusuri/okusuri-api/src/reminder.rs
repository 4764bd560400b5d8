//! The time of a user's reminder, and whether it is enabled.

use domain::okusuri::{REMINDER_TIME_DEFAULT, clock_time, parse_clock_time};
use lambda_kit::http::{Reply, Request};
use lambda_kit::problem::{INVALID_BODY, Problem};
use okusuri_store::ReminderChange;
use okusuri_store::rows::Reminder;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::Okusuri;
use crate::problems::{store_problem, write_problem};
use crate::session::SignedIn;

/// The largest body.
const BODY_BYTES_MAX: usize = 1_024;

/// The body of `PUT /okusuri/api/reminder`. A missing member stays unchanged.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct ReminderBody {
    is_enabled: Option<bool>,
    time: Option<String>,
}

/// The reminder. Without a setting it is disabled, at 22:00.
pub(crate) async fn show(okusuri: &Okusuri, request: &Request) -> Result<Reply, Problem> {
    let signed_in = okusuri.user(request).await?;
    let reminder = okusuri.notification_services.reminders.get(&signed_in.id).await.map_err(store_problem)?;
    Ok(Reply::json(200, &to_json(&signed_in, reminder.as_ref())))
}

/// Changes the reminder.
pub(crate) async fn change(okusuri: &Okusuri, request: &Request) -> Result<Reply, Problem> {
    let signed_in = okusuri.user(request).await?;
    let ReminderBody { is_enabled, time } = request.json(BODY_BYTES_MAX)?;
    let time = time.as_deref().map(parse_clock_time).transpose();
    let time = time.map_err(|why| INVALID_BODY.detail(format!("`time`: {why}")))?;
    let change = ReminderChange { is_enabled, time };
    let reminders = &okusuri.notification_services.reminders;
    let changed = reminders.change(&signed_in.id, change, &signed_in.time_zone, (okusuri.now)()).await;
    Ok(Reply::json(200, &to_json(&signed_in, Some(&changed.map_err(write_problem)?))))
}

fn to_json(signed_in: &SignedIn, reminder: Option<&Reminder>) -> Value {
    let time = reminder.map_or(REMINDER_TIME_DEFAULT, |reminder| reminder.time);
    json!({
        "isEnabled": reminder.is_some_and(|reminder| reminder.is_enabled),
        "time": clock_time(time),
        "timeZone": signed_in.user.time_zone,
        "nextAt": reminder.and_then(|reminder| reminder.due_at).map(|at| at.to_string()),
        "lastRemindedOn": reminder.and_then(|reminder| reminder.last_reminded_on).map(|date| date.to_string()),
    })
}
