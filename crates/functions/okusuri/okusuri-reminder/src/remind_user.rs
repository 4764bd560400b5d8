//! Handles one user's reminder of the day, and messages to browsers.

use std::time::Duration;

use domain::UserId;
use domain::okusuri::{ReminderDecision, decide_reminder, next_due};
use futures::{StreamExt as _, stream};
use jiff::Timestamp;
use jiff::civil::Date;
use jiff::tz::TimeZone;
use lambda_kit::push::{Message, SendOutcome, Subscriber};
use okusuri_store::ReminderKind;
use okusuri_store::rows::{PushSubscription, Reminder};
use serde_json::json;
use store_base::StoreError;

use crate::{ReminderService, remind_doses};

/// How long a push service stores a reminder for an offline browser; later it is out of date.
const TIME_TO_LIVE: Duration = Duration::from_secs(2 * 3_600);

/// A new reminder replaces an older one that was not delivered yet.
const TOPIC: &str = "reminder";

/// The number of a user's devices that are sent to at once, so that a slow one does not delay the
/// others.
const DEVICES_AT_ONCE: usize = 8;

/// The result for one reminder.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ReminderOutcome {
    Reminded,
    Mailed,
    Logged,
    Resting,
    Undelivered,
    Skipped,
    HandledElsewhere,
    Unreadable,
    Failed,
}

/// Handles a user whose reminder is due by the index. A failure is logged and affects only this
/// user.
pub(crate) async fn remind_user(
    service: &ReminderService,
    user: &UserId,
    kind: ReminderKind,
    now: Timestamp,
) -> ReminderOutcome {
    let outcome = match kind {
        ReminderKind::Day => remind_if_due(service, user, now).await,
        ReminderKind::Doses => remind_doses::remind_if_due(service, user, now).await,
    };
    let outcome = match outcome {
        Err(error) if error.is_unreadable() => {
            tracing::error!(%error, "a reminder cannot be read and is removed from the due index");
            service.reminders.remove_from_due_index(user, kind).await.map(|()| ReminderOutcome::Unreadable)
        }
        other => other,
    };
    outcome.unwrap_or_else(|error| {
        tracing::error!(%error, "a reminder has failed");
        ReminderOutcome::Failed
    })
}

async fn remind_if_due(
    service: &ReminderService,
    user: &UserId,
    now: Timestamp,
) -> Result<ReminderOutcome, StoreError> {
    let (Some(reminder), profile) = service.reminders.with_profile::<Reminder>(user).await? else {
        return Ok(ReminderOutcome::HandledElsewhere);
    };
    let Some(due_at) = reminder.due_at.filter(|due_at| reminder.is_enabled && *due_at <= now) else {
        return Ok(ReminderOutcome::HandledElsewhere);
    };
    let Some(profile) = profile.filter(|profile| profile.deleting.is_none()) else {
        // A user who is being deleted, or has been deleted, gets no more messages.
        service.reminders.remove_from_due_index(user, ReminderKind::Day).await?;
        return Ok(ReminderOutcome::Skipped);
    };
    let zone = TimeZone::get(&profile.time_zone).unwrap_or(TimeZone::UTC);
    // The time zone of the reminder is outdated, so it was due at the wrong moment. Skip it, and
    // compute the next time in the user's current zone.
    let zone_name = zone.iana_name().unwrap_or(&profile.time_zone);
    let has_other_zone = zone_name != reminder.time_zone;
    let decision = if has_other_zone {
        ReminderDecision::Skip
    } else {
        decide_reminder(due_at, &zone, reminder.last_reminded_on, now)
    };
    let remind_on = match decision {
        ReminderDecision::Remind(date) => Some(date),
        ReminderDecision::Skip => None,
    };
    let next = next_due(reminder.time, &zone, now.max(due_at));
    if !service.reminders.claim(&reminder, remind_on, next, zone_name, now).await? {
        return Ok(ReminderOutcome::HandledElsewhere);
    }
    let logs = service.logs.under(profile.regimen.unwrap_or_default());
    match remind_on {
        None => Ok(ReminderOutcome::Skipped),
        // Read after the claim and with a consistent read: a user who logged the day up to now is
        // not reminded.
        Some(date) if service.reminders.is_taken(user, date).await? => Ok(ReminderOutcome::Logged),
        // A resting user takes no medication.
        Some(date) if logs.status(user, date).await?.is_resting => Ok(ReminderOutcome::Resting),
        Some(date) => send(service, user, &reminder, date, now).await,
    }
}

async fn send(
    service: &ReminderService,
    user: &UserId,
    reminder: &Reminder,
    date: Date,
    now: Timestamp,
) -> Result<ReminderOutcome, StoreError> {
    let content = json!({ "kind": "reminder", "date": date, "time": reminder.time.strftime("%H:%M").to_string() });
    let content = content.to_string();
    let message = Message { content: content.as_bytes(), time_to_live: TIME_TO_LIVE, topic: TOPIC };
    let is_reached = push_to_devices(service, user, message, now).await?;
    Ok(if is_reached { ReminderOutcome::Reminded } else { ReminderOutcome::Undelivered })
}

/// Whether the push service of at least one of the user's devices accepted the message.
pub(crate) async fn push_to_devices(
    service: &ReminderService,
    user: &UserId,
    message: Message<'_>,
    now: Timestamp,
) -> Result<bool, StoreError> {
    let notifications = service.notifications.of(user).await?;
    let sent = stream::iter(notifications.enabled()).map(|one| send_to_device(service, one, message, now));
    let reached = sent.buffer_unordered(DEVICES_AT_ONCE).filter(|reached| std::future::ready(*reached)).count().await;
    Ok(reached > 0)
}

/// Whether the device's push service accepted the message. Its answer is recorded in the
/// subscription. A failure to record it is only logged, because the message has already been sent.
async fn send_to_device(
    service: &ReminderService,
    one: &PushSubscription,
    message: Message<'_>,
    now: Timestamp,
) -> bool {
    let sent = match Subscriber::new(&one.endpoint, &one.p256dh, &one.auth) {
        Ok(subscriber) => service.push.send(&subscriber, message, now).await,
        Err(error) => SendOutcome::Rejected(error.to_string()),
    };
    let notifications = &service.notifications;
    let noted = match &sent {
        SendOutcome::Accepted => notifications.reached(one, now).await,
        SendOutcome::Gone(status) => notifications.gone(one, &status.to_string(), now).await,
        SendOutcome::Rejected(why) | SendOutcome::Failed(why) => {
            tracing::warn!(why, "a device cannot be reached");
            notifications.failed(one, why, now).await
        }
    };
    if let Err(error) = noted {
        tracing::warn!(%error, "the result of a message could not be recorded");
    }
    sent == SendOutcome::Accepted
}
