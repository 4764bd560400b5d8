//! `tidemark`: what an operator of the suite does by hand.

use std::process::ExitCode;

use clap::Parser;
use tidemark_cli::{Command, Outcome, run};

#[tokio::main(flavor = "current_thread")]
async fn main() -> ExitCode {
    match run(Command::parse()).await {
        Ok(Outcome::Fine) => ExitCode::SUCCESS,
        Ok(Outcome::Differences | Outcome::Unreadable | Outcome::Rejected) => ExitCode::from(1),
        Err(error) => {
            eprintln!("tidemark: {error:#}");
            ExitCode::from(2)
        }
    }
}
