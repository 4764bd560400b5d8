//! The rules for push subscriptions.

use std::fmt;
use std::str::FromStr;

use jiff::SignedDuration;

/// The maximum number of push subscriptions of a user. A further one replaces the least valuable
/// one.
pub const SUBSCRIPTIONS_MAX: usize = 20;

/// A subscription that fails this often in a row is switched off. A failure counts once in
/// [`PUSH_FAILURE_PAUSE`], so that is two weeks, however many messages a day has.
pub const PUSH_FAILURES_MAX: u32 = 14;

/// The time in which one more failure does not count. It is less than a day, because runs may be
/// late.
pub const PUSH_FAILURE_PAUSE: SignedDuration = SignedDuration::from_hours(20);

/// The language of a mail, as the page has it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Language {
    /// Japanese.
    Ja,
    /// English.
    #[default]
    En,
}

impl Language {
    /// Japanese for `ja` and `ja-JP`, English for all other tags.
    pub fn of(tag: Option<&str>) -> Self {
        let language = tag.and_then(|tag| tag.split(['-', '_']).next()).unwrap_or_default();
        if language.eq_ignore_ascii_case("ja") { Self::Ja } else { Self::En }
    }

    /// The value in items, and in HTML.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Ja => "ja",
            Self::En => "en",
        }
    }
}

/// The platform of a browser. Notifications can be switched on and off for each.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Platform {
    /// A desktop browser, or an unknown platform.
    Web,
    /// iOS and iPadOS.
    Ios,
    /// Android.
    Android,
}

/// The text names no platform.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("expected `web`, `ios` or `android`")]
pub struct PlatformError;

impl Platform {
    /// All platforms.
    pub const ALL: [Self; 3] = [Self::Web, Self::Ios, Self::Android];

    /// The value in items and in JSON.
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
