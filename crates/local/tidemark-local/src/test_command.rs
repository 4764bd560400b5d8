//! `tidemark-local test -- COMMAND`: runs a command beside a stack of its own, for tests in any
//! language.

use std::ffi::OsString;
use std::io::ErrorKind;
use std::os::unix::process::ExitStatusExt as _;
use std::process::ExitStatus;
use std::time::Duration;

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use tokio::process::{Child, Command};
use tokio::signal::unix::{SignalKind, signal};

use crate::cli::Options;
use crate::functions::environment;
use crate::start_error::StartError;
use crate::startup::RunningStack;

/// The statuses of a shell for a command that does not exist, and for one that does not start.
const NOT_FOUND: u8 = 127;
const NOT_RUN: u8 = 126;

/// How long a command may take to end after a SIGTERM.
const END_GRACE: Duration = Duration::from_secs(5);

/// Variables of this process that would lead an SDK elsewhere.
const REMOVED: [&str; 3] = ["AWS_PROFILE", "AWS_SESSION_TOKEN", "AWS_IGNORE_CONFIGURED_ENDPOINT_URLS"];

/// Starts a stack in memory on free ports, runs the command, stops the stack, and returns the
/// command's exit code; 128 and the number of the signal that ended it.
///
/// # Errors
/// [`StartError`] if the stack does not start.
pub async fn run(options: Options, command: &[OsString]) -> Result<u8, StartError> {
    let running = RunningStack::start(&options.in_a_test()).await?;
    let code = match command {
        [program, arguments @ ..] => conduct(program, arguments, &running).await,
        [] => NOT_FOUND,
    };
    running.stop().await;
    Ok(code)
}

async fn conduct(program: &OsString, arguments: &[OsString], running: &RunningStack) -> u8 {
    let addresses = &running.admin.addresses;
    let mut command = Command::new(program);
    command.args(arguments).kill_on_drop(true);
    for name in REMOVED {
        command.env_remove(name);
    }
    command.envs(environment::of_services(running.admin.functions.endpoints()));
    command.env("TIDEMARK_URL", &addresses.http);
    command.envs(addresses.apis.iter().map(|api| (format!("TIDEMARK_API_{}", api.name), &api.url)));
    command.envs(addresses.sockets.iter().map(|url| ("TIDEMARK_SOCKETS", url)));
    let mut child = match command.spawn() {
        Ok(child) => child,
        Err(error) => {
            eprintln!("cannot run {}: {error}", program.to_string_lossy());
            return if error.kind() == ErrorKind::NotFound { NOT_FOUND } else { NOT_RUN };
        }
    };
    // A terminal sends Ctrl-C to the command too, which decides when it ends.
    let (interrupt, terminate) = (signal(SignalKind::interrupt()), signal(SignalKind::terminate()));
    let status = match (interrupt, terminate) {
        (Ok(_interrupt), Ok(mut terminate)) => tokio::select! {
            status = child.wait() => status,
            _ = terminate.recv() => {
                end(&mut child).await
            }
        },
        _ => child.wait().await,
    };
    status.map_or(NOT_RUN, code)
}

/// Asks the command to end, and ends it if it does not.
async fn end(child: &mut Child) -> std::io::Result<ExitStatus> {
    // Both signals fail only if the command has just ended.
    if let Some(pid) = child.id().and_then(|pid| i32::try_from(pid).ok()) {
        let _ = kill(Pid::from_raw(pid), Signal::SIGTERM);
    }
    if let Ok(status) = tokio::time::timeout(END_GRACE, child.wait()).await {
        return status;
    }
    drop(child.start_kill());
    child.wait().await
}

fn code(status: ExitStatus) -> u8 {
    let signal = || status.signal().map(|signal| 128_i32.saturating_add(signal));
    status.code().or_else(signal).and_then(|code| u8::try_from(code).ok()).unwrap_or(u8::MAX)
}
