//! Runs a template in a test of its functions: `cargo test` builds them, starts the stack in memory
//! on free ports, and calls it.
//!
//! `docs/testing.md` has an example, which runs as a test.
//!
//! Names are those of the template (logical ids). Functions have only the permissions of their
//! roles; the test itself may do everything. The parts of a stack end when it is dropped.

mod http;
mod parts;
mod websocket;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;
use tidemark_engine::EngineError;

pub use self::http::{Answer, Http};
pub use self::parts::{Queue, Table};
pub use self::websocket::WebSocket;
use crate::cdk::CdkError;
use crate::cli::Options;
use crate::dynamodb::{self, Identity};
use crate::functions::Pool;
pub use crate::mail::Mail;
use crate::settle::{self, SettleError};
use crate::start_error::StartError;
use crate::startup::RunningStack;

/// A running stack of a test.
#[derive(Debug)]
pub struct Stack {
    running: RunningStack,
    patience: Duration,
}

/// A stack that is not started yet.
#[derive(Debug, Clone)]
pub struct StackBuilder {
    options: Result<Options, String>,
    patience: Duration,
}

/// Why a step of a test fails.
#[derive(Debug, thiserror::Error)]
pub enum TestError {
    /// A variable of the environment is not a valid flag.
    #[error("{0}")]
    Options(String),
    /// The folder has no template to run.
    #[error(transparent)]
    Cdk(#[from] CdkError),
    /// The stack does not start.
    #[error("the stack does not start")]
    Start(#[from] Box<StartError>),
    /// The template has no such part.
    #[error(transparent)]
    Unknown(#[from] UnknownName),
    /// What is still under way when the patience ends.
    #[error("not at rest: {}", .0.join("; "))]
    NotAtRest(Vec<String>),
    /// The function failed, or its result is no JSON.
    #[error("the function {function} failed: {error}")]
    Function {
        /// Its name.
        function: String,
        /// `{"errorType", "errorMessage"}`.
        error: Value,
    },
    /// A request got no answer, or an answer in an unexpected form.
    #[error("{0}")]
    Answer(String),
    /// The engine cannot delete expired items.
    #[error("DynamoDB")]
    Engine(#[from] EngineError),
}

/// A name that the template does not have.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the template has no {kind} {name}; it has: {known}")]
pub struct UnknownName {
    kind: &'static str,
    name: String,
    known: String,
}

impl From<SettleError> for TestError {
    fn from(error: SettleError) -> Self {
        match error {
            SettleError::NotAtRest(found) => Self::NotAtRest(found),
            SettleError::TooFar => Self::Answer(error.to_string()),
            SettleError::Engine(error) => Self::Engine(error),
        }
    }
}

impl StackBuilder {
    /// Sets a parameter of the template.
    pub fn parameter(self, name: &str, value: &str) -> Self {
        self.with(|options| options.parameters.push((name.to_owned(), value.to_owned())))
    }

    /// Uses the binaries in a folder, named like the functions, instead of building them.
    pub fn binaries(self, folder: impl Into<PathBuf>) -> Self {
        self.with(|options| (options.no_build, options.bin_dir) = (true, Some(folder.into())))
    }

    /// Sets how long the stack may take to come to rest, and a client to get a message: 30 s.
    pub fn patience(mut self, patience: Duration) -> Self {
        self.patience = patience;
        self
    }

    /// Changes any flag of the command line.
    pub fn with(mut self, change: impl FnOnce(&mut Options)) -> Self {
        if let Ok(options) = &mut self.options {
            change(options);
        }
        self
    }

    /// Builds the functions, once for all stacks of this process with the same template, and starts
    /// everything.
    ///
    /// # Errors
    /// [`TestError::Start`], [`TestError::Cdk`] and [`TestError::Options`].
    pub async fn start(self) -> Result<Stack, TestError> {
        let mut options = self.options.map_err(TestError::Options)?;
        options.find_template()?;
        options.build_once = true;
        let running = RunningStack::start(&options).await.map_err(Box::new)?;
        Ok(Stack { running, patience: self.patience })
    }
}

impl Stack {
    /// A stack of a template or of a `cdk.out` folder, in memory and on free ports. A relative path
    /// begins at the folder of the package under test.
    pub fn template(path: impl AsRef<Path>) -> StackBuilder {
        let options = Options::for_tests().map(|options| Options { template: path.as_ref().to_owned(), ..options });
        StackBuilder { options, patience: settle::PATIENCE }
    }

    /// A client of an API: an HTTP API, a REST API, a listener of a load balancer, or the URL of the
    /// function `F`, whose name is `FUrl`. An unknown name is an error of its first request.
    pub fn http(&self, api: &str) -> Http {
        let apis = &self.running.admin.addresses.apis;
        let found = apis.iter().find(|address| address.name == api);
        let names = || apis.iter().map(|address| address.name.as_str());
        Http::new(found.map(|address| address.url.clone()).ok_or_else(|| unknown("API", api, names())))
    }

    /// Connects to the WebSocket API. `query` is empty or begins with `?`.
    ///
    /// # Errors
    /// [`TestError::Unknown`] without such an API, [`TestError::Answer`] if `$connect` refuses.
    pub async fn websocket(&self, api: &str, query: &str) -> Result<WebSocket, TestError> {
        let sockets = self.running.stack.web_socket_api.as_ref();
        let known = sockets.map(|sockets| sockets.logical_id.as_str());
        match (&self.running.admin.addresses.sockets, known) {
            (Some(url), Some(own)) if own == api => WebSocket::connect(&format!("{url}{query}"), self.patience).await,
            _ => Err(unknown("WebSocket API", api, known.into_iter()).into()),
        }
    }

    /// Invokes a function and returns its result.
    ///
    /// # Errors
    /// [`TestError::Function`] if it fails, [`TestError::Unknown`], and [`TestError::Answer`] if it
    /// is throttled.
    pub async fn invoke(&self, function: &str, event: Value) -> Result<Value, TestError> {
        let pool = self.function(function)?;
        let invoked = pool.invoke(event.to_string().into()).await;
        let outcome = invoked.map_err(|error| TestError::Answer(error.to_string()))?.outcome;
        let failed = |body: &[u8]| {
            let text = || Value::from(String::from_utf8_lossy(body).into_owned());
            let error = serde_json::from_slice(body).unwrap_or_else(|_| text());
            TestError::Function { function: function.to_owned(), error }
        };
        let body = outcome.map_err(|error| failed(&error.body))?;
        serde_json::from_slice(&body).map_err(|_| failed(&body))
    }

    /// A table by its logical id or name. An unknown name is an error of its first request.
    pub fn table(&self, table: &str) -> Table {
        let tables = &self.running.stack.tables;
        let found = tables.iter().find(|own| own.logical_id == table || own.name == table);
        let names = tables.iter().map(|own| own.logical_id.as_str());
        Table::new(self.dynamodb(), found.map(|own| own.name.clone()).ok_or_else(|| unknown("table", table, names)))
    }

    /// A client of all tables.
    pub fn dynamodb(&self) -> aws_sdk_dynamodb::Client {
        dynamodb::client(&self.running.admin.addresses.dynamodb, &Identity::local())
    }

    /// A queue by its logical id or name. An unknown name is an error of its first use.
    pub fn queue(&self, queue: &str) -> Queue<'_> {
        let queues = &self.running.stack.queues;
        let found = queues.iter().find(|own| own.logical_id == queue || own.name == queue);
        let names = queues.iter().map(|own| own.logical_id.as_str());
        let arn = found.map(|own| own.arn.clone()).ok_or_else(|| unknown("queue", queue, names));
        Queue::new(&self.running.admin.queues, arn)
    }

    /// The mails that functions sent, the oldest first; the newest 200 are kept.
    pub fn mails(&self) -> Vec<Mail> {
        let mut mails = self.running.admin.mails.newest_first();
        mails.reverse();
        mails
    }

    /// The events that buses got, the oldest first: `{"bus", "busExists", "rules", "event"}`. The
    /// newest 100 are kept.
    pub fn events(&self) -> Vec<Value> {
        let mut recent = self.running.admin.buses.recent();
        let newest_first = recent["items"].as_array_mut().map(std::mem::take).unwrap_or_default();
        newest_first.into_iter().rev().collect()
    }

    /// The lines that a function printed; the last 256 KB are kept.
    ///
    /// # Errors
    /// [`TestError::Unknown`].
    pub async fn logs(&self, function: &str) -> Result<Vec<String>, TestError> {
        Ok(self.function(function)?.printed().await.lines().map(str::to_owned).collect())
    }

    /// The newest invocations of a function, the oldest first: `{"requestId", "trigger", "status",
    /// "error", "event", "answer", "log", "durationMs"}` and more. Event and answer are texts. 50 or
    /// 2 MB are kept.
    ///
    /// # Errors
    /// [`TestError::Unknown`].
    pub fn invocations(&self, function: &str) -> Result<Vec<Value>, TestError> {
        Ok(self.function(function)?.recent().whole())
    }

    /// Lets the next `times` invocations of a function fail, without running it.
    ///
    /// # Errors
    /// [`TestError::Unknown`].
    pub fn fail(&self, function: &str, times: u32) -> Result<(), TestError> {
        let name = &self.function(function)?.function().name;
        self.running.admin.faults.fail(name, times);
        Ok(())
    }

    /// Waits until nothing happens before the next call or before the clock moves. Batching windows
    /// end at once. Delays, visibility time-outs, retries of asynchronous invocations, schedules and
    /// tumbling windows stay: see [`advance`](Self::advance).
    ///
    /// # Errors
    /// [`TestError::NotAtRest`] says what is still under way when the patience ends.
    pub async fn settle(&self) -> Result<(), TestError> {
        Ok(settle::settle(&self.running.admin, self.patience).await?)
    }

    /// Moves the stack's clock, and waits until everything that is due meanwhile has happened, in
    /// its order. Then the expired items are deleted. Functions see the machine's own time, which
    /// does not move.
    ///
    /// # Errors
    /// [`TestError::NotAtRest`]; [`TestError::Answer`] for more than 100 years.
    pub async fn advance(&self, by: Duration) -> Result<(), TestError> {
        Ok(settle::advance(&self.running.admin, by, self.patience).await?)
    }

    /// Stops everything, with `$disconnect` for open connections. A stack that is only dropped ends
    /// its processes too.
    pub async fn stop(self) {
        self.running.stop().await;
    }

    fn function(&self, name: &str) -> Result<&Arc<Pool>, UnknownName> {
        let functions = &self.running.admin.functions;
        let names = || functions.all().iter().map(|pool| pool.function().logical_id.as_str());
        functions.get(name).ok_or_else(|| unknown("function", name, names()))
    }
}

fn unknown<'a>(kind: &'static str, name: &str, known: impl Iterator<Item = &'a str>) -> UnknownName {
    let known: Vec<&str> = known.collect();
    let known = if known.is_empty() { "none".to_owned() } else { known.join(", ") };
    UnknownName { kind, name: name.to_owned(), known }
}
