//! The local stack beside other tools that run functions on one machine: warm invocations, and the
//! time from an edit to its first answer.
//!
//! Each tool runs the same small function, built in the same profile, and is asked through Lambda's
//! Invoke API. The time of an edit is also measured with a function of this workspace.

mod workspace;

use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use clap::Parser as _;
use serde_json::json;
use tidemark_local::cli::Options;
use tidemark_local::startup::RunningStack;
use tokio::process::{Child, Command};

use crate::report::{Better, Row, median};
use crate::{Effort, Folders, repository};

const SECTION: &str = "The local stack beside other tools";

const CARGO_LAMBDA: &str = "cargo lambda watch";
const MINISTACK: &str = "MiniStack";

/// From saving a source to its first new answer.
const EDIT_S_MAX: f64 = 2.0;

/// The longest first build or start of a tool.
const PATIENCE: Duration = Duration::from_secs(1_800);

/// The pause between two questions whether a tool is ready, or has the new code.
const POLL_INTERVAL: Duration = Duration::from_millis(10);

const MANIFEST: &str = r#"[package]
name = "hello"
version = "0.1.0"
edition = "2024"

[dependencies]
lambda_runtime = { version = "1.5", default-features = false }
serde_json = "1"
tokio = { version = "1", features = ["macros", "rt"] }

[workspace]
"#;

const TEMPLATE: &str =
    "Resources: { hello: { Type: AWS::Serverless::Function, Properties: { Runtime: provided.al2023, CodeUri: . } } }\n";

const SOURCE: &str = r#"use lambda_runtime::{Error, LambdaEvent, service_fn};
use serde_json::{Value, json};

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Error> {
    lambda_runtime::run(service_fn(greet)).await
}

async fn greet(_event: LambdaEvent<Value>) -> Result<Value, Error> {
    Ok(json!({ "greeting": "GREETING" }))
}
"#;

/// The function that both edits and invocations are about.
struct Function {
    name: &'static str,
    /// The payload of each invocation.
    event: String,
    /// The file that is edited, and its content.
    file: &'static str,
    content: String,
    /// The text in it that an edit replaces. The answer contains it.
    edited: &'static str,
}

impl Function {
    /// The function that the bench makes itself.
    fn hello() -> Self {
        let (event, content) = ("{}".to_owned(), SOURCE.to_owned());
        Self { name: "hello", event, file: "src/main.rs", content, edited: "GREETING" }
    }
}

/// A tool that runs a function.
struct Tool<'a> {
    function: &'a Function,
    http: reqwest::Client,
    /// The address of the function in the Invoke API.
    url: String,
    /// The folder that it watches; none if it does not.
    project: Option<PathBuf>,
    /// Ends with this.
    _process: Option<Child>,
}

impl<'a> Tool<'a> {
    fn new(function: &'a Function, http: &str, project: Option<PathBuf>, process: Option<Child>) -> Self {
        let url = format!("{http}/2015-03-31/functions/{}/invocations", function.name);
        Self { function, http: reqwest::Client::new(), url, project, _process: process }
    }

    async fn ask(&self) -> Result<String> {
        let answer = self.http.post(&self.url).body(self.function.event.clone()).send().await?;
        Ok(answer.text().await?)
    }

    /// Asks until the answer has this text.
    async fn until(&self, text: &str) -> Result<()> {
        let start = Instant::now();
        loop {
            let answer = self.ask().await;
            if answer.as_ref().is_ok_and(|answer| answer.contains(text)) {
                return Ok(());
            }
            ensure!(start.elapsed() < PATIENCE, "{} has answered {answer:?}, not {text}", self.url);
            tokio::time::sleep(POLL_INTERVAL).await;
        }
    }

    /// The median of some warm invocations, ms.
    async fn warm_ms(&self, invocations: usize) -> Result<f64> {
        let mut all_ms = Vec::with_capacity(invocations);
        for _ in 0..invocations {
            let start = Instant::now();
            let answer = self.ask().await?;
            all_ms.push(start.elapsed().as_secs_f64() * 1_000.0);
            ensure!(answer.contains("greeting"), "{} answered {answer}", self.url);
        }
        Ok(median(&all_ms))
    }

    /// From saving the source with another text to the first answer with it, s.
    async fn edit_s(&self, text: &str) -> Result<f64> {
        let project = self.project.as_deref().context("the tool watches no sources")?;
        let Function { file, content, edited, .. } = self.function;
        let start = Instant::now();
        std::fs::write(project.join(file), content.replace(edited, text))?;
        self.until(text).await?;
        Ok(start.elapsed().as_secs_f64())
    }
}

/// Four rows: warm invocations beside both tools, and edits beside `cargo lambda watch`.
pub(crate) async fn rows(folders: &Folders, effort: Effort) -> Result<Vec<Row>> {
    let mut rows = hello_rows(folders, effort).await?;
    rows.push(workspace::row(folders, effort).await?);
    Ok(rows)
}

/// Three rows, with the small function.
async fn hello_rows(folders: &Folders, effort: Effort) -> Result<Vec<Row>> {
    let hello = Function::hello();
    let stack = start_stack(&project(&folders.work.join("hello-tidemark"))?).await?;
    let own = Tool::new(&hello, &stack.admin.addresses.http, Some(folders.work.join("hello-tidemark")), None);
    let project = project(&folders.work.join("hello-cargo-lambda"))?;
    let cargo_lambda = start_cargo_lambda(&hello, &project, &[])?;
    for tool in [&own, &cargo_lambda] {
        tool.until(hello.edited).await?;
    }
    let ministack = start_ministack(&hello, &folders.work).await?;
    ministack.until(hello.edited).await?;

    let (mut warm, mut warm_cargo, mut warm_mini) = (Vec::new(), Vec::new(), Vec::new());
    for _ in 0..effort.rounds {
        warm.push(own.warm_ms(effort.invocations).await?);
        warm_cargo.push(cargo_lambda.warm_ms(effort.invocations).await?);
        // Ten times as slow as the others, so a part of the invocations is enough.
        warm_mini.push(ministack.warm_ms(effort.invocations.div_ceil(10)).await?);
    }
    drop(ministack);
    let edits = edit_row("from an edit of a small function to its first answer", &own, &cargo_lambda, effort).await?;
    stack.stop().await;
    let warm_row = |name, other: &[f64]| {
        Row::median(SECTION, format!("warm invocation of a small function, p50, beside {name}"), "ms", &warm)
            .beside_runs(Better::Lower, name, &warm, other)
    };
    Ok(vec![warm_row(CARGO_LAMBDA, &warm_cargo), warm_row(MINISTACK, &warm_mini), edits])
}

/// Edits the function in both tools in turn.
async fn edit_row(what: &str, own: &Tool<'_>, cargo_lambda: &Tool<'_>, effort: Effort) -> Result<Row> {
    let (mut edits, mut edits_cargo) = (Vec::new(), Vec::new());
    for round in 0..effort.rounds {
        edits.push(own.edit_s(&format!("round-{round}")).await?);
        edits_cargo.push(cargo_lambda.edit_s(&format!("round-{round}")).await?);
    }
    let row = Row::median(SECTION, what, "s", &edits);
    Ok(row.beside_runs(Better::Lower, CARGO_LAMBDA, &edits, &edits_cargo).at_most(EDIT_S_MAX))
}

/// Writes the crate and its template.
fn project(folder: &Path) -> Result<PathBuf> {
    std::fs::create_dir_all(folder.join("src"))?;
    std::fs::write(folder.join("Cargo.toml"), MANIFEST)?;
    std::fs::write(folder.join("template.yaml"), TEMPLATE)?;
    std::fs::write(folder.join("src/main.rs"), SOURCE)?;
    Ok(folder.to_owned())
}

async fn start_stack(project: &Path) -> Result<RunningStack> {
    let template = format!("--template={}", project.join("template.yaml").display());
    let arguments = ["bench", "--port=0", "--dynamodb-port=0", "--s3-port=0", "--in-memory", "--watch", &template];
    Ok(RunningStack::start(&Options::parse_from(arguments)).await?)
}

/// A program of `.tools`, which `make tools` installs.
fn tool(path: &str) -> Result<PathBuf> {
    let tool = repository().join(".tools").join(path);
    ensure!(tool.is_file(), "{} is missing: call `make tools`", tool.display());
    Ok(tool)
}

fn start_cargo_lambda<'a>(function: &'a Function, project: &Path, environment: &[(&str, &str)]) -> Result<Tool<'a>> {
    let port = free_port()?;
    let mut command = Command::new(tool("bin/cargo-lambda")?);
    command.args(["lambda", "watch", "--invoke-port", &port.to_string()]).current_dir(project);
    command.envs(environment.iter().copied());
    let process =
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).kill_on_drop(true).spawn()?;
    Ok(Tool::new(function, &format!("http://127.0.0.1:{port}"), Some(project.to_owned()), Some(process)))
}

/// MiniStack with the function that the local stack has built.
async fn start_ministack<'a>(function: &'a Function, work: &Path) -> Result<Tool<'a>> {
    let (port, python) = (free_port()?, tool("ministack/bin/python")?);
    let mut command = Command::new(&python);
    command.arg(repository().join("scripts/test_cloud.py")).env("GATEWAY_PORT", port.to_string());
    command.env("BIND_HOST", "127.0.0.1").stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    let process = command.kill_on_drop(true).spawn()?;
    let (http, client) = (format!("http://127.0.0.1:{port}"), reqwest::Client::new());
    let start = Instant::now();
    while client.get(format!("{http}/_ministack/health")).send().await.is_err() {
        ensure!(start.elapsed() < PATIENCE, "MiniStack did not start");
        tokio::time::sleep(POLL_INTERVAL).await;
    }
    let archive = work.join("hello.zip");
    let zip = "import sys, zipfile; zipfile.ZipFile(sys.argv[1], 'w').write(sys.argv[2], 'bootstrap')";
    let binary = work.join("hello-tidemark/target/debug/hello");
    let zipped = Command::new(&python).args(["-c", zip]).args([&archive, &binary]).status().await?;
    ensure!(zipped.success(), "the function cannot be zipped");
    let configuration = json!({
        "FunctionName": "hello",
        "Runtime": "provided.al2023",
        "Handler": "bootstrap",
        "Role": "arn:aws:iam::000000000000:role/hello",
        "Code": { "ZipFile": STANDARD.encode(std::fs::read(&archive)?) },
    });
    let created = client.post(format!("{http}/2015-03-31/functions")).body(configuration.to_string());
    let signature =
        "AWS4-HMAC-SHA256 Credential=test/20261124/us-east-1/lambda/aws4_request, SignedHeaders=host, Signature=0";
    let created = created.header("authorization", signature).send().await?;
    if !created.status().is_success() {
        bail!("MiniStack does not create the function: {}", created.text().await?);
    }
    Ok(Tool::new(function, &http, None, Some(process)))
}

fn free_port() -> Result<u16> {
    Ok(std::net::TcpListener::bind(("127.0.0.1", 0))?.local_addr()?.port())
}
