//! Builds the functions' binaries, all in one call of cargo, in the profile of the stack's own
//! binary.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::Stdio;

use serde::Deserialize;
use tokio::process::Command;

/// Why the build gave no binaries.
#[derive(Debug, thiserror::Error)]
pub enum BuildError {
    /// Cargo cannot be run.
    #[error("cannot run cargo")]
    Cargo(#[source] std::io::Error),
    /// A function does not compile; cargo printed the reason to standard error.
    #[error("the functions do not build: see cargo's messages above")]
    Failed,
    /// Cargo built no binary of this name.
    #[error("cargo built no binary `{0}`, which the template names in Metadata.BuildProperties.Binary")]
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

/// Builds these binaries of the workspace at `workspace`, and returns the path of each.
///
/// # Errors
/// [`BuildError`].
pub async fn build(
    workspace: &Path,
    profile: &str,
    binaries: &[&str],
) -> Result<BTreeMap<String, PathBuf>, BuildError> {
    if binaries.is_empty() {
        return Ok(BTreeMap::new());
    }
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut command = Command::new(cargo);
    for (name, _) in std::env::vars_os().filter(|(name, _)| is_of_outer_cargo(name)) {
        command.env_remove(name);
    }
    command.current_dir(workspace).args(["build", "--message-format=json-render-diagnostics", "--profile", profile]);
    command.args(binaries.iter().flat_map(|binary| ["--bin", binary]));
    // Cargo's progress and compiler messages go to the terminal.
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

/// Whether `cargo run` sets this variable for its program. Build scripts may depend on such a
/// variable, for example `ring`'s on `CARGO_PKG_NAME`. If it were passed on, cargo would run the
/// script again and recompile every crate that depends on it.
fn is_of_outer_cargo(name: &OsStr) -> bool {
    let prefixes =
        ["CARGO_PKG_", "CARGO_MANIFEST_", "CARGO_BIN_", "CARGO_CFG_", "CARGO_FEATURE_", "CARGO_RUSTC_CURRENT_"];
    let others = ["CARGO", "CARGO_CRATE_NAME", "CARGO_PRIMARY_PACKAGE", "CARGO_TARGET_TMPDIR", "OUT_DIR"];
    name.to_str().is_some_and(|name| others.contains(&name) || prefixes.iter().any(|prefix| name.starts_with(prefix)))
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
