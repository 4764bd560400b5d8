//! `--metrics-file`: how far a command is, in the text format of OpenMetrics.

use std::fmt::Write;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use indicatif::ProgressBar;

use super::Pace;
use crate::{Failure, FailureKind};

/// How often the file is written.
const INTERVAL: Duration = Duration::from_secs(1);

tokio::task_local! {
    /// The metrics of the command that runs in this task.
    pub(crate) static METRICS: Arc<Metrics>;
}

/// What the file shows.
#[derive(Debug)]
pub(crate) struct Metrics {
    phase: &'static str,
    file: PathBuf,
    shown: Mutex<Shown>,
}

#[derive(Debug, Default)]
struct Shown {
    bars: Vec<(&'static str, ProgressBar)>,
    pace: Option<Arc<Pace>>,
}

impl Metrics {
    /// Runs a command, and writes its metrics every second and at its end.
    pub(crate) async fn during<T>(
        phase: &'static str,
        file: PathBuf,
        command: impl Future<Output = T>,
    ) -> Result<T, Failure> {
        let metrics = Arc::new(Self { phase, file, shown: Mutex::default() });
        metrics.write(true)?;
        let written = Arc::clone(&metrics);
        let writer = tokio::spawn(async move {
            loop {
                tokio::time::sleep(INTERVAL).await;
                // The next second writes it again.
                let _ = written.write(true);
            }
        });
        let done = METRICS.scope(Arc::clone(&metrics), command).await;
        writer.abort();
        let _ = writer.await;
        metrics.write(false)?;
        Ok(done)
    }

    /// Shows a progress bar. A later one with the same name replaces it.
    pub(crate) fn show(&self, what: &'static str, bar: &ProgressBar) {
        let mut shown = self.shown.lock().unwrap_or_else(PoisonError::into_inner);
        shown.bars.retain(|(other, _)| *other != what);
        shown.bars.push((what, bar.clone()));
    }

    pub(super) fn show_pace(&self, pace: &Arc<Pace>) {
        self.shown.lock().unwrap_or_else(PoisonError::into_inner).pace = Some(Arc::clone(pace));
    }

    fn text(&self, is_running: bool) -> String {
        let shown = self.shown.lock().unwrap_or_else(PoisonError::into_inner);
        let (phase, mut text) = (self.phase, String::new());
        let mut family = |name: &str, kind: &str, help: &str, samples: Vec<(String, f64)>| {
            if samples.is_empty() {
                return;
            }
            let suffix = if kind == "counter" { "_total" } else { "" };
            // Writing to a text cannot fail.
            let _ = writeln!(text, "# TYPE tidemark_migrate_{name} {kind}\n# HELP tidemark_migrate_{name} {help}");
            for (labels, value) in samples {
                let _ = writeln!(text, "tidemark_migrate_{name}{suffix}{{phase=\"{phase}\"{labels}}} {value}");
            }
        };
        let bars = |value: &dyn Fn(&ProgressBar) -> Option<u64>| {
            let known = shown.bars.iter().filter_map(|(what, bar)| Some((what, value(bar)?)));
            known.map(|(what, value)| (format!(",what=\"{what}\""), value as f64)).collect::<Vec<_>>()
        };
        let one = |value: f64| vec![(String::new(), value)];
        family("running", "gauge", "1 while the command runs.", one(f64::from(is_running)));
        family("done", "gauge", "What is done so far.", bars(&|bar| Some(bar.position())));
        family("expected", "gauge", "What is to do in all.", bars(&ProgressBar::length));
        if let Some(pace) = shown.pace.as_ref().map(|pace| pace.status()) {
            family("rate", "gauge", "The limit of units a second.", pace.rate.map(one).unwrap_or_default());
            family("paused", "gauge", "1 while the operator has paused it.", one(f64::from(pace.is_paused)));
            let lag = pace.lag.map(|(lag, _)| one(lag)).unwrap_or_default();
            family("standby_lag_seconds", "gauge", "How far PostgreSQL's slowest standby is behind.", lag);
            family("throttled", "counter", "Throttled answers of DynamoDB.", one(pace.throttled as f64));
        }
        text.push_str("# EOF\n");
        text
    }

    fn write(&self, is_running: bool) -> Result<(), Failure> {
        let failed = |error| FailureKind::RunFolder.because(format!("{}: {error}", self.file.display()));
        let mut new = self.file.clone().into_os_string();
        new.push(".new");
        std::fs::write(&new, self.text(is_running)).and_then(|()| std::fs::rename(&new, &self.file)).map_err(failed)
    }
}
