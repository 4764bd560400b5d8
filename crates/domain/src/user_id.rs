//! The id of a visitor.

use std::fmt;

/// The identifier of a visitor: 1 to 128 characters, no control characters, no `#`.
///
/// Without `#`, a user id can never be the partition key `STAT#...` or another key that the suite
/// uses for itself.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct UserId(String);

/// Why a text is not a [`UserId`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum UserIdError {
    /// The text is empty.
    #[error("must not be empty")]
    Empty,
    /// The text has more than [`UserId::CHARS_MAX`] characters.
    #[error("must have at most {max} characters", max = UserId::CHARS_MAX)]
    TooLong,
    /// The text contains a control character, such as a line break, a tab or a NUL.
    #[error("must not contain control characters")]
    ControlCharacter,
    /// The text contains `#`, which separates the parts of reserved keys.
    #[error("must not contain '#', which marks reserved keys")]
    Reserved,
}

impl UserId {
    /// The most characters (not bytes) of a user id. At four bytes each, they are far below
    /// DynamoDB's limit of 2,048 bytes for a partition key.
    pub const CHARS_MAX: usize = 128;

    /// Checks the rules of the type.
    pub fn new(text: impl Into<String>) -> Result<Self, UserIdError> {
        let text = text.into();
        if text.is_empty() {
            return Err(UserIdError::Empty);
        }
        if text.chars().nth(Self::CHARS_MAX).is_some() {
            return Err(UserIdError::TooLong);
        }
        if text.contains('#') {
            return Err(UserIdError::Reserved);
        }
        if text.chars().any(char::is_control) {
            return Err(UserIdError::ControlCharacter);
        }
        Ok(Self(text))
    }

    /// The text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for UserId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn user_id_length_counts_characters_not_bytes() {
        assert!(UserId::new("訪".repeat(128)).is_ok());
        assert_eq!(UserId::new("訪".repeat(129)), Err(UserIdError::TooLong));
        assert_eq!(UserId::new(""), Err(UserIdError::Empty));
    }

    #[test]
    fn a_user_id_cannot_be_a_reserved_key() {
        for text in ["STAT#DAILY", "#", "CHECKPOINT#x", "a#b"] {
            assert_eq!(UserId::new(text), Err(UserIdError::Reserved), "{text:?}");
        }
    }

    #[test]
    fn control_characters_are_refused() {
        for text in ["a\nb", "\0", "tab\t", "\u{85}", "\u{7f}"] {
            assert_eq!(UserId::new(text), Err(UserIdError::ControlCharacter), "{text:?}");
        }
    }
}
