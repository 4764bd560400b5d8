//! Items whose keys are not two strings: counted into another table, recounted and redriven.

use aws_sdk_dynamodb::types::AttributeValue;
use aws_sdk_dynamodbstreams::types::{Record, ShardIteratorType};
use rollup::{Ending, Lowering, RecountError, RecountRefusal, Recounter, RedriveOutcome, Scope};

use super::*;

/// The types of a partition key and a sort key.
type KeyTypes = (ScalarAttributeType, Option<ScalarAttributeType>);

fn key_types() -> [KeyTypes; 5] {
    use ScalarAttributeType::{B, N, S};
    [(S, Some(N)), (S, Some(B)), (S, None), (N, Some(S)), (B, Some(N))]
}

/// A table of items, and an aggregator that counts them into another table.
struct Readings {
    world: World,
    name: String,
    streams: aws_sdk_dynamodbstreams::Client,
    types: KeyTypes,
}

impl Readings {
    async fn new(types: KeyTypes, policy: Policy) -> Self {
        let world = World::with(Layout::Sums, policy).await;
        let attribute = |name: &str, of: &ScalarAttributeType| {
            AttributeDefinition::builder().attribute_name(name).attribute_type(of.clone()).build().unwrap()
        };
        let key =
            |name: &str, of: KeyType| KeySchemaElement::builder().attribute_name(name).key_type(of).build().unwrap();
        let stream = StreamSpecification::builder().stream_enabled(true);
        let stream = stream.stream_view_type(StreamViewType::NewAndOldImages).build().unwrap();
        let create = world.client.create_table().table_name("readings").billing_mode(BillingMode::PayPerRequest);
        let mut create = create.stream_specification(stream).key_schema(key("device", KeyType::Hash));
        create = create.attribute_definitions(attribute("device", &types.0));
        if let Some(of) = &types.1 {
            create = create.attribute_definitions(attribute("second", of)).key_schema(key("second", KeyType::Range));
        }
        create.send().await.unwrap();
        let streams = aws_sdk_dynamodbstreams::Config::builder()
            .behavior_version(BehaviorVersion::latest())
            .region(Region::from_static("us-east-1"))
            .credentials_provider(Credentials::new("test", "test", None, None, "test"))
            .endpoint_url(world.engine.url())
            .http_client(Builder::new().build_http());
        let streams = aws_sdk_dynamodbstreams::Client::from_conf(streams.build());
        Self { world, name: "readings".to_owned(), streams, types }
    }

    fn value(of: &ScalarAttributeType, number: u8) -> AttributeValue {
        match of {
            ScalarAttributeType::N => AttributeValue::N(number.to_string()),
            ScalarAttributeType::B => AttributeValue::B(vec![number].into()),
            _ => AttributeValue::S(format!("device-{number}")),
        }
    }

    /// Puts a reading. With a sort key, all readings are of one device.
    async fn put(&self, number: u8, cents: AttributeValue) {
        let mut put = self.world.client.put_item().table_name(&self.name);
        let partition = if self.types.1.is_some() { 1 } else { number };
        put = put.item("device", Self::value(&self.types.0, partition));
        // Without a sort key, an attribute of its name does not tell items apart.
        put = put.item("second", self.types.1.as_ref().map_or(cents.clone(), |of| Self::value(of, number)));
        for (name, text) in [("at", "2025-10-02T10:30:00Z"), ("product", "lamp"), ("customer", "ann")] {
            put = put.item(name, AttributeValue::S(text.to_owned()));
        }
        put.item("cents", cents).send().await.unwrap();
    }

    /// Delivers the stream's records.
    async fn deliver(&self) {
        let table = self.world.client.describe_table().table_name(&self.name).send().await.unwrap().table.unwrap();
        let arn = table.latest_stream_arn.unwrap();
        let stream = self.streams.describe_stream().stream_arn(&arn).send().await.unwrap().stream_description.unwrap();
        let shard = stream.shards.unwrap().remove(0).shard_id.unwrap();
        let from = self.streams.get_shard_iterator().stream_arn(&arn).shard_id(&shard);
        let from = from.shard_iterator_type(ShardIteratorType::TrimHorizon).send().await.unwrap().shard_iterator;
        let page = self.streams.get_records().set_shard_iterator(from).send().await.unwrap().records.unwrap();
        let mut event = event(&page.into_iter().map(json_of).collect::<Vec<_>>());
        (event["shardId"], event["eventSourceARN"]) = (shard.into(), arn.into());
        self.world.handle(&event).await.unwrap();
    }

    fn items(&self) -> Table {
        Table::of_items(self.world.client.clone(), &self.name, "device")
    }

    fn recounter(&self) -> Recounter<'_, Sale> {
        Recounter::new(&self.world.aggregator, self.items(), self.streams.clone())
    }
}

/// A record of the streams API as Lambda delivers it.
fn json_of(record: Record) -> Value {
    use aws_sdk_dynamodbstreams::types::AttributeValue as Value;
    let change = record.dynamodb.unwrap();
    let item = |item: Option<std::collections::HashMap<String, Value>>| {
        let value = |value: Value| match value {
            Value::S(text) => json!({"S": text}),
            Value::N(number) => json!({"N": number}),
            Value::B(bytes) => serde_json::to_value(serde_dynamo::AttributeValue::B(bytes.into_inner())).unwrap(),
            other => panic!("{other:?}"),
        };
        item.map(|item| item.into_iter().map(|(name, of)| (name, value(of))).collect::<serde_json::Map<_, _>>())
    };
    json!({"eventName": record.event_name.unwrap().as_str(), "dynamodb": {
        "SequenceNumber": change.sequence_number, "Keys": item(change.keys), "NewImage": item(change.new_image),
        "OldImage": item(change.old_image),
    }})
}

fn number(number: i64) -> AttributeValue {
    AttributeValue::N(number.to_string())
}

#[tokio::test]
async fn items_with_keys_of_any_type_are_counted_and_recounted() {
    for types in key_types() {
        let readings = Readings::new(types.clone(), Policy::Retract).await;
        for reading in 1..=3 {
            readings.put(reading, number(100)).await;
        }
        readings.put(3, number(50)).await;
        readings.deliver().await;
        // Pending: an item is known by its key before and after it is counted.
        readings.put(2, number(70)).await;
        let measured = readings.recounter().check(&Scope::All, |_| {}).await.unwrap();
        assert!(measured.is_right() && measured.items == 3, "{types:?}: {measured:?}");
        readings.deliver().await;
        assert_eq!(readings.world.sold().await, 3, "{types:?}");

        let total = readings.world.client.update_item().table_name("shop").update_expression("ADD sales :n");
        let text = |text: &str| AttributeValue::S(text.to_owned());
        let total = total.key("pk", text("STAT#TOTAL")).key("sk", text("-"));
        total.expression_attribute_values(":n", number(-2)).send().await.unwrap();
        let measured = readings.recounter().check(&Scope::All, |_| {}).await.unwrap();
        readings.recounter().repair(&measured, Lowering::Nothing, Timestamp::now(), |_| {}).await.unwrap();
        assert_eq!(readings.world.sold().await, 3, "{types:?}");
    }
}

#[tokio::test]
async fn a_quarantined_item_with_keys_of_any_type_is_redriven() {
    for types in key_types() {
        let readings = Readings::new(types.clone(), Policy::Keep).await;
        readings.put(1, AttributeValue::S("one".to_owned())).await;
        readings.deliver().await;
        readings.put(1, number(100)).await;
        let [record] = readings.world.aggregator.quarantined().await.unwrap().try_into().unwrap();
        let redriven = readings.world.aggregator.redrive(&record, &readings.items(), Timestamp::now()).await.unwrap();
        assert_eq!(redriven, RedriveOutcome::Settled(Ending::Counted), "{types:?}");
        assert_eq!(readings.world.sold().await, 1, "{types:?}");
    }
}

#[tokio::test]
async fn a_recount_with_other_names_of_keys_is_refused() {
    let readings = Readings::new(key_types()[0].clone(), Policy::Retract).await;
    let table = |partition: &str, sort: &str| Table::new(readings.world.client.clone(), "readings", partition, sort);
    for items in [table("sensor", "second"), table("device", "minute")] {
        let recounter = Recounter::new(&readings.world.aggregator, items, readings.streams.clone());
        let checked = recounter.check(&Scope::All, |_| {}).await;
        assert!(matches!(checked, Err(RecountError::Refused(RecountRefusal::OtherKeys { .. }))), "{checked:?}");
    }
}

#[tokio::test]
async fn statistics_table_without_string_keys_is_refused_at_start() {
    let readings = Readings::new(key_types()[0].clone(), Policy::Retract).await;
    let table = Table::new(readings.world.client.clone(), "readings", "device", "second");
    let aggregator = Aggregator::new(sales(Policy::Retract), table);
    let refusal = aggregator.connect().await.unwrap_err().to_string();
    assert!(refusal.contains("statistics need a table with the string keys `device` and `second`"), "{refusal}");
}
