//! Rows that are not migrated, with the reasons.

/// Why a row, or one item of a row, is not carried over.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Reason {
    /// `expired`: it would be refused anyway.
    Expired,
    /// `deleted`: it is marked as deleted, or its user is.
    Deleted,
    /// `single-use`: a code that is sent anew when it is asked for.
    SingleUse,
    /// `password`: the hash of a password, with which nobody can sign in any more.
    Password,
    /// `unverified-user`: a login of a user who never proved to have the address: somebody else may
    /// have linked it.
    UnverifiedUser,
    /// `orphan`: its user is not there, or was rejected.
    Orphan,
    /// `duplicate-email`: another user has the same address once it is normalised; this one keeps
    /// it in the profile, but is not found by it.
    DuplicateEmail,
    /// `duplicate-log-of-day`: another log of the day is newer.
    DuplicateLogOfDay,
    /// `duplicate`: another row with the same key is newer.
    Duplicate,
    /// `unreadable-time`: infinity, or a year that has not four digits.
    UnreadableTime,
    /// `date-before-1900`
    DateBefore1900,
    /// `unreadable-subscription`: not the JSON of a push subscription; the setting itself is kept.
    UnreadableSubscription,
    /// `unknown-platform`: neither `web`, `ios` nor `android`.
    UnknownPlatform,
    /// `unreadable-image`: neither an address nor a picture; the user is kept without it.
    UnreadableImage,
    /// `invalid-id`: an id that no key can have.
    InvalidId,
    /// `invalid-email`: no address; the user keeps it in the profile, but is not found by it.
    InvalidEmail,
    /// `missing-value`: a column is null that must not be; of a flag, the row is kept with it off.
    MissingValue,
    /// `too-large`: more than an item holds.
    TooLarge,
}

impl Reason {
    /// The stable name.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Expired => "expired",
            Self::Deleted => "deleted",
            Self::SingleUse => "single-use",
            Self::Password => "password",
            Self::UnverifiedUser => "unverified-user",
            Self::Orphan => "orphan",
            Self::DuplicateEmail => "duplicate-email",
            Self::DuplicateLogOfDay => "duplicate-log-of-day",
            Self::Duplicate => "duplicate",
            Self::UnreadableTime => "unreadable-time",
            Self::DateBefore1900 => "date-before-1900",
            Self::UnreadableSubscription => "unreadable-subscription",
            Self::UnknownPlatform => "unknown-platform",
            Self::UnreadableImage => "unreadable-image",
            Self::InvalidId => "invalid-id",
            Self::InvalidEmail => "invalid-email",
            Self::MissingValue => "missing-value",
            Self::TooLarge => "too-large",
        }
    }

    /// Those that nobody will miss, so that nobody needs to look.
    pub const EXPECTED: [Self; 4] = [Self::Expired, Self::Deleted, Self::SingleUse, Self::Password];
}

/// A row that is not carried over.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reject {
    /// For programs.
    pub reason: Reason,
    /// For people.
    pub detail: String,
}

impl Reject {
    pub(crate) fn because(reason: Reason, detail: impl Into<String>) -> Self {
        Self { reason, detail: detail.into() }
    }
}
