//! Texts that clients bring along.

use std::fmt;

/// One line of 1 to 200 characters: a product's name, the reason of a change, who made it.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct ShortText(String);

/// Why a text is not a [`ShortText`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum ShortTextError {
    /// Nothing but space.
    #[error("must not be empty")]
    Empty,
    /// More than [`ShortText::CHARS_MAX`] characters.
    #[error("must have at most {max} characters", max = ShortText::CHARS_MAX)]
    TooLong,
    /// A line break, a tab, a NUL and their like.
    #[error("must not contain control characters")]
    ControlCharacter,
}

impl ShortText {
    /// The most characters, not bytes.
    pub const CHARS_MAX: usize = 200;

    /// Checks the rules of the type; space around the text is dropped.
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

/// What a client calls a request, so that sending it again changes nothing: 1 to 64 visible ASCII characters without `#`.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct RequestKey(String);

/// A text that is no [`RequestKey`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("expected 1 to {max} visible ASCII characters without `#`", max = RequestKey::CHARS_MAX)]
pub struct RequestKeyError;

impl RequestKey {
    /// The most characters.
    pub const CHARS_MAX: usize = 64;

    /// Checks length and characters.
    pub fn new(text: &str) -> Result<Self, RequestKeyError> {
        let is_plain = text.bytes().all(|byte| byte.is_ascii_graphic() && byte != b'#');
        ((1..=Self::CHARS_MAX).contains(&text.len()) && is_plain).then(|| Self(text.to_owned())).ok_or(RequestKeyError)
    }

    /// The text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for RequestKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_short_text_is_one_line_of_characters_and_not_of_bytes() {
        assert_eq!(ShortText::new(" 棚卸 ").map(|text| text.to_string()), Ok("棚卸".to_owned()));
        assert!(ShortText::new(&"棚".repeat(200)).is_ok());
        assert_eq!(ShortText::new(&"棚".repeat(201)), Err(ShortTextError::TooLong));
        assert_eq!(ShortText::new(" \n"), Err(ShortTextError::Empty));
        assert_eq!(ShortText::new("a\nb"), Err(ShortTextError::ControlCharacter));
    }

    #[test]
    fn a_request_key_is_what_a_header_and_a_sort_key_can_carry() {
        assert!(RequestKey::new(&"~".repeat(64)).is_ok() && RequestKey::new("order:7/retry").is_ok());
        for text in ["", "a b", "a#b", "é", "a\tb", &"a".repeat(65)] {
            assert_eq!(RequestKey::new(text), Err(RequestKeyError), "{text:?}");
        }
    }
}
