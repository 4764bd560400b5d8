//! The local stack as a process: started as `make run` starts it, on free ports, and killed when
//! dropped.

use std::fs::File;
use std::io::{BufRead, BufReader};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};
use aws_sdk_dynamodb::Client;
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use reqwest::redirect::Policy;
use reqwest::{Method, StatusCode};
use serde_json::Value;
use tempfile::TempDir;
use tidemark_local::dynamodb::{Identity, client, streams_client};

use crate::database::{external_engine_url, unique_identity};
use crate::push::VAPID_KEY;

/// How long anything may take that happens by itself, on the slowest machine that should still
/// pass.
pub const PATIENCE: Duration = Duration::from_secs(120);

/// How long the stack lets a command run.
const COMMAND_PATIENCE: Duration = Duration::from_secs(300);

/// The staff's token of a stack of tests, and of the sample events of shop and journal.
pub const STAFF_TOKEN: &str = "token-of-the-sample-events";

/// The operator's token, and that of the sample events of people's clicks.
pub const OPERATOR_TOKEN: &str = "operator-token-of-the-sample-events";

/// The token of the health administration, and that of its sample events.
pub const HEALTH_TOKEN: &str = "health-token-of-the-sample-events";

/// What signs the game's tokens in a stack of tests that keeps its data, and those in the sample
/// events.
pub const GAME_KEY: &str = "key-of-the-sample-events";

/// A running stack.
#[derive(Debug)]
pub struct Stack {
    process: Child,
    http: String,
    dynamodb: String,
    identity: Identity,
    ports: [u16; 2],
    client: reqwest::Client,
    /// Kept as long as anybody may come back to it.
    data: Option<TempDir>,
}

/// An answer: status, content type and body.
#[derive(Debug, Clone, PartialEq)]
pub struct Answer {
    /// HTTP's status.
    pub status: StatusCode,
    /// The content type, empty when there is none.
    pub content_type: String,
    /// The body.
    pub body: String,
}

impl Answer {
    /// The body as JSON; `null` when it is none.
    pub fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap_or_default()
    }

    /// The name at the end of a problem's type.
    pub fn problem(&self) -> String {
        let problem = self.json()["type"].as_str().unwrap_or_default().to_owned();
        problem.strip_prefix("urn:tidemark:problem:").unwrap_or_default().to_owned()
    }
}

impl Stack {
    /// Starts a stack that keeps nothing.
    pub async fn start() -> Result<Self> {
        Self::with(&["--in-memory"]).await
    }

    /// Starts a stack that keeps nothing, and whose environment names nobody, as a newcomer's does.
    pub async fn start_as_newcomer() -> Result<Self> {
        Self::in_folder(tempfile::tempdir()?, Identity::local(), [0, 0], &["--in-memory"]).await
    }

    /// Starts a stack with some flags beside those that every test needs.
    pub async fn with(flags: &[&str]) -> Result<Self> {
        let data = tempfile::tempdir()?;
        let identity = if external_engine_url().is_some() { unique_identity() } else { Identity::local() };
        Self::in_folder(data, identity, [0, 0], flags).await
    }

    /// Starts a stack whose API keeps its address when it is killed and started again, so that
    /// clients can reconnect.
    pub async fn at_lasting_address() -> Result<Self> {
        Self::in_folder(tempfile::tempdir()?, Identity::local(), [crate::free_port(), 0], &[]).await
    }

    /// Starts a stack whose data lie on a file system of 16 MB, in a mount namespace of its own.
    pub async fn on_a_small_disk() -> Result<Self> {
        let data = tempfile::tempdir()?;
        let mut command = Command::new("unshare");
        command.args(["--user", "--map-root-user", "--mount", "bash", "-c"]);
        command.arg(r#"mount -t tmpfs -o size=16m tmpfs "$0" && exec "$@""#).arg(data.path());
        command.arg(binary("tidemark-local")?);
        Self::run(command, data, Identity::local(), [0, 0], &[]).await
    }

    /// The data folder as the stack sees it.
    pub fn disk(&self) -> Result<PathBuf> {
        let data = self.data.as_ref().context("the stack has no data")?.path().strip_prefix("/")?;
        Ok(PathBuf::from(format!("/proc/{}/root", self.process.id())).join(data))
    }

    async fn in_folder(data: TempDir, identity: Identity, ports: [u16; 2], flags: &[&str]) -> Result<Self> {
        let secrets = data.path().join("secrets");
        std::fs::create_dir_all(&secrets)?;
        std::fs::write(secrets.join("GameKeySecret"), GAME_KEY)?;
        std::fs::write(secrets.join("VapidKeySecret"), VAPID_KEY)?;
        Self::run(Command::new(binary("tidemark-local")?), data, identity, ports, flags).await
    }

    /// Starts the stack's program.
    async fn run(
        mut command: Command,
        data: TempDir,
        identity: Identity,
        ports: [u16; 2],
        flags: &[&str],
    ) -> Result<Self> {
        let log = data.path().join("log");
        command
            .args([format!("--port={}", ports[0]), format!("--dynamodb-port={}", ports[1])])
            .args(["--s3-port=0", "--no-build", "--staff-token", STAFF_TOKEN, "--operator-token", OPERATOR_TOKEN])
            .args(["--health-token", HEALTH_TOKEN, "--data-dir"])
            .arg(data.path())
            .args(flags)
            .args(external_engine_url().map(|url| format!("--dynamodb-url={url}")))
            .current_dir(crate::repository())
            .stdout(Stdio::piped())
            .stderr(File::create(&log)?);
        // The embedded engine asks nobody who he is; another one keeps tests apart by it.
        for (name, value) in [
            ("AWS_REGION", &identity.region),
            ("AWS_ACCESS_KEY_ID", &identity.access_key_id),
            ("AWS_SECRET_ACCESS_KEY", &identity.secret_access_key),
        ] {
            if identity == Identity::local() {
                command.env_remove(name)
            } else {
                command.env(name, value)
            };
        }
        let mut process = command.spawn()?;
        let output = process.stdout.take().context("the stack has no output")?;
        let (ready, is_ready) = tokio::sync::oneshot::channel();
        // Goes on reading after the last start-up line: a full pipe would stop the stack.
        std::thread::spawn(move || {
            let mut ready = Some(ready);
            for line in BufReader::new(output).lines().map_while(Result::ok) {
                if line.starts_with("ready")
                    && let Some(ready) = ready.take()
                {
                    let url = line.split_whitespace().find(|word| word.starts_with("http://"));
                    let _ = ready.send(url.map(|url| url.trim_end_matches('/').to_owned()));
                }
            }
        });
        let mut stack = Self {
            process,
            http: String::new(),
            dynamodb: String::new(),
            identity,
            ports,
            // A redirect is an answer, and not to be followed behind a test's back.
            client: reqwest::Client::builder().redirect(Policy::none()).build()?,
            data: Some(data),
        };
        let ready = tokio::time::timeout(PATIENCE, is_ready).await.context("the stack is not ready in time")?;
        let said = || std::fs::read_to_string(&log).unwrap_or_default();
        stack.http = ready
            .with_context(|| format!("the stack has ended: {}", said()))?
            .context("the line `ready` names no address")?;
        let health = stack.get("/_local/health").await?.json();
        let dynamodb = health["addresses"]["dynamodb"].as_str();
        stack.dynamodb = dynamodb.with_context(|| format!("no address of DynamoDB in {health}"))?.to_owned();
        Ok(stack)
    }

    /// Kills the stack like a power cut, and restarts it with these flags on the same data. Its
    /// addresses are others, except that of [`Stack::at_lasting_address`].
    pub async fn restart_after_sigkill(mut self, flags: &[&str]) -> Result<Self> {
        self.process.kill()?;
        self.process.wait()?;
        let data = self.data.take().context("the stack has no data")?;
        Self::in_folder(data, self.identity.clone(), self.ports, flags).await
    }

    /// Ends the stack as Ctrl-C does; it has to end well.
    pub fn stop(mut self) -> Result<()> {
        kill(Pid::from_raw(self.process.id().try_into()?), Signal::SIGINT)?;
        let start = Instant::now();
        while start.elapsed() < PATIENCE {
            if let Some(status) = self.process.try_wait()? {
                ensure!(status.success(), "the stack ended with {status}");
                return Ok(());
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        bail!("the stack does not stop");
    }

    /// The address of the API and the page.
    pub fn url(&self) -> &str {
        &self.http
    }

    /// The address of DynamoDB.
    pub fn dynamodb_url(&self) -> &str {
        &self.dynamodb
    }

    /// A client of the stack's DynamoDB, as a foreign program would have one.
    pub fn dynamodb(&self) -> Client {
        client(&self.dynamodb, &self.identity)
    }

    /// One of its tables, as the store reads and writes it.
    pub fn table(&self, name: &str) -> store_base::Table {
        store_base::Table::new(self.dynamodb(), name)
    }

    /// A client of its streams.
    pub fn streams(&self) -> aws_sdk_dynamodbstreams::Client {
        streams_client(&self.dynamodb, &self.identity)
    }

    /// A `GET` without a token.
    pub async fn get(&self, path: &str) -> Result<Answer> {
        self.request(Method::GET, path, &[], None).await
    }

    /// A `GET` with a token.
    pub async fn get_with(&self, token: &str, path: &str) -> Result<Answer> {
        self.request(Method::GET, path, &[("authorization", &format!("Bearer {token}"))], None).await
    }

    /// A `POST` of some JSON.
    pub async fn post(&self, path: &str, body: &Value) -> Result<Answer> {
        self.request(Method::POST, path, &[("content-type", "application/json")], Some(body.to_string())).await
    }

    /// Any request.
    pub async fn request(
        &self,
        method: Method,
        path: &str,
        headers: &[(&str, &str)],
        body: Option<String>,
    ) -> Result<Answer> {
        let patience = if path.starts_with("/_local/commands/") { COMMAND_PATIENCE } else { PATIENCE };
        let mut request = self.client.request(method, format!("{}{path}", self.http)).timeout(patience);
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        if let Some(body) = body {
            request = request.body(body);
        }
        let answer = request.send().await?;
        let content_type = answer.headers().get("content-type").and_then(|value| value.to_str().ok());
        let content_type = content_type.unwrap_or_default().to_owned();
        Ok(Answer { status: answer.status(), content_type, body: answer.text().await? })
    }

    /// Invokes a function with an event, as `cargo lambda invoke` does. `Err` is the function's
    /// error.
    pub async fn invoke(&self, function: &str, event: &Value) -> Result<Result<Value, Value>> {
        let path = format!("{}/2015-03-31/functions/{function}/invocations", self.http);
        let answer = self.client.post(path).timeout(PATIENCE).body(event.to_string()).send().await?;
        let failed = answer.headers().contains_key("x-amz-function-error");
        ensure!(answer.status().is_success(), "{}", answer.text().await?);
        let payload = answer.json().await?;
        Ok(if failed { Err(payload) } else { Ok(payload) })
    }

    /// Switches the stack's faults.
    pub async fn set_faults(&self, faults: &Value) -> Result<()> {
        let json = [("content-type", "application/json")];
        let answer = self.request(Method::PUT, "/_local/faults", &json, Some(faults.to_string())).await?;
        ensure!(answer.status.is_success(), "{answer:?}");
        Ok(())
    }

    /// Deletes the expired items now, and returns their number.
    pub async fn delete_expired(&self) -> Result<u64> {
        let answer = self.request(Method::DELETE, "/_local/expired", &[], None).await?;
        answer.json()["expiredItems"].as_u64().with_context(|| format!("{answer:?}"))
    }

    /// Asks until the answer is the expected one, and fails with the last one when it never is.
    pub async fn wait_for(&self, path: &str, expected: &Value) -> Result<()> {
        let (mut since, mut last) = (Instant::now(), Value::Null);
        loop {
            let answer = self.get(path).await?;
            let found = answer.json();
            if found == *expected {
                return Ok(());
            }
            // What still moves may be on its way, however slow the machine is.
            if found != last {
                (since, last) = (Instant::now(), found);
            }
            ensure!(since.elapsed() < PATIENCE, "{path}: expected {expected}, and it stays {answer:?}");
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    }

    /// Asks until the history of the sample events' games is there: both turns of the finished one,
    /// with their drawings packed, and its place among its players' games.
    pub async fn wait_for_games(&self) -> Result<()> {
        let header = ("authorization", &*format!("Bearer {}", Self::player_token()));
        let (game, player) = (crate::games::game(3), crate::games::player(0));
        for (path, items) in [(format!("/games/{game}/turns"), 2), (format!("/players/{player}/games"), 1)] {
            let start = Instant::now();
            loop {
                let answer = self.request(Method::GET, &path, &[header], None).await?;
                if answer.json()["items"].as_array().is_some_and(|found| found.len() == items) {
                    break;
                }
                ensure!(start.elapsed() < PATIENCE, "{path}: expected {items} items, and it stays {answer:?}");
                tokio::time::sleep(Duration::from_millis(50)).await;
            }
        }
        Ok(())
    }

    /// The token of player 0 in the sample events, good for a stack that keeps its data.
    pub fn player_token() -> String {
        let event = crate::sample_event("game-api", "chat");
        let header = event["headers"]["authorization"].as_str().unwrap_or_default();
        header.trim_start_matches("Bearer ").to_owned()
    }
}

impl Drop for Stack {
    fn drop(&mut self) {
        // Whatever the test left running; one that has ended is no error worth a word.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// A binary of the workspace, which `make test` builds before the tests run.
pub fn binary(name: &str) -> Result<PathBuf> {
    let this = std::env::current_exe()?;
    let folder = this.parent().context("a program lies in a folder")?;
    // A test lies in target/<profile>/deps, another program beside those that it starts.
    let folder = folder.parent().filter(|_| folder.ends_with("deps")).unwrap_or(folder);
    let binary = folder.join(name);
    ensure!(binary.is_file(), "{} is missing: `make binaries MORE={name}` builds it", binary.display());
    Ok(binary)
}
