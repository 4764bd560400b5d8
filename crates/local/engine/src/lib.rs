//! A DynamoDB for one machine: `dynoxide`, an embedded emulator, behind a proxy that closes its gaps.
//!
//! The emulator answers the table API. The proxy answers the streams API itself, straight from the emulator's stream
//! table (several shards, open ends, trimming), knows point-in-time recovery settings, gives ARNs the caller's region,
//! can misbehave on purpose (see [`Faults`]), and asks a [`Authorizer`] who may do what. Nothing here knows the suite's tables or functions.

mod api;
mod arn;
mod authorization;
mod call;
mod database;
mod emulator;
mod faults;
pub mod guard;
mod housekeeping;
mod meter;
mod point_in_time_recovery;
mod proxy;
mod streams;
mod tables;
mod throttle;
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
pub use crate::meter::{Meter, TableOrIndex, Usage};
pub use crate::streams::ShardChange;
pub use crate::throttle::ThrottleClock;

use crate::database::Database;
use crate::emulator::Emulator;
use crate::proxy::Proxy;

/// How long [`Engine::shutdown`] lets requests finish that are under way.
const SHUTDOWN_GRACE: Duration = Duration::from_secs(2);

/// Where the tables live.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Storage {
    /// In a temporary folder, in memory where the system has a memory file system; gone with the engine.
    Memory,
    /// In this SQLite file; its folder is made when missing. A crash of the process loses nothing that was answered, a
    /// power cut may lose the last moments.
    File(PathBuf),
}

/// What [`Engine::start`] is told.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Options {
    /// Where the tables live.
    pub storage: Storage,
    /// Where the API is served; port 0 takes a free one.
    pub listen: SocketAddr,
    /// Shards that a new stream begins with, 1 to 1,000. A stream that exists keeps the shards it has.
    pub stream_shards: u16,
}

impl Default for Options {
    /// In memory, on a free port of the loopback interface, one shard a stream.
    fn default() -> Self {
        Self { storage: Storage::Memory, listen: SocketAddr::from(([127, 0, 0, 1], 0)), stream_shards: 1 }
    }
}

/// Why the engine did not start, or a control request to it was not carried out.
#[derive(Debug, thiserror::Error)]
pub enum EngineError {
    /// The address cannot be served, most often because another process holds the port.
    #[error("cannot listen on {address}")]
    Listen {
        /// The address asked for.
        address: SocketAddr,
        /// The system's answer.
        source: std::io::Error,
    },
    /// The data folder cannot be made, or a thread cannot be started.
    #[error("cannot prepare the data folder")]
    Io(#[from] std::io::Error),
    /// The database file is not one that this version can use.
    #[error("cannot use the database: {0}")]
    Database(String),
    /// SQLite refused.
    #[error(transparent)]
    Sqlite(#[from] rusqlite::Error),
    /// More or fewer initial shards than a stream can have.
    #[error("a stream begins with 1 to {max} shards, not {0}", max = streams::SHARDS_MAX)]
    StreamShards(u16),
    /// The table has no stream, or the shard is not an open shard of it.
    #[error("table {table} has no open shard {shard_id}")]
    NoOpenShard {
        /// The table's name.
        table: String,
        /// The shard asked for.
        shard_id: String,
    },
}

/// A running engine. Dropping it stops it too, without waiting for requests under way.
#[derive(Debug)]
pub struct Engine {
    addr: SocketAddr,
    proxy: Arc<Proxy>,
    stop_proxy: Option<oneshot::Sender<()>>,
    serving: JoinHandle<()>,
    housekeeping: JoinHandle<()>,
    emulator: Emulator,
    /// Of [`Storage::Memory`]; here and not with the database, which a request that outlives the engine still holds.
    _folder: Option<TempDir>,
}

impl Engine {
    /// Opens the database and serves it; when this returns, requests are answered.
    ///
    /// # Errors
    /// When the address is taken, the folder cannot be made, or the file is not a database of this version.
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
            // A sender that is dropped stops the proxy like one that is used.
            let _ = stopped.await;
        }));
        let housekeeping = tokio::spawn(housekeeping::run(Arc::downgrade(&proxy)));
        Ok(Self { addr, proxy, stop_proxy: Some(stop_proxy), serving, housekeeping, emulator, _folder: folder })
    }

    /// The endpoint for an AWS client, `http://127.0.0.1:8000`.
    #[must_use]
    pub fn url(&self) -> String {
        format!("http://{}", self.addr)
    }

    /// The address that is served, with the port that was taken.
    #[must_use]
    pub fn addr(&self) -> SocketAddr {
        self.addr
    }

    /// The faults in force, to read and to set.
    #[must_use]
    pub fn faults(&self) -> &Arc<Faults> {
        &self.proxy.faults
    }

    /// Has `authorizer` decide, from now on, on the requests of the callers that it knows. The first authorizer stays.
    pub fn set_authorizer(&self, authorizer: Arc<dyn Authorizer>) {
        self.proxy.authorizer.get_or_init(|| authorizer);
    }

    /// The clock of [`EngineFaults::throttle`].
    #[must_use]
    pub fn throttle_clock(&self) -> &ThrottleClock {
        &self.proxy.throttle.clock
    }

    /// Changes after each write to `table`, so that a reader of its stream can wait instead of asking. A write whose client
    /// hung up may be missed: ask from time to time all the same.
    #[must_use]
    pub fn subscribe_to_writes(&self, table: &str) -> watch::Receiver<()> {
        self.proxy.writes.subscribe(table)
    }

    /// Meters requests from now on: what they consume, and which are throttled.
    #[must_use]
    pub fn meter(&self) -> Arc<Meter> {
        self.proxy.meter.switch_on();
        Arc::clone(&self.proxy.meter)
    }

    /// Closes an open shard of a table's stream and opens its children: one for [`ShardChange::Roll`], as AWS does every few hours, two halves for
    /// [`ShardChange::Split`], as it does under load. Gives the children's ids.
    ///
    /// # Errors
    /// [`EngineError::NoOpenShard`], or SQLite's refusal.
    pub async fn change_shard(
        &self,
        table: &str,
        shard_id: &str,
        change: ShardChange,
    ) -> Result<Vec<String>, EngineError> {
        let (proxy, table, shard_id) = (Arc::clone(&self.proxy), table.to_owned(), shard_id.to_owned());
        blocking(move || proxy.change_shard(&table, &shard_id, change)).await?
    }

    /// Deletes expired items and trims streams now; it happens by itself every minute. Gives the number of items deleted.
    ///
    /// # Errors
    /// When the database refuses.
    pub async fn sweep(&self) -> Result<usize, EngineError> {
        let proxy = Arc::clone(&self.proxy);
        blocking(move || proxy.sweep()).await?
    }

    /// Stops serving, lets requests under way finish for two seconds, and closes the database.
    pub async fn shutdown(mut self) {
        self.housekeeping.abort();
        self.stop_proxy.take();
        if tokio::time::timeout(SHUTDOWN_GRACE, &mut self.serving).await.is_err() {
            self.serving.abort();
        }
        let emulator = std::mem::take(&mut self.emulator);
        // The emulator's thread ends within its own grace, so waiting for it is bounded.
        if tokio::task::spawn_blocking(move || emulator.stop()).await.is_err() {
            tracing::warn!("the emulator's thread ended badly");
        }
    }
}

impl Drop for Engine {
    fn drop(&mut self) {
        self.housekeeping.abort();
        self.stop_proxy.take();
    }
}

/// Runs what waits for SQLite off the caller's runtime threads.
async fn blocking<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> Result<T, std::io::Error> {
    tokio::task::spawn_blocking(work).await.map_err(std::io::Error::other)
}
