//! Rows of the live application, and values of them, that become nothing in DynamoDB.
//!
//! A value that DynamoDB cannot store sets its user aside. What the mapping itself leaves out is
//! reported, as the transformation does.

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::sync::{Mutex, OnceLock, PoisonError};

use serde::{Deserialize, Serialize};

use super::dynamo::Dynamo;
use super::item_writes::ItemWrites;
use super::outbox_entry::OutboxEntry;
use super::sides::Sides;
use crate::item::{Attributes, Key, hash};
use crate::reject::{Reason, Reject};
use crate::row::Row;
use crate::run::{LineWriter, Run};
use crate::transform::REJECTS;
use crate::{Failure, FailureKind};

/// The name of the file with the rows and values that were left out since the transformation.
pub(super) const LEFT_OUT: &str = "left-out-cutover.jsonl";

/// The most of them that are remembered: the list must not fill the memory.
const LEFT_OUT_MAX: usize = 100_000;

/// Numbers by table and reason.
type Counts = BTreeMap<String, BTreeMap<String, u64>>;

/// A row, or a part of one, that becomes nothing.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct NotMigrated {
    /// The table.
    pub table: String,
    /// The row's key.
    #[serde(rename = "id")]
    pub row: String,
    /// The reason, for programs.
    pub reason: String,
    /// The explanation, for people.
    pub detail: String,
    /// Whether the rest of the row is migrated.
    pub kept: bool,
    /// Whether the mapping wants it so.
    #[serde(skip)]
    pub is_decided: bool,
}

impl NotMigrated {
    pub(super) fn new(row: &Row, reject: &Reject, kept: bool) -> Self {
        let (table, reason, detail) = (row.table.name.clone(), reject.reason.to_string(), reject.detail.clone());
        Self { table, row: row.id(), reason, detail, kept, is_decided: reject.is_decided }
    }

    /// Equal for two reports of one fact: the detail of a whole row may have its size.
    fn hash(&self) -> u128 {
        let detail = if self.kept { &*self.detail } else { "" };
        hash(&[&self.table, "\0", &self.row, "\0", &self.reason, "\0", detail].map(str::as_bytes))
    }
}

impl std::fmt::Display for NotMigrated {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "row {} of {}: {}: {}", self.row, self.table, self.reason, self.detail)
    }
}

/// What was left out since the transformation. The application's library records nothing, because
/// nobody would read it there.
#[derive(Debug, Default)]
pub(super) struct LeftOut {
    /// The hashes of what the transformation has reported; `None` if its file is lost, and nobody
    /// knows what is new.
    known: OnceLock<Option<HashSet<u128>>>,
    found: Mutex<BTreeSet<NotMigrated>>,
}

impl LeftOut {
    pub(super) fn is_known(&self, one: &NotMigrated) -> bool {
        let known = self.known.get().map(Option::as_ref);
        known.is_some_and(|known| known.is_none_or(|known| known.contains(&one.hash())))
    }

    pub(super) fn add(&self, all: Vec<NotMigrated>) {
        if self.known.get().is_some() {
            let mut found = self.found.lock().unwrap_or_else(PoisonError::into_inner);
            let room = LEFT_OUT_MAX.saturating_sub(found.len());
            found.extend(all.into_iter().filter(|one| !self.is_known(one)).take(room));
        }
    }

    /// Writes the file, and returns the number by table and reason, and whether the mapping wants
    /// all of it.
    pub(super) fn write(&self, run: &Run) -> Result<(Counts, bool), Failure> {
        let (mut lines, mut counts) = (LineWriter::create(run.path(LEFT_OUT))?, Counts::new());
        let mut is_decided = true;
        for one in &*self.found.lock().unwrap_or_else(PoisonError::into_inner) {
            lines.write_json(one)?;
            is_decided &= one.is_decided;
            *counts.entry(one.table.clone()).or_default().entry(one.reason.clone()).or_default() += 1;
        }
        lines.finish()?;
        Ok((counts, is_decided))
    }
}

impl Sides {
    /// Records from here on what is left out and the run's transformation has not reported.
    pub(crate) fn record_left_out(&self, run: &Run) -> Result<(), Failure> {
        let hash = |line: Result<NotMigrated, Failure>| line.map(|line| line.hash());
        let known = run.read_lines(REJECTS)?.map(hash).collect::<Result<_, _>>()?;
        self.left_out.known.get_or_init(|| run.path(REJECTS).exists().then_some(known));
        Ok(())
    }

    /// Refuses writes that would remove the items of a row, or leave out a new row, because
    /// DynamoDB cannot store a value.
    pub(super) async fn check_rejects(
        &self,
        user: &str,
        changes: &[OutboxEntry],
        writes: &ItemWrites,
    ) -> Result<(), Failure> {
        // This user stays in PostgreSQL.
        if !Dynamo::can_store(user) {
            return Ok(());
        }
        for (rejected, keys) in &writes.rejected {
            let is_of_row = |row: &Row| row.table.name == rejected.table && row.id() == rejected.row;
            let first = changes.iter().find(|entry| entry.row().is_some_and(is_of_row));
            // A row of a rejected owner says nothing new.
            let is_insert = first.is_some_and(|first| !first.before.as_ref().is_some_and(is_of_row));
            let is_new = is_insert && rejected.reason != Reason::ORPHAN.as_str();
            if is_new || self.has_any(keys, |found| !self.is_of_another(found, user)).await? {
                let why = "its items stay as they were, and `repair` goes on when it fits";
                return Err(FailureKind::UserStuck.because(format!("user {user}, {rejected}; {why}")));
            }
        }
        Ok(())
    }

    /// Whether one of the keys has such an item.
    pub(super) async fn has_any(&self, keys: &[Key], wanted: impl Fn(&Attributes) -> bool) -> Result<bool, Failure> {
        for key in keys {
            if self.dynamo.get(key).await?.is_some_and(|found| wanted(&found)) {
                return Ok(true);
            }
        }
        Ok(false)
    }
}
