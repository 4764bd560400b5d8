//! A function that calls AWS's own domain names, over TLS.

use crate::support::Stage;
use reqwest::Client;
use serde_json::{Value, json};

#[tokio::test]
async fn function_reaches_the_stack_through_aws_domain_names() {
    let stage = Stage::new("", "");
    stage.replace("Binary: test_function", "Binary: test_sdk_function");
    let running = stage.try_start(&["--aws-domains"]).await.unwrap();
    let invoke = format!("{}/2015-03-31/functions/the-test_function/invocations", running.admin.addresses.http);
    let answer: Value = Client::new().post(invoke).send().await.unwrap().json().await.unwrap();
    assert_eq!(answer, json!({ "tables": ["things"] }));
}
