//! Stores clicks: each click once, and no click overwrites another.
//!
//! A click's key is its user and its millisecond. The id in the `Idempotency-Key` is a UUIDv7, and
//! its time is the click's time. The id tells a repetition of a click from another click in the
//! same millisecond.

mod body;
mod click_id;
mod config;
mod place;

use clicks_store::StoredClick;
use domain::clicks::Click;
use jiff::Timestamp;
use lambda_kit::http::{Reply, Request};
use lambda_kit::problem::{INTERNAL, NOT_FOUND, Problem};
use serde_json::json;
use store_base::Table;
use uuid::Uuid;

pub use body::{BODY_BYTES_MAX, CLICKS_MAX};
pub use click_id::IDEMPOTENCY_KEY;
pub use config::Config;
pub use place::{PUTS_MAX, SLOTS_MAX};

use body::{Body, NewClick};
use click_id::ClickId;
use place::{PendingClick, PlaceOutcome};

/// The function's dependencies. The clock and the randomness are passed in, so that a test can
/// control them.
#[derive(Debug, Clone)]
pub struct Writer {
    store: clicks_store::ClickWriter,
    now: fn() -> Timestamp,
    /// Generates ids, of which only the random part is used.
    random_id: fn() -> Uuid,
}

impl Writer {
    /// A writer with the system's clock and randomness.
    pub fn new(table: &Table, config: Config) -> Self {
        let store = clicks_store::ClickWriter::new(table, config.date_shards, config.retention);
        Self { store, now: Timestamp::now, random_id: lambda_kit::id::new_id }
    }

    /// The same writer with another clock.
    pub fn with_clock(self, now: fn() -> Timestamp) -> Self {
        Self { now, ..self }
    }
}

/// Answers `POST /clicks`.
pub async fn handle(writer: &Writer, request: Request) -> Result<Reply, Problem> {
    if request.route() != "POST /clicks" {
        return Err(NOT_FOUND.detail(request.target()));
    }
    request.allow_query_parameters(&[])?;
    let header = request.header(IDEMPOTENCY_KEY);
    match request.json(BODY_BYTES_MAX)? {
        Body::One(click) => {
            let (status, click) = write(writer, vec![click], header).await.pop().ok_or(INTERNAL)??;
            Ok(Reply::json(status, &click))
        }
        Body::Many(_) if header.is_some() => Err(click_id::KEY_IN_BATCH),
        Body::Many(clicks) => {
            let outcomes = write(writer, clicks, None).await.into_iter().map(|outcome| match outcome {
                Ok((status, click)) => json!({ "status": status, "click": click }),
                Err(problem) => json!({ "status": problem.status(), "problem": problem.to_json() }),
            });
            Ok(Reply::json(207, &json!({ "items": outcomes.collect::<Vec<_>>() })))
        }
    }
}

/// Stores clicks, and returns for each, in order: 201, or 200 if it was stored before.
async fn write(
    writer: &Writer,
    clicks: Vec<NewClick>,
    key_header: Option<&str>,
) -> Vec<Result<(u16, StoredClick), Problem>> {
    let now = (writer.now)();
    let mut pending = Vec::with_capacity(clicks.len());
    let checked: Vec<_> = (0..).zip(clicks).map(|(step, click)| check(writer, click, key_header, now, step)).collect();
    let checked = checked.into_iter().map(|click| click.map(|click| pending.push(click))).collect::<Vec<_>>();
    let mut placed = place::place(&writer.store, &pending).await.into_iter();
    let outcomes = checked.into_iter().map(|checked| {
        checked?;
        match placed.next().ok_or(INTERNAL)?? {
            PlaceOutcome::Stored(stored) => Ok((201, stored)),
            PlaceOutcome::AlreadyStored(stored) => Ok((200, stored)),
        }
    });
    outcomes.collect()
}

/// Checks one click. `step` is its position in the request.
fn check(
    writer: &Writer,
    click: NewClick,
    key_header: Option<&str>,
    now: Timestamp,
    step: u16,
) -> Result<PendingClick, Problem> {
    let click = click.check()?;
    let id = match key_header.or(click.idempotency_key.as_deref()) {
        Some(key) => ClickId::parse(key)?,
        None => ClickId::generate(now, step, (writer.random_id)())?,
    };
    let time_problem = id.check_time(now).err();
    let click = Click { user_id: click.user_id, time: id.time(), count: click.count, target: click.target };
    Ok(PendingClick { click, click_id: id.to_string(), time_problem })
}
