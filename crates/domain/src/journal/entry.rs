//! One entry of the journal.

use super::JournalStream;
use crate::Attributes;
use crate::EntryId;

/// A journal entry, stored or not.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// The stream that the entry belongs to.
    pub stream: JournalStream,
    /// The id of the entry, which contains its time.
    pub id: EntryId,
    /// A description of the event, for people.
    pub message: Message,
    /// The facts of the event, for programs.
    pub attributes: Attributes,
}

/// A description of the event: one line of 1 to 1,000 characters that is not only spaces.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Message(String);

/// Why a text is not a [`Message`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum MessageError {
    /// The text is empty or has only spaces.
    #[error("must not be empty")]
    Empty,
    /// The text has more than [`Message::CHARS_MAX`] characters.
    #[error("must have at most {max} characters", max = Message::CHARS_MAX)]
    TooLong,
    /// The text contains a control character, such as a line break, a tab or a NUL.
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

    /// A message of the suite itself. It always keeps the rules, so it is not checked.
    pub(super) fn of_suite(text: String) -> Self {
        Self(text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_is_one_line_and_not_empty() {
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
