//! A function is rebuilt and replaced when its source changes.

use std::path::Path;
use std::time::{Duration, Instant};

use clap::Parser as _;
use reqwest::Client;
use tidemark_local::cli::Options;
use tidemark_local::startup::RunningStack;

const TEMPLATE: &str =
    "Resources: { Greeter: { Type: AWS::Serverless::Function, Properties: { Runtime: provided.al2023 } } }";

/// A function without dependencies, so that it builds in a moment.
const FUNCTION: &str = r#"
use std::io::{Read, Write};

fn request(text: &str) -> String {
    let api = std::env::var("AWS_LAMBDA_RUNTIME_API").unwrap();
    let mut stream = std::net::TcpStream::connect(api).unwrap();
    stream.write_all(text.as_bytes()).unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    answer
}

fn main() {
    loop {
        let path = "/2018-06-01/runtime/invocation";
        let next = request(&format!("GET {path}/next HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"));
        let id = next.lines().find_map(|line| line.strip_prefix("lambda-runtime-aws-request-id: ")).unwrap();
        let body = "\"GREETING\"";
        let head = format!("Host: localhost\r\nConnection: close\r\nContent-Length: {}", body.len());
        request(&format!("POST {path}/{id}/response HTTP/1.1\r\n{head}\r\n\r\n{body}"));
    }
}
"#;

/// Long, because the machine may be busy; a passing test never waits so long.
const PATIENCE: Duration = Duration::from_secs(120);

fn write(folder: &Path, source: &str) {
    std::fs::create_dir_all(folder.join("src")).unwrap();
    std::fs::write(folder.join("src/main.rs"), source).unwrap();
}

async fn answer(running: &RunningStack) -> String {
    let url = format!("{}/2015-03-31/functions/Greeter/invocations", running.admin.addresses.http);
    Client::new().post(url).body("{}").send().await.unwrap().text().await.unwrap()
}

#[tokio::test]
async fn a_change_of_the_source_reaches_the_next_invocation() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path();
    std::fs::write(path.join("Cargo.toml"), "[package]\nname = \"greeter\"\nedition = \"2024\"\n[workspace]\n")
        .unwrap();
    std::fs::write(path.join("template.yaml"), TEMPLATE).unwrap();
    write(path, &FUNCTION.replace("GREETING", "one"));
    let template = format!("--template={}", path.join("template.yaml").display());
    let arguments =
        ["tidemark-local", "--port=0", "--dynamodb-port=0", "--s3-port=0", "--in-memory", "--watch", &template];
    let running = RunningStack::start(&Options::parse_from(arguments)).await.unwrap();
    assert_eq!(answer(&running).await, "\"one\"");
    write(path, &FUNCTION.replace("GREETING", "two"));
    let start = Instant::now();
    loop {
        let answer = answer(&running).await;
        assert!(answer == "\"one\"" || answer == "\"two\"", "{answer}");
        if answer == "\"two\"" {
            break;
        }
        assert!(start.elapsed() < PATIENCE, "the new function did not answer");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}
