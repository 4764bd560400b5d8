//! `POST /journal/{stream}`.

use std::collections::BTreeMap;
use std::time::Duration;

use domain::Attributes;
use domain::EntryId;
use domain::journal::{Entry, JournalStream, Message};
use jiff::Timestamp;
use journal_store::AppendOutcome;
use lambda_kit::fields::invalid;
use lambda_kit::http::{Reply, Request};
use lambda_kit::problem::{IDEMPOTENCY_KEY_REUSED, IDEMPOTENCY_KEY_TIME, INTERNAL, INVALID_IDEMPOTENCY_KEY, Problem};
use serde::Deserialize;

use crate::{Journals, entry_json, store_problem};

/// The largest body: the longest message and twenty of the longest attributes take about 30 KB.
pub const BODY_BYTES_MAX: usize = 64 * 1024;

/// How far in the future an entry's time may be, because clocks differ.
const SKEW_MAX: Duration = Duration::from_secs(5 * 60);

const INVALID_ENTRY: Problem = Problem::new(400, "invalid-entry", "The entry is not valid");

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Body {
    message: String,
    #[serde(default)]
    attributes: BTreeMap<String, String>,
}

/// Stores an entry: 201, or 200 if it was stored before.
pub(crate) async fn append(journals: &Journals, request: &Request) -> Result<Reply, Problem> {
    journals.staff.authorize(request)?;
    let stream = request.parse_path("stream", JournalStream::new)?;
    let now = (journals.now)();
    let id = match request.header("idempotency-key") {
        Some(key) => client_entry_id(key, now)?,
        None => EntryId::new((journals.new_id)()).map_err(|_| INTERNAL)?,
    };
    let Body { message, attributes } = request.json(BODY_BYTES_MAX)?;
    let message = Message::new(message).map_err(|why| invalid("message", &INVALID_ENTRY, why))?;
    let attributes = Attributes::new(attributes).map_err(|why| invalid("attributes", &INVALID_ENTRY, why))?;
    let entry = Entry { stream, id, message, attributes };
    match journals.writer.append(&entry, now).await.map_err(store_problem)? {
        AppendOutcome::New => Ok(Reply::json(201, &entry_json(&entry))),
        AppendOutcome::Known => Ok(Reply::json(200, &entry_json(&entry))),
        AppendOutcome::Different => Err(IDEMPOTENCY_KEY_REUSED.detail("another entry of this stream has this id")),
        AppendOutcome::Expired => Err(IDEMPOTENCY_KEY_TIME.detail("its time is before the stream's retention period")),
    }
}

/// The entry's id from the client's key; the key's time becomes the entry's time. The time may be
/// as old as the stream's retention allows, so that an old log can be imported.
fn client_entry_id(key: &str, now: Timestamp) -> Result<EntryId, Problem> {
    let id: EntryId = key.parse().map_err(|why| INVALID_IDEMPOTENCY_KEY.detail(why))?;
    if id.at().duration_since(now) > SKEW_MAX.try_into().unwrap_or_default() {
        return Err(IDEMPOTENCY_KEY_TIME.detail("its time is more than 5 minutes ahead of the server's"));
    }
    Ok(id)
}
