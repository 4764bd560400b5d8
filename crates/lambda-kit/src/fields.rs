//! Checks the members of a JSON body one by one, so that each problem names its member.

use std::fmt::Display;

use serde_json::Value;

use crate::problem::Problem;

/// A member that must be a string and pass `check`; `None` if it is missing. Any other value gives
/// `problem`.
pub fn text<T, E: Display>(
    name: &str,
    value: Option<Value>,
    problem: &Problem,
    check: impl FnOnce(&str) -> Result<T, E>,
) -> Result<Option<T>, Problem> {
    match value {
        None => Ok(None),
        Some(Value::String(text)) => check(&text).map(Some).map_err(|why| invalid(name, problem, why)),
        Some(_) => Err(invalid(name, problem, "must be a string")),
    }
}

/// The same for a member that must be present.
pub fn required_text<T, E: Display>(
    name: &str,
    value: Option<Value>,
    problem: &Problem,
    check: impl FnOnce(&str) -> Result<T, E>,
) -> Result<T, Problem> {
    text(name, value, problem, check)?.ok_or_else(|| missing(name, problem))
}

/// The problem for a member with a wrong value.
pub fn invalid(name: &str, problem: &Problem, why: impl Display) -> Problem {
    problem.clone().detail(format!("`{name}`: {why}"))
}

/// The problem for a missing member.
pub fn missing(name: &str, problem: &Problem) -> Problem {
    problem.clone().detail(format!("`{name}` is needed"))
}
