//! The plan of a cutover: its phase and percentage.

use std::fmt;
use std::str::FromStr;

use clap::ValueEnum;
use tokio_postgres::GenericClient;

use crate::Failure;
use crate::source::source_failure;

/// The phases of a cutover, in order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, ValueEnum)]
pub enum Phase {
    /// PostgreSQL records changes, and nothing is replicated. From before the export until the load
    /// is checked.
    Capture,
    /// Changes of each side are replicated to the other. PostgreSQL owns all users.
    Dual,
    /// DynamoDB owns part of the users.
    Percent,
    /// DynamoDB owns all users, and nothing is replicated to PostgreSQL any more.
    Finished,
    /// All users move back to PostgreSQL.
    RollingBack,
}

impl Phase {
    /// The name in the plan and in reports.
    pub fn name(self) -> String {
        self.to_possible_value().map(|value| value.get_name().to_owned()).unwrap_or_default()
    }

    /// Whether a writer replicates its change at once.
    pub fn is_replicated(self) -> bool {
        self != Self::Capture
    }
}

impl fmt::Display for Phase {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.name())
    }
}

/// The plan of a cutover.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Plan {
    /// Its id. Items that another cutover left in the table have another id and are ignored.
    pub run: String,
    /// The current phase.
    pub phase: Phase,
    /// How many of the hundred buckets of users DynamoDB is to own: 0 to 100.
    pub percent: u8,
}

/// The id of the database's cutover, and the manifest of the run's items; `None` without a cutover.
/// Unlike [`super::Postgres::plan`], it may be read in any transaction.
pub(crate) async fn read_started<C: GenericClient + Sync>(
    client: &C,
) -> Result<Option<(String, Option<String>)>, Failure> {
    let exists = "SELECT to_regclass('tidemark_migration.plan') IS NOT NULL";
    if !client.query_one(exists, &[]).await.map_err(source_failure)?.get::<_, bool>(0) {
        return Ok(None);
    }
    let row = client.query_opt("SELECT run, items FROM tidemark_migration.plan", &[]).await.map_err(source_failure)?;
    Ok(row.map(|row| (row.get(0), row.get(1))))
}

/// The goal of a command: `capture`, `dual`, `0%` to `100%`, or `finished`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Goal {
    /// The phase.
    pub phase: Phase,
    /// Used with [`Phase::Percent`] and [`Phase::Finished`].
    pub percent: u8,
}

impl FromStr for Goal {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let of = |phase, percent| Ok(Self { phase, percent });
        match text {
            "capture" => of(Phase::Capture, 0),
            "dual" => of(Phase::Dual, 0),
            "shadow" => Err("shadow is gone: `--compare` compares both sides in every phase from dual on".to_owned()),
            "finished" => of(Phase::Finished, 100),
            _ => match text.strip_suffix('%').map(str::parse) {
                Some(Ok(percent @ 0..=100)) => of(Phase::Percent, percent),
                _ => Err("must be capture, dual, 0% to 100%, or finished".to_owned()),
            },
        }
    }
}

impl fmt::Display for Goal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.phase {
            Phase::Percent => write!(f, "{}%", self.percent),
            phase => phase.fmt(f),
        }
    }
}
