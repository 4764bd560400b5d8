//! `serve`: a small HTTP API beside an application that is not written in Rust. It writes and reads
//! through the cutover for the application (docs/sidecar.md).

mod api;
mod connections;

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use clap::Args;
use secrecy::SecretString;
use serde_json::json;
use tokio::net::TcpListener;
use tokio::signal::unix::{SignalKind, signal};

use crate::arguments::MappingArguments;
use crate::command::Product;
use crate::cutover::Phase;
use crate::source::Server;
use crate::terminal::tell;
use crate::{Failure, FailureKind, PhaseOutcome, Report, TargetTable};
use connections::Connections;

/// The fewest characters of a token. A shorter one can be guessed.
const TOKEN_CHARS_MIN: usize = 16;

/// Both databases, the mapping, and the address.
#[derive(Debug, Args)]
pub(crate) struct Arguments {
    #[command(flatten)]
    server: Server,
    #[command(flatten)]
    table: TargetTable,
    #[command(flatten)]
    mapping: MappingArguments,
    /// The address that the API listens at.
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:8787")]
    listen: SocketAddr,
    /// The file with the token that every request has to send: `Authorization: Bearer <token>`. It
    /// has at least 16 characters.
    #[arg(long, value_name = "FILE")]
    token_file: PathBuf,
    /// The most connections to PostgreSQL, and the most requests at a time.
    #[arg(long, value_name = "N", default_value_t = 8, value_parser = clap::value_parser!(u8).range(1..=64))]
    connections: u8,
}

fn option(why: impl std::fmt::Display) -> Failure {
    FailureKind::Options.because(why)
}

/// Reads the token. Without one, a web page could call the sidecar at an address of this machine,
/// or by a name that resolves to it.
fn read_token(file: &Path) -> Result<SecretString, Failure> {
    let name = file.display();
    let text = std::fs::read_to_string(file).map_err(|error| option(format!("{name}: {error}")))?;
    match text.trim() {
        token if token.chars().count() < TOKEN_CHARS_MIN => {
            Err(option(format!("the token in {name} has fewer than {TOKEN_CHARS_MIN} characters")))
        }
        token => Ok(SecretString::from(token.to_owned())),
    }
}

/// The command. It ends with SIGTERM or SIGINT, after the running requests.
pub(crate) async fn run(arguments: Arguments, product: &Product) -> Result<Report, Failure> {
    let Arguments { server, table, mapping, listen, token_file, connections } = arguments;
    let token = read_token(&token_file)?;
    let connections = Connections::new(server, table.open().await, (mapping, *product), connections.into())?;
    // A mistake in the options ends the command now, and not each request.
    let taken = connections.take().await?;
    let answer = taken.sides()?.answer().await;
    // Before dual there may be no table yet, and a side that does not answer now may do so later.
    if let Ok((Some(phase), Err(failure))) = answer
        && phase != Phase::Capture
        && failure.kind == FailureKind::TableRefused
    {
        return Err(failure);
    }
    taken.give_back();
    let listener = TcpListener::bind(listen).await.map_err(|error| option(format!("{listen}: {error}")))?;
    let at = listener.local_addr().map_err(option)?;
    tell(&format!("The sidecar listens at http://{at}"));
    let (mut terminate, mut interrupt) =
        (signal(SignalKind::terminate()).map_err(option)?, signal(SignalKind::interrupt()).map_err(option)?);
    let stop = async move {
        tokio::select! { _ = terminate.recv() => {}, _ = interrupt.recv() => {} }
    };
    let api = api::router(Arc::new(connections), token);
    axum::serve(listener, api).with_graceful_shutdown(stop).await.map_err(option)?;
    let (json, text) = (json!({ "phase": "serve" }), "The sidecar has stopped.".to_owned());
    Ok(Report { outcome: PhaseOutcome::Done, json, text })
}

#[cfg(test)]
mod tests {
    use secrecy::ExposeSecret;

    use super::*;

    #[test]
    fn a_token_that_can_be_guessed_is_refused() {
        let temp = tempfile::tempdir().unwrap();
        let file = temp.path().join("token");
        let read = |token: &str| {
            std::fs::write(&file, token).unwrap();
            read_token(&file)
        };
        assert_eq!(read("0123456789abcdef\n").unwrap().expose_secret(), "0123456789abcdef");
        for token in ["", "\n", "x", "0123456789abcde \n"] {
            let refused = read(token).unwrap_err();
            assert!(refused.kind == FailureKind::Options && refused.detail.contains("16 characters"), "{refused}");
        }
    }
}
