//! Turns the records of a batch into first-seen records to write and sums to add.
//!
//! A batch is split into chunks in the order of its records. Each chunk fits one transaction. Its
//! first-seen records are written and its sums are committed as if it were a batch of its own, so
//! no chunk needs to know about the others.

use std::collections::{BTreeMap, HashMap};

use jiff::civil::Date;

use super::{FirstSeen, SequenceNumber, ShardHash};
use crate::calendar::YearMonth;

/// The most days and months that one chunk may touch: the [100 actions of a
/// transaction](https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/ServiceQuotas.html#limits-dynamodb-transactions)
/// less one for the checkpoint and one for the total.
pub const TRANSACTION_STATS_MAX: usize = 98;

/// A click as the stream shows it, borrowed from the batch. Clients without this code write clicks
/// too, so the user id and the count may break the rules of [`crate::UserId`] and
/// [`super::ClickCount`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StreamClick<'a> {
    /// The sequence number of its record.
    pub sequence_number: SequenceNumber,
    /// The user who clicked.
    pub user_id: &'a str,
    /// The day that the click belongs to.
    pub date: Date,
    /// How many clicks the record stands for.
    pub count: u32,
}

/// Consecutive clicks of one shard, added up.
#[derive(Debug, Clone, PartialEq)]
pub struct Chunk<'a> {
    /// The last record that this chunk covers; the checkpoint moves to it.
    pub through: SequenceNumber,
    /// One visit for each user and month, in the order of their first records.
    pub visits: Vec<Visit<'a>>,
    clicks: BTreeMap<Date, u64>,
}

/// The days on which a user clicked in one month of one chunk.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Visit<'a> {
    /// The user.
    pub user_id: &'a str,
    /// The month.
    pub month: YearMonth,
    /// The chunk's first record of this user in this month.
    pub first: SequenceNumber,
    /// The days of the month, each with the chunk's first record of this user on that day.
    pub days: Vec<(Date, SequenceNumber)>,
}

/// The first-seen records that the table has for a visit, after the missing ones were written.
/// `None`: the record is known to be counted or to belong to another shard, so it was not looked
/// up.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct VisitFirstSeen {
    /// The record of the month.
    pub month: Option<FirstSeen>,
    /// The records of [`Visit::days`], in the same order.
    pub days: Vec<Option<FirstSeen>>,
}

/// The sums to add to one statistic.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Sums {
    /// The sum of the clicks' counts.
    pub clicks: u64,
    /// The number of users not seen before in this period.
    pub unique_users: u64,
}

/// The sums that a chunk adds to the statistics.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct StatDelta {
    /// The clicks of all days.
    pub total_clicks: u64,
    /// The sums of each day.
    pub days: BTreeMap<Date, Sums>,
    /// The sums of each month.
    pub months: BTreeMap<YearMonth, Sums>,
}

/// Splits clicks, given in the order of their shard, into as few chunks as possible; each fits one
/// transaction. The last chunk reaches `through`, the last record of the batch, even if that record
/// is not a click. A batch without clicks gives one empty chunk that only moves the checkpoint.
pub fn chunks<'a>(clicks: impl IntoIterator<Item = StreamClick<'a>>, through: SequenceNumber) -> Vec<Chunk<'a>> {
    let mut done = Vec::new();
    let mut open = OpenChunk::default();
    let mut reached = through;
    for click in clicks {
        if !open.has_room_for(click.date) {
            done.push(std::mem::take(&mut open).finish(reached));
        }
        open.add(&click);
        reached = click.sequence_number;
    }
    done.push(open.finish(through));
    done
}

/// A chunk to which clicks are still added.
#[derive(Default)]
struct OpenChunk<'a> {
    clicks: BTreeMap<Date, u64>,
    months: std::collections::BTreeSet<YearMonth>,
    visits: Vec<Visit<'a>>,
    visit_index: HashMap<(&'a str, YearMonth), usize>,
}

impl<'a> OpenChunk<'a> {
    fn has_room_for(&self, date: Date) -> bool {
        let new_day = usize::from(!self.clicks.contains_key(&date));
        let new_month = usize::from(!self.months.contains(&YearMonth::of(date)));
        self.clicks.len() + self.months.len() + new_day + new_month <= TRANSACTION_STATS_MAX
    }

    fn add(&mut self, click: &StreamClick<'a>) {
        let StreamClick { sequence_number, user_id, date, count } = *click;
        let month = YearMonth::of(date);
        *self.clicks.entry(date).or_default() += u64::from(count);
        self.months.insert(month);

        let index = *self.visit_index.entry((user_id, month)).or_insert_with(|| {
            self.visits.push(Visit { user_id, month, first: sequence_number, days: Vec::with_capacity(1) });
            self.visits.len() - 1
        });
        let days = &mut self.visits[index].days;
        if !days.iter().any(|(day, _)| *day == date) {
            days.push((date, sequence_number));
        }
    }

    fn finish(self, through: SequenceNumber) -> Chunk<'a> {
        Chunk { through, visits: self.visits, clicks: self.clicks }
    }
}

impl Chunk<'_> {
    /// The sums that this chunk adds, after its first-seen records were written.
    /// `visits_first_seen` has one element for each of [`Chunk::visits`], in the same order.
    /// `checkpoint` is the shard's checkpoint at the time when the first-seen records were written.
    pub fn delta(
        &self,
        shard: ShardHash,
        checkpoint: Option<SequenceNumber>,
        visits_first_seen: &[VisitFirstSeen],
    ) -> StatDelta {
        let mut delta = StatDelta::default();
        for (&date, &clicks) in &self.clicks {
            delta.total_clicks += clicks;
            delta.days.entry(date).or_default().clicks += clicks;
            delta.months.entry(YearMonth::of(date)).or_default().clicks += clicks;
        }
        let is_new = |first_seen: &Option<FirstSeen>| {
            first_seen.is_some_and(|first_seen| first_seen.is_uncounted_by(shard, checkpoint))
        };
        for (visit, visit_first_seen) in self.visits.iter().zip(visits_first_seen) {
            if is_new(&visit_first_seen.month) {
                delta.months.entry(visit.month).or_default().unique_users += 1;
            }
            for ((day, _), first_seen) in visit.days.iter().zip(&visit_first_seen.days) {
                if is_new(first_seen) {
                    delta.days.entry(*day).or_default().unique_users += 1;
                }
            }
        }
        delta
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use jiff::civil::date;

    fn number(n: u64) -> SequenceNumber {
        n.to_string().parse().expect("digits")
    }

    fn click(n: u64, user_id: &str, date: Date, count: u32) -> StreamClick<'_> {
        StreamClick { sequence_number: number(n), user_id, date, count }
    }

    #[test]
    fn a_visit_has_the_first_record_of_its_month_and_of_each_of_its_days() {
        let (first, second) = (date(2025, 10, 1), date(2025, 10, 2));
        let clicks = [
            click(5, "ann", second, 1),
            click(6, "ann", first, 2),
            click(7, "ann", second, 3),
            click(8, "bob", first, 4),
        ];
        let chunks = chunks(clicks, number(9));
        assert_eq!(chunks.len(), 1);
        assert_eq!(chunks[0].through, number(9));
        let ann = Visit {
            user_id: "ann",
            month: YearMonth::of(first),
            first: number(5),
            days: vec![(second, number(5)), (first, number(6))],
        };
        let bob =
            Visit { user_id: "bob", month: YearMonth::of(first), first: number(8), days: vec![(first, number(8))] };
        assert_eq!(chunks[0].visits, [ann, bob]);
        assert_eq!(chunks[0].clicks, BTreeMap::from([(first, 6), (second, 4)]));
    }

    #[test]
    fn a_batch_over_many_days_is_split_where_a_transaction_is_full() {
        let days = std::iter::successors(Some(date(2025, 1, 1)), |day| day.tomorrow().ok());
        let clicks: Vec<_> = days.take(200).zip(1..).map(|(day, n)| click(n, "ann", day, 1)).collect();
        let chunks = chunks(clicks, number(1_000));
        for chunk in &chunks {
            let months: std::collections::BTreeSet<_> = chunk.clicks.keys().map(|day| YearMonth::of(*day)).collect();
            assert!(chunk.clicks.len() + months.len() <= TRANSACTION_STATS_MAX);
        }
        let through: Vec<_> = chunks.iter().map(|chunk| chunk.through).collect();
        assert_eq!(through, [number(94), number(188), number(1_000)]);
        assert_eq!(chunks.iter().map(|chunk| chunk.clicks.len()).sum::<usize>(), 200);
    }

    #[test]
    fn a_batch_without_clicks_still_moves_the_checkpoint() {
        assert_eq!(chunks([], number(3)), [Chunk { through: number(3), visits: vec![], clicks: BTreeMap::new() }]);
    }
}
