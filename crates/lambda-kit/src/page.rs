//! Lists in pages: the limit that a client asks for, the position in its cursor, and the shape of
//! the answer, as JSON or CSV.

use csv::{Terminator, Writer, WriterBuilder};
use jiff::Timestamp;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use crate::cursor::Cursors;
use crate::http::{Reply, Request};
use crate::problem::{INTERNAL, Problem};

/// The parameter `limit`: the most items of a page.
pub fn limit(request: &Request, default: u16, max: u16) -> Result<u16, Problem> {
    let limit = request.parse_query("limit", |text| {
        let limit = text.parse().ok().filter(|limit| (1..=max).contains(limit));
        limit.ok_or_else(|| format!("expected a number from 1 to {max}"))
    })?;
    Ok(limit.unwrap_or(default))
}

/// A list with all its items in one answer: `{"items": [...], "skipped": 1}`, without `skipped` if
/// every row could be read.
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

/// Whether the client prefers CSV to JSON.
pub fn wants_csv(request: &Request) -> bool {
    request.preferred_media_type(&["application/json", "text/csv"]) == "text/csv"
}

/// A list as CSV (RFC 4180), with a header.
///
/// # Errors
/// [`INTERNAL`] when a row does not have the columns of the header.
pub fn csv(header: &[&str], rows: impl IntoIterator<Item = Vec<String>>) -> Result<Reply, Problem> {
    let mut writer = WriterBuilder::new().terminator(Terminator::CRLF).from_writer(Vec::new());
    let write = |writer: &mut Writer<Vec<u8>>| {
        writer.write_record(header)?;
        rows.into_iter().try_for_each(|row| writer.write_record(row))
    };
    let text =
        write(&mut writer).ok().and_then(|()| writer.into_inner().ok()).and_then(|text| String::from_utf8(text).ok());
    text.map(|text| Reply::new(200, "text/csv; charset=utf-8", text)).ok_or(INTERNAL)
}

/// One list, to which its cursors are bound.
#[derive(Debug)]
pub struct Listing<'a> {
    cursors: &'a Cursors,
    scope: String,
    now: Timestamp,
}

impl<'a> Listing<'a> {
    /// The list that `scope` names: the route and all parameters except the cursor and the limit.
    pub fn new(cursors: &'a Cursors, scope: String, now: Timestamp) -> Self {
        Self { cursors, scope, now }
    }

    /// The position in the parameter `cursor`; `None` at the beginning.
    pub fn position<T: DeserializeOwned>(&self, request: &Request) -> Result<Option<T>, Problem> {
        let cursor = request.query("cursor");
        Ok(cursor.map(|cursor| self.cursors.open(&self.scope, cursor, self.now)).transpose()?)
    }

    /// `{"items": [...], "cursor": "...", "skipped": 1}`: without `cursor` on the last page, and
    /// without `skipped` if every row could be read.
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

    /// The cursor of the next page, for answers that cannot carry it in their body.
    pub fn seal(&self, next: &impl Serialize) -> Result<String, Problem> {
        self.cursors.seal(&self.scope, next, self.now).map_err(|_| INTERNAL)
    }
}
