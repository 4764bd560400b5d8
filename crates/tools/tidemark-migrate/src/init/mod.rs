//! `init`: writes a draft of a mapping for a schema of PostgreSQL.

mod catalog;
mod columns;
mod draft;
mod placement;
mod words;

use std::collections::BTreeMap;

use clap::Args;
use serde_json::json;

use crate::command::Product;
use crate::mapping::Mapping;
use crate::source::{Server, connect};
use crate::terminal::tell;
use crate::{Failure, FailureKind, PhaseOutcome, Report};
use catalog::SourceTable;
use draft::{Draft, QUESTION};
use placement::choose;

/// The source, and what the user knows about it.
#[derive(Debug, Args)]
pub(crate) struct Arguments {
    #[command(flatten)]
    server: Server,
    /// Only these tables, separated by commas. Without it, all tables of the schema.
    #[arg(long, value_name = "TABLES", value_delimiter = ',')]
    tables: Vec<String>,
    /// The tables whose rows are owners: users, customers, tenants. Rows of one owner move
    /// together. Without it, the foreign keys decide.
    #[arg(long, value_name = "TABLES", value_delimiter = ',')]
    owner: Vec<String>,
}

pub(crate) async fn run(arguments: Arguments, product: &Product) -> Result<Report, Failure> {
    let Arguments { server, tables: only, owner } = arguments;
    let client = connect(&server).await?;
    let mut tables = catalog::read(&client, &server.schema).await?;
    if tables.is_empty() {
        let why =
            format!("the schema {:?} has no tables that this role can see; --schema names another one", server.schema);
        return Err(FailureKind::MissingTable.because(why));
    }
    check_names("--tables", &only, &tables)?;
    if !only.is_empty() {
        tables.retain(|table| only.contains(&table.name));
    }
    check_names("--owner", &owner, &tables)?;
    let has_no_id = |table: &&SourceTable| owner.contains(&table.name) && table.only_key().is_none();
    if let Some(table) = tables.iter().find(has_no_id) {
        let why = format!("--owner {}: the key of an owner is one column, and this table has none", table.name);
        return Err(FailureKind::Options.because(why));
    }
    let places = choose(&tables, &owner);
    let draft = Draft::new(&server.schema, &tables, &places);
    let left_out: BTreeMap<_, _> = places.iter().filter_map(|(name, place)| Some((name, place.left_out()?))).collect();
    if draft.owners().is_empty() {
        let reasons: Vec<_> = left_out.iter().map(|(name, why)| format!("{name}: {why}")).collect();
        return Err(FailureKind::Options.because(format!("no table can be in a mapping. {}", reasons.join("; "))));
    }
    let text = draft.text();
    Mapping::read(&text, product.conversions).map_err(|errors| {
        FailureKind::Mapping.because(format!("the draft has errors, which is a bug of init:\n{errors}"))
    })?;
    let owners: Vec<_> = draft.owners().iter().map(|table| table.name.as_str()).collect();
    let schema = if server.schema == "public" { String::new() } else { format!("--schema {} ", server.schema) };
    let questions = text.lines().filter(|line| line.starts_with(QUESTION)).count();
    tell(&format!(
        "{} of {} tables are in the draft. Owners: {}. {questions} lines with \"# ?\" ask for a decision.\n\
         Next: `{} rehearse {schema}--mapping FILE --source-zone UTC ...` on a copy of the database",
        tables.len() - left_out.len(),
        tables.len(),
        owners.join(", "),
        product.name
    ));
    let json =
        json!({ "phase": "init", "owners": owners, "leftOut": left_out, "questions": questions, "mapping": text });
    Ok(Report { outcome: PhaseOutcome::Done, json, text })
}

/// Refuses a mistyped name, which would otherwise only make the draft shorter.
fn check_names(option: &str, names: &[String], tables: &[SourceTable]) -> Result<(), Failure> {
    let is_known = |name: &String| tables.iter().any(|table| table.name == *name);
    match names.iter().find(|name| !is_known(name)) {
        None => Ok(()),
        Some(name) => {
            let known: Vec<_> = tables.iter().map(|table| table.name.as_str()).collect();
            let why = format!("{option} {name}: there is no such table; the tables are {}", known.join(", "));
            Err(FailureKind::Options.because(why))
        }
    }
}
