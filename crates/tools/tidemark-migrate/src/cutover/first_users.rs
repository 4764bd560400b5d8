//! Users named by the operator, who move before the percentages: the first ones to try the new side.

use std::collections::BTreeSet;
use std::path::Path;

use super::Postgres;
use crate::{Failure, FailureKind};

/// The most users of a list, which every command keeps in memory.
const FIRST_MAX: usize = 10_000;

/// The number of users that an error names.
const NAMED_MAX: usize = 5;

/// Reads a file with an id in each line, and replaces the stored list with it.
///
/// # Errors
/// `option` if the file is not readable, is too long, or names users who do not exist.
pub(super) async fn replace(postgres: &Postgres, file: &Path) -> Result<(), Failure> {
    let refuse = |why: String| FailureKind::Options.because(format!("{}: {why}", file.display()));
    let text = std::fs::read_to_string(file).map_err(|error| refuse(error.to_string()))?;
    let lines = text.lines().map(|line| line.strip_suffix('\r').unwrap_or(line));
    let users: BTreeSet<String> = lines.filter(|line| !line.is_empty()).map(str::to_owned).collect();
    if users.len() > FIRST_MAX {
        return Err(refuse(format!("{} users, and at most {FIRST_MAX} can be named", users.len())));
    }
    let users = Vec::from_iter(users);
    let unknown = postgres.unknown_users(&users).await?;
    if !unknown.is_empty() {
        let named: Vec<_> = unknown.iter().take(NAMED_MAX).map(|user| format!("{user:?}")).collect();
        return Err(refuse(format!("{} users do not exist: {}", unknown.len(), named.join(", "))));
    }
    postgres.replace_first_users(&users).await
}
