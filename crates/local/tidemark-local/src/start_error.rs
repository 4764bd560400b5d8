//! Why a stack does not start, with messages that say how to fix it. A message omits its cause,
//! which is in `source`: the start prints the whole chain.

use std::net::Ipv4Addr;
use std::path::PathBuf;

use tidemark_engine::EngineError;

use crate::archives::ArchiveError;
use crate::arn::PlaceError;
#[cfg(feature = "aws-domains")]
use crate::aws_domains::AwsDomainsError;
#[cfg(feature = "buckets")]
use crate::buckets::BucketsError;
use crate::build::BuildError;
use crate::event_source_mapping::MappingError;
use crate::functions::FunctionStartError;
use crate::http_api::RouteError;
#[cfg(feature = "kinesis")]
use crate::kinesis::KinesisError;
use crate::left_out::LeftOut;
use crate::schedules::ExpressionError;
use crate::secrets::SecretsError;
use crate::tables::TableError;
use crate::template::TemplateError;
use crate::variables::VariablesError;
use crate::websocket_api;

impl StartError {
    /// The files that a refused template names.
    pub(crate) fn files(&self) -> &[PathBuf] {
        match self {
            Self::InvalidTemplate { source, .. } => &source.files,
            _ => &[],
        }
    }
}

/// Why a stack does not start.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// The template does not exist or cannot be read.
    #[error("cannot read the template {path} (--template / TIDEMARK_TEMPLATE names another)")]
    Template {
        /// The path of the template.
        path: PathBuf,
        /// The system's error.
        source: std::io::Error,
    },
    /// The template is invalid.
    #[error("{path}", path = .path.display())]
    InvalidTemplate {
        /// The template.
        path: PathBuf,
        /// Its problems.
        source: TemplateError,
    },
    /// The port of the HTTP API is in use.
    #[error("port {port} is in use (--port / TIDEMARK_PORT sets another, 0 picks a free port)")]
    Port {
        /// The port.
        port: u16,
        /// The system's error.
        source: std::io::Error,
    },
    /// This machine does not have the address.
    #[error("cannot listen on {host} (--host / TIDEMARK_HOST sets another, 0.0.0.0 is every address)")]
    Host {
        /// The address.
        host: Ipv4Addr,
        /// The system's error.
        source: std::io::Error,
    },
    /// The port of DynamoDB is in use.
    #[error("port {port} is in use (--dynamodb-port / TIDEMARK_DYNAMODB_PORT sets another, 0 picks a free port)")]
    DynamodbPort {
        /// The port.
        port: u16,
        /// The system's error.
        source: std::io::Error,
    },
    /// The port of the buckets is in use.
    #[cfg(feature = "buckets")]
    #[error("port {port} is in use (--s3-port / TIDEMARK_S3_PORT sets another, 0 picks a free port)")]
    S3Port {
        /// The port.
        port: u16,
        /// The system's error.
        source: std::io::Error,
    },
    /// The data folder cannot be used.
    #[error("cannot use the data folder {path}", path = .path.display())]
    Data {
        /// The folder.
        path: PathBuf,
        /// The system's error.
        source: std::io::Error,
    },
    /// No run has ended in the data folder.
    #[error("no run has ended in the data folder: cannot read {}", .path.display())]
    NoRun {
        /// The file with the suggested policies.
        path: PathBuf,
        /// The system's error.
        source: std::io::Error,
    },
    /// Another stack uses the data folder.
    #[error("data folder {} is in use by another stack (--data-dir / TIDEMARK_DATA_DIR sets another)", .0.display())]
    DataInUse(PathBuf),
    /// The embedded engine does not start.
    #[error("cannot start DynamoDB")]
    Engine(#[source] EngineError),
    /// Another stack of this process is elsewhere.
    #[error(transparent)]
    Place(#[from] PlaceError),
    /// A file of variables cannot be used.
    #[error(transparent)]
    Variables(#[from] VariablesError),
    /// `--debug` names no function that runs here.
    #[error("--debug {name}: no function of this name runs here; these do: {known}")]
    NoFunction {
        /// The given name.
        name: String,
        /// The logical ids of the functions.
        known: String,
    },
    /// The functions do not build.
    #[error(transparent)]
    Build(#[from] BuildError),
    /// The code of a function cannot be unpacked.
    #[error("{function}: its code is {}", .path.display())]
    Archive {
        /// The logical id.
        function: String,
        /// The archive.
        path: PathBuf,
        /// What is wrong with it.
        source: ArchiveError,
    },
    /// This build does not have a part.
    #[error(transparent)]
    LeftOut(#[from] LeftOut),
    /// AWS's domain names cannot be served.
    #[cfg(feature = "aws-domains")]
    #[error(transparent)]
    AwsDomains(#[from] AwsDomainsError),
    /// A secret cannot be stored.
    #[error(transparent)]
    Secrets(#[from] SecretsError),
    /// A route cannot be served.
    #[error(transparent)]
    Route(#[from] RouteError),
    /// A route of the WebSocket API cannot be served.
    #[error(transparent)]
    SocketRoute(#[from] websocket_api::WebSocketRouteError),
    /// A table cannot be created.
    #[error(transparent)]
    Table(#[from] TableError),
    /// A function does not start.
    #[error(transparent)]
    Function(#[from] FunctionStartError),
    /// A mapping does not start.
    #[error("{mapping}")]
    Mapping {
        /// The mapping's name.
        mapping: String,
        /// The reason.
        source: MappingError,
    },
    /// The buckets cannot be served.
    #[cfg(feature = "buckets")]
    #[error(transparent)]
    Buckets(#[from] BucketsError),
    /// A Kinesis stream cannot be created.
    #[cfg(feature = "kinesis")]
    #[error(transparent)]
    Kinesis(#[from] KinesisError),
    /// A mapping on a queue does not start.
    #[error("{mapping}: {reason}")]
    QueueMapping {
        /// The mapping's name.
        mapping: String,
        /// The reason.
        reason: String,
    },
    /// The table of a mapping does not exist or has no stream.
    #[error("{mapping}: the table {table} has no stream")]
    NoStream {
        /// The mapping's name.
        mapping: String,
        /// The table's logical id.
        table: String,
    },
    /// A schedule expression is invalid.
    #[error(transparent)]
    Schedule(#[from] ExpressionError),
}
