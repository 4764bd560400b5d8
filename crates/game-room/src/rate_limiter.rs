//! How much one connection may say, and all spectators of a game.
//!
//! The buckets are in the instance's memory, not in the table: a write for each message would cost
//! more than a flood, and delay every stroke. Each instance counts by itself, so a flooder that is
//! served by several instances gets through a few times as much. The stage's throttling limits the
//! sum.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

/// How much may come at once, and how much a second in the long run. A message that the instance
/// answers alone counts 1; one that many are told of, or that reads or writes a lot, counts
/// [`crate::protocol::ClientMessage::weight`].
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
const MESSAGE_COST: u64 = 1_000;

/// The decision on a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RateLimitVerdict {
    /// It passes.
    Pass,
    /// It is dropped, and its sender is told; once, until a message passes again.
    DropAndNotify,
    /// It is dropped.
    Drop,
}

#[derive(Debug)]
struct Bucket {
    left: u64,
    at_ms: u64,
    is_notified: bool,
}

/// Token buckets, of connections and of all spectators of a game.
#[derive(Debug, Default)]
pub struct RateLimiter(Mutex<HashMap<String, Bucket>>);

impl RateLimiter {
    /// Takes a message of that weight out of a budget, which belongs to a connection, or to some
    /// together.
    pub fn take(&self, whose: &str, budget: Budget, weight: u32, now_ms: u64) -> RateLimitVerdict {
        let (full, weight) = (u64::from(budget.burst) * MESSAGE_COST, u64::from(weight) * MESSAGE_COST);
        let mut buckets = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if !buckets.contains_key(whose) {
            if buckets.len() >= BUCKETS_MAX {
                buckets.clear();
            }
            buckets.insert(whose.to_owned(), Bucket { left: full, at_ms: now_ms, is_notified: false });
        }
        let Some(bucket) = buckets.get_mut(whose) else { return RateLimitVerdict::Pass };
        let elapsed_ms = now_ms.saturating_sub(bucket.at_ms);
        bucket.left = bucket.left.saturating_add(elapsed_ms.saturating_mul(u64::from(budget.rate))).min(full);
        bucket.at_ms = bucket.at_ms.max(now_ms);
        if bucket.left >= weight {
            bucket.left -= weight;
            bucket.is_notified = false;
            RateLimitVerdict::Pass
        } else if std::mem::replace(&mut bucket.is_notified, true) {
            RateLimitVerdict::Drop
        } else {
            RateLimitVerdict::DropAndNotify
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn verdicts(
        limiter: &RateLimiter,
        connection: &str,
        times: impl IntoIterator<Item = u64>,
    ) -> Vec<RateLimitVerdict> {
        times.into_iter().map(|now_ms| limiter.take(connection, CONNECTION, 1, now_ms)).collect()
    }

    #[test]
    fn thirty_messages_pass_at_once_and_a_flooder_is_told_one_time() {
        let limiter = RateLimiter::default();
        assert_eq!(verdicts(&limiter, "a", [0; 30]), [RateLimitVerdict::Pass; 30]);
        assert_eq!(
            verdicts(&limiter, "a", [0; 3]),
            [RateLimitVerdict::DropAndNotify, RateLimitVerdict::Drop, RateLimitVerdict::Drop]
        );
        assert_eq!(verdicts(&limiter, "b", [0]), [RateLimitVerdict::Pass], "another connection has its own bucket");
    }

    #[test]
    fn fifteen_a_second_come_back() {
        let limiter = RateLimiter::default();
        verdicts(&limiter, "a", [0; 31]);
        assert_eq!(
            verdicts(&limiter, "a", [66, 67, 68]),
            [RateLimitVerdict::Drop, RateLimitVerdict::Pass, RateLimitVerdict::DropAndNotify]
        );
        assert_eq!(
            verdicts(&limiter, "a", [100_000; 31])[28..],
            [RateLimitVerdict::Pass, RateLimitVerdict::Pass, RateLimitVerdict::DropAndNotify]
        );
    }

    #[test]
    fn a_message_that_costs_more_counts_more() {
        let limiter = RateLimiter::default();
        let heavy = |now_ms| limiter.take("a", CONNECTION, 5, now_ms);
        assert_eq!([heavy(0), heavy(0), heavy(0), heavy(0), heavy(0), heavy(0)], [RateLimitVerdict::Pass; 6]);
        assert_eq!(
            [heavy(0), heavy(333), heavy(334)],
            [RateLimitVerdict::DropAndNotify, RateLimitVerdict::Drop, RateLimitVerdict::Pass]
        );
    }

    #[test]
    fn a_clock_that_steps_back_gives_nothing_twice() {
        let limiter = RateLimiter::default();
        verdicts(&limiter, "a", [1_000; 30]);
        assert_eq!(verdicts(&limiter, "a", [0, 1_000]), [RateLimitVerdict::DropAndNotify, RateLimitVerdict::Drop]);
    }
}
