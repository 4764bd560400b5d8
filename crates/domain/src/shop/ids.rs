//! The ids of products and orders.

use std::fmt;

/// The most characters of an identifier.
const CHARS_MAX: usize = 64;

/// The text is not a valid id of a product or an order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("expected 1 to {CHARS_MAX} of the characters A-Z, a-z, 0-9, `.`, `_` and `-`, and neither `.` nor `..`")]
pub struct IdError;

fn checked(text: &str) -> Result<String, IdError> {
    let is_plain = text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"._-".contains(&byte));
    // Clients and proxies resolve `.` and `..` as steps in the path of a URL.
    let is_step = [".", ".."].contains(&text);
    ((1..=CHARS_MAX).contains(&text.len()) && is_plain && !is_step).then(|| text.to_owned()).ok_or(IdError)
}

/// The identifier of a product: 1 to 64 of the characters `A-Z`, `a-z`, `0-9`, `.`, `_` and `-`.
/// Without `#` in it, the end of the id inside a key is unambiguous.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ProductId(String);

impl ProductId {
    /// Checks length and characters.
    pub fn new(text: &str) -> Result<Self, IdError> {
        checked(text).map(Self)
    }

    /// The text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for ProductId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// The identifier of an order. It has the same rules as a [`ProductId`].
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct OrderId(String);

impl OrderId {
    /// Checks length and characters.
    pub fn new(text: &str) -> Result<Self, IdError> {
        checked(text).map(Self)
    }

    /// The text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for OrderId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_identifier_cannot_contain_the_separator_of_a_key() {
        assert_eq!(ProductId::new("p001").map(|id| id.to_string()), Ok("p001".to_owned()));
        assert!(
            ProductId::new(&"a".repeat(64)).is_ok()
                && OrderId::new("2024.A_1-b").is_ok()
                && ProductId::new("...").is_ok()
        );
        for text in ["", ".", "..", "p#1", "p 1", "p/1", "商品", "p\n", &"a".repeat(65)] {
            assert_eq!(ProductId::new(text), Err(IdError), "{text:?}");
            assert_eq!(OrderId::new(text), Err(IdError), "{text:?}");
        }
    }
}
