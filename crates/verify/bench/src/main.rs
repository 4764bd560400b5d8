//! `bench`: the cost and speed of Tidemark, each figure beside its comparison from the same run.
//! `make bench` builds the parts and runs it; docs/benchmarks.md says how each figure is obtained.

mod activities;
mod chart;
mod click_cost;
mod cpu;
mod events;
mod feedback_cost;
mod functions;
mod game_cost;
mod game_drawing;
mod game_original_design;
mod game_party;
mod game_play;
mod game_relay;
mod game_stream;
mod hot_day;
mod journal;
mod local_tools;
mod migrate;
mod okusuri;
mod report;
mod size;
mod stack;
mod stock_refusal;
mod wire;

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

use anyhow::{Context, Result};
use clap::{Parser, ValueEnum};
use report::Row;

/// The name of the other side.
const NODE: &str = "Node.js";

/// Measures, prints a table, and writes it as JSON and as a picture.
#[derive(Debug, Parser)]
struct Arguments {
    /// Folder of the functions' binaries.
    #[arg(long)]
    functions: PathBuf,
    /// Folder of their twins on Node.js, as `npm run build` in crates/verify/bench/node makes them.
    #[arg(long)]
    node: PathBuf,
    /// Where the table goes as JSON and as a picture.
    #[arg(long, default_value = "target/bench")]
    out: PathBuf,
    /// Only these; all by default.
    #[arg(long, value_enum, value_delimiter = ',')]
    only: Vec<BenchSection>,
    /// One short round of everything: it shows that each row is there, and its times mean nothing.
    #[arg(long)]
    quick: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum BenchSection {
    ClickCost,
    FeedbackCost,
    HotDay,
    Activities,
    StockRefusal,
    Journal,
    Migrate,
    MigrateMemory,
    Okusuri,
    GameCost,
    Size,
    Cpu,
    Functions,
    Stack,
    LocalTools,
    GameRelay,
    GameCrowd,
}

/// Where things lie.
#[derive(Debug)]
struct Folders {
    functions: PathBuf,
    node: PathBuf,
    /// For what the bench itself writes.
    work: PathBuf,
}

/// How much is measured.
#[derive(Debug, Clone, Copy)]
struct Effort {
    /// Pairs of runs, of which the median is taken.
    rounds: usize,
    /// Rounds of warm invocations that do not count.
    warm_up: usize,
    /// Warm invocations in a round.
    invocations: usize,
    /// Pairs of cold starts.
    colds: usize,
    /// Batches in a round of processor time.
    batches: usize,
    /// How long the callers post in a round.
    load: Duration,
    /// Clicks in a round whose way to the statistic is timed.
    lags: usize,
    /// Batches of strokes in a round whose way to nine others is timed.
    draws: u32,
    /// Games at a time that are tried at most.
    games_max: usize,
    /// Batches of each of those games.
    crowd_draws: u32,
    /// Rounds of the game whose cost is counted; of fewer than ten, the rest is reckoned.
    game_rounds: u16,
    /// Users whose logs are migrated.
    migrated_users: u32,
    /// Changes that are replicated.
    replicated_changes: u32,
    /// Rows whose migration's memory is measured.
    memory_rows: u32,
}

const FULL: Effort = Effort {
    rounds: 7,
    warm_up: 2,
    invocations: 200,
    colds: 15,
    batches: 50,
    load: Duration::from_secs(2),
    lags: 100,
    draws: 60,
    games_max: 128,
    crowd_draws: 20,
    game_rounds: 10,
    migrated_users: 100,
    replicated_changes: 9_000,
    memory_rows: 1_000_000,
};

const QUICK: Effort = Effort {
    rounds: 1,
    warm_up: 0,
    invocations: 3,
    colds: 1,
    batches: 1,
    load: Duration::from_millis(100),
    lags: 3,
    draws: 5,
    games_max: 2,
    crowd_draws: 4,
    game_rounds: 10,
    migrated_users: 2,
    replicated_changes: 300,
    memory_rows: 1_000,
};

// As many workers as `tidemark-local` has.
#[tokio::main(worker_threads = 1)]
async fn main() -> Result<ExitCode> {
    if std::env::args().next().as_deref() == Some(migrate::memory::PROGRAM) {
        return Ok(migrate::memory::program().await);
    }
    let Arguments { functions, node, out, only, quick } = Arguments::parse();
    let effort = if quick { QUICK } else { FULL };
    std::fs::create_dir_all(&out)?;
    let absolute = |path: &Path| path.canonicalize().with_context(|| format!("{} is missing", path.display()));
    let folders = Folders { functions: absolute(&functions)?, node: absolute(&node)?, work: absolute(&out)? };

    let mut rows: Vec<Row> = Vec::new();
    for section in BenchSection::value_variants().iter().filter(|section| only.is_empty() || only.contains(section)) {
        eprintln!("measuring: {section:?}");
        rows.extend(match section {
            BenchSection::ClickCost => click_cost::rows().await?,
            BenchSection::FeedbackCost => feedback_cost::rows().await?,
            BenchSection::HotDay => hot_day::rows().await?,
            BenchSection::Activities => activities::rows().await?,
            BenchSection::StockRefusal => stock_refusal::rows().await?,
            BenchSection::Journal => journal::rows().await?,
            BenchSection::Migrate => migrate::rows(&folders, effort).await?,
            BenchSection::MigrateMemory => migrate::memory::rows(&folders, effort).await?,
            BenchSection::Okusuri => okusuri::rows().await?,
            BenchSection::GameCost => game_cost::rows(effort).await?,
            BenchSection::Size => size::rows(&folders)?,
            BenchSection::Cpu => cpu::rows(effort)?,
            BenchSection::Functions => functions::rows(&folders, effort).await?,
            BenchSection::Stack => stack::rows(&folders, effort).await?,
            BenchSection::LocalTools => local_tools::rows(&folders, effort).await?,
            BenchSection::GameRelay => game_relay::rows(&folders, effort).await?,
            BenchSection::GameCrowd => game_relay::crowd_rows(&folders, effort).await?,
        });
    }
    println!("{}", report::table(&rows));
    std::fs::write(out.join("bench.json"), serde_json::to_string_pretty(&rows)? + "\n")?;
    std::fs::write(out.join("bench.svg"), chart::svg(&rows))?;
    println!("also in {0}/bench.json and {0}/bench.svg", out.display());
    Ok(ExitCode::SUCCESS)
}

/// Says loudly that a section was not measured, which has no rows then.
fn postgres_is_missing(section: &str) -> Vec<Row> {
    eprintln!("\n*** NOT MEASURED: {section}. PostgreSQL is missing: apt-get install postgresql ***\n");
    Vec::new()
}

/// The root of the checkout.
fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../..")
}
