//! Facts about an event, as pairs of a name and a text, for programs.

use std::collections::BTreeMap;

/// At most 20 pairs of a name and a text. A name has 1 to 64 of the characters `A-Z`, `a-z`, `0-9`,
/// `.`, `_` and `-`. A text has at most 256 characters and no control characters.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Attributes(BTreeMap<String, String>);

/// Why some pairs are not [`Attributes`].
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum AttributesError {
    /// There are more than [`Attributes::PAIRS_MAX`] pairs.
    #[error("at most {max} pairs", max = Attributes::PAIRS_MAX)]
    TooMany,
    /// A name is empty, too long or has other characters.
    #[error("a name has 1 to {max} of the characters A-Z, a-z, 0-9, `.`, `_` and `-`", max = Attributes::NAME_CHARS_MAX)]
    Name,
    /// A text is too long.
    #[error("`{0}` must have at most {max} characters", max = Attributes::VALUE_CHARS_MAX)]
    TooLong(String),
    /// A text contains a control character, such as a line break, a tab or a NUL.
    #[error("`{0}` must not contain control characters")]
    ControlCharacter(String),
}

impl Attributes {
    /// The most pairs.
    pub const PAIRS_MAX: usize = 20;

    /// The most characters of a name.
    pub const NAME_CHARS_MAX: usize = 64;

    /// The most characters (not bytes) of a text.
    pub const VALUE_CHARS_MAX: usize = 256;

    /// Checks the rules of the type.
    pub fn new(pairs: BTreeMap<String, String>) -> Result<Self, AttributesError> {
        if pairs.len() > Self::PAIRS_MAX {
            return Err(AttributesError::TooMany);
        }
        for (name, value) in &pairs {
            let is_plain = name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"._-".contains(&byte));
            if !is_plain || !(1..=Self::NAME_CHARS_MAX).contains(&name.len()) {
                return Err(AttributesError::Name);
            }
            if value.chars().nth(Self::VALUE_CHARS_MAX).is_some() {
                return Err(AttributesError::TooLong(name.clone()));
            }
            if value.contains(char::is_control) {
                return Err(AttributesError::ControlCharacter(name.clone()));
            }
        }
        Ok(Self(pairs))
    }

    /// The pairs, by name.
    pub fn pairs(&self) -> &BTreeMap<String, String> {
        &self.0
    }

    /// Facts of the suite's own events. They always keep the rules, so they are not checked.
    pub(crate) fn of_suite(pairs: impl IntoIterator<Item = (&'static str, String)>) -> Self {
        Self(pairs.into_iter().map(|(name, value)| (name.to_owned(), value)).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn attributes_are_few_short_pairs() {
        let pairs = |n: usize| (0..n).map(|i| (format!("name-{i}"), "値".repeat(256))).collect();
        assert!(Attributes::new(pairs(20)).is_ok());
        assert_eq!(Attributes::new(pairs(21)), Err(AttributesError::TooMany));
        let one = |name: &str, value: &str| Attributes::new([(name.to_owned(), value.to_owned())].into()).map(|_| ());
        assert_eq!(one("a.b_c-1", ""), Ok(()));
        for name in ["", "a b", "名", "a#", &"a".repeat(65)] {
            assert_eq!(one(name, "x"), Err(AttributesError::Name), "{name:?}");
        }
        assert_eq!(one("a", &"値".repeat(257)), Err(AttributesError::TooLong("a".into())));
        assert_eq!(one("a", "x\ny"), Err(AttributesError::ControlCharacter("a".into())));
    }
}
