//! Events as Lambda delivers them.

use serde_json::{Value, json};

/// The day on which all clicks of the bench happen.
pub(crate) const DAY: &str = "2025-10-02";

/// The stream of batches whose table has none of its own.
pub(crate) const STREAM: &str =
    "arn:aws:dynamodb:us-east-1:000000000000:table/qit-db-local/stream/2025-10-01T00:00:00.000";

/// A batch of one shard of a stream: one record for each of `users`, in order, numbered from
/// `first` on.
pub(crate) fn batch(stream: &str, shard: &str, first: u64, users: impl IntoIterator<Item = String>) -> String {
    let records: Vec<Value> = (first..).zip(users).map(|(number, user)| record(stream, number, &user)).collect();
    json!({
        "Records": records,
        "shardId": shard,
        "eventSourceARN": stream,
        "window": {"start": "2025-10-02T10:30:00Z", "end": "2025-10-02T10:31:00Z"},
        "state": {},
        "isFinalInvokeForWindow": false,
        "isWindowTerminatedEarly": false,
    })
    .to_string()
}

fn record(stream: &str, number: u64, user: &str) -> Value {
    let millisecond = number % 1_000;
    let time = format!("{DAY}T10:{:02}:{:02}.{millisecond:03}Z", number / 60_000 % 60, number / 1_000 % 60);
    json!({
        "eventID": format!("{number:032x}"),
        "eventName": "INSERT",
        "eventVersion": "1.1",
        "eventSource": "aws:dynamodb",
        "awsRegion": "us-east-1",
        "dynamodb": {
            "ApproximateCreationDateTime": 1_759_401_000.0,
            "Keys": {"userId": {"S": user}, "createDateTime": {"S": time}},
            "NewImage": {
                "userId": {"S": user},
                "createDateTime": {"S": time},
                "clickCount": {"N": "1"},
                "clickId": {"S": format!("0199a4a0-9640-7000-8000-{number:012x}")},
                "dateKey": {"S": format!("DATE#{DAY}")},
                "recordSort": {"S": format!("CLICK#{time}#{user}")},
                // Ten targets, each of other users.
                "target": {"S": format!("/page{}", &user[user.len() - 1..])},
            },
            "SequenceNumber": format!("{:027}", 100_000_000_000_000_000_000_u128 + u128::from(number)),
            "SizeBytes": 260,
            "StreamViewType": "NEW_AND_OLD_IMAGES",
        },
        "eventSourceARN": stream,
    })
}

/// An HTTP request in payload format 2.0.
pub(crate) fn request(route_key: &str, path: &str, parameters: Value, body: Option<String>) -> String {
    let (method, _) = route_key.split_once(' ').unwrap_or((route_key, ""));
    json!({
        "version": "2.0",
        "routeKey": route_key,
        "rawPath": path,
        "rawQueryString": "",
        "headers": {
            "accept": "application/json", "content-type": "application/json", "host": "api.example.com",
            "x-forwarded-for": "203.0.113.7", "x-forwarded-proto": "https",
        },
        "pathParameters": parameters,
        "requestContext": {
            "accountId": "000000000000", "apiId": "local", "domainName": "api.example.com", "domainPrefix": "api",
            "http": {"method": method, "path": path, "protocol": "HTTP/1.1", "sourceIp": "203.0.113.7", "userAgent": "bench"},
            "requestId": "JKJaXmPLvHcESHA=", "routeKey": route_key, "stage": "$default",
            "time": "02/Oct/2025:10:30:00 +0000", "timeEpoch": 1_759_401_000_000_u64,
        },
        "body": body,
        "isBase64Encoded": false,
    })
    .to_string()
}
