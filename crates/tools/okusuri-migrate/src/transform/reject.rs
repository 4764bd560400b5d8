//! Rows and items that are not migrated, and the reasons.

/// Why a row, or one item of a row, is not migrated.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Reason {
    /// `expired`: the application would refuse it anyway.
    Expired,
    /// `deleted`: the row or its user is marked as deleted.
    Deleted,
    /// `single-use`: a mailed code; a new one is sent on request.
    SingleUse,
    /// `password`: the hash of a password, which is not used for signing in any more.
    Password,
    /// `unverified-user`: a login of a user who never verified the address; somebody else may have
    /// linked it.
    UnverifiedUser,
    /// `orphan`: its user is missing or was rejected.
    Orphan,
    /// `duplicate-email`: another user has the same address after normalisation. This user keeps it
    /// in the profile, but is not found by it.
    DuplicateEmail,
    /// `duplicate-log-of-day`: another log of the day is newer.
    DuplicateLogOfDay,
    /// `duplicate`: another row with the same key is newer.
    Duplicate,
    /// `unreadable-time`: infinity, or a year without four digits.
    UnreadableTime,
    /// `date-before-1900`
    DateBefore1900,
    /// `unreadable-subscription`: not the JSON of a push subscription; the setting itself is kept.
    UnreadableSubscription,
    /// `unknown-platform`: neither `web`, `ios` nor `android`.
    UnknownPlatform,
    /// `unreadable-image`: neither an address nor a picture; the user is kept without it.
    UnreadableImage,
    /// `invalid-id`: an id that cannot be part of a key.
    InvalidId,
    /// `invalid-email`: not a valid address. The user keeps it in the profile, but is not found by
    /// it.
    InvalidEmail,
    /// `missing-value`: a column is null that must not be. If the column is a flag, the row is kept
    /// with the flag off.
    MissingValue,
    /// `too-large`: larger than the limit of an item.
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

    /// The reasons that need no review, because nothing of value is lost.
    pub const EXPECTED: [Self; 4] = [Self::Expired, Self::Deleted, Self::SingleUse, Self::Password];
}

/// A row that is not migrated, or a part of one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reject {
    /// The reason, for programs.
    pub reason: Reason,
    /// The explanation, for people.
    pub detail: String,
}

impl Reject {
    pub(crate) fn because(reason: Reason, detail: impl Into<String>) -> Self {
        Self { reason, detail: detail.into() }
    }
}
