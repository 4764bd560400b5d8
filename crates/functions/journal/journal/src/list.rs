//! `GET /journal/{stream}`.

use domain::journal::JournalStream;
use domain::{Moment, TimeRange};
use lambda_kit::http::{Reply, Request, invalid_parameter};
use lambda_kit::page::{Listing, limit};
use lambda_kit::problem::Problem;

use crate::{Journals, entry_json, store_problem};

/// The number of entries on a page without `limit`.
pub const LIMIT_DEFAULT: u16 = 50;

/// The most entries of a page.
pub const LIMIT_MAX: u16 = 100;

/// Lists entries, newest first.
pub(crate) async fn list(journals: &Journals, request: &Request) -> Result<Reply, Problem> {
    let stream = request.parse_path("stream", JournalStream::new)?;
    if !journals.public.contains(&stream) {
        journals.staff.authorize(request)?;
    }
    let from = request.parse_query("from", Moment::parse_or_day)?;
    let to = request.parse_query("to", Moment::parse_end)?;
    let range = TimeRange::new(from, to).map_err(|error| invalid_parameter("from", error))?;
    let now = (journals.now)();
    // The number is the version of the cursor's content. Increase it when the content changes, so
    // that old cursors are refused.
    let listing = Listing::new(&journals.cursors, format!("journal 1 {stream} {from:?} {to:?}"), now);
    let (limit, after) = (limit(request, LIMIT_DEFAULT, LIMIT_MAX)?, listing.position(request)?);
    let page = journals.reader.page(&stream, range, limit, after, now).await.map_err(store_problem)?;
    let items: Vec<_> = page.items.iter().map(entry_json).collect();
    listing.reply(&items, page.next.as_ref(), page.skipped)
}
