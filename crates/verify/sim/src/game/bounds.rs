//! The promise that nothing in a game's partition grows without an end.

use std::collections::BTreeMap;
use std::task::{Context, Poll, Waker};

use domain::game::GameId;
use game_store::{Archive, CHAT_LINES_MAX, PARTITION_BOUNDS};
use serde_json::json;

use super::wire::Wire;
use super::world::{TABLE, World};
use crate::table::ask;

/// The pages of a partition.
const PAGES_MAX: usize = 100;

/// What the archiver does with the chat, which nothing here does on the way.
pub(super) fn trim_chat(world: &World, game_id: GameId) -> anyhow::Result<()> {
    let archive = Archive::new(&Wire::perfect(world.clone()).table());
    let mut trimming = std::pin::pin!(archive.trim_chat(game_id));
    match trimming.as_mut().poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(trimmed) => trimmed.map(drop).map_err(Into::into),
        Poll::Pending => anyhow::bail!("a wire that takes no time made somebody wait"),
    }
}

/// Counts the game's items by kind: each is of a kind that is known, and of no kind are there more
/// than its bound.
pub(super) fn look_at(world: &World, game_id: GameId) -> anyhow::Result<()> {
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    let mut strangers = Vec::new();
    let mut start = serde_json::Value::Null;
    for _ in 0..PAGES_MAX {
        let mut query = json!({
            "TableName": TABLE,
            "KeyConditionExpression": "PK = :game",
            "ExpressionAttributeValues": {":game": {"S": format!("GAME#{game_id}")}},
            "ProjectionExpression": "SK",
        });
        if start.is_object() {
            query["ExclusiveStartKey"] = start;
        }
        let page = world.with(|state| ask(&mut *state.database, "Query", &query))?;
        for item in page["Items"].as_array().into_iter().flatten() {
            let sort = item["SK"]["S"].as_str().unwrap_or_default();
            match PARTITION_BOUNDS.iter().find(|(kind, _)| sort.starts_with(kind)) {
                Some((kind, _)) => *counts.entry(kind).or_default() += 1,
                None => strangers.push(format!("an item {sort} is of no known kind")),
            }
        }
        start = page["LastEvaluatedKey"].clone();
        if !start.is_object() {
            break;
        }
    }
    let is_trimmed = world.with(|state| !state.history.is_stormy);
    for (kind, bound) in PARTITION_BOUNDS {
        let count = counts.get(kind).copied().unwrap_or_default();
        // The chat is trimmed behind the players' backs.
        if count > bound && (is_trimmed || bound != CHAT_LINES_MAX) {
            strangers.push(format!("{count} items {kind}, of which {bound} may be there"));
        }
    }
    world.with(|state| state.history.broken.extend(strangers));
    Ok(())
}
