//! Codes by e-mail: how often they are sent, how long they are good, and how often they may be guessed.

use std::fmt;

use jiff::{SignedDuration, Timestamp};

/// How long a code is good.
pub const CODE_LIFETIME: SignedDuration = SignedDuration::from_mins(10);

/// The least time between two codes to one address.
pub const SEND_INTERVAL: SignedDuration = SignedDuration::from_secs(60);

/// The time over which sends and wrong codes of an address are counted, and how long it is locked after too many wrong ones.
pub const WINDOW: SignedDuration = SignedDuration::from_hours(1);

/// Codes that one address is sent in a [`WINDOW`].
pub const SENDS_MAX: u32 = 5;

/// Wrong codes that one address takes in a [`WINDOW`], whichever code they were meant for. Somebody who guesses at one address day and night
/// has 120 tries a day at a million codes.
pub const ATTEMPTS_MAX: u32 = 5;

/// Six digits that came by mail.
#[derive(Clone, PartialEq, Eq)]
pub struct Code(String);

/// A text that is not six digits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("expected six digits")]
pub struct CodeError;

impl Code {
    /// Codes that there are.
    const COUNT: u64 = 1_000_000;

    /// Reads what somebody typed: spaces among the digits do not count, and digits may be of full width.
    pub fn new(text: &str) -> Result<Self, CodeError> {
        let digits = text.chars().filter(|char| !char.is_whitespace()).map(|char| match char {
            '0'..='9' => Ok(char),
            '０'..='９' => char::from_digit(char as u32 - '０' as u32, 10).ok_or(CodeError),
            _ => Err(CodeError),
        });
        // Seven are enough to see that they are too many.
        let digits: String = digits.take(7).collect::<Result<_, _>>()?;
        if digits.len() == 6 { Ok(Self(digits)) } else { Err(CodeError) }
    }

    /// A code out of a random number. Some codes are more likely than others by one part in 10^13.
    pub fn of_random(number: u64) -> Self {
        Self(format!("{:06}", number % Self::COUNT))
    }

    /// The digits.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// A code opens an account: it does not get into a log by accident.
impl fmt::Debug for Code {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Code(...)")
    }
}

/// What is remembered of an address that codes are sent to. Whether anybody has that address does not matter here.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sent {
    /// Codes sent since `window_from`.
    pub sends: u32,
    /// Wrong codes since `window_from`.
    pub attempts: u32,
    /// When counting began.
    pub window_from: Timestamp,
    /// When the last code was sent.
    pub sent_at: Timestamp,
    /// Until when no code is sent or taken.
    pub locked_until: Option<Timestamp>,
}

/// Why no code is sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum SendError {
    /// Too often: within the minute, or too many within the hour.
    #[error("a code was sent already; the next one can be sent from {0}")]
    TooMany(Timestamp),
    /// Too many wrong codes.
    #[error("too many wrong codes; the address is locked until {0}")]
    Locked(Timestamp),
}

impl SendError {
    /// When to try again.
    pub fn until(self) -> Timestamp {
        match self {
            Self::TooMany(until) | Self::Locked(until) => until,
        }
    }
}

/// Why a code is not even looked at.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum GuessError {
    /// It is too old, was used, or was never sent.
    #[error("the code has expired, or was used already")]
    Expired,
    /// Too many wrong codes.
    #[error("too many wrong codes; the address is locked until {0}")]
    Locked(Timestamp),
}

impl Sent {
    /// The state after sending one more code now, or why none is sent. A new code does not bring new attempts: those are the address's, by the hour.
    pub fn again(before: Option<&Self>, now: Timestamp) -> Result<Self, SendError> {
        let first = Self { sends: 1, attempts: 0, window_from: now, sent_at: now, locked_until: None };
        let Some(before) = before else { return Ok(first) };
        if let Some(until) = before.locked_until.filter(|until| now < *until) {
            return Err(SendError::Locked(until));
        }
        if now < before.sent_at + SEND_INTERVAL {
            return Err(SendError::TooMany(before.sent_at + SEND_INTERVAL));
        }
        if now >= before.window_from + WINDOW {
            return Ok(first);
        }
        if before.sends >= SENDS_MAX {
            return Err(SendError::TooMany(before.window_from + WINDOW));
        }
        Ok(Self { sends: before.sends + 1, sent_at: now, locked_until: None, ..before.clone() })
    }

    /// The state after one more attempt now, which may be right, or why there is none. It is to be stored before the code is compared: of a thousand
    /// guesses at once five are compared.
    pub fn guess(&self, now: Timestamp) -> Result<Self, GuessError> {
        if let Some(until) = self.locked_until.filter(|until| now < *until) {
            return Err(GuessError::Locked(until));
        }
        if now >= self.sent_at + CODE_LIFETIME {
            return Err(GuessError::Expired);
        }
        let attempts = self.attempts.saturating_add(1);
        Ok(Self { attempts, locked_until: (attempts >= ATTEMPTS_MAX).then(|| now + WINDOW), ..self.clone() })
    }

    /// How many more wrong codes the address takes.
    pub fn attempts_left(&self) -> u32 {
        ATTEMPTS_MAX.saturating_sub(self.attempts)
    }

    /// Until when this matters to the next one who asks. What is remembered may go then.
    pub fn matters_until(&self) -> Timestamp {
        let window = self.window_from + WINDOW;
        [window, self.sent_at + CODE_LIFETIME].into_iter().chain(self.locked_until).max().unwrap_or(window)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

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

    #[test]
    fn a_code_is_sent_once_a_minute_and_five_times_an_hour() {
        let mut sent = Sent::again(None, now()).unwrap();
        assert_eq!(Sent::again(Some(&sent), now() + seconds(59)), Err(SendError::TooMany(now() + seconds(60))));
        for minute in 1..5 {
            sent = Sent::again(Some(&sent), now() + seconds(60 * minute)).unwrap();
        }
        assert_eq!(Sent::again(Some(&sent), now() + seconds(3_599)), Err(SendError::TooMany(now() + WINDOW)));
        assert_eq!(Sent::again(Some(&sent), now() + WINDOW).unwrap().sends, 1);
    }

    #[test]
    fn a_new_code_brings_no_new_attempts_within_the_hour() {
        let sent = Sent { attempts: 4, ..Sent::again(None, now()).unwrap() };
        assert_eq!(Sent::again(Some(&sent), now() + seconds(60)).unwrap().attempts, 4);
        assert_eq!(Sent::again(Some(&sent), now() + WINDOW).unwrap().attempts, 0);
    }

    #[test]
    fn a_locked_address_is_sent_nothing_until_it_is_unlocked() {
        let until = now() + seconds(5_000);
        let sent = Sent { attempts: 5, locked_until: Some(until), ..Sent::again(None, now()).unwrap() };
        assert_eq!(Sent::again(Some(&sent), until - seconds(1)), Err(SendError::Locked(until)));
        assert_eq!(Sent::again(Some(&sent), until).unwrap(), Sent::again(None, until).unwrap());
        assert_eq!(sent.matters_until(), until);
    }

    #[test]
    fn the_fifth_attempt_may_be_right_and_a_sixth_is_none() {
        let mut sent = Sent::again(None, now()).unwrap();
        for left in (0..5).rev() {
            sent = sent.guess(now()).unwrap();
            assert_eq!(sent.attempts_left(), left);
        }
        assert_eq!(sent.guess(now() + WINDOW - seconds(1)), Err(GuessError::Locked(now() + WINDOW)));
        assert_eq!(sent.guess(now() + WINDOW), Err(GuessError::Expired));
    }

    #[test]
    fn a_code_is_good_for_ten_minutes() {
        let sent = Sent::again(None, now()).unwrap();
        assert!(sent.guess(now() + seconds(599)).is_ok());
        assert_eq!(sent.guess(now() + seconds(600)), Err(GuessError::Expired));
    }

    proptest! {
        #[test]
        fn no_hour_has_more_than_twice_the_codes_of_a_window_and_no_minute_more_than_one(waits in prop::collection::vec(0_i64..2_000, 1..60)) {
            let (mut at, mut sent, mut times) = (now(), None, Vec::new());
            for wait in waits {
                at += seconds(wait);
                if let Ok(next) = Sent::again(sent.as_ref(), at) {
                    times.push(at);
                    sent = Some(next);
                }
            }
            for (index, time) in times.iter().enumerate() {
                let within = |span| times[index..].iter().take_while(|other| **other < *time + span).count();
                prop_assert_eq!(within(SEND_INTERVAL), 1);
                prop_assert!(within(WINDOW) < 2 * SENDS_MAX as usize);
            }
        }
    }
}
