//! `status`: shows how far a run is.

use clap::Args;
use serde_json::{Map, Value};

use crate::load::PROGRESS;
use crate::run::{Run, RunFolderArgument};
use crate::{Failure, PhaseOutcome, Report};

/// The phases, in order.
const PHASES: [&str; 6] = ["export", "transform", "load", "check", "cutover", "rollback"];

/// The run.
#[derive(Debug, Args)]
pub struct Arguments {
    #[command(flatten)]
    folder: RunFolderArgument,
}

/// The command.
pub(crate) fn run(arguments: Arguments) -> Result<Report, Failure> {
    let run = Run::open_existing(&arguments.folder)?;
    let (mut json, mut text) = (Map::new(), Vec::new());
    for phase in PHASES {
        let report: Option<Value> = run.read(&crate::run::report_file(phase))?;
        text.push(format!("{phase}: {}", state(phase, report.as_ref())));
        json.insert(phase.to_owned(), report.unwrap_or_default());
    }
    let progress: Option<Value> = run.read(PROGRESS)?;
    let loaded = progress.as_ref().and_then(|progress| progress["loaded"].as_object());
    let loaded = loaded.map(|loaded| loaded.values().filter_map(Value::as_u64).sum::<u64>());
    text.extend(loaded.map(|loaded| format!("items loaded: {loaded}")));
    json.insert("loaded".to_owned(), loaded.into());
    Ok(Report { outcome: PhaseOutcome::Done, json: Value::Object(json), text: text.join("\n") })
}

/// The state of a phase. A cutover has a report from its first step on, which includes its phase.
fn state(phase: &str, report: Option<&Value>) -> String {
    match report {
        None => "-".to_owned(),
        Some(report) if phase == "cutover" => {
            let at = report["phase"].as_str().unwrap_or("begun");
            report["percent"].as_u64().map_or_else(|| at.to_owned(), |percent| format!("{at}, {percent}%"))
        }
        Some(_) => "done".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_cutover_reports_its_phase_and_the_other_phases_that_they_are_done() {
        assert_eq!(state("load", None), "-");
        assert_eq!(state("load", Some(&json!({ "phase": "load" }))), "done");
        assert_eq!(state("cutover", Some(&json!({ "phase": "capture", "run": "0" }))), "capture");
        assert_eq!(state("cutover", Some(&json!({ "phase": "percent", "percent": 10 }))), "percent, 10%");
    }
}
