//! Reads statistics, which are public, and the clicks of people, which need the operator token.

mod clicks;
mod config;
mod counter;
mod stats;

use std::sync::Arc;

use clicks_store::{ClickDetailsReader, ClicksReader};
use jiff::Timestamp;
use lambda_kit::bearer::AccessToken;
use lambda_kit::cursor::Cursors;
use lambda_kit::http::{Reply, Request};
use lambda_kit::problem::{self, NOT_FOUND, Problem};
use rollup::DeclarationError;
use secrecy::SecretString;
use store_base::StoreError;
use store_base::Table;

pub use clicks::{LIMIT_DEFAULT, LIMIT_MAX};
pub use config::Config;

/// The function's dependencies.
#[derive(Debug, Clone)]
pub struct Reader {
    store: ClicksReader,
    details: ClickDetailsReader,
    cursors: Cursors,
    operator: AccessToken,
    kept: Arc<counter::Kept>,
}

impl Reader {
    /// A reader whose cursors are signed with `cursor_key`.
    pub fn new(
        table: &Table,
        config: &Config,
        cursor_key: SecretString,
        operator_token: SecretString,
    ) -> Result<Self, DeclarationError> {
        Ok(Self {
            store: ClicksReader::new(table, config.date_shards),
            details: ClickDetailsReader::new(table)?,
            cursors: Cursors::new(cursor_key),
            operator: AccessToken::new(operator_token),
            kept: Arc::default(),
        })
    }
}

/// Answers one request.
pub async fn handle(reader: &Reader, request: Request, now: Timestamp) -> Result<Reply, Problem> {
    request.allow_query_parameters(match request.route() {
        "GET /stats/daily" => &["target", "from", "to"],
        "GET /stats/hourly" | "GET /stats/weekly" | "GET /stats/monthly" => &["from", "to"],
        "GET /stats/targets" => &["date", "limit"],
        "GET /stats/counter.svg" => &["target", "theme", "lang"],
        "GET /users/{userId}/clicks" => &["from", "to", "order", "limit", "cursor"],
        "GET /days/{date}/clicks" => &["limit", "cursor"],
        "GET /stats/total" | "GET /stats/visitors" | "GET /stats/daily/{date}" | "GET /stats/monthly/{month}" => &[],
        _ => return Err(NOT_FOUND.detail(request.target())),
    })?;
    match request.route() {
        "GET /stats/total" => stats::total(reader, &request).await,
        "GET /stats/visitors" => stats::visitors(reader, &request).await,
        "GET /stats/daily/{date}" => stats::day(reader, &request).await,
        "GET /stats/daily" => stats::days(reader, &request, now).await,
        "GET /stats/hourly" => stats::hours(reader, &request, now).await,
        "GET /stats/weekly" => stats::weeks(reader, &request, now).await,
        "GET /stats/targets" => stats::targets(reader, &request, now).await,
        "GET /stats/counter.svg" => counter::picture(reader, &request, now).await,
        "GET /stats/monthly/{month}" => stats::month(reader, &request).await,
        "GET /stats/monthly" => stats::months(reader, &request, now).await,
        "GET /users/{userId}/clicks" => clicks::of_user(reader, &request, now).await,
        "GET /days/{date}/clicks" => clicks::of_day(reader, &request, now).await,
        _ => Err(NOT_FOUND.detail(request.target())),
    }
}

/// The problem for a failed read.
fn store_problem(error: StoreError) -> Problem {
    problem::store_problem(&error, error.is_transient())
}
