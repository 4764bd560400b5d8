//! The journal's public stream: days with few entries need the most queries.

use domain::journal::{JournalStream, Retention, SuiteEvent};
use jiff::{SignedDuration, Timestamp};
use journal::{Config, Journals, handle};
use journal_store::{Journal, JournalShards};
use serde_json::Value;
use tests::Database;

use super::{Costs, Gauge, compare, request};

#[tokio::test]
async fn journal_requests_cost_at_most_their_bounds() {
    compare(&costs().await, |request| request.contains(" /journal/"));
}

async fn costs() -> Costs {
    let db = Database::start().await.unwrap();
    let mut gauge = Gauge::new(&db);
    let (table, shards) = (db.table(Database::JOURNAL), JournalShards::new(4).unwrap());
    let (writer, now) = (Journal::new(&table, shards, Retention::default()), Timestamp::now());
    for day in 0..60 {
        let at = now - SignedDuration::from_hours(24 * day);
        for n in ["one", "two"] {
            writer.append(&SuiteEvent::StatisticsRepaired.entry(at, n), now).await.unwrap();
        }
    }
    let public = [JournalStream::suite()].into();
    let config = Config { table: Database::JOURNAL.to_owned(), shards, retention: Retention::default(), public };
    let journals = Journals::new(&table, config, "cursor-key-of-the-tests".into(), "staff".into());
    let route = "GET /journal/{stream}?limit=100";
    gauge.skip();
    gauge.answer(route, handle(&journals, request(route, &["suite"], "", &Value::Null)).await);
    gauge.costs
}
