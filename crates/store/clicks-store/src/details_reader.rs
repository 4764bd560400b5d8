//! Reads the statistics of hours, weeks and targets.

use std::sync::Arc;

use domain::calendar::{DateRange, WeekRange};
use domain::clicks::ClickTarget;
use jiff::civil::Date;
use rollup::{DeclarationError, Query, Rollup};

use super::keys::{TARGET_DAY, TARGET_INDEX};
use super::reader::Stat;
use super::statistics::{CountedClick, TOTAL_CLICKS, UNIQUE_USERS, click_details, rollup_table};
use store_base::{StoreError, Table};

/// The most pages with the days of a target. A page has 1,000, or a megabyte: more than five years.
const DAY_PAGES_MAX: usize = 20;

/// Reads the details of the clicks. Its requests are `Query` on the table and on the index of the
/// targets.
#[derive(Debug, Clone)]
pub struct ClickDetailsReader {
    table: rollup::Table,
    rollup: Arc<Rollup<CountedClick>>,
}

/// Statistics by their last dimension: an hour, a week, a day or a target.
pub type NamedStats = Vec<(String, Stat)>;

impl ClickDetailsReader {
    /// A reader of `table`.
    ///
    /// # Errors
    /// Never: a test builds the declaration.
    pub fn new(table: &Table) -> Result<Self, DeclarationError> {
        Ok(Self { table: rollup_table(table), rollup: Arc::new(click_details()?) })
    }

    /// Every hour of the days in a range, oldest first.
    pub async fn hourly(&self, range: DateRange) -> Result<NamedStats, StoreError> {
        self.series(self.rollup.query("hour").between(range.from(), range.to())).await
    }

    /// Every week of a range, oldest first.
    pub async fn weekly(&self, range: WeekRange) -> Result<NamedStats, StoreError> {
        self.series(self.rollup.query("week").between(range.from().monday(), range.to().monday())).await
    }

    /// Every day of a target in a range, oldest first.
    pub async fn daily(&self, target: &ClickTarget, range: DateRange) -> Result<NamedStats, StoreError> {
        let query = self.rollup.query("target").with("target", target.as_str());
        self.series(query.between(range.from(), range.to())).await
    }

    /// The targets of a day with the most clicks, most first.
    pub async fn top_targets(&self, day: Date, limit: u16) -> Result<NamedStats, StoreError> {
        let query = self.rollup.query("target").with("day", day.to_string()).limit(limit);
        let top = query.top(&self.table, TARGET_INDEX, TARGET_DAY, TOTAL_CLICKS).await?;
        top.iter().map(|stat| named(stat, stat.values.first())).collect()
    }

    /// The clicks of a target on all its days.
    ///
    /// # Errors
    /// Also if the target has more days than clicks of this suite can have: 20 pages.
    pub async fn total(&self, target: &ClickTarget) -> Result<u64, StoreError> {
        let mut query = self.rollup.query("target").with("target", target.as_str());
        let mut total = 0;
        for _ in 0..DAY_PAGES_MAX {
            let page = query.page(&self.table).await?;
            for stat in &page.stats {
                total += named(stat, None)?.1.total_clicks;
            }
            let Some(next) = page.next else { return Ok(total) };
            query = query.after(next);
        }
        Err(StoreError::unreadable("a target with too many days"))
    }

    async fn series(&self, query: Query<'_, CountedClick>) -> Result<NamedStats, StoreError> {
        let series = query.series(&self.table).await?;
        series.iter().map(|stat| named(stat, stat.values.last())).collect()
    }
}

fn named(stat: &rollup::Stat, name: Option<&String>) -> Result<(String, Stat), StoreError> {
    let number = |measure| u64::try_from(stat.number(measure)?).map_err(StoreError::unreadable);
    let (total_clicks, unique_users) = (number(TOTAL_CLICKS)?, number(UNIQUE_USERS)?);
    Ok((name.cloned().unwrap_or_default(), Stat { total_clicks, unique_users }))
}
