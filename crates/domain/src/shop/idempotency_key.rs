//! The idempotency key of a request.

use std::fmt;

/// A client's name for a request. With it, sending the request again changes nothing. It has 1 to
/// 64 visible ASCII characters without `#`.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct IdempotencyKey(String);

/// The text is not a valid [`IdempotencyKey`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("expected 1 to {max} visible ASCII characters without `#`", max = IdempotencyKey::CHARS_MAX)]
pub struct IdempotencyKeyError;

impl IdempotencyKey {
    /// The most characters.
    pub const CHARS_MAX: usize = 64;

    /// Checks length and characters.
    pub fn new(text: &str) -> Result<Self, IdempotencyKeyError> {
        let is_plain = text.bytes().all(|byte| byte.is_ascii_graphic() && byte != b'#');
        ((1..=Self::CHARS_MAX).contains(&text.len()) && is_plain)
            .then(|| Self(text.to_owned()))
            .ok_or(IdempotencyKeyError)
    }

    /// The text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for IdempotencyKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_idempotency_key_fits_a_header_and_a_sort_key() {
        assert!(IdempotencyKey::new(&"~".repeat(64)).is_ok() && IdempotencyKey::new("order:7/retry").is_ok());
        for text in ["", "a b", "a#b", "é", "a\tb", &"a".repeat(65)] {
            assert_eq!(IdempotencyKey::new(text), Err(IdempotencyKeyError), "{text:?}");
        }
    }
}
