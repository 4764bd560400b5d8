//! One user's reminder.

use std::time::Duration;

use domain::UserId;
use domain::okusuri::{Turn, next_due, turn};
use futures::{StreamExt as _, stream};
use jiff::Timestamp;
use jiff::civil::Date;
use jiff::tz::TimeZone;
use lambda_kit::push::{Message, Sent, Subscriber};
use serde_json::json;
use store::StoreError;
use store::okusuri::rows::{PushSubscription, Reminder};

use crate::Reminding;

/// How long a push service keeps a reminder for a browser that is away: by then it is out of date.
const TIME_TO_LIVE: Duration = Duration::from_secs(2 * 3_600);

/// A reminder takes the place of an older one that still waits.
const TOPIC: &str = "reminder";

/// Devices of one user that are sent to at a time, so that one that hesitates does not hold up the others.
const DEVICES_AT_ONCE: usize = 8;

/// What became of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Outcome {
    Reminded,
    Logged,
    Resting,
    Unreached,
    LeftOut,
    Elsewhere,
    SetAside,
    Failed,
}

/// Deals with a user who is due by the index. What fails is logged, and is that user's alone.
pub(crate) async fn remind(reminding: &Reminding, user: &UserId, now: Timestamp) -> Outcome {
    let outcome = match in_turn(reminding, user, now).await {
        Err(error) if error.is_unreadable() => {
            tracing::error!(%error, "a reminder is set aside");
            reminding.reminders.set_aside(user).await.map(|()| Outcome::SetAside)
        }
        other => other,
    };
    outcome.unwrap_or_else(|error| {
        tracing::error!(%error, "a reminder has failed");
        Outcome::Failed
    })
}

async fn in_turn(reminding: &Reminding, user: &UserId, now: Timestamp) -> Result<Outcome, StoreError> {
    let (Some(reminder), profile) = reminding.reminders.with_profile(user).await? else {
        return Ok(Outcome::Elsewhere);
    };
    let Some(due_at) = reminder.due_at.filter(|due_at| reminder.is_enabled && *due_at <= now) else {
        return Ok(Outcome::Elsewhere);
    };
    let Some(profile) = profile.filter(|profile| profile.deleting.is_none()) else {
        // A user who is going, or has gone, hears nothing more.
        reminding.reminders.set_aside(user).await?;
        return Ok(Outcome::LeftOut);
    };
    let zone = TimeZone::get(&profile.time_zone).unwrap_or(TimeZone::UTC);
    // A reminder that has not followed its user into another zone was due at the wrong moment: it follows now.
    let zone_name = zone.iana_name().unwrap_or(&profile.time_zone);
    let is_elsewhere = zone_name != reminder.time_zone;
    let turn = if is_elsewhere { Turn::LeaveOut } else { turn(due_at, &zone, reminder.last_reminded_on, now) };
    let given_for = match turn {
        Turn::Remind(date) => Some(date),
        Turn::LeaveOut => None,
    };
    let next = next_due(reminder.time, &zone, now.max(due_at));
    if !reminding.reminders.claim(&reminder, given_for, next, zone_name, now).await? {
        return Ok(Outcome::Elsewhere);
    }
    match given_for {
        None => Ok(Outcome::LeftOut),
        // After the claim, and as of the last write: whoever logs until now is not reminded.
        Some(date) if reminding.reminders.is_taken(user, date).await? => Ok(Outcome::Logged),
        // Nothing is to be taken, so there is nothing to remind of.
        Some(date) if reminding.logs.status(user, date).await?.is_some_and(|status| status.is_resting) => {
            Ok(Outcome::Resting)
        }
        Some(date) => send(reminding, user, &reminder, date, now).await,
    }
}

async fn send(
    reminding: &Reminding,
    user: &UserId,
    reminder: &Reminder,
    date: Date,
    now: Timestamp,
) -> Result<Outcome, StoreError> {
    let content = json!({ "kind": "reminder", "date": date, "time": reminder.time.strftime("%H:%M").to_string() });
    let content = content.to_string();
    let message = Message { content: content.as_bytes(), time_to_live: TIME_TO_LIVE, topic: TOPIC };
    let notifications = reminding.notifications.of(user).await?;
    let sent = stream::iter(notifications.enabled()).map(|one| to_device(reminding, one, message, now));
    let reached = sent.buffer_unordered(DEVICES_AT_ONCE).filter(|reached| std::future::ready(*reached)).count().await;
    Ok(if reached > 0 { Outcome::Reminded } else { Outcome::Unreached })
}

/// Whether the device's push service has taken it. What it says is noted beside the subscription; a note that fails is only logged,
/// since the message is on its way.
async fn to_device(reminding: &Reminding, one: &PushSubscription, message: Message<'_>, now: Timestamp) -> bool {
    let sent = match Subscriber::new(&one.endpoint, &one.p256dh, &one.auth) {
        Ok(subscriber) => reminding.push.send(&subscriber, message, now).await,
        Err(error) => Sent::Rejected(error.to_string()),
    };
    let notifications = &reminding.notifications;
    let noted = match &sent {
        Sent::Accepted => notifications.reached(one, now).await,
        Sent::Gone(status) => notifications.gone(one, &status.to_string(), now).await,
        Sent::Rejected(why) | Sent::Failed(why) => {
            tracing::warn!(why, "a device cannot be reached");
            notifications.failed(one, why, now).await
        }
    };
    if let Err(error) = noted {
        tracing::warn!(%error, "what became of a message could not be noted");
    }
    sent == Sent::Accepted
}
