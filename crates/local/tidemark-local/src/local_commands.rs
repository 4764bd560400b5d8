//! Commands that a page of the stack may run on this machine: those of the template
//! (`Metadata.LocalCommands`), with the programs beside this one.
//!
//! So a page and the terminal run the same code. The template fixes each argument, apart from the
//! value for `{id}`, which stays one argument. No shell reads it.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::process::Stdio;
use std::sync::Arc;
use std::time::Duration;

use axum::extract::{Path, Query, State};
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use axum::{Json, Router};
use serde::Deserialize;
use serde_json::{Value, json};
use tokio::process::Command;
use tokio::sync::Mutex;
use tokio::time::timeout;

use crate::dynamodb::Identity;
use crate::problem::problem;

/// A command that takes longer is ended.
const PATIENCE: Duration = Duration::from_secs(300);
/// The longest value for `{id}`, and the longest output that a page gets, in bytes.
const ID_BYTES_MAX: usize = 300;
const OUTPUT_BYTES_MAX: usize = 1024 * 1024;

/// What the routes share.
struct Commands {
    /// By name: the program and its arguments.
    all: BTreeMap<String, Vec<String>>,
    dynamodb: String,
    identity: Identity,
    /// One runs at a time.
    running: Mutex<()>,
}

/// The routes: `GET` lists the names of the commands that are there, `POST` runs one.
pub(crate) fn router(commands: &BTreeMap<String, String>, dynamodb: &str, identity: &Identity) -> Router {
    let words = |command: &String| command.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
    let all = commands.iter().map(|(name, command)| (name.clone(), words(command))).collect();
    let (dynamodb, identity) = (dynamodb.to_owned(), identity.clone());
    let commands = Arc::new(Commands { all, dynamodb, identity, running: Mutex::default() });
    Router::new().route("/_local/commands", get(list)).route("/_local/commands/{name}", post(run)).with_state(commands)
}

async fn list(State(commands): State<Arc<Commands>>) -> Json<Value> {
    let there = commands.all.iter().filter(|(_, words)| program(words).is_some());
    Json(json!({ "commands": there.map(|(name, _)| name).collect::<Vec<_>>() }))
}

/// What a command is about.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct About {
    id: Option<String>,
}

async fn run(State(commands): State<Arc<Commands>>, Path(name): Path<String>, Query(about): Query<About>) -> Response {
    let found = commands.all.get(&name).and_then(|words| Some((program(words)?, words)));
    let Some((program, words)) = found else {
        return problem(StatusCode::NOT_FOUND, "there is no such command, or its program is not built");
    };
    let is_asked = words.iter().any(|word| word.contains("{id}"));
    if about.id.is_some() != is_asked || about.id.as_ref().is_some_and(|id| id.len() > ID_BYTES_MAX) {
        return problem(StatusCode::BAD_REQUEST, "id is missing, too long, or not for this command");
    }
    let id = about.id.unwrap_or_default();
    let words = words.iter().skip(1).map(|word| word.replace("{dynamodb}", &commands.dynamodb).replace("{id}", &id));
    let mut command = Command::new(program);
    let Identity { region, access_key_id, secret_access_key, session_token, .. } = &commands.identity;
    command
        .args(words)
        .env("AWS_REGION", region)
        .env("AWS_ACCESS_KEY_ID", access_key_id)
        .env("AWS_SECRET_ACCESS_KEY", secret_access_key)
        .stdin(Stdio::null())
        .kill_on_drop(true);
    match session_token {
        Some(token) => command.env("AWS_SESSION_TOKEN", token),
        None => command.env_remove("AWS_SESSION_TOKEN"),
    };
    // In a task of its own: it ends its work also when the page is closed.
    let task = tokio::spawn(async move {
        let _alone = commands.running.lock().await;
        timeout(PATIENCE, command.output()).await
    });
    match task.await {
        Ok(Ok(Ok(output))) => {
            let text = |bytes: &[u8]| {
                String::from_utf8_lossy(bytes.get(..OUTPUT_BYTES_MAX).unwrap_or(bytes)).trim_end().to_owned()
            };
            let (out, error) = (text(&output.stdout), text(&output.stderr));
            Json(json!({ "exitCode": output.status.code(), "output": out, "error": error })).into_response()
        }
        Ok(Ok(Err(error))) => problem(StatusCode::INTERNAL_SERVER_ERROR, &error.to_string()),
        Ok(Err(_)) => problem(StatusCode::GATEWAY_TIMEOUT, "the command took too long and was ended"),
        Err(error) => problem(StatusCode::INTERNAL_SERVER_ERROR, &error.to_string()),
    }
}

/// The program of a command: a file beside this program.
fn program(words: &[String]) -> Option<PathBuf> {
    let name = words.first().filter(|name| !name.contains(['/', '\\']) && !name.starts_with('.'))?;
    let path = std::env::current_exe().ok()?.with_file_name(format!("{name}{}", std::env::consts::EXE_SUFFIX));
    path.is_file().then_some(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_programs_beside_the_stack_are_commands() {
        let own = std::env::current_exe().expect("a path");
        let own = own.file_name().and_then(|name| name.to_str()).expect("a name").to_owned();
        assert!(program(std::slice::from_ref(&own)).is_some());
        for name in ["", ".", "..", "/bin/true", "../true", "no-such-program"] {
            assert_eq!(program(&[name.to_owned()]), None, "{name}");
        }
        assert_eq!(program(&[]), None);
    }
}
