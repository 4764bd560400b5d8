//! Where a user is notified.

use std::fmt;
use std::str::FromStr;

/// Subscriptions of one user: browsers on every device that somebody may have. A further one takes
/// the place of the one that is worth least.
pub const SUBSCRIPTIONS_MAX: usize = 20;

/// A subscription that fails so often in a row is switched off: a message a day, so it has been
/// silent for a fortnight.
pub const PUSH_FAILURES_MAX: u32 = 14;

/// What a browser runs on. Notifications are switched on and off for each.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Platform {
    /// A desktop browser, or an unknown platform.
    Web,
    /// iOS and iPadOS.
    Ios,
    /// Android.
    Android,
}

/// A text that names no platform.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("expected `web`, `ios` or `android`")]
pub struct PlatformError;

impl Platform {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Web, Self::Ios, Self::Android];

    /// As it is written in items and in JSON.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Web => "web",
            Self::Ios => "ios",
            Self::Android => "android",
        }
    }
}

impl fmt::Display for Platform {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl FromStr for Platform {
    type Err = PlatformError;

    fn from_str(text: &str) -> Result<Self, PlatformError> {
        Self::ALL.into_iter().find(|platform| platform.as_str() == text).ok_or(PlatformError)
    }
}
