//! Common parts of the time series: directions, pages, and the merge of several queries.

use std::str::FromStr;

use itertools::Itertools;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

/// The order of a list.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Direction {
    /// Oldest first.
    Asc,
    /// Newest first.
    Desc,
}

impl Direction {
    /// Whether `a` comes before `b`.
    pub fn is_before<T: Ord>(self, a: T, b: T) -> bool {
        if self == Self::Asc { a < b } else { a > b }
    }
}

/// The text is not the name of a direction.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("expected `asc` (oldest first) or `desc`")]
pub struct DirectionError;

impl FromStr for Direction {
    type Err = DirectionError;

    fn from_str(text: &str) -> Result<Self, DirectionError> {
        match text {
            "asc" => Ok(Self::Asc),
            "desc" => Ok(Self::Desc),
            _ => Err(DirectionError),
        }
    }
}

/// Sorted rows, and whether there are more after them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rows<T> {
    /// The rows.
    pub rows: Vec<T>,
    /// Whether the query stopped before the end of its range.
    pub has_more: bool,
}

/// Some rows of a list, and the position from which the next page continues.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Page<T, P> {
    /// The rows; at most as many as requested.
    pub items: Vec<T>,
    /// The position of the next page; `None` on the last page.
    pub next: Option<P>,
    /// How many rows of the page are unreadable and therefore not in `items`.
    pub skipped: usize,
}

/// The partition of a row, from 0 to `shards` - 1. The same identity always gives the same
/// partition, and the rows spread evenly.
pub fn shard(identity: &[u8], shards: u8) -> u8 {
    let hash = Sha256::digest(identity);
    let number = u16::from_be_bytes([hash[0], hash[1]]) % u16::from(shards);
    // The number is below `shards`, so it fits.
    number as u8
}

/// Merges the rows of several queries into the first `limit` of them all. Each query must be sorted
/// by `position` in the direction.
///
/// After the last row of a query that has more, the next row of that query could come before the
/// rows of the others. The merge stops there, even if it has fewer than `limit` rows. This cannot
/// happen when each query had the same `limit`.
pub fn merge<T, K: Ord>(
    queries: Vec<Rows<T>>,
    direction: Direction,
    limit: usize,
    position: impl Fn(&T) -> K,
) -> Rows<T> {
    if queries.iter().any(|query| query.has_more && query.rows.is_empty()) {
        return Rows { rows: Vec::new(), has_more: true };
    }
    let queries = queries.into_iter().map(|query| {
        let last = query.rows.len().checked_sub(1).filter(|_| query.has_more);
        query.rows.into_iter().enumerate().map(move |(index, row)| (row, Some(index) == last))
    });
    let is_before = |(a, _): &(T, bool), (b, _): &(T, bool)| direction.is_before(position(a), position(b));
    let mut merged = queries.kmerge_by(is_before);
    let mut rows = Vec::with_capacity(limit);
    while rows.len() < limit {
        let Some((row, is_last_known)) = merged.next() else { return Rows { rows, has_more: false } };
        rows.push(row);
        if is_last_known {
            return Rows { rows, has_more: true };
        }
    }
    Rows { rows, has_more: merged.next().is_some() }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn query(rows: &[u8], has_more: bool) -> Rows<u8> {
        Rows { rows: rows.to_vec(), has_more }
    }

    #[test]
    fn rows_of_several_queries_are_merged_in_order() {
        let queries = || vec![query(&[1, 4, 5], false), query(&[2, 3], false), query(&[], false)];
        assert_eq!(merge(queries(), Direction::Asc, 9, |row| *row), query(&[1, 2, 3, 4, 5], false));
        assert_eq!(merge(queries(), Direction::Asc, 5, |row| *row), query(&[1, 2, 3, 4, 5], false));
        assert_eq!(merge(queries(), Direction::Asc, 4, |row| *row), query(&[1, 2, 3, 4], true));
        let queries = vec![query(&[5, 4, 1], false), query(&[3, 2], false)];
        assert_eq!(merge(queries, Direction::Desc, 2, |row| *row), query(&[5, 4], true));
    }

    #[test]
    fn merge_stops_at_the_end_of_an_incomplete_query() {
        let queries = vec![query(&[1, 2], true), query(&[3, 4], true)];
        assert_eq!(merge(queries, Direction::Asc, 9, |row| *row), query(&[1, 2], true));
        let queries = vec![query(&[], true), query(&[3, 4], false)];
        assert_eq!(merge(queries, Direction::Asc, 9, |row| *row), query(&[], true));
    }
}
