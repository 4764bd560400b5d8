//! Rows and items that are not migrated, and the reasons.

use std::borrow::Cow;
use std::fmt;

use serde::Serialize;

/// The stable name of a reason: one of the constants, or one of the mapping's own.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
pub struct Reason(Cow<'static, str>);

impl Reason {
    /// A column is null, and the mapping requires it.
    pub const MISSING_VALUE: Self = Self::new("missing-value");
    /// A text that is not a time: infinity, or a year without four digits.
    pub const UNREADABLE_TIME: Self = Self::new("unreadable-time");
    /// A text that is not a number, or a number that DynamoDB cannot store.
    pub const UNREADABLE_NUMBER: Self = Self::new("unreadable-number");
    /// A text that is not JSON, or JSON that DynamoDB cannot store.
    pub const UNREADABLE_JSON: Self = Self::new("unreadable-json");
    /// A text that is not hexadecimal.
    pub const UNREADABLE_BYTES: Self = Self::new("unreadable-bytes");
    /// A value that the mapping does not list.
    pub const UNKNOWN_VALUE: Self = Self::new("unknown-value");
    /// A value that a conversion or a comparison cannot use.
    pub const INVALID_VALUE: Self = Self::new("invalid-value");
    /// A value that cannot be part of a key, or a key that is empty or too long.
    pub const INVALID_ID: Self = Self::new("invalid-id");
    /// Larger than DynamoDB's limit of an item, or than the mapping's limit of a value.
    pub const TOO_LARGE: Self = Self::new("too-large");
    /// The owner is missing or was rejected.
    pub const ORPHAN: Self = Self::new("orphan");
    /// Another row with the same key has a better claim to it.
    pub const DUPLICATE: Self = Self::new("duplicate");

    /// A reason with a constant name.
    pub const fn new(name: &'static str) -> Self {
        Self(Cow::Borrowed(name))
    }

    /// A reason of a mapping.
    pub fn named(name: String) -> Self {
        Self(Cow::Owned(name))
    }

    /// The name.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// A row that is not migrated, or a part of one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reject {
    /// The reason, for programs.
    pub reason: Reason,
    /// The explanation, for people.
    pub detail: String,
    /// Whether a rule of the mapping or the lack of an owner decides so, and not a value that
    /// cannot be stored.
    pub is_decided: bool,
}

impl Reject {
    /// A rejection.
    pub fn because(reason: Reason, detail: impl Into<String>) -> Self {
        Self { reason, detail: detail.into(), is_decided: false }
    }

    /// A rejection that the mapping wants.
    pub(crate) fn decided(reason: Reason, detail: impl Into<String>) -> Self {
        Self { is_decided: true, ..Self::because(reason, detail) }
    }
}
