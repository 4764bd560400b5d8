//! The time from an edit of one function of this workspace to its first new answer.
//!
//! Each tool runs a copy of the workspace, so that an edit changes nothing in the repository and
//! starts one build only. The copies share a target folder, so the dependencies are built once.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};
use serde_json::json;
use tidemark_local::dynamodb::Identity;

use super::{Function, Tool, edit_row, start_cargo_lambda, start_stack};
use crate::report::Row;
use crate::{Effort, Folders, events, repository};

/// The parts of the repository that cargo and the stack read, besides the manifest.
const COPIED: [&str; 5] = ["Cargo.lock", "template.yaml", "crates", "examples", "tests"];

/// One row: edits beside `cargo lambda watch`.
pub(super) async fn row(folders: &Folders, effort: Effort) -> Result<Row> {
    let click_writer = click_writer()?;
    let own_copy = copy_workspace(&folders.work.join("workspace-tidemark"))?;
    let other_copy = copy_workspace(&folders.work.join("workspace-cargo-lambda"))?;
    let stack = start_stack(&own_copy).await?;
    let addresses = &stack.admin.addresses;
    let own = Tool::new(&click_writer, &addresses.http, Some(own_copy), None);
    // The function reads its table when it starts.
    let identity = Identity::local();
    let environment = [
        ("AWS_REGION", &*identity.region),
        ("AWS_ACCESS_KEY_ID", &identity.access_key_id),
        ("AWS_SECRET_ACCESS_KEY", &identity.secret_access_key),
        ("AWS_ENDPOINT_URL_DYNAMODB", &addresses.dynamodb),
        ("CLICKS_TABLE", "qit-db-local"),
    ];
    let cargo_lambda = start_cargo_lambda(&click_writer, &other_copy, &environment)?;
    for tool in [&own, &cargo_lambda] {
        tool.until(click_writer.edited).await?;
    }
    let row = edit_row("from an edit of `click-writer` to its first answer", &own, &cargo_lambda, effort).await?;
    stack.stop().await;
    Ok(row)
}

/// The function with a click without a user id, which it rejects.
fn click_writer() -> Result<Function> {
    let (file, edited) = ("crates/functions/clicks/click-writer/src/body.rs", "The user id is not valid");
    let content = std::fs::read_to_string(repository().join(file))?;
    ensure!(content.contains(edited), "{file} has no `{edited}`");
    let event = events::request("POST /clicks", "/clicks", json!({}), Some("{}".to_owned()));
    Ok(Function { name: "click-writer", event, file, content, edited })
}

/// Copies the workspace. Leaves files as they are that have not changed since the last bench, so
/// that cargo does not build them again.
fn copy_workspace(folder: &Path) -> Result<PathBuf> {
    let repository = repository().canonicalize()?;
    for part in COPIED {
        copy(&repository.join(part), &folder.join(part))?;
    }
    // `cargo lambda watch` selects the default members, and the stack selects the functions. With
    // the same selection, the dependencies have the same features in both builds.
    let manifest = std::fs::read_to_string(repository.join("Cargo.toml"))?;
    let is_selection = |line: &&str| line.starts_with("default-members = ");
    let selection = manifest.lines().find(is_selection).context("the manifest has no default members")?;
    let manifest = manifest.replace(selection, "default-members = [\"crates/functions/*/*\"]");
    write_changed(&folder.join("Cargo.toml"), manifest.as_bytes())?;
    // Not a folder around the copy: `cargo lambda watch` ignores changes in the target folder.
    let config = "[build]\ntarget-dir = \"../workspace-target\"\n";
    write_changed(&folder.join(".cargo/config.toml"), config.as_bytes())?;
    Ok(folder.to_owned())
}

/// Copies a file or a folder, and removes from the copy what is not in the folder.
fn copy(from: &Path, to: &Path) -> Result<()> {
    if from.is_file() {
        return write_changed(to, &std::fs::read(from)?);
    }
    std::fs::create_dir_all(to)?;
    for entry in std::fs::read_dir(to)? {
        let copied = entry?;
        if !from.join(copied.file_name()).exists() {
            let is_folder = copied.file_type()?.is_dir();
            if is_folder { std::fs::remove_dir_all(copied.path())? } else { std::fs::remove_file(copied.path())? }
        }
    }
    for entry in std::fs::read_dir(from)? {
        let name = entry?.file_name();
        if name != "node_modules" && name != "target" {
            copy(&from.join(&name), &to.join(&name))?;
        }
    }
    Ok(())
}

fn write_changed(path: &Path, content: &[u8]) -> Result<()> {
    if std::fs::read(path).is_ok_and(|old| old == content) {
        return Ok(());
    }
    path.parent().map(std::fs::create_dir_all).transpose()?;
    Ok(std::fs::write(path, content)?)
}
