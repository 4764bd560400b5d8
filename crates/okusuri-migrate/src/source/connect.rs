//! How PostgreSQL is reached.

use clap::Args;
use tokio_postgres::{Client, Config, NoTls};

use crate::{Failure, Kind};

/// Which database.
#[derive(Debug, Clone, Args)]
pub struct Server {
    /// PostgreSQL, as an URL or as `host=... dbname=...`. Rather in the environment, where no list of processes shows its password.
    #[arg(long, env = "DATABASE_URL", hide_env_values = true, value_name = "URL")]
    pub source: String,
    /// The schema that has the tables.
    #[arg(long, default_value = "public")]
    pub schema: String,
}

/// Opens a connection, whose session speaks UTC and ISO dates.
///
/// # Errors
/// `source-unreachable`.
pub async fn connect(server: &Server) -> Result<Client, Failure> {
    let config: Config = server.source.parse().map_err(|error| Kind::SourceUnreachable.because(chain(&error)))?;
    let (client, connection) =
        config.connect(NoTls).await.map_err(|error| Kind::SourceUnreachable.because(chain(&error)))?;
    // Ends with the client. What goes wrong with the connection, each request tells as well.
    tokio::spawn(connection);
    let settings =
        "SET timezone TO 'UTC'; SET datestyle TO 'ISO'; SET extra_float_digits TO 1; SET statement_timeout TO 0";
    client.batch_execute(settings).await.map_err(|error| Kind::SourceUnreachable.because(chain(&error)))?;
    Ok(client)
}

/// What a failed query means: PostgreSQL is gone, or did not like it.
pub fn gone(error: tokio_postgres::Error) -> Failure {
    // Class 57: an operator, or the server itself, has ended the session.
    let ended = error.code().is_some_and(|code| code.code().starts_with("57"));
    let kind = if ended || error.is_closed() || error.as_db_error().is_none() {
        Kind::SourceGone
    } else {
        Kind::SourceUnreadable
    };
    kind.because(chain(&error))
}

pub(super) use gone as unreadable;

/// An error with its causes: that of tokio-postgres says little itself.
fn chain(error: &tokio_postgres::Error) -> String {
    let mut text = error.to_string();
    let mut cause = std::error::Error::source(error);
    while let Some(error) = cause {
        text.push_str(": ");
        text.push_str(&error.to_string());
        cause = error.source();
    }
    text
}
