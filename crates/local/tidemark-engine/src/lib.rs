//! A DynamoDB for one machine: the embedded emulator `dynoxide` behind a proxy that fills its gaps.
//!
//! The emulator answers the table API. The proxy:
//!
//! - answers the streams API from the emulator's stream table (several shards, open shards,
//!   trimming),
//! - stores the settings of point-in-time recovery,
//! - puts the caller's region into ARNs,
//! - checks requests and adapts replies where the emulator differs from DynamoDB,
//! - injects faults (see [`Faults`]),
//! - asks an [`Authorizer`] for permission.
//!
//! The engine does not know the suite's tables or functions.

mod adaptation;
mod api;
mod arn;
mod authorization;
mod call;
mod database;
mod emulator;
mod expiry;
mod faults;
pub mod guard;
mod housekeeping;
mod late_index;
pub mod listener;
mod meter;
mod point_in_time_recovery;
mod proxy;
mod refused_actions;
mod request_body;
mod response_encoding;
mod streams;
mod tables;
mod throttle;
mod validation;
mod write_notifier;

use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use tempfile::TempDir;
use tokio::net::TcpListener;
use tokio::sync::{oneshot, watch};
use tokio::task::JoinHandle;

pub use crate::authorization::{Access, Authorizer};
pub use crate::faults::{Chance, EngineFaults, FailureReply, Faults};
pub use crate::housekeeping::Housekeeper;
pub use crate::meter::{Meter, TableOrIndex, Usage};
pub use crate::streams::ShardChange;
pub use crate::throttle::ThrottleClock;

use crate::database::Database;
use crate::emulator::Emulator;
use crate::proxy::Proxy;

/// How long [`Engine::shutdown`] waits for running requests.
const SHUTDOWN_GRACE: Duration = Duration::from_secs(2);

/// The place of the tables.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Storage {
    /// A temporary folder, in memory if the system has a memory file system. It is deleted with the
    /// engine.
    Memory,
    /// This SQLite file; its folder is created if missing. A crash of the process loses no answered
    /// write; a power failure may lose the last moments.
    File(PathBuf),
}

/// The options of [`Engine::start`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Options {
    /// The place of the tables.
    pub storage: Storage,
    /// The address of the API; port 0 picks a free port.
    pub listen: SocketAddr,
    /// Shards of a new stream, 1 to 1,000. An existing stream keeps its shards.
    pub stream_shards: u16,
}

impl Default for Options {
    /// In memory, on a free port of the loopback interface, with one shard per stream.
    fn default() -> Self {
        Self { storage: Storage::Memory, listen: SocketAddr::from(([127, 0, 0, 1], 0)), stream_shards: 1 }
    }
}

/// Why the engine did not start, or why a control call failed.
#[derive(Debug, thiserror::Error)]
pub enum EngineError {
    /// The address is not available, most often because another process holds the port.
    #[error("cannot listen on {address}")]
    Listen {
        /// The requested address.
        address: SocketAddr,
        /// The system's error.
        source: std::io::Error,
    },
    /// The data folder cannot be created, or a thread cannot be started.
    #[error("cannot prepare the data folder")]
    Io(#[from] std::io::Error),
    /// This version cannot use the database file.
    #[error("cannot use the database: {0}")]
    Database(String),
    /// The file is not a database, or a damaged one.
    #[error(
        "{} is damaged or is not a database ({reason}). Put back a copy of it, or move it and its `-wal` and `-shm` \
         away: then the stack starts with empty tables",
        path.display()
    )]
    Damaged {
        /// The file.
        path: PathBuf,
        /// What SQLite says.
        reason: String,
    },
    /// SQLite returned an error.
    #[error(transparent)]
    Sqlite(#[from] rusqlite::Error),
    /// The number of initial shards is out of range.
    #[error("a stream can start with 1 to {max} shards, not {0}", max = streams::SHARDS_MAX)]
    StreamShards(u16),
    /// The table has no stream, or the stream has no open shard with this id.
    #[error("table {table} has no open shard {shard_id}")]
    NoOpenShard {
        /// The table's name.
        table: String,
        /// The requested shard.
        shard_id: String,
    },
}

impl From<streams::PageError> for EngineError {
    fn from(error: streams::PageError) -> Self {
        match error {
            streams::PageError::Sqlite(error) => Self::Sqlite(error),
            streams::PageError::Json(error) => Self::Database(error.to_string()),
        }
    }
}

/// A running engine. Dropping it also stops it, without waiting for running requests.
#[derive(Debug)]
pub struct Engine {
    addr: SocketAddr,
    proxy: Arc<Proxy>,
    stop_proxy: Option<oneshot::Sender<()>>,
    serving: JoinHandle<()>,
    housekeeping: JoinHandle<()>,
    emulator: Emulator,
    /// The folder of [`Storage::Memory`]. It is not part of the database, because a request that
    /// outlives the engine still holds the database.
    _folder: Option<TempDir>,
}

impl Engine {
    /// Opens the database and serves it. Requests are answered as soon as this returns.
    ///
    /// # Errors
    /// When the address is in use, the folder cannot be created, or this version cannot use the
    /// file.
    pub async fn start(options: Options) -> Result<Self, EngineError> {
        if !(1..=streams::SHARDS_MAX).contains(&options.stream_shards) {
            return Err(EngineError::StreamShards(options.stream_shards));
        }
        let address = options.listen;
        let listener = TcpListener::bind(address).await.map_err(|source| EngineError::Listen { address, source })?;
        let addr = listener.local_addr()?;
        let (database, folder) = blocking(move || Database::open(&options.storage, options.stream_shards)).await??;
        let emulator = Emulator::start(database.tables.clone())?;
        let proxy = Arc::new(Proxy::new(database, emulator.addr()));
        let (stop_proxy, stopped) = oneshot::channel();
        let serving = tokio::spawn(proxy::serve(listener, Arc::clone(&proxy), async {
            // Dropping the sender also stops the proxy.
            let _ = stopped.await;
        }));
        let housekeeping = tokio::spawn(Housekeeper::new(&proxy).run());
        Ok(Self { addr, proxy, stop_proxy: Some(stop_proxy), serving, housekeeping, emulator, _folder: folder })
    }

    /// The endpoint for an AWS client, `http://127.0.0.1:8000`.
    pub fn url(&self) -> String {
        format!("http://{}", self.addr)
    }

    /// The served address, with the actual port.
    pub fn addr(&self) -> SocketAddr {
        self.addr
    }

    /// The injected faults, to read and to set.
    pub fn faults(&self) -> &Arc<Faults> {
        &self.proxy.faults
    }

    /// Makes `authorizer` check the callers that it knows. Only the first call takes effect.
    pub fn set_authorizer(&self, authorizer: Arc<dyn Authorizer>) {
        self.proxy.authorizer.get_or_init(|| authorizer);
    }

    /// The clock of [`EngineFaults::throttle`].
    pub fn throttle_clock(&self) -> &ThrottleClock {
        &self.proxy.throttle.clock
    }

    /// The receiver changes after each write to `table`, so that a stream reader can wait instead
    /// of polling. A write whose client disconnected may be missed, so a reader must still poll
    /// from time to time.
    pub fn subscribe_to_writes(&self, table: &str) -> watch::Receiver<()> {
        self.proxy.writes.subscribe(table)
    }

    /// Starts metering the consumed capacity and the throttled requests.
    pub fn meter(&self) -> Arc<Meter> {
        self.proxy.meter.switch_on();
        Arc::clone(&self.proxy.meter)
    }

    /// Closes an open shard and opens its children. [`ShardChange::Roll`] opens one child, as AWS
    /// does every few hours. [`ShardChange::Split`] opens two, as AWS does under load. Returns the
    /// ids of the children.
    ///
    /// # Errors
    /// [`EngineError::NoOpenShard`], or an error of SQLite.
    pub async fn change_shard(
        &self,
        table: &str,
        shard_id: &str,
        change: ShardChange,
    ) -> Result<Vec<String>, EngineError> {
        let (proxy, table, shard_id) = (Arc::clone(&self.proxy), table.to_owned(), shard_id.to_owned());
        blocking(move || proxy.change_shard(&table, &shard_id, change)).await?
    }

    /// The engine's background work, to be done now.
    pub fn housekeeper(&self) -> Housekeeper {
        Housekeeper::new(&self.proxy)
    }

    /// Stops serving, gives running requests two seconds to finish, and closes the database.
    pub async fn shutdown(mut self) {
        self.housekeeping.abort();
        self.stop_proxy.take();
        if tokio::time::timeout(SHUTDOWN_GRACE, &mut self.serving).await.is_err() {
            self.serving.abort();
        }
        let emulator = std::mem::take(&mut self.emulator);
        // The emulator's thread has its own deadline, so this wait is bounded.
        if tokio::task::spawn_blocking(move || emulator.stop()).await.is_err() {
            tracing::warn!("stopping the emulator panicked");
        }
    }
}

impl Drop for Engine {
    fn drop(&mut self) {
        self.housekeeping.abort();
        self.stop_proxy.take();
    }
}

/// Runs blocking SQLite work outside the caller's runtime threads.
async fn blocking<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> Result<T, std::io::Error> {
    tokio::task::spawn_blocking(work).await.map_err(std::io::Error::other)
}
