//! How long the journal keeps its entries.

use std::collections::BTreeMap;
use std::str::FromStr;

use jiff::{SignedDuration, Timestamp};

use super::JournalStream;
use crate::EntryId;

/// The longest retention, in days: a hundred years.
const DAYS_MAX: u32 = 36_500;

/// The name for the streams that have no pair of their own.
const DEFAULT: &str = "default";

/// For how many days each stream keeps its entries, parsed from `suite=400,default=90`. 0 keeps
/// them forever.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Retention {
    days: BTreeMap<JournalStream, u32>,
    default_days: u32,
}

/// Why a text is not a valid retention.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum RetentionError {
    /// The text is not a list of pairs of a stream and a number.
    #[error("expected streams and their days, as suite=400,default=90")]
    NotPairs,
    /// A number is more than a hundred years.
    #[error("expected at most {DAYS_MAX} days")]
    TooLong,
    /// A stream occurs twice.
    #[error("a stream is named twice")]
    Twice,
    /// The pair for the streams without a pair is missing.
    #[error("the default is missing, as default=90")]
    NoDefault,
}

impl Default for Retention {
    /// 400 days for every stream: a year and some weeks to look back on it.
    fn default() -> Self {
        Self { days: BTreeMap::new(), default_days: 400 }
    }
}

impl Retention {
    /// How long a stream keeps its entries; `None` means forever.
    pub fn of(&self, stream: &JournalStream) -> Option<SignedDuration> {
        let days = self.days.get(stream).copied().unwrap_or(self.default_days);
        (days > 0).then(|| SignedDuration::from_hours(24 * i64::from(days)))
    }

    /// The lowest id that the journal still shows in a stream; `None` when it shows all entries.
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
            let previous = match name.trim() {
                DEFAULT => default_days.replace(number),
                name => days.insert(JournalStream::new(name).map_err(|_| RetentionError::NotPairs)?, number),
            };
            if previous.is_some() {
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
    fn a_stream_without_days_of_its_own_has_the_default() {
        let retention: Retention = "suite=400, audit=0 ,default=90".parse().expect("days");
        let days = |name| retention.of(&stream(name)).map(|duration| duration.as_hours() / 24);
        assert_eq!((days("suite"), days("audit"), days("else")), (Some(400), None, Some(90)));
    }

    #[test]
    fn entries_older_than_the_retention_are_not_shown() {
        let retention: Retention = "audit=0,default=1".parse().expect("days");
        let now: Timestamp = "2024-01-02T10:30:00.000000001Z".parse().expect("a time");
        let first = retention.first_kept(&stream("x"), now).expect("a bound");
        assert_eq!(first.at().to_string(), "2024-01-01T10:30:00.001Z");
        assert_eq!(retention.first_kept(&stream("audit"), now), None);
    }

    #[test]
    fn an_ambiguous_or_incomplete_text_is_refused() {
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
