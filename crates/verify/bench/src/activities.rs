//! The activities a second that one product takes before DynamoDB throttles it, and the cost of
//! reading them merged, by the number of suffixes.

use std::sync::Arc;

use anyhow::{Result, ensure};
use aws_sdk_dynamodb::config::retry::RetryConfig;
use domain::EntryId;
use domain::shop::{Action, Activity, ActivityRange, ProductId};
use domain::{Attributes, Moment, TimeRange, UserId};
use futures::future::try_join_all;
use shop_store::{Activities, ActivitySuffixes};
use store_base::{Direction, StoreError};
use tidemark_engine::{Engine, EngineFaults, Options};

use crate::report::{Better, Row};
use crate::wire::{self, Consumed, Meter};
use crate::{events, stack};

const HOT: &str = "Hot product: activities a second before the first one is throttled";
const READ: &str = "Hot product: the newest 25 of a day's 2,000 activities";

/// The plain layout, and the template's default.
const WRITTEN: [u8; 2] = [1, 10];

const READ_FROM: [u8; 3] = [1, 10, 100];

/// More than ten suffixes can take.
const ACTIVITIES_MAX: u32 = 12_000;

/// On the day that is read.
const STORED: u32 = 2_000;

/// The default page size.
const PAGE: u16 = 25;

/// Activities of a second, and what a page costs.
pub(crate) async fn rows() -> Result<Vec<Row>> {
    let mut rows: Vec<Row> = Vec::new();
    for suffixes in WRITTEN {
        let row = Row::count(HOT, named(suffixes), "activities/s", in_a_second(suffixes).await?);
        rows.push(match rows.first() {
            Some(plain) => row.beside(Better::Higher, PLAIN, plain.value).at_least(5_000.0),
            None => row,
        });
    }
    let mut plain: Option<Consumed> = None;
    for suffixes in READ_FROM {
        let consumed = of_a_page(suffixes).await?;
        for (what, unit, of) in FIGURES {
            let row = Row::count(READ, format!("{}: {what}", named(suffixes)), unit, of(&consumed));
            rows.push(match &plain {
                Some(plain) => row.beside(Better::Lower, PLAIN, of(plain)),
                None => row,
            });
        }
        plain.get_or_insert(consumed);
    }
    Ok(rows)
}

const PLAIN: &str = "plain layout";

type Figure = (&'static str, &'static str, fn(&Consumed) -> f64);

const FIGURES: [Figure; 2] =
    [("reads", "RRU", |consumed| consumed.read_units), ("requests", "", |consumed| consumed.requests)];

fn named(suffixes: u8) -> String {
    if suffixes == 1 { PLAIN.to_owned() } else { format!("{suffixes} suffixes") }
}

fn activities(client: aws_sdk_dynamodb::Client, table: &str, suffixes: u8) -> Activities {
    Activities::new(&store_base::Table::new(client, table), ActivitySuffixes::new(suffixes).unwrap_or_default())
}

/// The `n`th activity of the day, each of another user, a tenth of a second after the one before.
fn activity(n: u32) -> Result<Activity> {
    let at = Moment::parse(&format!("{}T10:30:00Z", events::DAY))?.timestamp();
    let at = at + jiff::SignedDuration::from_millis(i64::from(n) * 100);
    Ok(Activity {
        user_id: UserId::new(format!("user-{n}"))?,
        action: Action::new("view")?,
        product_id: Some(ProductId::new("p-1")?),
        attributes: Attributes::new([("page".to_owned(), "2".to_owned())].into())?,
        at: Moment::new(at)?,
        id: EntryId::derived(at, &n.to_string()),
    })
}

/// The throttle's clock is stopped, so exactly one second's capacity is admitted, on a machine of
/// any speed.
async fn in_a_second(suffixes: u8) -> Result<f64> {
    let engine = Engine::start(Options::default()).await?;
    let client = stack::client(&engine);
    let table = stack::table("ShopTable")?;
    tidemark_local::tables::ensure(&client, &table).await?;
    engine.throttle_clock().hold();
    engine.faults().set(EngineFaults { throttle: true, ..EngineFaults::default() });
    let config = client.config().to_builder().retry_config(RetryConfig::disabled()).build();
    let store = activities(aws_sdk_dynamodb::Client::from_conf(config), &table.name, suffixes);
    let mut stored = 0;
    for n in 0..ACTIVITIES_MAX {
        match store.record(&activity(n)?).await {
            Ok(_) => stored += 1,
            Err(StoreError::Busy(_)) => break,
            Err(error) => return Err(error.into()),
        }
    }
    engine.shutdown().await;
    Ok(f64::from(stored))
}

/// What the first page of the day consumes.
async fn of_a_page(suffixes: u8) -> Result<Consumed> {
    let engine = Engine::start(Options::default()).await?;
    let table = stack::table("ShopTable")?;
    tidemark_local::tables::ensure(&stack::client(&engine), &table).await?;
    let store = activities(stack::client(&engine), &table.name, suffixes);
    for first in (0..STORED).step_by(50) {
        let some: Vec<_> = (first..first + 50).map(activity).collect::<Result<_>>()?;
        try_join_all(some.iter().map(|activity| store.record(activity))).await?;
    }
    let meter = Arc::new(Meter::new(engine.url()));
    let store = activities(wire::client(meter.clone()), &table.name, suffixes);
    let day = Moment::parse_or_day(events::DAY)?;
    let next = Moment::new(day.timestamp() + jiff::SignedDuration::from_hours(24))?;
    let day = ActivityRange::new(TimeRange::new(Some(day), Some(next))?)?;
    let page = store.of_product(&ProductId::new("p-1")?, day, Direction::Desc, PAGE, None).await?;
    let newest = (STORED - u32::from(PAGE)..STORED).rev().map(activity).collect::<Result<Vec<_>>>()?;
    ensure!(page.items == newest, "{suffixes} suffixes bring another page");
    let consumed = meter.take();
    engine.shutdown().await;
    Ok(consumed)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn activity_page_costs_more_over_more_partitions() {
        let plain = of_a_page(1).await.expect("a page");
        let spread = of_a_page(10).await.expect("a page");
        assert_eq!((plain.requests, spread.requests), (1.0, 10.0));
        assert!(plain.read_units < spread.read_units && spread.read_units <= 10.0 * plain.read_units, "{spread:?}");
    }
}
