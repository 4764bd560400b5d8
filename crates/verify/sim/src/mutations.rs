//! Our own rules, each weakened in one place, to prove that the simulation would notice.
//!
//! The function's code has no switches for this. Its steps are written once more here, without its
//! retries, from the pieces of `domain` and `store` that it uses itself; a mutation hands one of
//! those pieces the wrong thing. The same steps without a mutation have to pass, or else it would
//! be this file that is wrong and not the rule.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};

use aws_sdk_dynamodb::Client;
use aws_sdk_dynamodb::types::AttributeValue;
use domain::calendar::parse_date;
use domain::clicks::{SequenceNumber, StatDelta, StreamClick, chunks};
use jiff::Timestamp;
use lambda_kit::stream::{StreamEvent, StreamRecord, StreamReply};
use serde_json::Value;
use store::clicks::{
    Checkpoints, ClickImage, CommitError, FirstSeenCache, FirstSeenRecords, Merger, QuarantinedRecord, ShardCheckpoint,
};
use tokio::sync::Mutex;

use crate::table::TABLE;

/// How often a batch starts over because its checkpoint moved.
const CHECKPOINT_TRIES_MAX: usize = 5;

/// Which rule is weakened.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Rule {
    Unweakened,
    ShardAlone,
    SkippingCache,
    CheckpointOutsideTransaction,
}

/// One instance.
pub(crate) struct Mutant {
    rule: Rule,
    checkpoints: Checkpoints,
    first_seen_records: FirstSeenRecords,
    known: Mutex<FirstSeenCache>,
    commits: AtomicU64,
}

impl Mutant {
    pub(crate) fn new(client: Client, rule: Rule) -> Self {
        let (checkpoints, first_seen_records) = (
            Checkpoints::new(&store::Table::new(client.clone(), TABLE)),
            FirstSeenRecords::new(&store::Table::new(client, TABLE)),
        );
        Self { rule, checkpoints, first_seen_records, known: Mutex::default(), commits: AtomicU64::new(0) }
    }

    pub(crate) async fn handle(&self, event: &str, now: Timestamp) -> anyhow::Result<Value> {
        let event: StreamEvent = serde_json::from_str(event)?;
        let (stream, shard) = (event.event_source_arn.as_deref(), event.shard_id.as_deref());
        let shard = ShardCheckpoint::new(stream.unwrap_or_default(), shard.unwrap_or_default());
        let records: Vec<StreamRecord<'_, ClickImage<'_>>> =
            event.records.iter().filter_map(|raw| serde_json::from_str(raw.get()).ok()).collect();
        let clicks = records.iter().filter(|record| record.event_name == "INSERT").filter_map(|record| {
            let number = record.change.sequence_number.parse().ok()?;
            record.change.new_image.as_ref()?.click(number).ok().flatten()
        });
        let clicks: Vec<StreamClick<'_>> = clicks.collect();
        for _ in 0..CHECKPOINT_TRIES_MAX {
            match self.count(&shard, &clicks, now).await {
                Ok(()) => return Ok(serde_json::to_value(StreamReply::new(&event, None))?),
                Err(CommitError::CheckpointMoved) => {}
                Err(CommitError::Store(error)) => return Err(error.into()),
            }
        }
        anyhow::bail!("the checkpoint keeps moving")
    }

    async fn count(
        &self,
        shard: &ShardCheckpoint,
        clicks: &[StreamClick<'_>],
        now: Timestamp,
    ) -> Result<(), CommitError> {
        let mut checkpoint = self.checkpoints.checkpoint(shard).await?;
        let new = clicks.iter().copied().filter(|click| checkpoint.is_none_or(|at| click.sequence_number > at));
        let new: Vec<_> = new.collect();
        let Some(through) = new.last().map(|click| click.sequence_number) else { return Ok(()) };
        for chunk in chunks(new, through) {
            // The sequence number up to which first-seen records of this shard count as counted:
            // for the cache, and for the sums.
            let (known_to, added_to) = match self.rule {
                Rule::Unweakened | Rule::CheckpointOutsideTransaction => (checkpoint, checkpoint),
                Rule::ShardAlone => (None, None),
                Rule::SkippingCache => (Some(greatest_number()), checkpoint),
            };
            let standing = {
                let mut known = self.known.lock().await;
                self.first_seen_records.record(&mut known, shard.id(), known_to, &chunk.visits).await?
            };
            let delta = chunk.delta(shard.id(), added_to, &standing);
            if self.rule == Rule::CheckpointOutsideTransaction {
                self.checkpoints.commit(shard, checkpoint, chunk.through, &StatDelta::default(), now).await?;
                // A shard of its own makes a transaction of the sums alone.
                let commit = self.commits.fetch_add(1, Ordering::Relaxed);
                let alone = ShardCheckpoint::new(
                    shard.stream_arn(),
                    format!("{}/{}/{commit}", shard.shard_id(), chunk.through),
                );
                self.checkpoints.commit(&alone, None, chunk.through, &delta, now).await?;
            } else {
                self.checkpoints.commit(shard, checkpoint, chunk.through, &delta, now).await?;
            }
            checkpoint = Some(chunk.through);
        }
        Ok(())
    }
}

/// A redrive that forgets: a shard of its own each time instead of the click's.
pub(crate) async fn redrive_non_idempotent(
    client: Client,
    kept: &QuarantinedRecord,
    now: Timestamp,
) -> anyhow::Result<()> {
    let Some((user_id, time)) = kept.click_key() else { return Ok(()) };
    let s = |text: &str| AttributeValue::S(text.to_owned());
    let request = client.get_item().table_name(TABLE).key("userId", s(&user_id)).key("createDateTime", s(&time));
    let Some(item) = request.consistent_read(true).send().await?.item else { return Ok(()) };
    let first = SequenceNumber::after(None);
    let image = ClickImage::from(&item);
    let Ok(Some(click)) = image.click(first) else { return Ok(()) };
    let shard = ShardCheckpoint::new("operator", format!("redrive#{}", fastrand::u64(..)));
    for chunk in chunks([click], first) {
        let first_seen_records = FirstSeenRecords::new(&store::Table::new(client.clone(), TABLE));
        let standing =
            first_seen_records.record(&mut FirstSeenCache::default(), shard.id(), None, &chunk.visits).await?;
        let delta = chunk.delta(shard.id(), None, &standing);
        Checkpoints::new(&store::Table::new(client.clone(), TABLE))
            .commit(&shard, None, chunk.through, &delta, now)
            .await?;
    }
    Ok(())
}

/// A merger that adds in one request and takes away in another.
pub(crate) async fn merge_in_two_requests(client: Client) -> anyhow::Result<u64> {
    let waiting = Merger::new(&store::Table::new(client.clone(), TABLE)).list().await?;
    let s = |text: &str| AttributeValue::S(text.to_owned());
    for kept in &waiting {
        let key = [
            ("userId", format!("CHECKPOINT#{}", kept.shard.stream_arn())),
            ("createDateTime", kept.shard.shard_id().to_owned()),
        ];
        let key = HashMap::from(key.map(|(name, text)| (name.to_owned(), s(&text))));
        let request = client.get_item().table_name(TABLE).set_key(Some(key.clone())).consistent_read(true);
        let item = request.send().await?.item.unwrap_or_default();
        let (mut delta, mut gone) = (StatDelta::default(), Vec::new());
        for (name, value) in &item {
            let Some((kind @ ("clicks" | "users"), period)) = name.split_once(':') else { continue };
            let number: u64 = value.as_n().ok().and_then(|number| number.parse().ok()).unwrap_or_default();
            gone.push(name.clone());
            if period == "total" {
                delta.total_clicks = number;
                continue;
            }
            let sums = match parse_date(period) {
                Ok(day) => delta.days.entry(day).or_default(),
                Err(_) => delta.months.entry(period.parse()?).or_default(),
            };
            *(if kind == "clicks" { &mut sums.clicks } else { &mut sums.unique_users }) = number;
        }
        if gone.is_empty() {
            continue;
        }
        // A shard of its own makes a transaction of the sums alone.
        let alone = ShardCheckpoint::new("merges", fastrand::u64(..).to_string());
        Checkpoints::new(&store::Table::new(client.clone(), TABLE))
            .commit(&alone, None, SequenceNumber::after(None), &delta, Timestamp::UNIX_EPOCH)
            .await?;
        let names: HashMap<_, _> =
            gone.into_iter().enumerate().map(|(index, name)| (format!("#a{index}"), name)).collect();
        let mut placeholders: Vec<_> = names.keys().cloned().collect();
        placeholders.sort();
        let request =
            client.update_item().table_name(TABLE).set_key(Some(key)).set_expression_attribute_names(Some(names));
        request.update_expression(format!("REMOVE {}", placeholders.join(", "))).send().await?;
    }
    Ok(waiting.len() as u64)
}

/// A sequence number that no checkpoint passes.
fn greatest_number() -> SequenceNumber {
    SequenceNumber::from_bytes([u8::MAX; 17])
}
