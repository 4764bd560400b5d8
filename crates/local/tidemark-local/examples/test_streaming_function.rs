//! A Lambda function for tests that streams its result: `first`, then, once the file of
//! [`gate`] exists, `last` or an end of the process.

use std::path::PathBuf;
use std::time::Duration;

use lambda_runtime::streaming::{Body, Response, channel};
use lambda_runtime::{Error, LambdaEvent, MetadataPrelude, service_fn};
use serde_json::Value;

#[tokio::main]
async fn main() -> Result<(), Error> {
    lambda_runtime::run(service_fn(handle)).await
}

/// A file beside the recording, which the test creates.
fn gate() -> PathBuf {
    PathBuf::from(std::env::var_os("RECORDING").unwrap_or_default()).with_extension("gate")
}

async fn handle(event: LambdaEvent<Value>) -> Result<Response<Body>, Error> {
    let what = event.payload.pointer("/queryStringParameters/do").and_then(Value::as_str).map(str::to_owned);
    let (mut sender, stream) = channel();
    tokio::spawn(async move {
        // The runtime drops the stream when the client has gone.
        if sender.send_data("first ".into()).await.is_err() {
            return;
        }
        while !gate().exists() {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        if what.as_deref() == Some("crash") {
            std::process::exit(7);
        }
        drop(sender.send_data("last".into()).await);
    });
    let mut metadata_prelude = MetadataPrelude { status_code: http::StatusCode::ACCEPTED, ..Default::default() };
    metadata_prelude.headers.insert("content-type", http::HeaderValue::from_static("text/x-parts"));
    metadata_prelude.cookies = vec!["a=1".to_owned(), "b=2; HttpOnly".to_owned()];
    Ok(Response { metadata_prelude, stream })
}
