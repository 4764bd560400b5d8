//! What DynamoDB does with items whose time is over: it deletes them, sooner or later, and the
//! stream tells of it at least once.

use std::time::Duration;

use anyhow::Context;
use serde_json::{Value, json};
use tokio::time::sleep;

use super::world::{State, TABLE, World, now};
use crate::table::ask;

/// How often an expiry that is not taken is told again.
const TELLINGS_MAX: usize = 50;

/// Time to live.
#[derive(Debug, Clone)]
pub(super) struct Sweeper {
    world: World,
}

impl Sweeper {
    pub(super) fn new(world: World) -> Self {
        Self { world }
    }

    /// Sweeps now and then, until it is stopped.
    pub(super) async fn run(self) -> anyhow::Result<()> {
        loop {
            // Seldom while nobody is there, for the sake of whoever waits for the history.
            let seconds = self.world.with(|state| match state.history.under_way {
                0 => state.history.rng.u64(1..12 * 60 * 60),
                _ => state.history.rng.u64(1..6),
            });
            sleep(Duration::from_secs(seconds)).await;
            self.sweep(false)?;
        }
    }

    /// Advances the clock until all reservations have expired, and deletes them.
    pub(super) async fn sweep_all(&self) -> anyhow::Result<()> {
        sleep(Duration::from_secs(60 * 60)).await;
        self.sweep(true)
    }

    /// Deletes some or all expired items. Their stream records follow later.
    fn sweep(&self, is_all: bool) -> anyhow::Result<()> {
        let expired = json!({
            "TableName": TABLE,
            "ConsistentRead": true,
            "FilterExpression": "#ttl <= :now",
            "ExpressionAttributeNames": {"#ttl": "ttl"},
            "ExpressionAttributeValues": {":now": {"N": now().as_second().to_string()}},
        });
        let gone = self.world.with(|state| {
            let mut gone = Vec::new();
            for item in scan(state, &expired)? {
                if is_all || state.history.rng.bool() {
                    let key = json!({"PK": item["PK"], "SK": item["SK"]});
                    ask(&mut *state.database, "DeleteItem", &json!({"TableName": TABLE, "Key": key}))?;
                    state.history.note(|| format!("time takes {}", item["SK"]));
                    gone.push(item);
                }
            }
            anyhow::Ok(gone)
        })?;
        for item in gone {
            let copies = self.world.with(|state| {
                // A stream tells at least once, in good weather too.
                let copies = 1 + usize::from(state.history.rng.bool());
                state.history.under_way += copies;
                copies
            });
            for _ in 0..copies {
                tokio::task::spawn_local(self.clone().tell(item.clone()));
            }
        }
        Ok(())
    }

    /// Tells of an expired item until the function has taken it, as an event source mapping does.
    async fn tell(self, item: Value) -> anyhow::Result<()> {
        for _ in 0..TELLINGS_MAX {
            let seconds = self.world.with(|state| state.history.rng.u64(..5));
            sleep(Duration::from_secs(seconds)).await;
            if self.world.watch(&item).await? {
                self.world.with(|state| state.history.under_way -= 1);
                return Ok(());
            }
        }
        self.world.complain(format!("an expiry is not taken: {item}"));
        self.world.with(|state| state.history.under_way -= 1);
        Ok(())
    }
}

/// Every item of the table.
pub(super) fn items(state: &mut State) -> anyhow::Result<Vec<Value>> {
    scan(state, &json!({"TableName": TABLE, "ConsistentRead": true}))
}

fn scan(state: &mut State, query: &Value) -> anyhow::Result<Vec<Value>> {
    let page = ask(&mut *state.database, "Scan", query)?;
    anyhow::ensure!(page["LastEvaluatedKey"].is_null(), "the table has outgrown one page");
    Ok(page["Items"].as_array().context("no items")?.clone())
}
