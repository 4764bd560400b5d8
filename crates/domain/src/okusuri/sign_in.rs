//! Sign-in codes by e-mail: limits for sending them, their lifetime, and limits for wrong codes.

use std::fmt;

use jiff::{SignedDuration, Timestamp};

/// The lifetime of a code.
pub const CODE_LIFETIME: SignedDuration = SignedDuration::from_mins(10);

/// The window in which codes and wrong codes are counted. It is also the length of the first lock.
pub const WINDOW: SignedDuration = SignedDuration::from_hours(1);

/// The longest lock; each lock is twice as long as the one before.
pub const LOCK_MAX: SignedDuration = SignedDuration::from_hours(24);

/// The time after the end of a lock at which it is forgotten; the next lock is as short as the
/// first.
pub const LOCK_FORGOTTEN_AFTER: SignedDuration = SignedDuration::from_hours(24);

/// The number of codes that the whole service sends in a [`WINDOW`]. A botnet can cause mail costs
/// of at most $0.10 an hour.
pub const SERVICE_SENDS_MAX: u32 = 1_000;

/// The limits for one mailbox or one source of requests.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// The minimum time between two codes.
    pub interval: SignedDuration,
    /// The maximum number of codes in a [`WINDOW`].
    pub sends_max: u32,
    /// The number of wrong codes in a [`WINDOW`] that causes a lock.
    pub attempts_max: u32,
}

impl Limits {
    /// The limits of a mailbox, for all its codes together. An attacker has about 100 tries a day,
    /// with a million possible codes.
    pub const MAILBOX: Self = Self { interval: SignedDuration::from_secs(60), sends_max: 5, attempts_max: 5 };
    /// The limits of a client address. They leave room for an office or a provider whose users
    /// share an address.
    pub const SOURCE: Self = Self { interval: SignedDuration::ZERO, sends_max: 60, attempts_max: 30 };
}

/// A sign-in code of six digits.
#[derive(Clone, PartialEq, Eq)]
pub struct Code(String);

/// The text is not six digits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("expected six digits")]
pub struct CodeError;

impl Code {
    /// The number of possible codes.
    const COUNT: u64 = 1_000_000;

    /// Reads a typed code. Spaces are ignored, and full-width digits are accepted.
    pub fn new(text: &str) -> Result<Self, CodeError> {
        let digits = text.chars().filter(|char| !char.is_whitespace()).map(|char| match char {
            '0'..='9' => Ok(char),
            '０'..='９' => char::from_digit(char as u32 - '０' as u32, 10).ok_or(CodeError),
            _ => Err(CodeError),
        });
        // Seven digits are enough to reject the text.
        let digits: String = digits.take(7).collect::<Result<_, _>>()?;
        if digits.len() == 6 { Ok(Self(digits)) } else { Err(CodeError) }
    }

    /// A code from a random number. The modulo makes some codes more likely by one part in 10^13.
    pub fn of_random(number: u64) -> Self {
        Self(format!("{:06}", number % Self::COUNT))
    }

    /// The digits.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// Hides the digits: a code in a log would let its readers sign in.
impl fmt::Debug for Code {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Code(...)")
    }
}

/// The counters of a mailbox or of a source of requests. A mailbox has them whether or not it has
/// an account.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SignInCounters {
    /// The number of codes sent since `window_from`.
    pub sends: u32,
    /// The number of wrong codes since `window_from`.
    pub attempts: u32,
    /// The number of locks that are not forgotten.
    pub locks: u32,
    /// When the window began.
    pub window_from: Timestamp,
    /// When the last code was sent; `None` if none was.
    pub sent_at: Option<Timestamp>,
    /// The end of the last lock; until then no code is sent or checked.
    pub locked_until: Option<Timestamp>,
}

/// There were too many wrong codes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("too many wrong codes; no code is sent or taken until {0}")]
pub struct Locked(pub Timestamp);

/// Why a code is not sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum SendError {
    /// The last code was sent less than [`Limits::interval`] ago.
    #[error("a code was sent just now; the next one can be sent from {0}")]
    JustSent(Timestamp),
    /// There were too many codes in a [`WINDOW`].
    #[error("too many codes were sent; the next one can be sent from {0}")]
    TooMany(Timestamp),
    /// There were too many wrong codes.
    #[error(transparent)]
    Locked(#[from] Locked),
}

impl SignInCounters {
    /// The counters now, with a new window if the old one is over. It fails during a lock.
    fn at(before: Option<&Self>, now: Timestamp) -> Result<Self, Locked> {
        let anew = Self { window_from: now, ..Self::default() };
        let Some(before) = before else { return Ok(anew) };
        before.may_guess(now)?;
        let locked_until = before.locked_until.filter(|until| now < *until + LOCK_FORGOTTEN_AFTER);
        let locks = if locked_until.is_some() { before.locks } else { 0 };
        let is_over = now >= before.window_from + WINDOW;
        let counted = if is_over { Self { sent_at: before.sent_at, ..anew } } else { before.clone() };
        Ok(Self { locks, locked_until, ..counted })
    }

    /// The counters after one more code is sent now. A new code does not reset the wrong codes;
    /// those count per window.
    pub fn count_send(before: Option<&Self>, limits: Limits, now: Timestamp) -> Result<Self, SendError> {
        let state = Self::at(before, now)?;
        if let Some(next) = state.sent_at.map(|at| at + limits.interval).filter(|next| now < *next) {
            return Err(SendError::JustSent(next));
        }
        if state.sends >= limits.sends_max {
            return Err(SendError::TooMany(state.window_from + WINDOW));
        }
        Ok(Self { sends: state.sends + 1, sent_at: Some(now), ..state })
    }

    /// The counters after one more attempt now, also if no code was sent. For a mailbox they are
    /// stored before the code is compared. So of a thousand guesses at once, only five are
    /// compared.
    pub fn count_attempt(before: Option<&Self>, limits: Limits, now: Timestamp) -> Result<Self, Locked> {
        let state = Self::at(before, now)?;
        let attempts = state.attempts.saturating_add(1);
        if attempts < limits.attempts_max {
            return Ok(Self { attempts, ..state });
        }
        // 2^5 hours are more than the longest lock.
        let lock = (WINDOW * (1 << state.locks.min(5))).min(LOCK_MAX);
        Ok(Self { attempts, locks: state.locks.saturating_add(1), locked_until: Some(now + lock), ..state })
    }

    /// Checks that there is no lock now.
    pub fn may_guess(&self, now: Timestamp) -> Result<(), Locked> {
        self.locked_until.filter(|until| now < *until).map_or(Ok(()), |until| Err(Locked(until)))
    }

    /// Whether the code that was sent last is still valid.
    pub fn is_good(&self, now: Timestamp) -> bool {
        self.sent_at.is_some_and(|at| now < at + CODE_LIFETIME)
    }

    /// The number of wrong codes until a lock.
    pub fn attempts_left(&self, limits: Limits) -> u32 {
        limits.attempts_max.saturating_sub(self.attempts)
    }

    /// When these counters no longer affect a request; they may be deleted then.
    pub fn matters_until(&self) -> Timestamp {
        let window = self.window_from + WINDOW;
        let others =
            [self.sent_at.map(|at| at + CODE_LIFETIME), self.locked_until.map(|until| until + LOCK_FORGOTTEN_AFTER)];
        others.into_iter().flatten().fold(window, Timestamp::max)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn now() -> Timestamp {
        "2026-11-22T10:00:00Z".parse().unwrap()
    }

    fn seconds(seconds: i64) -> SignedDuration {
        SignedDuration::from_secs(seconds)
    }

    #[test]
    fn a_code_is_six_digits_however_they_are_typed() {
        for text in ["012345", " 012 345 ", "０１２３４５"] {
            assert_eq!(Code::new(text).unwrap().as_str(), "012345", "{text}");
        }
        for text in ["", "12345", "1234567", "12345a", "-12345", "١٢٣٤٥٦"] {
            assert_eq!(Code::new(text), Err(CodeError), "{text}");
        }
        assert_eq!(Code::of_random(7).as_str(), "000007");
        assert!(Code::new(Code::of_random(u64::MAX).as_str()).is_ok());
        assert!(!format!("{:?}", Code::of_random(7)).contains('7'));
    }

    fn again(before: Option<&SignInCounters>, at: Timestamp) -> Result<SignInCounters, SendError> {
        SignInCounters::count_send(before, Limits::MAILBOX, at)
    }

    fn guess(before: &SignInCounters, at: Timestamp) -> Result<SignInCounters, Locked> {
        SignInCounters::count_attempt(Some(before), Limits::MAILBOX, at)
    }

    #[test]
    fn code_sends_are_limited_per_minute_and_per_hour() {
        let mut sent = again(None, now()).unwrap();
        assert_eq!(again(Some(&sent), now() + seconds(59)), Err(SendError::JustSent(now() + seconds(60))));
        for minute in 1..5 {
            sent = again(Some(&sent), now() + seconds(60 * minute)).unwrap();
        }
        assert_eq!(again(Some(&sent), now() + seconds(3_599)), Err(SendError::TooMany(now() + WINDOW)));
        assert_eq!(again(Some(&sent), now() + WINDOW).unwrap().sends, 1);
    }

    #[test]
    fn a_new_code_brings_no_new_attempts_within_the_hour() {
        let sent = SignInCounters { attempts: 4, ..again(None, now()).unwrap() };
        assert_eq!(again(Some(&sent), now() + seconds(60)).unwrap().attempts, 4);
        assert_eq!(again(Some(&sent), now() + WINDOW).unwrap().attempts, 0);
    }

    #[test]
    fn sixth_code_attempt_in_the_window_is_locked_out() {
        let mut sent = again(None, now()).unwrap();
        for left in (0..5).rev() {
            sent = guess(&sent, now()).unwrap();
            assert_eq!(sent.attempts_left(Limits::MAILBOX), left);
        }
        let until = now() + WINDOW;
        assert_eq!(guess(&sent, until - seconds(1)), Err(Locked(until)));
        assert_eq!(again(Some(&sent), until - seconds(1)), Err(SendError::Locked(Locked(until))));
        assert_eq!(again(Some(&sent), until).unwrap().sends, 1);
        assert_eq!(guess(&sent, until).unwrap().attempts, 1);
    }

    #[test]
    fn code_attempts_count_the_same_without_a_sent_code() {
        let mut none = None;
        let mut sent = again(None, now()).unwrap();
        for _ in 0..5 {
            let state = SignInCounters::count_attempt(none.as_ref(), Limits::MAILBOX, now()).unwrap();
            sent = guess(&sent, now()).unwrap();
            assert_eq!(SignInCounters { sends: 1, sent_at: Some(now()), ..state.clone() }, sent);
            none = Some(state);
        }
        assert_eq!(guess(&none.unwrap(), now()), Err(Locked(now() + WINDOW)));
    }

    #[test]
    fn lock_grows_to_a_day_and_resets_a_day_later() {
        let (mut sent, mut at) = (SignInCounters { window_from: now(), ..SignInCounters::default() }, now());
        for hours in [1, 2, 4, 8, 16, 24, 24] {
            for _ in 0..5 {
                sent = guess(&sent, at).unwrap();
            }
            at += SignedDuration::from_hours(hours);
            assert_eq!(sent.locked_until, Some(at), "{hours}");
        }
        assert_eq!(sent.matters_until(), at + LOCK_FORGOTTEN_AFTER);
        // A code that is sent in between does not reset the wrong codes.
        let sent = again(Some(&sent), at).unwrap();
        assert_eq!(guess(&sent, at + LOCK_FORGOTTEN_AFTER - seconds(1)).unwrap().locks, 7);
        assert_eq!(guess(&sent, at + LOCK_FORGOTTEN_AFTER).unwrap().locks, 0);
    }

    #[test]
    fn a_code_is_good_for_ten_minutes() {
        let sent = again(None, now()).unwrap();
        assert!(sent.is_good(now() + seconds(599)));
        assert!(!sent.is_good(now() + seconds(600)));
        assert!(!SignInCounters::count_attempt(None, Limits::MAILBOX, now()).unwrap().is_good(now()));
    }

    proptest! {
        #[test]
        fn code_sends_stay_within_limits_of_any_hour_and_minute(waits in prop::collection::vec(0_i64..2_000, 1..60)) {
            let (mut at, mut sent, mut times) = (now(), None, Vec::new());
            for wait in waits {
                at += seconds(wait);
                if let Ok(next) = again(sent.as_ref(), at) {
                    times.push(at);
                    sent = Some(next);
                }
            }
            for (index, time) in times.iter().enumerate() {
                let within = |span| times[index..].iter().take_while(|other| **other < *time + span).count();
                prop_assert_eq!(within(Limits::MAILBOX.interval), 1);
                prop_assert!(within(WINDOW) < 2 * Limits::MAILBOX.sends_max as usize);
            }
        }

        #[test]
        fn no_day_has_more_than_some_hundred_wrong_codes(waits in prop::collection::vec(0_i64..4_000, 1..400)) {
            let (mut at, mut sent, mut times) = (now(), None, Vec::new());
            for wait in waits {
                at += seconds(wait);
                if let Ok(next) = SignInCounters::count_attempt(sent.as_ref(), Limits::MAILBOX, at) {
                    times.push(at);
                    sent = Some(next);
                }
            }
            // A slow attacker with four tries an hour is never locked: 96 a day, and a few more at
            // the edge of a window.
            let day = SignedDuration::from_hours(24);
            for (index, time) in times.iter().enumerate() {
                prop_assert!(times[index..].iter().take_while(|other| **other < *time + day).count() <= 101);
            }
        }
    }
}
