//! What the dearest request that needs no token costs on DynamoDB; `scale` turns it into money.

use std::sync::Arc;

use anyhow::Result;
use domain::shop::{Action, Activity, ProductId};
use domain::{Attributes, EntryId, Moment, UserId};
use scale::abuse_cost;
use shop_store::{Activities, ActivitySuffixes};
use tidemark_engine::{Engine, Options};

use crate::report::Row;
use crate::wire::{self, Consumed, Meter};
use crate::{events, stack};

const SECTION: &str = "The dearest requests of a stranger";

/// Activities of one request.
const ACTIVITIES: u32 = 25;

/// Units of the rows, beside the bound that the page about capacity is computed from.
pub(crate) async fn rows() -> Result<Vec<Row>> {
    let mut rows = Vec::new();
    for (what, is_user_long) in [("attributes", false), ("user id", true)] {
        let written = of_activities(is_user_long).await?.write_units;
        let row = Row::count(SECTION, format!("25 activities with the longest {what}: writes of rows"), "WRU", written);
        rows.push(row.at_most(f64::from(ACTIVITIES) * 2.0));
    }
    let [writes, reads] = abuse_cost::ACTIVITIES;
    rows.push(Row::count(SECTION, "25 activities, with their statistics, at most: writes", "WRU", writes));
    rows.push(Row::count(SECTION, "25 activities, with their statistics, at most: reads", "RRU", reads));
    Ok(rows)
}

/// What storing the largest activities consumes: those whose user's id is long, or whose attributes
/// are many.
async fn of_activities(is_user_long: bool) -> Result<Consumed> {
    let engine = Engine::start(Options::default()).await?;
    let table = stack::table("ShopTable")?;
    tidemark_local::tables::ensure(&stack::client(&engine), &table).await?;
    let meter = Arc::new(Meter::new(engine.url()));
    let table = store_base::Table::new(wire::client(meter.clone()), &table.name);
    let retention = Some(std::time::Duration::from_secs(1));
    let store = Activities::new(&table, ActivitySuffixes::new(100).unwrap_or_default()).expiring_after(retention);
    for n in 0..ACTIVITIES {
        store.record(&largest(n, is_user_long)?).await?;
    }
    let consumed = meter.take();
    engine.shutdown().await;
    Ok(consumed)
}

fn largest(n: u32, is_user_long: bool) -> Result<Activity> {
    let at = Moment::parse(&format!("{}T10:30:00.123456789Z", events::DAY))?;
    let mut activity = Activity {
        user_id: UserId::new(format!("{n:02}"))?,
        action: Action::new("v")?,
        product_id: Some(ProductId::new("p")?),
        attributes: Attributes::default(),
        at,
        id: EntryId::derived(at.timestamp(), &n.to_string()),
    };
    let rest = Activity::TEXTS_BYTES_MAX - activity.texts_bytes();
    if is_user_long {
        // As many bytes as characters of four bytes take.
        activity.user_id = UserId::new(format!("{n:02}{}", "𝒰".repeat(rest / 4)))?;
    } else {
        let pairs = (0..20).map(|pair| (format!("{pair:02}"), "x".repeat(rest / 20 - 2)));
        activity.attributes = Attributes::new(pairs.collect())?;
    }
    Ok(activity)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_row_of_an_activity_costs_one_write_unit() {
        for is_user_long in [true, false] {
            let units = of_activities(is_user_long).await.expect("a count").write_units;
            assert_eq!(units, f64::from(ACTIVITIES) * 2.0);
        }
    }
}
