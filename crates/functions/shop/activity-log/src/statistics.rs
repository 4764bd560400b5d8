//! Views, purchases and visitors of products. They show no individual, so they are public.

use domain::calendar::{DateRange, parse_date};
use domain::shop::ProductId;
use jiff::Timestamp;
use jiff::civil::Date;
use jiff::tz::TimeZone;
use lambda_kit::http::{Reply, Request, invalid_parameter};
use lambda_kit::page;
use lambda_kit::problem::Problem;
use serde_json::{Value, json};
use shop_store::ProductDay;

use crate::{ActivityLog, store_problem};

/// `GET /products/{productId}/statistics`.
pub(crate) async fn of_product(log: &ActivityLog, request: &Request, now: Timestamp) -> Result<Reply, Problem> {
    let product_id = request.parse_path("productId", ProductId::new)?;
    let to = request.parse_query("to", parse_date)?.unwrap_or_else(|| today(now));
    let range = DateRange::until(to, request.parse_query("from", parse_date)?);
    let range = range.map_err(|error| invalid_parameter("from", error))?;
    let days = log.statistics.product_days(&product_id, range).await.map_err(store_problem)?;
    if page::wants_csv(request) {
        let rows = days.into_iter().map(|ProductDay { date, views, purchases, visitors, .. }| {
            vec![date.to_string(), views.to_string(), purchases.to_string(), visitors.to_string()]
        });
        return page::csv(&["date", "views", "purchases", "visitors"], rows);
    }
    let items = days.iter().map(|day| with_numbers(json!({ "date": day.date.to_string() }), day));
    Ok(page::reply(&items.collect::<Vec<_>>(), 0))
}

/// `GET /activities/top`.
pub(crate) async fn top(log: &ActivityLog, request: &Request, now: Timestamp) -> Result<Reply, Problem> {
    let day = request.parse_query("date", parse_date)?.unwrap_or_else(|| today(now));
    let top = log.statistics.top(day).await.map_err(store_problem)?;
    let items = top.iter().map(|product| with_numbers(json!({ "productId": product.product_id.as_str() }), product));
    Ok(Reply::json(200, &json!({ "date": day.to_string(), "items": items.collect::<Vec<_>>() })))
}

fn with_numbers(mut item: Value, day: &ProductDay) -> Value {
    for (name, number) in [("views", day.views), ("purchases", day.purchases), ("visitors", day.visitors)] {
        item[name] = number.into();
    }
    item
}

fn today(now: Timestamp) -> Date {
    now.to_zoned(TimeZone::UTC).date()
}
