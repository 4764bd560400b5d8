//! Connects to PostgreSQL.

use std::time::Duration;

use clap::Args;
use tokio_postgres::config::Host;
use tokio_postgres::error::SqlState;
use tokio_postgres::{Client, Config, GenericClient};

use super::tls::TlsOptions;
use crate::{Failure, FailureKind};

/// The source database.
#[derive(Debug, Clone, Args)]
pub struct Server {
    /// PostgreSQL, as a URL or as `host=... dbname=...`. Better set in the environment, because the
    /// password on a command line is visible in process lists.
    #[arg(long, env = "DATABASE_URL", hide_env_values = true, value_name = "URL")]
    pub source: String,
    /// The schema of the tables.
    #[arg(long, default_value = "public")]
    pub schema: String,
}

/// The time limit for connecting, unless the connection string sets one.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(15);

/// The settings that change how PostgreSQL writes a value as a text, or reads it.
pub(crate) const SETTINGS: [(&str, &str); 7] = [
    ("timezone", "UTC"),
    ("datestyle", "ISO, MDY"),
    ("intervalstyle", "postgres"),
    ("bytea_output", "hex"),
    ("extra_float_digits", "1"),
    ("xmloption", "content"),
    ("lc_monetary", "C"),
];

/// How long a connection may be idle before the system checks it.
const KEEPALIVE: Duration = Duration::from_secs(30);

/// Opens a connection with these settings.
///
/// `sslmode`, `sslrootcert`, `sslcert` and `sslkey` mean what they mean to libpq, except that
/// `sslmode=require` without `sslrootcert` also verifies the server, with this machine's roots.
pub async fn connect(server: &Server) -> Result<Client, Failure> {
    let (tls, source) = TlsOptions::take(&server.source)?;
    let mut config: Config = source.parse().map_err(|error| {
        let form = "neither `postgres://user@host/database` nor `host=... user=... dbname=...`";
        FailureKind::Options.because(format!("--source (or DATABASE_URL) is {form}: {}", chain(&error)))
    })?;
    let address = address(&config);
    let unreachable = |error| {
        FailureKind::SourceUnreachable.because(format!("{address}: {}. Check --source, or DATABASE_URL", chain(&error)))
    };
    config.keepalives_idle(KEEPALIVE);
    if config.get_connect_timeout().is_none() {
        config.connect_timeout(CONNECT_TIMEOUT);
    }
    let (client, connection) = config.connect(tls.connector()?).await.map_err(unreachable)?;
    // The task ends with the client. Each request also returns the errors of the connection.
    tokio::spawn(connection);
    set_formats(&client).await?;
    client.batch_execute("SET statement_timeout TO 0").await.map_err(unreachable)?;
    Ok(client)
}

/// Sets [`SETTINGS`] for a connection.
pub(crate) async fn set_formats(client: &Client) -> Result<(), Failure> {
    let settings = SETTINGS.map(|(name, value)| format!("SET {name} TO '{value}';")).concat();
    client.batch_execute(&settings).await.map_err(source_failure)
}

/// Whom a connection string connects to what, without the password.
fn address(config: &Config) -> String {
    let hosts = config.get_hosts().iter().map(|host| match host {
        Host::Tcp(name) => name.clone(),
        #[cfg(unix)]
        Host::Unix(path) => path.display().to_string(),
    });
    let hosts = hosts.collect::<Vec<_>>().join(",");
    let ports = config.get_ports().iter().map(|port| format!(":{port}")).collect::<String>();
    let (user, database) = (config.get_user().unwrap_or("the default user"), config.get_dbname());
    format!("database {:?} at {hosts}{ports} as {user}", database.unwrap_or(user))
}

/// Which database a connection leads to: the identifier of the server's files, which its physical
/// replicas share, and the database's number. `None` if the role may not read it.
pub async fn database_identity(client: &Client) -> Result<Option<String>, Failure> {
    let sql = "SELECT system_identifier::text || '/' || oid FROM pg_control_system(), pg_database
               WHERE datname = current_database()";
    match client.query_one(sql, &[]).await {
        Ok(row) => Ok(row.get(0)),
        Err(error) if error.as_db_error().is_some() => Ok(None),
        Err(error) => Err(source_failure(error)),
    }
}

/// Refuses tables that have changed since the capture began. Without a capture, and for a role that
/// takes no part in it, there is nothing to compare.
pub(crate) async fn check_unchanged<C: GenericClient + Sync>(client: &C) -> Result<(), Failure> {
    let none = [SqlState::UNDEFINED_FUNCTION, SqlState::INVALID_SCHEMA_NAME, SqlState::INSUFFICIENT_PRIVILEGE];
    let changes: Vec<String> = match client.query_one("SELECT tidemark_migration.schema_changes()", &[]).await {
        Err(error) if error.code().is_some_and(|code| none.contains(code)) => return Ok(()),
        row => row.map_err(source_failure)?.get(0),
    };
    match &*changes {
        [] => Ok(()),
        changes => Err(FailureKind::SchemaChanged.because(format!(
            "tables have changed since the capture began: {}. Undo it; or go back with `rollback`, and start a new run \
             with the new schema",
            changes.join("; ")
        ))),
    }
}

/// The failure for a failed query: the connection was lost, or PostgreSQL refused the query.
pub fn source_failure(error: tokio_postgres::Error) -> Failure {
    // Class 57: an operator, or the server itself, ended the session.
    let ended = error.code().is_some_and(|code| code.code().starts_with("57"));
    let kind = if ended || error.is_closed() || error.as_db_error().is_none() {
        FailureKind::SourceGone
    } else {
        FailureKind::SourceUnreadable
    };
    let mut said = chain(&error);
    if error.code() == Some(&SqlState::INSUFFICIENT_PRIVILEGE) && said.contains("tidemark_migration") {
        said.push_str(". `cutover --to <phase> --application-role NAME` gives a role the rights");
    }
    kind.because(said)
}

/// An error with its causes, because the error of tokio-postgres itself says little. The server's
/// DETAIL is left out, because it may quote a row with an address or a session's token.
fn chain(error: &tokio_postgres::Error) -> String {
    if let Some(said) = error.as_db_error() {
        return format!("{}: {} ({})", said.severity(), said.message(), said.code().code());
    }
    let mut text = error.to_string();
    let mut cause = std::error::Error::source(error);
    while let Some(error) = cause {
        text.push_str(": ");
        text.push_str(&error.to_string());
        cause = error.source();
    }
    text
}
