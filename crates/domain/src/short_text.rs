//! A short line of text from a client, such as a name or a reason.

use std::fmt;

use unicode_normalization::char::is_combining_mark;

/// One line of 1 to 200 characters, such as the name of a product or a medicine, or the reason or
/// the author of a change.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct ShortText(String);

/// Why a text is not a [`ShortText`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum ShortTextError {
    /// The text has no visible character.
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
        if text.chars().all(|c| c.is_whitespace() || is_invisible(c)) {
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

    /// The number of letters and digits that a reader sees.
    pub fn visible_letters(&self) -> usize {
        self.0.chars().filter(|c| c.is_alphanumeric() && !is_invisible(*c) && !is_combining_mark(*c)).count()
    }
}

impl fmt::Display for ShortText {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Letters and marks without a visible shape: fillers, joiners, variation selectors. They would
/// make two names look the same.
pub(crate) fn is_invisible(c: char) -> bool {
    matches!(c,
        '\u{34f}' | '\u{ad}' | '\u{61c}' | '\u{115f}' | '\u{1160}' | '\u{17b4}' | '\u{17b5}' | '\u{180b}'..='\u{180f}' | '\u{200b}'..='\u{200f}'
        | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{2800}' | '\u{3164}' | '\u{fe00}'..='\u{fe0f}' | '\u{feff}'
        | '\u{ffa0}' | '\u{fff9}'..='\u{fffb}' | '\u{1bca0}'..='\u{1bca3}' | '\u{1d173}'..='\u{1d17a}' | '\u{e0000}'..='\u{e0fff}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn short_text_is_one_line_and_counts_characters() {
        assert_eq!(ShortText::new(" 棚卸 ").map(|text| text.to_string()), Ok("棚卸".to_owned()));
        assert!(ShortText::new(&"棚".repeat(200)).is_ok());
        assert_eq!(ShortText::new(&"棚".repeat(201)), Err(ShortTextError::TooLong));
        let letters = |text: &str| ShortText::new(text).map(|text| text.visible_letters());
        assert_eq!((letters("棚 a1"), letters(&"\u{64b}".repeat(10))), (Ok(3), Ok(0)));
        for text in [" \n", "\u{200b}\u{200b}", " \u{3164} ", "\u{61c}", "\u{fff9}"] {
            assert_eq!(ShortText::new(text), Err(ShortTextError::Empty), "{text:?}");
        }
        assert_eq!(ShortText::new("a\nb"), Err(ShortTextError::ControlCharacter));
    }
}
