//! The reminder of the day, and the reminders of doses.

use domain::okusuri::{Language, REMINDER_TIME_DEFAULT, clock_time, parse_clock_time};
use jiff::Timestamp;
use lambda_kit::http::{Reply, Request};
use lambda_kit::problem::{INVALID_BODY, Problem};
use okusuri_store::rows::{DoseReminder, Reminder};
use okusuri_store::{DoseReminderChange, ReminderChange};
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
    doses: Option<DosesBody>,
}

/// The member `doses` of [`ReminderBody`].
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct DosesBody {
    is_enabled: Option<bool>,
    is_mailed: Option<bool>,
    language: Option<String>,
}

/// The reminders. Without a setting they are disabled, that of the day at 22:00.
pub(crate) async fn show(okusuri: &Okusuri, request: &Request) -> Result<Reply, Problem> {
    let signed_in = okusuri.user(request).await?;
    reply(okusuri, &signed_in).await
}

/// Changes the reminders.
pub(crate) async fn change(okusuri: &Okusuri, request: &Request) -> Result<Reply, Problem> {
    let signed_in = okusuri.user(request).await?;
    let ReminderBody { is_enabled, time, doses } = request.json(BODY_BYTES_MAX)?;
    let time = time.as_deref().map(parse_clock_time).transpose();
    let time = time.map_err(|why| INVALID_BODY.detail(format!("`time`: {why}")))?;
    let (reminders, now) = (&okusuri.notification_services.reminders, (okusuri.now)());
    let (user, zone) = (&signed_in.id, &signed_in.time_zone);
    if is_enabled.is_some() || time.is_some() {
        reminders.change(user, ReminderChange { is_enabled, time }, zone, now).await.map_err(write_problem)?;
    }
    if let Some(DosesBody { is_enabled, is_mailed, language }) = doses {
        let language = language.map(|tag| Language::of(Some(&tag)));
        let change = DoseReminderChange { is_enabled, is_mailed, language };
        reminders.change_doses(user, change, zone, now).await.map_err(write_problem)?;
    }
    reply(okusuri, &signed_in).await
}

impl Okusuri {
    /// Works out the next reminder of doses, after a change of them. If this fails, the request fails,
    /// and the client repeats it.
    pub(crate) async fn follow_doses(&self, signed_in: &SignedIn, now: Timestamp) -> Result<(), Problem> {
        let reminders = &self.notification_services.reminders;
        reminders.follow_doses(&signed_in.id, &signed_in.time_zone, now).await.map_err(write_problem)
    }
}

async fn reply(okusuri: &Okusuri, signed_in: &SignedIn) -> Result<Reply, Problem> {
    let reminders = &okusuri.notification_services.reminders;
    let reminder: Option<Reminder> = reminders.get(&signed_in.id).await.map_err(store_problem)?;
    let doses: Option<DoseReminder> = reminders.get(&signed_in.id).await.map_err(store_problem)?;
    let time = reminder.as_ref().map_or(REMINDER_TIME_DEFAULT, |reminder| reminder.time);
    let text = |at: Option<Timestamp>| at.map_or(Value::Null, |at| at.to_string().into());
    let reply = json!({
        "isEnabled": reminder.as_ref().is_some_and(|reminder| reminder.is_enabled),
        "time": clock_time(time),
        "timeZone": signed_in.user.time_zone,
        "nextAt": text(reminder.as_ref().and_then(|reminder| reminder.due_at)),
        "lastRemindedOn": reminder.and_then(|reminder| reminder.last_reminded_on).map(|date| date.to_string()),
        "doses": {
            "isEnabled": doses.as_ref().is_some_and(|doses| doses.is_enabled),
            "isMailed": doses.as_ref().is_none_or(|doses| doses.is_mailed),
            "nextAt": text(doses.and_then(|doses| doses.due_at)),
        },
    });
    Ok(Reply::json(200, &reply))
}
