//! Configuration from the environment, all of it checked when the function starts.

use std::str::FromStr;
use std::time::Duration;

/// The longest retention: a hundred years.
const RETENTION_DAYS_MAX: u32 = 36_500;

/// Why a variable is refused.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ConfigError {
    /// Not set, or empty.
    #[error("the environment variable {0} is not set")]
    Missing(&'static str),
    /// Set to a value that is not allowed.
    #[error("the environment variable {name} is `{value}`: expected {expected}")]
    Invalid {
        /// The variable's name.
        name: &'static str,
        /// Its value.
        value: String,
        /// The values that are allowed.
        expected: &'static str,
    },
}

/// Reads a variable that must be set.
pub fn required(name: &'static str) -> Result<String, ConfigError> {
    std::env::var(name).ok().filter(|value| !value.is_empty()).ok_or(ConfigError::Missing(name))
}

/// Reads a variable that has a default; `check` refuses values out of range.
pub fn parsed<T: FromStr, U>(
    name: &'static str,
    default: T,
    expected: &'static str,
    check: impl FnOnce(T) -> Option<U>,
) -> Result<U, ConfigError> {
    let text = std::env::var(name).unwrap_or_default();
    let value = if text.is_empty() { Some(default) } else { text.parse().ok() };
    value.and_then(check).ok_or(ConfigError::Invalid { name, value: text, expected })
}

/// Reads a retention in days; 0 keeps for ever.
pub fn retention(name: &'static str, default_days: u32) -> Result<Option<Duration>, ConfigError> {
    let days = parsed(name, default_days, "a number of days from 0 to 36500", |days: u32| {
        (days <= RETENTION_DAYS_MAX).then_some(days)
    })?;
    Ok((days > 0).then(|| Duration::from_secs(u64::from(days) * 24 * 60 * 60)))
}
