//! The cost of a record in the example `voice-of-customer`: units of its aggregator, and of the
//! handler that is usually written instead.

use std::sync::Arc;
use std::time::{Duration, SystemTime};

use anyhow::{Result, ensure};
use aws_sdk_dynamodb::Client;
use aws_sdk_dynamodb::types::{AttributeValue, TransactWriteItem, Update};
use fastrand::Rng;
use jiff::Timestamp;
use rollup::{Aggregator, Layout};
use serde_json::value::to_raw_value;
use serde_json::{Value, json};
use sim::feedback_of;
use tidemark_engine::{Engine, Options};
use voice_of_customer::feedback;

use crate::report::{Better, Row};
use crate::stack;
use crate::wire::{self, Meter};

const SECTION: &str = "Cost on DynamoDB of the example voice-of-customer, per record";
const TABLE: &str = "feedback";
const TIME: Duration = Duration::from_secs(60);

/// The labels of a record, each with a counter for each of its values.
const LABELS: [&str; 7] = ["sentiment", "category", "product", "source", "persona", "urgency", "problem"];

/// The records of one window.
struct Shape {
    what: &'static str,
    records: usize,
    batches: usize,
    customers: u16,
}

const SHAPES: [Shape; 3] = [
    Shape { what: "a window with 100 records of 25 customers", records: 100, batches: 1, customers: 25 },
    Shape { what: "a window with 5 batches of 100 records, 60 customers", records: 100, batches: 5, customers: 60 },
    Shape { what: "a window with 1,000 records of 300 customers", records: 1_000, batches: 1, customers: 300 },
];

/// Units per record of each shape.
pub(crate) async fn rows() -> Result<Vec<Row>> {
    let mut rows = Vec::new();
    for shape in &SHAPES {
        let (own, usual) = (consumed(shape, true).await?, consumed(shape, false).await?);
        let row = Row::count(SECTION, format!("{}: writes", shape.what), "WRU", own);
        rows.push(row.beside(Better::Lower, "usual handler", usual).at_most(1.0));
    }
    Ok(rows)
}

/// Write units of one record. The customers are known: a window before has had each of them.
async fn consumed(shape: &Shape, is_own: bool) -> Result<f64> {
    let engine = Engine::start(Options::default()).await?;
    let mut table = stack::table("GameTable")?;
    TABLE.clone_into(&mut table.name);
    table.create_table = json!({
        "TableName": TABLE,
        "BillingMode": "PAY_PER_REQUEST",
        "AttributeDefinitions": [
            {"AttributeName": "pk", "AttributeType": "S"}, {"AttributeName": "sk", "AttributeType": "S"},
        ],
        "KeySchema": [{"AttributeName": "pk", "KeyType": "HASH"}, {"AttributeName": "sk", "KeyType": "RANGE"}],
    });
    tidemark_local::tables::ensure(&stack::client(&engine), &table).await?;
    let meter = Arc::new(Meter::new(engine.url()));
    let client = wire::client(meter.clone());
    let table = rollup::Table::new(client.clone(), TABLE, "pk", "sk");
    let aggregator = Aggregator::new(feedback()?, table).layout(Layout::Buffers);
    let count = async |records: &[Value], is_final: bool| -> Result<()> {
        if !is_own {
            return usual_handler(&client, records).await;
        }
        let event = json!({
            "Records": records, "shardId": "shardId-000", "eventSourceARN": crate::events::STREAM, "state": {},
            "isFinalInvokeForWindow": is_final,
        });
        let deadline = SystemTime::now() + TIME;
        aggregator.handle_at(&to_raw_value(&event)?, deadline, Timestamp::now()).await?;
        Ok(())
    };
    let mut rng = Rng::with_seed(1);
    let first: Vec<_> = (0..shape.customers).map(|n| record(&mut rng, u64::from(n), n)).collect();
    count(&first, false).await?;
    count(&[], true).await?;
    meter.take();
    for batch in 0..shape.batches {
        let numbers = (0..shape.records).map(|n| (1_000_000 + batch * shape.records + n) as u64);
        let records = numbers.map(|number| {
            let customer = rng.u16(..shape.customers);
            record(&mut rng, number, customer)
        });
        count(&records.collect::<Vec<_>>(), false).await?;
    }
    count(&[], true).await?;
    let consumed = meter.take().write_units;
    let all = usize::from(shape.customers) + shape.batches * shape.records;
    let stat = client.get_item().table_name(TABLE).key("pk", s("STAT#DAILY")).key("sk", s("2025-10-02"));
    let counted = stat.send().await?.item.and_then(|item| item.get("items")?.as_n().ok()?.parse::<usize>().ok());
    ensure!(counted == Some(all), "{counted:?} of {all} records were counted in {}", shape.what);
    engine.shutdown().await;
    Ok(consumed / (shape.batches * shape.records) as f64)
}

fn record(rng: &mut Rng, number: u64, customer: u16) -> Value {
    let mut item = feedback_of(rng, customer);
    item["givenAt"] = json!("2025-10-02T10:30:00Z");
    let attribute = |value: &Value| match value {
        Value::Number(number) => json!({ "N": number.to_string() }),
        value => json!({ "S": value }),
    };
    let image: serde_json::Map<_, _> =
        item.as_object().into_iter().flatten().map(|(name, value)| (name.clone(), attribute(value))).collect();
    let keys = json!({"pk": {"S": format!("FEEDBACK#{number}")}, "sk": {"S": "-"}});
    let change = json!({"SequenceNumber": format!("{:021}", number + 1), "Keys": keys, "NewImage": image});
    json!({"eventName": "INSERT", "dynamodb": change})
}

/// One transaction for each record: the day, and a counter for each label.
async fn usual_handler(client: &Client, records: &[Value]) -> Result<()> {
    for record in records {
        let image = &record["dynamodb"]["NewImage"];
        let counters = LABELS.iter().map(|label| (format!("STAT#{label}#2025-10-02"), &image[*label]["S"]));
        let counters = counters.map(|(partition, value)| (partition, value.as_str().unwrap_or_default()));
        let updates = [("STAT#DAILY".to_owned(), "2025-10-02")].into_iter().chain(counters);
        let updates = updates.map(|(partition, sort)| {
            let update = Update::builder().table_name(TABLE).key("pk", s(&partition)).key("sk", s(sort));
            let update = update.update_expression("ADD #items :one").expression_attribute_names("#items", "items");
            let update = update.expression_attribute_values(":one", AttributeValue::N("1".to_owned())).build()?;
            Ok(TransactWriteItem::builder().update(update).build())
        });
        let updates = updates.collect::<Result<Vec<_>>>()?;
        client.transact_write_items().set_transact_items(Some(updates)).send().await?;
    }
    Ok(())
}

fn s(text: &str) -> AttributeValue {
    AttributeValue::S(text.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_record_costs_at_most_one_write_unit() {
        for shape in &SHAPES {
            let units = consumed(shape, true).await.expect("a count");
            assert!(units <= 1.0, "{}: {units} WRU per record", shape.what);
        }
    }
}
