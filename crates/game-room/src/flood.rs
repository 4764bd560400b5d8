//! How much one connection may say, and all spectators of a game.
//!
//! The buckets are kept in the instance and not in the table: a write for each message would cost more than any flood, and
//! slow down everybody's strokes. So each of an API's instances has its own count, and a flooder who is served by several gets
//! through a few times as much; the stage's throttling bounds the sum.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

/// How much may come at once, and how much a second in the long run. A message that the instance answers alone counts 1; one that many are told of,
/// or that reads or writes a lot, counts [`crate::protocol::Message::weight`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Budget {
    /// At once.
    pub burst: u32,
    /// A second.
    pub rate: u32,
}

/// Of one connection. A drawer sends seven batches a second.
pub const CONNECTION: Budget = Budget { burst: 30, rate: 15 };

/// Of all spectators of a game together; players have nothing to fear from them.
pub const SPECTATORS: Budget = Budget { burst: 500, rate: 25 };

/// How many connections an instance remembers: about a megabyte.
const BUCKETS_MAX: usize = 10_000;

/// A message in thousandths, which makes the refill of a millisecond a whole number.
const MESSAGE: u64 = 1_000;

/// What is to become of a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// It passes.
    Pass,
    /// It is dropped, and its sender is told; once, until a message passes again.
    DropAndTell,
    /// It is dropped.
    Drop,
}

#[derive(Debug)]
struct Bucket {
    left: u64,
    at_ms: u64,
    is_told: bool,
}

/// Token buckets, of connections and of all spectators of a game.
#[derive(Debug, Default)]
pub struct Flood(Mutex<HashMap<String, Bucket>>);

impl Flood {
    /// Takes a message of that weight out of a budget, which belongs to a connection, or to some together.
    pub fn take(&self, whose: &str, budget: Budget, weight: u32, now_ms: u64) -> Verdict {
        let (full, weight) = (u64::from(budget.burst) * MESSAGE, u64::from(weight) * MESSAGE);
        let mut buckets = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if !buckets.contains_key(whose) {
            if buckets.len() >= BUCKETS_MAX {
                buckets.clear();
            }
            buckets.insert(whose.to_owned(), Bucket { left: full, at_ms: now_ms, is_told: false });
        }
        let Some(bucket) = buckets.get_mut(whose) else { return Verdict::Pass };
        let elapsed_ms = now_ms.saturating_sub(bucket.at_ms);
        bucket.left = bucket.left.saturating_add(elapsed_ms.saturating_mul(u64::from(budget.rate))).min(full);
        bucket.at_ms = bucket.at_ms.max(now_ms);
        if bucket.left >= weight {
            bucket.left -= weight;
            bucket.is_told = false;
            Verdict::Pass
        } else if std::mem::replace(&mut bucket.is_told, true) {
            Verdict::Drop
        } else {
            Verdict::DropAndTell
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn verdicts(flood: &Flood, connection: &str, times: impl IntoIterator<Item = u64>) -> Vec<Verdict> {
        times.into_iter().map(|now_ms| flood.take(connection, CONNECTION, 1, now_ms)).collect()
    }

    #[test]
    fn thirty_messages_pass_at_once_and_a_flooder_is_told_one_time() {
        let flood = Flood::default();
        assert_eq!(verdicts(&flood, "a", [0; 30]), [Verdict::Pass; 30]);
        assert_eq!(verdicts(&flood, "a", [0; 3]), [Verdict::DropAndTell, Verdict::Drop, Verdict::Drop]);
        assert_eq!(verdicts(&flood, "b", [0]), [Verdict::Pass], "another connection has its own bucket");
    }

    #[test]
    fn fifteen_a_second_come_back() {
        let flood = Flood::default();
        verdicts(&flood, "a", [0; 31]);
        assert_eq!(verdicts(&flood, "a", [66, 67, 68]), [Verdict::Drop, Verdict::Pass, Verdict::DropAndTell]);
        assert_eq!(verdicts(&flood, "a", [100_000; 31])[28..], [Verdict::Pass, Verdict::Pass, Verdict::DropAndTell]);
    }

    #[test]
    fn a_message_that_costs_more_counts_more() {
        let flood = Flood::default();
        let heavy = |now_ms| flood.take("a", CONNECTION, 5, now_ms);
        assert_eq!([heavy(0), heavy(0), heavy(0), heavy(0), heavy(0), heavy(0)], [Verdict::Pass; 6]);
        assert_eq!([heavy(0), heavy(333), heavy(334)], [Verdict::DropAndTell, Verdict::Drop, Verdict::Pass]);
    }

    #[test]
    fn a_clock_that_steps_back_gives_nothing_twice() {
        let flood = Flood::default();
        verdicts(&flood, "a", [1_000; 30]);
        assert_eq!(verdicts(&flood, "a", [0, 1_000]), [Verdict::DropAndTell, Verdict::Drop]);
    }
}
