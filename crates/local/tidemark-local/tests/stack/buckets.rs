//! Objects in buckets: stored over a restart, and told to functions and to the default bus.

use crate::support::Stage;
use reqwest::{Client, StatusCode};
use serde_json::{Value, json};
use tidemark_local::startup::RunningStack;

fn stage() -> Stage {
    let filter = "Filter: { S3Key: { Rules: [{ Name: suffix, Value: .txt }] } }";
    let event =
        format!("File: {{ Type: S3, Properties: {{ Bucket: !Ref Files, Events: ['s3:ObjectCreated:*'], {filter} }} }}");
    let stage = Stage::new("", &event);
    let template = std::fs::read_to_string(stage.path("template.yaml")).unwrap();
    let bucket = "  Files:
    Type: AWS::S3::Bucket
    Properties:
      BucketName: files
      NotificationConfiguration: { EventBridgeConfiguration: { EventBridgeEnabled: true } }
  Failures:
";
    std::fs::write(stage.path("template.yaml"), template.replace("  Failures:\n", bucket)).unwrap();
    stage
}

async fn put(running: &RunningStack, key: &str, text: &'static str) {
    let url = format!("{}/files/{key}", running.admin.addresses.s3.as_ref().unwrap());
    let response = Client::new().put(url).body(text).send().await.unwrap();
    assert_eq!(response.status(), StatusCode::OK, "{}", response.text().await.unwrap());
}

#[tokio::test]
async fn a_new_object_that_matches_reaches_the_function_and_every_change_the_bus() {
    let stage = stage();
    let running = stage.start().await;
    put(&running, "a.png", "no text").await;
    put(&running, "folder/a%20b.txt", "hello").await;
    let s3 = running.admin.addresses.s3.clone().unwrap();
    assert!(Client::new().delete(format!("{s3}/files/a.png")).send().await.unwrap().status().is_success());
    stage.until("the object's event", |stage| !stage.recording().is_empty()).await;
    let events = stage.recording();
    assert_eq!(events.len(), 1, "{events:?}");
    let record = &events[0]["Records"][0];
    assert_eq!((&record["eventName"], &record["s3"]["bucket"]["name"]), (&json!("ObjectCreated:Put"), &json!("files")));
    assert_eq!(
        (&record["s3"]["object"]["key"], &record["s3"]["object"]["size"]),
        (&json!("folder/a+b.txt"), &json!(5))
    );
    let events = Client::new().get(format!("{}/_local/events", running.admin.addresses.http)).send().await.unwrap();
    let events = events.json::<Value>().await.unwrap().to_string();
    assert_eq!(
        (events.matches("Object Created").count(), events.matches("Object Deleted").count()),
        (2, 1),
        "{events}"
    );
    running.stop().await;
}

#[tokio::test]
async fn objects_outlive_a_restart() {
    let stage = stage();
    let running = stage.start().await;
    put(&running, "a.png", "kept").await;
    running.stop().await;
    let running = stage.start().await;
    let url = format!("{}/files/a.png", running.admin.addresses.s3.as_ref().unwrap());
    assert_eq!(Client::new().get(url).send().await.unwrap().text().await.unwrap(), "kept");
    running.stop().await;
}
