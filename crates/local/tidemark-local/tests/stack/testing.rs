//! The library for tests of functions: rest, time, faults, and what a test sees.

use std::process::Command;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tidemark_local::Stack;
use tidemark_local::testing::{StackBuilder, TestError};

use crate::support::sockets::ALL;
use crate::support::{Stage, test_functions};

const MINUTE: Duration = Duration::from_secs(60);
const HOUR: Duration = Duration::from_secs(3600);

fn builder(stage: &Stage) -> StackBuilder {
    Stack::template(stage.path("template.yaml")).binaries(test_functions())
}

/// A queue with a dead-letter queue, and the test function behind it.
fn with_queue(settings: &str) -> Stage {
    let stage = Stage::new("", &format!("Job: {{ Type: SQS, Properties: {{ Queue: !GetAtt Jobs.Arn{settings} }} }}"));
    stage.add_resources(
        "  Dead: { Type: AWS::SQS::Queue }
  Jobs:
    Type: AWS::SQS::Queue
    Properties:
      VisibilityTimeout: 60
      RedrivePolicy: { deadLetterTargetArn: !GetAtt Dead.Arn, maxReceiveCount: 3 }",
    );
    stage
}

fn bodies(stage: &Stage) -> Vec<Vec<String>> {
    let body = |record: &Value| record["body"].as_str().unwrap().to_owned();
    let records = |event: &Value| event["Records"].as_array().unwrap().iter().map(body).collect();
    stage.recording().iter().map(records).collect()
}

#[tokio::test]
async fn settled_stream_has_reached_its_function() {
    let stage = Stage::streaming("BatchSize: 10");
    let stack = builder(&stage).start().await.unwrap();
    for n in 0..30 {
        stack.table("Table").put(json!({ "pk": n.to_string(), "n": n })).await.unwrap();
        stack.settle().await.unwrap();
        assert_eq!(stage.seen().concat().len(), n + 1);
    }
    assert_eq!(stack.table("things").scan().await.unwrap().len(), 30);
}

#[tokio::test]
async fn failed_batch_of_a_stream_is_retried_before_rest() {
    let stage = Stage::streaming("BatchSize: 10");
    let stack = builder(&stage).start().await.unwrap();
    stack.fail("TestFunction", 2).unwrap();
    stack.table("Table").put(json!({ "pk": "a", "n": 1 })).await.unwrap();
    stack.settle().await.unwrap();
    assert_eq!(stage.seen(), [[1]]);
}

#[tokio::test]
async fn invocations_of_a_function_are_listed_oldest_first() {
    let stage = Stage::new("", "");
    let stack = builder(&stage).start().await.unwrap();
    for n in 1..=2 {
        stack.invoke("TestFunction", json!({ "n": n })).await.unwrap();
    }
    let all = stack.invocations("TestFunction").unwrap();
    let events: Vec<_> = all.iter().map(|one| one["event"].as_str().unwrap()).collect();
    assert_eq!(events, [r#"{"n":1}"#, r#"{"n":2}"#]);
    assert!(all.iter().all(|one| one["status"] == "ok"), "{all:?}");
}

#[tokio::test]
async fn message_returns_after_its_visibility_timeout_and_dies() {
    let stage = with_queue("");
    let stack = builder(&stage).start().await.unwrap();
    stack.fail("TestFunction", 2).unwrap();
    for body in ["a", "poison"] {
        stack.queue("Jobs").send(body).unwrap();
        stack.settle().await.unwrap();
    }
    assert!(bodies(&stage).is_empty());
    assert_eq!(stack.queue("Jobs").messages().unwrap(), ["a", "poison"]);
    // Both come again after a minute, and the poison two times more.
    stack.advance(MINUTE).await.unwrap();
    assert_eq!(stack.queue("Jobs").messages().unwrap(), ["poison"]);
    stack.advance(2 * MINUTE).await.unwrap();
    assert_eq!(stack.queue("Dead").messages().unwrap(), ["poison"]);
    let mut seen = bodies(&stage).concat();
    seen.sort();
    assert_eq!(seen, ["a", "poison", "poison"]);
}

#[tokio::test]
async fn batching_window_of_a_queue_ends_at_once() {
    let stage = with_queue(", BatchSize: 100, MaximumBatchingWindowInSeconds: 30");
    let stack = builder(&stage).start().await.unwrap();
    for body in ["a", "b", "c"] {
        stack.queue("Jobs").send(body).unwrap();
    }
    stack.settle().await.unwrap();
    assert_eq!(bodies(&stage), [["a", "b", "c"]]);
}

#[tokio::test]
async fn batching_window_of_a_stream_ends_at_once() {
    let stage = Stage::streaming("BatchSize: 100\nMaximumBatchingWindowInSeconds: 300");
    let stack = builder(&stage).start().await.unwrap();
    for n in [1, 2, 3] {
        stack.table("Table").put(json!({ "pk": n.to_string(), "n": n })).await.unwrap();
    }
    stack.settle().await.unwrap();
    assert_eq!(stage.seen(), [[1, 2, 3]]);
}

#[tokio::test]
async fn end_of_a_batching_window_does_not_move_the_clock() {
    let stage = with_queue(", BatchSize: 100, MaximumBatchingWindowInSeconds: 300");
    let tick =
        "\n        Tick: { Type: Schedule, Properties: { Schedule: rate(1 minute), Input: '{\"do\": \"record\"}' } }";
    stage.replace("Events:\n", &format!("Events:{tick}\n"));
    let stack = builder(&stage).start().await.unwrap();
    stack.queue("Jobs").send("a").unwrap();
    stack.settle().await.unwrap();
    let recording = stage.recording();
    assert!(recording.len() == 1 && recording[0]["Records"].is_array(), "{recording:?}");
    stack.advance(MINUTE).await.unwrap();
    assert_eq!(stage.recording().len(), 2);
}

/// Waits while the minute is about to end, and with it the windows of a minute.
async fn away_from_the_minutes_end() {
    while now_s() % 60 >= 50 {
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
}

#[tokio::test]
async fn tumbling_window_ends_when_the_clock_moves() {
    let stage = Stage::streaming("BatchSize: 100\nTumblingWindowInSeconds: 60");
    let stack = builder(&stage).start().await.unwrap();
    away_from_the_minutes_end().await;
    stack.table("Table").put(json!({ "pk": "a", "n": 1 })).await.unwrap();
    stack.settle().await.unwrap();
    let finals = || stage.recording().iter().filter(|event| event["isFinalInvokeForWindow"] == true).count();
    assert_eq!((stage.seen().concat(), finals()), (vec![1], 0));
    stack.advance(2 * MINUTE).await.unwrap();
    assert_eq!(finals(), 1);
}

#[tokio::test]
async fn window_that_a_delivery_opens_is_not_ended_at_once() {
    let stage = Stage::streaming("BatchSize: 100\nTumblingWindowInSeconds: 60\nMaximumBatchingWindowInSeconds: 5");
    let stack = builder(&stage).start().await.unwrap();
    away_from_the_minutes_end().await;
    stack.table("Table").put(json!({ "pk": "a", "n": 1 })).await.unwrap();
    let since_epoch = std::time::SystemTime::UNIX_EPOCH.elapsed().unwrap();
    stack.settle().await.unwrap();
    let finals = || stage.recording().iter().filter(|event| event["isFinalInvokeForWindow"] == true).count();
    assert_eq!((stage.seen().concat(), finals()), (vec![1], 0));
    // The second record belongs to the next window, and waits until the first one is over.
    let left_ms = 60_000 - since_epoch.as_millis() % 60_000;
    stack.advance(Duration::from_millis(u64::try_from(left_ms).unwrap() + 1_050)).await.unwrap();
    stack.table("Table").put(json!({ "pk": "b", "n": 2 })).await.unwrap();
    tokio::time::sleep(Duration::from_secs(1)).await;
    stack.advance(Duration::from_secs(6)).await.unwrap();
    assert_eq!((stage.seen().concat(), finals()), (vec![1, 2], 1));
    stack.advance(2 * MINUTE).await.unwrap();
    assert_eq!(finals(), 2);
}

#[tokio::test]
async fn scheduled_event_names_its_rule_as_its_arn_does() {
    let stage = Stage::new(
        "",
        "Named: { Type: Schedule, Properties: { Schedule: rate(1 hour), Name: own } }\nTick: { Type: Schedule, Properties: { Schedule: rate(1 hour) } }",
    );
    let targets = "Targets: [{ Id: a, Arn: !GetAtt TestFunction.Arn }]";
    let properties = format!("{{ ScheduleExpression: rate(1 hour), {targets} }}");
    stage.add_resources(&format!("  Rule: {{ Type: AWS::Events::Rule, Properties: {properties} }}"));
    let stack = builder(&stage).start().await.unwrap();
    stack.advance(HOUR).await.unwrap();
    let mut rules: Vec<String> = stage.recording().iter().map(|event| event["resources"][0].to_string()).collect();
    rules.sort();
    let names = ["own", "tidemark-local-Rule", "tidemark-local-TestFunctionTick"];
    assert_eq!(rules, names.map(|name| format!("\"arn:aws:events:us-east-1:000000000000:rule/{name}\"")));
}

#[tokio::test]
async fn schedule_runs_at_each_of_its_times() {
    let tick = "Tick: { Type: Schedule, Properties: { Schedule: rate(5 minutes), Input: '{\"do\": \"record\"}' } }";
    let stage = Stage::new("", tick);
    let stack = builder(&stage).start().await.unwrap();
    stack.settle().await.unwrap();
    assert_eq!(stage.recording().len(), 0);
    stack.advance(HOUR).await.unwrap();
    assert_eq!(stage.recording().len(), 12);
    // The first try fails, and the retry follows after a minute.
    stack.fail("TestFunction", 1).unwrap();
    stack.advance(5 * MINUTE).await.unwrap();
    assert_eq!(stage.recording().len(), 12);
    stack.advance(MINUTE).await.unwrap();
    assert_eq!(stage.recording().len(), 13);
}

#[tokio::test]
async fn item_expires_when_the_clock_moves() {
    let stage = Stage::streaming("BatchSize: 10");
    let stack = builder(&stage).start().await.unwrap();
    let soon = now_s() + 1800;
    stack.table("Table").put(json!({ "pk": "a", "n": 1, "expiresAt": soon })).await.unwrap();
    stack.advance(MINUTE).await.unwrap();
    assert_eq!(stack.table("Table").scan().await.unwrap(), [json!({ "pk": "a", "n": 1, "expiresAt": soon })]);
    stack.advance(HOUR).await.unwrap();
    assert!(stack.table("Table").scan().await.unwrap().is_empty());
    let last = stage.recording().pop().unwrap();
    assert_eq!(last["Records"][0]["eventName"], "REMOVE");
}

fn now_s() -> u64 {
    std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap().as_secs()
}

#[tokio::test]
async fn error_names_what_is_not_at_rest() {
    let stage = with_queue("");
    let stack = builder(&stage).patience(Duration::from_millis(300)).start().await.unwrap();
    stack.http("ServerlessHttpApi").get("/things/1").await.unwrap();
    let slow = stack.http("ServerlessHttpApi");
    let asked = tokio::spawn(async move { slow.get("/things/1?do=sleep").await });
    let start = Instant::now();
    // Before that, the call may not have come yet, or have just begun.
    loop {
        match stack.settle().await {
            Err(TestError::NotAtRest(found)) if found == ["the function test_function runs"] => break,
            outcome => assert!(start.elapsed() < MINUTE, "{outcome:?}"),
        }
    }
    asked.abort();
}

#[tokio::test]
async fn test_sees_results_errors_logs_and_unknown_names() {
    let stage = Stage::new("", "");
    let stack = builder(&stage).start().await.unwrap();
    let said = json!({ "do": "print", "text": "a line" });
    assert_eq!(stack.invoke("TestFunction", said.clone()).await.unwrap(), said);
    assert!(stack.logs("TestFunction").await.unwrap().contains(&"a line".to_owned()));
    let failed = stack.invoke("TestFunction", json!({ "do": "fail" })).await.unwrap_err();
    assert!(failed.to_string().contains("test_function was told to fail"), "{failed}");
    stack.fail("TestFunction", 1).unwrap();
    let failed = stack.invoke("TestFunction", said.clone()).await.unwrap_err().to_string();
    assert!(failed.contains("InjectedFault"), "{failed}");
    assert!(stack.invoke("TestFunction", said).await.is_ok());
    let answer = stack.http("ServerlessHttpApi").post("/things?do=show", json!({ "a": 1 })).await.unwrap();
    assert_eq!((answer.status, &answer.json().unwrap()["body"]), (200, &json!("{\"a\":1}")));
    let unknown = stack.table("Tables").scan().await.unwrap_err().to_string();
    assert_eq!(unknown, "the template has no table Tables; it has: Table");
    assert!(stack.queue("q").send("a").is_err() && stack.http("x").get("/").await.is_err());
    let far = stack.advance(Duration::MAX).await.unwrap_err();
    assert!(far.to_string().contains("100 years"), "{far}");
    stack.stop().await;
}

#[tokio::test]
async fn a_sent_websocket_message_is_settled_with_its_function() {
    let stage = Stage::sockets(&ALL, "");
    let stack = builder(&stage).start().await.unwrap();
    let mut socket = stack.websocket("Sockets", "").await.unwrap();
    for n in 1..=20 {
        socket.send(&json!({ "action": "other", "n": n })).await.unwrap();
        stack.settle().await.unwrap();
        assert_eq!(stage.events("MESSAGE").len(), n);
    }
    socket.send(&json!({ "action": "ask" })).await.unwrap();
    assert!(!socket.receive().await.unwrap().is_empty());
    socket.close().await.unwrap();
    stack.settle().await.unwrap();
    assert_eq!(stage.events("DISCONNECT").len(), 1);
    assert!(stack.websocket("Socket", "").await.is_err());
}

#[tokio::test]
async fn routes_for_tests_settle_advance_and_fail() {
    let tick = "Tick: { Type: Schedule, Properties: { Schedule: rate(1 hour), Input: '{\"do\": \"record\"}' } }";
    let stage = Stage::new("", tick);
    let running = stage.try_start(&["--in-memory"]).await.unwrap();
    let client = reqwest::Client::new();
    let post = async |path: &str, origin: Option<&str>| {
        let mut request = client.post(format!("{}{path}", running.admin.addresses.http));
        if let Some(origin) = origin {
            request = request.header("origin", origin);
        }
        request.send().await.unwrap().status().as_u16()
    };
    for path in ["/_local/settle", "/_local/advance?seconds=1", "/_local/fail?function=TestFunction&times=1"] {
        assert_eq!(post(path, Some("https://other.example")).await, 403, "{path}");
    }
    assert_eq!(post("/_local/fail?function=TestFunction&times=1", None).await, 204);
    assert_eq!(post("/_local/advance?seconds=3600", None).await, 204);
    assert!(stage.recording().is_empty(), "the first try fails");
    assert_eq!(post("/_local/advance?seconds=60", None).await, 204);
    assert_eq!(stage.recording().len(), 1);
    assert_eq!(post("/_local/settle", None).await, 204);
    assert_eq!(post("/_local/fail?function=Nobody&times=1", None).await, 400);
    assert_eq!(post("/_local/advance?seconds=9999999999", None).await, 400);
}

/// The template of `docs/testing.md`.
fn documented() -> Stage {
    let stage = with_queue("");
    stage.replace("TestFunction", "Worker");
    stage
}

fn page() -> String {
    std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../../../docs/testing.md")).unwrap()
}

/// The block of the page in a language.
fn block(language: &str) -> String {
    let page = page();
    let (_, rest) = page.split_once(&format!("```{language}\n")).unwrap();
    rest.split_once("```").unwrap().0.to_owned()
}

#[tokio::test]
async fn documented_example_runs() {
    // This test runs itself once more, in the folder of the template.
    const INSIDE: &str = "RUNS_THE_DOCUMENTED_EXAMPLE";
    if std::env::var_os(INSIDE).is_some() {
        return crate::documented::failed_job_is_tried_again().await.unwrap();
    }
    let own = include_str!("documented.rs").split_once("\n\n").unwrap().1.replace("pub(crate) async", "async");
    assert_eq!(block("rust").replace("#[tokio::test]\n", ""), own, "docs/testing.md and documented.rs differ");
    let stage = documented();
    let mut example = Command::new(std::env::current_exe().unwrap());
    example.args(["--exact", "testing::documented_example_runs"]).current_dir(stage.folder.path());
    example.envs([(INSIDE, "1"), ("TIDEMARK_NO_BUILD", "1")]).env("TIDEMARK_BIN_DIR", test_functions());
    let output = example.output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success() && text.contains("1 passed"), "{text}");
}

#[test]
fn documented_commands_run() {
    let stage = documented();
    let binary = std::path::Path::new(env!("CARGO_BIN_EXE_tidemark-local"));
    let path = format!("{}:{}", binary.parent().unwrap().display(), std::env::var("PATH").unwrap());
    let workflow = block("yaml");
    let (_, of_workflow) = workflow.split_once("- run: tidemark-local").unwrap();
    for command in [block("sh"), format!("tidemark-local{of_workflow}")] {
        let mut shell = Command::new("sh");
        shell.args(["-ec", &command]).current_dir(stage.folder.path()).env("PATH", &path);
        shell.env("TIDEMARK_NO_BUILD", "1").env("TIDEMARK_BIN_DIR", test_functions());
        let output = shell.output().unwrap();
        let (text, errors) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
        assert!(output.status.success() && text.contains("/things/7"), "{command}: {text} {errors}");
    }
}
