//! The name of a journal stream.

use std::fmt;

/// The name of a stream of entries: 1 to 64 of the characters `a-z`, `0-9` and `-`. Without `#` in
/// it, the end of the name inside a key is unambiguous.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct JournalStream(String);

/// Why a text is not the name of a stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("expected 1 to {max} of the characters a-z, 0-9 and `-`", max = JournalStream::CHARS_MAX)]
pub struct JournalStreamError;

impl JournalStream {
    /// The most characters of a name.
    pub const CHARS_MAX: usize = 64;

    /// Checks length and characters.
    pub fn new(text: &str) -> Result<Self, JournalStreamError> {
        let is_plain = text.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-');
        let fits = (1..=Self::CHARS_MAX).contains(&text.len());
        (is_plain && fits).then(|| Self(text.to_owned())).ok_or(JournalStreamError)
    }

    /// The public stream of the suite's own events.
    pub fn suite() -> Self {
        Self("suite".to_owned())
    }

    /// The stream of the stock movements. It shows how much a shop sells, so only staff may read
    /// it.
    pub fn stock() -> Self {
        Self("stock".to_owned())
    }

    /// The text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for JournalStream {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_cannot_contain_the_separator_of_a_key() {
        assert_eq!(JournalStream::new("suite"), Ok(JournalStream::suite()));
        assert_eq!(JournalStream::new("stock"), Ok(JournalStream::stock()));
        assert!(JournalStream::new("2-a").is_ok() && JournalStream::new(&"a".repeat(64)).is_ok());
        for text in ["", "Suite", "a#b", "a b", "日誌", "a\n", &"a".repeat(65)] {
            assert_eq!(JournalStream::new(text), Err(JournalStreamError), "{text:?}");
        }
    }
}
