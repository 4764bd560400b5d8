//! Logs: one for each day of a user, read by day, by range and as a calendar.

use domain::UserId;
use domain::calendar::DateRange;
use domain::okusuri::{Day, Log, LogWindow, MissingLogs, Regimen, Status, Summary, days};
use jiff::civil::Date;
use serde::{Deserialize, Serialize};

use super::keys::{self, Item, Key, MEDICATION_PREFIX, PARTITION_KEY, SORT_KEY};
use super::rows::{MedicationLog, read};
use store_base::{Direction, Page, Rows};
use store_base::{StoreError, Table};

/// The logs of the first page on the way backwards or forwards. Each further page has four times as
/// many.
const PAGE_LOGS: usize = 8;

/// The most logs of a page: at some 300 bytes each, less than the megabyte that a query reads.
const PAGE_LOGS_MAX: usize = 2_048;

/// The most pages: more logs than there are days from 1900 to 2200.
const PAGES_MAX: usize = 64;

/// Where a list of logs goes on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct LogPosition {
    /// Behind the log of this day.
    pub date: Date,
}

/// Days from the first to the last, both included and both optional.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct LogRange {
    /// The first day.
    pub from: Option<Date>,
    /// The last day.
    pub to: Option<Date>,
}

/// The days of a calendar, the logs among them, and how the user stands.
#[derive(Debug, Clone, PartialEq)]
pub struct Calendar {
    /// Each day of the range.
    pub days: Vec<Day>,
    /// The logs of the range, oldest first.
    pub logs: Vec<MedicationLog>,
}

/// The logs in a table. Reading is `GetItem` and `Query`; a change is a `TransactWriteItems` of
/// updates, deletes and condition checks.
#[derive(Debug, Clone)]
pub struct Logs {
    pub(super) table: Table,
    pub(super) regimen: Regimen,
}

impl Logs {
    /// The logs in `table`, of users of the default regimen.
    pub fn new(table: &Table) -> Self {
        Self { table: table.clone(), regimen: Regimen::default() }
    }

    /// The same for users of another regimen. What follows from the logs is computed under it.
    pub fn under(&self, regimen: Regimen) -> Self {
        Self { table: self.table.clone(), regimen }
    }

    /// The log of a day, as of the last write.
    pub async fn get(&self, user: &UserId, date: Date) -> Result<Option<MedicationLog>, StoreError> {
        self.item(&Key::new(keys::user(user), keys::medication(date))).await?.map(read).transpose()
    }

    /// Logs of a range in the order of their days.
    pub async fn page(
        &self,
        user: &UserId,
        range: LogRange,
        direction: Direction,
        limit: u16,
        after: Option<LogPosition>,
    ) -> Result<Page<MedicationLog, LogPosition>, StoreError> {
        let (mut from, mut to) = (range.from, range.to);
        // The next query starts after the logs that were read.
        match (after, direction) {
            (None, _) => {}
            (Some(after), Direction::Asc) => from = after.date.tomorrow().ok().max(from),
            (Some(after), Direction::Desc) => {
                let before = after.date.yesterday().ok();
                to = to.into_iter().chain(before).min();
            }
        }
        let page = self.query(user, (from, to), direction, limit.into(), false).await?;
        let next = page.rows.last().filter(|_| page.has_more).map(|log| LogPosition { date: log.date });
        Ok(Page { items: page.rows, next, skipped: 0 })
    }

    /// How a user stands today.
    pub async fn status(&self, user: &UserId, today: Date) -> Result<Status, StoreError> {
        let summary = self.summary(user).await?;
        self.status_of(user, summary.as_ref(), today).await
    }

    /// The current status of a user with this summary. Future days exist only after the user moved
    /// to an earlier time zone; only then is a log read.
    pub async fn status_of(&self, user: &UserId, summary: Option<&Summary>, today: Date) -> Result<Status, StoreError> {
        let is_ahead = summary.is_some_and(|summary| summary.last_on > today);
        let is_logged = is_ahead && self.get(user, today).await?.is_some_and(|log| self.counted(&log).is_some());
        Ok(Status::of(summary, self.regimen, today, is_logged))
    }

    /// What counts of a log.
    pub(super) fn counted(&self, log: &MedicationLog) -> Option<Log> {
        log.counted(self.regimen)
    }

    /// Each day of a range. Before it, only as much is read as can tell whether it begins in a
    /// rest.
    pub async fn calendar(&self, user: &UserId, range: DateRange, today: Date) -> Result<Calendar, StoreError> {
        let first_on = self.summary(user).await?.map(|summary| summary.first_on);
        // The summary knows nothing of days without the medication, so the range itself is always
        // read.
        let mut known = LogWindow::at(range.from(), (first_on.unwrap_or(range.from()), range.to()));
        let mut logs = Vec::new();
        for page in 0..PAGES_MAX {
            let missing = match days(range, today, first_on, self.regimen, &known) {
                Ok(days) => {
                    logs.retain(|log: &MedicationLog| range.from() <= log.date && log.date <= range.to());
                    logs.sort_by_key(|log| log.date);
                    return Ok(Calendar { days, logs });
                }
                Err(missing) => missing,
            };
            // So many logs, of a day each, reach to the end of the range.
            let limit = if missing == MissingLogs::Later { range.days().count() } else { page_logs(page) };
            logs.extend(self.extend(user, &mut known, missing, limit).await?);
        }
        Err(StoreError::unreadable(format!("the calendar of {user} needs more than {PAGES_MAX} pages")))
    }

    /// Reads the missing logs.
    pub(super) async fn extend(
        &self,
        user: &UserId,
        known: &mut LogWindow,
        missing: MissingLogs,
        limit: usize,
    ) -> Result<Vec<MedicationLog>, StoreError> {
        let (range, direction) = match missing {
            MissingLogs::Earlier => ((None, known.from().and_then(|from| from.yesterday().ok())), Direction::Desc),
            MissingLogs::Later => ((known.to(), None), Direction::Asc),
        };
        let page = self.query(user, range, direction, limit, true).await?;
        let logs = page.rows.iter().filter_map(|log| self.counted(log));
        let unread = match missing {
            MissingLogs::Earlier => known.from(),
            MissingLogs::Later => known.to().and_then(|to| to.yesterday().ok()),
        };
        // A page may be cut off before its first item.
        let last = page.rows.last().map(|row| row.date).or(unread).filter(|_| page.has_more);
        match missing {
            MissingLogs::Earlier => known.extend_earlier(logs, last),
            MissingLogs::Later => known.extend_later(logs, last),
        }
        Ok(page.rows)
    }

    /// All logs of a user, oldest first.
    pub(super) async fn all(&self, user: &UserId) -> Result<Vec<MedicationLog>, StoreError> {
        let mut logs = Vec::<MedicationLog>::new();
        for _ in 0..PAGES_MAX {
            let from = logs.last().and_then(|log| log.date.tomorrow().ok());
            let page = self.query(user, (from, None), Direction::Asc, PAGE_LOGS_MAX, true).await?;
            logs.extend(page.rows);
            if !page.has_more {
                return Ok(logs);
            }
        }
        Err(StoreError::unreadable(format!("{user} has more than {PAGES_MAX} pages of logs")))
    }

    pub(super) async fn item(&self, key: &Key) -> Result<Option<Item>, StoreError> {
        let request = self.table.get_item(key.item());
        Ok(request.consistent_read(true).send().await?.item)
    }

    async fn query(
        &self,
        user: &UserId,
        (from, to): (Option<Date>, Option<Date>),
        direction: Direction,
        limit: usize,
        is_consistent: bool,
    ) -> Result<Rows<MedicationLog>, StoreError> {
        if from.zip(to).is_some_and(|(from, to)| from > to) {
            return Ok(Rows { rows: Vec::new(), has_more: false });
        }
        // `~` lies behind every digit, and `#` before.
        let from = from.map_or_else(|| MEDICATION_PREFIX.to_owned(), keys::medication);
        let to = to.map_or_else(|| format!("{MEDICATION_PREFIX}~"), keys::medication);
        let request = self.table.query_between([PARTITION_KEY, SORT_KEY], keys::user(user), from, to);
        let request = request.limit(i32::try_from(limit).unwrap_or(i32::MAX)).consistent_read(is_consistent);
        let answer = request.scan_index_forward(direction == Direction::Asc).send().await?;
        let rows = answer.items.unwrap_or_default().into_iter().map(read).collect::<Result<_, _>>()?;
        Ok(Rows { rows, has_more: answer.last_evaluated_key.is_some() })
    }
}

/// The logs of the page with this number, from 0 on.
pub(super) fn page_logs(page: usize) -> usize {
    (PAGE_LOGS << (2 * page.min(8))).min(PAGE_LOGS_MAX)
}

pub(super) const fn pages_max() -> usize {
    PAGES_MAX
}
