//! The databases of other applications: their rows, and what is expected of their migration.

use std::collections::{BTreeMap, BTreeSet};

use migration_tests::foreign::{CHAT, SHOP, Source, TRACKER, expected_items, expected_rejects};
use migration_tests::{Migration, Postgres};
use serde_json::value::RawValue;
use tidemark_migrate::cutover::PREFIX;
use tidemark_migrate::item::dynamo_json;
use tidemark_migrate::mapping::value::number;
use tokio_postgres::Client;

/// A value in one spelling: the members of objects are sorted, and numbers have no zeros at their
/// ends.
fn plain(json: &str) -> String {
    match json.trim().as_bytes().first() {
        Some(b'{') => {
            let members: BTreeMap<String, &RawValue> = serde_json::from_str(json).unwrap();
            if let Some(set) = members.get("$set") {
                let all: Vec<&RawValue> = serde_json::from_str(set.get()).unwrap();
                return set_of(all.iter().map(|member| plain(member.get())).collect());
            }
            let members = members.iter().map(|(name, value)| format!("{name:?}:{}", plain(value.get())));
            format!("{{{}}}", members.collect::<Vec<_>>().join(","))
        }
        Some(b'[') => {
            let all: Vec<&RawValue> = serde_json::from_str(json).unwrap();
            format!("[{}]", all.iter().map(|value| plain(value.get())).collect::<Vec<_>>().join(","))
        }
        Some(b'"') => format!("{:?}", serde_json::from_str::<String>(json).unwrap()),
        _ => number(json.trim()).unwrap_or_else(|| json.trim().to_owned()),
    }
}

/// A set has no order.
fn set_of(members: BTreeSet<String>) -> String {
    format!("set of {members:?}")
}

/// An attribute of an item, in the form of the expected ones.
fn attribute(json: &str) -> String {
    let typed: BTreeMap<String, &RawValue> = serde_json::from_str(json).unwrap();
    let (kind, value) = typed.iter().next().unwrap();
    let value = value.get();
    match kind.as_str() {
        "N" => number(&serde_json::from_str::<String>(value).unwrap()).unwrap(),
        "NULL" => "null".to_owned(),
        "M" => {
            let members: BTreeMap<String, &RawValue> = serde_json::from_str(value).unwrap();
            let members = members.iter().map(|(name, value)| format!("{name:?}:{}", attribute(value.get())));
            format!("{{{}}}", members.collect::<Vec<_>>().join(","))
        }
        "L" => {
            let all: Vec<&RawValue> = serde_json::from_str(value).unwrap();
            format!("[{}]", all.iter().map(|value| attribute(value.get())).collect::<Vec<_>>().join(","))
        }
        "SS" => plain(&format!(r#"{{"$set":{value}}}"#)),
        "NS" => {
            let all: Vec<String> = serde_json::from_str(value).unwrap();
            set_of(all.iter().map(|member| number(member).unwrap()).collect())
        }
        "B" => plain(&format!(r#"{{"$bytes":{value}}}"#)),
        _ => plain(value),
    }
}

pub(super) type Items = BTreeMap<(String, String), BTreeMap<String, String>>;

/// The items that a transformation has made, without the migration's own attributes.
fn made(migration: &Migration) -> Items {
    let mut items = Items::new();
    for file in std::fs::read_dir(migration.path("items")).unwrap() {
        for line in std::fs::read_to_string(file.unwrap().path()).unwrap().lines() {
            let item: BTreeMap<String, &RawValue> = serde_json::from_str(line).unwrap();
            let mut item: BTreeMap<_, _> =
                item.into_iter().map(|(name, value)| (name, attribute(value.get()))).collect();
            let mut key = |name: &str| serde_json::from_str(&item.remove(name).unwrap()).unwrap_or_default();
            let key = (key("PK"), key("SK"));
            item.retain(|name, _| !name.starts_with("Migrated"));
            items.insert(key, item);
        }
    }
    items
}

/// The items of the table, in the same form.
pub(super) async fn stored(migration: &Migration) -> Items {
    let items =
        migration.items().await.unwrap().into_iter().filter(|((partition, _), _)| !partition.starts_with(PREFIX));
    let plain = |(key, item): (_, BTreeMap<String, _>)| {
        let line = dynamo_json(&item.into_iter().collect());
        let item: BTreeMap<String, &RawValue> = serde_json::from_str(&line).unwrap();
        let is_own = |name: &str| !name.starts_with("Migrated") && !["PK", "SK"].contains(&name);
        let item = item.into_iter().filter(|(name, _)| is_own(name));
        (key, item.map(|(name, value)| (name, attribute(value.get()))).collect())
    };
    items.map(plain).collect()
}

/// Compares items with those that the oracle expects of the present rows.
pub(super) async fn assert_expected(source: Source, client: &Client, made: &Items) {
    let expected = expected_items(client).await.unwrap();
    let items = expected.len();
    let expected = expected.into_iter().map(|(key, attributes)| {
        let attributes: BTreeMap<String, Box<RawValue>> = serde_json::from_str(&attributes).unwrap();
        (key, attributes.into_iter().map(|(name, value)| (name, plain(value.get()))).collect())
    });
    let expected: Items = expected.collect();
    assert_eq!(expected.len(), items, "{}: an expected key occurs twice", source.name);
    let differing: Vec<_> = expected.iter().filter(|(key, item)| made.get(key) != Some(item)).take(3).collect();
    let found: Vec<_> = differing.iter().map(|(key, _)| made.get(key)).collect();
    let extra: Vec<_> = made.iter().filter(|(key, _)| !expected.contains_key(key)).take(3).collect();
    assert!(
        differing.is_empty() && extra.is_empty(),
        "{}: expected {differing:#?}, found {found:#?}; not expected {extra:#?}",
        source.name
    );
}

async fn assert_migrated_as_expected(source: Source) {
    let mut postgres = Postgres::start().await.unwrap();
    let client = postgres.client().await.unwrap();
    source.fill(&client, 1).await.unwrap();
    for (table, rows) in source.tables {
        let count = client.query_one(&format!("SELECT count(*) FROM {table}"), &[]).await.unwrap();
        assert_eq!(count.get::<_, i64>(0), *rows, "{table}");
    }
    assert_eq!(source.tables.iter().map(|(_, rows)| rows).sum::<i64>(), 100_000);
    source.expect(&client).await.unwrap();
    let migration = Migration::of_postgres(postgres, source.mapping).await.unwrap();
    for phase in ["export", "transform"] {
        migration.phase(phase, &[]).await.unwrap();
    }
    assert_expected(source, &client, &made(&migration)).await;
    let mut rejects: BTreeMap<(String, String), u64> = BTreeMap::new();
    for line in std::fs::read_to_string(migration.path("rejects.jsonl")).unwrap().lines() {
        let reject: BTreeMap<String, &RawValue> = serde_json::from_str(line).unwrap();
        let text = |name: &str| serde_json::from_str::<String>(reject[name].get()).unwrap();
        *rejects.entry((text("table"), text("reason"))).or_default() += 1;
    }
    assert_eq!(rejects, expected_rejects(&client).await.unwrap(), "{}", source.name);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_shop_is_migrated_as_an_oracle_in_sql_expects() {
    assert_migrated_as_expected(SHOP).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn issue_tracker_is_migrated_as_an_oracle_in_sql_expects() {
    assert_migrated_as_expected(TRACKER).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_chat_is_migrated_as_an_oracle_in_sql_expects() {
    assert_migrated_as_expected(CHAT).await;
}
