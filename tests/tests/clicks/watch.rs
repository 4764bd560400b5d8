//! `clicks-watch` against a real engine: its journal entries about quarantined records and repaired
//! statistics, once each.

use clicks_watch::handle;
use domain::TimeRange;
use domain::journal::{Entry, JournalStream, Retention};
use jiff::Timestamp;
use journal_store::{Journal, JournalReader, JournalShards};
use lambda_kit::stream::BatchError;
use serde_json::{Value, json};
use store_base::StoreError;
use tests::{Database, sample_event};
use tidemark_engine::{Chance, EngineFaults};

/// When the sample events are of the last days.
fn now() -> Timestamp {
    "2025-10-05T10:30:00Z".parse().unwrap()
}

async fn deliver(db: &Database, event: &Value) -> Result<Value, BatchError<StoreError>> {
    let shards = JournalShards::new(4).unwrap();
    let journal = Journal::new(&db.table(Database::JOURNAL), shards, Retention::default());
    let event = serde_json::value::to_raw_value(event).unwrap();
    Ok(serde_json::to_value(handle(&journal, event, now()).await?).unwrap())
}

async fn told(db: &Database) -> Vec<Entry> {
    let reader = JournalReader::new(&db.table(Database::JOURNAL), Retention::default());
    reader.page(&JournalStream::suite(), TimeRange::default(), 100, None, now()).await.unwrap().items
}

fn kinds(entries: &[Entry]) -> Vec<&str> {
    entries.iter().map(|entry| &*entry.attributes.pairs()["kind"]).collect()
}

fn done() -> Value {
    json!({"batchItemFailures": []})
}

#[tokio::test]
async fn each_event_is_one_entry_however_often_it_is_told() {
    let db = Database::start().await.unwrap();
    for case in
        ["quarantined", "repaired", "nothing-to-tell", "settled", "quarantined-told-twice", "repaired", "settled"]
    {
        assert_eq!(deliver(&db, &sample_event("clicks-watch", case)).await.unwrap(), done(), "{case}");
    }
    let told = told(&db).await;
    assert_eq!(kinds(&told), ["record-settled", "statistics-repaired", "record-quarantined", "statistics-repaired"]);
    assert_eq!(told[0].attributes.pairs()["ending"], "dismissed");
    assert_eq!(told[2].attributes.pairs()["reason"], "click-count");
    let at = told.iter().map(|entry| entry.id.at().to_string()).collect::<Vec<_>>();
    let expected = ["2025-10-03T10:30:00Z", "2025-10-02T10:30:01Z", "2025-10-02T10:30:00.123Z", "2025-10-02T10:30:00Z"];
    assert_eq!(at, expected);
}

#[tokio::test]
async fn unreadable_record_does_not_stop_the_other_events() {
    let db = Database::start().await.unwrap();
    assert_eq!(deliver(&db, &sample_event("clicks-watch", "unreadable-records")).await.unwrap(), done());
    assert_eq!(kinds(&told(&db).await), ["record-quarantined"]);
}

#[tokio::test]
async fn failed_write_is_retried_from_its_first_unreported_record() {
    let event = sample_event("clicks-watch", "repaired");
    let first = event["Records"][0]["dynamodb"]["SequenceNumber"].clone();
    for operation in ["UpdateItem", "PutItem"] {
        let db = Database::start().await.unwrap();
        let fail_before = [(operation.to_owned(), Chance { next: 100, probability: 0.0 })].into();
        db.engine().faults().set(EngineFaults { fail_before, ..EngineFaults::default() });
        let failed = json!({"batchItemFailures": [{"itemIdentifier": first}]});
        assert_eq!(deliver(&db, &event).await.unwrap(), failed, "{operation}");
        db.engine().faults().set(EngineFaults::default());
        assert_eq!(deliver(&db, &event).await.unwrap(), done(), "{operation}");
        assert_eq!(told(&db).await.len(), 2, "{operation}");
    }
}

#[tokio::test]
async fn what_is_no_batch_is_an_error() {
    let db = Database::start().await.unwrap();
    let outcome = deliver(&db, &sample_event("clicks-watch", "not-a-batch")).await;
    assert!(matches!(outcome, Err(BatchError::NotABatch(_))), "{outcome:?}");
}
