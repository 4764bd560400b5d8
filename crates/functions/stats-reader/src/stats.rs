//! Statistics of all time, days and months, as JSON or CSV.

use std::fmt::Display;

use domain::calendar::{DateRange, MonthRange, YearMonth, parse_date};
use jiff::tz::TimeZone;
use jiff::{Span, Timestamp};
use lambda_kit::http::{Reply, Request, invalid_parameter};
use lambda_kit::page;
use lambda_kit::problem::{INTERNAL, Problem};
use serde_json::{Map, Value, json};
use store::clicks::{Stat, Stats};

use crate::{Reader, store_problem};

/// The days of a range without `from`.
const DAYS_DEFAULT: i32 = 30;

/// The months of a range without `from`.
const MONTHS_DEFAULT: i32 = 12;

pub(crate) async fn total(reader: &Reader, request: &Request) -> Result<Reply, Problem> {
    let total_clicks = reader.store.total().await.map_err(store_problem)?.total_clicks;
    if wants_csv(request) {
        return csv(&["totalClicks"], [vec![total_clicks.to_string()]]);
    }
    Ok(Reply::json(200, &json!({ "totalClicks": total_clicks })))
}

pub(crate) async fn day(reader: &Reader, request: &Request) -> Result<Reply, Problem> {
    let day = request.parse_path("date", parse_date)?;
    let range = DateRange::new(day, day).map_err(|error| invalid_parameter("date", error))?;
    let stats = reader.store.daily(range).await.map_err(store_problem)?;
    let row = Row::of(day, &stats).ok_or(INTERNAL)?;
    if wants_csv(request) { rows_csv("date", [row]) } else { Ok(Reply::json(200, &row.json("date"))) }
}

pub(crate) async fn month(reader: &Reader, request: &Request) -> Result<Reply, Problem> {
    let month: YearMonth = request.parse_path("month", str::parse)?;
    let range = MonthRange::new(month, month).map_err(|error| invalid_parameter("month", error))?;
    let stats = reader.store.monthly(range).await.map_err(store_problem)?;
    let row = Row::of(month, &stats).ok_or(INTERNAL)?;
    if wants_csv(request) { rows_csv("month", [row]) } else { Ok(Reply::json(200, &row.json("month"))) }
}

pub(crate) async fn days(reader: &Reader, request: &Request, now: Timestamp) -> Result<Reply, Problem> {
    let to = request.parse_query("to", parse_date)?.unwrap_or_else(|| now.to_zoned(TimeZone::UTC).date());
    let from = match request.parse_query("from", parse_date)? {
        Some(from) => from,
        None => to.checked_sub(Span::new().days(DAYS_DEFAULT - 1)).map_err(|error| invalid_parameter("to", error))?,
    };
    let range = DateRange::new(from, to).map_err(|error| invalid_parameter("from", error))?;
    let stats = reader.store.daily(range).await.map_err(store_problem)?;
    list(request, "date", range.days(), &stats)
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

/// A period and its numbers; zeros if nothing is stored.
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

/// A list of periods. Unreadable ones are left out and counted in `skipped`.
fn list(
    request: &Request,
    period_name: &str,
    periods: impl Iterator<Item = impl Display>,
    stats: &Stats,
) -> Result<Reply, Problem> {
    let rows = periods.filter_map(|period| Row::of(period, stats));
    if wants_csv(request) {
        return rows_csv(period_name, rows);
    }
    let items: Vec<_> = rows.map(|row| row.json(period_name)).collect();
    Ok(page::reply(&items, stats.skipped))
}

fn wants_csv(request: &Request) -> bool {
    request.preferred_media_type(&["application/json", "text/csv"]) == "text/csv"
}

fn rows_csv(period_name: &str, rows: impl IntoIterator<Item = Row>) -> Result<Reply, Problem> {
    let rows = rows.into_iter().map(|row| {
        let Stat { total_clicks, unique_users } = row.stat;
        vec![row.period, total_clicks.to_string(), unique_users.to_string()]
    });
    csv(&[period_name, "totalClicks", "uniqueUsers"], rows)
}

fn csv(header: &[&str], rows: impl IntoIterator<Item = Vec<String>>) -> Result<Reply, Problem> {
    let mut writer = csv::WriterBuilder::new().terminator(csv::Terminator::CRLF).from_writer(Vec::new());
    let write = |writer: &mut csv::Writer<Vec<u8>>| {
        writer.write_record(header)?;
        rows.into_iter().try_for_each(|row| writer.write_record(row))
    };
    let text =
        write(&mut writer).ok().and_then(|()| writer.into_inner().ok()).and_then(|text| String::from_utf8(text).ok());
    text.map(|text| Reply::new(200, "text/csv; charset=utf-8", text)).ok_or(INTERNAL)
}
