//! Clicks: sent one by one and in batches, some twice; afterwards each that was answered is in the
//! table, and the statistics say so.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

use anyhow::Result;
use aws_sdk_dynamodb::types::AttributeValue;
use clicks_store::{click_aggregators, rollup_table};
use fastrand::Rng;
use reqwest::Method;
use rollup::{Recounter, Scope};
use serde_json::{Value, json};
use tests::{Database, Stack};
use uuid::Uuid;

use crate::check::Check;
use crate::world::{Request, RequestOutcome, World};

const SYSTEM: &str = "clicks";
const VISITORS: u32 = 60;
const BATCH_MAX: usize = 25;
/// How many keys are sent once more at the end.
const AGAIN_MAX: usize = 300;

/// A click that somebody sent.
#[derive(Debug, Clone)]
struct Sent {
    user: String,
    count: u32,
    outcome: RequestOutcome,
}

/// All clicks that were sent, by their keys.
#[derive(Debug, Default)]
pub(crate) struct Clicks {
    sent: Mutex<BTreeMap<String, Sent>>,
}

impl Clicks {
    /// A visitor after the other, until the traffic ends.
    pub(crate) async fn drive(&self, world: &World, mut rng: Rng) {
        while world.goes_on() {
            if rng.u8(..4) == 0 { self.batch(world, &mut rng).await } else { self.one(world, &mut rng).await }
        }
    }

    async fn one(&self, world: &World, rng: &mut Rng) {
        let (key, user, count) = click(rng);
        let body = json!({"userId": user, "clickCount": count});
        let request = Request { system: SYSTEM, method: Method::POST, path: "/clicks", key: Some(&key), body: &body };
        let outcome = world.ask(rng, &request).await;
        self.keep(world, key, Sent { user, count, outcome });
    }

    async fn batch(&self, world: &World, rng: &mut Rng) {
        let clicks: Vec<_> = (0..rng.usize(2..=BATCH_MAX)).map(|_| click(rng)).collect();
        let body: Vec<_> = clicks
            .iter()
            .map(|(key, user, count)| json!({"userId": user, "clickCount": count, "idempotencyKey": key}))
            .collect();
        let body = json!({ "clicks": body });
        let request = Request { system: SYSTEM, method: Method::POST, path: "/clicks", key: None, body: &body };
        let outcome = world.ask(rng, &request).await;
        for (place, (key, user, count)) in clicks.into_iter().enumerate() {
            let outcome = match &outcome {
                RequestOutcome::Done(answer) => of_item(&answer["items"][place]),
                other => other.clone(),
            };
            self.keep(world, key, Sent { user, count, outcome });
        }
    }

    fn keep(&self, world: &World, key: String, sent: Sent) {
        world.note(SYSTEM, &sent.outcome);
        self.sent.lock().unwrap_or_else(PoisonError::into_inner).insert(key, sent);
    }

    /// Compares the sent clicks with the table and its statistics.
    pub(crate) async fn check(&self, stack: &Stack) -> Result<Vec<Check>> {
        let sent = self.sent.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let mut there = Check::of("each click that was answered is in the table, once");
        let mut nothing_else = Check::of("no click is in the table that nobody sent, or that was refused");
        let mut counted = Check::of("the total is the sum of the clicks in the table");
        let (mut found, mut times, mut sum) = (BTreeMap::<String, u32>::new(), BTreeMap::new(), 0);
        let scan = stack.dynamodb().scan().table_name(Database::CLICKS).consistent_read(true);
        let scan = scan.filter_expression("begins_with(recordSort, :click)");
        let mut scan = scan
            .expression_attribute_values(":click", AttributeValue::S("CLICK#".to_owned()))
            .into_paginator()
            .items()
            .send();
        while let Some(item) = scan.next().await.transpose()? {
            let text = |name: &str| item.get(name).and_then(|value| value.as_s().ok()).cloned().unwrap_or_default();
            let count = item.get("clickCount").and_then(|value| value.as_n().ok()).and_then(|count| count.parse().ok());
            let (key, user, count) = (text("clickId"), text("userId"), count.unwrap_or(1_u32));
            sum += u64::from(count);
            times.insert(key.clone(), text("createDateTime"));
            let is_meant = sent.get(&key).is_some_and(|sent| {
                sent.user == user && sent.count == count && !matches!(sent.outcome, RequestOutcome::Refused(_))
            });
            nothing_else.expect(is_meant, || format!("{key} of {user}, {count}"));
            *found.entry(key).or_default() += 1;
        }
        for (key, sent) in &sent {
            let times = found.get(key).copied().unwrap_or_default();
            match sent.outcome {
                RequestOutcome::Done(_) => {
                    there.expect(times == 1, || format!("{key} is there {times} times: {sent:?}"))
                }
                _ => there.expect(times <= 1, || format!("{key} is there {times} times: {sent:?}")),
            }
        }
        let total = stack.get("/stats/total").await?.json();
        counted.expect(total == json!({ "totalClicks": sum }), || format!("{sum} in the table, and it says {total}"));

        let mut again = Check::of("a key that comes again is told of the same click");
        let answered = sent.iter().filter(|(_, sent)| matches!(sent.outcome, RequestOutcome::Done(_)));
        for (key, Sent { user, count, .. }) in answered.take(AGAIN_MAX) {
            let click = json!({"userId": user, "clickCount": count, "idempotencyKey": key});
            let answer = stack.post("/clicks", &click).await?;
            let (status, body) = (answer.status.as_u16(), answer.json());
            let is_same = status == 200 && times.get(key).is_some_and(|time| body["createDateTime"] == **time);
            again.expect(is_same, || format!("{key} is told {status}, {body}"));
        }

        let mut recounted = Check::of("`tidemark recount` finds no difference");
        let items = rollup_table(&stack.table(Database::CLICKS));
        for aggregator in click_aggregators(&items)? {
            let measured =
                Recounter::new(&aggregator, items.clone(), stack.streams()).check(&Scope::All, |_| {}).await?;
            recounted.compared += measured.items;
            for difference in &measured.differences {
                recounted.mistake(format!("{difference:?}"));
            }
            for (count, what) in [(measured.unreadable, "unreadable"), (measured.quarantined, "in quarantine")] {
                recounted.expect(count == 0, || format!("{count} clicks are {what}"));
            }
        }
        Ok(vec![there, nothing_else, again, counted, recounted])
    }
}

fn click(rng: &mut Rng) -> (String, String, u32) {
    (Uuid::now_v7().to_string(), format!("visitor-{}", rng.u32(..VISITORS)), rng.u32(1..=3))
}

fn of_item(item: &Value) -> RequestOutcome {
    match item["status"].as_u64() {
        Some(200..300) => RequestOutcome::Done(Value::Null),
        Some(400) => RequestOutcome::Refused(item["problem"]["type"].to_string()),
        _ => RequestOutcome::Unknown,
    }
}
