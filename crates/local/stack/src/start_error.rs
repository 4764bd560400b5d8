//! Why a stack does not come up, in words that say what to do about it. A text leaves its cause to `source`, as everywhere here:
//! the start prints the whole chain.

use std::net::Ipv4Addr;
use std::path::PathBuf;

use engine::EngineError;

use crate::build::BuildError;
use crate::event_source_mapping::MappingError;
use crate::functions::FunctionStartError;
use crate::http_api::RouteError;
use crate::schedules::ExpressionError;
use crate::secrets::SecretsError;
use crate::tables::TableError;
use crate::template::TemplateError;
use crate::websocket_api;

/// Why a stack does not come up.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// The template is not there.
    #[error("cannot read {path}")]
    Template {
        /// Where it was looked for.
        path: PathBuf,
        /// The system's words.
        source: std::io::Error,
    },
    /// The template is not understood.
    #[error("{path}", path = .path.display())]
    InvalidTemplate {
        /// The template.
        path: PathBuf,
        /// What is wrong with it.
        source: TemplateError,
    },
    /// The port of the HTTP API is taken.
    #[error("port {port} is in use (--port / TIDEMARK_PORT sets another, 0 takes a free one)")]
    Port {
        /// The port.
        port: u16,
        /// The system's words.
        source: std::io::Error,
    },
    /// This machine has no such address.
    #[error("cannot listen on {host} (--host / TIDEMARK_HOST sets another, 0.0.0.0 takes all)")]
    Host {
        /// The address.
        host: Ipv4Addr,
        /// The system's words.
        source: std::io::Error,
    },
    /// The port of DynamoDB is taken.
    #[error("port {port} is in use (--dynamodb-port / TIDEMARK_DYNAMODB_PORT sets another, 0 takes a free one)")]
    DynamodbPort {
        /// The port.
        port: u16,
        /// The system's words.
        source: std::io::Error,
    },
    /// The data folder cannot be used.
    #[error("data folder {path}", path = .path.display())]
    Data {
        /// The folder.
        path: PathBuf,
        /// The system's words.
        source: std::io::Error,
    },
    /// Another stack uses the data folder.
    #[error("data folder {} is in use by another stack (--data-dir / TIDEMARK_DATA_DIR sets another)", .0.display())]
    DataInUse(PathBuf),
    /// The embedded engine does not start.
    #[error("DynamoDB")]
    Engine(#[source] EngineError),
    /// The functions do not build.
    #[error(transparent)]
    Build(#[from] BuildError),
    /// A secret cannot be kept.
    #[error(transparent)]
    Secrets(#[from] SecretsError),
    /// A route cannot be served.
    #[error(transparent)]
    Route(#[from] RouteError),
    /// A route of the WebSocket API cannot be served.
    #[error(transparent)]
    SocketRoute(#[from] websocket_api::WebSocketRouteError),
    /// A table cannot be made.
    #[error(transparent)]
    Table(#[from] TableError),
    /// A function does not start.
    #[error(transparent)]
    Function(#[from] FunctionStartError),
    /// A mapping is refused.
    #[error("{mapping}")]
    Mapping {
        /// Its name.
        mapping: String,
        /// Why.
        source: MappingError,
    },
    /// A mapping's table is not there, or has no stream.
    #[error("{mapping}: the table {table} has no stream")]
    NoStream {
        /// The mapping's name.
        mapping: String,
        /// The table's logical id.
        table: String,
    },
    /// A schedule is refused.
    #[error(transparent)]
    Schedule(#[from] ExpressionError),
}
