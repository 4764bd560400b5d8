//! A minute of the soak: every promise holds, and each check notices damage to its data.

#![allow(clippy::unwrap_used)]

use std::collections::HashMap;
use std::time::Duration;

use aws_sdk_dynamodb::types::AttributeValue;
use soak::{FinishedSoak, Options, Report, soak};
use tests::Database;

type Item = HashMap<String, AttributeValue>;

/// How many items of a kind are spoilt.
const SPOILT: usize = 20;

/// Changes a number in some items of a table, or deletes them, through DynamoDB's own port. Some,
/// as of one the answer may have been lost.
async fn spoil(soaked: &FinishedSoak, table: &str, is_it: impl Fn(&Item) -> bool, change: Option<&str>) {
    let client = soaked.with_stack(async |stack| stack.dynamodb()).await.unwrap();
    let items = client.scan().table_name(table).into_paginator().items().send();
    let items: Vec<Item> = items.collect::<Result<_, _>>().await.unwrap();
    let some: Vec<_> = items.into_iter().filter(is_it).take(SPOILT).collect();
    assert!(!some.is_empty(), "{table} has no such item");
    for mut item in some {
        match change {
            Some(name) => {
                item.insert(name.to_owned(), AttributeValue::N("7777".to_owned()));
                client.put_item().table_name(table).set_item(Some(item)).send().await.unwrap();
            }
            None => {
                let keys = if table == Database::CLICKS { ["userId", "createDateTime"] } else { ["PK", "SK"] };
                let key = item.into_iter().filter(|(name, _)| keys.contains(&name.as_str())).collect();
                client.delete_item().table_name(table).set_key(Some(key)).send().await.unwrap();
            }
        }
    }
}

fn text<'a>(item: &'a Item, name: &str) -> &'a str {
    item.get(name).and_then(|value| value.as_s().ok()).map_or("", String::as_str)
}

fn broken(report: &Report) -> Vec<&'static str> {
    report.checks.iter().filter(|check| !check.holds()).map(|check| check.promise).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn soak_keeps_every_promise_and_detects_broken_ones() {
    let options = Options { seed: 7, time: Duration::from_secs(60), kills: 2 };
    let soaked = soak(options).await.unwrap();
    let report = soaked.check().await.unwrap();
    println!("{report}");
    assert!(report.holds(), "{report}");
    assert_eq!(report.stack_kills, 2);
    for system in ["clicks", "games", "journal", "okusuri", "shop"] {
        assert!(report.systems[system].answered > 0, "nothing happened in {system}: {report}");
    }

    // Items that must never change, and items that must never be deleted.
    spoil(&soaked, Database::GAMES, |item| text(item, "SK").starts_with("SCORE#"), Some("points")).await;
    let report = soaked.check().await.unwrap();
    assert_eq!(broken(&report), ["each score is the sum of its awards"], "{report}");

    let is_movement = |item: &Item| text(item, "SK").starts_with("INVLOG#") && !text(item, "RequestId").is_empty();
    spoil(&soaked, Database::SHOP, is_movement, Some("Quantity")).await;
    let is_foreign = |item: &Item| text(item, "SK").starts_with("INVLOG#") && text(item, "PK") == "PRODUCT#tray";
    spoil(&soaked, Database::SHOP, is_foreign, None).await;
    spoil(&soaked, Database::SHOP, |item| text(item, "Action") == "view", None).await;
    spoil(&soaked, Database::OKUSURI, |item| text(item, "SK").starts_with("MEDICATION#"), None).await;
    spoil(&soaked, Database::JOURNAL, |item| text(item, "message").starts_with("The tide"), None).await;
    spoil(&soaked, Database::CLICKS, |item| !text(item, "clickId").is_empty(), None).await;
    let report = soaked.check().await.unwrap();
    let broken = broken(&report);
    for promise in [
        "each click that was answered is in the table, once",
        "the total is the sum of the clicks in the table",
        "`tidemark recount` finds no difference",
        "ledgers chain and sum to the stock, prices chain, reservations come to what is reserved",
        "no change is lost between the suite and a writer that locks the stock on its value",
        "each activity that was answered is told of its user and of its product, once",
        "each entry that was answered is in its stream, once, and nothing else is",
        "the logs of each user are those that were answered",
    ] {
        assert!(broken.contains(&promise), "nobody has seen that it is broken: {promise}\n{report}");
    }
}
