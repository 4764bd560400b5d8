//! A look at the messages of a queue. Nothing is received: neither visibility nor counts change.

use std::time::Instant;

use serde_json::{Value, json};

use super::Queues;
use super::queue::Message;

/// The number of messages that are shown, and the part of each body in bytes.
const SHOWN_MAX: usize = 50;
const BODY_BYTES_MAX: usize = 64 * 1024;

impl Queues {
    /// The first messages of the queue `id`; `None` without such a queue.
    pub(crate) fn peek(&self, id: &str) -> Option<Value> {
        let now = self.clock.instant();
        let items: Vec<_> = self.get(id)?.first(SHOWN_MAX, now).iter().map(|one| shown(one, now)).collect();
        Some(json!({ "items": items, "max": SHOWN_MAX }))
    }
}

fn shown(message: &Message, now: Instant) -> Value {
    let state = match message.visible > now {
        false => "visible",
        true if message.is_in_flight(now) => "in flight",
        true => "delayed",
    };
    let body = &message.body;
    json!({
        "id": message.id,
        "state": state,
        "visibleInSeconds": message.visible.saturating_duration_since(now).as_secs_f64().ceil(),
        "sentMs": message.sent_ms,
        "receiveCount": message.receive_count,
        "group": message.group,
        "attributes": message.attributes,
        "deadLetterSource": message.dead_letter_source.as_deref().and_then(|arn| arn.rsplit(':').next()),
        "body": &body[..body.floor_char_boundary(BODY_BYTES_MAX)],
        "bodyIsCut": body.len() > BODY_BYTES_MAX,
        "bodyBytes": body.len(),
    })
}
