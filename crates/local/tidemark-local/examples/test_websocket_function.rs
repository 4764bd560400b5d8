//! A Lambda function behind a WebSocket API for tests: its messages tell it what to do. As any
//! function, it finds the management API by the SDK's environment variable.
//!
//! It records each event as one line of the file `RECORDING`.

use std::io::Write as _;
use std::path::Path;
use std::time::Duration;

use aws_sdk_apigatewaymanagement::Client;
use aws_sdk_apigatewaymanagement::config::BehaviorVersion;
use aws_sdk_apigatewaymanagement::error::ProvideErrorMetadata as _;
use aws_sdk_apigatewaymanagement::primitives::Blob;
use aws_smithy_http_client::Builder;
use lambda_runtime::{Error, LambdaEvent, service_fn};
use serde_json::{Value, json};

#[tokio::main]
async fn main() -> Result<(), Error> {
    let http_client = Builder::new().build_http();
    let config = aws_config::defaults(BehaviorVersion::latest()).http_client(http_client).load().await;
    let client = Client::new(&config);
    lambda_runtime::run(service_fn(|event: LambdaEvent<Value>| handle(&client, event.payload))).await
}

async fn handle(client: &Client, event: Value) -> Result<Value, Error> {
    if let Ok(path) = std::env::var("RECORDING") {
        let mut file = std::fs::OpenOptions::new().create(true).append(true).open(path)?;
        file.write_all(format!("{event}\n").as_bytes())?;
    }
    let context = &event["requestContext"];
    let body = event["body"].as_str().map(serde_json::from_str::<Value>).and_then(Result::ok);
    let orders = body.as_ref().unwrap_or(&event["queryStringParameters"]);
    let answer = match orders["do"].as_str() {
        Some("refuse") => return Ok(json!({ "statusCode": orders["status"] })),
        Some("choose") => {
            return Ok(json!({ "statusCode": 200, "headers": { "Sec-WebSocket-Protocol": orders["protocol"] } }));
        }
        Some("fail") => return Err("told to fail".into()),
        Some("nothing") => return Ok(Value::Null),
        Some("wait") => {
            // Waits until the test creates the file, or until the function's timeout.
            while !Path::new(orders["file"].as_str().unwrap_or_default()).exists() {
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
            json!("waited")
        }
        Some("say") => say(client, orders).await,
        Some("describe") => describe(client, orders["to"].as_str().unwrap_or_default()).await,
        Some("close") => {
            let id = orders["to"].as_str().unwrap_or_default();
            let closed = client.delete_connection().connection_id(id).send().await;
            json!(closed.map_or_else(|error| error.code().unwrap_or("?").to_owned(), |_| "closed".to_owned()))
        }
        _ => json!(context["connectionId"]),
    };
    let body = answer.as_str().map_or_else(|| answer.to_string(), str::to_owned);
    Ok(json!({ "statusCode": 200, "body": body }))
}

/// Sends the text to all connections at once, and returns each result.
async fn say(client: &Client, orders: &Value) -> Value {
    let text = orders["text"].as_str().unwrap_or_default();
    let to = orders["to"].as_array().map(Vec::as_slice).unwrap_or_default();
    let posts = to.iter().map(|id| {
        let post = client.post_to_connection().connection_id(id.as_str().unwrap_or_default());
        post.data(Blob::new(text)).send()
    });
    let posted = futures::future::join_all(posts).await;
    let code = |error: &dyn aws_sdk_apigatewaymanagement::error::ProvideErrorMetadata| error.code().map(str::to_owned);
    posted
        .iter()
        .map(|posted| json!(posted.as_ref().map_or_else(|error| code(error), |_| Some("ok".to_owned()))))
        .collect()
}

async fn describe(client: &Client, id: &str) -> Value {
    match client.get_connection().connection_id(id).send().await {
        Ok(found) => json!({
            "connectedAt": found.connected_at().map(ToString::to_string),
            "lastActiveAt": found.last_active_at().map(ToString::to_string),
            "sourceIp": found.identity().map(|identity| identity.source_ip()),
        }),
        Err(error) => json!(error.code()),
    }
}
