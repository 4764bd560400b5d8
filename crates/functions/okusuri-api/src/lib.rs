//! The medication log as its users see it: signing in, a log for each day, what follows from it, reminders, and taking everything along.
//!
//! Each route needs somebody who is signed in, but those that sign in.

mod admin;
mod config;
mod doses;
mod import;
mod logs;
mod medicines;
mod problems;
mod session;

use jiff::Timestamp;
use lambda_kit::bearer::AdminToken;
use lambda_kit::cursor::Cursors;
use lambda_kit::http::{Reply, Request};
use lambda_kit::problem::{NOT_FOUND, Problem};
use secrecy::SecretString;
use serde_json::json;
use store::okusuri::{Doses, Listings, Logs, Medicines, Sessions};
use uuid::Uuid;

pub use config::Config;

/// Items of a page that does not say how many.
const LIMIT_DEFAULT: u16 = 50;

/// The most items of a page.
const LIMIT_MAX: u16 = 1_000;

/// The secrets that the function reads at its start.
#[derive(Debug)]
pub struct Secrets {
    /// Signs cursors.
    pub cursor_key: SecretString,
    /// The operator's token.
    pub admin_token: SecretString,
    /// What further keys are derived from.
    pub key: SecretString,
    /// The private key that push services know this service by.
    pub vapid_key: SecretString,
}

/// What the function works with. Time and ids are passed in, so that a test decides them.
#[derive(Debug, Clone)]
pub struct Okusuri {
    sessions: Sessions,
    logs: Logs,
    medicines: Medicines,
    doses: Doses,
    listings: Listings,
    cursors: Cursors,
    admin: AdminToken,
    now: fn() -> Timestamp,
    new_id: fn() -> Uuid,
}

impl Okusuri {
    /// The service on the table of `config`, with the system's clock and randomness.
    pub fn new(client: aws_sdk_dynamodb::Client, config: &Config, secrets: Secrets) -> Self {
        Self {
            sessions: Sessions::new(client.clone(), &config.table),
            logs: Logs::new(client.clone(), &config.table),
            medicines: Medicines::new(client.clone(), &config.table),
            doses: Doses::new(client.clone(), &config.table),
            listings: Listings::new(client, &config.table),
            cursors: Cursors::new(secrets.cursor_key),
            admin: AdminToken::new(secrets.admin_token),
            now: Timestamp::now,
            new_id: Uuid::now_v7,
        }
    }

    /// The same with another clock and other ids.
    pub fn with(self, now: fn() -> Timestamp, new_id: fn() -> Uuid) -> Self {
        Self { now, new_id, ..self }
    }
}

/// Answers one request.
pub async fn handle(okusuri: &Okusuri, request: Request) -> Result<Reply, Problem> {
    match request.route() {
        "GET /okusuri/api/me" => {
            let signed_in = okusuri.user(&request).await?;
            Ok(Reply::json(200, &json!({ "id": signed_in.id.as_str(), "timeZone": signed_in.user.time_zone })))
        }
        "GET /okusuri/api/logs" => logs::list(okusuri, &request).await,
        "GET /okusuri/api/logs/{date}" => logs::show(okusuri, &request).await,
        "PUT /okusuri/api/logs/{date}" => logs::put(okusuri, &request).await,
        "DELETE /okusuri/api/logs/{date}" => logs::delete(okusuri, &request).await,
        "GET /okusuri/api/status" => logs::status(okusuri, &request).await,
        "GET /okusuri/api/calendar/{month}" => logs::calendar(okusuri, &request).await,
        "GET /okusuri/api/medicines" => medicines::list(okusuri, &request).await,
        "POST /okusuri/api/medicines" => medicines::add(okusuri, &request).await,
        "PUT /okusuri/api/medicines/{medicineId}" => medicines::change(okusuri, &request).await,
        "DELETE /okusuri/api/medicines/{medicineId}" => medicines::delete(okusuri, &request).await,
        "GET /okusuri/api/doses" => doses::list(okusuri, &request).await,
        "PUT /okusuri/api/doses/{date}/{time}/{medicineId}" => doses::mark(okusuri, &request).await,
        "DELETE /okusuri/api/doses/{date}/{time}/{medicineId}" => doses::unmark(okusuri, &request).await,
        "GET /okusuri/api/adherence" => doses::adherence(okusuri, &request).await,
        "POST /okusuri/api/import" => import::logs(okusuri, &request).await,
        "GET /okusuri/api/admin/users" => admin::users(okusuri, &request).await,
        "GET /okusuri/api/admin/items" => admin::items(okusuri, &request).await,
        "GET /okusuri/api/admin/logs" => admin::logs_of_day(okusuri, &request).await,
        _ => Err(NOT_FOUND.detail(request.target())),
    }
}
