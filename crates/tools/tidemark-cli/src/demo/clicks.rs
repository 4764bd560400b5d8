//! A year of clicks, and one record that cannot be read.

use std::collections::BTreeSet;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use clicks_store::{
    ClickWriter, Counts, DateShards, DemoState, PutClick, Withdrawal, click_aggregators, click_keys, rollup_table,
};
use domain::UserId;
use domain::clicks::{Click, ClickCount, ClickTarget, ClickTime};
use fastrand::Rng;
use futures::stream::{self, StreamExt, TryStreamExt};
use jiff::{SignedDuration, Timestamp};
use rollup::{Recounter, Scope};
use serde_json::Value;
use store_base::{Item, s};

use super::{Ids, Tables};

const DAYS: i64 = 365;
const USERS: usize = 16;
const TARGETS: [&str; 5] = ["signup", "pricing", "docs", "download", "newsletter"];
/// Puts that are in flight at once.
const REQUESTS_MAX: usize = 32;
/// How often the stream is asked whether everything is counted, and the pause between.
const LOOKS_MAX: usize = 1_000;
const PAUSE: Duration = Duration::from_millis(250);

/// The clicks, oldest first: more from month to month, fewer on weekends, most in the afternoon.
/// They are more than one batch of the stream.
fn clicks(ids: Ids) -> Result<Vec<Click>> {
    let mut rng = Rng::with_seed(7);
    let (mut clicks, mut taken) = (Vec::new(), BTreeSet::new());
    let today = Timestamp::from_second(ids.at.as_second() / 86_400 * 86_400)?;
    for day in 0..DAYS {
        let midnight = today - SignedDuration::from_hours(24 * (DAYS - 1 - day));
        // 1970-01-01 was a Thursday.
        let is_weekend = matches!((midnight.as_second() / 86_400 + 4) % 7, 0 | 6);
        let busy = u32::try_from(day / 60)?;
        for _ in 0..rng.u32(1..=2) + if is_weekend { 0 } else { 2 + busy / 3 } {
            let hour = (rng.u32(6..=22) + rng.u32(8..=20)) / 2;
            let ms = i64::from(hour * 3_600_000 + rng.u32(..3_600_000));
            let user = rng.usize(..USERS);
            let count = ClickCount::new(rng.u32(2..=9) + rng.u32(..=busy * 4))?;
            let target = (rng.u8(..4) > 0).then(|| TARGETS[rng.usize(..TARGETS.len())]);
            let at_ms = midnight.as_millisecond() + ms;
            if at_ms >= ids.at.as_millisecond() || !taken.insert((user, at_ms)) {
                continue;
            }
            clicks.push(Click {
                user_id: UserId::new(ids.user(user))?,
                time: ClickTime::from_millisecond(at_ms)?,
                count,
                target: target.map(ClickTarget::new).transpose()?,
            });
        }
    }
    Ok(clicks)
}

/// The item of a click whose count is a word: a program with a mistake has put it there.
fn unreadable(ids: Ids) -> Result<Item> {
    let (user, time) = (ids.user(0), ClickTime::from_millisecond(ids.at.as_millisecond())?.to_string());
    let texts = [
        ("userId", user.clone()),
        ("createDateTime", time.clone()),
        ("clickCount", "twelve".to_owned()),
        ("dateKey", format!("DATE#{}", time.get(..10).unwrap_or_default())),
        ("recordSort", format!("CLICK#{time}#{user}")),
    ];
    Ok(texts.into_iter().map(|(name, text)| (name.to_owned(), s(text))).collect())
}

pub(super) async fn add(tables: &Tables, ids: Ids) -> Result<()> {
    let clicks = clicks(ids)?;
    let shards = DateShards::default().max_with_stored(&tables.clicks).await?;
    // They never expire: `--remove` takes them away.
    let writer = ClickWriter::new(&tables.clicks, shards, None);
    tables.clicks.put_item(unreadable(ids)?).send().await?;
    let puts = clicks.iter().map(|click| async {
        match writer.put(click, "demo").await? {
            PutClick::Stored => Ok(()),
            PutClick::Held(other) if other.click_id.as_deref() == Some("demo") => Ok(()),
            PutClick::Held(_) => bail!("{} has another click at {}", click.user_id, click.time),
        }
    });
    stream::iter(puts).buffer_unordered(REQUESTS_MAX).try_collect::<()>().await?;
    counted(tables, &clicks).await.map(drop)
}

/// Waits until the stream has counted the clicks, and returns which rollups have.
async fn counted(tables: &Tables, clicks: &[Click]) -> Result<Counts> {
    let items = rollup_table(&tables.clicks);
    let aggregators = click_aggregators(&items)?;
    let first = clicks.first().context("a year has clicks")?;
    // It reads no items, only what the stream still has to deliver.
    let scope = Scope::Part { queries: Vec::new(), stats: BTreeSet::new() };
    let mut last_error = None;
    for _ in 0..LOOKS_MAX {
        let mut is_done = Vec::new();
        for aggregator in &aggregators {
            let recounter = Recounter::new(aggregator, items.clone(), tables.streams.clone());
            let measured = recounter.measure(&scope, |_| {}).await;
            is_done.push(measured.as_ref().is_ok_and(|measured| measured.pending == 0));
            last_error = measured.err().or(last_error);
        }
        // There are several batches of clicks. So when the first rollup has counted the last batch,
        // the others have counted the first click.
        if is_done.first() == Some(&true) {
            let counts = Withdrawal::counts(&tables.clicks, first).await?;
            if counts.iter().zip(&is_done).all(|(counts, is_done)| *is_done || !counts) {
                return Ok(counts);
            }
        }
        tokio::time::sleep(PAUSE).await;
    }
    let why = last_error.map_or("is stats-aggregator running?".to_owned(), |error| error.to_string());
    bail!("the clicks are stored, but not counted yet: {why}")
}

/// The clicks that are to be removed.
pub(super) struct Removal {
    ids: Ids,
    clicks: Vec<Click>,
    there: BTreeSet<(String, String)>,
    counts: Counts,
}

impl Removal {
    pub(super) async fn plan(tables: &Tables, ids: Ids, state: DemoState) -> Result<Self> {
        let clicks = clicks(ids)?;
        let own: Vec<Item> = clicks.iter().map(|click| key(click.user_id.as_str(), &click.time.to_string())).collect();
        let own: BTreeSet<_> = click_keys(&own).into_iter().chain(click_keys(&[unreadable(ids)?])).collect();
        let mut there = BTreeSet::new();
        for user in 0..USERS {
            let items = tables.clicks.query_partition("userId", &ids.user(user)).await?;
            there.extend(click_keys(&items));
        }
        if let Some((user, time)) = there.difference(&own).next() {
            bail!("{user} has a click that is not the demo's, at {time}: nothing was removed");
        }
        let first = clicks.first().context("a year has clicks")?;
        let counts = match state {
            // Nothing of an interrupted removal was pending.
            DemoState::Removing => Withdrawal::counts(&tables.clicks, first).await?,
            DemoState::Adding | DemoState::Added => counted(tables, &clicks).await?,
        };
        Ok(Self { ids, clicks, there, counts })
    }

    pub(super) async fn run(self, tables: &Tables) -> Result<()> {
        let Self { ids, clicks, there, counts } = self;
        Withdrawal::new(&tables.clicks, &clicks, counts).run(&there).await?;
        let mut key = unreadable(ids)?;
        key.retain(|name, _| ["userId", "createDateTime"].contains(&name.as_str()));
        tables.clicks.batch_delete([key]).await?;
        for aggregator in click_aggregators(&rollup_table(&tables.clicks))? {
            for record in aggregator.quarantined().await? {
                let value: Value = serde_json::from_str(&record.record).unwrap_or_default();
                if value["dynamodb"]["Keys"]["userId"]["S"] == ids.user(0).as_str() {
                    aggregator.forget_quarantined(&record.id).await?;
                }
            }
            for user in 0..USERS {
                aggregator.forget_value("uniqueUsers", &ids.user(user)).await?;
            }
        }
        Ok(())
    }
}

fn key(user: &str, time: &str) -> Item {
    Item::from([("userId".to_owned(), s(user)), ("createDateTime".to_owned(), s(time))])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn demo_clicks_are_the_same_each_time_and_end_now() {
        let ids = Ids { at: "2026-11-27T10:30:00Z".parse().expect("a time") };
        let year = clicks(ids).expect("clicks");
        assert_eq!(year, clicks(ids).expect("clicks"));
        assert!((1_100..2_000).contains(&year.len()), "{}", year.len());
        let days: BTreeSet<_> = year.iter().map(|click| click.time.date()).collect();
        assert!(days.len() >= 364 && days.iter().next().is_some_and(|day| day.to_string() == "2025-11-28"));
        assert!(year.iter().all(|click| click.time.as_millisecond() < ids.at.as_millisecond()));
        for day in days {
            assert!(year.iter().filter(|click| click.time.date() == day).count() <= 40, "{day}");
        }
    }
}
