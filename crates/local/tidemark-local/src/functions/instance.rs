//! One process of a function: starts it, gives it one invocation at a time, and ends it.

use std::collections::BTreeMap;
use std::io::ErrorKind;
use std::path::PathBuf;
use std::process::{ExitStatus, Stdio};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use bytes::Bytes;
use futures::StreamExt;
use nix::sys::signal::{Signal, killpg};
use nix::unistd::Pid;
use tokio::io::AsyncRead;
use tokio::process::{Child, Command};
use tokio::sync::watch;
use tokio_util::codec::{AnyDelimiterCodec, FramedRead};
use tokio_util::sync::{CancellationToken, DropGuard};
use tokio_util::task::TaskTracker;

use super::debugger;
use super::environment::{self, Endpoints};
use super::log_tail::{InstanceLog, LogTail};
use super::runtime_api::{Delivery, Phase, RuntimeApi};
use super::usage::Memory;
use super::watchdog::Watchdog;
use super::web_adapter::WebAdapter;
use crate::clock::Clock;
use crate::metrics::Metrics;
use crate::stack::Function;

/// The time limit of the init phase: 10 s.
///
/// Source: <https://docs.aws.amazon.com/lambda/latest/dg/lambda-runtime-environment.html>.
pub const INIT_TIMEOUT: Duration = Duration::from_secs(10);

/// Maximum length of a line of a function's output; longer lines are cut. CloudWatch accepts 1 MB,
/// which is too long for a terminal.
const LOG_LINE_BYTES_MAX: usize = 64 * 1024;

/// Number of output lines that explain a failed start.
const LAST_LINES_MAX: usize = 40;

/// The beginning of a line with metrics.
///
/// Source:
/// <https://docs.aws.amazon.com/AmazonCloudWatch/latest/monitoring/CloudWatch_Embedded_Metric_Format_Specification.html>.
const METRICS_PREFIX: &str = r#"{"_aws":"#;

/// How long to wait for the remaining output of a dead instance.
const OUTPUT_GRACE: Duration = Duration::from_millis(500);

/// How often, and after which wait, a program is started again that is open for writing.
const BUSY_TRIES_MAX: u32 = 100;
const BUSY_WAIT: Duration = Duration::from_millis(10);

/// How much is kept of what all instances of a function print.
const FUNCTION_LOG_BYTES_MAX: usize = 256 * 1024;

/// The parts that all instances of a stack share.
#[derive(Debug)]
pub struct Launcher {
    endpoints: Endpoints,
    metrics: Arc<Metrics>,
    clock: Arc<Clock>,
    /// By the function's name.
    logs: Mutex<BTreeMap<String, Arc<LogTail>>>,
    watchdog: Arc<Watchdog>,
    tasks: TaskTracker,
    stop: CancellationToken,
    instances: AtomicU64,
}

/// An instance that has finished its init phase.
#[derive(Debug)]
pub struct Instance {
    api: RuntimeApi,
    pid: Option<u32>,
    exit: watch::Receiver<Option<String>>,
    init: Option<Duration>,
    log: Arc<InstanceLog>,
    fixed_port: Arc<AtomicBool>,
    _kill_on_drop: DropGuard,
}

/// Why an instance did not reach its first invocation.
#[derive(Debug, thiserror::Error)]
pub enum InstanceStartError {
    /// The binary is missing or cannot be executed.
    #[error("cannot run {binary}: {problem}")]
    Spawn {
        /// The path that was tried.
        binary: String,
        /// The system's error.
        problem: std::io::Error,
    },
    /// No port or file descriptor is free for the instance's Runtime API.
    #[error("cannot open its Runtime API: {0}")]
    RuntimeApi(std::io::Error),
    /// The process ended before it requested an invocation.
    #[error("ended during init ({exit}){}", quoted(.output))]
    Exited {
        /// Lambda's wording of the exit status.
        exit: String,
        /// Its last lines of output.
        output: Vec<String>,
    },
    /// It reported an init error to the Runtime API.
    #[error("reported an init error: {}{}", String::from_utf8_lossy(.body), quoted(.output))]
    Reported {
        /// The runtime's `{"errorType", "errorMessage"}`.
        body: Bytes,
        /// Its last lines of output.
        output: Vec<String>,
    },
    /// It requested no invocation within [`INIT_TIMEOUT`].
    #[error("requested no invocation within {INIT_TIMEOUT:?}{}", quoted(.output))]
    TimedOut {
        /// Its last lines of output.
        output: Vec<String>,
    },
}

fn quoted(output: &[String]) -> String {
    if output.is_empty() {
        "; it printed nothing".to_owned()
    } else {
        format!("; it printed:\n  {}", output.join("\n  "))
    }
}

impl Launcher {
    /// The addresses of the services.
    pub fn endpoints(&self) -> &Endpoints {
        &self.endpoints
    }

    /// The metrics of its instances.
    pub fn metrics(&self) -> &Metrics {
        &self.metrics
    }

    /// The stack's clock.
    pub fn clock(&self) -> &Arc<Clock> {
        &self.clock
    }

    /// What all instances of a function printed last.
    pub(super) fn log(&self, function: &str) -> Arc<LogTail> {
        let mut logs = self.logs.lock().unwrap_or_else(PoisonError::into_inner);
        Arc::clone(logs.entry(function.to_owned()).or_insert_with(|| Arc::new(LogTail::new(FUNCTION_LOG_BYTES_MAX))))
    }

    /// A launcher whose instances call the services at `endpoints`.
    pub fn new(endpoints: Endpoints, metrics: Arc<Metrics>, clock: Arc<Clock>) -> Self {
        Self {
            endpoints,
            metrics,
            clock,
            logs: Mutex::default(),
            watchdog: Arc::default(),
            tasks: TaskTracker::new(),
            stop: CancellationToken::new(),
            instances: AtomicU64::new(0),
        }
    }

    /// Starts an instance and waits for the end of its init phase.
    ///
    /// # Errors
    /// [`InstanceStartError`], with the instance's output if there is any.
    pub async fn start(&self, function: &Function, binary: &PathBuf) -> Result<Instance, InstanceStartError> {
        let started = Instant::now();
        let api = RuntimeApi::open().await.map_err(InstanceStartError::RuntimeApi)?;
        let number = self.instances.fetch_add(1, Ordering::Relaxed);
        let task_root = binary.parent().unwrap_or(binary);
        let adapter = function.uses_web_adapter().then(|| WebAdapter::new(function, api.addr())).transpose();
        let adapter = adapter.map_err(InstanceStartError::RuntimeApi)?;
        let mut command = Command::new(binary);
        command
            .env_clear()
            .envs(environment::variables(function, &self.endpoints, task_root, number))
            .envs(adapter.iter().flat_map(WebAdapter::variables))
            .env("AWS_LAMBDA_RUNTIME_API", api.addr().to_string())
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            // A process group of its own: Ctrl-C in a terminal then reaches only the stack, which
            // ends its instances in order.
            .process_group(0)
            .kill_on_drop(true);
        let mut child = spawn(&mut command)
            .await
            .map_err(|problem| InstanceStartError::Spawn { binary: binary.display().to_string(), problem })?;
        let pid = child.id();
        if let (Some(pid), true) = (pid, function.is_debugged) {
            debugger::hold(function.short_name(), pid);
        }
        pid.inspect(|pid| self.watchdog.started(*pid));
        let log = Arc::new(InstanceLog::default());
        let output = TaskTracker::new();
        let logs = (Arc::clone(&log), self.log(&function.name));
        if let Some(stdout) = child.stdout.take() {
            output.spawn(forward(stdout, function.clone(), Arc::clone(&self.metrics), logs.clone()));
        }
        if let Some(stderr) = child.stderr.take() {
            output.spawn(forward(stderr, function.clone(), Arc::clone(&self.metrics), logs));
        }
        output.close();
        let kill = self.stop.child_token();
        let (exit_sender, exit) = watch::channel(None);
        self.tasks.spawn(watch_over(child, output, kill.clone(), exit_sender, Arc::clone(&self.watchdog)));
        let fixed_port = Arc::new(AtomicBool::new(false));
        if let Some(adapter) = adapter {
            if let Some(hint) = adapter.hint() {
                log.current().push(hint);
            }
            self.tasks.spawn(kill.clone().run_until_cancelled_owned(adapter.run(Arc::clone(&fixed_port))));
        }

        let mut instance = Instance { api, pid, exit, init: None, log, fixed_port, _kill_on_drop: kill.drop_guard() };
        instance.initialised(function.time_limit(INIT_TIMEOUT)).await?;
        instance.init = Some(started.elapsed());
        Ok(instance)
    }

    /// Ends all instances and waits for them.
    pub async fn stop(&self) {
        self.stop.cancel();
        self.tasks.close();
        self.tasks.wait().await;
    }
}

impl Instance {
    async fn initialised(&mut self, limit: Duration) -> Result<(), InstanceStartError> {
        let mut phase = self.api.phase();
        let log = self.log.current();
        let lines = || log.last(LAST_LINES_MAX);
        let settled = tokio::time::timeout(limit, async {
            tokio::select! {
                phase = phase.wait_for(|phase| *phase != Phase::Starting) => Ok(phase.map_or(Phase::Starting, |phase| phase.clone())),
                exit = self.exit.wait_for(Option::is_some) => Err(exit.map_or(None, |exit| exit.clone()).unwrap_or_default()),
            }
        });
        match settled.await {
            Ok(Ok(Phase::Failed(body))) => {
                // The runtime exits after its report. Its output explains the report, so wait for
                // it.
                drop(tokio::time::timeout(OUTPUT_GRACE, self.exit.wait_for(Option::is_some)).await);
                Err(InstanceStartError::Reported { body, output: lines() })
            }
            Ok(Ok(_)) => Ok(()),
            Ok(Err(exit)) => Err(InstanceStartError::Exited { exit, output: lines() }),
            Err(_) => Err(InstanceStartError::TimedOut { output: lines() }),
        }
    }

    /// Delivers an invocation to the instance.
    pub async fn deliver(&self, delivery: Delivery) {
        self.api.deliver(delivery).await;
    }

    /// Begins the log of the next invocation.
    pub(super) fn begin_log(&self) -> Arc<LogTail> {
        self.log.begin()
    }

    /// Waits for the end of the process, and returns its status in Lambda's wording: `exit status
    /// 1`, `signal: killed`.
    pub async fn exited(&self) -> String {
        let mut exit = self.exit.clone();
        exit.wait_for(Option::is_some)
            .await
            .map_or_else(|_| "unknown".to_owned(), |exit| exit.clone().unwrap_or_default())
    }

    /// Whether the process still runs, as far as is known.
    pub fn is_alive(&self) -> bool {
        self.exit.borrow().is_none()
    }

    /// The time from the start of the process to its first request for work; returned once, for the
    /// first invocation.
    pub fn take_init(&mut self) -> Option<Duration> {
        self.init.take()
    }

    /// Whether it is a web server that does not read its port from `PORT`.
    pub fn has_fixed_port(&self) -> bool {
        self.fixed_port.load(Ordering::Relaxed)
    }

    /// The memory of the process.
    pub fn memory(&self) -> Memory {
        Memory::of(self.pid)
    }
}

/// Starts a program. The kernel refuses one that was just copied, as long as a child of this process
/// holds the copy open for writing: from the child's fork until it runs its own program.
async fn spawn(command: &mut Command) -> std::io::Result<Child> {
    for _ in 0..BUSY_TRIES_MAX {
        match command.spawn() {
            Err(error) if error.kind() == ErrorKind::ExecutableFileBusy => tokio::time::sleep(BUSY_WAIT).await,
            outcome => return outcome,
        }
    }
    command.spawn()
}

async fn watch_over(
    mut child: Child,
    output: TaskTracker,
    kill: CancellationToken,
    exit: watch::Sender<Option<String>>,
    watchdog: Arc<Watchdog>,
) {
    let pid = child.id();
    let end_group = || {
        if let Some(group) = pid.and_then(|pid| i32::try_from(pid).ok()) {
            // Fails only if all processes of the group have ended.
            let _ = killpg(Pid::from_raw(group), Signal::SIGKILL);
        }
    };
    let status = tokio::select! {
        // Processes that it started may be left.
        status = child.wait() => {
            end_group();
            status
        }
        () = kill.cancelled() => {
            end_group();
            child.wait().await
        }
    };
    pid.inspect(|pid| watchdog.ended(*pid));
    // A grandchild may keep the pipes open for ever, but the instance has ended.
    drop(tokio::time::timeout(OUTPUT_GRACE, output.wait()).await);
    exit.send_replace(Some(status.map_or_else(|error| error.to_string(), describe)));
}

/// The exit status in the wording of Lambda's `Runtime.ExitError`.
fn describe(status: ExitStatus) -> String {
    use std::os::unix::process::ExitStatusExt;
    match (status.code(), status.signal()) {
        (Some(code), _) => format!("exit status {code}"),
        (None, Some(9)) => "signal: killed".to_owned(),
        (None, Some(signal)) => format!("signal: {signal}"),
        (None, None) => "unknown".to_owned(),
    }
}

/// Prints an instance's output with the function's name on each line, and keeps the last lines.
async fn forward(
    stream: impl AsyncRead + Unpin,
    function: Function,
    metrics: Arc<Metrics>,
    logs: (Arc<InstanceLog>, Arc<LogTail>),
) {
    let id = &function.logical_id;
    let codec = AnyDelimiterCodec::new_with_max_length(b"\n".to_vec(), Vec::new(), LOG_LINE_BYTES_MAX);
    let mut lines = FramedRead::new(stream, codec);
    let mut cut = false;
    loop {
        match lines.next().await {
            Some(Ok(line)) => {
                let line = String::from_utf8_lossy(&line).trim_end().to_owned();
                // Lines in CloudWatch's embedded metric format become metrics; at the info level,
                // people read the others.
                if line.starts_with(METRICS_PREFIX) {
                    tracing::debug!("{id} | {line}");
                    metrics.record_embedded(&function.name, &line);
                } else {
                    tracing::info!("{id} | {line}");
                }
                logs.0.current().push(line.clone());
                logs.1.push(line);
            }
            // The codec ends its stream once after a line that is too long, then continues with the
            // next line.
            Some(Err(_)) => cut = true,
            None if cut => cut = false,
            None => break,
        }
    }
}
