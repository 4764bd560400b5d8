//! `okusuri-migrate control`: pauses a running command, or changes its rate.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use clap::Args;
use serde::{Deserialize, Serialize};
use serde_json::json;
use tokio::task::JoinHandle;

use super::{METRICS, Pace};
use crate::run::{Run, RunFolderArgument};
use crate::{Failure, PhaseOutcome, Report};

/// The name of the file that a running command reads again and again.
const FILE: &str = "control.json";

/// How often it is read.
const INTERVAL: Duration = Duration::from_millis(300);

/// The run, and what to change.
#[derive(Debug, Args)]
pub(crate) struct Arguments {
    #[command(flatten)]
    folder: RunFolderArgument,
    /// The new rate of the running command, in the unit of its own `--rate`.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    rate: Option<u32>,
    /// Pauses the running command, and those that begin later.
    #[arg(long, conflicts_with = "resume")]
    pause: bool,
    /// Ends the pause.
    #[arg(long)]
    resume: bool,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct Control {
    paused: bool,
    rate: Option<u32>,
}

/// The command.
pub(crate) fn run(arguments: Arguments) -> Result<Report, Failure> {
    let run = Run::open_existing(&arguments.folder)?;
    let before: Control = run.read(FILE)?.unwrap_or_default();
    let paused = (before.paused || arguments.pause) && !arguments.resume;
    let control = Control { paused, rate: arguments.rate.or(before.rate) };
    if control != before {
        run.write(FILE, &control)?;
    }
    let rate = control.rate.map_or_else(|| "its own rate".to_owned(), |rate| format!("a rate of {rate}"));
    let text = if paused { "The run is paused.".to_owned() } else { format!("The run goes on, with {rate}.") };
    let json = json!({ "phase": "control", "paused": paused, "rate": control.rate });
    Ok(Report { outcome: PhaseOutcome::Done, json, text })
}

/// Applies the operator's changes to a pace until it is dropped.
#[derive(Debug)]
pub(crate) struct Controlled(JoinHandle<()>);

impl Drop for Controlled {
    fn drop(&mut self) {
        self.0.abort();
    }
}

impl Pace {
    /// Begins to follow the run's control file, and shows the pace in the metrics. A rate that was
    /// set for an earlier command is forgotten, and a pause is kept.
    pub(crate) fn follow(self: &Arc<Self>, run: &Run) -> Result<Controlled, Failure> {
        let before: Control = run.read(FILE)?.unwrap_or_default();
        if before.rate.is_some() {
            run.write(FILE, &Control { rate: None, ..before.clone() })?;
        }
        if before.paused {
            self.change(true, None);
            crate::terminal::tell("The run is paused: `control --resume` lets it go on.");
        }
        let _ = METRICS.try_with(|metrics| metrics.show_pace(self));
        let (pace, path): (_, PathBuf) = (Arc::clone(self), run.path(FILE));
        Ok(Controlled(tokio::spawn(async move {
            loop {
                tokio::time::sleep(INTERVAL).await;
                // The file is replaced as a whole, so it is never read half written.
                let text = tokio::fs::read(&path).await.unwrap_or_default();
                if let Ok(control) = serde_json::from_slice::<Control>(&text) {
                    pace.change(control.paused, control.rate);
                }
            }
        })))
    }
}
