//! Reads the table into files, segment by segment.

use futures::{StreamExt, TryStreamExt, stream};
use store::{StoreError, Table};

use super::markers::PairHalf;
use super::records::{FOLDER, Found, ItemRecord, write};
use crate::Failure;
use crate::mapping::World;
use crate::run::{FileDigest, LineWriter, Run};
use crate::terminal::Progress;

/// The number of segments for each worker: the workers end at about the same time.
const SEGMENTS_PER_WORKER: i32 = 4;

/// The file of a segment.
pub(super) fn file(segment: i32) -> String {
    format!("{FOLDER}/segment-{segment:04}.jsonl")
}

/// Reads all segments; returns their files' digests in order.
pub(super) async fn read(
    run: &Run,
    (table, world): (&Table, &World),
    parallel: u8,
    progress: &Progress,
) -> Result<Vec<FileDigest>, Failure> {
    let segments = i32::from(parallel) * SEGMENTS_PER_WORKER;
    let each =
        stream::iter(0..segments).map(|segment| read_segment(run, (table, world), (segment, segments), progress));
    each.buffered(parallel.into()).try_collect().await
}

/// Reads one segment, with consistent reads.
async fn read_segment(
    run: &Run,
    (table, world): (&Table, &World),
    (segment, segments): (i32, i32),
    progress: &Progress,
) -> Result<FileDigest, Failure> {
    let mut lines = LineWriter::create(run.path(&file(segment)))?;
    let mut start = None;
    loop {
        let page = table.scan().consistent_read(true).segment(segment).total_segments(segments);
        let page = page.set_exclusive_start_key(start).send().await.map_err(StoreError::from)?;
        for item in page.items.unwrap_or_default() {
            write(&mut lines, &Found::Item(ItemRecord::new(&item, &world.mapping.target)))?;
            for half in PairHalf::of(&item, world) {
                write(&mut lines, &Found::Half(half))?;
            }
            progress.inc(1);
        }
        start = page.last_evaluated_key;
        if start.is_none() {
            return lines.finish();
        }
    }
}
