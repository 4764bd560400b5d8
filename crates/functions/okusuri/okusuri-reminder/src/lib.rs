//! Reminds users who have not logged the day, at most once a day each, and of doses that they have
//! not confirmed, at most once for each time.
//!
//! A run handles the due reminders within its limits; the next run handles the rest. A conditional
//! write first moves a reminder to its next time, so that no other instance sends it. Only then the
//! run reads the day's log, or the doses, and sends the message.

mod mail;
mod remind_doses;
mod remind_user;
mod run_limits;

use std::pin::pin;
use std::time::Instant;

use futures::StreamExt as _;
use futures::stream;
use jiff::Timestamp;
use lambda_kit::mail::Mailer;
use lambda_kit::push::Push;
use lambda_runtime::Diagnostic;
use metrics::{counter, gauge};
use okusuri_store::{CodeLimits, Doses, DuePartition, Logs, Notifications, Reminders};
use serde::Serialize;
use store_base::StoreError;
use store_base::Table;

use remind_user::ReminderOutcome;
pub use run_limits::RunLimits;

/// The function's dependencies.
#[derive(Debug, Clone)]
pub struct ReminderService {
    reminders: Reminders,
    logs: Logs,
    notifications: Notifications,
    doses: Doses,
    mail_limits: CodeLimits,
    push: Push,
    mailer: Mailer,
    run_limits: RunLimits,
}

impl ReminderService {
    /// The reminders in `table`, sent through `push`, or else `mailer`.
    pub fn new(table: &Table, push: Push, mailer: Mailer) -> Self {
        Self {
            reminders: Reminders::new(table),
            logs: Logs::new(table),
            notifications: Notifications::new(table),
            doses: Doses::new(table),
            mail_limits: CodeLimits::new(table),
            push,
            mailer,
            run_limits: RunLimits::default(),
        }
    }

    /// The same with other limits.
    pub fn within(self, run_limits: RunLimits) -> Self {
        Self { run_limits, ..self }
    }
}

/// The results of a run, in numbers of reminders.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Report {
    /// At least one device received the message.
    pub reminded: usize,
    /// No device accepted the message, so it was mailed.
    pub mailed: usize,
    /// The user had logged the day, or recorded the doses.
    pub logged: usize,
    /// The user rests on that day.
    pub resting: usize,
    /// No device accepted the message, and no mail may be sent.
    pub undelivered: usize,
    /// The reminder was too late, or the day already had one, or all of its messages.
    pub skipped: usize,
    /// Another instance handled the reminder, or the user changed it meanwhile.
    pub handled_elsewhere: usize,
    /// The reminder could not be read, and was removed from the due index.
    pub unreadable: usize,
    /// A request to DynamoDB failed, or a mail could not be sent.
    pub failed: usize,
    /// Whether due reminders are left for the next run.
    pub has_more: bool,
}

/// Why a run failed as a whole. The schedule starts the next one.
#[derive(Debug, thiserror::Error)]
pub enum RemindError {
    /// A request to DynamoDB failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl From<RemindError> for Diagnostic {
    fn from(error: RemindError) -> Self {
        Self { error_type: "store".to_owned(), error_message: error.to_string() }
    }
}

/// Sends the reminders that are due at `now`.
///
/// # Errors
/// [`RemindError`] if the index cannot be read. A failure for one user is counted and does not
/// affect the other users.
pub async fn handle(service: &ReminderService, now: Timestamp) -> Result<Report, RemindError> {
    let (start, run_limits) = (Instant::now(), service.run_limits);
    let mut report = Report::default();
    let mut handled = 0;
    'parts: for part in DuePartition::of_run(now) {
        let mut from = None;
        loop {
            let due = service.reminders.due(&part, now, from).await?;
            let found = due.reminders.len();
            let room = run_limits.users_max - handled;
            let begun = stream::iter(due.reminders).take(room).take_while(|_| {
                let is_time_left = start.elapsed() < run_limits.time;
                async move { is_time_left }
            });
            let outcomes =
                begun.map(|(user, kind)| async move { remind_user::remind_user(service, &user, kind, now).await });
            let mut outcomes = pin!(outcomes.buffer_unordered(run_limits.at_once));
            let mut dealt_with = 0;
            while let Some(outcome) = outcomes.next().await {
                report.count(outcome);
                dealt_with += 1;
            }
            handled += dealt_with;
            from = due.next;
            report.has_more = dealt_with < found || (handled == run_limits.users_max && from.is_some());
            if report.has_more {
                break 'parts;
            }
            if from.is_none() {
                break;
            }
        }
    }
    report.publish();
    Ok(report)
}

impl Report {
    fn count(&mut self, outcome: ReminderOutcome) {
        let field = match outcome {
            ReminderOutcome::Reminded => &mut self.reminded,
            ReminderOutcome::Mailed => &mut self.mailed,
            ReminderOutcome::Logged => &mut self.logged,
            ReminderOutcome::Resting => &mut self.resting,
            ReminderOutcome::Undelivered => &mut self.undelivered,
            ReminderOutcome::Skipped => &mut self.skipped,
            ReminderOutcome::HandledElsewhere => &mut self.handled_elsewhere,
            ReminderOutcome::Unreadable => &mut self.unreadable,
            ReminderOutcome::Failed => &mut self.failed,
        };
        *field += 1;
    }

    fn publish(&self) {
        tracing::info!(report = ?self);
        counter!("RemindersSent").increment((self.reminded + self.mailed) as u64);
        counter!("RemindersUndelivered").increment(self.undelivered as u64);
        counter!("RemindersFailed").increment((self.failed + self.unreadable) as u64);
        gauge!("RemindersWaiting").set(if self.has_more { 1.0 } else { 0.0 });
    }
}
