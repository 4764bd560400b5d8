//! The archiver against a real engine and its stream: games played to the end, records that come
//! twice, late, one by one, and requests that fail.

use std::collections::BTreeMap;

use aws_sdk_dynamodb::types::AttributeValue;
use domain::TimeRange;
use domain::game::{Command, GameId, Line, LineId, LineKind, Stage, SystemText, Talk};
use domain::journal::{Entry, JournalStream, Retention};
use game_archiver::Archiver;
use game_store::{CHAT_LINES_MAX, Chat, Drawings, Lobby, Rounds, StoredLine};
use jiff::Timestamp;
use journal_store::{Journal, JournalReader, JournalShards};
use lambda_kit::stream::BatchError;
use serde_json::{Value, json};
use store_base::StoreError;
use tests::games::{Play, game, name, player, settings};
use tests::{Database, sample_event};
use tidemark_engine::{Chance, EngineFaults};
use uuid::Uuid;

/// A moment of which the ttl of everything is still to come.
const NOW_MS: u64 = 4_000_000_000_000;

const DAY_S: u64 = 24 * 60 * 60;

fn now() -> Timestamp {
    Timestamp::from_millisecond(NOW_MS.try_into().unwrap()).unwrap()
}

fn archiver(db: &Database) -> Archiver {
    let shards = JournalShards::new(4).unwrap();
    let journal = Journal::new(&db.table(Database::JOURNAL), shards, Retention::default());
    Archiver::new(&db.table(Database::GAMES), journal)
}

async fn deliver(db: &Database, records: &[Value]) -> Result<Value, BatchError<StoreError>> {
    deliver_to(&archiver(db), records).await
}

async fn deliver_to(archiver: &Archiver, records: &[Value]) -> Result<Value, BatchError<StoreError>> {
    let event = serde_json::value::to_raw_value(&json!({ "Records": records })).unwrap();
    Ok(serde_json::to_value(game_archiver::handle(archiver, event, now()).await?).unwrap())
}

/// What the journal says of games.
async fn told(db: &Database) -> Vec<Entry> {
    let reader = JournalReader::new(&db.table(Database::JOURNAL), Retention::default());
    let page = reader.page(&JournalStream::suite(), TimeRange::default(), 100, None, now()).await.unwrap();
    assert_eq!(page.next, None);
    page.items
}

fn done() -> Value {
    json!({"batchItemFailures": []})
}

/// Every item of a game whose sort key begins so, by sort key.
async fn items(db: &Database, id: GameId, prefix: &str) -> BTreeMap<String, BTreeMap<String, AttributeValue>> {
    let query =
        db.client.query().table_name(Database::GAMES).key_condition_expression("PK = :pk AND begins_with(SK, :sk)");
    let query = query.expression_attribute_values(":pk", AttributeValue::S(format!("GAME#{id}")));
    let query = query.expression_attribute_values(":sk", AttributeValue::S(prefix.to_owned()));
    let pages = query.into_paginator().items().send().collect::<Result<Vec<_>, _>>().await.unwrap();
    let named = pages.into_iter().map(|item| (item["SK"].as_s().unwrap().clone(), item.into_iter().collect()));
    named.collect()
}

async fn all(db: &Database, id: GameId) -> BTreeMap<String, BTreeMap<String, AttributeValue>> {
    let mut all = BTreeMap::new();
    for prefix in ["CHAT#", "DRAWING#", "LIVE#", "META", "PLAYER#", "ROUND#", "SCORE#", "STROKE#", "WORDS"] {
        all.extend(items(db, id, prefix).await);
    }
    all
}

fn number(item: &BTreeMap<String, AttributeValue>, name: &str) -> u64 {
    item[name].as_n().unwrap().parse().unwrap()
}

/// A game of three, played to the end.
async fn played(db: &Database, rounds: u16) -> Play {
    let settings = settings(rounds, 3).unwrap();
    let mut play = Play::with_players(&db.client, Database::GAMES, game(1), settings, 3, NOW_MS).await.unwrap();
    play.start().await.unwrap();
    play.to_the_end().await.unwrap();
    play
}

#[tokio::test]
async fn finished_game_gets_history_drawings_awards_and_expiry() {
    let db = Database::start().await.unwrap();
    let play = played(&db, 2).await;
    assert_eq!(deliver(&db, &db.game_records().await.unwrap()).await.unwrap(), done());

    let (rounds, _) = Rounds::new(&db.table(Database::GAMES)).of_game(game(1)).await.unwrap();
    let turns: Vec<_> = rounds.iter().flat_map(|round| round.turns.iter().map(|turn| turn.id.as_str())).collect();
    assert_eq!(turns, ["01.01", "01.02", "01.03", "02.01", "02.02", "02.03"]);
    let first = &rounds[0].turns[0];
    assert_eq!(
        (first.drawer_name.as_deref(), first.correct_player_ids.len(), first.awards.len()),
        (Some("あんず"), 2, 3)
    );

    // What the awards add up to is what everybody has.
    let scores = items(&db, game(1), "SCORE#").await;
    assert_eq!(scores.len(), 6 * 3);
    for seat in &play.game.room.players {
        let of_player = scores.values().filter(|score| score["playerId"].as_s().unwrap() == &seat.id.to_string());
        assert_eq!(of_player.map(|score| number(score, "points")).sum::<u64>(), u64::from(seat.score));
        let by_rounds = rounds.iter().flat_map(|round| &round.round_scores);
        let of_player = by_rounds.filter(|score| score.player_id == seat.id.to_string());
        assert_eq!(of_player.map(|score| score.points).sum::<u32>(), seat.score);
    }

    let drawings = Drawings::new(&db.table(Database::GAMES));
    for turn in turns {
        let drawing = drawings.get(game(1), turn.parse().unwrap()).await.unwrap().unwrap();
        let drawing: Vec<Value> = serde_json::from_str(drawing.get()).unwrap();
        assert_eq!(drawing.iter().map(|batch| batch["seq"].as_u64().unwrap()).collect::<Vec<_>>(), [1, 2]);
    }

    let lobby = Lobby::new(&db.table(Database::GAMES));
    let finished = lobby.finished(player(0), 10, None).await.unwrap().items;
    assert_eq!((finished.len(), finished[0].players), (1, 3));
    assert_eq!(finished[0].score, play.game.room.players[0].score);

    let Stage::Finished { at_ms, .. } = play.game.room.stage else { panic!("not finished") };
    for (sort, item) in all(&db, game(1)).await {
        let after_the_end_s = number(&item, "ttl") - at_ms / 1_000;
        let is_tidied = ["LIVE#SECRET", "META", "PLAYER#", "ROUND#"].iter().any(|prefix| sort.starts_with(prefix));
        if is_tidied {
            assert_eq!(after_the_end_s, 7 * DAY_S, "{sort}");
        } else if !sort.starts_with("STROKE#") {
            assert!((7 * DAY_S..=8 * DAY_S).contains(&after_the_end_s), "{sort}: {after_the_end_s}");
        }
    }
}

#[tokio::test]
async fn repeated_late_or_split_records_archive_the_same_items() {
    let db = Database::start().await.unwrap();
    played(&db, 2).await;
    let records = db.game_records().await.unwrap();
    for record in &records {
        deliver(&db, std::slice::from_ref(record)).await.unwrap();
    }
    let once = all(&db, game(1)).await;
    let half = records.len() / 2;
    for batch in [&records[..], &records[..half], &records[half..], &records[half - 3..half + 3]] {
        assert_eq!(deliver(&db, batch).await.unwrap(), done());
        assert_eq!(all(&db, game(1)).await, once);
    }

    // Two invocations at once, as when the first is thought to be dead.
    let db = Database::start().await.unwrap();
    played(&db, 2).await;
    let outcomes =
        futures::future::join_all([deliver(&db, &records), deliver(&db, &records), deliver(&db, &records)]).await;
    assert!(outcomes.iter().all(|outcome| outcome.as_ref().is_ok_and(|reply| *reply == done())), "{outcomes:?}");
    assert_eq!(all(&db, game(1)).await, once);
}

#[tokio::test]
async fn concurrent_turn_records_all_stay_in_their_round() {
    let db = Database::start().await.unwrap();
    played(&db, 2).await;
    let records = db.game_records().await.unwrap();
    let outcomes =
        futures::future::join_all(records.iter().map(|record| deliver(&db, std::slice::from_ref(record)))).await;
    assert!(outcomes.iter().all(|outcome| outcome.as_ref().is_ok_and(|reply| *reply == done())), "{outcomes:?}");
    let (rounds, _) = Rounds::new(&db.table(Database::GAMES)).of_game(game(1)).await.unwrap();
    assert_eq!(rounds.iter().map(|round| round.turns.len()).collect::<Vec<_>>(), [3, 3]);
}

/// So many lines in a game, and the records that tell of them.
async fn chatter(db: &Database, id: GameId, lines: u64) -> Vec<Value> {
    let chat = Chat::new(&db.table(Database::GAMES));
    // As large as lines get: together more than a page of a megabyte.
    let text = Talk::new(&"👍\u{1f3fd}".repeat(Talk::CHARS_MAX)).unwrap();
    let lines: Vec<_> = (0..lines)
        .map(|n| StoredLine {
            line: Line {
                id: LineId(Uuid::from_u128(n.into())),
                player: player(0),
                name: name(0),
                kind: LineKind::Talk(text.clone()),
                at_ms: NOW_MS + n,
                turn: None,
            },
            solvers_of: None,
        })
        .collect();
    for some in lines.chunks(50) {
        futures::future::try_join_all(some.iter().map(|line| chat.put(id, line))).await.unwrap();
    }
    db.game_records().await.unwrap()
}

#[tokio::test]
async fn of_a_long_chat_the_newest_thousand_lines_stay() {
    let db = Database::start().await.unwrap();
    let records = chatter(&db, game(1), 1_130).await;
    assert_eq!(deliver(&db, &records).await.unwrap(), done());
    let left = items(&db, game(1), "CHAT#").await;
    assert_eq!(left.len(), CHAT_LINES_MAX);
    assert_eq!(number(left.values().next().unwrap(), "createdAt"), NOW_MS + 130);
    deliver(&db, &records).await.unwrap();
    assert_eq!(items(&db, game(1), "CHAT#").await, left);
}

/// Counting reads the whole chat.
#[tokio::test]
async fn an_instance_counts_a_chat_once_in_fifty_lines() {
    let db = Database::start().await.unwrap();
    let records = chatter(&db, game(1), 101).await;
    let archiver = archiver(&db);
    let reads = || db.engine().meter().used().into_values().map(|usage| usage.read_units).sum::<f64>();
    let mut counted = Vec::new();
    for (place, record) in records.iter().enumerate() {
        let before = reads();
        deliver_to(&archiver, std::slice::from_ref(record)).await.unwrap();
        counted.extend((reads() > before).then_some(place));
    }
    assert_eq!(counted, [0, 50, 100]);
}

#[tokio::test]
async fn a_chat_within_its_limit_is_left_alone() {
    let db = Database::start().await.unwrap();
    let records = chatter(&db, game(1), 3).await;
    assert_eq!(deliver(&db, &records).await.unwrap(), done());
    assert_eq!(items(&db, game(1), "CHAT#").await.len(), 3);
}

#[tokio::test]
async fn failed_request_retries_its_record_and_loses_nothing() {
    let reference = Database::start().await.unwrap();
    played(&reference, 1).await;
    deliver(&reference, &reference.game_records().await.unwrap()).await.unwrap();
    let expected = all(&reference, game(1)).await;
    for operation in ["PutItem", "GetItem", "Query", "UpdateItem"] {
        let db = Database::start().await.unwrap();
        played(&db, 1).await;
        let records = db.game_records().await.unwrap();
        // More than the SDK tries, for as many as go out at once.
        let chance = Chance { next: 100, probability: 0.0 };
        let fail_before = BTreeMap::from([(operation.to_owned(), chance)]);
        db.engine().faults().set(EngineFaults { fail_before, ..EngineFaults::default() });
        let reply = deliver(&db, &records).await.unwrap();
        let failed =
            reply["batchItemFailures"][0]["itemIdentifier"].as_str().unwrap_or_else(|| panic!("{operation}: {reply}"));
        db.engine().faults().set(EngineFaults::default());
        let place = records.iter().position(|record| record["dynamodb"]["SequenceNumber"] == failed).unwrap();
        assert_eq!(deliver(&db, &records[place..]).await.unwrap(), done(), "{operation}");
        assert_eq!(all(&db, game(1)).await, expected, "{operation}");
    }
}

#[tokio::test]
async fn unreadable_record_does_not_hold_up_the_others() {
    let db = Database::start().await.unwrap();
    played(&db, 1).await;
    let mut records = db.game_records().await.unwrap();
    let mut torn = records[records.len() - 1].clone();
    torn["dynamodb"]["NewImage"]["players"] = json!({"S": "nobody"});
    records.splice(0..0, [torn, json!(7), json!({"eventName": "MODIFY"})]);
    assert_eq!(deliver(&db, &records).await.unwrap(), done());
    assert_eq!(items(&db, game(1), "ROUND#").await.len(), 1);
}

#[tokio::test]
async fn what_was_earned_in_a_turn_that_never_ended_stands() {
    let db = Database::start().await.unwrap();
    let mut play =
        Play::with_players(&db.client, Database::GAMES, game(1), settings(1, 3).unwrap(), 3, NOW_MS).await.unwrap();
    play.start().await.unwrap();
    let answer = play.choose().await.unwrap();
    play.draw(1).await.unwrap();
    play.say(1, answer.as_str()).await.unwrap();
    for n in 0..3 {
        play.apply(n, Command::Disconnect).await.unwrap();
    }
    // The drawing is revealed to nobody, and then the game is finished.
    for _ in 0..2 {
        play.wait().await.unwrap();
    }
    assert!(matches!(play.game.room.stage, Stage::Finished { .. }));
    assert_eq!(deliver(&db, &db.game_records().await.unwrap()).await.unwrap(), done());
    let scores = items(&db, game(1), "SCORE#").await;
    assert_eq!(
        scores.values().map(|score| number(score, "points")).sum::<u64>(),
        play.game.room.players.iter().map(|player| u64::from(player.score)).sum::<u64>()
    );
    assert_eq!(
        (scores.len(), items(&db, game(1), "DRAWING#").await.len(), items(&db, game(1), "ROUND#").await.len()),
        (1, 1, 1)
    );
}

#[tokio::test]
async fn an_event_of_another_kind_is_refused() {
    let db = Database::start().await.unwrap();
    let archiver = archiver(&db);
    let event = serde_json::value::to_raw_value(&sample_event("game-archiver", "not-a-batch")).unwrap();
    assert!(matches!(game_archiver::handle(&archiver, event, now()).await, Err(BatchError::NotABatch(_))));
}

#[tokio::test]
async fn end_of_a_game_is_journaled_once_without_players() {
    let db = Database::start().await.unwrap();
    let play = played(&db, 2).await;
    let records = db.game_records().await.unwrap();
    for _ in 0..2 {
        assert_eq!(deliver(&db, &records).await.unwrap(), done());
    }
    for record in &records {
        deliver(&db, std::slice::from_ref(record)).await.unwrap();
    }
    let told = told(&db).await;
    let [entry] = &*told else { panic!("{} entries", told.len()) };
    let Stage::Finished { at_ms, .. } = play.game.room.stage else { panic!("not finished") };
    assert_eq!(entry.id.at().as_millisecond(), i64::try_from(at_ms).unwrap());
    let best = play.game.room.players.iter().map(|player| player.score).max().unwrap();
    let facts: BTreeMap<_, _> = entry.attributes.pairs().iter().map(|(name, text)| (&**name, &**text)).collect();
    let expected = [("kind", "game-finished"), ("players", "3"), ("rounds", "2"), ("bestScore", &*best.to_string())];
    let mut expected = BTreeMap::from(expected);
    let id = game(1).to_string();
    if play.game.room.public {
        expected.insert("gameId", &id);
    }
    assert_eq!(facts, expected);
}

#[tokio::test]
async fn unreadable_game_rows_are_skipped_in_their_lists() {
    let db = Database::start().await.unwrap();
    let mut play = played(&db, 2).await;
    deliver(&db, &db.game_records().await.unwrap()).await.unwrap();
    play.reload().await.unwrap();
    let line = |n| {
        let kind = LineKind::System(SystemText::Joined);
        let (player, name) = (player(0), play.game.room.players[0].name.clone());
        let line = Line { id: LineId(Uuid::from_u128(n)), player, name, kind, at_ms: NOW_MS, turn: None };
        StoredLine { line, solvers_of: None }
    };
    let chat = Chat::new(&db.table(Database::GAMES));
    for n in 1..=2 {
        chat.put(game(1), &line(n)).await.unwrap();
    }
    let lines = items(&db, game(1), "CHAT#").await.len();
    for (prefix, name) in [("ROUND#", "roundNumber"), ("PLAYER#", "score"), ("CHAT#", "type")] {
        let (sort, mut item) = items(&db, game(1), prefix).await.pop_first().unwrap();
        item.insert(name.to_owned(), AttributeValue::Bool(true));
        let put = db.client.put_item().table_name(Database::GAMES).set_item(Some(item.into_iter().collect()));
        put.send().await.unwrap_or_else(|error| panic!("{sort}: {error:?}"));
    }
    let (rounds, skipped) = Rounds::new(&db.table(Database::GAMES)).of_game(game(1)).await.unwrap();
    assert_eq!((rounds.len(), skipped), (1, 1));
    let page = chat.page(game(1), 100, None).await.unwrap();
    assert_eq!((page.items.len(), page.skipped), (lines - 1, 1));
    let lobby = Lobby::new(&db.table(Database::GAMES));
    let mut finished = (0, 0);
    for n in 0..3 {
        let page = lobby.finished(player(n), 10, None).await.unwrap();
        finished = (finished.0 + page.items.len(), finished.1 + page.skipped);
    }
    assert_eq!(finished, (2, 1));
}
