//! `tidemark`: the command line tool for the operator of the suite.

use std::process::ExitCode;

use clap::Parser;
use tidemark_cli::{Command, CommandOutcome, run};

#[tokio::main(flavor = "current_thread")]
async fn main() -> ExitCode {
    match run(Command::parse()).await {
        Ok(CommandOutcome::Success) => ExitCode::SUCCESS,
        Ok(CommandOutcome::Differences | CommandOutcome::Unreadable | CommandOutcome::Rejected) => ExitCode::from(1),
        Err(error) => {
            eprintln!("tidemark: {error:#}");
            ExitCode::from(2)
        }
    }
}
