//! The items of the crate that matter to an operator.

use crate::declaration::RESERVED_PREFIX;
use crate::shard::OPERATOR;

/// An item of the crate in the table's stream, for a program that reports what an operator should
/// know.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum OwnItem {
    /// A [record in quarantine](crate::QuarantinedRecord).
    Quarantined,
    /// The checkpoint of the repairs. Each transaction of a repair changes it. `sequenceNumber` is
    /// the number of the transaction; `movedAt` its time in epoch seconds.
    Repairs,
}

impl OwnItem {
    /// The item with this key; `None` for any other.
    pub fn of(partition: &str, sort: &str) -> Option<Self> {
        let mut parts = partition.strip_prefix(RESERVED_PREFIX)?.split('#').skip(1);
        match (parts.next()?, parts.next(), parts.next()) {
            ("QUARANTINE", None, _) => Some(Self::Quarantined),
            ("CHECKPOINT", Some(OPERATOR), None) if sort == "repair" => Some(Self::Repairs),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_quarantined_records_and_repairs_matter() {
        assert_eq!(OwnItem::of("ROLLUP#votes#QUARANTINE", "shard#7"), Some(OwnItem::Quarantined));
        assert_eq!(OwnItem::of("ROLLUP#votes#CHECKPOINT#operator", "repair"), Some(OwnItem::Repairs));
        for (partition, sort) in [
            ("ROLLUP#votes#CHECKPOINT#operator", "redrive#1"),
            ("ROLLUP#votes#CHECKPOINT#arn:aws:dynamodb", "repair"),
            ("ROLLUP#votes#SEEN#QUARANTINE", "x"),
            ("ROLLUP#QUARANTINE", "x"),
            ("QUARANTINE#votes", "x"),
        ] {
            assert_eq!(OwnItem::of(partition, sort), None, "{partition} {sort}");
        }
    }
}
