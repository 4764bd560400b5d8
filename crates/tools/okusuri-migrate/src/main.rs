//! `okusuri-migrate`: migrates Okusuri from PostgreSQL to DynamoDB.

use std::process::ExitCode;

use clap::Parser;
use okusuri_migrate::{Command, PhaseOutcome, run};

#[tokio::main]
async fn main() -> ExitCode {
    let command = Command::parse();
    let json = command.json;
    match run(command).await {
        Ok(PhaseOutcome::Done) => ExitCode::SUCCESS,
        Ok(PhaseOutcome::NeedsReview) => ExitCode::from(1),
        Err(failure) => {
            if json {
                println!("{}", failure.json());
            }
            eprintln!("okusuri-migrate: {failure}");
            ExitCode::from(2)
        }
    }
}
