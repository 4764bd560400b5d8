//! Reads the table into files, segment by segment. A check that was killed keeps the segments that
//! it has read.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

use futures::{StreamExt, TryStreamExt, stream};
use jiff::{SignedDuration, Timestamp};
use serde::{Deserialize, Serialize};
use store_base::{StoreError, Table};

use super::markers::PairHalf;
use super::records::{FOLDER, Found, ItemRecord, write};
use crate::Failure;
use crate::mapping::World;
use crate::pace::Pace;
use crate::run::{FileDigest, LineWriter, Run};
use crate::terminal::{Progress, tell};
use crate::transform::Items;

/// The name of the file that says which segments are read.
pub(crate) const STATE: &str = "check.json";

/// A killed check that began earlier is not continued: its items are too old to be compared.
const CONTINUED_FOR: SignedDuration = SignedDuration::from_hours(24);

/// The number of items in a segment, about.
const ITEMS_PER_SEGMENT: u64 = 20_000;

/// The most segments.
const SEGMENTS_MAX: u64 = 4_096;

/// How far the table is read.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct ScanState {
    table: String,
    /// The items' files: those of another transformation are compared with a table read anew.
    files: BTreeMap<String, FileDigest>,
    pub(super) begun: Timestamp,
    pub(super) segments: i32,
    /// The segments that are read, and their files.
    pub(super) read: BTreeMap<i32, FileDigest>,
}

impl ScanState {
    /// Begins to read the table, or continues.
    pub(super) fn begin(run: &Run, table: &str, items: &Items, parallel: u8, again: bool) -> Result<Self, Failure> {
        let before: Option<Self> = if again { None } else { run.read(STATE)? };
        let now = Timestamp::now();
        let is_same = |before: &Self| {
            before.table == table && before.files == items.files && now.duration_since(before.begun) < CONTINUED_FOR
        };
        if let Some(before) = before.filter(is_same) {
            let (read, all) = (before.read.len(), before.segments);
            tell(&format!("Continues the check of {}: {read} of {all} segments are read.", before.begun));
            return Ok(before);
        }
        run.fresh_folder(FOLDER)?;
        let segments = (items.count() / ITEMS_PER_SEGMENT).clamp(4 * u64::from(parallel), SEGMENTS_MAX);
        let state = Self {
            table: table.to_owned(),
            files: items.files.clone(),
            begun: now,
            segments: i32::try_from(segments).unwrap_or(i32::MAX),
            read: BTreeMap::new(),
        };
        run.write(STATE, &state)?;
        Ok(state)
    }

    /// The file of a segment.
    pub(super) fn file(segment: i32) -> String {
        format!("{FOLDER}/segment-{segment:04}.jsonl")
    }
}

/// Reads the segments that are missing.
pub(super) async fn read(
    run: &Run,
    (table, world): (&Table, &World),
    state: ScanState,
    parallel: u8,
    (pace, bar): (&Pace, &Progress),
) -> Result<ScanState, Failure> {
    let missing: Vec<_> = (0..state.segments).filter(|segment| !state.read.contains_key(segment)).collect();
    bar.inc(state.read.values().map(|file| file.lines).sum());
    let segments = state.segments;
    let state = Mutex::new(state);
    let each = stream::iter(missing).map(|segment| {
        let state = &state;
        async move {
            let file = read_segment(run, (table, world), (segment, segments), pace, bar).await?;
            let mut state = state.lock().unwrap_or_else(PoisonError::into_inner);
            state.read.insert(segment, file);
            run.write(STATE, &*state)
        }
    });
    each.buffer_unordered(parallel.into()).try_collect::<()>().await?;
    Ok(state.into_inner().unwrap_or_else(PoisonError::into_inner))
}

/// Reads one segment, with consistent reads.
async fn read_segment(
    run: &Run,
    (table, world): (&Table, &World),
    (segment, segments): (i32, i32),
    pace: &Pace,
    bar: &Progress,
) -> Result<FileDigest, Failure> {
    let mut lines = LineWriter::create(run.path(&ScanState::file(segment)))?;
    let mut start = None;
    loop {
        pace.take(1).await;
        let page = table.scan().consistent_read(true).segment(segment).total_segments(segments);
        let page = page.set_exclusive_start_key(start).send().await.map_err(StoreError::from)?;
        for item in page.items.unwrap_or_default() {
            write(&mut lines, &Found::Item(ItemRecord::new(&item, &world.mapping.target)))?;
            for half in PairHalf::of(&item, world) {
                write(&mut lines, &Found::Half(half))?;
            }
            bar.inc(1);
        }
        start = page.last_evaluated_key;
        if start.is_none() {
            return lines.finish();
        }
    }
}
