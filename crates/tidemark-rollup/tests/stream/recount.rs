//! When a recount does not judge, and how much a repair may lower.

use aws_sdk_dynamodb::types::AttributeValue;
use aws_sdk_dynamodbstreams::types::ShardIteratorType;
use rollup::{Handled, Lowering, Measurement, RecountError, RecountRefusal, Recounter, RepairError, Scope};

use super::*;

/// The table and its stream, as a client of a region sees them.
struct View {
    table: Table,
    client: Client,
    streams: aws_sdk_dynamodbstreams::Client,
}

impl View {
    fn of(world: &World, region: &'static str) -> Self {
        let streams = aws_sdk_dynamodbstreams::Config::builder()
            .behavior_version(BehaviorVersion::latest())
            .region(Region::from_static(region))
            .credentials_provider(Credentials::new("test", "test", None, None, "test"))
            .endpoint_url(world.engine.url())
            .http_client(Builder::new().build_http());
        let client = client(&world.engine, region);
        let table = Table::new(client.clone(), "shop", "pk", "sk");
        Self { table, client, streams: aws_sdk_dynamodbstreams::Client::from_conf(streams.build()) }
    }

    async fn check(&self, scope: &Scope) -> Result<Measurement, RecountError> {
        let aggregator = Aggregator::new(sales(Policy::Retract), self.table.clone());
        Recounter::new(&aggregator, self.table.clone(), self.streams.clone()).check(scope, |_| {}).await
    }

    async fn repair(&self, measured: &Measurement, lowering: Lowering) -> Result<usize, RepairError> {
        let aggregator = Aggregator::new(sales(Policy::Retract), self.table.clone());
        let recounter = Recounter::new(&aggregator, self.table.clone(), self.streams.clone());
        Ok(recounter.repair(measured, lowering, Timestamp::now(), |_| {}).await?.corrections.len())
    }

    async fn refusal(&self, scope: &Scope) -> RecountRefusal {
        match self.check(scope).await {
            Err(RecountError::Refused(refusal)) => refusal,
            other => panic!("not refused: {other:?}"),
        }
    }

    /// Puts sales of lamps to ann.
    async fn put(&self, sales: std::ops::Range<u32>) {
        for id in sales {
            let mut put = self.client.put_item().table_name("shop");
            for (name, value) in image(id, "2025-10-02", "lamp", "ann", 100).as_object().unwrap() {
                let text = |kind: &str| value[kind].as_str().map(str::to_owned);
                let value = text("S").map(AttributeValue::S).or(text("N").map(AttributeValue::N));
                put = put.item(name, value.unwrap());
            }
            put.send().await.unwrap();
        }
    }

    async fn stream_arn(&self) -> String {
        let table = self.client.describe_table().table_name("shop").send().await.unwrap().table.unwrap();
        table.latest_stream_arn.unwrap()
    }

    /// Delivers the records of the first sales, each of which was put once. The total has then this
    /// number of sales.
    async fn count(&self, world: &World, sales: u32, total: i128) {
        world.handle(&self.event(0..sales).await).await.unwrap();
        assert_eq!(world.sold().await, total);
    }

    /// The event of some sales, each of which was put once.
    async fn event(&self, sales: std::ops::Range<u32>) -> Value {
        let arn = self.stream_arn().await;
        let stream = self.streams.describe_stream().stream_arn(&arn).send().await.unwrap().stream_description.unwrap();
        let shard = stream.shards.unwrap().remove(0).shard_id.unwrap();
        let from = self.streams.get_shard_iterator().stream_arn(&arn).shard_id(&shard);
        let from = from.shard_iterator_type(ShardIteratorType::TrimHorizon).send().await.unwrap().shard_iterator;
        let page = self.streams.get_records().set_shard_iterator(from).send().await.unwrap().records.unwrap();
        let records = (0..sales.end).zip(page).skip(sales.start as usize).map(|(id, delivered)| {
            let mut record = record(0, None, Some(&image(id, "2025-10-02", "lamp", "ann", 100)));
            record["dynamodb"]["SequenceNumber"] = delivered.dynamodb.unwrap().sequence_number.unwrap().into();
            record
        });
        let mut event = event(&records.collect::<Vec<_>>());
        (event["shardId"], event["eventSourceARN"]) = (shard.into(), arn.into());
        event
    }

    async fn tamper(&self, sort: &str, partition: &str, added: i32) {
        let key = |text: &str| AttributeValue::S(text.to_owned());
        let update = self.client.update_item().table_name("shop").key("pk", key(partition)).key("sk", key(sort));
        let update = update.update_expression("ADD sales :n");
        update.expression_attribute_values(":n", AttributeValue::N(added.to_string())).send().await.unwrap();
    }
}

#[tokio::test]
async fn a_recount_in_another_region_is_refused() {
    let world = World::new(Layout::Sums).await;
    let (home, abroad) = (View::of(&world, "us-east-1"), View::of(&world, "eu-central-1"));
    home.put(0..3).await;
    // Nothing is counted yet, so nothing can become wrong.
    assert!(abroad.check(&Scope::All).await.unwrap().is_right());
    home.count(&world, 3, 3).await;
    assert!(home.check(&Scope::All).await.unwrap().is_right());
    let RecountRefusal::OtherStream { stream_arn, counted } = abroad.refusal(&Scope::All).await else { panic!() };
    assert!(stream_arn.contains("eu-central-1") && counted.len() == 1 && counted[0].contains("us-east-1"));

    let query = abroad.client.query().table_name("shop").key_condition_expression("pk = :pk");
    let queries = vec![query.expression_attribute_values(":pk", AttributeValue::S("SALE#1".to_owned()))];
    let stats = [("STAT#TOTAL".to_owned(), "-".to_owned())].into();
    let refusal = abroad.refusal(&Scope::Part { queries, stats }).await;
    assert!(matches!(refusal, RecountRefusal::OtherStream { .. }), "{refusal}");
}

#[tokio::test]
async fn a_recount_that_finds_no_counted_item_is_refused() {
    let world = World::new(Layout::Sums).await;
    let view = View::of(&world, "us-east-1");
    assert!(view.check(&Scope::All).await.unwrap().is_right());
    // A sale is counted that is not in the table.
    let mut sold = event(&[record(1, None, Some(&image(1, "2025-10-02", "lamp", "ann", 100)))]);
    sold["eventSourceARN"] = view.stream_arn().await.into();
    world.handle(&sold).await.unwrap();
    let refusal = view.refusal(&Scope::All).await;
    assert!(matches!(refusal, RecountRefusal::NoItems { statistics: 10, .. }), "{refusal:?}");
}

#[tokio::test]
async fn a_recount_whose_items_mostly_wait_is_refused() {
    let world = World::new(Layout::Sums).await;
    let view = View::of(&world, "us-east-1");
    view.put(0..5).await;
    view.count(&world, 2, 2).await;
    assert!(view.check(&Scope::All).await.unwrap().is_right());
    view.tamper("-", "STAT#TOTAL", 7).await;
    assert_eq!(view.refusal(&Scope::All).await, RecountRefusal::MostlyPending { pending: 3, items: 5 });
    // To add a missing number is safe.
    view.tamper("-", "STAT#TOTAL", -8).await;
    assert!(!view.check(&Scope::All).await.unwrap().is_right());
    view.tamper("-", "STAT#TOTAL", 8).await;
    view.count(&world, 5, 5 + 7).await;
    assert_eq!(view.check(&Scope::All).await.unwrap().too_high(), 1);
}

#[tokio::test]
async fn repair_lowers_more_than_a_small_share_on_request() {
    let world = World::new(Layout::Sums).await;
    let view = View::of(&world, "us-east-1");
    view.put(0..3).await;
    view.count(&world, 3, 3).await;
    view.tamper("-", "STAT#TOTAL", 7).await;
    view.tamper("2025-10-02", "STAT#lamp", -1).await;
    let measured = view.check(&Scope::All).await.unwrap();
    assert_eq!((measured.too_high(), measured.numbers), (1, 10));
    for lowering in [Lowering::SmallShare, Lowering::UpTo(0)] {
        let refused = view.repair(&measured, lowering).await;
        assert!(matches!(refused, Err(RepairError::LowersTooMuch { lowered: 1, numbers: 10 })), "{refused:?}");
        assert_eq!(world.sold().await, 10);
    }
    assert_eq!(view.repair(&measured, Lowering::Nothing).await.unwrap(), 1);
    let measured = view.check(&Scope::All).await.unwrap();
    assert_eq!(view.repair(&measured, Lowering::UpTo(1)).await.unwrap(), 1);
    assert!(view.check(&Scope::All).await.unwrap().is_right());
    assert_eq!(world.sold().await, 3);
}

#[tokio::test]
async fn a_repair_accepts_a_changed_declaration() {
    let world = World::new(Layout::Sums).await;
    let view = View::of(&world, "us-east-1");
    view.put(0..3).await;
    view.count(&world, 2, 2).await;
    let changed = |policy| {
        let total = Group::new("total").key("STAT#TOTAL", "-");
        let of_customer = |sale: &Sale| Some(sale.customer.to_uppercase());
        let customers = Group::new("customers").attribute("customer", of_customer).key("STAT#{customer}", "CUSTOMER");
        let rollup = Rollup::builder("sales").measure("sales", count()).group(total).group(customers);
        let rollup = rollup.on_ttl(Policy::Keep).version(1).changed_declaration(policy).build().unwrap();
        Aggregator::new(rollup, view.table.clone())
    };
    let earlier = world;
    let world = changed(Policy::Retract);
    let recounter = Recounter::new(&world, view.table.clone(), view.streams.clone());
    let third = view.event(2..3).await;
    assert_eq!(handle(&world, &third).await.unwrap_err().code(), "refused");

    // A number that stays too high would stay wrong.
    view.tamper("-", "STAT#TOTAL", 1).await;
    let measured = recounter.check(&Scope::All, |_| {}).await.unwrap();
    assert!(measured.is_new_declaration() && !measured.is_right());
    let report = recounter.repair(&measured, Lowering::Nothing, Timestamp::now(), |_| {}).await.unwrap();
    assert!(!report.accepted);
    assert_eq!(handle(&world, &third).await.unwrap_err().code(), "refused");

    // The earlier version counts once more, after the measurement.
    let measured = recounter.check(&Scope::All, |_| {}).await.unwrap();
    earlier.handle(&third).await.unwrap();
    let repaired = recounter.repair(&measured, Lowering::UpTo(1), Timestamp::now(), |_| {}).await;
    assert!(matches!(repaired, Err(RepairError::StillCounted)), "{repaired:?}");

    let measured = recounter.check(&Scope::All, |_| {}).await.unwrap();
    let report = recounter.repair(&measured, Lowering::UpTo(1), Timestamp::now(), |_| {}).await.unwrap();
    assert!(report.accepted);
    let measured = recounter.check(&Scope::All, |_| {}).await.unwrap();
    assert!(measured.is_right() && !measured.is_new_declaration(), "{measured:?}");
    assert_eq!(earlier.handle(&event_after(&third)).await.unwrap_err().code(), "refused");
    handle(&world, &event_after(&third)).await.unwrap();
    let customer = world.rollup().query("customers").with("customer", "ANN");
    assert_eq!((earlier.sold().await, customer.one(world.table()).await.unwrap().number("sales").unwrap()), (4, 4));
}

async fn handle(aggregator: &Aggregator<Sale>, event: &Value) -> Result<Handled, AggregateError> {
    let event = RawValue::from_string(event.to_string()).unwrap();
    aggregator.handle(&event, SystemTime::now() + Duration::from_secs(30)).await
}

/// An event with a record of a new sale after those of another event.
fn event_after(event: &Value) -> Value {
    let mut event = event.clone();
    let number: u128 = event["Records"][0]["dynamodb"]["SequenceNumber"].as_str().unwrap().parse().unwrap();
    let mut record = record(0, None, Some(&image(9, "2025-10-02", "lamp", "ann", 100)));
    record["dynamodb"]["SequenceNumber"] = (number + 1).to_string().into();
    event["Records"] = json!([record]);
    event
}

#[cfg(feature = "cli")]
#[tokio::test]
async fn the_operators_command_checks_repairs_and_explains() {
    use rollup::cli::{Outcome, run_with};

    let world = World::new(Layout::Sums).await;
    let view = View::of(&world, "us-east-1");
    let run = async |arguments: &[&str]| {
        let arguments = [&["sales-admin"], arguments].concat();
        let (streams, mut out) = (view.streams.config().clone(), Vec::new());
        let outcome = run_with(arguments, &world.aggregator, &view.table, streams, &mut out).await;
        outcome.map(|outcome| (outcome, String::from_utf8(out).unwrap())).map_err(|error| error.code())
    };
    assert_eq!(run(&["explain"]).await, Err("no-items"));
    view.put(0..3).await;
    view.count(&world, 3, 3).await;
    assert_eq!(run(&["check"]).await, Err("not-confirmed"));
    assert_eq!(run(&["check", "--yes"]).await.unwrap().0, Outcome::Success);
    view.tamper("-", "STAT#TOTAL", -1).await;
    let (outcome, told) = run(&["check", "--yes"]).await.unwrap();
    assert!(outcome == Outcome::Differences && told.contains("sales 2 stored, 3 recounted"), "{told}");
    assert_eq!(run(&["repair", "--yes", "--json"]).await.unwrap().0, Outcome::Success);
    assert_eq!(world.sold().await, 3);
    // What is too high is lowered only on request, and not much of it without a number.
    view.tamper("-", "STAT#TOTAL", 1).await;
    for (flags, outcome) in [
        (&["--yes"][..], Outcome::Differences),
        (&["--yes", "--subtract"], Outcome::Differences),
        (&["--yes", "--subtract=1"], Outcome::Success),
    ] {
        assert_eq!(run(&[&["repair"], flags].concat()).await.unwrap().0, outcome, "{flags:?}");
    }
    let (outcome, told) = run(&["explain"]).await.unwrap();
    assert!(outcome == Outcome::Success && told.starts_with("sums     batches of    1  3 records: "), "{told}");
    assert_eq!(run(&["quarantine", "list", "--json"]).await.unwrap().1, "[]\n");
    assert_eq!(run(&["quarantine", "dismiss", "nothing"]).await, Err("not-in-quarantine"));
    assert_eq!(run(&["repair", "--subtract=all"]).await, Err("usage"));
}
