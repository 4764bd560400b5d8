//! A Lambda function that stands in for another one: it accepts every event.
//!
//! It appends each event to a file beside its executable, named after the function. Behind the Web
//! Adapter it is a web server.

use std::io::Write as _;
use std::path::PathBuf;

use axum::Router;
use lambda_runtime::{Error, LambdaEvent, service_fn};
use serde_json::{Value, json};

#[tokio::main]
async fn main() -> Result<(), Error> {
    let Ok(port) = std::env::var("AWS_LWA_PORT") else {
        return lambda_runtime::run(service_fn(handle)).await;
    };
    let port: u16 = port.parse()?;
    let listener = tokio::net::TcpListener::bind(("127.0.0.1", port)).await?;
    let answer = || async {
        record(&json!("a web request"))?;
        Ok::<_, axum::http::StatusCode>("stub")
    };
    axum::serve(listener, Router::new().fallback(answer)).await?;
    Ok(())
}

/// Answers as each trigger wants it: HTTP APIs, authorizers and mappings.
async fn handle(event: LambdaEvent<Value>) -> Result<Value, Error> {
    record(&event.payload).map_err(|status| status.to_string())?;
    // A REST API accepts no other fields in a response.
    if event.payload.get("httpMethod").is_some() && event.payload.get("methodArn").is_none() {
        return Ok(json!({ "statusCode": 200, "body": "stub" }));
    }
    let everything = json!([{ "Effect": "Allow", "Action": "*", "Resource": "*" }]);
    Ok(json!({
        "statusCode": 200,
        "body": "stub",
        "batchItemFailures": [],
        "isAuthorized": true,
        "principalId": "stub",
        "policyDocument": { "Statement": everything },
    }))
}

fn record(event: &Value) -> Result<(), axum::http::StatusCode> {
    let written = std::env::current_exe().and_then(|executable| {
        let name = std::env::var("AWS_LAMBDA_FUNCTION_NAME").unwrap_or_else(|_| "web".to_owned());
        let path: PathBuf = executable.with_file_name(format!("{name}.jsonl"));
        let mut file = std::fs::OpenOptions::new().create(true).append(true).open(path)?;
        file.write_all(format!("{event}\n").as_bytes())
    });
    written.map_err(|_| axum::http::StatusCode::INTERNAL_SERVER_ERROR)
}
