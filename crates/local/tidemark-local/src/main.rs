//! `tidemark-local`: runs the template until Ctrl-C.

use std::io::IsTerminal as _;
use std::process::ExitCode;

use anyhow::Context as _;
use clap::Parser;
use tidemark_local::cli::{CheckFormat, Command, CommandLine};
use tidemark_local::startup::{RunningStack, read_template, suggested_policies};
use tidemark_local::{banner, findings, reload, test_command};
use tokio::signal::unix::{SignalKind, signal};
use tracing_subscriber::filter::Targets;
use tracing_subscriber::layer::SubscriberExt as _;
use tracing_subscriber::util::SubscriberInitExt as _;
use tracing_subscriber::{Layer as _, fmt};

/// The emulator warns about every error response, also about expected ones.
const LOG: &str = "info,dynoxide=error";

/// The same for `test`, whose command has its own output.
const TEST_LOG: &str = "warn,dynoxide=error";

// One worker: most work is passing messages between processes, and a message that another thread
// must take first costs more than it gains. Long work has threads of its own.
#[tokio::main(worker_threads = 1)]
async fn main() -> ExitCode {
    match run().await {
        Ok(code) => code,
        Err(error) => {
            eprintln!("Error: {error:#}");
            ExitCode::FAILURE
        }
    }
}

async fn run() -> anyhow::Result<ExitCode> {
    let CommandLine { command, mut options } = CommandLine::parse();
    let log = if command.is_some() { TEST_LOG } else { LOG };
    let given = std::env::var("TIDEMARK_LOG").ok().and_then(|targets| targets.parse::<Targets>().ok());
    let targets = given.map_or_else(|| log.parse(), Ok).context("the default of TIDEMARK_LOG")?;
    let lines = fmt::layer().with_target(false).with_writer(std::io::stderr);
    let lines = lines.with_ansi(std::io::stderr().is_terminal()).compact();
    tracing_subscriber::registry().with(lines.with_filter(targets)).init();
    if let Some(Command::Test { mut options, command }) = command {
        options.find_template()?;
        return Ok(ExitCode::from(test_command::run(*options, &command).await?));
    }
    options.find_template()?;
    if options.check && options.format == CheckFormat::Json {
        let read = read_template(&options);
        println!("{}", serde_json::to_string(&findings::of(&options.template, &read))?);
        return Ok(if read.is_ok() { ExitCode::SUCCESS } else { ExitCode::FAILURE });
    }
    if options.check {
        println!("{}", banner::checked(&read_template(&options)?));
        return Ok(ExitCode::SUCCESS);
    }
    if options.suggest_policies {
        print!("{}", suggested_policies(&options)?);
        return Ok(ExitCode::SUCCESS);
    }
    let mut interrupt = signal(SignalKind::interrupt()).context("cannot listen for Ctrl-C")?;
    let mut terminate = signal(SignalKind::terminate()).context("cannot listen for SIGTERM")?;

    let mut running = tokio::select! {
        running = RunningStack::start(&options) => running?,
        _ = interrupt.recv() => return Ok(ExitCode::SUCCESS),
        _ = terminate.recv() => return Ok(ExitCode::SUCCESS),
    };
    println!("{}", banner::text(&running));
    reload::keep_ports(&mut options, &running);
    let mut failed = None;
    loop {
        let template = tokio::select! {
            _ = interrupt.recv() => break,
            _ = terminate.recv() => break,
            template = reload::changed(&running, &options, failed.take()) => template,
        };
        (running, failed) = reload::replace(running, &options, template).await?;
    }
    tracing::info!("stopping");
    tokio::select! {
        () = running.stop() => {}
        // A second Ctrl-C ends the process at once; the instances end with it.
        _ = interrupt.recv() => {}
    }
    Ok(ExitCode::SUCCESS)
}
