//! `soak`: hurts the local stack for some minutes, and says whether every promise was kept: `make
//! soak MINUTES=10`.

use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use anyhow::{Context, Result};
use clap::Parser;
use soak::{Options, soak};

/// Exit code 0 when every promise was kept, 1 when one was broken, 2 when the soak could not be
/// done.
#[derive(Debug, Parser)]
struct Arguments {
    /// How long there is traffic.
    #[arg(long, default_value_t = 10, value_parser = clap::value_parser!(u32).range(1..))]
    minutes: u32,
    /// The seed of the requests and the faults.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Where the report goes, as JSON.
    #[arg(long, default_value = "target/soak.json")]
    report: PathBuf,
}

#[tokio::main]
async fn main() -> ExitCode {
    match run(&Arguments::parse()).await {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::from(1),
        Err(error) => {
            eprintln!("{error:#}");
            ExitCode::from(2)
        }
    }
}

async fn run(arguments: &Arguments) -> Result<bool> {
    let time = Duration::from_secs(60 * u64::from(arguments.minutes));
    let soaked = soak(Options { seed: arguments.seed, time, kills: arguments.minutes.max(2) }).await?;
    let report = soaked.check().await?;
    println!("{report}");
    let path = &arguments.report;
    let json = serde_json::to_vec_pretty(&report)?;
    std::fs::write(path, json).with_context(|| path.display().to_string())?;
    println!("The report is in {}.", path.display());
    Ok(report.holds())
}
