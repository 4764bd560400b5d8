//! Clicks of a user or of a day. They show individual people: only the operator's token opens them.

use domain::UserId;
use domain::calendar::parse_date;
use domain::clicks::{ClickTime, TimeError};
use jiff::Timestamp;
use jiff::civil::Date;
use jiff::tz::TimeZone;
use lambda_kit::http::{Reply, Request, invalid};
use lambda_kit::page::{Listing, limit};
use lambda_kit::problem::Problem;
use store::Direction;

use crate::{Reader, problem};

/// Clicks of a page that does not say how many.
pub const LIMIT_DEFAULT: u16 = 100;

/// The most clicks of a page.
pub const LIMIT_MAX: u16 = 1_000;

pub(crate) async fn of_user(reader: &Reader, request: &Request, now: Timestamp) -> Result<Reply, Problem> {
    reader.operator.authorize(request)?;
    let user_id = request.parse_path("userId", |text| UserId::new(text))?;
    let from = time(request, "from", Date::first_moment)?;
    let to = time(request, "to", Date::last_moment)?;
    if from.zip(to).is_some_and(|(from, to)| from > to) {
        return Err(invalid("from", "`from` is after `to`"));
    }
    let direction = request.parse_query("order", str::parse)?.unwrap_or(Direction::Asc);
    let limit = limit(request, LIMIT_DEFAULT, LIMIT_MAX)?;

    let scope = format!("user {user_id} {from:?} {to:?} {direction:?}");
    let listing = Listing::new(&reader.cursors, scope, now);
    let after = listing.position(request)?;
    let page = reader.store.of_user(&user_id, from, to, direction, limit, after.as_ref()).await.map_err(problem)?;
    listing.reply(&page.items, page.next.as_ref(), page.skipped)
}

pub(crate) async fn of_day(reader: &Reader, request: &Request, now: Timestamp) -> Result<Reply, Problem> {
    reader.operator.authorize(request)?;
    let day = request.parse_path("date", parse_date)?;
    let limit = limit(request, LIMIT_DEFAULT, LIMIT_MAX)?;
    let listing = Listing::new(&reader.cursors, format!("day {day}"), now);
    let after = listing.position(request)?;
    let page = reader.store.of_day(day, limit, after.as_ref()).await.map_err(problem)?;
    listing.reply(&page.items, page.next.as_ref(), page.skipped)
}

/// First and last millisecond of a day.
trait Moments {
    fn first_moment(self) -> Option<i64>;
    fn last_moment(self) -> Option<i64>;
}

impl Moments for Date {
    fn first_moment(self) -> Option<i64> {
        Some(self.to_zoned(TimeZone::UTC).ok()?.timestamp().as_millisecond())
    }

    fn last_moment(self) -> Option<i64> {
        Some(self.first_moment()? + 24 * 60 * 60 * 1_000 - 1)
    }
}

/// A parameter that is a moment, or a day, of which `of_day` takes one end.
fn time(request: &Request, name: &str, of_day: impl FnOnce(Date) -> Option<i64>) -> Result<Option<ClickTime>, Problem> {
    request.parse_query(name, |text| {
        let time = match parse_date(text) {
            Ok(day) => of_day(day).ok_or(TimeError::OutOfRange).and_then(ClickTime::from_millisecond),
            Err(_) => ClickTime::parse(text),
        };
        time.map_err(|error| format!("{error}, or a date as 2025-10-02"))
    })
}
