//! What an aggregator refuses to count with: a changed declaration, and the stream of a replica.

use rollup::{CountRefusal, RollupBuilder};

use super::*;

/// A declaration of a count and the distinct customers of a product.
fn of_products(name: &str, product: impl Fn(&Sale) -> String + Send + Sync + 'static) -> RollupBuilder<Sale> {
    Rollup::builder(name)
        .measure("sales", count())
        .measure("revenue", sum(|sale: &Sale| sale.cents).decimals(2))
        .measure("customers", distinct(|sale: &Sale| sale.customer.clone()))
        .group(Group::new("product").attribute("product", product).key("STAT#{product}", "-"))
}

fn plain() -> RollupBuilder<Sale> {
    of_products("products", |sale| sale.product.clone())
}

impl World {
    /// The same table with another declaration, as a new version of the function counts it.
    async fn deployed(declaration: RollupBuilder<Sale>) -> Self {
        let world = Self::new(Layout::Sums).await;
        world.redeployed(declaration)
    }

    fn redeployed(self, declaration: RollupBuilder<Sale>) -> Self {
        let aggregator = Aggregator::new(declaration.build().unwrap(), self.table.clone());
        Self { aggregator, ..self }
    }

    async fn refusal(&self, event: &Value) -> CountRefusal {
        match self.handle(event).await {
            Err(AggregateError::Refused(refusal)) => refusal,
            other => panic!("not refused: {other:?}"),
        }
    }

    async fn number(&self, product: &str, measure: &str) -> i128 {
        let query = self.aggregator.rollup().query("product").with("product", product);
        query.one(&self.table).await.unwrap().number(measure).unwrap()
    }
}

fn lamp(id: u32) -> Value {
    image(id, "2025-10-02", "Lamp", "ann", 500)
}

fn changes(refusal: CountRefusal) -> Vec<String> {
    let CountRefusal::ChangedDeclaration { rollup, changes } = refusal else { panic!("{refusal}") };
    assert_eq!(rollup, "products");
    changes
}

/// The same event from another shard.
fn of_shard(shard: &str, mut event: Value) -> Value {
    event["shardId"] = shard.into();
    event
}

#[tokio::test]
async fn a_changed_declaration_counts_nothing() {
    let world = World::deployed(plain()).await;
    world.handle(&event(&[record(1, None, Some(&lamp(1)))])).await.unwrap();
    // An item that was counted as `Lamp` would be taken back from `lamp`.
    let lower = || of_products("products", |sale| sale.product.to_lowercase()).version(1);
    let world = world.redeployed(lower());
    let gone = event(&[record(2, Some(&lamp(1)), None)]);
    for batch in [gone.clone(), of_shard("shardId-2", gone.clone())] {
        assert_eq!(changes(world.refusal(&batch).await), ["the version changed"]);
    }
    assert_eq!((world.number("Lamp", "sales").await, world.number("lamp", "sales").await), (1, 0));
    let world = world.redeployed(plain().measure("items", count()));
    assert_eq!(changes(world.refusal(&gone).await), ["group `product` changed", "measure `items` is new"]);
    let world = world.redeployed(plain());
    world.handle(&gone).await.unwrap();
    assert_eq!(world.number("Lamp", "sales").await, 0);
}

#[tokio::test]
async fn a_changed_declaration_counts_on_if_that_was_declared() {
    let world = World::deployed(plain()).await;
    world.handle(&event(&[record(1, None, Some(&lamp(1)))])).await.unwrap();
    let world = world.redeployed(plain().version(1).changed_declaration(Policy::Keep));
    world.handle(&event(&[record(2, None, Some(&lamp(2)))])).await.unwrap();
    assert_eq!(world.number("Lamp", "sales").await, 2);
    // From here on the earlier version is the changed one.
    let world = world.redeployed(plain());
    let third = event(&[record(3, None, Some(&lamp(3)))]);
    for batch in [third.clone(), of_shard("shardId-2", third)] {
        assert_eq!(changes(world.refusal(&batch).await), ["the version changed"]);
    }
}

#[tokio::test]
async fn a_checkpoint_of_an_earlier_version_is_adopted() {
    let world = World::deployed(plain()).await;
    world.handle(&event(&[record(1, None, Some(&lamp(1)))])).await.unwrap();
    // The table as an earlier version has left it.
    for item in world.client.scan().table_name("shop").send().await.unwrap().items.unwrap() {
        let (pk, sk) = (item["pk"].clone(), item["sk"].clone());
        if pk.as_s().unwrap() == "ROLLUP#DECLARATIONS" {
            world.client.delete_item().table_name("shop").key("pk", pk).key("sk", sk).send().await.unwrap();
        } else if pk.as_s().unwrap().contains("#CHECKPOINT#") {
            let update = world.client.update_item().table_name("shop").key("pk", pk).key("sk", sk);
            let update = update.update_expression("REMOVE #declaration");
            update.expression_attribute_names("#declaration", "declaration").send().await.unwrap();
        }
    }
    let world = world.redeployed(plain().version(7));
    world.handle(&event(&[record(2, None, Some(&lamp(2)))])).await.unwrap();
    assert_eq!(world.number("Lamp", "sales").await, 2);
    let world = world.redeployed(plain());
    assert_eq!(changes(world.refusal(&event(&[record(3, None, Some(&lamp(3)))])).await), ["the version changed"]);
}

#[tokio::test]
async fn a_reader_that_reads_what_was_quarantined_is_refused() {
    let world = World::deployed(plain()).await;
    let mut renamed = lamp(1);
    renamed["total"] = renamed.as_object_mut().unwrap().remove("cents").unwrap();
    world.handle(&event(&[record(1, None, Some(&renamed))])).await.unwrap();
    let with_alias = |policy| {
        let rollup = plain().changed_declaration(policy).build().unwrap();
        Aggregator::decoding(rollup, world.table.clone(), |image: &RawValue| {
            let image = image.get().replace(r#""total""#, r#""cents""#);
            let item: serde_dynamo::Item = serde_json::from_str(&image).unwrap();
            serde_dynamo::from_item(item).map(Some).map_err(|error| rollup::DecodeError::new("item", error))
        })
    };
    let gone = event(&[record(2, Some(&renamed), None)]);
    let mut event_of_child = of_shard("shardId-2", gone.clone());
    event_of_child["Records"][0]["dynamodb"]["SequenceNumber"] = "1".into();
    let world = World { aggregator: with_alias(Policy::Retract), ..world };
    for batch in [&gone, &event_of_child] {
        let refusal = world.refusal(batch).await;
        assert!(matches!(&refusal, CountRefusal::ChangedReader { record, .. } if record.ends_with("#1")), "{refusal}");
    }
    assert_eq!((world.number("Lamp", "sales").await, world.number("Lamp", "revenue").await), (0, 0));
    // The reader that did not change takes nothing back.
    let world = world.redeployed(plain());
    world.handle(&gone).await.unwrap();
    assert_eq!(world.number("Lamp", "sales").await, 0);
}

#[tokio::test]
async fn a_renamed_rollup_does_not_add_to_the_same_statistics() {
    let world = World::deployed(plain()).await;
    world.handle(&event(&[record(1, None, Some(&lamp(1)))])).await.unwrap();
    let world = world.redeployed(of_products("renamed", |sale| sale.product.clone()));
    let refusal = world.refusal(&event(&[record(2, None, Some(&lamp(2)))])).await;
    assert!(matches!(&refusal, CountRefusal::OtherRollup { other, .. } if other == "products"), "{refusal}");
    assert_eq!((world.number("Lamp", "sales").await, world.number("Lamp", "customers").await), (1, 1));
    // Another rollup of the table has other keys.
    let group = Group::new("days").window("day", Window::Day, |sale: &Sale| sale.at).key("DAY", "{day}");
    let world = world.redeployed(Rollup::builder("days").measure("sales", count()).group(group));
    world.handle(&event(&[record(2, None, Some(&lamp(2)))])).await.unwrap();
}

#[tokio::test]
async fn the_stream_of_a_replica_is_refused() {
    let of_region = |region: &str, label: &str, record: Value| {
        let mut event = event(&[record]);
        let arn = format!("arn:aws:dynamodb:{region}:123456789012:table/shop/stream/{label}");
        event["eventSourceARN"] = arn.into();
        event
    };
    let home = |label, record| of_region("us-east-1", label, record);
    let world = World::deployed(plain()).await;
    world.handle(&home("2025-10-01", record(1, None, Some(&lamp(1))))).await.unwrap();
    let replica = of_region("eu-central-1", "2025-10-01", record(1, None, Some(&lamp(1))));
    let refusal = world.refusal(&replica).await;
    assert!(refusal.to_string().contains("count a global table in one region"), "{refusal}");
    // A stream that was switched off and on has other changes.
    world.handle(&home("2025-11-01", record(1, None, Some(&lamp(2))))).await.unwrap();
    assert_eq!(world.number("Lamp", "sales").await, 2);
    let arn = "arn:aws:dynamodb:eu-central-1:123456789012:table/shop";
    let aggregator = Aggregator::new(plain().build().unwrap(), world.table.clone()).also_counting([arn]);
    let world = World { aggregator, ..world };
    world.handle(&replica).await.unwrap();
    assert_eq!(world.number("Lamp", "sales").await, 3);
}
