//! Statistics of all time, months, weeks, days, hours and targets, as JSON or CSV.

use std::fmt::Display;

use clicks_store::{NamedStats, Stat, Stats};
use domain::calendar::{DateRange, MonthRange, Week, WeekRange, YearMonth, parse_date};
use domain::clicks::ClickTarget;
use jiff::Timestamp;
use jiff::tz::TimeZone;
use lambda_kit::csv_cell;
use lambda_kit::http::{Reply, Request, invalid_parameter};
use lambda_kit::page;
use lambda_kit::problem::{INTERNAL, Problem};
use serde_json::{Map, Value, json};

use crate::{Reader, store_problem};

/// The weeks of a range without `from`.
const WEEKS_DEFAULT: i32 = 12;

/// The months of a range without `from`.
const MONTHS_DEFAULT: i32 = 12;

/// The targets of a list without `limit`, and the most of one list.
const TARGETS_DEFAULT: u16 = 10;
const TARGETS_MAX: u16 = 100;

pub(crate) async fn total(reader: &Reader, request: &Request) -> Result<Reply, Problem> {
    let total_clicks = reader.store.total().await.map_err(store_problem)?.total_clicks;
    if page::wants_csv(request) {
        return page::csv(&["totalClicks"], [vec![total_clicks.to_string()]]);
    }
    Ok(Reply::json(200, &json!({ "totalClicks": total_clicks })))
}

pub(crate) async fn visitors(reader: &Reader, request: &Request) -> Result<Reply, Problem> {
    let Stat { total_clicks, unique_users } = reader.store.visitors().await.map_err(store_problem)?;
    if page::wants_csv(request) {
        return page::csv(&["totalClicks", "uniqueUsers"], [vec![total_clicks.to_string(), unique_users.to_string()]]);
    }
    Ok(Reply::json(200, &json!({ "totalClicks": total_clicks, "uniqueUsers": unique_users })))
}

pub(crate) async fn day(reader: &Reader, request: &Request) -> Result<Reply, Problem> {
    let day = request.parse_path("date", parse_date)?;
    let range = DateRange::new(day, day).map_err(|error| invalid_parameter("date", error))?;
    let stats = reader.store.daily(range).await.map_err(store_problem)?;
    let row = Row::of(day, &stats).ok_or(INTERNAL)?;
    if page::wants_csv(request) { rows_csv("date", [row]) } else { Ok(Reply::json(200, &row.json("date"))) }
}

pub(crate) async fn month(reader: &Reader, request: &Request) -> Result<Reply, Problem> {
    let month: YearMonth = request.parse_path("month", str::parse)?;
    let range = MonthRange::new(month, month).map_err(|error| invalid_parameter("month", error))?;
    let stats = reader.store.monthly(range).await.map_err(store_problem)?;
    let row = Row::of(month, &stats).ok_or(INTERNAL)?;
    if page::wants_csv(request) { rows_csv("month", [row]) } else { Ok(Reply::json(200, &row.json("month"))) }
}

pub(crate) async fn days(reader: &Reader, request: &Request, now: Timestamp) -> Result<Reply, Problem> {
    let to = request.parse_query("to", parse_date)?.unwrap_or_else(|| now.to_zoned(TimeZone::UTC).date());
    let range = DateRange::until(to, request.parse_query("from", parse_date)?)
        .map_err(|error| invalid_parameter("from", error))?;
    if let Some(target) = request.parse_query("target", ClickTarget::new)? {
        let days = reader.details.daily(&target, range).await.map_err(store_problem)?;
        return named(request, "date", days);
    }
    let stats = reader.store.daily(range).await.map_err(store_problem)?;
    list(request, "date", range.days(), &stats)
}

pub(crate) async fn hours(reader: &Reader, request: &Request, now: Timestamp) -> Result<Reply, Problem> {
    let to = request.parse_query("to", parse_date)?.unwrap_or_else(|| now.to_zoned(TimeZone::UTC).date());
    let from = request.parse_query("from", parse_date)?.unwrap_or(to);
    let range = DateRange::of_hours(from, to).map_err(|error| invalid_parameter("from", error))?;
    named(request, "hour", reader.details.hourly(range).await.map_err(store_problem)?)
}

pub(crate) async fn weeks(reader: &Reader, request: &Request, now: Timestamp) -> Result<Reply, Problem> {
    let to = match request.parse_query("to", str::parse)? {
        Some(to) => to,
        None => Week::of(now.to_zoned(TimeZone::UTC).date()).ok_or(INTERNAL)?,
    };
    let from = match request.parse_query("from", str::parse)? {
        Some(from) => from,
        None => to.plus(1 - WEEKS_DEFAULT).ok_or_else(|| invalid_parameter("to", "there is no earlier week"))?,
    };
    let range = WeekRange::new(from, to).map_err(|error| invalid_parameter("from", error))?;
    named(request, "week", reader.details.weekly(range).await.map_err(store_problem)?)
}

pub(crate) async fn targets(reader: &Reader, request: &Request, now: Timestamp) -> Result<Reply, Problem> {
    let day = request.parse_query("date", parse_date)?.unwrap_or_else(|| now.to_zoned(TimeZone::UTC).date());
    let limit = page::limit(request, TARGETS_DEFAULT, TARGETS_MAX)?;
    named(request, "target", reader.details.top_targets(day, limit).await.map_err(store_problem)?)
}

pub(crate) async fn months(reader: &Reader, request: &Request, now: Timestamp) -> Result<Reply, Problem> {
    let this_month = || YearMonth::of(now.to_zoned(TimeZone::UTC).date());
    let to = request.parse_query("to", str::parse)?.unwrap_or_else(this_month);
    let from = match request.parse_query("from", str::parse)? {
        Some(from) => from,
        None => to.plus(1 - MONTHS_DEFAULT).ok_or_else(|| invalid_parameter("to", "there is no earlier month"))?,
    };
    let range = MonthRange::new(from, to).map_err(|error| invalid_parameter("from", error))?;
    let stats = reader.store.monthly(range).await.map_err(store_problem)?;
    list(request, "month", range.months(), &stats)
}

/// A period or a target with its numbers; zeros if nothing is stored.
struct Row {
    period: String,
    stat: Stat,
}

impl Row {
    /// `None` if the stored numbers cannot be read: zeros would be wrong.
    fn of(period: impl Display, stats: &Stats) -> Option<Self> {
        let period = period.to_string();
        let stat = stats.by_period.get(&period).copied().unwrap_or_else(|| Some(Stat::default()))?;
        Some(Self { period, stat })
    }

    fn json(&self, period_name: &str) -> Value {
        Value::Object(Map::from_iter([
            (period_name.to_owned(), json!(self.period)),
            ("totalClicks".to_owned(), json!(self.stat.total_clicks)),
            ("uniqueUsers".to_owned(), json!(self.stat.unique_users)),
        ]))
    }
}

/// A list of statistics with their names.
fn named(request: &Request, name: &str, stats: NamedStats) -> Result<Reply, Problem> {
    let rows = stats.into_iter().map(|(period, stat)| Row { period, stat });
    if page::wants_csv(request) {
        return rows_csv(name, rows);
    }
    Ok(page::reply(&rows.map(|row| row.json(name)).collect::<Vec<_>>(), 0))
}

/// A list of periods. Unreadable ones are left out and counted in `skipped`.
fn list(
    request: &Request,
    period_name: &str,
    periods: impl Iterator<Item = impl Display>,
    stats: &Stats,
) -> Result<Reply, Problem> {
    let rows = periods.filter_map(|period| Row::of(period, stats));
    if page::wants_csv(request) {
        return rows_csv(period_name, rows);
    }
    let items: Vec<_> = rows.map(|row| row.json(period_name)).collect();
    Ok(page::reply(&items, stats.skipped))
}

fn rows_csv(period_name: &str, rows: impl IntoIterator<Item = Row>) -> Result<Reply, Problem> {
    let rows = rows.into_iter().map(|row| {
        let Stat { total_clicks, unique_users } = row.stat;
        vec![csv_cell::escape(&row.period), total_clicks.to_string(), unique_users.to_string()]
    });
    page::csv(&[period_name, "totalClicks", "uniqueUsers"], rows)
}
