//! Builds the functions' binaries, all in one call of cargo, in the profile of the stack's own binary.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Stdio;

use serde::Deserialize;
use tokio::process::Command;

use crate::stack::Function;

/// Why there are no binaries.
#[derive(Debug, thiserror::Error)]
pub enum BuildError {
    /// Cargo cannot be run.
    #[error("cannot run cargo")]
    Cargo(#[source] std::io::Error),
    /// A function does not compile; cargo has said why on standard error.
    #[error("the functions do not build: cargo's own messages are above")]
    Failed,
    /// Cargo built no such binary.
    #[error("cargo built no binary `{0}`: the template's Metadata.BuildProperties.Binary names it")]
    Missing(String),
}

/// A line of `cargo build --message-format=json`.
#[derive(Deserialize)]
struct Message {
    reason: String,
    executable: Option<PathBuf>,
    target: Option<Target>,
}

#[derive(Deserialize)]
struct Target {
    name: String,
}

/// Builds the binaries of `functions` in the workspace at `workspace`, and tells where each lies.
///
/// # Errors
/// [`BuildError`].
pub async fn build(
    workspace: &Path,
    profile: &str,
    functions: &[Function],
) -> Result<BTreeMap<String, PathBuf>, BuildError> {
    let mut binaries: Vec<&str> = functions.iter().map(|function| function.binary.as_str()).collect();
    binaries.sort_unstable();
    binaries.dedup();
    if binaries.is_empty() {
        return Ok(BTreeMap::new());
    }
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut command = Command::new(cargo);
    command.current_dir(workspace).args(["build", "--message-format=json-render-diagnostics", "--profile", profile]);
    command.args(binaries.iter().flat_map(|binary| ["--bin", binary]));
    // Progress and compiler messages go straight to the terminal.
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::inherit()).kill_on_drop(true);
    let child = command.spawn().map_err(BuildError::Cargo)?;
    let output = child.wait_with_output().await.map_err(BuildError::Cargo)?;
    if !output.status.success() {
        return Err(BuildError::Failed);
    }
    let built = executables(&output.stdout);
    match binaries.iter().find(|binary| !built.contains_key(**binary)) {
        Some(missing) => Err(BuildError::Missing((*missing).to_owned())),
        None => Ok(built),
    }
}

fn executables(messages: &[u8]) -> BTreeMap<String, PathBuf> {
    let lines = messages.split(|byte| *byte == b'\n');
    let artifacts = lines.filter_map(|line| serde_json::from_slice::<Message>(line).ok());
    artifacts
        .filter(|message| message.reason == "compiler-artifact")
        .filter_map(|message| Some((message.target?.name, message.executable?)))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn executables_are_found_among_cargos_messages() {
        let messages = br#"{"reason":"compiler-artifact","target":{"name":"serde"},"executable":null}
{"reason":"compiler-artifact","target":{"name":"click-writer"},"executable":"/t/debug/click-writer"}
{"reason":"build-finished","success":true}
not json"#;
        let expected = BTreeMap::from([("click-writer".to_owned(), PathBuf::from("/t/debug/click-writer"))]);
        assert_eq!(executables(messages), expected);
    }
}
