//! `click-writer` with the statistics that follow, and `stats-reader`.

use std::time::{Duration, SystemTime};

use click_writer::Writer;
use clicks_store::{CountedClick, DateShards};
use domain::calendar::{Week, YearMonth};
use jiff::civil::{Date, date};
use jiff::{Span, Timestamp};
use rollup::{Aggregator, Layout};
use serde_json::{Value, json};
use stats_reader::{Reader, handle};
use tests::{Database, StreamTail};

use super::{Costs, Gauge, batch, compare, copies, long, request};

/// 2025-10-02T10:30:00Z.
const NOW_MS: u64 = 1_759_401_000_000;
const TODAY: Date = date(2025, 10, 2);

const ROUTE: &str = "POST /clicks";

fn now() -> Timestamp {
    Timestamp::from_millisecond(NOW_MS as i64).unwrap()
}

struct Clicks {
    writer: Writer,
    aggregators: Vec<Aggregator<CountedClick>>,
    stream: StreamTail,
}

impl Clicks {
    /// Posts clicks, and counts them.
    async fn post(&mut self, clicks: Vec<Value>) -> lambda_kit::http::Reply {
        let body = json!({ "clicks": clicks });
        let reply = click_writer::handle(&self.writer, request(ROUTE, &[], "", &body)).await.unwrap();
        assert_eq!(reply.body().matches("\"status\":201").count(), clicks.len(), "{}", reply.body());
        let (event, deadline) = (batch(&mut self.stream).await, SystemTime::now() + Duration::from_secs(60));
        stats_aggregator::handle(&self.aggregators, event, deadline, now()).await.unwrap();
        reply
    }
}

/// A key of a millisecond; `n` tells it from others of the same.
fn key(millisecond: u64, n: u8) -> String {
    uuid::Builder::from_unix_timestamp_millis(millisecond, &[n; 10]).into_uuid().to_string()
}

#[tokio::test]
async fn click_requests_cost_at_most_their_bounds() {
    compare(&costs().await, |request| request.starts_with("POST /clicks") || request.contains(" /stats/"));
}

async fn costs() -> Costs {
    let db = Database::start().await.unwrap();
    let mut gauge = Gauge::new(&db);
    let (table, name) = (db.table(Database::CLICKS), Database::CLICKS.to_owned());
    let config = click_writer::Config {
        table: name.clone(),
        date_shards: DateShards::default(),
        retention: Some(Duration::from_secs(1)),
    };
    let aggregated =
        stats_aggregator::Config { table: name.clone(), layout: Layout::Sums, has_details: true, has_visitors: true };
    let mut clicks = Clicks {
        writer: Writer::new(&table, config).with_clock(now),
        aggregators: aggregated.aggregators(db.client.clone()).unwrap(),
        stream: db.stream_of("stats-aggregator", Database::CLICKS).await.unwrap(),
    };

    // Visitors who were never seen, on targets that were never seen.
    let strangers = (0..25).map(|n| json!({ "userId": long(n, 128), "target": long(n, 100) }));
    gauge.skip();
    let reply = clicks.post(strangers.collect()).await;
    gauge.answer(ROUTE, Ok(reply));

    // A visitor whose milliseconds are held, with free ones behind: each click meets a held one,
    // looks for the others, and is on a new target.
    let click = |millisecond, n: u8, target| json!({ "userId": long(99, 128), "target": long(target, 100), "idempotencyKey": key(millisecond, n) });
    let held: Vec<_> = (NOW_MS..NOW_MS + 75).map(|millisecond| click(millisecond, 0, 99)).collect();
    for some in held.chunks(25) {
        clicks.post(some.to_vec()).await;
    }
    let behind = (0..25).map(|n| click(NOW_MS + 75 - 62 + u64::from(n), n + 1, 100 + u32::from(n)));
    gauge.skip();
    let reply = clicks.post(behind.collect()).await;
    gauge.answer(ROUTE, Ok(reply));

    // The statistics of all that a range may have, those of a target with the longest name.
    let target = format!("STAT#TARGET#{}", long(0, 100));
    let back = |days: i32| (0..days).map(|day| TODAY - Span::new().days(day));
    let hours: Vec<_> = back(31).flat_map(|day| (0..24).map(move |hour| format!("{day}T{hour:02}"))).collect();
    let weeks: Vec<_> = back(106 * 7).step_by(7).map(|day| Week::of(day).unwrap().to_string()).collect();
    let months: Vec<_> = (0..120).map(|back| YearMonth::of(TODAY - Span::new().months(back)).to_string()).collect();
    let days: Vec<_> = back(400).map(|day| day.to_string()).collect();
    for (partition, periods) in [
        ("STAT#DAILY", &days),
        (&*target, &days),
        ("STAT#HOURLY", &hours),
        ("STAT#WEEKLY", &weeks),
        ("STAT#MONTHLY", &months),
    ] {
        let texts = |name, period: &String| (name, period.clone());
        let periods = periods.iter().map(|period| match partition == target {
            true => vec![texts("createDateTime", period), texts("targetDay", period)],
            false => vec![texts("createDateTime", period)],
        });
        copies(&db, Database::CLICKS, (partition, ""), periods).await;
    }
    let targets = (0..100).map(|n| vec![("userId", format!("STAT#TARGET#{}", long(n, 100)))]);
    copies(&db, Database::CLICKS, (&target, &TODAY.to_string()), targets).await;
    let config = stats_reader::Config {
        table: name,
        date_shards: DateShards::default(),
        cursor_key_arn: String::new(),
        operator_token_arn: String::new(),
    };
    let reader = Reader::new(&table, &config, "cursor-key-of-the-tests".into(), "operator".into()).unwrap();
    let of_target = format!("GET /stats/daily?from=2024-08-29&to=2025-10-02&target={}", long(0, 100));
    let counter = format!("GET /stats/counter.svg?target={}", long(0, 100));
    for (route, values) in [
        ("GET /stats/total", &[][..]),
        ("GET /stats/visitors", &[]),
        ("GET /stats/daily/{date}", &["2025-10-02"]),
        ("GET /stats/daily?from=2024-08-29&to=2025-10-02", &[]),
        (&of_target, &[]),
        ("GET /stats/hourly?from=2025-09-02&to=2025-10-02", &[]),
        ("GET /stats/weekly?from=2023-W39&to=2025-W40", &[]),
        ("GET /stats/targets?date=2025-10-02&limit=100", &[]),
        (&counter, &[]),
        ("GET /stats/monthly/{month}", &["2025-10"]),
        ("GET /stats/monthly?from=2015-11&to=2025-10", &[]),
    ] {
        gauge.skip();
        gauge.answer(route, handle(&reader, request(route, values, "", &Value::Null), now()).await);
    }
    gauge.costs
}
