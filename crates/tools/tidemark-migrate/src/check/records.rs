//! What the check keeps of each item of the table, in files: both sides are compared part by part,
//! so memory does not grow with the table.

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use super::number;
use crate::item::{AS_OF, Attributes, Key, VERSION, item_hash};
use crate::mapping::Target;
use crate::parts::{Part, Parts};
use crate::run::Run;
use crate::{Failure, FailureKind};

/// The folder of these files in the run's folder.
pub(super) const FOLDER: &str = "check";

/// An item, of either side.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct ItemRecord {
    pub(super) key: u128,
    pub(super) content: u128,
    /// `None` if the application created it.
    pub(super) version: Option<i64>,
    /// Whether its last writer was a migration.
    pub(super) is_untouched: bool,
    /// After this time TTL may have deleted the item.
    pub(super) expires_at: i64,
    /// Its key, for people.
    pub(super) name: String,
}

impl ItemRecord {
    pub(super) fn new(item: &Attributes, target: &Target) -> Self {
        let key = Key::of(item, target);
        let of = |name: &Option<String>| name.as_ref().and_then(|name| item.get(name));
        Self {
            key: key.as_ref().map(Key::hash).unwrap_or_default(),
            content: item_hash(item),
            version: number(item, VERSION),
            is_untouched: of(&target.updated_at) == item.get(AS_OF),
            expires_at: target.ttl.as_ref().and_then(|name| number(item, name)).unwrap_or(i64::MAX),
            name: key.map(|key| key.to_string()).unwrap_or_default(),
        }
    }
}

fn unreadable(error: impl std::fmt::Display) -> Failure {
    FailureKind::RunChanged.because(format!("the files of the check: {error}"))
}

/// Writes a record to the part of its hash.
pub(super) fn write_part<T: Serialize>(parts: &mut Parts, hash: u128, record: &T) -> Result<(), Failure> {
    parts.write(hash, &serde_json::to_string(record).map_err(unreadable)?)
}

pub(super) fn each<T: DeserializeOwned>(
    (run, part): (&Run, &Part),
    mut take: impl FnMut(T) -> Result<(), Failure>,
) -> Result<(), Failure> {
    let mut lines = part.open(run)?;
    while let Some(line) = lines.next_line()? {
        take(serde_json::from_str(line).map_err(unreadable)?)?;
    }
    Ok(())
}
