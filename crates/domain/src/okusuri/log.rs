//! The log of a day.

use std::fmt;

use jiff::civil::{Date, date};

use super::Regimen;

/// The first day that can be logged.
pub const FIRST_DATE: Date = date(1900, 1, 1);

/// The record that the medication was taken on a day; at most one for each day.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Log {
    /// The day in the user's local calendar.
    pub date: Date,
    /// Whether there was bleeding.
    pub has_bleeding: bool,
}

impl Log {
    /// The log as streak, rest and adherence count it. A day without the medication counts as a day
    /// without a log, and so does a day of rest of a cycle: its bleeding is shown, and does not
    /// start a rest.
    pub fn counted(self, is_taken: bool, regimen: Regimen) -> Option<Self> {
        (is_taken && regimen.rest_left(self.date) == 0).then_some(self)
    }
}

/// Why a day cannot be logged.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum DateRefusal {
    /// The day has not begun in the user's time zone.
    #[error("{date} is still to come")]
    Future {
        /// The day.
        date: Date,
        /// Today, in the user's time zone.
        today: Date,
    },
    /// Before [`FIRST_DATE`].
    #[error("{0} is before {FIRST_DATE}")]
    TooEarly(Date),
}

/// Checks that a day can be logged; `today` is the date in the user's time zone.
pub fn check_loggable(date: Date, today: Date) -> Result<(), DateRefusal> {
    match date {
        _ if date > today => Err(DateRefusal::Future { date, today }),
        _ if date < FIRST_DATE => Err(DateRefusal::TooEarly(date)),
        _ => Ok(()),
    }
}

/// A note of a user: 1 to 500 characters. Line breaks and tabs are the only control characters.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Note(String);

/// Why a text is not a [`Note`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum NoteError {
    /// More than [`Note::CHARS_MAX`] characters.
    #[error("must have at most {max} characters", max = Note::CHARS_MAX)]
    TooLong,
    /// A control character such as NUL or escape.
    #[error("must not contain control characters")]
    ControlCharacter,
}

impl Note {
    /// The maximum number of characters, not bytes.
    pub const CHARS_MAX: usize = 500;

    /// Trims and checks a text; an empty text is no note.
    pub fn new(text: &str) -> Result<Option<Self>, NoteError> {
        let text = text.trim();
        if text.chars().nth(Self::CHARS_MAX).is_some() {
            return Err(NoteError::TooLong);
        }
        if text.chars().any(|char| char.is_control() && !['\n', '\r', '\t'].contains(&char)) {
            return Err(NoteError::ControlCharacter);
        }
        Ok((!text.is_empty()).then(|| Self(text.to_owned())))
    }

    /// The text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Note {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn today_can_be_logged_and_tomorrow_cannot() {
        let today = date(2026, 11, 22);
        assert_eq!(check_loggable(today, today), Ok(()));
        assert_eq!(check_loggable(FIRST_DATE, today), Ok(()));
        let tomorrow = date(2026, 11, 23);
        assert_eq!(check_loggable(tomorrow, today), Err(DateRefusal::Future { date: tomorrow, today }));
        let long_ago = date(1899, 12, 31);
        assert_eq!(check_loggable(long_ago, today), Err(DateRefusal::TooEarly(long_ago)));
    }

    #[test]
    fn a_note_is_counted_in_characters_and_may_have_lines() {
        assert_eq!(Note::new(" 頭痛\nend ").unwrap().unwrap().as_str(), "頭痛\nend");
        assert_eq!(Note::new(" \n"), Ok(None));
        assert!(Note::new(&"薬".repeat(500)).is_ok());
        assert_eq!(Note::new(&"薬".repeat(501)), Err(NoteError::TooLong));
        assert_eq!(Note::new("a\0b"), Err(NoteError::ControlCharacter));
    }
}
