//! Rate limits for one connection, and for all spectators of a game together.
//!
//! The buckets are in the memory of the instance, not in the table. A write for each message would
//! cost more than a flood, and would delay all strokes. So each instance counts alone, and an
//! attacker whose messages reach several instances gets a few times as much. The throttling of the
//! API's stage bounds the sum.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

/// A token bucket: burst size and refill rate. A message that is answered by the instance alone
/// costs 1. A message that is sent to many, or that reads or writes a lot, costs
/// [`crate::protocol::ClientMessage::weight`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Budget {
    /// The number of tokens of a full bucket.
    pub burst: u32,
    /// The number of tokens refilled in a second.
    pub rate: u32,
}

/// The budget of one connection. A drawer of dots sends eight batches a second.
pub const CONNECTION: Budget = Budget { burst: 30, rate: 15 };

/// The budget of all spectators of a game together. Players are not affected by it.
pub const SPECTATORS: Budget = Budget { burst: 500, rate: 25 };

/// The number of buckets that an instance keeps, about a megabyte.
const BUCKETS_MAX: usize = 10_000;

/// The cost of a message in thousandths, so that the refill of a millisecond is a whole number.
const MESSAGE_COST: u64 = 1_000;

/// The decision about a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RateLimitVerdict {
    /// The message passes.
    Pass,
    /// The message is dropped, and the sender is told. This happens once, until a message passes
    /// again.
    DropAndNotify,
    /// The message is dropped.
    Drop,
}

#[derive(Debug)]
struct Bucket {
    left: u64,
    at_ms: u64,
    is_notified: bool,
}

/// The token buckets of connections and of the spectators of games.
#[derive(Debug, Default)]
pub struct RateLimiter(Mutex<HashMap<String, Bucket>>);

impl RateLimiter {
    /// Charges a message to a budget. `whose` is a connection, or a group that shares one budget.
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
    fn rate_limiter_passes_thirty_messages_then_notifies_a_flooder_once() {
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
