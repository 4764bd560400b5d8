//! The memory that each phase of a migration takes at most, for some rows and for ten times as
//! many. Each phase is a process of its own: this program, called as `okusuri-migrate`.

use std::path::Path;
use std::process::{ExitCode, Stdio};

use anyhow::{Context, Result, ensure};
use okusuri_migrate::PRODUCT;
use postgres_server::Postgres;
use tokio::process::Command;

use super::source::Source;
use crate::report::{Better, Row};
use crate::{Effort, Folders, postgres_is_missing};

const SECTION: &str = "Migration: memory of each phase, at most";

/// The name that makes this program `okusuri-migrate`.
pub(crate) const PROGRAM: &str = "okusuri-migrate";

/// Rows of a user: a profile, logins of which another user has each too, and logs.
const ROWS_OF_A_USER: u32 = 50;

/// Memory may grow by this factor with ten times the rows: some buffers are small for few rows.
const GROWTH_MAX: f64 = 1.5;

/// The phases, in the order of a move and its rollback.
const PHASES: [&str; 11] = [
    "cutover --to capture",
    "export",
    "transform",
    "load",
    "check",
    "cutover --to dual",
    "cutover --to dual --compare",
    "cutover --to 10%",
    "cutover --to 100%",
    "cutover --to 0% --compare",
    "rollback",
];

/// A row for each phase.
pub(crate) async fn rows(folders: &Folders, effort: Effort) -> Result<Vec<Row>> {
    if !Postgres::is_installed() {
        return Ok(postgres_is_missing(SECTION));
    }
    let few = peaks(&folders.work, effort.memory_rows / 10).await?;
    let many = peaks(&folders.work, effort.memory_rows).await?;
    let row = |(phase, (few, many)): (&str, (f64, f64))| {
        let row = Row::count(SECTION, phase, "MB", many);
        row.beside(Better::Lower, "a tenth of the rows", few).at_most(few * GROWTH_MAX)
    };
    Ok(PHASES.into_iter().zip(few.into_iter().zip(many)).map(row).collect())
}

/// The most megabytes of each phase.
async fn peaks(work: &Path, rows: u32) -> Result<Vec<f64>> {
    let folder = work.join(format!("memory-{rows}"));
    let source = Source::start(&folder).await?;
    let users = (rows / ROWS_OF_A_USER).max(2);
    let each = (ROWS_OF_A_USER - 1) / 2;
    let sql = format!(
        r#"
        INSERT INTO "user" (id, name, email, "emailVerified")
            SELECT n, 'User', (CASE n % 2 WHEN 0 THEN 'user' ELSE 'USER' END) || n / 2 || '@example.com', true
            FROM generate_series(1, {users}) AS n;
        INSERT INTO account (id, "accountId", "providerId", "userId")
            SELECT user_id || '-' || n, user_id / 2 || '-' || n, 'google', user_id
            FROM generate_series(1, {users}) AS user_id, generate_series(1, {each}) AS n;
        INSERT INTO medication_logs (user_id, has_bleeding, created_at, updated_at)
            SELECT user_id, n % 7 = 0, timestamptz '2025-01-01' + n * interval '1 day', timestamptz '2025-01-01' + n * interval '1 day'
            FROM generate_series(1, {users}) AS user_id, generate_series(1, {each} + 1) AS n;
        CREATE INDEX ON account ("userId");
        CREATE INDEX ON medication_logs (user_id);
        CREATE INDEX ON session ("userId");
        CREATE INDEX ON notification_settings (user_id);
        ANALYZE;"#
    );
    source.client.batch_execute(&sql).await?;
    let mut peaks = Vec::new();
    for phase in PHASES {
        eprintln!("  {rows} rows: {phase}");
        if phase == "cutover --to dual" {
            // A backlog: a change of each user and more.
            let sql = "UPDATE medication_logs SET has_bleeding = NOT has_bleeding WHERE id % 10 = 0";
            source.client.batch_execute(sql).await?;
        }
        peaks.push(peak(&source, phase).await?);
    }
    source.engine.shutdown().await;
    std::fs::remove_dir_all(&folder)?;
    Ok(peaks)
}

async fn peak(source: &Source, phase: &str) -> Result<f64> {
    let mut command = Command::new(std::env::current_exe()?);
    command.arg0(PROGRAM).args(source.command(phase)?).stderr(Stdio::inherit());
    let output = command.output().await?;
    let text = String::from_utf8_lossy(&output.stdout);
    // 1: the report needs review, because rows want the same keys.
    ensure!(matches!(output.status.code(), Some(0 | 1)), "{phase}: {text}");
    let kilobytes = text.lines().rev().find_map(|line| line.strip_prefix("VmHWM:")?.trim().strip_suffix(" kB"));
    let kilobytes: f64 = kilobytes.context("the process did not tell its memory")?.parse()?;
    Ok(kilobytes / 1024.0)
}

/// The migration's program, which tells at its end how much memory it took.
pub(crate) async fn program() -> ExitCode {
    let code = tidemark_migrate::main(PRODUCT).await;
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    println!("{}", status.lines().find(|line| line.starts_with("VmHWM:")).unwrap_or_default());
    code
}
