//! One entry.

use super::{EntryId, JournalStream};
use crate::Attributes;

/// An entry, before it is stored and after.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// Where it belongs.
    pub stream: JournalStream,
    /// Which, and when.
    pub id: EntryId,
    /// What has happened, for people.
    pub message: Message,
    /// The same for programs.
    pub attributes: Attributes,
}

/// What has happened, in words: 1 to 1,000 characters on one line, and not only spaces.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Message(String);

/// Why a text is not a [`Message`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum MessageError {
    /// Nothing, or spaces.
    #[error("must not be empty")]
    Empty,
    /// More than [`Message::CHARS_MAX`] characters.
    #[error("must have at most {max} characters", max = Message::CHARS_MAX)]
    TooLong,
    /// A line break, a tab, a NUL and their like.
    #[error("must not contain control characters")]
    ControlCharacter,
}

impl Message {
    /// The most characters (not bytes) of a message.
    pub const CHARS_MAX: usize = 1_000;

    /// Checks the rules of the type.
    pub fn new(text: impl Into<String>) -> Result<Self, MessageError> {
        let text = text.into();
        if text.trim().is_empty() {
            return Err(MessageError::Empty);
        }
        if text.chars().nth(Self::CHARS_MAX).is_some() {
            return Err(MessageError::TooLong);
        }
        if text.contains(char::is_control) {
            return Err(MessageError::ControlCharacter);
        }
        Ok(Self(text))
    }

    /// The text.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Words of the suite's own, which are short and plain.
    pub(super) fn of_suite(text: String) -> Self {
        Self(text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_is_one_line_with_something_in_it() {
        assert!(Message::new("値".repeat(1_000)).is_ok());
        assert_eq!(Message::new("値".repeat(1_001)), Err(MessageError::TooLong));
        for text in ["", " ", "\u{3000}"] {
            assert_eq!(Message::new(text), Err(MessageError::Empty), "{text:?}");
        }
        for text in ["a\nb", "a\0", "\u{85}b"] {
            assert_eq!(Message::new(text), Err(MessageError::ControlCharacter), "{text:?}");
        }
    }
}
