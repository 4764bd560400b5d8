//! A short line of text from a client, such as a name or a reason.

use std::fmt;

/// One line of 1 to 200 characters, such as the name of a product or a medicine, or the reason or
/// the author of a change.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct ShortText(String);

/// Why a text is not a [`ShortText`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum ShortTextError {
    /// The text is empty or has only spaces.
    #[error("must not be empty")]
    Empty,
    /// The text has more than [`ShortText::CHARS_MAX`] characters.
    #[error("must have at most {max} characters", max = ShortText::CHARS_MAX)]
    TooLong,
    /// The text contains a control character, such as a line break, a tab or a NUL.
    #[error("must not contain control characters")]
    ControlCharacter,
}

impl ShortText {
    /// The most characters (not bytes) of a text.
    pub const CHARS_MAX: usize = 200;

    /// Checks the rules of the type. Spaces around the text are removed.
    pub fn new(text: &str) -> Result<Self, ShortTextError> {
        let text = text.trim();
        if text.is_empty() {
            return Err(ShortTextError::Empty);
        }
        if text.chars().nth(Self::CHARS_MAX).is_some() {
            return Err(ShortTextError::TooLong);
        }
        if text.chars().any(char::is_control) {
            return Err(ShortTextError::ControlCharacter);
        }
        Ok(Self(text.to_owned()))
    }

    /// The text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for ShortText {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_short_text_is_one_line_and_its_length_counts_characters() {
        assert_eq!(ShortText::new(" 棚卸 ").map(|text| text.to_string()), Ok("棚卸".to_owned()));
        assert!(ShortText::new(&"棚".repeat(200)).is_ok());
        assert_eq!(ShortText::new(&"棚".repeat(201)), Err(ShortTextError::TooLong));
        assert_eq!(ShortText::new(" \n"), Err(ShortTextError::Empty));
        assert_eq!(ShortText::new("a\nb"), Err(ShortTextError::ControlCharacter));
    }
}
