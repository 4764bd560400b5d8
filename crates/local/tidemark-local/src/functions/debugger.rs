//! `--debug`: an instance that waits at its start for a debugger.

use std::time::Duration;

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

/// Linux's rule about who may attach: 0, or only to programs that the debugger started.
///
/// Source: <https://docs.kernel.org/admin-guide/LSM/Yama.html>.
const PTRACE_SCOPE: &str = "/proc/sys/kernel/yama/ptrace_scope";

/// How often to look for a debugger.
const POLL_INTERVAL: Duration = Duration::from_millis(100);

/// Stops a process that has just begun, and says how to go on.
pub(super) fn hold(function: &str, pid: u32) {
    let Ok(process) = i32::try_from(pid).map(Pid::from_raw) else { return };
    if let Err(error) = kill(process, Signal::SIGSTOP) {
        tracing::warn!("{function} does not wait for a debugger: {error}");
        return;
    }
    tracing::warn!(
        "{function} waits for a debugger: attach to process {pid} (`lldb -p {pid}`, `gdb -p {pid}`, or an editor) and continue; `kill -CONT {pid}` goes on without one"
    );
    let scope = std::fs::read_to_string(PTRACE_SCOPE).unwrap_or_default();
    if !matches!(scope.trim(), "" | "0") {
        tracing::warn!("Linux lets only root attach: `sudo sysctl kernel.yama.ptrace_scope=0` changes that");
    }
    tokio::spawn(release(process));
}

/// Ends the stop once a debugger has the process. Otherwise Linux would stop each new thread again.
async fn release(process: Pid) {
    let mut was_traced = false;
    // Until the process has ended. Without `/proc`, the debugger alone continues it.
    while let Ok(status) = std::fs::read_to_string(format!("/proc/{process}/status")) {
        let is_traced = is_traced(&status);
        // Not at the first sight: the debugger may still wait for the stop.
        if is_traced && was_traced {
            // Fails only if the process has just ended.
            let _ = kill(process, Signal::SIGCONT);
            return;
        }
        was_traced = is_traced;
        tokio::time::sleep(POLL_INTERVAL).await;
    }
}

/// Whether a debugger is attached, by the process's file `status`.
fn is_traced(status: &str) -> bool {
    status.lines().any(|line| line.strip_prefix("TracerPid:").is_some_and(|tracer| tracer.trim() != "0"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn attached_debugger_is_seen_in_the_process_status() {
        assert!(is_traced("Name:\tf\nState:\tt (tracing stop)\nTracerPid:\t13310\nUid:\t0\n"));
        assert!(!is_traced("Name:\tf\nState:\tT (stopped)\nTracerPid:\t0\nUid:\t0\n"));
    }
}
