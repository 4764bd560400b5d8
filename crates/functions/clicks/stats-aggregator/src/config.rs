//! The function's environment.

use aws_sdk_dynamodb::Client;
use clicks_store::{CountedClick, click_aggregators, rollup_table};
use lambda_kit::env::{ConfigError, parsed, required};
use rollup::{Aggregator, DeclarationError, Layout};
use store_base::Table;

/// The function's configuration.
#[derive(Debug, Clone)]
pub struct Config {
    /// `CLICKS_TABLE`.
    pub table: String,
    /// `STAT_LAYOUT`, `sums` unless set.
    pub layout: Layout,
    /// `CLICK_DETAILS`: whether hours, weeks and targets are kept; true unless set.
    pub has_details: bool,
    /// `CLICK_VISITORS`: whether the visitors of all time are kept; true unless set.
    pub has_visitors: bool,
}

impl Config {
    /// Reads and checks all variables.
    pub fn from_env() -> Result<Self, ConfigError> {
        Ok(Self {
            table: required("CLICKS_TABLE")?,
            layout: parsed("STAT_LAYOUT", Layout::default(), "sums or buffers", Some)?,
            has_details: parsed("CLICK_DETAILS", true, "true or false", Some)?,
            has_visitors: parsed("CLICK_VISITORS", true, "true or false", Some)?,
        })
    }

    /// The aggregators of the clicks. The first one is always there.
    pub fn aggregators(&self, client: Client) -> Result<Vec<Aggregator<CountedClick>>, DeclarationError> {
        let table = Table::new(client, &self.table);
        let all = click_aggregators(&rollup_table(&table))?;
        let kept = all.into_iter().zip([true, self.has_details, self.has_visitors]);
        Ok(kept.filter(|(_, is_kept)| *is_kept).map(|(aggregator, _)| aggregator.layout(self.layout)).collect())
    }
}
