//! Members of a JSON body, checked one by one, so that each problem names its member.

use std::fmt::Display;

use serde_json::Value;

use crate::problem::Problem;

/// A member that is a string and passes `check`; `None` when it is missing. Anything else is
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

/// The same of a member that has to be there.
pub fn required_text<T, E: Display>(
    name: &str,
    value: Option<Value>,
    problem: &Problem,
    check: impl FnOnce(&str) -> Result<T, E>,
) -> Result<T, Problem> {
    text(name, value, problem, check)?.ok_or_else(|| missing(name, problem))
}

/// The problem of a member with a wrong value.
pub fn invalid(name: &str, problem: &Problem, why: impl Display) -> Problem {
    problem.clone().detail(format!("`{name}`: {why}"))
}

/// The problem of a missing member.
pub fn missing(name: &str, problem: &Problem) -> Problem {
    problem.clone().detail(format!("`{name}` is needed"))
}
