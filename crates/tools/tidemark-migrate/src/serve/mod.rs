//! `serve`: a small HTTP API beside an application that is not written in Rust. It writes and reads
//! through the cutover for the application (docs/sidecar.md).

mod api;
mod connections;

use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;

use clap::Args;
use secrecy::SecretString;
use serde_json::json;
use tokio::net::TcpListener;
use tokio::signal::unix::{SignalKind, signal};

use crate::arguments::MappingArguments;
use crate::command::Product;
use crate::source::Server;
use crate::terminal::tell;
use crate::{Failure, FailureKind, PhaseOutcome, Report, TargetTable};
use connections::Connections;

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
    /// The file with the token that every request has to send: `Authorization: Bearer <token>`.
    /// Addresses other than those of this machine need one.
    #[arg(long, value_name = "FILE")]
    token_file: Option<PathBuf>,
    /// The most connections to PostgreSQL, and the most requests at a time.
    #[arg(long, value_name = "N", default_value_t = 8, value_parser = clap::value_parser!(u8).range(1..=64))]
    connections: u8,
}

fn option(why: impl std::fmt::Display) -> Failure {
    FailureKind::Options.because(why)
}

/// The command. It ends with SIGTERM or SIGINT, after the running requests.
pub(crate) async fn run(arguments: Arguments, product: &Product) -> Result<Report, Failure> {
    let Arguments { server, table, mapping, listen, token_file, connections } = arguments;
    let token = token_file.map(|file| {
        let text = std::fs::read_to_string(&file).map_err(|error| option(format!("{}: {error}", file.display())))?;
        match text.trim() {
            "" => Err(option(format!("{} has no token", file.display()))),
            token => Ok(SecretString::from(token.to_owned())),
        }
    });
    let token = token.transpose()?;
    if token.is_none() && !listen.ip().is_loopback() {
        return Err(option(format!("{listen} is not an address of this machine alone: give --token-file")));
    }
    let connections = Connections::new(server, table.open().await, (mapping, *product), connections.into())?;
    // A mistake in the options ends the command now, and not each request.
    connections.take().await?;
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
