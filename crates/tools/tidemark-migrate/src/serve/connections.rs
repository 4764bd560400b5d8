//! A few connections to PostgreSQL, each with its own view of both sides.

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use jiff::Timestamp;
use store_base::Table;
use tokio::sync::{Semaphore, SemaphorePermit};
use tokio::time::timeout;

use crate::arguments::MappingArguments;
use crate::command::Product;
use crate::cutover::{Dynamo, Postgres, Sides, read_started};
use crate::source::{Server, connect};
use crate::transform::Items;
use crate::{Failure, FailureKind};

/// How long a request waits for a free connection.
const WAIT_MAX: Duration = Duration::from_secs(5);

/// The connections, of which each serves one request at a time.
pub(super) struct Connections {
    server: Server,
    table: Table,
    mapping: MappingArguments,
    product: Product,
    free: Semaphore,
    idle: Mutex<Vec<Connection>>,
}

struct Connection {
    sides: Sides,
    /// The cutover that the sides were made for: its id, and the manifest of the run's items.
    cutover: Option<(String, Option<String>)>,
}

pub(super) struct Taken<'c> {
    connections: &'c Connections,
    connection: Option<Connection>,
    _permit: SemaphorePermit<'c>,
}

impl Connections {
    pub(super) fn new(
        server: Server,
        table: Table,
        (mapping, product): (MappingArguments, Product),
        most: usize,
    ) -> Result<Self, Failure> {
        mapping.world(&product, "", Timestamp::now())?;
        Ok(Self { server, table, mapping, product, free: Semaphore::new(most), idle: Mutex::default() })
    }

    /// A connection, new if none is idle or the cutover has changed.
    pub(super) async fn take(&self) -> Result<Taken<'_>, Failure> {
        let permit = timeout(WAIT_MAX, self.free.acquire()).await;
        let Ok(Ok(_permit)) = permit else {
            return Err(FailureKind::RunBusy.because("all connections are in use: try again later"));
        };
        let idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner).pop();
        let idle = idle.filter(|idle| !idle.sides.postgres().is_closed());
        let connection = match idle {
            // An error means that the connection has just been lost.
            Some(idle) if read_started(idle.sides.postgres().client()).await.is_ok_and(|now| now == idle.cutover) => {
                idle
            }
            _ => self.open().await?,
        };
        Ok(Taken { connections: self, connection: Some(connection), _permit })
    }

    async fn open(&self) -> Result<Connection, Failure> {
        let client = connect(&self.server).await?;
        let cutover = read_started(&client).await?;
        let (run, items) = cutover.clone().unwrap_or_default();
        let postgres = Postgres::open(client, &self.server.schema, &self.mapping.read(&self.product)?).await?;
        let items: Option<Items> = items.as_deref().map(serde_json::from_str).transpose().map_err(|error| {
            FailureKind::SourceUnreadable.because(format!("the manifest of the items in the database: {error}"))
        })?;
        // Before the transformation, nothing is replicated, and no expression is evaluated.
        let as_of = items.as_ref().map_or_else(Timestamp::now, |items| items.as_of);
        let world = self.mapping.world(&self.product, &run, as_of)?;
        items.map_or(Ok(()), |items| world.check_recorded(&items.parameters))?;
        let dynamo = Dynamo::new(self.table.clone(), &world, &run);
        Ok(Connection { sides: Sides::new(postgres, dynamo, world), cutover })
    }
}

impl Taken<'_> {
    pub(super) fn sides(&self) -> Result<&Sides, Failure> {
        let gone = || FailureKind::SourceGone.because("the connection was given back");
        self.connection.as_ref().map(|connection| &connection.sides).ok_or_else(gone)
    }

    /// Gives the connection back after a request that has ended. Without this call it is closed: a
    /// query may still be running on it.
    pub(super) fn give_back(mut self) {
        if let Some(connection) = self.connection.take() {
            self.connections.idle.lock().unwrap_or_else(PoisonError::into_inner).push(connection);
        }
    }
}
