//! How fast something may come from one place: so many at once, and one each so often in the long
//! run.
//!
//! The whole state is one time, until which the allowance is used up. It fits one attribute of an
//! item, and a conditional write stops two functions from spending the same allowance.

/// A guess while somebody draws: about one a second and a half, so that nobody goes through the
/// list of words in one turn.
pub const GUESSES: RateLimit = RateLimit { every_ms: 1_500, burst: 6 };
/// Other actions of a player that are broadcast.
pub const TALK: RateLimit = RateLimit { every_ms: 1_000, burst: 12 };
/// What a spectator says: each line goes to everybody in the know, or to everybody.
pub const SPECTATOR_TALK: RateLimit = RateLimit { every_ms: 5_000, burst: 4 };
/// New games of one client address. A class of thirty behind one address can begin at once.
pub const NEW_GAMES: RateLimit = RateLimit { every_ms: 60_000, burst: 30 };
/// Seats and tickets of one client address: a game of ten and its spectators can come back at once.
pub const TICKETS: RateLimit = RateLimit { every_ms: 1_000, burst: 120 };

/// So many at once, and one each so often.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RateLimit {
    /// How long each one takes up, milliseconds.
    pub every_ms: u64,
    /// How many may come at once.
    pub burst: u64,
}

impl RateLimit {
    /// Takes `count` at `now_ms` from an allowance that is used up until `until_ms` (0 at first).
    /// Returns the new time.
    ///
    /// # Errors
    /// How many milliseconds to wait, when that is too fast.
    pub fn take(self, until_ms: u64, count: u64, now_ms: u64) -> Result<u64, u64> {
        let until_ms = until_ms.max(now_ms) + count * self.every_ms;
        let full_ms = now_ms + self.burst * self.every_ms;
        if until_ms <= full_ms { Ok(until_ms) } else { Err(until_ms - full_ms) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PACE: RateLimit = RateLimit { every_ms: 1_000, burst: 3 };

    #[test]
    fn three_come_at_once_and_then_one_a_second() {
        let mut until_ms = 0;
        for _ in 0..3 {
            until_ms = PACE.take(until_ms, 1, 10_000).expect("one of three");
        }
        assert_eq!(PACE.take(until_ms, 1, 10_000), Err(1_000));
        assert_eq!(PACE.take(until_ms, 1, 10_999), Err(1));
        assert_eq!(PACE.take(until_ms, 1, 11_000), Ok(14_000));
        assert_eq!(PACE.take(until_ms, 3, 13_000), Ok(16_000), "all of them, after a rest");
        assert_eq!(PACE.take(0, 4, 13_000), Err(1_000), "never more than the burst");
    }

    #[test]
    fn a_clock_that_steps_back_gives_nothing_twice() {
        let until_ms = PACE.take(0, 3, 10_000).expect("three");
        assert_eq!(PACE.take(until_ms, 1, 9_000), Err(2_000));
    }
}
