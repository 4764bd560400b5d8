//! Reads the whole table in pages, with consistent reads.

use futures::{Stream, StreamExt, stream};
use store_base::{StoreError, Table};

use super::markers::{self, Alone};
use crate::Failure;
use crate::item::Attributes;
use crate::mapping::World;

/// The segments of the table, and how many are read at once: the workers end at about the same time.
const SEGMENTS: i32 = 32;
const PARALLEL: usize = 8;

/// Some items of the table.
pub(super) struct Page {
    pub(super) items: Vec<Attributes>,
    /// The markers that lead to their items.
    pub(super) markers: u64,
    pub(super) alone: Vec<Alone>,
}

pub(super) fn pages<'p>(table: &'p Table, world: &'p World) -> impl Stream<Item = Result<Page, Failure>> + Unpin + 'p {
    let segments = stream::iter(0..SEGMENTS).map(|segment| {
        let scan = table.scan().consistent_read(true).segment(segment).total_segments(SEGMENTS);
        let pages = scan.into_paginator().send();
        Box::pin(stream::unfold(pages, |mut pages| async move { Some((pages.next().await?, pages)) }))
    });
    let pages = segments.flatten_unordered(PARALLEL).map(move |page| async move {
        let items = page.map_err(StoreError::from)?.items.unwrap_or_default();
        let (markers, alone) = markers::look_up(table, world, &items).await?;
        Ok(Page { items, markers, alone })
    });
    Box::pin(pages.buffered(PARALLEL))
}
