//! The function's environment.

use std::collections::BTreeSet;

use domain::journal::{JournalStream, Retention};
use journal_store::JournalShards;
use lambda_kit::env::{ConfigError, parsed, required};

/// The function's configuration.
#[derive(Debug, Clone)]
pub struct Config {
    /// `JOURNAL_TABLE`.
    pub table: String,
    /// `JOURNAL_SHARDS`, 4 unless set.
    pub shards: JournalShards,
    /// `JOURNAL_RETENTION`, 400 days for every stream unless set.
    pub retention: Retention,
    /// `JOURNAL_PUBLIC_STREAMS`: the streams that anybody may read, separated by commas; none
    /// unless set.
    pub public: BTreeSet<JournalStream>,
}

impl Config {
    /// Reads and checks all variables.
    pub fn from_env() -> Result<Self, ConfigError> {
        Ok(Self {
            table: required("JOURNAL_TABLE")?,
            shards: parsed("JOURNAL_SHARDS", 4, "a number from 1 to 100", JournalShards::new)?,
            retention: parsed(
                "JOURNAL_RETENTION",
                Retention::default(),
                "days per stream, such as suite=400,default=90",
                Some,
            )?,
            public: parsed(
                "JOURNAL_PUBLIC_STREAMS",
                String::new(),
                "names of streams, separated by commas",
                |names| {
                    let names = names.split(',').map(str::trim).filter(|name| !name.is_empty());
                    names.map(|name| JournalStream::new(name).ok()).collect()
                },
            )?,
        })
    }
}
