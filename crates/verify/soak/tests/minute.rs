//! A minute of the soak: every promise holds, and each check notices damage to its data.

#![allow(clippy::unwrap_used)]

use std::collections::HashMap;
use std::time::Duration;

use aws_sdk_dynamodb::Client;
use aws_sdk_dynamodb::types::AttributeValue;
use soak::{FinishedSoak, Options, Report, soak};
use tests::Database;

type Item = HashMap<String, AttributeValue>;

/// How many items of a kind are spoilt.
const SPOILT: usize = 20;

/// A damage that a check notices: the table, its items, and the number in them that is changed.
/// Without one, the items are deleted.
type Damage = (&'static str, fn(&Item) -> bool, Option<&'static str>);

const SCORES: Damage = (Database::GAMES, |item| text(item, "SK").starts_with("SCORE#"), Some("points"));

const OTHERS: [Damage; 6] = [
    (
        Database::SHOP,
        |item| text(item, "SK").starts_with("INVLOG#") && !text(item, "RequestId").is_empty(),
        Some("Quantity"),
    ),
    (Database::SHOP, |item| text(item, "SK").starts_with("INVLOG#") && text(item, "PK") == "PRODUCT#tray", None),
    (Database::SHOP, |item| text(item, "Action") == "view", None),
    (Database::OKUSURI, |item| text(item, "SK").starts_with("MEDICATION#"), None),
    (Database::JOURNAL, |item| text(item, "message").starts_with("The tide"), None),
    (Database::CLICKS, |item| !text(item, "clickId").is_empty(), None),
];

/// Some of the items, as of one the answer may have been lost.
async fn some(client: &Client, (table, is_it, _): Damage) -> Vec<Item> {
    let items = client.scan().table_name(table).into_paginator().items().send();
    let items: Vec<Item> = items.collect::<Result<_, _>>().await.unwrap();
    items.into_iter().filter(is_it).take(SPOILT).collect()
}

/// Does the damage through DynamoDB's own port.
async fn spoil(soaked: &FinishedSoak, damage: Damage) {
    let client = soaked.with_stack(async |stack| stack.dynamodb()).await.unwrap();
    let (table, _, change) = damage;
    let some = some(&client, damage).await;
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

/// Whether there was something of everything.
async fn is_complete(soaked: &FinishedSoak, report: &Report) -> bool {
    let answered = |system: &str| report.systems.get(system).is_some_and(|tally| tally.answered > 0);
    let all_answered = ["clicks", "games", "journal", "okusuri", "shop"].into_iter().all(answered);
    if !all_answered || report.stack_kills < 2 || !report.holds() {
        return false;
    }
    let client = soaked.with_stack(async |stack| stack.dynamodb()).await.unwrap();
    for damage in OTHERS.into_iter().chain([SCORES]) {
        if some(&client, damage).await.is_empty() {
            return false;
        }
    }
    true
}

fn text<'a>(item: &'a Item, name: &str) -> &'a str {
    item.get(name).and_then(|value| value.as_s().ok()).map_or("", String::as_str)
}

fn broken(report: &Report) -> Vec<&'static str> {
    report.checks.iter().filter(|check| !check.holds()).map(|check| check.promise).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn soak_keeps_every_promise_and_detects_broken_ones() {
    // On a slow machine, it takes more than a minute until there was something of everything.
    let mut seconds = 60;
    let soaked = loop {
        let soaked = soak(Options { seed: 7, time: Duration::from_secs(seconds), kills: 2 }).await.unwrap();
        let report = soaked.check().await.unwrap();
        println!("{report}");
        assert!(report.checks.iter().all(|check| check.mistakes == 0), "{report}");
        if is_complete(&soaked, &report).await {
            break soaked;
        }
        seconds *= 2;
        assert!(seconds <= 240, "not everything has happened: {report}");
    };

    // Items that must never change, and items that must never be deleted.
    spoil(&soaked, SCORES).await;
    let report = soaked.check().await.unwrap();
    assert_eq!(broken(&report), ["each score is the sum of its awards"], "{report}");

    for damage in OTHERS {
        spoil(&soaked, damage).await;
    }
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
