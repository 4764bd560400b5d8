//! The promises, and whether they were kept.

use std::collections::BTreeMap;
use std::rc::Rc;

use bytes::Bytes;
use domain::game::{GameId, Participant};
use serde_json::{Value, json};

use super::player::Bot;
use super::world::{World, player};
use crate::table::{ask, text};

/// Bounds the pages of one look at the stream.
const PAGES_MAX: usize = 10_000;

/// Looks at a message that leaves for a connection: no byte of it may tell an answer to somebody
/// who still has to guess it.
pub(super) fn look_at(world: &World, connection_id: &str, message: &Bytes) {
    let Some(seat) = world.with(|state| state.sockets.get(connection_id).map(|socket| socket.seat)) else { return };
    let Some(game_id) = world.with(|state| state.game_id) else { return };
    let Ok(live) = world.live(game_id) else { return };
    let Some(turn) = live.room.turn().filter(|turn| turn.phase.is_secret()) else { return };
    let me = Participant::Player(player(seat));
    if live.room.knows_answer(me.id()) {
        return;
    }
    let Some(secret) = live.secret.turn.filter(|secret| secret.id == turn.id) else { return };
    let mut said = texts(message);
    let hidden: Vec<String> = match &secret.answer {
        Some(answer) => vec![answer.word.to_string()],
        None => secret.options.iter().map(ToString::to_string).collect(),
    };
    if world.with(|state| std::mem::take(&mut state.is_leaky)) {
        said.push_str(&hidden[0]);
    }
    for word in hidden.iter().filter(|word| word.chars().count() > 2) {
        if said.contains(word.as_str()) {
            let line = format!("{connection_id} was told {word}: {said}");
            world.with(|state| state.history.broken.push(line));
        }
    }
}

/// Members whose values are words of the protocol or ids: words that a drawer may get are in some
/// of them.
const SPELLED: [&str; 19] = [
    "type", "status", "phase", "kind", "reason", "words", "language", "action", "id", "gameId", "playerId", "hostId",
    "drawerId", "turnId", "rematch", "title", "detail", "op", "tool",
];

/// All other texts of a message, a line each.
fn texts(message: &[u8]) -> String {
    fn collect(value: &Value, into: &mut String) {
        match value {
            Value::String(text) => *into += &format!("{text}\n"),
            Value::Array(values) => values.iter().for_each(|value| collect(value, into)),
            Value::Object(members) => {
                let others = members.iter().filter(|(name, _)| !SPELLED.contains(&name.as_str()));
                others.for_each(|(_, value)| collect(value, into));
            }
            _ => {}
        }
    }
    let mut texts = String::new();
    // A body that is not JSON is checked as text.
    match serde_json::from_slice(message) {
        Ok(message) => collect(&message, &mut texts),
        Err(_) => texts += &String::from_utf8_lossy(message),
    }
    texts
}

/// Looks at the books when everything is over.
pub(super) fn judge(world: &World, game_id: GameId, bots: &[Rc<Bot>]) -> anyhow::Result<()> {
    let room = world.live(game_id)?.room;
    let mut broken = Vec::new();
    // One whose players have all been voted out but one waits for others.
    let status = room.view(0).status;
    if status == "playing" {
        broken.push(format!("the game does not end: {room:?}"));
    }

    // What the stream has seen of each turn last.
    let mut turns: BTreeMap<(u64, u64), Value> = BTreeMap::new();
    let mut version = 0;
    for image in metas(world, game_id)? {
        let next = number(&image["version"]);
        if next <= version {
            broken.push(format!("version {next} follows {version}"));
        }
        version = next;
        let round = &image["currentRound"]["M"];
        let turn = &round["currentTurn"]["M"];
        if turn.is_null() {
            continue;
        }
        let id = (number(&round["roundNumber"]), number(&turn["turnNumber"]));
        if turns.last_key_value().is_some_and(|(last, _)| id < *last) {
            broken.push(format!("turn {id:?} comes again"));
        }
        if let Some(before) = turns.insert(id, turn.clone()) {
            let (before, now) = (solvers(&before), solvers(turn));
            if now.len() < before.len() || now[..before.len()] != before[..] {
                broken.push(format!("the solvers of {id:?} were {before:?} and are {now:?}"));
            }
        }
    }
    let mut sums: BTreeMap<String, u64> = BTreeMap::new();
    let mut solved = 0;
    for (id, turn) in &turns {
        let mut seen = vec![turn["drawerId"]["S"].as_str().unwrap_or_default().to_owned()];
        for (player, points) in solvers(turn) {
            if seen.contains(&player) {
                broken.push(format!("{player} has more than one award in {id:?}, or drew in it"));
            }
            seen.push(player.clone());
            *sums.entry(player).or_default() += points;
            solved += 1;
        }
        for award in turn["otherAwards"]["L"].as_array().into_iter().flatten() {
            let (player, points) = (&award["M"]["playerId"]["S"], number(&award["M"]["points"]));
            *sums.entry(player.as_str().unwrap_or_default().to_owned()).or_default() += points;
        }
    }
    for player in &room.players {
        let sum = sums.get(&player.id.to_string()).copied().unwrap_or_default();
        if sum != u64::from(player.score) {
            broken.push(format!("{} has {} points and awards of {sum}", player.id, player.score));
        }
    }
    for bot in bots.iter().filter(|bot| !bot.is_out.get() && room.player(player(bot.seat)).is_some()) {
        let seen = bot.seen();
        if seen["version"].as_u64() != Some(room.version) || seen["status"] != status {
            broken.push(format!("player {} sees {seen} and not version {}", bot.seat, room.version));
        }
    }
    world.with(|state| {
        state.history.count("right guesses", solved);
        state.history.broken.extend(broken);
    });
    Ok(())
}

fn solvers(turn: &Value) -> Vec<(String, u64)> {
    let list = |name: &str| turn[name]["L"].as_array().cloned().unwrap_or_default();
    let players = list("correctPlayerIds").into_iter().map(|id| id["S"].as_str().unwrap_or_default().to_owned());
    players.zip(list("correctPoints").iter().map(number)).collect()
}

fn number(value: &Value) -> u64 {
    value["N"].as_str().and_then(|digits| digits.parse().ok()).unwrap_or_default()
}

/// Every image of the room, oldest first. Rematches have rooms of their own.
fn metas(world: &World, game_id: GameId) -> anyhow::Result<Vec<Value>> {
    let partition = format!("GAME#{game_id}");
    world.with(|state| {
        let stream = state.stream_arn.clone();
        let database = &mut *state.database;
        let described = ask(database, "DescribeStream", &json!({"StreamArn": stream}))?;
        let shard = text(&described["StreamDescription"]["Shards"][0]["ShardId"])?;
        let from = json!({"StreamArn": stream, "ShardId": shard, "ShardIteratorType": "TRIM_HORIZON"});
        let mut iterator = text(&ask(database, "GetShardIterator", &from)?["ShardIterator"])?;
        let mut images = Vec::new();
        for _ in 0..PAGES_MAX {
            let page = ask(database, "GetRecords", &json!({"ShardIterator": iterator}))?;
            let records = page["Records"].as_array().cloned().unwrap_or_default();
            if records.is_empty() {
                return Ok(images);
            }
            let new = records.into_iter().map(|record| record["dynamodb"]["NewImage"].clone());
            images.extend(new.filter(|image| image["SK"]["S"] == "META" && image["PK"]["S"] == *partition));
            iterator = text(&page["NextShardIterator"])?;
        }
        anyhow::bail!("the stream does not end")
    })
}
