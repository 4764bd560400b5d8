//! Templates of other people, as they wrote them: most are accepted, and their functions answer an
//! event of their own trigger. A stub stands in for each function.
//!
//! The templates are not ours, so they are not in the repository. They are read from a folder
//! beside it. Without this folder, the test says so and checks nothing.

use std::collections::BTreeMap;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use aws_sdk_dynamodb::types::AttributeValue;
use clap::Parser as _;
use reqwest::Client;
use serde_json::json;
use tidemark_local::cli::Options;
use tidemark_local::dynamodb::{Identity, client};
use tidemark_local::stack::{Stack, StreamRef, Table};
use tidemark_local::startup::RunningStack;
use tidemark_local::template;

const ACCEPTED_MIN: usize = 24;
const ANSWERING_MIN: usize = 24;

/// Long, because the machine may be busy; a passing test never waits so long.
const PATIENCE: Duration = Duration::from_secs(30);

fn templates() -> Option<Vec<PathBuf>> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../../shared/templates");
    let mut paths: Vec<_> = std::fs::read_dir(folder).ok()?.map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    Some(paths)
}

#[tokio::test]
async fn most_templates_of_other_people_are_accepted_and_answer() {
    let Some(templates) = templates() else {
        // Not `eprintln`, which is hidden when a test passes.
        writeln!(std::io::stderr(), "NOT RUN: there are no templates of other people beside this repository").unwrap();
        return;
    };
    let (mut accepted, mut answering, mut told) = (0, 0, Vec::new());
    for path in &templates {
        let name = path.file_name().unwrap().to_string_lossy();
        match template::read(&std::fs::read_to_string(path).unwrap(), &BTreeMap::new()) {
            Err(refusal) => told.push(format!("{name}: {refusal}")),
            Ok(template) => {
                accepted += 1;
                match answers(path, &template.stack).await {
                    Ok(()) => answering += 1,
                    Err(problem) => told.push(format!("{name}: {problem}")),
                }
            }
        }
    }
    let told = told.join("\n");
    assert!(accepted >= ACCEPTED_MIN && answering >= ANSWERING_MIN, "{accepted} accepted, {answering} answer:\n{told}");
}

/// Runs a template with stubs, and sends an event of its own trigger.
async fn answers(path: &Path, stack: &Stack) -> Result<(), String> {
    let folder = tempfile::tempdir().unwrap();
    let examples = std::env::current_exe().unwrap().parent().and_then(Path::parent).unwrap().join("examples");
    for function in &stack.functions {
        let stub = folder.path().join(function.short_name());
        std::fs::copy(examples.join("stub_function"), stub).unwrap();
    }
    let (template, bin) = (path.to_str().unwrap(), folder.path().to_str().unwrap());
    let arguments = ["tidemark-local", "--port=0", "--dynamodb-port=0", "--s3-port=0", "--in-memory", "--no-build"]
        .map(str::to_owned);
    let own = [format!("--template={template}"), format!("--bin-dir={bin}"), "--web-dir=none".to_owned()];
    let options = Options::parse_from(arguments.into_iter().chain(own));
    let running = RunningStack::start(&options).await.map_err(|error| format!("{:#}", anyhow::Error::from(error)))?;
    let result = trigger(&running, &std::fs::read_to_string(path).unwrap(), folder.path()).await;
    running.stop().await;
    result
}

/// Sends an event of the first trigger that the template has, or invokes its first function.
async fn trigger(running: &RunningStack, yaml: &str, folder: &Path) -> Result<(), String> {
    let (stack, addresses) = (&running.stack, &running.admin.addresses);
    let functions = &stack.functions;
    if let Some(route) = functions.iter().flat_map(|function| &function.routes).next() {
        let api = addresses.apis.iter().find(|api| api.name == route.api).ok_or("its API has no address")?;
        let (method, path) = route.route_key.split_once(' ').unwrap_or(("GET", "/"));
        let path: Vec<_> = path.split('/').map(|part| if part.starts_with('{') { "x" } else { part }).collect();
        let method = if method == "ANY" { "GET" } else { method };
        let request = Client::new().request(method.parse().unwrap(), format!("{}{}", api.url, path.join("/")));
        let request = request.header("authorization", "stub");
        let response = request.send().await.map_err(|error| error.to_string())?;
        let (status, text) = (response.status(), response.text().await.unwrap_or_default());
        return if text == "stub" { Ok(()) } else { Err(format!("answered {status} {text}")) };
    }
    if let Some(mapping) = functions.iter().flat_map(|function| &function.stream_mappings).next() {
        match &mapping.stream {
            StreamRef::Table(id) => {
                let table = stack.tables.iter().find(|table| table.logical_id == *id).ok_or("no table")?;
                put(&addresses.dynamodb, table).await;
            }
            StreamRef::Kinesis(arn) => {
                let record = json!({ "StreamARN": arn, "PartitionKey": "a", "Data": "e30=" });
                let url = format!("{}/_local/kinesis", addresses.http);
                call(&url, "Kinesis_20131202.PutRecord", &record.to_string()).await;
            }
        }
    } else if let Some(mapping) = functions.iter().flat_map(|function| &function.queue_mappings).next() {
        let body = json!({ "QueueUrl": mapping.queue, "MessageBody": "{}" });
        call(&format!("{}/_local/sqs", addresses.http), "AmazonSQS.SendMessage", &body.to_string()).await;
    } else if let Some(bucket) = stack.buckets.first().filter(|_| yaml.contains("Type: S3") || yaml.contains("aws.s3"))
    {
        let url = format!("{}/{}/folder/object.png", addresses.s3.as_ref().ok_or("no buckets")?, bucket.name);
        let status = Client::new().put(url).body("content").send().await.map_err(|error| error.to_string())?.status();
        assert!(status.is_success(), "{status}");
    } else {
        let function = functions.first().ok_or("it has no function")?;
        let url = format!("{}/2015-03-31/functions/{}/invocations", addresses.http, function.name);
        let text = Client::new().post(url).body("{}").send().await.unwrap().text().await.unwrap();
        return if text.contains("stub") { Ok(()) } else { Err(text) };
    }
    let start = Instant::now();
    let is_recording =
        |entry: std::io::Result<std::fs::DirEntry>| entry.unwrap().path().extension().is_some_and(|end| end == "jsonl");
    while !std::fs::read_dir(folder).unwrap().any(is_recording) {
        if start.elapsed() > PATIENCE {
            return Err("its function got no event".to_owned());
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    Ok(())
}

/// Puts an item with the table's keys.
async fn put(dynamodb: &str, table: &Table) {
    let mut request = client(dynamodb, &Identity::local()).put_item().table_name(&table.name);
    for key in table.create_table["KeySchema"].as_array().unwrap() {
        request = request.item(key["AttributeName"].as_str().unwrap(), AttributeValue::S("a".to_owned()));
    }
    request.send().await.unwrap();
}

async fn call(url: &str, target: &str, body: &str) {
    let request = Client::new().post(url).header("X-Amz-Target", target).body(body.to_owned());
    let request = request.header("content-type", "application/x-amz-json-1.1").header("x-amz-date", "20261124T000000Z");
    let signature =
        "AWS4-HMAC-SHA256 Credential=local/20261124/us-east-1/any/aws4_request, SignedHeaders=host, Signature=0";
    let request = request.header("authorization", signature);
    assert!(request.send().await.unwrap().status().is_success(), "{target}");
}
