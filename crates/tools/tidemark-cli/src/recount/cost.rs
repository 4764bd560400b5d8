//! What a recount and its repair cost.

use clicks_store::{DateShards, RecountScope, Stat};

/// The write units of one statistic: two for the item in a transaction, one for the index.
const STAT_WRITE_UNITS: u64 = 3;

/// [A strongly consistent read
/// unit](https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/read-write-operations.html);
/// an eventually consistent read gets twice as much.
const READ_UNIT_BYTES: u64 = 4 * 1024;

/// [The most bytes that one request
/// reads](https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_Query.html).
const PAGE_BYTES: u64 = 1024 * 1024;

/// The most numbers that one transaction of a repair corrects.
const REPAIR_NUMBERS_MAX: u64 = 99;

/// [The most first-seen records that one request
/// reads](https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_BatchGetItem.html).
const FIRST_SEEN_RECORDS_PER_REQUEST: u64 = 100;

/// The assumed size of a click's item if the table does not report one, which is so for about six
/// hours after its creation.
const ITEM_BYTES: u64 = 250;

/// The estimated cost of reading the clicks and first-seen records once.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct RecountCost {
    pub(super) items: u64,
    pub(super) read_units: u64,
    pub(super) requests: u64,
}

impl RecountCost {
    /// `stored` are the stored sums of the scope's days: at least as many clicks as there are
    /// items, and as many visitors as there are first-seen records.
    pub(super) fn estimate(scope: RecountScope, size: TableSize, stored: Stat, date_shards: DateShards) -> Self {
        let item_bytes = size.size_bytes.checked_div(size.items).unwrap_or(ITEM_BYTES);
        match scope.days() {
            None => Self {
                items: size.items,
                read_units: size.size_bytes.div_ceil(READ_UNIT_BYTES),
                requests: size.size_bytes.div_ceil(PAGE_BYTES).max(1),
            },
            Some(days) => {
                let Stat { total_clicks, unique_users } = stored;
                let bytes = total_clicks.saturating_mul(item_bytes);
                let days = days.len() as u64 * date_shards.partitions_of_a_day();
                Self {
                    items: total_clicks + unique_users,
                    read_units: bytes.div_ceil(2 * READ_UNIT_BYTES) + unique_users,
                    requests: days + bytes / PAGE_BYTES + unique_users.div_ceil(FIRST_SEEN_RECORDS_PER_REQUEST),
                }
            }
        }
    }
}

/// The most that a repair will write.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct RepairCost {
    /// Numbers of statistics to correct.
    pub(super) numbers: u64,
    pub(super) first_seen_records: u64,
    pub(super) write_units: u64,
    pub(super) requests: u64,
}

impl RepairCost {
    pub(super) fn estimate(numbers: u64, first_seen_records: u64) -> Self {
        let transactions = numbers.div_ceil(REPAIR_NUMBERS_MAX);
        Self {
            numbers,
            first_seen_records,
            // The checkpoint of the repairs takes two units in each transaction.
            write_units: numbers * STAT_WRITE_UNITS + 2 * transactions + first_seen_records,
            requests: transactions + first_seen_records,
        }
    }
}

/// The size of the table. DynamoDB updates these figures about every six hours.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct TableSize {
    /// The number of items of all kinds.
    pub(super) items: u64,
    /// The sum of their sizes, without the index.
    pub(super) size_bytes: u64,
}

#[cfg(test)]
mod tests {
    use super::*;
    use jiff::civil::date;

    #[test]
    fn a_recount_of_everything_costs_the_size_of_the_table() {
        let size = TableSize { items: 1_000_000, size_bytes: 300_000_000 };
        let cost = RecountCost::estimate(RecountScope::All, size, Stat::default(), DateShards::default());
        assert_eq!(cost, RecountCost { items: 1_000_000, read_units: 73_243, requests: 287 });
    }

    #[test]
    fn day_recount_costs_its_clicks_visitors_and_partition_requests() {
        let size = TableSize { items: 10, size_bytes: 2_000 };
        let shards = DateShards::new(4).expect("in range");
        let stored = Stat { total_clicks: 100_000, unique_users: 450 };
        let cost = RecountCost::estimate(RecountScope::Day(date(2025, 10, 2)), size, stored, shards);
        assert_eq!(cost, RecountCost { items: 100_450, read_units: 2_442 + 450, requests: 5 + 19 + 5 });
        let young = TableSize { items: 0, size_bytes: 0 };
        let cost = RecountCost::estimate(RecountScope::Day(date(2025, 10, 2)), young, Stat::default(), shards);
        assert_eq!(cost, RecountCost { items: 0, read_units: 0, requests: 5 });
    }

    #[test]
    fn a_repair_costs_its_transactions_and_first_seen_records() {
        let cost = RepairCost::estimate(100, 2);
        let expected = RepairCost { numbers: 100, first_seen_records: 2, write_units: 300 + 4 + 2, requests: 2 + 2 };
        assert_eq!(cost, expected);
    }
}
