//! Appends entries to journal streams, which needs the staff token, and lists them newest first.
//! Some streams are public.

mod append;
mod config;
mod list;

use std::collections::BTreeSet;

use domain::Moment;
use domain::journal::{Entry, JournalStream};
use jiff::Timestamp;
use journal_store::{Journal, JournalReader};
use lambda_kit::bearer::AccessToken;
use lambda_kit::cursor::Cursors;
use lambda_kit::http::{Reply, Request};
use lambda_kit::problem::{self, NOT_FOUND, Problem};
use secrecy::SecretString;
use serde_json::{Value, json};
use store_base::StoreError;
use store_base::Table;
use uuid::Uuid;

pub use append::BODY_BYTES_MAX;
pub use config::Config;
pub use list::{LIMIT_DEFAULT, LIMIT_MAX};

/// The function's dependencies. The clock and the id generator are passed in, so that a test can
/// control them.
#[derive(Debug, Clone)]
pub struct Journals {
    writer: Journal,
    reader: JournalReader,
    public: BTreeSet<JournalStream>,
    cursors: Cursors,
    staff: AccessToken,
    now: fn() -> Timestamp,
    new_id: fn() -> Uuid,
}

impl Journals {
    /// Journals with the system's clock and randomness, whose cursors are signed with `cursor_key`.
    pub fn new(table: &Table, config: Config, cursor_key: SecretString, staff_token: SecretString) -> Self {
        Self {
            writer: Journal::new(table, config.shards, config.retention.clone()),
            reader: JournalReader::new(table, config.retention),
            public: config.public,
            cursors: Cursors::new(cursor_key),
            staff: AccessToken::new(staff_token),
            now: Timestamp::now,
            new_id: lambda_kit::id::new_id,
        }
    }
}

/// Answers one request.
pub async fn handle(journals: &Journals, request: Request) -> Result<Reply, Problem> {
    request.allow_query_parameters(match request.route() {
        "GET /journal/{stream}" => &["from", "to", "limit", "cursor"],
        _ => &[],
    })?;
    match request.route() {
        "POST /journal/{stream}" => append::append(journals, &request).await,
        "GET /journal/{stream}" => list::list(journals, &request).await,
        _ => Err(NOT_FOUND.detail(request.target())),
    }
}

/// An entry as clients see it.
fn entry_json(entry: &Entry) -> Value {
    json!({
        "id": entry.id.to_string(),
        "at": Moment::new(entry.id.at()).ok().map(|at| at.to_string()),
        "message": entry.message.as_str(),
        "attributes": entry.attributes.pairs(),
    })
}

/// The problem for a failed request to DynamoDB.
fn store_problem(error: StoreError) -> Problem {
    problem::store_problem(&error, error.is_transient())
}
