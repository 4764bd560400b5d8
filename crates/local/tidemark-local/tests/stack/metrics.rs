//! The stack's metrics of functions, the HTTP API, mappings, tables and queues, with CloudWatch's
//! names.

use crate::support::{Stage, put};
use reqwest::{Client, StatusCode};
use serde_json::{Value, json};
use tidemark_local::faults::{Chance, FunctionFaults};
use tidemark_local::startup::RunningStack;

async fn metrics(running: &RunningStack) -> Value {
    let url = format!("{}/_local/metrics", running.admin.addresses.http);
    let response = Client::new().get(url).send().await.unwrap();
    assert_eq!(response.status(), StatusCode::OK);
    response.json().await.unwrap()
}

/// Waits until the metrics fulfil `wanted`, and returns them.
async fn until(running: &RunningStack, what: &str, wanted: impl Fn(&Value) -> bool) -> Value {
    let url = format!("{}/_local/metrics", running.admin.addresses.http);
    for _ in 0..600 {
        let metrics = Client::new().get(&url).send().await.unwrap().json().await.unwrap();
        if wanted(&metrics) {
            return metrics;
        }
        tokio::time::sleep(std::time::Duration::from_millis(50)).await;
    }
    panic!("{what} did not happen: {}", metrics(running).await);
}

#[tokio::test]
async fn invocation_is_measured_with_duration_cold_start_and_request() {
    let running = Stage::new("", "").start().await;
    let http = &running.admin.addresses.http;
    for path in ["/things/1", "/things/1?do=fail", "/nowhere"] {
        Client::new().get(format!("{http}{path}")).send().await.unwrap();
    }
    let seen = metrics(&running).await;
    assert_eq!((&seen["slotSeconds"], &seen["slots"]), (&json!(10), &json!(90)));
    let test_function = &seen["functions"][0];
    assert_eq!(
        (&test_function["binary"], &test_function["name"]),
        (&json!("test_function"), &json!("the-test_function"))
    );
    assert_eq!((&test_function["invocations"], &test_function["errors"]), (&json!(2), &json!(1)));
    assert_eq!(test_function["lastError"], "test_function was told to fail");
    assert_eq!(test_function["instances"], json!({ "running": 1, "busy": 0 }));
    let count = |metric: &str| test_function["metrics"][metric]["count"].as_u64().unwrap_or_default();
    let counts = ["Invocations", "Errors", "Duration", "InitDuration", "Throttles"].map(count);
    assert_eq!(counts, [2, 1, 2, 1, 0]);
    let duration = &test_function["metrics"]["Duration"];
    let at = |member: &str| duration[member].as_f64().unwrap();
    assert!(0.0 < at("p50") && at("p50") <= at("p99") && at("p99") <= at("maximum"), "{duration}");
    let points = duration["points"].as_array().unwrap();
    assert_eq!(points.iter().map(|point| point["count"].as_u64().unwrap()).sum::<u64>(), 2);
    let api = &seen["api"]["metrics"];
    // As in API Gateway, a request that matches no route gets a 404 and does not count.
    assert_eq!((&api["Count"]["sum"], &api["5xx"]["sum"], &api["4xx"]), (&json!(2.0), &json!(1.0), &Value::Null));
}

#[tokio::test]
async fn a_call_beyond_the_reserved_concurrency_counts_as_throttled() {
    let running = Stage::new("ReservedConcurrentExecutions: 0", "").start().await;
    let url = format!("{}/2015-03-31/functions/test_function/invocations", running.admin.addresses.http);
    assert_eq!(Client::new().post(url).body("{}").send().await.unwrap().status(), StatusCode::TOO_MANY_REQUESTS);
    let test_function = &metrics(&running).await["functions"][0]["metrics"];
    assert_eq!((&test_function["Throttles"]["sum"], &test_function["Invocations"]), (&json!(1.0), &Value::Null));
}

#[tokio::test]
async fn a_batch_is_measured_with_its_retries_and_its_lag() {
    let stage = Stage::streaming("BatchSize: 10");
    let running = stage.start().await;
    running
        .admin
        .faults
        .set(FunctionFaults { kill_before: Chance { next: 2, probability: 0.0 }, ..FunctionFaults::default() });
    put(&running.admin.addresses.dynamodb, 1, &[]).await;
    stage.until_seen([1].into_iter()).await;
    stage.until_caught_up(&running).await;
    let seen = metrics(&running).await;
    let mapping = &seen["mappings"][0];
    assert_eq!(
        (&mapping["name"], &mapping["function"], &mapping["table"]),
        (&json!("TestFunction-Change"), &json!("the-test_function"), &json!("things"))
    );
    assert_eq!((&mapping["waitingRecords"], &mapping["iteratorAgeMs"]), (&json!(0), &json!(0)));
    let sum = |metric: &str| mapping["metrics"][metric]["sum"].as_f64().unwrap_or_default();
    assert_eq!(
        ["Batches", "Retries", "Bisects", "InvokedEventCount", "FailedInvokeEventCount"].map(sum),
        [1.0, 2.0, 0.0, 3.0, 2.0]
    );
    assert_eq!(mapping["metrics"]["IteratorAge"]["count"], 3);
}

#[tokio::test]
async fn discarded_records_are_counted_with_queue_even_after_restart() {
    let stage = Stage::streaming(
        "BatchSize: 10\nMaximumBatchingWindowInSeconds: 1\nMaximumRetryAttempts: 0\nBisectBatchOnFunctionError: true\nDestinationConfig:\n  OnFailure:\n    Destination: !GetAtt Failures.Arn",
    );
    let running = stage.start().await;
    let always = Chance { next: 0, probability: 1.0 };
    running.admin.faults.set(FunctionFaults { kill_before: always, ..FunctionFaults::default() });
    for number in [1, 2] {
        put(&running.admin.addresses.dynamodb, number, &[]).await;
    }
    let discarded =
        |seen: &Value| seen["mappings"][0]["metrics"]["OnFailureDestinationDeliveredEventCount"]["sum"] == json!(2.0);
    let seen = until(&running, "discarding both", discarded).await;
    let queue = json!({ "name": "failures", "messages": 2 });
    assert_eq!(seen["mappings"][0]["failureQueue"], queue);
    running.stop().await;
    let running = stage.start().await;
    assert_eq!(metrics(&running).await["mappings"][0]["failureQueue"], queue);
}

#[tokio::test]
async fn the_consumption_of_a_table_is_measured_without_changing_replies() {
    let running = Stage::new("", "").start().await;
    put(&running.admin.addresses.dynamodb, 1, &[]).await;
    let written = |seen: &Value| seen["tables"][0]["metrics"]["ConsumedWriteCapacityUnits"]["sum"] == json!(1.0);
    let seen = until(&running, "metering the write", written).await;
    assert_eq!((&seen["tables"][0]["table"], &seen["tables"][0]["index"]), (&json!("things"), &Value::Null));

    let client = tidemark_local::dynamodb::client(
        &running.admin.addresses.dynamodb,
        &tidemark_local::dynamodb::Identity::local(),
    );
    let get = client.scan().table_name("things").send().await.unwrap();
    assert_eq!((get.count(), get.consumed_capacity()), (1, None));
}

#[tokio::test]
async fn only_this_machine_can_read_the_metrics() {
    let running = Stage::new("", "").start().await;
    let url = format!("{}/_local/metrics", running.admin.addresses.http);
    let foreign = Client::new().get(url).header("Origin", "https://evil.example").send().await.unwrap();
    assert_eq!(foreign.status(), StatusCode::FORBIDDEN);
}
