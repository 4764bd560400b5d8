//! `--debug`: a function whose one process waits at its start, without time limits.

use std::path::Path;
use std::process::Command;
use std::time::Duration;

use serde_json::json;
use tidemark_local::Stack;

use crate::process::function_processes;
use crate::support::{Stage, test_functions, until};

/// Longer than each time limit of the test's template.
const TOO_LONG: Duration = Duration::from_millis(1_500);

/// The test function with short time limits behind an API and a queue.
fn stage() -> Stage {
    let slow = "Slow: { Type: HttpApi, Properties: { Method: GET, Path: /slow, TimeoutInMillis: 50 } }\n";
    let job = "Job: { Type: SQS, Properties: { Queue: !GetAtt Jobs.Arn } }";
    let stage = Stage::new("ReservedConcurrentExecutions: 5", &format!("{slow}{job}"));
    stage.replace("Timeout: 29", "Timeout: 1");
    stage.add_resources("  Jobs: { Type: AWS::SQS::Queue, Properties: { VisibilityTimeout: 1 } }");
    stage
}

/// Whether a process is stopped by a signal.
fn is_stopped(process: &Path) -> bool {
    let status = std::fs::read_to_string(process.join("status")).unwrap_or_default();
    status.lines().any(|line| line.starts_with("State:\tT"))
}

#[tokio::test]
async fn debugged_function_waits_at_its_start_without_time_limits() {
    let stage = stage();
    let builder = Stack::template(stage.path("template.yaml")).binaries(test_functions());
    let builder = builder.with(|options| options.debug = Some("the-test_function".to_owned()));
    let stack = builder.start().await.unwrap();
    until("the stop", || matches!(&*function_processes(&stage), [only] if is_stopped(only))).await;
    let processes = function_processes(&stage);
    let pid = processes[0].file_name().unwrap();
    stack.queue("Jobs").send("poison").unwrap();
    {
        let api = stack.http("ServerlessHttpApi");
        let calls = async { tokio::join!(api.get("/slow?do=answer"), stack.invoke("TestFunction", json!({ "n": 1 }))) };
        let mut calls = std::pin::pin!(calls);
        assert!(tokio::time::timeout(TOO_LONG, &mut calls).await.is_err(), "nothing runs, and nothing gives up");
        assert!(Command::new("kill").arg("-CONT").arg(pid).status().unwrap().success());
        let (answer, result) = calls.await;
        assert_eq!((answer.unwrap().status, result.unwrap()), (418, json!({ "n": 1 })));
    }
    let slept =
        stack.invoke("TestFunction", json!({ "do": "sleep", "ms": TOO_LONG.as_millis() as u64 })).await.unwrap();
    assert_eq!((slept, function_processes(&stage)), (json!("slept"), processes));
    // It was received once meanwhile, and comes again after the queue's own time-out.
    stage.until("the first delivery", |stage| !stage.recording().is_empty()).await;
    let counts = |stage: &Stage| {
        let recording = stage.recording();
        let count = |event: &serde_json::Value| event["Records"][0]["attributes"]["ApproximateReceiveCount"].clone();
        recording.iter().map(count).take(2).collect::<Vec<_>>()
    };
    stage.until("the second delivery", |stage| counts(stage) == [json!("1"), json!("2")]).await;
    stack.stop().await;
    assert!(function_processes(&stage).is_empty());
}

#[tokio::test]
async fn stopped_process_of_a_debugged_function_ends_with_the_stack() {
    let stage = stage();
    let running = stage.try_start(&["--debug=TestFunction"]).await.unwrap();
    until("the stop", || function_processes(&stage).iter().any(|process| is_stopped(process))).await;
    running.stop().await;
    assert!(function_processes(&stage).is_empty());
}

#[tokio::test]
async fn debugging_an_unknown_function_is_refused_with_all_names() {
    let error = stage().try_start(&["--debug=Nobody"]).await.unwrap_err().to_string();
    assert_eq!(error, "--debug Nobody: no function of this name runs here; these do: TestFunction");
}
