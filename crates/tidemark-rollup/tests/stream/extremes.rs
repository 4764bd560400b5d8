//! Extremes and statistics that are left without items.

use super::*;
use rollup::{Stat, first, last, maximum, minimum};

fn rollup(policy: Policy) -> Rollup<Sale> {
    let at = |sale: &Sale| (sale.at, sale.cents);
    Rollup::builder("extremes")
        .on_modify(policy)
        .on_remove(policy)
        .measure("sales", count())
        .measure("mean", average(|sale: &Sale| sale.cents).decimals(2))
        .measure("lowest", minimum(|sale: &Sale| sale.cents).decimals(2))
        .measure("highest", maximum(|sale: &Sale| sale.cents).decimals(2))
        .measure("opening", first(at).decimals(2))
        .measure("closing", last(at).decimals(2))
        .group(
            Group::new("daily")
                .attribute("product", |sale: &Sale| sale.product.clone())
                .window("day", Window::Day, |sale: &Sale| sale.at)
                .key("EXTREME#{product}", "{day}"),
        )
        .remove_empty()
        .build()
        .unwrap()
}

/// The lowest, highest, first and last number.
fn extremes(stat: &Stat) -> [Option<String>; 4] {
    ["lowest", "highest", "opening", "closing"].map(|name| stat.extreme(name).unwrap().map(|amount| amount.to_string()))
}

fn some(texts: [&str; 4]) -> [Option<String>; 4] {
    texts.map(|text| Some(text.to_owned()))
}

async fn handle(aggregator: &Aggregator<Sale>, records: &[Value]) {
    let event = RawValue::from_string(event(records).to_string()).unwrap();
    aggregator.handle(&event, SystemTime::now() + Duration::from_secs(30)).await.unwrap();
}

async fn day(aggregator: &Aggregator<Sale>, table: &Table) -> Stat {
    let day = aggregator.rollup().query("daily").with("product", "a#b").with("day", "2025-10-02");
    day.one(table).await.unwrap()
}

#[tokio::test]
async fn extremes_follow_corrections_and_deletions() {
    let world = World::new(Layout::Sums).await;
    let aggregator = Aggregator::new(rollup(Policy::Retract), world.table.clone());
    let sale = |id: u32, hour: u32, cents: i64| {
        let mut sale = image(id, "2025-10-02", "a#b", "ann", cents);
        sale["at"] = json!({"S": format!("2025-10-02T{hour:02}:30:00Z")});
        sale
    };
    let (a, b, c) = (sale(1, 9, 500), sale(2, 8, -250), sale(3, 12, 100));
    handle(&aggregator, &[record(1, None, Some(&a)), record(2, None, Some(&b)), record(3, None, Some(&c))]).await;
    let stat = day(&aggregator, &world.table).await;
    assert_eq!(extremes(&stat), some(["-2.50", "5.00", "-2.50", "1.00"]));
    assert_eq!(stat.average("mean").unwrap(), Some(3.5 / 3.0));

    let corrected = sale(2, 8, 300);
    handle(&aggregator, &[record(4, Some(&b), Some(&corrected))]).await;
    assert_eq!(extremes(&day(&aggregator, &world.table).await), some(["1.00", "5.00", "3.00", "1.00"]));
    handle(&aggregator, &[record(5, Some(&a), None), record(6, Some(&c), None)]).await;
    let stat = day(&aggregator, &world.table).await;
    assert_eq!(extremes(&stat), some(["3.00", "3.00", "3.00", "3.00"]));
    assert_eq!(stat.number("lowestValues").unwrap(), 1);
    let page = aggregator.rollup().query("daily").with("product", "a#b").page(&world.table).await.unwrap();
    assert_eq!(page.stats, [stat]);
    let daily = aggregator.rollup().query("daily").with("product", "a#b");
    let unsorted = daily.top(&world.table, "ByRevenue", "top", "lowest").await.unwrap_err().to_string();
    assert_eq!(unsorted, "there is no attribute `top` in `daily`");

    handle(&aggregator, &[record(7, Some(&corrected), None)]).await;
    assert_eq!(extremes(&day(&aggregator, &world.table).await), [None, None, None, None]);
    let left = world.client.scan().table_name("shop").send().await.unwrap().items.unwrap();
    let partitions: Vec<_> = left.iter().map(|item| item["pk"].as_s().unwrap()).collect();
    assert!(!partitions.iter().any(|partition| partition.starts_with("EXTREME#")), "{partitions:?}");
}

/// Another shard may have to count an item whose values are counted already.
#[tokio::test]
async fn a_statistic_with_a_number_beside_its_count_stays() {
    let world = World::new(Layout::Sums).await;
    let aggregator = Aggregator::new(rollup(Policy::Retract), world.table.clone());
    let sale = image(1, "2025-10-02", "a#b", "ann", 500);
    handle(&aggregator, &[record(1, None, Some(&sale))]).await;
    let statement = r#"UPDATE "shop" SET lowestValues = 2 WHERE pk = 'EXTREME#a%23b' AND sk = '2025-10-02'"#;
    world.client.execute_statement().statement(statement).send().await.unwrap();
    handle(&aggregator, &[record(2, Some(&sale), None)]).await;
    let stat = day(&aggregator, &world.table).await;
    assert_eq!((stat.number("sales").unwrap(), stat.number("lowestValues").unwrap()), (0, 1));
    assert_eq!(stat.extreme("lowest").unwrap(), None);
}

#[tokio::test]
async fn extremes_of_insertions_stay() {
    let world = World::new(Layout::Sums).await;
    let aggregator = Aggregator::new(rollup(Policy::Keep), world.table.clone());
    let (a, b) = (image(1, "2025-10-02", "a#b", "ann", 1_390), image(2, "2025-10-02", "a#b", "bob", 200));
    handle(&aggregator, &[record(1, None, Some(&a)), record(2, None, Some(&b)), record(3, Some(&b), None)]).await;
    let stat = day(&aggregator, &world.table).await;
    // The statistic has the minimum and maximum itself, and DynamoDB drops the last zeros.
    assert_eq!(extremes(&stat), some(["2", "13.9", "2.00", "13.90"]));
}
