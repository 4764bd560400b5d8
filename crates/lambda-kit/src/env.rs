//! Configuration from the environment, all of it checked when the function starts.

use std::str::FromStr;

/// The error of a variable.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ConfigError {
    /// Not set, or empty.
    #[error("the environment variable {0} is not set")]
    Missing(&'static str),
    /// Set to something that it cannot be.
    #[error("the environment variable {name} is `{value}`: expected {expected}")]
    Invalid {
        /// Which.
        name: &'static str,
        /// Its value.
        value: String,
        /// The expected values.
        expected: &'static str,
    },
}

/// A variable that has to be set.
pub fn required(name: &'static str) -> Result<String, ConfigError> {
    std::env::var(name).ok().filter(|value| !value.is_empty()).ok_or(ConfigError::Missing(name))
}

/// A variable that has a default, read and narrowed down by `check`.
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
