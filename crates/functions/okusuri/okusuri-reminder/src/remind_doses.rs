//! Handles the reminders of one user's doses.

use domain::UserId;
use domain::okusuri::{DOSE_MAIL_DAYS, DOSE_REPEAT, Email, Language, clock_time, local_date};
use jiff::civil::Time;
use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp};
use lambda_kit::push::Message;
use okusuri_store::rows::{DoseReminder, User};
use okusuri_store::{DueDose, MailKind, ReminderKind};
use serde_json::json;
use store_base::StoreError;

use crate::remind_user::{ReminderOutcome, push_to_devices};
use crate::{ReminderService, mail};

/// A newer message replaces one that was not delivered yet.
const TOPIC: &str = "dose";

/// The number of medicines that a message names, and the characters of each name. Its content must
/// fit into a push message.
const NAMES_MAX: usize = 3;
const NAME_CHARS_MAX: usize = 60;

pub(crate) async fn remind_if_due(
    service: &ReminderService,
    user: &UserId,
    now: Timestamp,
) -> Result<ReminderOutcome, StoreError> {
    let (Some(reminder), profile) = service.reminders.with_profile::<DoseReminder>(user).await? else {
        return Ok(ReminderOutcome::HandledElsewhere);
    };
    if !reminder.is_enabled || reminder.due_at.is_none_or(|due_at| due_at > now) {
        return Ok(ReminderOutcome::HandledElsewhere);
    }
    let Some(profile) = profile.filter(|profile| profile.deleting.is_none()) else {
        service.reminders.remove_from_due_index(user, ReminderKind::Doses).await?;
        return Ok(ReminderOutcome::Skipped);
    };
    let zone = TimeZone::get(&profile.time_zone).unwrap_or(TimeZone::UTC);
    let asks = service.reminders.asks(user, &zone, reminder.handled_until, now).await?;
    match service.reminders.claim_doses(&reminder, &asks, now).await? {
        None => return Ok(ReminderOutcome::HandledElsewhere),
        Some(false) if asks.due.is_empty() => return Ok(ReminderOutcome::Logged),
        Some(false) => return Ok(ReminderOutcome::Skipped),
        Some(true) => {}
    }
    // Read again after the claim: a dose that was recorded up to now is not asked for.
    let due = service.reminders.asks(user, &zone, reminder.handled_until, now).await?.due;
    if due.is_empty() {
        return Ok(ReminderOutcome::Logged);
    }
    let content = content(&due);
    let message = Message { content: content.as_bytes(), time_to_live: DOSE_REPEAT.unsigned_abs(), topic: TOPIC };
    if push_to_devices(service, user, message, now).await? {
        return Ok(ReminderOutcome::Reminded);
    }
    send_mail(service, user, (&reminder, &profile), &due, now).await
}

/// Of the medicines that it names, the message also says which to buy: no further name appears on a
/// locked screen.
fn content(due: &[DueDose]) -> String {
    let name = |dose: &DueDose| dose.name.chars().take(NAME_CHARS_MAX).collect::<String>();
    let named = || due.iter().take(NAMES_MAX);
    let names: Vec<_> = named().map(name).collect();
    let mut low: Vec<_> = named().filter(|dose| dose.is_low).map(name).collect();
    // A medicine with two open doses is bought once.
    low.sort();
    low.dedup();
    let times: Vec<_> = times(due).into_iter().map(clock_time).collect();
    json!({ "kind": "dose", "times": times, "names": names, "low": low, "count": due.len() }).to_string()
}

/// The different times of doses, earliest first.
fn times(due: &[DueDose]) -> Vec<Time> {
    let mut times: Vec<_> = due.iter().map(|dose| dose.time).collect();
    times.sort();
    times.dedup();
    times
}

/// Mails a user whom no browser reaches, if the user has confirmed the address, wants it, and still
/// uses the log.
async fn send_mail(
    service: &ReminderService,
    user: &UserId,
    (reminder, profile): (&DoseReminder, &User),
    due: &[DueDose],
    now: Timestamp,
) -> Result<ReminderOutcome, StoreError> {
    let email = profile.email.as_deref().filter(|_| profile.email_verified && reminder.is_mailed);
    let Some(email) = email.and_then(|email| Email::new(email).ok()) else {
        return Ok(ReminderOutcome::Undelivered);
    };
    let is_new = now.duration_since(reminder.enabled_at) < SignedDuration::from_hours(24 * DOSE_MAIL_DAYS);
    if !is_new && !service.doses.has_recorded_lately(user, local_date(now, &TimeZone::UTC)).await? {
        return Ok(ReminderOutcome::Undelivered);
    }
    if !service.mail_limits.send_any(MailKind::Reminder, now).await? {
        tracing::error!("the service has sent all mails of this hour");
        return Ok(ReminderOutcome::Failed);
    }
    let mail = mail::write(&times(due), Language::of(Some(&reminder.language)));
    // SES knows no idempotency key: a mail without an answer that is sent again may arrive twice.
    Ok(match service.mailer.send_once(email.as_str(), mail).await {
        Ok(()) => ReminderOutcome::Mailed,
        Err(error) => {
            tracing::error!(error, "a reminder could not be mailed");
            ReminderOutcome::Failed
        }
    })
}
