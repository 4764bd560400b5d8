//! Rate limits: a token bucket with a burst size and a refill interval.
//!
//! The whole state is one time: the moment at which the bucket is full again. It fits in one
//! attribute of an item. A conditional write on the value that was read stops two functions from
//! spending the same tokens.

/// A guess while somebody draws: one every 1.5 seconds. Stops a bot from trying the whole word list
/// in one turn.
pub const GUESSES: RateLimit = RateLimit { every_ms: 1_500, burst: 6 };
/// Everything else from a player that is sent to everybody.
pub const TALK: RateLimit = RateLimit { every_ms: 1_000, burst: 12 };
/// A chat line of a spectator; it is sent to many connections.
pub const SPECTATOR_TALK: RateLimit = RateLimit { every_ms: 5_000, burst: 4 };
/// New games of one client address. A class of thirty behind one address can start at once.
pub const NEW_GAMES: RateLimit = RateLimit { every_ms: 60_000, burst: 30 };
/// Seats and tickets of one client address. A game of ten and its spectators can reconnect at once.
pub const TICKETS: RateLimit = RateLimit { every_ms: 1_000, burst: 120 };

/// A token bucket.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RateLimit {
    /// The time after which one token is refilled, in milliseconds.
    pub every_ms: u64,
    /// The number of tokens of a full bucket.
    pub burst: u64,
}

impl RateLimit {
    /// Takes `count` tokens at `now_ms`. `until_ms` is the stored state (0 at first); the result is
    /// the new state.
    ///
    /// # Errors
    /// With too few tokens: the milliseconds to wait.
    pub fn take(self, until_ms: u64, count: u64, now_ms: u64) -> Result<u64, u64> {
        let until_ms = until_ms.max(now_ms) + count * self.every_ms;
        let full_ms = now_ms + self.burst * self.every_ms;
        if until_ms <= full_ms { Ok(until_ms) } else { Err(until_ms - full_ms) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIMIT: RateLimit = RateLimit { every_ms: 1_000, burst: 3 };

    #[test]
    fn a_burst_of_three_passes_and_then_one_a_second() {
        let mut until_ms = 0;
        for _ in 0..3 {
            until_ms = LIMIT.take(until_ms, 1, 10_000).expect("one of three");
        }
        assert_eq!(LIMIT.take(until_ms, 1, 10_000), Err(1_000));
        assert_eq!(LIMIT.take(until_ms, 1, 10_999), Err(1));
        assert_eq!(LIMIT.take(until_ms, 1, 11_000), Ok(14_000));
        assert_eq!(LIMIT.take(until_ms, 3, 13_000), Ok(16_000), "the whole burst, after a pause");
        assert_eq!(LIMIT.take(0, 4, 13_000), Err(1_000), "never more than the burst");
    }

    #[test]
    fn a_clock_that_steps_back_gives_no_allowance_twice() {
        let until_ms = LIMIT.take(0, 3, 10_000).expect("three");
        assert_eq!(LIMIT.take(until_ms, 1, 9_000), Err(2_000));
    }
}
