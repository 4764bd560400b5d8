//! A Lambda function for tests: its event tells it what to do.
//!
//! It records each event with records, each request for a decision and each order to wait, as one
//! line of the file `RECORDING`. A record whose new image or body has `poison` makes the invocation
//! fail; a record with `stumble` is reported as a failure.

use std::io::Write as _;
use std::path::PathBuf;
use std::time::Duration;

use lambda_runtime::{Error, LambdaEvent, service_fn};
use serde_json::{Map, Value, json};

#[tokio::main]
async fn main() -> Result<(), Error> {
    println!("test_function is starting");
    if std::env::var("INIT").as_deref() == Ok("exit") {
        eprintln!("test_function cannot start: INIT says so");
        std::process::exit(3);
    }
    lambda_runtime::run(service_fn(handle)).await
}

async fn handle(event: LambdaEvent<Value>) -> Result<Value, Error> {
    let (event, context) = event.into_parts();
    // `detail-type` is a field of events from a bus.
    if event.get("Records").is_some() || event.get("detail-type").is_some() {
        return stream(&event);
    }
    if let Some("TOKEN" | "REQUEST") = event.get("type").and_then(Value::as_str) {
        return authorize(&event);
    }
    let places = ["/do", "/queryStringParameters/do", "/multiValueQueryStringParameters/do/0"];
    match places.iter().find_map(|place| event.pointer(place)?.as_str()) {
        Some("record") => stream(&event),
        Some("print") => {
            println!("{}", event.get("text").and_then(Value::as_str).unwrap_or_default());
            Ok(event)
        }
        Some("fail") => Err("test_function was told to fail".into()),
        Some("spawn") => {
            tokio::process::Command::new("sleep").arg("1000").spawn()?;
            Ok(event)
        }
        Some("crash") => std::process::exit(7),
        Some("sleep") => {
            let ms = event.get("ms").and_then(Value::as_u64).unwrap_or(60_000);
            tokio::time::sleep(Duration::from_millis(ms)).await;
            Ok(json!("slept"))
        }
        Some("wait") => {
            record(&event)?;
            while !gate().exists() {
                tokio::time::sleep(Duration::from_millis(10)).await;
            }
            Ok(json!("waited"))
        }
        Some("large") => Ok(json!("x".repeat(7 * 1024 * 1024))),
        Some("context") => Ok(json!({
            "functionArn": context.invoked_function_arn,
            "memory": std::env::var("AWS_LAMBDA_FUNCTION_MEMORY_SIZE").ok(),
            "greeting": std::env::var("GREETING").ok(),
            "dynamodb": std::env::var("AWS_ENDPOINT_URL_DYNAMODB").ok(),
            "pid": std::process::id(),
            "timeLeft": context.deadline > 0,
        })),
        // The event as the body, so that REST APIs show it too.
        Some("show") => Ok(json!({ "statusCode": 200, "body": event.to_string() })),
        // The body, read as JSON, or as text that is no JSON.
        Some("return") => {
            let body = event.get("body").and_then(Value::as_str).unwrap_or_default();
            Ok(serde_json::from_str(body).unwrap_or_else(|_| body.into()))
        }
        Some("answer") => {
            Ok(json!({ "statusCode": 418, "headers": { "x-test_function": "yes" }, "body": "short and stout" }))
        }
        _ => Ok(event),
    }
}

/// A file beside the recording, which the test creates.
fn gate() -> PathBuf {
    PathBuf::from(std::env::var_os("RECORDING").unwrap_or_default()).with_extension("gate")
}

/// Decides as an authorizer: the token `guest` may only read.
fn authorize(event: &Value) -> Result<Value, Error> {
    record(event)?;
    let token = ["/authorizationToken", "/identitySource/0", "/headers/X-Token", "/headers/x-token"];
    let token = token.iter().find_map(|place| event.pointer(place)?.as_str()).unwrap_or_default();
    let arn = event.get("methodArn").and_then(Value::as_str).unwrap_or_default();
    let statement = |effect: &str, resource: &str| json!({ "Effect": effect, "Action": "execute-api:Invoke", "Resource": resource });
    let statements = match token {
        "invalid" => return Err("Unauthorized".into()),
        "broken" => return Ok(json!({ "principalId": "nobody" })),
        "guest" => json!([statement("Allow", "*"), statement("Deny", "*/POST/*")]),
        "stranger" => json!([statement("Allow", "arn:aws:execute-api:us-east-1:000000000000:other/*")]),
        _ => json!([statement("Allow", arn)]),
    };
    Ok(json!({
        "isAuthorized": token != "stranger",
        "principalId": token,
        "policyDocument": { "Version": "2012-10-17", "Statement": statements },
        "context": { "tenant": "blue", "level": 3 },
    }))
}

fn stream(event: &Value) -> Result<Value, Error> {
    record(event)?;
    let records = event.get("Records").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
    let is = |record: &Value, what: &str| {
        let body = record.get("body").and_then(Value::as_str);
        record.pointer(&format!("/dynamodb/NewImage/{what}")).is_some() || body.is_some_and(|body| body.contains(what))
    };
    if records.iter().any(|record| is(record, "poison")) {
        return Err("a poison record".into());
    }
    let reported = records.iter().filter(|record| is(record, "stumble"));
    let failures: Vec<Value> = reported.map(|record| json!({ "itemIdentifier": id_of(record) })).collect();
    let mut state = event.get("state").and_then(Value::as_object).cloned().unwrap_or_else(Map::new);
    let counted = state.get("count").and_then(Value::as_u64).unwrap_or_default();
    state.insert("count".to_owned(), json!(counted + records.len() as u64));
    Ok(json!({ "state": state, "batchItemFailures": failures }))
}

fn record(event: &Value) -> std::io::Result<()> {
    let Ok(path) = std::env::var("RECORDING") else { return Ok(()) };
    let mut file = std::fs::OpenOptions::new().create(true).append(true).open(path)?;
    file.write_all(format!("{event}\n").as_bytes())
}

/// The id by which a function reports a record as a failure.
fn id_of(record: &Value) -> Option<&Value> {
    record.pointer("/dynamodb/SequenceNumber").or_else(|| record.get("messageId"))
}
