//! `tidemark demo`: fills the suite with a year that never happened, and takes it away again.
//!
//! Everything of a demo has an id that is derived from the time in its mark, or a fixed one. So
//! adding it again finds what is there, and removing it asks only for these ids.

mod clicks;
mod game;
mod okusuri;
mod shop;

use std::io::Write;
use std::net::IpAddr;

use anyhow::{Context, Result, bail, ensure};
use aws_sdk_dynamodb::Client;
use clap::Args;
use clicks_store::{DemoMark, DemoState};
use domain::EntryId;
use domain::game::GameId;
use jiff::Timestamp;
use serde_json::json;
use store_base::Table;

use crate::CommandOutcome;

/// The mail address of the user of the medication log.
const EMAIL: &str = "demo@example.com";

/// What to do, and where.
#[derive(Debug, Args)]
pub struct Arguments {
    /// Removes what the demo has added, and nothing else.
    #[arg(long)]
    remove: bool,
    /// Also removes what people changed on the demo's products: prices, stock and reservations.
    #[arg(long, requires = "remove")]
    with_changes: bool,
    /// The address of the local stack's DynamoDB. With `--stage`, AWS by default.
    #[arg(long, value_name = "URL")]
    endpoint: Option<String>,
    /// Uses a deployed stage, by its name. Without it, only a DynamoDB on this machine is accepted.
    #[arg(long, value_name = "NAME")]
    stage: Option<String>,
    /// Prints JSON.
    #[arg(long)]
    json: bool,
}

/// The local stack's DynamoDB.
const THIS_MACHINE: &str = "http://127.0.0.1:8000";

/// The tables of a stage.
struct Tables {
    clicks: Table,
    game: Table,
    shop: Table,
    journal: Table,
    okusuri: Table,
    streams: aws_sdk_dynamodbstreams::Client,
}

impl Tables {
    async fn of(arguments: &Arguments) -> Result<Self> {
        let Arguments { stage, endpoint, .. } = arguments;
        let endpoint = match (stage, endpoint) {
            (None, None) => Some(THIS_MACHINE),
            (_, endpoint) => endpoint.as_deref(),
        };
        ensure!(
            stage.is_some() || endpoint.is_some_and(is_this_machine),
            "the demo is for the local stack; name a deployed stage with --stage"
        );
        let names = ["clicks", "game", "shop", "journal", "okusuri"];
        let local = ["qit-db-local", "EsiritoriGame", "DynamoDBShop", "TidemarkJournal", "okusuri-table"];
        let config = store_base::endpoint::config(endpoint).await;
        let client = Client::new(&config);
        let [clicks, game, shop, journal, okusuri] = std::array::from_fn(|place| {
            let name = match stage {
                Some(stage) => format!("tidemark-{}-{stage}", names[place]),
                None => local[place].to_owned(),
            };
            Table::new(client.clone(), name)
        });
        Ok(Self { clicks, game, shop, journal, okusuri, streams: aws_sdk_dynamodbstreams::Client::new(&config) })
    }
}

/// Whether an address is of this machine.
fn is_this_machine(endpoint: &str) -> bool {
    let host = endpoint.split_once("://").map_or(endpoint, |(_, rest)| rest);
    let host = host.split(['/', '?', '#']).next().unwrap_or_default();
    let host = host.rsplit_once(':').map_or(host, |(host, _)| host);
    let ip = host.trim_start_matches('[').trim_end_matches(']').parse::<IpAddr>();
    host == "localhost" || ip.is_ok_and(|ip| ip.is_loopback())
}

/// The command.
///
/// # Errors
/// When something that is not the demo's has one of its ids, or a table fails.
pub async fn run(arguments: Arguments) -> Result<CommandOutcome> {
    let tables = Tables::of(&arguments).await?;
    let mark = DemoMark::read(&tables.clicks).await?;
    let (state, at) = match (arguments.remove, mark) {
        (true, None) => ("absent", None),
        (true, Some(mark)) => {
            remove(&tables, mark, arguments.with_changes).await?;
            ("removed", None)
        }
        (false, Some(DemoMark { at, state: DemoState::Added })) => ("present", Some(at)),
        (false, Some(DemoMark { state: DemoState::Removing, .. })) => {
            bail!("the demo is half removed: run `tidemark demo --remove` again first")
        }
        (false, mark) => ("added", Some(add(&tables, mark).await?)),
    };
    let mut out = std::io::stdout().lock();
    if arguments.json {
        let game = at.map(|at| Ids { at }.game().to_string());
        let told = json!({"state": state, "at": at.map(|at| at.to_string()), "gameId": game, "email": EMAIL});
        writeln!(out, "{told}")?;
    } else {
        match at {
            None => writeln!(out, "The demo is {state}.")?,
            Some(at) => writeln!(
                out,
                "The demo is {state}, up to {at}: /tide/, /game/?game={}, /shop/, /operator/, and /okusuri/ as {EMAIL}.",
                Ids { at }.game()
            )?,
        }
    }
    Ok(CommandOutcome::Success)
}

/// What is derived from the time of a demo.
#[derive(Debug, Clone, Copy)]
struct Ids {
    at: Timestamp,
}

impl Ids {
    fn game(self) -> GameId {
        GameId(EntryId::derived(self.at, "demo game").uuid())
    }

    /// A user who clicks or looks at products. Another demo has other users, because an instance of
    /// `stats-aggregator` remembers whom it has counted.
    fn user(self, number: usize) -> String {
        format!("demo-{}-{number:02}", self.at.as_second())
    }
}

async fn add(tables: &Tables, mark: Option<DemoMark>) -> Result<Timestamp> {
    if mark.is_none() {
        shop::refuse_foreign(&tables.shop).await?;
        okusuri::refuse_foreign(&tables.okusuri, None).await?;
    }
    let now = Timestamp::from_second(Timestamp::now().as_second())?;
    let mark = match mark {
        Some(mark) => mark,
        None => DemoMark::begin(&tables.clicks, now).await?,
    };
    let ids = Ids { at: mark.at };
    futures::try_join!(
        clicks::add(tables, ids),
        game::add(&tables.game, ids),
        shop::add(tables, ids),
        okusuri::add(&tables.okusuri, ids),
    )
    .context("the demo is incomplete: run the command again to continue")?;
    mark.set(&tables.clicks, DemoState::Added).await?;
    Ok(mark.at)
}

async fn remove(tables: &Tables, mark: DemoMark, with_changes: bool) -> Result<()> {
    ensure!(mark.state != DemoState::Adding, "the demo is incomplete: run `tidemark demo` again first");
    let ids = Ids { at: mark.at };
    // All refusals come before the first change.
    let products = shop::Removal::plan(&tables.shop, ids, with_changes, mark.state == DemoState::Removing).await?;
    okusuri::refuse_foreign(&tables.okusuri, Some(ids)).await?;
    let clicks = clicks::Removal::plan(tables, ids, mark.state).await?;
    mark.set(&tables.clicks, DemoState::Removing).await?;
    futures::try_join!(
        clicks.run(tables),
        game::remove(&tables.game, ids),
        products.run(tables),
        okusuri::remove(&tables.okusuri, ids),
    )
    .context("the demo is half removed: run the command again to continue")?;
    DemoMark::delete(&tables.clicks).await?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_loopback_addresses_are_this_machine() {
        for endpoint in ["http://127.0.0.1:8000", "http://localhost:8000/", "http://[::1]:8000", "http://localhost"] {
            assert!(is_this_machine(endpoint), "{endpoint}");
        }
        for endpoint in [
            "https://dynamodb.eu-west-1.amazonaws.com",
            "http://192.168.0.4:8000",
            "http://127.0.0.1.example.org",
            "http://localhost.example.org:8000",
            "http://example.org/127.0.0.1",
            "http://127.0.0.1:8000@example.org:80",
            "",
        ] {
            assert!(!is_this_machine(endpoint), "{endpoint}");
        }
    }
}
