//! How logs change: with the summary of all of them, in one transaction, on the condition that
//! nobody has been faster.
//!
//! A log after the newest one reads the summary and its own day alone. Any other change reads the
//! days around it as far as the rules ask for them.

use std::collections::{BTreeMap, BTreeSet};

use domain::UserId;
use domain::okusuri::{Flow, Log, LogChange, LogWindow, Note, Regimen, Summary, SummaryError, Symptom};
use jiff::Timestamp;
use jiff::civil::Date;
use uuid::Uuid;

use super::keys::{self, Key, SUMMARY, n};
use super::logs::{Logs, page_logs, pages_max};
use super::rows::{LogSummary, MedicationLog, Row as _, read};
use super::transaction::{Transaction, WriteError};
use super::upsert::Upsert;
use store_base::Retry;
use store_base::unless_condition_failed;
use store_base::{StoreError, TransactionOutcome};

/// The most logs of one transaction: it takes [100
/// items](https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/ServiceQuotas.html), and
/// the user and the summary are two of them.
const LOGS_MAX: usize = 98;

/// A log that is to be.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LogEntry {
    /// The day, and whether there was bleeding.
    pub log: Log,
    /// Whether the medication was taken.
    pub is_taken: bool,
    /// The note: `None` keeps it, `Some(None)` removes it.
    pub note: Option<Option<Note>>,
    /// The flow, in the same way. It goes with the bleeding.
    pub flow: Option<Option<Flow>>,
    /// All symptoms: `None` keeps them.
    pub symptoms: Option<BTreeSet<Symptom>>,
    /// A fresh UUIDv7, if the day has no log yet.
    pub id: Uuid,
}

/// What a change came to.
#[derive(Debug, Clone, PartialEq)]
pub enum LogWriteOutcome {
    /// The day had no log.
    New(MedicationLog),
    /// It had another one.
    Changed(MedicationLog),
    /// It had the very same, and nothing was written.
    Same(MedicationLog),
    /// It has none any more.
    Deleted(MedicationLog),
    /// It had none, and nothing was written.
    Nothing,
}

/// The part of the summary that is read.
struct Before {
    row: Option<LogSummary>,
}

impl Before {
    /// `None` when it has to be computed from all logs: there is none, or it is stale.
    fn summary(&self, regimen: Regimen) -> Option<Option<Summary>> {
        self.row.as_ref()?.summary(regimen)
    }
}

/// What becomes of a day: its row, or none, and the row that was there.
struct LogDecision {
    written: LogWriteOutcome,
    summary: Option<Summary>,
}

impl Logs {
    /// Logs a day, or changes its log. Gives the summary of all logs then.
    pub async fn put(
        &self,
        user: &UserId,
        entry: &LogEntry,
        now: Timestamp,
    ) -> Result<(LogWriteOutcome, Option<Summary>), WriteError> {
        let decide = |was: Option<MedicationLog>| entry.over(user, was, now);
        let counted = entry.log.counted(entry.is_taken, self.regimen);
        self.change(user, counted.map_or(LogChange::Delete(entry.log.date), LogChange::Put), decide, now).await
    }

    /// Takes a day's log away. Gives the summary of all others.
    pub async fn delete(
        &self,
        user: &UserId,
        date: Date,
        now: Timestamp,
    ) -> Result<(LogWriteOutcome, Option<Summary>), WriteError> {
        let decide = |was: Option<MedicationLog>| was.map_or(LogWriteOutcome::Nothing, LogWriteOutcome::Deleted);
        self.change(user, LogChange::Delete(date), decide, now).await
    }

    /// Logs many days, one entry for each day. All logs are read once, and each transaction writes
    /// `LOGS_MAX` of them. Returns the result of each entry, in order, and the summary. After an
    /// error the first entries are written and the rest are not, and it may be called again.
    pub async fn put_all(
        &self,
        user: &UserId,
        entries: &[LogEntry],
        now: Timestamp,
    ) -> Result<(Vec<LogWriteOutcome>, Option<Summary>), WriteError> {
        let mut all_written = Vec::with_capacity(entries.len());
        let mut summary = None;
        for entries in entries.chunks(LOGS_MAX) {
            let mut retry = Retry::new();
            loop {
                let before = self.before(user).await?;
                let mut rows: BTreeMap<_, _> = self.by_date(user).await?;
                let decide = |entry: &LogEntry| entry.over(user, rows.get(&entry.log.date).cloned(), now);
                let written: Vec<_> = entries.iter().map(decide).collect();
                rows.extend(written.iter().filter_map(LogWriteOutcome::row).map(|row| (row.date, row.clone())));
                summary = self.summary_of(&rows);
                if self.write(user, &before, &written, summary.as_ref(), now).await? {
                    all_written.extend(written);
                    break;
                }
                if !retry.wait().await {
                    return Err(WriteError::Conflict);
                }
            }
        }
        Ok((all_written, summary))
    }

    /// What [`Logs::put_all`] would come to; nothing is written.
    pub async fn would_put(
        &self,
        user: &UserId,
        entries: &[LogEntry],
        now: Timestamp,
    ) -> Result<Vec<LogWriteOutcome>, StoreError> {
        let rows = self.by_date(user).await?;
        Ok(entries.iter().map(|entry| entry.over(user, rows.get(&entry.log.date).cloned(), now)).collect())
    }

    /// The summary of a user's logs, as of the last write. One that is not there is computed.
    pub async fn summary(&self, user: &UserId) -> Result<Option<Summary>, StoreError> {
        match self.before(user).await?.summary(self.regimen) {
            Some(summary) => Ok(summary),
            None => Ok(self.summary_of(&self.by_date(user).await?)),
        }
    }

    /// Stores the summary under a regimen that has just been chosen. If a change of a log is faster,
    /// or this fails, each reading computes it, until the next change of a log stores it.
    pub async fn follow_regimen(&self, user: &UserId, now: Timestamp) -> Result<(), WriteError> {
        let before = self.before(user).await?;
        if before.row.is_none() || before.summary(self.regimen).is_some() {
            return Ok(());
        }
        let summary = self.summary_of(&self.by_date(user).await?);
        let summary = summary_after(user, &before, summary.as_ref(), self.regimen, now)?;
        Transaction::of_user(&self.table, user)?.change(summary)?.write_of_user().await.map(drop)
    }

    fn summary_of(&self, rows: &BTreeMap<Date, MedicationLog>) -> Option<Summary> {
        Summary::of(rows.values().filter_map(|log| self.counted(log)), self.regimen)
    }

    /// Says of the summary, if there is one, that it does not fit the logs any more, since some are
    /// written in another way: the next change computes it anew. To be called before they are
    /// written, by whoever makes sure that this user's logs are changed by nobody else meanwhile.
    pub async fn forget_summary(&self, user: &UserId) -> Result<(), StoreError> {
        let key = Key::new(keys::user(user), SUMMARY).item();
        let request = self.table.update_item(key);
        // Without one, all logs are read whenever it is needed. And a summary of nothing but a
        // version would be none.
        let request = request.condition_expression("attribute_exists(PK)");
        // The version stops a change that was conditional_upsert before this.
        let request = request.update_expression("ADD Version :one REMOVE Logs");
        unless_condition_failed(request.expression_attribute_values(":one", n(1)).send().await).map(drop)
    }

    async fn change(
        &self,
        user: &UserId,
        change: LogChange,
        decide: impl Fn(Option<MedicationLog>) -> LogWriteOutcome,
        now: Timestamp,
    ) -> Result<(LogWriteOutcome, Option<Summary>), WriteError> {
        let mut retry = Retry::new();
        loop {
            let before = self.before(user).await?;
            let LogDecision { written, summary } = self.decide(user, &before, change, &decide).await?;
            let written = [written];
            if self.write(user, &before, &written, summary.as_ref(), now).await? {
                let [written] = written;
                return Ok((written, summary));
            }
            if !retry.wait().await {
                return Err(WriteError::Conflict);
            }
        }
    }

    async fn before(&self, user: &UserId) -> Result<Before, StoreError> {
        let row = self.item(&Key::new(keys::user(user), SUMMARY)).await?.map(read).transpose()?;
        Ok(Before { row })
    }

    async fn by_date(&self, user: &UserId) -> Result<BTreeMap<Date, MedicationLog>, StoreError> {
        Ok(self.all(user).await?.into_iter().map(|row| (row.date, row)).collect())
    }

    async fn decide(
        &self,
        user: &UserId,
        before: &Before,
        change: LogChange,
        decide: impl Fn(Option<MedicationLog>) -> LogWriteOutcome,
    ) -> Result<LogDecision, StoreError> {
        let date = change.date();
        if let Some(summary) = before.summary(self.regimen) {
            let is_newest = summary.as_ref().is_none_or(|summary| summary.last_on < date);
            // Read after the summary: whoever changes it from then on moves the summary's version.
            let row = self.get(user, date).await?;
            let was = row.as_ref().and_then(|log| self.counted(log));
            let written = decide(row);
            match (summary, change) {
                // Nothing that counts is another than before: a note, or a day without the
                // medication.
                (summary, change) if was.map_or(LogChange::Delete(date), LogChange::Put) == change => {
                    return Ok(LogDecision { written, summary });
                }
                (summary, LogChange::Put(log)) if is_newest => {
                    return Ok(LogDecision { written, summary: Some(Summary::append(summary, log, self.regimen)) });
                }
                (Some(summary), _) => {
                    let was = was.map(|log| log.has_bleeding);
                    if let Some(summary) = self.change_within(user, &summary, change, was).await? {
                        return Ok(LogDecision { written, summary });
                    }
                    // Somebody wrote logs in another way and did not say so.
                }
                // Without a summary, no log was counted: somebody wrote it in another way and did
                // not say so.
                (None, _) => {}
            }
        }
        let mut rows = self.by_date(user).await?;
        let written = decide(rows.remove(&date));
        rows.extend(written.row().map(|row| (date, row.clone())));
        Ok(LogDecision { written, summary: self.summary_of(&rows) })
    }

    /// The summary after a change of a day up to the newest log's; `None` when it does not fit the
    /// logs.
    async fn change_within(
        &self,
        user: &UserId,
        summary: &Summary,
        change: LogChange,
        was: Option<bool>,
    ) -> Result<Option<Option<Summary>>, StoreError> {
        let mut known = LogWindow::around(change.date(), summary.ends());
        for page in 0..pages_max() {
            match summary.change(change, was, &known) {
                Ok(summary) => return Ok(Some(summary)),
                Err(SummaryError::Mismatch) => return Ok(None),
                Err(SummaryError::Missing(missing)) => self.extend(user, &mut known, missing, page_logs(page)).await?,
            };
        }
        Ok(None)
    }

    /// Writes all of it; `false` when somebody was faster, and nothing was written.
    async fn write(
        &self,
        user: &UserId,
        before: &Before,
        written: &[LogWriteOutcome],
        summary: Option<&Summary>,
        now: Timestamp,
    ) -> Result<bool, WriteError> {
        if written.iter().all(LogWriteOutcome::is_nothing) {
            return Ok(true);
        }
        let summary = summary_after(user, before, summary, self.regimen, now)?;
        let mut actions = Transaction::of_user(&self.table, user)?.change(summary)?;
        // Without a condition of their own: of all who write logs of a user, the summary's version
        // lets one through.
        for written in written {
            actions = match written {
                LogWriteOutcome::New(row) | LogWriteOutcome::Changed(row) => actions.set(row)?,
                LogWriteOutcome::Deleted(row) => actions.forget(&row.key())?,
                LogWriteOutcome::Same(_) | LogWriteOutcome::Nothing => actions,
            };
        }
        match actions.send().await? {
            TransactionOutcome::Written => Ok(true),
            TransactionOutcome::ConditionFailed { action: 0, .. } => Err(WriteError::NoUser),
            TransactionOutcome::ConditionFailed { .. } | TransactionOutcome::Conflict => Ok(false),
        }
    }
}

fn summary_after(
    user: &UserId,
    before: &Before,
    summary: Option<&Summary>,
    regimen: Regimen,
    now: Timestamp,
) -> Result<Upsert, StoreError> {
    let read = before.row.as_ref().map(|row| row.version);
    let created_at = before.row.as_ref().map_or(now, |row| row.created_at);
    let row = Upsert::new(&LogSummary::new(user.as_str(), summary, regimen, read.unwrap_or(0) + 1, created_at, now))?;
    // Stops a change that was decided on older logs: each of them moves the version.
    Ok(match read {
        None => row.when("attribute_not_exists(PK)", Vec::new()),
        Some(version) => row.when("#Version = :read", vec![("read", n(version))]),
    })
}

impl LogWriteOutcome {
    /// The log that the day has now.
    pub fn row(&self) -> Option<&MedicationLog> {
        match self {
            Self::New(row) | Self::Changed(row) | Self::Same(row) => Some(row),
            Self::Deleted(_) | Self::Nothing => None,
        }
    }

    fn is_nothing(&self) -> bool {
        matches!(self, Self::Same(_) | Self::Nothing)
    }
}

impl LogEntry {
    /// What this entry makes of a day with such a row.
    fn over(&self, user: &UserId, was: Option<MedicationLog>, now: Timestamp) -> LogWriteOutcome {
        let Self { log, is_taken, flow, .. } = *self;
        let is_new = was.is_none();
        let was = was.unwrap_or_else(|| MedicationLog::new(user, log, self.id, now));
        let note = self.note.as_ref().map(|note| note.as_ref().map(Note::to_string));
        let flow = flow.map(|flow| flow.map(|flow| flow.as_str().to_owned()));
        let names = |symptoms: &BTreeSet<Symptom>| symptoms.iter().map(|one| one.as_str().to_owned()).collect();
        let row = MedicationLog {
            has_bleeding: log.has_bleeding,
            is_taken,
            note: note.unwrap_or_else(|| was.note.clone()),
            // Without bleeding, a kept flow would contradict the day.
            flow: flow.unwrap_or_else(|| was.flow.clone()).filter(|_| log.has_bleeding),
            symptoms: self.symptoms.as_ref().map_or_else(|| was.symptoms.clone(), names),
            ..was.clone()
        };
        match () {
            () if is_new => LogWriteOutcome::New(row),
            () if row == was => LogWriteOutcome::Same(was),
            () => LogWriteOutcome::Changed(MedicationLog { updated_at: now, ..row }),
        }
    }
}
