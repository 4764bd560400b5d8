//! Batches as Lambda delivers them, against a DynamoDB engine.

#![allow(clippy::unwrap_used)]

mod declaration;
mod extremes;
#[cfg(feature = "recount")]
mod keys;
#[cfg(feature = "recount")]
mod quarantine;
mod reading;
#[cfg(feature = "recount")]
mod recount;

#[cfg(feature = "sim")]
mod test_kit;

use std::time::{Duration, SystemTime};

use aws_sdk_dynamodb::Client;
use aws_sdk_dynamodb::config::{BehaviorVersion, Credentials, Region};
use aws_sdk_dynamodb::types::{
    AttributeDefinition, BillingMode, GlobalSecondaryIndex, KeySchemaElement, KeyType, Projection, ProjectionType,
    ScalarAttributeType, StreamSpecification, StreamViewType,
};
use aws_smithy_http_client::Builder;
use jiff::Timestamp;
use jiff::civil::date;
use rollup::{
    AggregateError, Aggregator, Change, Group, Index, Layout, Policy, Report, Rollup, Table, Window, average, count,
    distinct, sum,
};
use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Value, json};
use tidemark_engine::{Engine, Options};

#[derive(Debug, Clone, Deserialize)]
struct Sale {
    at: Timestamp,
    product: String,
    customer: String,
    cents: i64,
}

fn sales(policy: Policy) -> Rollup<Sale> {
    Rollup::builder("sales")
        .on_modify(policy)
        .on_remove(policy)
        .on_ttl(Policy::Keep)
        .measure("sales", count())
        .measure("revenue", sum(|sale: &Sale| sale.cents).decimals(2))
        .measure("basket", average(|sale: &Sale| sale.cents))
        .measure("customers", distinct(|sale: &Sale| sale.customer.clone()))
        .group(Group::new("total").key("STAT#TOTAL", "-"))
        .group(
            Group::new("daily")
                .attribute("product", |sale: &Sale| sale.product.clone())
                .window("day", Window::Day, |sale: &Sale| sale.at)
                .key("STAT#{product}", "{day}")
                .set("top", "TOP#{day}"),
        )
        .build()
        .unwrap()
}

struct World {
    engine: Engine,
    client: Client,
    table: Table,
    aggregator: Aggregator<Sale>,
}

impl World {
    async fn new(layout: Layout) -> Self {
        Self::with(layout, Policy::Retract).await
    }

    async fn with(layout: Layout, policy: Policy) -> Self {
        let engine = Engine::start(Options::default()).await.unwrap();
        let client = client(&engine, "us-east-1");
        let attribute = |name: &str, of: ScalarAttributeType| {
            AttributeDefinition::builder().attribute_name(name).attribute_type(of).build().unwrap()
        };
        let key =
            |name: &str, of: KeyType| KeySchemaElement::builder().attribute_name(name).key_type(of).build().unwrap();
        let index = GlobalSecondaryIndex::builder()
            .index_name("ByRevenue")
            .key_schema(key("top", KeyType::Hash))
            .key_schema(key("revenue", KeyType::Range))
            .projection(Projection::builder().projection_type(ProjectionType::All).build());
        let create = client.create_table().table_name("shop").billing_mode(BillingMode::PayPerRequest);
        let create = create
            .attribute_definitions(attribute("pk", ScalarAttributeType::S))
            .attribute_definitions(attribute("sk", ScalarAttributeType::S))
            .attribute_definitions(attribute("top", ScalarAttributeType::S))
            .attribute_definitions(attribute("revenue", ScalarAttributeType::N))
            .key_schema(key("pk", KeyType::Hash))
            .key_schema(key("sk", KeyType::Range))
            .global_secondary_indexes(index.build().unwrap());
        let stream = StreamSpecification::builder().stream_enabled(true);
        let stream = stream.stream_view_type(StreamViewType::NewAndOldImages).build().unwrap();
        let create = create.stream_specification(stream);
        create.send().await.unwrap();
        let table = Table::new(client.clone(), "shop", "pk", "sk");
        let aggregator = Aggregator::new(sales(policy), table.clone()).layout(layout);
        Self { engine, client, table, aggregator }
    }

    async fn handle(&self, event: &Value) -> Result<(Value, Report), AggregateError> {
        let event = RawValue::from_string(event.to_string()).unwrap();
        let handled = self.aggregator.handle(&event, SystemTime::now() + Duration::from_secs(30)).await?;
        Ok((serde_json::to_value(&handled.reply).unwrap(), handled.report))
    }

    async fn sold(&self) -> i128 {
        self.aggregator.rollup().query("total").one(&self.table).await.unwrap().number("sales").unwrap()
    }
}

fn client(engine: &Engine, region: &'static str) -> Client {
    let config = aws_sdk_dynamodb::Config::builder()
        .behavior_version(BehaviorVersion::latest())
        .region(Region::from_static(region))
        .credentials_provider(Credentials::new("test", "test", None, None, "test"))
        .endpoint_url(engine.url())
        .http_client(Builder::new().build_http());
    Client::from_conf(config.build())
}

fn image(id: u32, day: &str, product: &str, customer: &str, cents: i64) -> Value {
    json!({
        "pk": {"S": format!("SALE#{id}")}, "sk": {"S": "-"}, "at": {"S": format!("{day}T10:30:00Z")},
        "product": {"S": product}, "customer": {"S": customer}, "cents": {"N": cents.to_string()},
    })
}

fn record(number: u32, old: Option<&Value>, new: Option<&Value>) -> Value {
    let name = match (old, new) {
        (None, _) => "INSERT",
        (_, Some(_)) => "MODIFY",
        _ => "REMOVE",
    };
    let image = old.or(new).unwrap();
    let mut record = json!({"eventName": name, "dynamodb": {
        "SequenceNumber": number.to_string(), "Keys": {"pk": image["pk"], "sk": image["sk"]},
    }});
    for (name, image) in [("OldImage", old), ("NewImage", new)] {
        if let Some(image) = image {
            record["dynamodb"][name] = image.clone();
        }
    }
    record
}

fn event(records: &[Value]) -> Value {
    json!({
        "Records": records, "state": {}, "isFinalInvokeForWindow": false,
        "shardId": "shardId-00000001700000000000-00000000",
        "eventSourceARN": "arn:aws:dynamodb:us-east-1:123456789012:table/shop/stream/2025-10-01T00:00:00.000",
    })
}

#[tokio::test]
async fn a_batch_that_comes_twice_counts_once() {
    let world = World::new(Layout::Sums).await;
    let sale = image(1, "2025-10-02", "lamp", "ann", 1_999);
    let batch =
        event(&[record(1, None, Some(&sale)), record(2, None, Some(&image(2, "2025-10-02", "lamp", "bob", 1)))]);
    let (reply, report) = world.handle(&batch).await.unwrap();
    assert_eq!(reply, json!({"batchItemFailures": [], "state": {}}));
    assert_eq!((report.records, report.counted, report.duplicates), (2, 2, 0));
    let (_, report) = world.handle(&batch).await.unwrap();
    assert_eq!((report.counted, report.duplicates), (0, 2));
    let (_, report) = world.handle(&event(&[record(3, Some(&sale), None)])).await.unwrap();
    assert_eq!(report.counted, 1);
    let total = world.aggregator.rollup().query("total").one(&world.table).await.unwrap();
    assert_eq!((total.number("sales").unwrap(), total.number("customers").unwrap()), (1, 1));
    assert_eq!(total.decimal("revenue").unwrap().to_string(), "0.01");
    assert_eq!(total.average("basket").unwrap(), Some(1.0));
}

#[tokio::test]
async fn nothing_is_counted_without_a_shard_or_without_images() {
    let world = World::new(Layout::Sums).await;
    let sale = image(1, "2025-10-02", "lamp", "ann", 1);
    let mut no_shard = event(&[record(1, None, Some(&sale))]);
    no_shard["shardId"] = Value::Null;
    assert_eq!(world.handle(&no_shard).await.unwrap_err().code(), "no-shard");
    let mut no_image = record(1, None, Some(&sale));
    no_image["dynamodb"]["NewImage"] = Value::Null;
    assert_eq!(world.handle(&event(&[no_image])).await.unwrap_err().code(), "no-images");
    assert_eq!(world.handle(&json!(7)).await.unwrap_err().code(), "not-a-batch");
    assert_eq!(world.sold().await, 0);
}

#[tokio::test]
async fn unreadable_record_is_quarantined_until_its_item_is_corrected() {
    let world = World::new(Layout::Sums).await;
    let good = image(1, "2025-10-02", "lamp", "ann", 1);
    let mut bad = good.clone();
    bad["cents"] = json!({"S": "one"});
    world.handle(&event(&[record(1, None, Some(&bad)), json!("no record")])).await.unwrap();
    let quarantined = world.aggregator.quarantined().await.unwrap();
    let codes: Vec<_> = quarantined.iter().map(|record| record.code.as_str()).collect();
    assert_eq!(codes, ["item", "record"]);
    assert_eq!(world.sold().await, 0);
    world.handle(&event(&[record(2, Some(&bad), Some(&good))])).await.unwrap();
    assert_eq!(world.sold().await, 1);
    // An item that can no longer be read does not count either.
    world.handle(&event(&[record(3, Some(&good), Some(&bad))])).await.unwrap();
    assert_eq!(world.sold().await, 0);
    world.handle(&event(&[record(4, Some(&bad), None)])).await.unwrap();
    assert_eq!(world.sold().await, 0);
}

#[tokio::test]
async fn a_buffer_is_added_at_the_end_of_the_window() {
    let world = World::new(Layout::Buffers).await;
    for number in 1..4 {
        let sale = image(number, "2025-10-02", "lamp", "ann", 100);
        world.handle(&event(&[record(number, None, Some(&sale))])).await.unwrap();
    }
    assert_eq!(world.sold().await, 0);
    let mut end = event(&[]);
    end["isFinalInvokeForWindow"] = json!(true);
    for _ in 0..2 {
        world.handle(&end).await.unwrap();
        assert_eq!(world.sold().await, 3);
    }
}

#[tokio::test]
async fn unneeded_items_get_the_tables_ttl_attribute() {
    let world = World::new(Layout::Buffers).await;
    // A name that would not be valid as the placeholder of an expression.
    let table = world.table.clone().ttl_attribute("delete-at");
    let world = World { aggregator: Aggregator::new(sales(Policy::Retract), table).layout(Layout::Buffers), ..world };
    let expiring = async |name: &str| {
        let items = world.client.scan().table_name("shop").send().await.unwrap().items.unwrap();
        let items = items.iter().filter(|item| item.contains_key(name));
        let mut partitions: Vec<_> = items.map(|item| item["pk"].as_s().unwrap().clone()).collect();
        partitions.sort();
        partitions.dedup();
        partitions
    };
    let sale = image(1, "2025-10-02", "lamp", "ann", 100);
    world.handle(&event(&[record(1, None, Some(&sale))])).await.unwrap();
    assert_eq!(expiring("delete-at").await, Vec::<String>::new(), "a buffer and a held value are needed");
    world.handle(&event(&[record(2, Some(&sale), None)])).await.unwrap();
    let mut end = event(&[]);
    end["isFinalInvokeForWindow"] = json!(true);
    world.handle(&end).await.unwrap();
    let [checkpoint, held] = <[String; 2]>::try_from(expiring("delete-at").await).unwrap();
    assert!(checkpoint.starts_with("ROLLUP#sales#CHECKPOINT#"), "{checkpoint}");
    assert_eq!(held, "ROLLUP#sales#HELD#customers#ann");
    assert_eq!(expiring("expiresAt").await, Vec::<String>::new());
    // A value that is held again is needed again.
    world.handle(&event(&[record(3, None, Some(&sale))])).await.unwrap();
    assert_eq!(expiring("delete-at").await, Vec::<String>::new());
}

#[tokio::test]
async fn a_measure_with_the_name_of_a_key_counts_nothing() {
    let world = World::new(Layout::Sums).await;
    for name in ["pk", "sk", "expiresAt"] {
        let rollup = Rollup::builder("wrong").measure(name, count::<Sale>());
        let rollup = rollup.group(Group::new("total").key("STAT#TOTAL", "-")).build().unwrap();
        let aggregator = Aggregator::new(rollup, world.table.clone());
        let event = RawValue::from_string(event(&[]).to_string()).unwrap();
        let error = aggregator.handle(&event, SystemTime::now()).await.unwrap_err();
        assert_eq!(error.code(), "reserved-attribute", "{error}");
    }
}

/// What the table and its index have used since the meter was switched on.
fn used(engine: &Engine) -> (f64, f64) {
    let used = engine.meter().used();
    used.values().fold((0.0, 0.0), |(writes, reads), usage| (writes + usage.write_units, reads + usage.read_units))
}

#[tokio::test]
async fn explain_says_what_the_engine_meters() {
    let mut rng = fastrand::Rng::with_seed(7);
    for (layout, batch_size, customers) in
        [(Layout::Sums, 100, 30), (Layout::Sums, 1, 3), (Layout::Buffers, 100, 500), (Layout::Buffers, 20, 5)]
    {
        let world = World::new(layout).await;
        let mut batches = Vec::new();
        let mut events = Vec::new();
        let mut number = 0;
        for _ in 0..10 {
            let (mut changes, mut records) = (Vec::new(), Vec::new());
            for _ in 0..batch_size {
                number += 1;
                let (day, product) = (format!("2025-10-0{}", rng.u8(1..4)), format!("product-{}", rng.u8(..4)));
                let (customer, cents) = (format!("customer-{}", rng.u16(..customers)), rng.i64(1..10_000));
                let image = image(number, &day, &product, &customer, cents);
                records.push(record(number, None, Some(&image)));
                let at = format!("{day}T10:30:00Z").parse().unwrap();
                changes.push(Change::Insert(Sale { at, product, customer, cents }));
            }
            batches.push(changes);
            events.push(event(&records));
        }
        let _ = used(&world.engine);
        for event in &events {
            world.handle(event).await.unwrap();
        }
        let mut end = event(&[]);
        end["isFinalInvokeForWindow"] = json!(true);
        world.handle(&end).await.unwrap();

        let index = Index { partition_key: "top".to_owned(), sort_key: "revenue".to_owned() };
        let cost = world.aggregator.rollup().explain(layout, ["pk", "sk"], &[index], batches);
        let (writes, reads) = used(&world.engine);
        assert!((cost.write_units / writes - 1.0).abs() < 0.02, "{layout:?}: {cost:?}, metered {writes} writes");
        assert!((cost.read_units / reads - 1.0).abs() < 0.02, "{layout:?}: {cost:?}, metered {reads} reads");
    }
}

#[tokio::test]
async fn a_value_from_many_shards_stays_a_small_item() {
    let world = World::new(Layout::Sums).await;
    for number in 1..=80 {
        let sale = image(number, "2025-10-02", "lamp", "ann", 100);
        let mut batch = event(&[record(number, None, Some(&sale))]);
        batch["shardId"] = format!("shardId-{number:08}").into();
        let batch = RawValue::from_string(batch.to_string()).unwrap();
        // One shard a minute.
        let now = Timestamp::from_second(1_760_000_000 + i64::from(number) * 60).unwrap();
        world.aggregator.handle_at(&batch, SystemTime::now() + Duration::from_secs(30), now).await.unwrap();
    }
    let held = world.client.query().table_name("shop").key_condition_expression("pk = :pk");
    let partition = "ROLLUP#sales#HELD#customers#ann".to_owned();
    let held = held.expression_attribute_values(":pk", aws_sdk_dynamodb::types::AttributeValue::S(partition));
    let [total, _] = held.send().await.unwrap().items.unwrap().try_into().unwrap();
    let shards = total["shards"].as_m().unwrap().len();
    assert!(shards <= 33, "{shards} shards");
    let of_ann = world.aggregator.rollup().query("total").one(&world.table).await.unwrap();
    assert_eq!((of_ann.number("sales").unwrap(), of_ann.number("customers").unwrap()), (80, 1));
    for number in 1..=80 {
        let sale = image(number, "2025-10-02", "lamp", "ann", 100);
        let mut batch = event(&[record(100 + number, Some(&sale), None)]);
        batch["shardId"] = format!("shardId-{number:08}").into();
        world.handle(&batch).await.unwrap();
    }
    let of_ann = world.aggregator.rollup().query("total").one(&world.table).await.unwrap();
    assert_eq!((of_ann.number("sales").unwrap(), of_ann.number("customers").unwrap()), (0, 0));
}

#[test]
fn explain_counts_the_shards_of_a_distinct_value() {
    let changes = |_| {
        let (at, customer) = ("2025-10-02T10:30:00Z".parse().unwrap(), "ann".to_owned());
        vec![Change::Insert(Sale { at, product: "lamp".to_owned(), customer, cents: 100 })]
    };
    let rollup = sales(Policy::Retract);
    let units = |partitions| {
        let batches = (0..100).map(changes);
        let cost = match partitions {
            0 => rollup.explain(Layout::Sums, ["pk", "sk"], &[], batches),
            _ => rollup.explain_with_partitions(partitions, Layout::Sums, ["pk", "sk"], &[], batches),
        };
        cost.writes_per_record().round()
    };
    // The two holdings of a sale have 1 unit each in a new table, then 2, and at most 3 until there
    // are more partitions than a holding folds.
    assert_eq!([0, 1, 10, 40, 400].map(units), [8.0, 10.0, 12.0, 14.0, 78.0]);
}

#[tokio::test]
async fn interleaved_batches_of_a_shard_are_refused() {
    let sale = |number| record(number, None, Some(&image(number, "2025-10-02", "lamp", "ann", 100)));
    let batch = |numbers: &[u32]| event(&numbers.iter().map(|number| sale(*number)).collect::<Vec<_>>());
    // Two lanes of one shard, as a ParallelizationFactor above 1 delivers them.
    for (first, second) in [([20, 40], [10, 30]), ([10, 30], [20, 40]), ([10, 40], [20, 30])] {
        let world = World::new(Layout::Sums).await;
        world.handle(&batch(&first)).await.unwrap();
        let refused = world.handle(&batch(&second)).await.expect_err(&format!("{first:?} {second:?}"));
        assert_eq!(refused.code(), "interleaved", "{first:?} {second:?}");
        assert!(refused.to_string().contains("ParallelizationFactor"), "{refused}");
        assert_eq!(world.sold().await, 2);
    }
    // One lane may repeat its records with other bounds.
    let world = World::new(Layout::Sums).await;
    for numbers in [[10, 20].as_slice(), &[10, 20, 30], &[20], &[30, 40, 50], &[20, 30, 40], &[50], &[10, 20]] {
        world.handle(&batch(numbers)).await.unwrap();
    }
    assert_eq!(world.sold().await, 5);
    // A record of the crate's own does not count, but is one of the batch.
    let mut own = sale(55);
    own["dynamodb"]["Keys"] = json!({"pk": {"S": "STAT#TOTAL"}, "sk": {"S": "-"}});
    world.handle(&event(&[own.clone(), sale(60)])).await.unwrap();
    world.handle(&event(&[own, sale(60), sale(70)])).await.unwrap();
    assert_eq!(world.sold().await, 7);
}
