//! What `cutover`, `repair`, `rollback` and `rehearse` take: a run, both databases, and the
//! mapping.

use clap::Args;
use tokio_postgres::Client;

use super::Dynamo;
use super::plan::{Phase, Plan};
use super::postgres::Postgres;
use super::sides::Sides;
use crate::arguments::MappingArguments;
use crate::command::Product;
use crate::load::check_table;
use crate::run::{Run, RunFolderArgument};
use crate::source::{Server, check_unchanged, connect, database_identity};
use crate::transform::{ITEMS, Items};
use crate::{Failure, FailureKind, TargetTable};

/// The run, both databases, and the mapping with its parameters.
#[derive(Debug, Clone, Args)]
pub(crate) struct SidesArguments {
    #[command(flatten)]
    pub(crate) folder: RunFolderArgument,
    #[command(flatten)]
    pub(crate) server: Server,
    #[command(flatten)]
    pub(crate) table: TargetTable,
    #[command(flatten)]
    pub(crate) mapping: MappingArguments,
}

impl SidesArguments {
    /// Connects to PostgreSQL. Also returns what identifies the database.
    pub(crate) async fn postgres(&self, product: &Product) -> Result<(Postgres, Option<String>), Failure> {
        let client = connect(&self.server).await?;
        check_unchanged(&client).await?;
        self.postgres_of(client, product).await
    }

    /// The same for a rollback, also if the tables have changed since.
    pub(crate) async fn postgres_of(
        &self,
        client: Client,
        product: &Product,
    ) -> Result<(Postgres, Option<String>), Failure> {
        let database = database_identity(&client).await?;
        let postgres = Postgres::open_changed(client, &self.server.schema, &self.mapping.read(product)?).await?;
        Ok((postgres, database))
    }

    /// Both sides of a cutover, with the options with which the run was transformed.
    pub(crate) async fn sides(
        &self,
        run: &Run,
        product: &Product,
        postgres: Postgres,
        plan: &Plan,
    ) -> Result<Sides, Failure> {
        check_table(run, &self.table.table)?;
        let items: Option<Items> = run.read(ITEMS)?;
        let as_of = match &items {
            Some(items) => items.as_of,
            // Without items no row is transformed yet; and during a rollback only PostgreSQL
            // receives changes.
            None if matches!(plan.phase, Phase::Capture | Phase::RollingBack) => jiff::Timestamp::UNIX_EPOCH,
            None => {
                return Err(FailureKind::RunIncomplete.because("the run has no items, whose options are needed here"));
            }
        };
        let world = self.mapping.world(product, &plan.run, as_of)?;
        items.map_or(Ok(()), |items| world.check_recorded(&items.parameters))?;
        let dynamo = Dynamo::new(self.table.open().await, &world, &plan.run);
        Ok(Sides::new(postgres, dynamo, world))
    }
}
