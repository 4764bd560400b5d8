//! How long entries are kept.

use std::collections::BTreeMap;
use std::str::FromStr;

use jiff::{SignedDuration, Timestamp};

use super::{EntryId, JournalStream};

/// The most days that entries can be told to stay: a hundred years.
const DAYS_MAX: u32 = 36_500;

/// What stands for every stream that is not named.
const DEFAULT: &str = "default";

/// For how many days each stream keeps its entries, read from `suite=400,default=90`; 0 keeps them for ever.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Retention {
    days: BTreeMap<JournalStream, u32>,
    default_days: u32,
}

/// Why a text does not say how long entries are kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum RetentionError {
    /// Not pairs of a stream and a number.
    #[error("expected streams and their days, as suite=400,default=90")]
    NotPairs,
    /// More than a hundred years.
    #[error("expected at most {DAYS_MAX} days")]
    TooLong,
    /// A stream that comes twice.
    #[error("a stream is named twice")]
    Twice,
    /// No pair for the streams that are not named.
    #[error("a pair as default=90 is missing")]
    NoDefault,
}

impl Default for Retention {
    /// 400 days for every stream: a year, and time to look back on it.
    fn default() -> Self {
        Self { days: BTreeMap::new(), default_days: 400 }
    }
}

impl Retention {
    /// How long a stream keeps its entries; `None` for ever.
    pub fn of(&self, stream: &JournalStream) -> Option<SignedDuration> {
        let days = self.days.get(stream).copied().unwrap_or(self.default_days);
        (days > 0).then(|| SignedDuration::from_hours(24 * i64::from(days)))
    }

    /// The lowest id that a stream still shows; `None` when it shows all.
    pub fn first_kept(&self, stream: &JournalStream, now: Timestamp) -> Option<EntryId> {
        let retention = self.of(stream)?;
        Some(EntryId::first_from(now.checked_sub(retention).unwrap_or(Timestamp::MIN)))
    }
}

impl FromStr for Retention {
    type Err = RetentionError;

    fn from_str(text: &str) -> Result<Self, RetentionError> {
        let (mut days, mut default_days) = (BTreeMap::new(), None);
        for pair in text.split(',') {
            let (name, number) = pair.split_once('=').ok_or(RetentionError::NotPairs)?;
            let number = number.trim().parse().map_err(|_| RetentionError::NotPairs)?;
            if number > DAYS_MAX {
                return Err(RetentionError::TooLong);
            }
            let known = match name.trim() {
                DEFAULT => default_days.replace(number),
                name => days.insert(JournalStream::new(name).map_err(|_| RetentionError::NotPairs)?, number),
            };
            if known.is_some() {
                return Err(RetentionError::Twice);
            }
        }
        Ok(Self { days, default_days: default_days.ok_or(RetentionError::NoDefault)? })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stream(name: &str) -> JournalStream {
        JournalStream::new(name).expect("a name")
    }

    #[test]
    fn each_stream_has_its_days_and_the_others_the_default() {
        let retention: Retention = "suite=400, audit=0 ,default=90".parse().expect("days");
        let days = |name| retention.of(&stream(name)).map(|duration| duration.as_hours() / 24);
        assert_eq!((days("suite"), days("audit"), days("else")), (Some(400), None, Some(90)));
    }

    #[test]
    fn what_is_older_than_its_days_is_not_shown() {
        let retention: Retention = "audit=0,default=1".parse().expect("days");
        let now: Timestamp = "2024-01-02T10:30:00.000000001Z".parse().expect("a time");
        let first = retention.first_kept(&stream("x"), now).expect("a bound");
        assert_eq!(first.at().to_string(), "2024-01-01T10:30:00.001Z");
        assert_eq!(retention.first_kept(&stream("audit"), now), None);
    }

    #[test]
    fn a_text_that_leaves_a_doubt_is_refused() {
        for (text, why) in [
            ("", RetentionError::NotPairs),
            ("default", RetentionError::NotPairs),
            ("default=-1", RetentionError::NotPairs),
            ("Suite=1,default=1", RetentionError::NotPairs),
            ("default=1,", RetentionError::NotPairs),
            ("default=36501", RetentionError::TooLong),
            ("a=1,a=1,default=1", RetentionError::Twice),
            ("default=1,default=1", RetentionError::Twice),
            ("suite=1", RetentionError::NoDefault),
        ] {
            assert_eq!(text.parse::<Retention>(), Err(why), "{text:?}");
        }
    }
}
