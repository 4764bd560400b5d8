//! The products of `examples/` with their histories, moved so that they end today.

use std::collections::BTreeSet;
use std::time::Duration;

use anyhow::{Context, Result, bail, ensure};
use domain::calendar::DateRange;
use domain::journal::{JournalStream, Retention};
use domain::shop::{Activity, ProductId};
use domain::{Moment, TimeRange};
use jiff::{SignedDuration, Timestamp};
use journal_store::{Journal, JournalReader, JournalShards};
use shop_store::{Activities, ActivityStatistics, ActivitySuffixes, Products, activity_aggregator, rollup_table};
use store_base::Table;

use super::{Ids, Tables};
use crate::import::{ImportRow, Loader, SeriesKind, load_rows, rows};

const PRODUCTS: [&str; 3] = ["umbrella", "lamp", "teapot"];
/// The visitors of the examples have numbers from 1.
const VISITORS: usize = 8;
/// The last day of the examples.
const LAST_DAY: &str = "2026-11-20T23:59:59Z";
/// How often the statistics are read until the activities are counted or taken back: `activity-stats`
/// adds its sums up every ten seconds, and later on a busy machine.
const LOOKS_MAX: usize = 1_000;
const PAUSE: Duration = Duration::from_millis(250);
/// Entries of a page of the journal, and the most pages that are read.
const PAGE: u16 = 500;
const PAGES_MAX: usize = 1_000;

/// The files, in the order in which they are loaded.
const FILES: [(SeriesKind, &str); 4] = [
    (SeriesKind::Products, include_str!("../../../../../examples/products.csv")),
    (SeriesKind::Prices, include_str!("../../../../../examples/prices.csv")),
    (SeriesKind::Stock, include_str!("../../../../../examples/stock.csv")),
    (SeriesKind::Activities, include_str!("../../../../../examples/activities.csv")),
];

fn product(name: &str) -> Result<ProductId> {
    Ok(ProductId::new(&format!("demo-{name}"))?)
}

/// The rows of each file, with ids and times of the demo.
fn histories(ids: Ids) -> Result<[Vec<ImportRow>; 4]> {
    let last: Timestamp = LAST_DAY.parse()?;
    let days = ids.at.duration_since(last).as_hours().div_euclid(24);
    let by = SignedDuration::from_hours(days * 24);
    let mut all: [Vec<ImportRow>; 4] = Default::default();
    for ((kind, text), into) in FILES.into_iter().zip(&mut all) {
        let field = |field: &str| match field.strip_prefix("p-") {
            Some(name) => Ok(format!("demo-{name}")),
            None => match field.strip_prefix("visitor-").and_then(|number| number.parse().ok()) {
                Some(number) => Ok(ids.user(number)),
                None if field.starts_with("order-") => Ok(format!("demo-{field}")),
                None => match field.parse::<Timestamp>() {
                    Ok(at) => Ok((at + by).to_string()),
                    Err(_) => Ok(field.to_owned()),
                },
            },
        };
        *into = rows(kind, text, Moment::new(ids.at)?, field)?;
    }
    Ok(all)
}

/// Refuses products of somebody else.
pub(super) async fn refuse_foreign(table: &Table) -> Result<()> {
    for name in PRODUCTS {
        let id = product(name)?;
        ensure!(Products::new(table).sort_keys(&id).await?.is_empty(), "a product {id} exists, and is not the demo's");
    }
    Ok(())
}

async fn activities(table: &Table) -> Result<Activities> {
    Ok(Activities::new(table, ActivitySuffixes::new(1).context("a number")?.remembered(table).await?))
}

fn journal(tables: &Tables) -> Result<Journal> {
    let shards = JournalShards::new(4).context("a number")?;
    Ok(Journal::new(&tables.journal, shards, Retention::default()))
}

pub(super) async fn add(tables: &Tables, ids: Ids) -> Result<()> {
    let loader = Loader::new(&tables.shop, activities(&tables.shop).await?, journal(tables)?);
    let histories = histories(ids)?;
    let counted = Counted::of(
        &tables.shop,
        histories.iter().flatten().filter_map(|row| match row {
            ImportRow::Activity(activity) => Some(activity),
            _ => None,
        }),
    )?;
    for rows in histories {
        load_rows(&loader, rows).await?;
    }
    counted.wait(|sum| sum >= counted.own).await.map(drop)
}

/// The products and activities that are to be removed.
pub(super) struct Removal {
    ids: Ids,
    products: Vec<(ProductId, Vec<String>)>,
    activities: Vec<Activity>,
    /// An earlier removal was interrupted.
    is_begun: bool,
}

impl Removal {
    pub(super) async fn plan(table: &Table, ids: Ids, with_changes: bool, is_begun: bool) -> Result<Self> {
        let (mut own, mut activities) = (BTreeSet::from(["METADATA".to_owned()]), Vec::new());
        for row in histories(ids)?.into_iter().flatten() {
            match row {
                ImportRow::Product(put) => drop(own.insert(put.row_id.to_string())),
                ImportRow::Price(price) => own.extend([price.row_id.to_string(), price.key.to_string()]),
                ImportRow::Stock(stock) => {
                    own.insert(stock.row_id.to_string());
                    own.extend(stock.key.map(|key| key.to_string()));
                    own.extend(stock.order_id.map(|order| order.to_string()));
                }
                ImportRow::Activity(activity) => activities.push(activity),
                ImportRow::Journal(_) => {}
            }
        }
        let mut products = Vec::new();
        for name in PRODUCTS {
            let id = product(name)?;
            let sort_keys = Products::new(table).sort_keys(&id).await?;
            let foreign = sort_keys.iter().find(|sort| !own.contains(sort.rsplit('#').next().unwrap_or_default()));
            if let Some(foreign) = foreign.filter(|_| !with_changes) {
                bail!(
                    "{id} was changed since, by {foreign}: nothing was removed; --with-changes removes what people \
                     changed on the demo's products, too"
                );
            }
            products.push((id, sort_keys));
        }
        Ok(Self { ids, products, activities, is_begun })
    }

    pub(super) async fn run(self, tables: &Tables) -> Result<()> {
        let Self { ids, products, activities: deleted, is_begun } = self;
        let activities = activities(&tables.shop).await?;
        let counted = Counted::of(&tables.shop, deleted.iter())?;
        // Sums that are still in a buffer would become statistics after the deletion.
        let before = if is_begun { 0 } else { counted.wait(|sum| sum >= counted.own).await? };
        for activity in &deleted {
            activities.delete(activity).await?;
        }
        for (id, sort_keys) in products {
            Products::new(&tables.shop).delete(&id, sort_keys).await?;
        }
        if !is_begun {
            counted.wait(|sum| sum + counted.own <= before).await?;
        }
        for name in PRODUCTS {
            counted.statistics.delete_empty(&tables.shop, &product(name)?).await?;
        }
        let aggregator = activity_aggregator(rollup_table(&tables.shop))?;
        for visitor in 1..=VISITORS {
            aggregator.forget_value("Visitors", &ids.user(visitor)).await?;
        }
        forget_events(tables, ids).await
    }
}

/// The views, purchases and visitors of the demo's products in the statistics. All of them: a
/// shard may add up its visitors after the views of another one.
struct Counted {
    statistics: ActivityStatistics,
    days: DateRange,
    /// How many the demo has added.
    own: u64,
}

impl Counted {
    fn of<'a>(table: &Table, activities: impl Iterator<Item = &'a Activity>) -> Result<Self> {
        let of_products: Vec<_> = activities.filter(|activity| activity.product_id.is_some()).collect();
        let days: BTreeSet<_> = of_products.iter().map(|activity| activity.at.date()).collect();
        let (first, last) = days.first().zip(days.last()).context("the examples have activities")?;
        let acts = of_products.iter().filter(|of| of.action.is_view() || of.action.is_purchase()).count();
        // The demo's visitors have no other activities.
        let visitors: BTreeSet<_> =
            of_products.iter().map(|of| (&of.product_id, of.at.date(), of.user_id.as_str())).collect();
        let own = (acts + visitors.len()) as u64;
        Ok(Self { statistics: ActivityStatistics::new(table)?, days: DateRange::new(*first, *last)?, own })
    }

    /// Reads the sum until it is as wanted.
    async fn wait(&self, is_wanted: impl Fn(u64) -> bool) -> Result<u64> {
        for _ in 0..LOOKS_MAX {
            let mut sum = 0;
            for name in PRODUCTS {
                let days = self.statistics.product_days(&product(name)?, self.days).await?;
                sum += days.iter().map(|day| day.views + day.purchases + day.visitors).sum::<u64>();
            }
            if is_wanted(sum) {
                return Ok(sum);
            }
            tokio::time::sleep(PAUSE).await;
        }
        bail!("activity-stats has not counted the demo's activities: is it running?")
    }
}

/// Deletes the journal's entries about the demo's products and its game.
async fn forget_events(tables: &Tables, ids: Ids) -> Result<()> {
    let mut about: BTreeSet<_> = [ids.game().to_string()].into();
    for name in PRODUCTS {
        about.insert(product(name)?.to_string());
    }
    let (reader, writer) = (JournalReader::new(&tables.journal, Retention::default()), journal(tables)?);
    for stream in [JournalStream::suite(), JournalStream::stock()] {
        let mut after = None;
        for _ in 0..PAGES_MAX {
            let page = reader.page(&stream, TimeRange::default(), PAGE, after, Timestamp::now()).await?;
            for entry in page.items {
                let is_about = |name| entry.attributes.pairs().get(name).is_some_and(|id| about.contains(id));
                if is_about("productId") || is_about("gameId") {
                    writer.delete(&stream, entry.id).await?;
                }
            }
            after = page.next;
            if after.is_none() {
                break;
            }
        }
    }
    Ok(())
}
