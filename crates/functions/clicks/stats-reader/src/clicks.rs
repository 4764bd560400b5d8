//! The clicks of a user or of a day. They show individual people, so they need the operator token.

use domain::calendar::parse_date;
use domain::{Moment, TimeRange, UserId};
use jiff::Timestamp;
use lambda_kit::http::{Reply, Request, invalid_parameter};
use lambda_kit::page::{Listing, limit};
use lambda_kit::problem::Problem;
use store_base::Direction;

use crate::{Reader, store_problem};

/// The number of clicks on a page without `limit`.
pub const LIMIT_DEFAULT: u16 = 100;

/// The most clicks of a page.
pub const LIMIT_MAX: u16 = 1_000;

pub(crate) async fn of_user(reader: &Reader, request: &Request, now: Timestamp) -> Result<Reply, Problem> {
    reader.operator.authorize(request)?;
    let user_id = request.parse_path("userId", |text| UserId::new(text))?;
    let from = request.parse_query("from", Moment::parse_or_day)?;
    let to = request.parse_query("to", Moment::parse_end)?;
    let range = TimeRange::new(from, to).map_err(|error| invalid_parameter("from", error))?;
    let direction = request.parse_query("order", str::parse)?.unwrap_or(Direction::Asc);
    let limit = limit(request, LIMIT_DEFAULT, LIMIT_MAX)?;

    let scope = format!("user {user_id} {from:?} {to:?} {direction:?}");
    let listing = Listing::new(&reader.cursors, scope, now);
    let after = listing.position(request)?;
    let page = reader.store.of_user(&user_id, range, direction, limit, after.as_ref()).await.map_err(store_problem)?;
    listing.reply(&page.items, page.next.as_ref(), page.skipped)
}

pub(crate) async fn of_day(reader: &Reader, request: &Request, now: Timestamp) -> Result<Reply, Problem> {
    reader.operator.authorize(request)?;
    let day = request.parse_path("date", parse_date)?;
    let limit = limit(request, LIMIT_DEFAULT, LIMIT_MAX)?;
    let listing = Listing::new(&reader.cursors, format!("day {day}"), now);
    let after = listing.position(request)?;
    let page = reader.store.of_day(day, limit, after.as_ref()).await.map_err(store_problem)?;
    listing.reply(&page.items, page.next.as_ref(), page.skipped)
}
