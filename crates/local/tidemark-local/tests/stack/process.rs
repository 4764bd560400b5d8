//! The real binary: its start-up text, its ports, and its remains after it ends.

use std::fs::Permissions;
use std::io::{BufRead, BufReader};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use crate::support::Stage;

pub(crate) struct Stack {
    pub(crate) process: Child,
    banner: Vec<String>,
}

impl Stack {
    fn start(stage: &Stage) -> Self {
        Self::start_with(stage, &[])
    }

    fn start_with(stage: &Stage, more: &[&str]) -> Self {
        Self::run(command(stage, more).stderr(Stdio::null()))
    }

    /// Starts a stack and waits until it is ready.
    pub(crate) fn run(command: &mut Command) -> Self {
        let mut process = command.stdout(Stdio::piped()).spawn().unwrap();
        let lines = BufReader::new(process.stdout.take().unwrap()).lines().map(Result::unwrap);
        let mut banner = Vec::new();
        for line in lines {
            banner.push(line);
            if banner.last().unwrap().starts_with("ready") {
                break;
            }
        }
        Self { process, banner }
    }

    pub(crate) fn http(&self) -> &str {
        self.banner.last().unwrap().split_whitespace().last().unwrap().trim_end_matches('/')
    }

    fn port(&self) -> &str {
        self.http().rsplit_once(':').unwrap().1
    }

    pub(crate) fn signal(&self, signal: &str) {
        let status = Command::new("kill").args([signal, &self.process.id().to_string()]).status().unwrap();
        assert!(status.success());
    }
}

impl Drop for Stack {
    /// A failed test leaves no stack behind.
    fn drop(&mut self) {
        drop(self.process.kill());
        drop(self.process.wait());
    }
}

fn command(stage: &Stage, more: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_tidemark-local"));
    command.args(stage.arguments()).args(more).stdin(Stdio::null());
    command
}

/// The number of the stack's function processes.
pub(crate) fn test_functions(stage: &Stage) -> usize {
    function_processes(stage).len()
}

/// The folders in `/proc` of the stack's function processes, found by the recording path in their
/// environment: each test has its own path.
pub(crate) fn function_processes(stage: &Stage) -> Vec<PathBuf> {
    let recording = format!("RECORDING={}", stage.path("recording.jsonl").display());
    let processes = std::fs::read_dir("/proc").unwrap().filter_map(Result::ok).map(|process| process.path());
    let is_own = |process: &PathBuf| {
        let environment = std::fs::read(process.join("environ")).unwrap_or_default();
        environment.split(|byte| *byte == 0).any(|entry| entry == recording.as_bytes())
    };
    processes.filter(is_own).collect()
}

fn until(what: &str, wanted: impl Fn() -> bool) {
    let start = Instant::now();
    while !wanted() {
        assert!(start.elapsed() < Duration::from_secs(30), "{what} did not happen");
        std::thread::sleep(Duration::from_millis(20));
    }
}

#[test]
fn the_banner_lists_functions_and_addresses_and_ends_with_ready() {
    let stage = Stage::streaming("BatchSize: 10");
    let mut stack = Stack::start(&stage);
    let banner = stack.banner.join("\n");
    for part in [
        "test_function  (TestFunction, 128 MB, 29 s)",
        "  GET /things/{id}",
        "  stream of things, up to 10 records per batch",
        "DynamoDB",
        "/data",
    ] {
        assert!(banner.contains(part), "{part} is missing in:\n{banner}");
    }
    stack.signal("-TERM");
    assert!(stack.process.wait().unwrap().success());
}

#[test]
fn the_banner_lists_the_websocket_api_and_its_routes() {
    let stage = Stage::sockets(&["$connect", "say"], "");
    let mut stack = Stack::start(&stage);
    let banner = stack.banner.join("\n");
    let address = format!("WebSocket API ws://127.0.0.1:{}/ws", stack.port());
    for part in [address.as_str(), "  WebSocket $connect", "  WebSocket say"] {
        assert!(banner.contains(part), "{part} is missing in:\n{banner}");
    }
    stack.signal("-TERM");
    assert!(stack.process.wait().unwrap().success());
}

#[tokio::test]
async fn ctrl_c_and_sigterm_end_all_processes() {
    for signal in ["-INT", "-TERM"] {
        let stage = Stage::new("", "");
        let mut stack = Stack::start(&stage);
        let url = format!("{}/2015-03-31/functions/TestFunction/invocations", stack.http());
        let order = async |order: &str| {
            let sent = reqwest::Client::new().post(&url).body(format!(r#"{{"do":"{order}"}}"#)).send().await;
            sent.unwrap().error_for_status().unwrap();
        };
        order("spawn").await;
        assert_eq!(test_functions(&stage), 2);
        order("crash").await;
        until("the end of the child", || test_functions(&stage) == 0);
        order("spawn").await;
        assert_eq!(test_functions(&stage), 2);
        stack.signal(signal);
        assert!(stack.process.wait().unwrap().success());
        until("the end of function and child", || test_functions(&stage) == 0);
    }
}

#[test]
fn instances_end_when_the_stack_is_killed_and_restart_works() {
    let stage = Stage::new("", "");
    let mut stack = Stack::start(&stage);
    assert_eq!(test_functions(&stage), 1);
    stack.signal("-KILL");
    stack.process.wait().unwrap();
    until("the end of the instances", || test_functions(&stage) == 0);
    let mut again = Stack::start(&stage);
    again.signal("-TERM");
    assert!(again.process.wait().unwrap().success());
}

#[test]
fn web_server_ends_when_the_stack_is_killed() {
    let stage = Stage::new(crate::web_adapter::LAYER, "");
    stage.replace("Binary: test_function", "Binary: web_server");
    let mut stack = Stack::start(&stage);
    assert_eq!(test_functions(&stage), 1);
    stack.signal("-KILL");
    stack.process.wait().unwrap();
    until("the end of the web server", || test_functions(&stage) == 0);
}

/// The status and the output of `tidemark-local test`.
fn test_command(stage: &Stage, flags: &[&str], script: &str) -> (Option<i32>, String) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_tidemark-local"));
    command.arg("test").args(stage.arguments()).args(flags).args(["--", "sh", "-c", script]);
    let output = command.stderr(Stdio::inherit()).output().unwrap();
    (output.status.code(), String::from_utf8(output.stdout).unwrap())
}

#[test]
fn test_command_gets_addresses_and_its_status_is_passed_on() {
    let stage = Stage::new("", "");
    let (status, output) = test_command(&stage, &[], "env; exit 3");
    assert_eq!(status, Some(3));
    for name in ["TIDEMARK_URL", "TIDEMARK_API_ServerlessHttpApi", "AWS_ENDPOINT_URL_DYNAMODB", "AWS_ENDPOINT_URL_SQS"]
    {
        assert!(output.contains(&format!("{name}=http://127.0.0.1:")), "{name}: {output}");
    }
    assert!(output.contains("AWS_REGION=us-east-1") && output.contains("AWS_SECRET_ACCESS_KEY=local"), "{output}");
    assert!(!stage.path("data").exists(), "nothing is stored");
    assert_eq!(test_command(&stage, &[], "kill -s TERM $$").0, Some(128 + 15));
    assert_eq!(test_functions(&stage), 0);
    let missing = command(&stage, &[]).arg("test").args(["--", "/no/such/command"]).output().unwrap();
    assert_eq!(missing.status.code(), Some(2), "flags belong behind `test`");
}

#[test]
fn sigterm_lets_the_tested_command_end_itself() {
    let stage = Stage::new("", "");
    // The second command ignores the signal.
    for (script, expected) in [
        ("trap 'exit 9' TERM; echo up; while :; do sleep 0.05; done", 9),
        ("trap '' TERM; echo up; exec sleep 100", 137),
    ] {
        let mut command = Command::new(env!("CARGO_BIN_EXE_tidemark-local"));
        command.arg("test").args(stage.arguments()).args(["--", "sh", "-c", script]).stdout(Stdio::piped());
        let mut stack = Stack { process: command.spawn().unwrap(), banner: Vec::new() };
        let mut line = String::new();
        BufReader::new(stack.process.stdout.take().unwrap()).read_line(&mut line).unwrap();
        assert_eq!(line, "up\n");
        stack.signal("-TERM");
        assert_eq!(stack.process.wait().unwrap().code(), Some(expected), "{script}");
    }
}

#[tokio::test]
async fn region_account_and_stack_name_reach_the_function() {
    let stage = Stage::streaming("BatchSize: 10");
    stage.add_resources(
        "  Files: { Type: AWS::S3::Bucket, Properties: { BucketName: files } }
  News:
    Type: AWS::SNS::Topic
    Properties: { TopicName: news, Subscription: [{ Protocol: lambda, Endpoint: !GetAtt TestFunction.Arn }] }",
    );
    stage.replace("      FunctionName: the-test_function\n", "");
    let place = ["--region=eu-central-1", "--account=123456789012", "--stack-name=shop"];
    let (status, output) = test_command(&stage, &place, "env");
    assert!(status == Some(0) && output.contains("AWS_REGION=eu-central-1"), "{output}");
    let mut stack = Stack::start_with(&stage, &place);
    let client = reqwest::Client::new();
    let url = format!("{}/2015-03-31/functions/TestFunction/invocations", stack.http());
    let asked = client.post(url).body(r#"{"do":"context"}"#).send().await.unwrap();
    let context: serde_json::Value = asked.json().await.unwrap();
    let arn = "arn:aws:lambda:eu-central-1:123456789012:function:shop-TestFunction";
    assert_eq!((&context["functionArn"], &context["greeting"]), (&arn.into(), &"hello from eu-central-1".into()));
    crate::support::put(context["dynamodb"].as_str().unwrap(), 1, &[]).await;
    stage.until("the record", |stage| !stage.recording().is_empty()).await;
    let record = stage.recording()[0]["Records"][0].clone();
    let stream = record["eventSourceARN"].as_str().unwrap();
    assert!(stream.starts_with("arn:aws:dynamodb:eu-central-1:123456789012:table/things/stream/"), "{stream}");
    let publish = "Action=Publish&TopicArn=arn:aws:sns:eu-central-1:123456789012:news&Message=m";
    let form = ("content-type", "application/x-www-form-urlencoded");
    let sent =
        client.post(format!("{}/_local/sns", stack.http())).header(form.0, form.1).body(publish).send().await.unwrap();
    assert!(sent.status().is_success(), "{}", sent.text().await.unwrap());
    stage.until("the message", |stage| stage.recording().len() == 2).await;
    let certificate = stage.recording()[1]["Records"][0]["Sns"]["SigningCertUrl"].to_string();
    assert!(certificate.starts_with("\"https://sns.eu-central-1.amazonaws.com/"), "{certificate}");
    if cfg!(feature = "buckets") {
        let health = reqwest::get(format!("{}/_local/health", stack.http())).await.unwrap();
        let health: serde_json::Value = health.json().await.unwrap();
        let location = format!("{}/files?location", health["addresses"]["s3"].as_str().unwrap());
        let location = reqwest::get(location).await.unwrap().text().await.unwrap();
        assert!(location.contains(">eu-central-1</LocationConstraint>"), "{location}");
    }
    stack.signal("-TERM");
    assert!(stack.process.wait().unwrap().success());
}

#[test]
fn a_start_on_a_used_port_or_folder_names_it() {
    let (stage, other) = (Stage::new("", ""), Stage::new("", ""));
    let mut stack = Stack::start(&stage);
    let refusal = |command: &mut Command| {
        let output = command.output().unwrap();
        assert!(!output.status.success());
        String::from_utf8(output.stderr).unwrap()
    };
    let port = stack.port().to_owned();
    let error =
        refusal(Command::new(env!("CARGO_BIN_EXE_tidemark-local")).args(
            other.arguments().into_iter().map(|argument| argument.replace("--port=0", &format!("--port={port}"))),
        ));
    assert!(error.contains(&format!("port {port} is in use")), "{error}");
    assert_eq!(error.matches("os error").count(), 1, "the cause once: {error}");
    let error = refusal(&mut command(&stage, &[]));
    assert!(error.contains("is in use by another stack"), "{error}");
    stack.signal("-TERM");
    stack.process.wait().unwrap();
}

#[tokio::test]
async fn malformed_answer_leaves_a_line_with_field_and_api() {
    let stage = Stage::new("", "Any: { Type: Api, Properties: { Method: POST, Path: /rest } }");
    let log = stage.path("log");
    let stack = Stack::run(command(&stage, &[]).stderr(std::fs::File::create(&log).unwrap()));
    let health = reqwest::get(format!("{}/_local/health", stack.http())).await.unwrap();
    let health: serde_json::Value = health.json().await.unwrap();
    let apis = health["addresses"]["apis"].as_array().unwrap();
    for (path, result, reason) in [
        ("/things", r#"{"statusCode":"x"}"#, "ServerlessHttpApi (Http, V2): `statusCode`"),
        ("/rest", r#"{"statusCode":200,"body":{}}"#, "ServerlessRestApi (Rest, V1): `body`"),
        ("/rest", r#"{"statusCode":200,"headers":{"x-list":[]}}"#, "ServerlessRestApi (Rest, V1): the header `x-list`"),
    ] {
        let api = apis.iter().find(|api| reason.starts_with(api["name"].as_str().unwrap())).unwrap();
        let url = format!("{}{path}?do=return", api["url"].as_str().unwrap());
        let answer = reqwest::Client::new().post(url).header("content-type", "text/plain").body(result);
        assert!(answer.send().await.unwrap().status().is_server_error(), "{result}");
        let wanted = format!("TestFunction | its result is no response of {reason}");
        until(&wanted, || std::fs::read_to_string(&log).unwrap().contains(&wanted));
    }
}

#[test]
fn missing_template_or_crate_is_refused_by_flag_or_folder() {
    let folder = tempfile::tempdir().unwrap();
    let refusal = || {
        let mut command = Command::new(env!("CARGO_BIN_EXE_tidemark-local"));
        let output =
            command.args(["--port=0", "--dynamodb-port=0", "--s3-port=0", "--in-memory"]).current_dir(&folder).output();
        let output = output.unwrap();
        assert_eq!((output.status.code(), &*output.stdout), (Some(1), &b""[..]));
        String::from_utf8(output.stderr).unwrap()
    };
    let error = refusal();
    assert!(error.starts_with("Error: cannot read the template template.yaml (--template"), "{error}");
    let template = "Resources: { F: { Type: AWS::Serverless::Function, Properties: { Runtime: provided.al2023, CodeUri: rust } } }";
    std::fs::write(folder.path().join("template.yml"), template).unwrap();
    let error = refusal();
    assert!(error.starts_with("Error: F: cargo finds no crate at ./rust: "), "{error}");
}

#[test]
fn only_the_owner_can_read_the_data_folder() {
    let stage = Stage::streaming("BatchSize: 10");
    let data = stage.path("data");
    for was in [None, Some(0o755)] {
        if let Some(mode) = was {
            std::fs::set_permissions(&data, Permissions::from_mode(mode)).unwrap();
        }
        let mut stack = Stack::start(&stage);
        stack.signal("-TERM");
        assert!(stack.process.wait().unwrap().success());
        let mode = |path: &Path| std::fs::metadata(path).unwrap().permissions().mode() & 0o777;
        assert_eq!(mode(&data), 0o700);
        let mut files = 0;
        let mut folders = vec![data.clone()];
        while let Some(folder) = folders.pop() {
            for path in std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()) {
                if path.is_dir() {
                    assert_eq!(mode(&path), 0o700, "{}", path.display());
                    folders.push(path);
                } else {
                    assert_eq!(mode(&path), 0o600, "{}", path.display());
                    files += 1;
                }
            }
        }
        assert!(files >= 2, "the database and the lock");
    }
}
