//! Streams over the wire: shards, positions, closing and trimming.
use std::collections::BTreeMap;

use crate::common::{self, Wire, id, open, sort_key, start};
use serde_json::{Value, json};
use tidemark_engine::{Engine, EngineError, Options, ShardChange, Storage};

const DAY_US: i64 = 24 * 60 * 60 * 1_000_000;

#[tokio::test]
async fn a_stream_description_has_the_form_of_aws() {
    let (_engine, wire) = start(1).await;
    let arn = wire.stream_arn().await;
    assert!(arn.starts_with("arn:aws:dynamodb:eu-west-3:000000000000:table/clicks/stream/20"), "{arn}");
    let (_, list) = wire.streams("ListStreams", json!({ "TableName": "clicks" })).await;
    assert_eq!(list["Streams"][0]["StreamArn"], arn.as_str());
    let shard = &wire.shards().await[0];
    assert!(id(shard).starts_with("shardId-00000") && id(shard).len() == 37, "{shard}");
    let range = &shard["SequenceNumberRange"];
    assert_eq!(range["StartingSequenceNumber"].as_str().unwrap().len(), 21);
    assert!(range.get("EndingSequenceNumber").is_none(), "an open shard has no end: {shard}");
    let (status, gone) = wire.streams("DescribeStream", json!({ "StreamArn": format!("{arn}9") })).await;
    assert!(status == 400 && gone["__type"].as_str().unwrap().ends_with("ResourceNotFoundException"), "{gone}");
}

#[tokio::test]
async fn a_record_has_the_wire_shape_of_aws() {
    let (_engine, wire) = start(1).await;
    wire.put("a", "1", 1).await;
    let (records, ended) = wire.read(id(&wire.shards().await[0]), "TRIM_HORIZON", None).await;
    let record = &records[0];
    assert!(!ended && records.len() == 1);
    assert_eq!((&record["eventName"], &record["awsRegion"]), (&json!("INSERT"), &json!("eu-west-3")));
    assert_eq!(record["dynamodb"]["NewImage"], common::item("a", "1", 1));
    assert_eq!(record["dynamodb"]["Keys"], json!({ "pk": { "S": "a" }, "sk": { "S": "1" } }));
    assert!(record.get("userIdentity").is_none() && record["dynamodb"].get("OldImage").is_none());
}

#[tokio::test]
async fn each_key_stays_in_its_shard_and_in_order() {
    let (_engine, wire) = start(4).await;
    for number in 0..200 {
        wire.put(&format!("user-{}", number % 20), &format!("{number:03}"), 1).await;
    }
    let shards = wire.shards().await;
    assert_eq!(shards.len(), 4);
    let mut home = BTreeMap::new();
    let mut total = 0;
    for shard in &shards {
        let (records, _) = wire.read(id(shard), "TRIM_HORIZON", None).await;
        assert!(!records.is_empty(), "20 keys reach each of 4 shards");
        assert!(records.is_sorted_by_key(sort_key), "a shard is in order");
        total += records.len();
        for record in &records {
            let key = record["dynamodb"]["Keys"]["pk"]["S"].as_str().unwrap().to_owned();
            assert_eq!(home.entry(key).or_insert_with(|| id(shard).to_owned()), id(shard));
        }
    }
    assert_eq!(total, 200);
}

#[tokio::test]
async fn a_reader_starts_at_its_iterator_position() {
    let (_engine, wire) = start(1).await;
    for number in 0..5 {
        wire.put("a", &number.to_string(), 1).await;
    }
    let shard = wire.shards().await[0].clone();
    let (all, _) = wire.read(id(&shard), "TRIM_HORIZON", None).await;
    let third = all[2]["dynamodb"]["SequenceNumber"].as_str().unwrap();
    let keys = |records: &[Value]| records.iter().map(|record| sort_key(record).to_owned()).collect::<Vec<_>>();
    assert_eq!(keys(&wire.read(id(&shard), "AT_SEQUENCE_NUMBER", Some(third)).await.0), ["2", "3", "4"]);
    assert_eq!(keys(&wire.read(id(&shard), "AFTER_SEQUENCE_NUMBER", Some(third)).await.0), ["3", "4"]);
    let (_, latest) = wire.iterator(id(&shard), "LATEST", None).await;
    wire.put("a", "5", 1).await;
    let (_, page) = wire.streams("GetRecords", json!({ "ShardIterator": latest["ShardIterator"] })).await;
    assert_eq!(keys(page["Records"].as_array().unwrap()), ["5"]);
    let (status, _) = wire.iterator(id(&shard), "AT_SEQUENCE_NUMBER", None).await;
    assert_eq!(status, 400);
}

#[tokio::test]
async fn a_page_holds_at_most_1000_records_and_1_mb() {
    let (_engine, wire) = start(1).await;
    for batch in 0..44 {
        let puts: Vec<Value> = (0..25)
            .map(|n| json!({ "PutRequest": { "Item": common::item("a", &format!("{batch:02}-{n:02}"), 1) } }))
            .collect();
        wire.ok("BatchWriteItem", json!({ "RequestItems": { "clicks": puts } })).await;
    }
    let shard = wire.shards().await[0].clone();
    let (_, first) = wire.iterator(id(&shard), "TRIM_HORIZON", None).await;
    let (_, page) = wire.streams("GetRecords", json!({ "ShardIterator": first["ShardIterator"] })).await;
    assert_eq!(page["Records"].as_array().unwrap().len(), 1_000);
    let (_, few) = wire.streams("GetRecords", json!({ "ShardIterator": first["ShardIterator"], "Limit": 3 })).await;
    assert_eq!(few["Records"].as_array().unwrap().len(), 3);
    let (_, latest) = wire.iterator(id(&shard), "LATEST", None).await;
    for number in 0..4 {
        let mut item = common::item("b", &number.to_string(), 1);
        item["blob"] = json!({ "S": "x".repeat(300_000) });
        wire.ok("PutItem", json!({ "TableName": "clicks", "Item": item })).await;
    }
    let (_, page) = wire.streams("GetRecords", json!({ "ShardIterator": latest["ShardIterator"] })).await;
    assert_eq!(page["Records"].as_array().unwrap().len(), 3, "four records of 300 kB exceed a megabyte");
}

#[tokio::test]
async fn a_closed_shard_ends_and_its_children_continue_it() {
    let (engine, wire) = start(1).await;
    wire.put("a", "before", 1).await;
    let parent = id(&wire.shards().await[0]).to_owned();
    let children = engine.change_shard("clicks", &parent, ShardChange::Split).await.unwrap();
    assert_eq!(children.len(), 2);
    for number in 0..20 {
        wire.put(&format!("user-{number}"), "after", 1).await;
    }
    let (records, ended) = wire.read(&parent, "TRIM_HORIZON", None).await;
    assert!(ended && records.len() == 1, "the parent holds the earlier records, and ends");
    let shards = wire.shards().await;
    assert!(shards[0]["SequenceNumberRange"]["EndingSequenceNumber"].is_string(), "{shards:?}");
    let mut after = 0;
    for child in &shards[1..] {
        assert_eq!(child["ParentShardId"], parent.as_str());
        let (records, ended) = wire.read(id(child), "TRIM_HORIZON", None).await;
        assert!(!ended && !records.is_empty());
        after += records.len();
    }
    assert_eq!(after, 20);
    let rolled = engine.change_shard("clicks", &children[0], ShardChange::Roll).await.unwrap();
    assert_eq!(rolled.len(), 1);
    let again = engine.change_shard("clicks", &parent, ShardChange::Roll).await;
    assert!(matches!(again, Err(EngineError::NoOpenShard { .. })), "a closed shard stays closed");
    let filter = json!({ "Type": "CHILD_SHARDS", "ShardId": parent });
    let request = json!({ "StreamArn": wire.stream_arn().await, "ShardFilter": filter, "Limit": 1 });
    let (_, answer) = wire.streams("DescribeStream", request).await;
    assert_eq!(answer["StreamDescription"]["LastEvaluatedShardId"], children[0].as_str());
}

#[tokio::test]
async fn a_write_that_changes_nothing_gives_no_record() {
    let (_engine, wire) = start(1).await;
    for value in [1, 1, 2, 2] {
        wire.put("a", "1", value).await;
    }
    let (records, _) = wire.read(id(&wire.shards().await[0]), "TRIM_HORIZON", None).await;
    let names: Vec<&str> = records.iter().map(|record| record["eventName"].as_str().unwrap()).collect();
    assert_eq!(names, ["INSERT", "MODIFY"]);
}

#[tokio::test]
async fn an_expired_item_is_removed_by_dynamodb_itself() {
    let (engine, wire) = start(1).await;
    let specification = json!({ "Enabled": true, "AttributeName": "expiresAt" });
    wire.ok("UpdateTimeToLive", json!({ "TableName": "clicks", "TimeToLiveSpecification": specification })).await;
    let mut item = common::item("a", "1", 1);
    item["expiresAt"] = json!({ "N": "1000000000" });
    wire.ok("PutItem", json!({ "TableName": "clicks", "Item": item })).await;
    assert_eq!(engine.housekeeper().sweep().await.unwrap(), 1);
    let (records, _) = wire.read(id(&wire.shards().await[0]), "TRIM_HORIZON", None).await;
    let remove = &records[1];
    assert_eq!(remove["eventName"], "REMOVE");
    assert_eq!(remove["userIdentity"], json!({ "Type": "Service", "PrincipalId": "dynamodb.amazonaws.com" }));
}

#[tokio::test]
async fn a_recreated_table_has_a_new_stream() {
    let (_engine, wire) = start(1).await;
    wire.put("a", "old", 1).await;
    let old = wire.stream_arn().await;
    wire.ok("DeleteTable", json!({ "TableName": "clicks" })).await;
    wire.create_table().await;
    wire.put("a", "new", 1).await;
    assert_ne!(wire.stream_arn().await, old);
    let (records, _) = wire.read(id(&wire.shards().await[0]), "TRIM_HORIZON", None).await;
    assert_eq!(records.iter().map(sort_key).collect::<Vec<_>>(), ["new"]);
}

async fn numbers(wire: &Wire, shard: &str) -> Vec<String> {
    let (records, _) = wire.read(shard, "TRIM_HORIZON", None).await;
    records.iter().map(|record| record["dynamodb"]["SequenceNumber"].as_str().unwrap().to_owned()).collect()
}

#[tokio::test]
async fn shards_records_and_settings_survive_a_restart() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("data/dynamodb.sqlite");
    let (engine, wire) = open(&file).await;
    wire.create_table().await;
    wire.put("a", "1", 1).await;
    let parent = id(&wire.shards().await[0]).to_owned();
    let child = engine.change_shard("clicks", &parent, ShardChange::Roll).await.unwrap().remove(0);
    wire.put("a", "2", 1).await;
    let specification = json!({ "PointInTimeRecoveryEnabled": true });
    let request = json!({ "TableName": "clicks", "PointInTimeRecoverySpecification": specification });
    wire.ok("UpdateContinuousBackups", request).await;
    let (arn, shards, seen) = (wire.stream_arn().await, wire.shards().await, numbers(&wire, &child).await);
    engine.shutdown().await;

    let (engine, wire) = open(&file).await;
    assert_eq!(
        (wire.stream_arn().await, wire.shards().await, numbers(&wire, &child).await),
        (arn, shards, seen.clone())
    );
    let backups = wire.ok("DescribeContinuousBackups", json!({ "TableName": "clicks" })).await;
    let recovery = &backups["ContinuousBackupsDescription"]["PointInTimeRecoveryDescription"];
    assert_eq!(recovery["PointInTimeRecoveryStatus"], "ENABLED");
    wire.put("a", "3", 1).await;
    let now = numbers(&wire, &child).await;
    assert!(now.len() == 2 && now.is_sorted() && now[..1] == seen[..], "{now:?}");
    engine.shutdown().await;
}

#[tokio::test]
async fn records_older_than_a_day_are_trimmed() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("dynamodb.sqlite");
    let (engine, wire) = open(&file).await;
    wire.create_table().await;
    for number in 0..3 {
        wire.put("a", &number.to_string(), 1).await;
    }
    let shard = id(&wire.shards().await[0]).to_owned();
    let old = numbers(&wire, &shard).await[0].clone();
    // The clock cannot be moved forward, so the test makes the records older.
    let database = rusqlite::Connection::open(&file).unwrap();
    database
        .execute_batch(&format!(
            "UPDATE _stream_records SET created_at = created_at - 86401,
                    sequence_number = CAST(CAST(sequence_number AS INTEGER) - {DAY_US} - 1000000 AS TEXT);
             UPDATE _tidemark_shards SET starts = starts - {DAY_US} - 1000000;"
        ))
        .unwrap();
    let kept = || database.query_row("SELECT COUNT(*) FROM _stream_records", [], |row| row.get::<_, i64>(0)).unwrap();
    assert!(numbers(&wire, &shard).await.is_empty(), "old records are hidden at once");
    wire.put("a", "new", 1).await;
    assert_eq!((engine.housekeeper().sweep().await.unwrap(), kept()), (0, 1), "and deleted by the next sweep");
    let turned_back = old.parse::<i128>().unwrap() - i128::from(DAY_US) - 1_000_000;
    let (_, answer) = wire.iterator(&shard, "AFTER_SEQUENCE_NUMBER", Some(&turned_back.to_string())).await;
    assert!(answer["__type"].as_str().unwrap().ends_with("TrimmedDataAccessException"), "{answer}");
    assert_eq!(numbers(&wire, &shard).await.len(), 1);
    // A reader who comes now has lost nothing.
    let first = wire.shards().await[0]["SequenceNumberRange"]["StartingSequenceNumber"].clone();
    let before = first.as_str().unwrap().parse::<i128>().unwrap() - 1;
    let (_, answer) = wire.iterator(&shard, "AFTER_SEQUENCE_NUMBER", Some(&before.to_string())).await;
    assert!(answer["ShardIterator"].is_string(), "{answer}");
    engine.shutdown().await;
}

#[tokio::test]
async fn trimmed_records_of_one_shard_leave_the_others_readable() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("dynamodb.sqlite");
    let storage = Storage::File(file.clone());
    let engine = Engine::start(Options { storage, stream_shards: 2, ..Options::default() }).await.unwrap();
    let wire = Wire::new(&engine);
    wire.create_table().await;
    let shards: Vec<String> = wire.shards().await.iter().map(|shard| id(shard).to_owned()).collect();
    // A key of each shard, and the records that its reader has settled.
    let mut keys = ["".to_owned(), "".to_owned()];
    let mut settled = ["".to_owned(), "".to_owned()];
    for number in 0.. {
        let key = number.to_string();
        wire.put(&key, "settled", 1).await;
        for (index, shard) in shards.iter().enumerate() {
            let (records, _) = wire.read(shard, "TRIM_HORIZON", None).await;
            if let Some(last) = records.last() {
                keys[index] = last["dynamodb"]["Keys"]["pk"]["S"].as_str().unwrap().to_owned();
                settled[index] = last["dynamodb"]["SequenceNumber"].as_str().unwrap().to_owned();
            }
        }
        if settled.iter().all(|number| !number.is_empty()) {
            break;
        }
    }
    // The first shard gets a record that nobody reads for two days, and then both get one.
    wire.put(&keys[0], "lost", 1).await;
    let database = rusqlite::Connection::open(&file).unwrap();
    assert!(database.execute("UPDATE _stream_records SET created_at = created_at - 172800", []).unwrap() > 0);
    for key in &keys {
        wire.put(key, "new", 1).await;
    }
    for is_deleted in [false, true] {
        if is_deleted {
            engine.housekeeper().sweep().await.unwrap();
        }
        let (_, lost) = wire.iterator(&shards[0], "AFTER_SEQUENCE_NUMBER", Some(&settled[0])).await;
        assert!(lost["__type"].as_str().unwrap().ends_with("TrimmedDataAccessException"), "{lost}");
        let (records, _) = wire.read(&shards[1], "AFTER_SEQUENCE_NUMBER", Some(&settled[1])).await;
        assert_eq!(records.iter().map(sort_key).collect::<Vec<_>>(), ["new"]);
    }
    engine.shutdown().await;
}
