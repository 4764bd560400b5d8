//! From a queue to a real function: the API of SQS, batches, partial failures and dead letters.

use crate::support::Stage;
use reqwest::Client;
use serde_json::{Value, json};
use tidemark_local::startup::RunningStack;

/// A template with a mapping on the queue `work`, whose dead letters go to `failures`.
fn stage(visibility_s: u32, settings: &str, policies: &str) -> Stage {
    let event = format!("Work: {{ Type: SQS, Properties: {{ Queue: !GetAtt Work.Arn, {settings} }} }}");
    let stage = Stage::new("", &event);
    let queue = format!(
        "  Work:
    Type: AWS::SQS::Queue
    Properties:
      QueueName: work
      VisibilityTimeout: {visibility_s}
      RedrivePolicy: {{ deadLetterTargetArn: !GetAtt Failures.Arn, maxReceiveCount: 2 }}
  Failures:
"
    );
    stage.replace("  Failures:\n", &queue);
    stage.replace("Policies: AdministratorAccess", policies);
    stage
}

pub(crate) async fn call(running: &RunningStack, caller: &str, action: &str, request: Value) -> (u16, Value) {
    let credential = format!("AWS4-HMAC-SHA256 Credential={caller}/20260101/us-east-1/sqs/aws4_request");
    let response = Client::new()
        .post(format!("{}/_local/sqs", running.admin.addresses.http))
        .header("X-Amz-Target", format!("AmazonSQS.{action}"))
        .header("Authorization", credential)
        .body(request.to_string())
        .send()
        .await
        .unwrap();
    (response.status().as_u16(), response.json().await.unwrap())
}

pub(crate) async fn send(running: &RunningStack, queue: &str, body: &str) -> Value {
    let request =
        json!({ "QueueUrl": format!("https://sqs.us-east-1.amazonaws.com/000000000000/{queue}"), "MessageBody": body });
    let (status, answer) = call(running, "somebody", "SendMessage", request).await;
    assert_eq!(status, 200, "{answer}");
    answer
}

pub(crate) async fn receive(running: &RunningStack, queue: &str) -> Vec<Value> {
    let request =
        json!({ "QueueUrl": queue, "MaxNumberOfMessages": 10, "WaitTimeSeconds": 20, "AttributeNames": ["All"] });
    let (status, answer) = call(running, "somebody", "ReceiveMessage", request).await;
    assert_eq!(status, 200, "{answer}");
    answer["Messages"].as_array().cloned().unwrap_or_default()
}

fn bodies(stage: &Stage) -> Vec<String> {
    let records = stage.recording().into_iter().flat_map(|event| event["Records"].as_array().cloned().unwrap());
    records.map(|record| record["body"].as_str().unwrap().to_owned()).collect()
}

#[tokio::test]
async fn a_message_reaches_the_function_as_on_aws() {
    let stage = stage(30, "BatchSize: 1", "Policies: []");
    let running = stage.start().await;
    let sent = send(&running, "work", "hello").await;
    assert_eq!(sent["MD5OfMessageBody"], "5d41402abc4b2a76b9719d911017c592");
    stage.until("the message", |stage| !stage.recording().is_empty()).await;
    let record = stage.recording()[0]["Records"][0].clone();
    assert_eq!((&record["messageId"], &record["body"]), (&sent["MessageId"], &json!("hello")));
    assert_eq!(record["eventSourceARN"], "arn:aws:sqs:us-east-1:000000000000:work");
    assert_eq!(record["attributes"]["ApproximateReceiveCount"], "1");
}

#[tokio::test]
async fn repeatedly_failing_messages_reach_the_dead_letter_queue() {
    let stage = stage(1, "BatchSize: 10, FunctionResponseTypes: [ReportBatchItemFailures]", "Policies: []");
    stage.replace("Timeout: 29", "Timeout: 1");
    let running = stage.start().await;
    for body in ["good", "stumble", "poison"] {
        send(&running, "work", body).await;
    }
    let mut dead = Vec::new();
    while dead.len() < 2 {
        dead.extend(
            receive(&running, "failures").await.iter().map(|message| message["Body"].as_str().unwrap().to_owned()),
        );
        dead.sort();
        dead.dedup();
    }
    // In a batch with the poison, the good message may count as failed twice as well.
    assert!(dead.contains(&"poison".to_owned()) && dead.contains(&"stumble".to_owned()), "{dead:?}");
    assert!(bodies(&stage).contains(&"good".to_owned()));
}

#[tokio::test]
async fn a_message_that_does_not_match_the_filters_is_deleted() {
    let filters = "FilterCriteria: { Filters: [{ Pattern: '{\"body\": {\"kind\": [\"order\"]}}' }] }";
    let stage = stage(30, &format!("BatchSize: 1, {filters}"), "Policies: []");
    let running = stage.start().await;
    for body in [r#"{"kind":"other"}"#, "no json", r#"{"kind":"order"}"#] {
        send(&running, "work", body).await;
    }
    stage.until("the order", |stage| !stage.recording().is_empty()).await;
    assert_eq!(bodies(&stage), [r#"{"kind":"order"}"#]);
}

#[tokio::test]
async fn a_function_sends_only_to_queues_that_its_policies_name() {
    let stage = stage(
        30,
        "BatchSize: 1, Enabled: false",
        "Policies: [{ SQSSendMessagePolicy: { QueueName: !GetAtt Work.QueueName } }]",
    );
    let running = stage.start().await;
    let request = |queue: &str| json!({ "QueueUrl": queue, "MessageBody": "x" });
    assert_eq!(call(&running, "the-test_function", "SendMessage", request("work")).await.0, 200);
    let (status, answer) = call(&running, "the-test_function", "SendMessage", request("failures")).await;
    assert_eq!((status, &answer["__type"]), (400, &json!("com.amazonaws.sqs#AccessDeniedException")));
    let (status, answer) = call(&running, "somebody", "SendMessage", request("nowhere")).await;
    assert_eq!((status, &answer["__type"]), (400, &json!("com.amazonaws.sqs#QueueDoesNotExist")));
}

#[tokio::test]
async fn a_batch_answers_for_each_entry() {
    let stage = stage(30, "BatchSize: 1, Enabled: false", "Policies: []");
    let running = stage.start().await;
    let entries = json!([{ "Id": "a", "MessageBody": "x" }, { "Id": "b" }]);
    let (_, answer) =
        call(&running, "somebody", "SendMessageBatch", json!({ "QueueUrl": "work", "Entries": entries })).await;
    assert_eq!((&answer["Successful"][0]["Id"], &answer["Failed"][0]["Id"]), (&json!("a"), &json!("b")));
    let message = receive(&running, "work").await.remove(0);
    assert_eq!(message["Attributes"]["ApproximateReceiveCount"], "1");
    let delete = json!({ "QueueUrl": "work", "ReceiptHandle": message["ReceiptHandle"] });
    assert_eq!(call(&running, "somebody", "DeleteMessage", delete).await, (200, json!({})));
    let names = json!({ "QueueUrl": "work", "AttributeNames": ["ApproximateNumberOfMessages"] });
    let (_, answer) = call(&running, "somebody", "GetQueueAttributes", names).await;
    assert_eq!(answer["Attributes"], json!({ "ApproximateNumberOfMessages": "0" }));
}

// On one thread, the workers would take turns in an order that hides the fault.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn batching_window_gathers_one_batch_across_workers() {
    let stage = stage(30, "BatchSize: 20, MaximumBatchingWindowInSeconds: 300", "Policies: []");
    let running = stage.start().await;
    for number in 0..20 {
        send(&running, "work", &number.to_string()).await;
    }
    stage.until("the batch", |stage| !stage.recording().is_empty()).await;
    assert_eq!(stage.recording()[0]["Records"].as_array().map(Vec::len), Some(20));
}

#[tokio::test]
async fn batch_above_lambdas_limit_is_split() {
    let stage = stage(300, "BatchSize: 8, MaximumBatchingWindowInSeconds: 300", "Policies: []");
    let running = stage.start().await;
    let large = "x".repeat(1_000_000);
    for _ in 0..8 {
        send(&running, "work", &large).await;
    }
    stage.until("all messages", |stage| bodies(stage).len() == 8).await;
    let sizes: Vec<usize> = stage.recording().iter().map(|event| event["Records"].as_array().unwrap().len()).collect();
    assert_eq!(sizes, [6, 2]);
}
