//! Ends the instances of a stack that is killed.
//!
//! Most instances notice by themselves that their Runtime API is gone, when they ask for the next
//! invocation. A web server never asks, and a busy function asks late. A shell process therefore
//! knows the process groups of all instances. The end of its input is the end of the stack.

use std::io::Write as _;
use std::os::unix::process::CommandExt as _;
use std::process::{Child, Command, Stdio};
use std::sync::{Mutex, PoisonError};

/// Reads lines `start PID` and `end PID`.
const SCRIPT: &str = r#"
left=' '
while read -r change pid; do
  case $change in
    start) left="$left$pid " ;;
    end) left="${left%% "$pid" *} ${left#* "$pid" }" ;;
  esac
done
for pid in $left; do kill -s KILL -- "-$pid"; done
"#;

/// The watchdog of a stack. It starts with the first instance.
#[derive(Debug, Default)]
pub(super) struct Watchdog(Mutex<State>);

#[derive(Debug, Default)]
enum State {
    #[default]
    NotStarted,
    Running(Child),
    /// There is no shell on this machine.
    Absent,
}

impl Watchdog {
    /// Watches over the process group of an instance.
    pub(super) fn started(&self, pid: u32) {
        self.tell("start", pid);
    }

    /// Forgets a process group: its number may be used again.
    pub(super) fn ended(&self, pid: u32) {
        self.tell("end", pid);
    }

    fn tell(&self, change: &str, pid: u32) {
        let mut state = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if matches!(*state, State::NotStarted) {
            let mut shell = Command::new("sh");
            shell.args(["-c", SCRIPT]).stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null());
            // Ctrl-C in a terminal must not end it before the stack.
            shell.process_group(0);
            *state = shell.spawn().map_or(State::Absent, State::Running);
        }
        if let State::Running(Child { stdin: Some(stdin), .. }) = &mut *state {
            // Fails only if somebody has killed the shell.
            drop(writeln!(stdin, "{change} {pid}"));
        }
    }
}

impl Drop for Watchdog {
    fn drop(&mut self) {
        if let State::Running(shell) = self.0.get_mut().unwrap_or_else(PoisonError::into_inner) {
            // Closes its input first. It ends at once, and leaves no zombie.
            drop(shell.wait());
        }
    }
}
