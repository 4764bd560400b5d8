//! Lists in pages: how much a client asks for, where its cursor says to go on, and the answer's
//! shape.

use jiff::Timestamp;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use crate::cursor::Cursors;
use crate::http::{Reply, Request};
use crate::problem::{INTERNAL, Problem};

/// The parameter `limit`: how many items a page has at most.
pub fn limit(request: &Request, default: u16, max: u16) -> Result<u16, Problem> {
    let limit = request.parse_query("limit", |text| {
        let limit = text.parse().ok().filter(|limit| (1..=max).contains(limit));
        limit.ok_or_else(|| format!("expected a number from 1 to {max}"))
    })?;
    Ok(limit.unwrap_or(default))
}

/// A list that has all its items in one answer: `{"items": [...], "skipped": 1}`, without `skipped`
/// when every row could be read.
pub fn reply(items: &impl Serialize, skipped: usize) -> Reply {
    Reply::json(200, &body(items, skipped))
}

fn body(items: &impl Serialize, skipped: usize) -> Value {
    let mut body = json!({ "items": items });
    if skipped > 0 {
        body["skipped"] = skipped.into();
    }
    body
}

/// One list: what its cursors are bound to.
#[derive(Debug)]
pub struct Listing<'a> {
    cursors: &'a Cursors,
    scope: String,
    now: Timestamp,
}

impl<'a> Listing<'a> {
    /// The list that `scope` names: the route and every parameter but the cursor and the limit.
    pub fn new(cursors: &'a Cursors, scope: String, now: Timestamp) -> Self {
        Self { cursors, scope, now }
    }

    /// Where the parameter `cursor` says to go on; `None` at the beginning.
    pub fn position<T: DeserializeOwned>(&self, request: &Request) -> Result<Option<T>, Problem> {
        let cursor = request.query("cursor");
        Ok(cursor.map(|cursor| self.cursors.open(&self.scope, cursor, self.now)).transpose()?)
    }

    /// `{"items": [...], "cursor": "...", "skipped": 1}`: without `cursor` on the last page, and
    /// without `skipped` when every row could be read.
    pub fn reply(
        &self,
        items: &impl Serialize,
        next: Option<&impl Serialize>,
        skipped: usize,
    ) -> Result<Reply, Problem> {
        let mut body = body(items, skipped);
        if let Some(next) = next {
            body["cursor"] = self.seal(next)?.into();
        }
        Ok(Reply::json(200, &body))
    }

    /// The cursor of a page whose answer has no room for it in its body.
    pub fn seal(&self, next: &impl Serialize) -> Result<String, Problem> {
        self.cursors.seal(&self.scope, next, self.now).map_err(|_| INTERNAL)
    }
}
