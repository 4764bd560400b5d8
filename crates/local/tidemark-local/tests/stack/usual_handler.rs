//! The usual handler beside a function, and faults that end by themselves.

use crate::support::{Stage, put};
use reqwest::{Client, StatusCode};
use serde_json::{Value, json};
use tidemark_local::faults::{Chance, FunctionFaults};

#[tokio::test]
async fn the_usual_handler_counts_a_repeated_batch_again() {
    let stage = Stage::streaming("BatchSize: 10");
    let running = stage.start().await;
    let url = format!("{}/_local/usual-handler", running.admin.addresses.http);
    let total = async || Client::new().get(&url).send().await.unwrap().json::<Value>().await.unwrap();
    assert_eq!(Client::new().get(&url).send().await.unwrap().status(), StatusCode::NOT_FOUND);
    let start = json!({ "function": "test_function", "sums": "n", "from": 100 });
    let started: Value = Client::new().put(&url).body(start.to_string()).send().await.unwrap().json().await.unwrap();
    assert_eq!(started, json!({ "total": 100, "dropped": 0 }));

    let once = Chance { next: 1, probability: 0.0 };
    running.admin.faults.set(FunctionFaults { kill_before: once, ..FunctionFaults::default() });
    put(&running.admin.addresses.dynamodb, 7, &[]).await;
    stage.until_seen([7].into_iter()).await;
    assert_eq!(until(total, 107).await, 107, "a killed instance has seen nothing");
    running.admin.faults.set(FunctionFaults { kill_after: once, ..FunctionFaults::default() });
    put(&running.admin.addresses.dynamodb, 5, &[]).await;
    assert_eq!(until(total, 117).await, 117);
    let again = json!({ "function": "test_function", "sums": "n", "from": 0 });
    Client::new().put(&url).body(again.to_string()).send().await.unwrap();
    assert_eq!(total().await, json!({ "total": 0, "dropped": 0 }));
    put(&running.admin.addresses.dynamodb, 3, &[]).await;
    assert_eq!(until(total, 3).await, 3, "the task before it has ended");
}

#[tokio::test]
async fn faults_with_an_end_are_switched_off_by_themselves() {
    let running = Stage::new("", "").start().await;
    let url = format!("{}/_local/faults", running.admin.addresses.http);
    let faults = json!({ "functions": { "delay_ms": 7 }, "engine": { "throttle": true } }).to_string();
    let set = Client::new().put(format!("{url}?seconds=1")).body(faults.clone()).send().await.unwrap();
    assert_eq!(set.json::<Value>().await.unwrap()["functions"]["delay_ms"], 7);
    let delay = async || {
        let faults: Value = Client::new().get(&url).send().await.unwrap().json().await.unwrap();
        json!({ "total": faults["functions"]["delay_ms"], "throttle": faults["engine"]["throttle"] })
    };
    assert_eq!(until(delay, 0).await, 0);
    assert_eq!(delay().await["throttle"], false);
    let unknown = Client::new().put(format!("{url}?second=1")).body(faults).send().await.unwrap();
    assert_eq!(unknown.status(), StatusCode::BAD_REQUEST);
}

/// Reads `total` until it is as wanted, for at most 30 seconds, and returns the last one.
async fn until(read: impl AsyncFn() -> Value, wanted: u64) -> u64 {
    let mut total = u64::MAX;
    for _ in 0..600 {
        total = read().await["total"].as_u64().unwrap();
        if total == wanted {
            break;
        }
        tokio::time::sleep(std::time::Duration::from_millis(50)).await;
    }
    total
}
