//! Stores clicks: each one once, none over another.
//!
//! A click's key is its user and its millisecond. The id in the `Idempotency-Key`, a UUIDv7 whose time is the click's, tells
//! a repetition from another click that meets it in the same millisecond.

mod body;
mod config;
mod identity;
mod place;

use domain::clicks::Click;
use jiff::Timestamp;
use lambda_kit::http::{Reply, Request};
use lambda_kit::problem::{NOT_FOUND, Problem};
use serde_json::json;
use store::clicks::StoredClick;
use uuid::Uuid;

pub use body::{BODY_BYTES_MAX, CLICKS_MAX};
pub use config::Config;
pub use identity::IDEMPOTENCY_KEY;
pub use place::PROBES_MAX;

use body::{Body, NewClick};
use identity::ClickId;
use place::Placed;

/// What the function works with. Time and ids are passed in, so that a test decides them.
#[derive(Debug, Clone)]
pub struct Writer {
    store: store::clicks::ClickWriter,
    now: fn() -> Timestamp,
    new_id: fn() -> Uuid,
}

impl Writer {
    /// A writer with the system's clock and randomness.
    pub fn new(client: aws_sdk_dynamodb::Client, config: Config) -> Self {
        let store = store::clicks::ClickWriter::new(client, config.table, config.date_shards, config.retention);
        Self { store, now: Timestamp::now, new_id: Uuid::now_v7 }
    }
}

/// Answers `POST /clicks`.
pub async fn handle(writer: &Writer, request: Request) -> Result<Reply, Problem> {
    if request.route() != "POST /clicks" {
        return Err(NOT_FOUND.detail(request.target()));
    }
    let header = request.header(IDEMPOTENCY_KEY);
    match request.json(BODY_BYTES_MAX)? {
        Body::One(click) => {
            let (status, click) = write(writer, click, header).await?;
            Ok(Reply::json(status, &click))
        }
        Body::Many(_) if header.is_some() => Err(identity::KEY_IN_BATCH),
        Body::Many(clicks) => {
            let mut items = Vec::with_capacity(clicks.len());
            // One after the other: two clicks of one user then probe in the order in which they were sent.
            for click in clicks {
                items.push(match write(writer, click, None).await {
                    Ok((status, click)) => json!({ "status": status, "click": click }),
                    Err(problem) => json!({ "status": problem.status(), "problem": problem.to_json() }),
                });
            }
            Ok(Reply::json(207, &json!({ "items": items })))
        }
    }
}

/// Stores one click: 201, or 200 when it had been stored before.
async fn write(writer: &Writer, click: NewClick, key_header: Option<&str>) -> Result<(u16, StoredClick), Problem> {
    let click = click.check()?;
    let id = match key_header.or(click.idempotency_key.as_deref()) {
        Some(key) => ClickId::parse(key, (writer.now)())?,
        None => ClickId::of_server((writer.new_id)())?,
    };
    let click_id = id.to_string();
    let click = Click { user_id: click.user_id, time: id.time(), count: click.count };
    match place::place(&writer.store, click, &click_id).await? {
        Placed::New(click) => Ok((201, StoredClick::new(&click, &click_id))),
        Placed::Before(stored) => Ok((200, stored)),
    }
}
