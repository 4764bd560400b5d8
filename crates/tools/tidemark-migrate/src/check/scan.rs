//! Reads the table into the parts, segment by segment.

use std::sync::{Mutex, PoisonError};

use futures::{StreamExt, TryStreamExt, stream};
use store_base::{StoreError, Table};

use super::markers::PairHalf;
use super::records::{ItemRecord, write_part};
use crate::Failure;
use crate::mapping::World;
use crate::parts::Parts;
use crate::terminal::Progress;

/// The segments of the table, and how many are read at once: the workers end at about the same time.
const SEGMENTS: i32 = 32;
const PARALLEL: usize = 8;

/// The items of the table, and the halves of its pairs.
pub(super) struct Found {
    pub(super) items: Option<Parts>,
    pub(super) halves: Parts,
}

pub(super) async fn read(
    found: Found,
    (table, world): (&Table, &World),
    progress: &Progress,
) -> Result<Found, Failure> {
    let found = Mutex::new(found);
    let each = stream::iter(0..SEGMENTS).map(|segment| read_segment(&found, (table, world), segment, progress));
    each.buffered(PARALLEL).try_collect::<()>().await?;
    Ok(found.into_inner().unwrap_or_else(PoisonError::into_inner))
}

/// Reads one segment, with consistent reads.
async fn read_segment(
    found: &Mutex<Found>,
    (table, world): (&Table, &World),
    segment: i32,
    progress: &Progress,
) -> Result<(), Failure> {
    let scan = table.scan().consistent_read(true).segment(segment).total_segments(SEGMENTS);
    let mut pages = scan.into_paginator().send();
    while let Some(page) = pages.next().await {
        let mut found = found.lock().unwrap_or_else(PoisonError::into_inner);
        for item in page.map_err(StoreError::from)?.items.unwrap_or_default() {
            if let Some(items) = &mut found.items {
                let record = ItemRecord::new(&item, &world.mapping.target);
                write_part(items, record.key, &record)?;
            }
            for half in PairHalf::of(&item, world) {
                write_part(&mut found.halves, half.group(), &half)?;
            }
            progress.inc(1);
        }
    }
    Ok(())
}
