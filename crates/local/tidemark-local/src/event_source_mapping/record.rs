//! Converts stream records from the format of the Streams API to that of Lambda's events.
//!
//! Source: <https://docs.aws.amazon.com/lambda/latest/dg/with-ddb.html>.

use std::collections::HashMap;

use aws_sdk_dynamodbstreams::types::{AttributeValue, Record};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::value::RawValue;
use serde_json::{Map, Value, json};

use super::filter::Filters;
use super::source::SourceRecord;

/// A record of a shard, in the shard's order.
#[derive(Debug)]
pub struct StreamRecord {
    /// Its sequence number.
    pub sequence_number: String,
    /// When it was written, milliseconds since the epoch (DynamoDB gives whole seconds).
    pub created_ms: i64,
    /// The function's view of the record; `None` if the mapping's filters drop it.
    pub event: Option<Box<RawValue>>,
}

impl StreamRecord {
    /// A record, if the filters let it pass.
    pub fn new(record: SourceRecord, filters: &Filters) -> Self {
        let SourceRecord { sequence_number, created_ms, event, filtered } = record;
        let passes = filters.pass(filtered.as_ref().unwrap_or(&event));
        let event = passes.then(|| serde_json::value::to_raw_value(&event).ok()).flatten();
        Self { sequence_number, created_ms, event }
    }

    /// The bytes that the record adds to an event.
    pub fn size_bytes(&self) -> usize {
        self.event.as_ref().map_or(0, |event| event.get().len() + 1)
    }
}

/// A record of the table's stream `stream_arn`.
pub fn of_dynamodb(record: &Record, stream_arn: &str) -> SourceRecord {
    let change = record.dynamodb();
    let created_ms = change
        .and_then(|change| change.approximate_creation_date_time())
        .and_then(|created| created.to_millis().ok())
        .unwrap_or_default();
    let sequence_number = change.and_then(|change| change.sequence_number()).unwrap_or_default().to_owned();
    SourceRecord { sequence_number, created_ms, event: to_event(record, stream_arn, created_ms), filtered: None }
}

fn to_event(record: &Record, stream_arn: &str, created_ms: i64) -> Value {
    let mut dynamodb = Map::new();
    if let Some(change) = record.dynamodb() {
        dynamodb.insert("ApproximateCreationDateTime".to_owned(), epoch_s(created_ms));
        for (name, image) in [("Keys", &change.keys), ("NewImage", &change.new_image), ("OldImage", &change.old_image)]
        {
            if let Some(image) = image {
                dynamodb.insert(name.to_owned(), image_json(image));
            }
        }
        dynamodb.insert("SequenceNumber".to_owned(), json!(change.sequence_number));
        dynamodb.insert("SizeBytes".to_owned(), json!(change.size_bytes.unwrap_or_default()));
        let view = change.stream_view_type().map(|view| view.as_str());
        dynamodb.insert("StreamViewType".to_owned(), json!(view));
    }
    let mut event = json!({
        "eventID": record.event_id,
        "eventName": record.event_name().map(|name| name.as_str()),
        "eventVersion": record.event_version.as_deref().unwrap_or("1.1"),
        "eventSource": record.event_source.as_deref().unwrap_or("aws:dynamodb"),
        "awsRegion": record.aws_region,
        "dynamodb": dynamodb,
        "eventSourceARN": stream_arn,
    });
    // Only a deletion by TTL has an identity. Lambda writes its fields in lower case, unlike the
    // Streams API.
    if let (Some(identity), Some(event)) = (record.user_identity(), event.as_object_mut()) {
        let identity = json!({ "type": identity.r#type, "principalId": identity.principal_id });
        event.insert("userIdentity".to_owned(), identity);
    }
    event
}

/// Whole seconds as an integer, as DynamoDB writes them.
fn epoch_s(created_ms: i64) -> Value {
    if created_ms % 1000 == 0 { json!(created_ms / 1000) } else { json!(created_ms as f64 / 1000.0) }
}

fn image_json(image: &HashMap<String, AttributeValue>) -> Value {
    Value::Object(image.iter().map(|(name, value)| (name.clone(), attribute_json(value))).collect())
}

fn attribute_json(value: &AttributeValue) -> Value {
    match value {
        AttributeValue::S(text) => json!({ "S": text }),
        AttributeValue::N(number) => json!({ "N": number }),
        AttributeValue::B(bytes) => json!({ "B": STANDARD.encode(bytes) }),
        AttributeValue::Bool(flag) => json!({ "BOOL": flag }),
        AttributeValue::Null(flag) => json!({ "NULL": flag }),
        AttributeValue::M(map) => json!({ "M": image_json(map) }),
        AttributeValue::L(list) => json!({ "L": list.iter().map(attribute_json).collect::<Vec<_>>() }),
        AttributeValue::Ss(texts) => json!({ "SS": texts }),
        AttributeValue::Ns(numbers) => json!({ "NS": numbers }),
        AttributeValue::Bs(blobs) => {
            json!({ "BS": blobs.iter().map(|bytes| STANDARD.encode(bytes)).collect::<Vec<_>>() })
        }
        // A type that is newer than the SDK cannot be converted.
        _ => Value::Null,
    }
}

#[cfg(test)]
mod tests {
    use aws_sdk_dynamodbstreams::primitives::{Blob, DateTime};
    use aws_sdk_dynamodbstreams::types::{Identity, OperationType, StreamRecord as Change, StreamViewType};

    use super::*;

    fn removed_by_ttl() -> Record {
        let image = AttributeValue::L(vec![AttributeValue::B(Blob::new([1, 2])), AttributeValue::Null(true)]);
        let change = Change::builder()
            .approximate_creation_date_time(DateTime::from_secs(1_759_401_000))
            .keys("userId", AttributeValue::S("user-123".to_owned()))
            .old_image("list", image)
            .sequence_number("111")
            .size_bytes(26)
            .stream_view_type(StreamViewType::NewAndOldImages)
            .build();
        Record::builder()
            .event_id("e1")
            .event_name(OperationType::Remove)
            .event_version("1.1")
            .event_source("aws:dynamodb")
            .aws_region("us-east-1")
            .dynamodb(change)
            .user_identity(Identity::builder().r#type("Service").principal_id("dynamodb.amazonaws.com").build())
            .build()
    }

    #[test]
    fn a_record_has_the_format_of_lambda_events() {
        let record = StreamRecord::new(of_dynamodb(&removed_by_ttl(), "arn:stream"), &Filters::default());
        let event: Value = serde_json::from_str(record.event.expect("it passes").get()).expect("JSON");
        assert_eq!(
            event,
            json!({
                "eventID": "e1",
                "eventName": "REMOVE",
                "eventVersion": "1.1",
                "eventSource": "aws:dynamodb",
                "awsRegion": "us-east-1",
                "dynamodb": {
                    "ApproximateCreationDateTime": 1_759_401_000,
                    "Keys": {"userId": {"S": "user-123"}},
                    "OldImage": {"list": {"L": [{"B": "AQI="}, {"NULL": true}]}},
                    "SequenceNumber": "111",
                    "SizeBytes": 26,
                    "StreamViewType": "NEW_AND_OLD_IMAGES"
                },
                "eventSourceARN": "arn:stream",
                "userIdentity": {"type": "Service", "principalId": "dynamodb.amazonaws.com"}
            })
        );
    }

    #[test]
    fn a_dropped_record_keeps_its_sequence_number() {
        let filters = Filters::compile(&[json!({"eventName": ["INSERT"]})]).expect("valid");
        let record = StreamRecord::new(of_dynamodb(&removed_by_ttl(), "arn:stream"), &filters);
        assert!(record.event.is_none());
        assert_eq!(record.sequence_number, "111");
        assert_eq!(record.size_bytes(), 0);
    }
}
