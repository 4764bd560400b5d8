//! The activities of a user or with a product. They show individual people, so they need the staff
//! token.

use domain::shop::{Action, ActivityRange, ProductId};
use domain::{Moment, TimeRange, UserId};
use jiff::{SignedDuration, Timestamp};
use lambda_kit::http::{Reply, Request, invalid_parameter};
use lambda_kit::page::{Listing, limit};
use lambda_kit::problem::Problem;
use serde::{Deserialize, Serialize};
use shop_store::ActivityPosition;
use store_base::Direction;

use crate::body::ActivityView;
use crate::{ActivityLog, moment, store_problem};

/// The number of activities on a page without `limit`.
pub const LIMIT_DEFAULT: u16 = 25;

/// The most activities of a page: the query reads up to this many from each partition of a product.
pub const LIMIT_MAX: u16 = 100;

/// The range of a product's list without `from`.
const RANGE_DEFAULT: SignedDuration = SignedDuration::from_hours(24);

/// A position in a product's list. It includes the range, because a range without `to` depends on
/// the clock.
#[derive(Debug, Serialize, Deserialize)]
struct ProductPosition {
    from: String,
    to: String,
    after: ActivityPosition,
}

/// `GET /users/{userId}/activities`.
pub(crate) async fn of_user(log: &ActivityLog, request: &Request, now: Timestamp) -> Result<Reply, Problem> {
    log.staff.authorize(request)?;
    let user_id = request.parse_path("userId", |text| UserId::new(text))?;
    let (from, to) = ends(request)?;
    let range = TimeRange::new(from, to).map_err(|error| invalid_parameter("from", error))?;
    let action = request.parse_query("action", Action::new)?;
    let direction = request.parse_query("order", str::parse)?.unwrap_or(Direction::Desc);
    let limit = limit(request, LIMIT_DEFAULT, LIMIT_MAX)?;
    let scope = format!("activities of user {user_id} {from:?} {to:?} {action:?} {direction:?}");
    let listing = Listing::new(&log.cursors, scope, now);
    let after = listing.position(request)?;
    let page = log.store.of_user(&user_id, range, action.as_ref(), direction, limit, after.as_ref()).await;
    let page = page.map_err(store_problem)?;
    listing.reply(&page.items.iter().map(ActivityView::from).collect::<Vec<_>>(), page.next.as_ref(), page.skipped)
}

/// `GET /products/{productId}/activities`.
pub(crate) async fn of_product(log: &ActivityLog, request: &Request, now: Timestamp) -> Result<Reply, Problem> {
    log.staff.authorize(request)?;
    let product_id = request.parse_path("productId", ProductId::new)?;
    let (from, to) = ends(request)?;
    let direction = request.parse_query("order", str::parse)?.unwrap_or(Direction::Desc);
    let limit = limit(request, LIMIT_DEFAULT, LIMIT_MAX)?;
    let scope = format!("activities with product {product_id} {from:?} {to:?} {direction:?}");
    let listing = Listing::new(&log.cursors, scope, now);
    let position: Option<ProductPosition> = listing.position(request)?;
    let (from, to) = match &position {
        Some(ProductPosition { from, to, .. }) => (known(from)?, known(to)?),
        None => {
            let to = to.map_or_else(|| moment(now), Ok)?;
            let a_day_before =
                || Moment::new(to.timestamp() - RANGE_DEFAULT).map_err(|error| invalid_parameter("to", error));
            (from.map_or_else(a_day_before, Ok)?, to)
        }
    };
    let range = TimeRange::new(Some(from), Some(to)).map_err(|error| invalid_parameter("from", error))?;
    let range = ActivityRange::new(range).map_err(|error| invalid_parameter("from", error))?;
    let after = position.as_ref().map(|position| &position.after);
    let page = log.store.of_product(&product_id, range, direction, limit, after).await.map_err(store_problem)?;
    let next = page.next.map(|after| ProductPosition { from: from.to_string(), to: to.to_string(), after });
    listing.reply(&page.items.iter().map(ActivityView::from).collect::<Vec<_>>(), next.as_ref(), page.skipped)
}

/// The parameters `from` and `to`, each a moment or a day. A day in `to` is included; a moment is
/// not.
fn ends(request: &Request) -> Result<(Option<Moment>, Option<Moment>), Problem> {
    Ok((request.parse_query("from", Moment::parse_or_day)?, request.parse_query("to", Moment::parse_end)?))
}

/// A moment from one of our own cursors.
fn known(text: &str) -> Result<Moment, Problem> {
    Moment::parse(text).map_err(|error| invalid_parameter("cursor", error))
}
