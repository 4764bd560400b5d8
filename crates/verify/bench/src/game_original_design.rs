//! The layout that the game's first design had: drawing and awards inside the room's item, which is
//! written anew at each stroke. Counted by the sizes of the items, as DynamoDB bills them.

use std::io::Write;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use flate2::Compression;
use flate2::write::GzEncoder;
use serde_json::{Value, json};

use crate::game_drawing::Hand;

const PLAYERS: usize = 10;

/// Write units of a game's strokes alone, when each of so many batches, in turns of the same
/// length, rewrites the room. That is less than such a game would take: guesses, chat and history
/// come on top.
pub(crate) fn write_units(hand: &Hand, draws: f64, turns: f64) -> f64 {
    let per_turn = (draws / turns).round() as usize;
    let drawings: Vec<String> = (1..=per_turn.min(hand.batches.len())).map(|count| drawing(hand, count)).collect();
    let mut units = 0;
    for turn in 0..turns as usize {
        let room = size(&room(turn * PLAYERS, ""));
        units += drawings.iter().map(|drawing| (room + drawing.len()).div_ceil(1_024)).sum::<usize>();
    }
    units as f64
}

/// The first batches of a drawing as the design has them: compressed, in base64.
fn drawing(hand: &Hand, count: usize) -> String {
    let json = Value::Array(hand.chunk(0..count)).to_string();
    let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
    let zipped = encoder.write_all(json.as_bytes()).and_then(|()| encoder.finish());
    STANDARD.encode(zipped.unwrap_or_default())
}

/// The room as the design describes it, with so many awards and this drawing; in DynamoDB's JSON.
fn room(awards: usize, drawing: &str) -> Value {
    const ID: &str = "0199c0de-0000-7000-8000-000000000001";
    const TIME: &str = "1759401000000";
    let (s, n) = (|text: &str| json!({"S": text}), |number: &str| json!({"N": number}));
    let player = json!({"M": {
        "id": s(ID), "name": s("あんず"), "status": s("ready"), "joinedAt": n(TIME), "connectionId": s("L0SM9coFvHcCG7A="),
    }});
    let award = json!({"M": {
        "playerId": s(ID), "roundNumber": n("1"), "turnNumber": n("1"), "points": n("87"),
        "reason": s("correct_answer"), "timestamp": n(TIME),
    }});
    let turn = json!({"M": {
        "id": s(ID), "turnNumber": n("1"), "drawerId": s(ID), "answer": s("りんご"), "status": s("drawing"),
        "timeLimit": n("80"), "startedAt": n(TIME), "correctPlayerIds": {"L": vec![s(ID); PLAYERS / 2]},
    }});
    json!({
        "PK": s(&format!("GAME#{ID}")), "SK": s("META"), "gameId": s(ID), "status": s("playing"),
        "createdAt": n(TIME), "updatedAt": n(TIME),
        "settings": {"M": {"timeLimit": n("80"), "roundCount": n("10"), "playerCount": n("10")}},
        "currentRound": {"M": {"id": s(ID), "roundNumber": n("1"), "startedAt": n(TIME), "currentTurn": turn}},
        "players": {"L": vec![player; PLAYERS]},
        "scoreHistories": {"L": vec![award; awards]},
        "currentDrawing": {"M": {"drawerId": s(ID), "data": s(drawing), "updatedAt": n(TIME)}},
    })
}

/// The size of an item, [as DynamoDB counts
/// it](https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/CapacityUnitCalculations.html).
fn size(item: &Value) -> usize {
    let members = |members: &serde_json::Map<String, Value>| -> usize {
        members.iter().map(|(name, value)| name.len() + value_size(value)).sum()
    };
    item.as_object().map_or(0, members)
}

fn value_size(value: &Value) -> usize {
    let Some((kind, value)) = value.as_object().and_then(|object| object.iter().next()) else { return 0 };
    match kind.as_str() {
        // Three bytes for a map or list, and one for each of its members.
        "M" => 3 + value.as_object().map_or(0, serde_json::Map::len) + size(value),
        "L" => 3 + value.as_array().map_or(0, |list| list.iter().map(|element| 1 + value_size(element)).sum()),
        // Two digits a byte, without trailing zeros, and one more.
        "N" => value.as_str().map_or(0, |digits| digits.trim_end_matches('0').len().div_ceil(2) + 1),
        _ => value.as_str().map_or(0, str::len),
    }
}

#[cfg(test)]
mod tests {
    use aws_sdk_dynamodb::types::{AttributeValue, ReturnConsumedCapacity};
    use std::collections::HashMap;

    use super::*;
    use crate::stack;

    fn attribute(value: &Value) -> AttributeValue {
        let (kind, value) = value.as_object().and_then(|object| object.iter().next()).expect("a value");
        let text = || value.as_str().expect("a text").to_owned();
        match kind.as_str() {
            "M" => AttributeValue::M(item(value)),
            "L" => AttributeValue::L(value.as_array().expect("a list").iter().map(attribute).collect()),
            "N" => AttributeValue::N(text()),
            _ => AttributeValue::S(text()),
        }
    }

    fn item(value: &Value) -> HashMap<String, AttributeValue> {
        value.as_object().expect("an item").iter().map(|(name, value)| (name.clone(), attribute(value))).collect()
    }

    #[tokio::test]
    async fn the_engine_bills_such_rooms_as_they_are_counted() {
        let engine = tidemark_engine::Engine::start(tidemark_engine::Options::default()).await.expect("an engine");
        let client = stack::client(&engine);
        let table = stack::table("GameTable").expect("the template's table");
        tidemark_local::tables::ensure(&client, &table).await.expect("a table");
        let hand = Hand::new(80_000);
        for (awards, batches) in [(0, 1), (10, 40), (500, 7), (990, 80)] {
            let room = room(awards, &drawing(&hand, batches));
            let put = client.put_item().table_name(&table.name).set_item(Some(item(&room)));
            let put = put.return_consumed_capacity(ReturnConsumedCapacity::Total).send().await.expect("a put");
            let billed = put.consumed_capacity.and_then(|capacity| capacity.capacity_units);
            assert_eq!(billed, Some(size(&room).div_ceil(1_024) as f64), "{awards} awards, {batches} batches");
        }
        engine.shutdown().await;
    }
}
