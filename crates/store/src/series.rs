//! What the access patterns of time series share: directions, pages, and the merge of what several queries bring.

use std::str::FromStr;

use itertools::Itertools;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

/// Oldest or newest first.
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
    pub(crate) fn is_before<T: Ord>(self, a: T, b: T) -> bool {
        if self == Self::Asc { a < b } else { a > b }
    }
}

/// A text that names no direction.
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

/// Rows in their order, and whether there are more behind them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rows<T> {
    /// The rows.
    pub rows: Vec<T>,
    /// Whether the query stopped before the end of what it asked for.
    pub has_more: bool,
}

/// Some rows of a list, and where to go on if there are more.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Page<T, P> {
    /// At most as many as were asked for.
    pub items: Vec<T>,
    /// `None` on the last page.
    pub next: Option<P>,
    /// How many rows of the page could not be read, and are not in `items`.
    pub skipped: usize,
}

/// Which of `shards` partitions a row goes to, by what tells it from others: always the same one, and each as often as any other.
pub(crate) fn shard(identity: &[u8], shards: u8) -> u8 {
    let hash = Sha256::digest(identity);
    let number = u16::from_be_bytes([hash[0], hash[1]]) % u16::from(shards);
    // Below `shards`, so it fits.
    number as u8
}

/// Merges what several queries brought, each sorted by `position` in the direction, into the first `limit` rows of them all.
///
/// Behind the last row of a query that has more, that query's next row may come before anybody else's: there the merge stops,
/// even if it has fewer rows than `limit`. With queries of the same `limit` it never has.
pub(crate) fn merge<T, K: Ord>(
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
        let Some((row, is_all_that_is_known)) = merged.next() else { return Rows { rows, has_more: false } };
        rows.push(row);
        if is_all_that_is_known {
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
    fn rows_come_in_order_whichever_query_brought_them() {
        let queries = || vec![query(&[1, 4, 5], false), query(&[2, 3], false), query(&[], false)];
        assert_eq!(merge(queries(), Direction::Asc, 9, |row| *row), query(&[1, 2, 3, 4, 5], false));
        assert_eq!(merge(queries(), Direction::Asc, 5, |row| *row), query(&[1, 2, 3, 4, 5], false));
        assert_eq!(merge(queries(), Direction::Asc, 4, |row| *row), query(&[1, 2, 3, 4], true));
        let queries = vec![query(&[5, 4, 1], false), query(&[3, 2], false)];
        assert_eq!(merge(queries, Direction::Desc, 2, |row| *row), query(&[5, 4], true));
    }

    #[test]
    fn nothing_is_told_behind_the_end_of_a_query_that_has_more() {
        let queries = vec![query(&[1, 2], true), query(&[3, 4], true)];
        assert_eq!(merge(queries, Direction::Asc, 9, |row| *row), query(&[1, 2], true));
        let queries = vec![query(&[], true), query(&[3, 4], false)];
        assert_eq!(merge(queries, Direction::Asc, 9, |row| *row), query(&[], true));
    }
}
