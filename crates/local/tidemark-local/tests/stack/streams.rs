//! From a table's stream to a real function: order, filters, failures, windows, shards, restarts.

use crate::support::{Stage, put};
use aws_sdk_dynamodb::types::AttributeValue;
use reqwest::{Client, StatusCode};
use serde_json::{Value, json};
use tidemark_local::dynamodb::{Identity, client};
use tidemark_local::faults::{Chance, FunctionFaults};
use tidemark_local::startup::RunningStack;

#[tokio::test]
async fn every_record_is_delivered_once_and_in_order() {
    let stage = Stage::streaming("BatchSize: 7");
    let running = stage.start().await;
    for number in 0..50 {
        put(&running.admin.addresses.dynamodb, number, &[]).await;
    }
    stage.until_seen(0..50).await;
    running.stop().await;
    assert_eq!(stage.seen().concat(), (0..50).collect::<Vec<_>>());
    assert!(stage.seen().iter().all(|batch| batch.len() <= 7));
    let record = &stage.recording()[0]["Records"][0];
    assert_eq!(record["eventName"], "INSERT");
    assert_eq!(record["dynamodb"]["Keys"], json!({"pk": {"S": "item-0"}}));
    assert!(record["eventSourceARN"].as_str().unwrap().contains(":table/things/stream/"));
    assert!(stage.recording()[0].get("shardId").is_none(), "only a tumbling window adds the shard to the event");
}

#[tokio::test]
async fn filtered_records_are_skipped_even_after_a_restart() {
    let stage = Stage::streaming(
        "FilterCriteria:\n  Filters:\n    - Pattern: '{\"dynamodb\": {\"NewImage\": {\"keep\": {\"BOOL\": [true]}}}}'",
    );
    let running = stage.start().await;
    let dynamodb = running.admin.addresses.dynamodb.clone();
    for number in 0..10 {
        put(&dynamodb, number, if number % 2 == 0 { &["keep"] } else { &[] }).await;
    }
    stage.until_seen([0, 2, 4, 6, 8].into_iter()).await;
    stage.until_caught_up(&running).await;
    running.stop().await;
    let running = stage.start().await;
    put(&running.admin.addresses.dynamodb, 10, &["keep"]).await;
    stage.until_seen([10].into_iter()).await;
    running.stop().await;
    assert_eq!(stage.seen().concat(), [0, 2, 4, 6, 8, 10]);
}

#[tokio::test]
async fn expired_item_is_deleted_on_demand_and_its_function_informed() {
    let stage = Stage::streaming("");
    let running = stage.start().await;
    let dynamodb = client(&running.admin.addresses.dynamodb, &Identity::local());
    for (number, expires_at) in [(1, "1700000000"), (2, "4102444800")] {
        let item = dynamodb.put_item().table_name("things").item("pk", AttributeValue::S(format!("item-{number}")));
        let item = item.item("n", AttributeValue::N(number.to_string()));
        item.item("expiresAt", AttributeValue::N(expires_at.to_owned())).send().await.unwrap();
    }
    let url = format!("{}/_local/expired", running.admin.addresses.http);
    let expired = async || Client::new().delete(&url).send().await.unwrap().json::<Value>().await.unwrap();
    assert_eq!(expired().await, json!({ "expiredItems": 1 }));
    assert_eq!(expired().await, json!({ "expiredItems": 0 }));
    let deletions = |stage: &Stage| {
        let records = stage.recording().into_iter().flat_map(|event| event["Records"].as_array().cloned());
        records.flatten().filter(|record| record["eventName"] == "REMOVE").collect::<Vec<_>>()
    };
    stage.until("the deletion", |stage| !deletions(stage).is_empty()).await;
    running.stop().await;
    let [deletion] = &deletions(&stage)[..] else { panic!("{:?}", stage.recording()) };
    assert_eq!(deletion["dynamodb"]["Keys"], json!({"pk": {"S": "item-1"}}));
    assert_eq!(deletion["userIdentity"]["principalId"], "dynamodb.amazonaws.com");
}

#[tokio::test]
async fn another_dynamodb_deletes_its_expired_items_itself() {
    let other = tidemark_engine::Engine::start(tidemark_engine::Options::default()).await.unwrap();
    let running = Stage::new("", "").try_start(&["--dynamodb-url", &other.url()]).await.unwrap();
    let url = format!("{}/_local/expired", running.admin.addresses.http);
    assert_eq!(Client::new().delete(url).send().await.unwrap().status(), StatusCode::BAD_REQUEST);
    running.stop().await;
    other.shutdown().await;
}

#[tokio::test]
async fn kept_table_loses_the_ttl_that_its_template_dropped() {
    let stage = Stage::new("", "");
    for (from, to, expected) in [("", "", "ENABLED"), ("Enabled: true", "Enabled: false", "DISABLED")] {
        stage.replace(from, to);
        let running = stage.start().await;
        let client = client(&running.admin.addresses.dynamodb, &Identity::local());
        let found = client.describe_time_to_live().table_name("things").send().await.unwrap();
        let status = found.time_to_live_description.unwrap().time_to_live_status.unwrap();
        assert_eq!(status.as_str(), expected);
        running.stop().await;
    }
}

#[tokio::test]
async fn a_killed_instance_gets_its_batch_again() {
    let stage = Stage::streaming("BatchSize: 10");
    let running = stage.start().await;
    let faults = FunctionFaults { kill_after: Chance { next: 1, probability: 0.0 }, ..FunctionFaults::default() };
    running.admin.faults.set(faults);
    put(&running.admin.addresses.dynamodb, 1, &[]).await;
    stage.until("a second delivery", |stage| stage.seen().len() >= 2).await;
    running.stop().await;
    assert_eq!(stage.seen(), [[1], [1]]);
}

#[tokio::test]
async fn a_batch_is_delivered_twice_on_demand() {
    let stage = Stage::streaming("BatchSize: 10");
    let running = stage.start().await;
    let faults = FunctionFaults { deliver_twice: Chance { next: 1, probability: 0.0 }, ..FunctionFaults::default() };
    running.admin.faults.set(faults);
    put(&running.admin.addresses.dynamodb, 1, &[]).await;
    put(&running.admin.addresses.dynamodb, 2, &[]).await;
    let ones = |stage: &Stage| stage.seen().concat().iter().filter(|number| **number == 1).count();
    stage.until("a second delivery", |stage| ones(stage) == 2).await;
    stage.until_seen(1..3).await;
    running.stop().await;
    assert!(stage.seen().concat().starts_with(&[1, 1]) || stage.seen().concat().starts_with(&[1, 2, 1, 2]));
}

#[tokio::test]
async fn poison_record_is_bisected_and_sent_to_the_failure_queue() {
    let stage = Stage::streaming(
        "MaximumBatchingWindowInSeconds: 1\nBisectBatchOnFunctionError: true\nMaximumRetryAttempts: 1\n\
         DestinationConfig: { OnFailure: { Type: SQS, Destination: !GetAtt Failures.Arn } }",
    );
    let running = stage.start().await;
    for number in 0..8 {
        put(&running.admin.addresses.dynamodb, number, if number == 5 { &["poison"] } else { &[] }).await;
    }
    stage.until_seen(0..8).await;
    let file = stage.path("data/failures/failures.jsonl");
    stage.until("a failure message", |_| file.exists()).await;
    put(&running.admin.addresses.dynamodb, 8, &[]).await;
    stage.until_seen([8].into_iter()).await;
    running.stop().await;
    let message: Value = serde_json::from_str(std::fs::read_to_string(file).unwrap().trim()).unwrap();
    assert_eq!(message["requestContext"]["condition"], "RetryAttemptsExhausted");
    assert_eq!(message["DDBStreamBatchInfo"]["batchSize"], 1);
    let healthy: Vec<u64> = stage.seen().into_iter().filter(|batch| !batch.contains(&5)).flatten().collect();
    assert_eq!(healthy, [0, 1, 2, 3, 4, 6, 7, 8], "every other record is processed once, in order");
}

#[tokio::test]
async fn the_retry_begins_at_the_reported_record() {
    let stage = Stage::streaming(
        "MaximumBatchingWindowInSeconds: 1\nMaximumRetryAttempts: 1\nFunctionResponseTypes: [ReportBatchItemFailures]",
    );
    let running = stage.start().await;
    for number in 0..4 {
        put(&running.admin.addresses.dynamodb, number, if number == 2 { &["stumble"] } else { &[] }).await;
    }
    stage.until("a retry", |stage| stage.seen().iter().any(|batch| batch.first() == Some(&2))).await;
    put(&running.admin.addresses.dynamodb, 4, &[]).await;
    stage.until_seen([4].into_iter()).await;
    running.stop().await;
    assert!(stage.seen().concat().iter().filter(|number| **number < 2).count() == 2, "{:?}", stage.seen());
}

#[tokio::test]
async fn tumbling_window_carries_state_to_a_final_invocation() {
    let stage = Stage::streaming("TumblingWindowInSeconds: 3\nBatchSize: 2");
    let running = stage.start().await;
    for number in 0..6 {
        put(&running.admin.addresses.dynamodb, number, &[]).await;
    }
    let is_final = |event: &Value| event["isFinalInvokeForWindow"] == true;
    let counted = |stage: &Stage| {
        let finals = stage.recording().into_iter().filter(is_final);
        finals.map(|event| event["state"]["count"].as_u64().unwrap()).sum::<u64>() == 6
    };
    stage.until("the final invocations", counted).await;
    running.stop().await;
    for event in stage.recording() {
        assert!(event["shardId"].as_str().unwrap().starts_with("shardId-"));
        assert_eq!(event["isWindowTerminatedEarly"], false);
        assert!(event["window"]["start"].as_str() < event["window"]["end"].as_str());
        assert_eq!(event["Records"].as_array().unwrap().is_empty(), is_final(&event));
    }
}

#[tokio::test]
async fn split_shards_children_are_read_after_it_without_loss() {
    let stage = Stage::streaming("TumblingWindowInSeconds: 900\nBatchSize: 5");
    let running = stage.start().await;
    let dynamodb = running.admin.addresses.dynamodb.clone();
    for number in 0..20 {
        put(&dynamodb, number, &[]).await;
    }
    stage.until_seen(0..1).await;
    let parent = stage.recording()[0]["shardId"].as_str().unwrap().to_owned();
    running.engine().unwrap().change_shard("things", &parent, tidemark_engine::ShardChange::Split).await.unwrap();
    for number in 20..60 {
        put(&dynamodb, number, &[]).await;
    }
    stage.until_seen(0..60).await;
    running.stop().await;
    let shards: Vec<String> =
        stage.recording().iter().map(|event| event["shardId"].as_str().unwrap().to_owned()).collect();
    let last_of_parent = shards.iter().rposition(|shard| *shard == parent).unwrap();
    assert!(
        shards[..last_of_parent].iter().all(|shard| *shard == parent),
        "a child came before its parent was drained"
    );
    assert!(shards.len() > last_of_parent + 1, "the children were read");
    let mut seen = stage.seen().concat();
    seen.sort_unstable();
    assert_eq!(seen, (0..60).collect::<Vec<_>>());
}

#[tokio::test]
async fn checkpoints_survive_a_restart() {
    let stage = Stage::streaming("TumblingWindowInSeconds: 900");
    let running = stage.start().await;
    put(&running.admin.addresses.dynamodb, 1, &[]).await;
    stage.until_seen(1..2).await;
    stage.until_caught_up(&running).await;
    running.stop().await;
    let running = stage.start().await;
    put(&running.admin.addresses.dynamodb, 2, &[]).await;
    stage.until_seen(2..3).await;
    running.stop().await;
    assert_eq!(stage.seen().concat(), [1, 2], "each record is delivered once");
    let events = stage.recording();
    let (first, last) = (&events[0], &events[events.len() - 1]);
    let same_window = first["window"] == last["window"];
    let carried = if same_window { json!({"count": 1}) } else { json!({}) };
    assert_eq!(last["state"], carried, "the window's state survives as well");
}

/// Makes all stream records of the stopped stack two days older.
fn let_two_days_pass(stage: &Stage) {
    let database = rusqlite::Connection::open(stage.path("data/dynamodb.sqlite")).unwrap();
    let older = "UPDATE _stream_records SET created_at = created_at - 172800";
    assert!(database.execute(older, []).unwrap() > 0);
}

#[tokio::test]
async fn trimmed_unread_records_are_reported_until_acknowledged() {
    let stage = Stage::streaming("");
    let lost_at = async |running: &RunningStack| {
        let url = format!("{}/_local/metrics", running.admin.addresses.http);
        reqwest::get(url).await.unwrap().json::<Value>().await.unwrap()["mappings"][0]["lostAt"].clone()
    };
    // The function is held from the beginning, so the mapping has settled nothing.
    let running = stage.start().await;
    let always = Chance { next: 0, probability: 1.0 };
    running.admin.faults.set(FunctionFaults { kill_before: always, ..FunctionFaults::default() });
    put(&running.admin.addresses.dynamodb, 1, &[]).await;
    running.stop().await;
    let_two_days_pass(&stage);
    let running = stage.start().await;
    put(&running.admin.addresses.dynamodb, 2, &[]).await;
    stage.until_seen(2..=2).await;
    stage.until_caught_up(&running).await;
    assert!(lost_at(&running).await.is_string());
    running.stop().await;
    // Still after a restart, until somebody says that it is mended.
    let running = stage.start().await;
    assert!(lost_at(&running).await.is_string());
    let url = format!("{}/_local/lost", running.admin.addresses.http);
    assert_eq!(Client::new().delete(url).send().await.unwrap().status(), StatusCode::NO_CONTENT);
    assert_eq!(lost_at(&running).await, Value::Null);
    running.stop().await;
    // Records that were read and then trimmed are not lost, however long the stack was off.
    let_two_days_pass(&stage);
    let running = stage.start().await;
    put(&running.admin.addresses.dynamodb, 3, &[]).await;
    stage.until_seen(3..=3).await;
    assert_eq!(lost_at(&running).await, Value::Null);
}

#[tokio::test]
async fn shard_goes_on_once_its_checkpoint_can_be_saved() {
    let stage = Stage::streaming("");
    let running = stage.start().await;
    put(&running.admin.addresses.dynamodb, 1, &[]).await;
    stage.until_seen(1..=1).await;
    stage.until_caught_up(&running).await;
    let (checkpoints, aside) = (stage.path("data/checkpoints"), stage.path("data/aside"));
    std::fs::rename(&checkpoints, &aside).unwrap();
    std::fs::write(&checkpoints, "").unwrap();
    put(&running.admin.addresses.dynamodb, 2, &[]).await;
    stage.until_seen(1..=2).await;
    std::fs::remove_file(&checkpoints).unwrap();
    std::fs::rename(&aside, &checkpoints).unwrap();
    put(&running.admin.addresses.dynamodb, 3, &[]).await;
    stage.until_seen(1..=3).await;
}

#[tokio::test]
async fn parallelization_factor_runs_but_strict_refuses_it_with_reason() {
    let stage = Stage::streaming("ParallelizationFactor: 2");
    let running = stage.start().await;
    put(&running.admin.addresses.dynamodb, 1, &[]).await;
    stage.until_seen(1..=1).await;
    running.stop().await;
    let error = format!("{:#}", anyhow::Error::from(stage.try_start(&["--strict"]).await.unwrap_err()));
    assert!(error.contains("ParallelizationFactor") && error.contains("overtake"), "{error}");
}

#[tokio::test]
async fn a_damaged_database_stops_the_start_with_its_name() {
    let stage = Stage::streaming("");
    stage.start().await.stop().await;
    let file = stage.path("data/dynamodb.sqlite");
    let whole = std::fs::read(&file).unwrap();
    for damaged in [&b"not a database"[..], &[vec![7; 100], whole[100..].to_vec()].concat()] {
        std::fs::write(&file, damaged).unwrap();
        let error = stage.refusal().await;
        assert!(error.contains("data/dynamodb.sqlite is damaged") && error.contains("move it"), "{error}");
        assert!(!error.contains("encrypt"), "{error}");
    }
}

#[tokio::test]
async fn a_table_that_differs_from_the_template_is_rejected() {
    let stage = Stage::streaming("");
    stage.start().await.stop().await;
    stage.replace("AttributeName: pk", "AttributeName: id");
    let error = stage.refusal().await;
    assert!(error.contains("key: the template has HASH id, the table has HASH pk"), "{error}");
}
