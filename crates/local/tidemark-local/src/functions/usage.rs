//! The time and the memory of an invocation.

use std::time::Duration;

use super::log_tail;
use crate::stack::Function;

/// The time and memory of an invocation.
pub(super) struct Usage {
    pub(super) duration: Duration,
    /// The init phase, if the invocation started the instance.
    pub(super) init: Option<Duration>,
    pub(super) memory: Memory,
    /// What the function printed, if the caller wants it.
    pub(super) printed: Option<String>,
}

impl Usage {
    /// Logs Lambda's REPORT line.
    pub(super) fn log(&self, function: &Function, request_id: &str) {
        if tracing::enabled!(tracing::Level::INFO) {
            tracing::info!("{} | {}", function.logical_id, self.report(function, request_id));
        }
    }

    /// The end of the invocation's log, if the caller wants it.
    pub(super) fn tail(&self, function: &Function, request_id: &str) -> Option<String> {
        let (printed, report) = (self.printed.as_ref()?, self.report(function, request_id));
        let log =
            format!("START RequestId: {request_id} Version: $LATEST\n{printed}END RequestId: {request_id}\n{report}\n");
        Some(log_tail::tail(&log).to_owned())
    }

    /// What Lambda would bill, milliseconds.
    pub(super) fn billed_ms(&self) -> u128 {
        (self.duration + self.init.unwrap_or_default()).as_micros().div_ceil(1000)
    }

    /// Lambda's REPORT line.
    fn report(&self, function: &Function, request_id: &str) -> String {
        let Self { duration, init, memory, .. } = self;
        let memory_size_mib = function.memory_size_mib;
        let billed_ms = self.billed_ms();
        let used = memory.max_mib().map_or_else(|| "unknown".to_owned(), |used| format!("{used} MB"));
        let init = init.map_or_else(String::new, |init| format!("  Init Duration: {:.2} ms", init.as_secs_f64() * 1e3));
        format!(
            "REPORT RequestId: {request_id}  Duration: {:.2} ms  Billed Duration: {billed_ms} ms  Memory Size: {memory_size_mib} MB  Max Memory Used: {used}{init}",
            duration.as_secs_f64() * 1e3,
        )
    }
}

/// The memory of a process, read on demand: reading it takes longer than a short invocation.
#[derive(Debug, Clone, Copy)]
pub struct Memory {
    pid: Option<u32>,
    read: Option<u64>,
}

impl Memory {
    /// The memory of the process with this id.
    pub(super) fn of(pid: Option<u32>) -> Self {
        Self { pid, read: None }
    }

    /// Reads it now, because the process is about to end.
    pub fn keep(&mut self) {
        self.read = self.max_mib();
    }

    /// The peak memory, MiB, rounded up; `None` if the system does not report it.
    pub fn max_mib(&self) -> Option<u64> {
        if self.read.is_some() {
            return self.read;
        }
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.pid?)).ok()?;
        let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
        let kib: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
        Some(kib.div_ceil(1024))
    }
}
