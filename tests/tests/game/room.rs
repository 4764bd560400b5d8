//! The game room on a real engine: messages and their receivers, stored items, and refusals.

use aws_sdk_dynamodb::types::AttributeValue;
use domain::game::{Language, SPECTATORS_MAX, Scoring, Settings, UNDRAWN_AWAY_MS, VOTER_SEATED_MS};
use game_store::Role;
use serde_json::{Value, json};
use tests::game_table::{connection, player};
use tests::{Database, GameTable};

fn draw(seq: u32) -> Value {
    let stroke =
        json!({"op": "stroke", "id": 1, "points": [400, 300, 50, 12, 4, 0], "color": 1, "width": 8, "tool": "pen"});
    json!({"action": "draw", "turnId": "01.01", "seq": seq, "ops": [stroke]})
}

fn save(chunk: u32, seqs: std::ops::RangeInclusive<u32>) -> Value {
    let batches: Vec<_> = seqs.map(|seq| json!({"seq": seq, "ops": draw(seq)["ops"]})).collect();
    json!({"action": "save", "turnId": "01.01", "chunk": chunk, "batches": batches})
}

#[tokio::test]
async fn hello_gets_room_and_chat_and_is_announced() {
    let table = GameTable::with_players(1).await.unwrap();
    table.say(0, "やあ").await;
    table.drain(1);
    table.sit_down(1).await.unwrap();
    table.open(&connection(1), 1).await.unwrap();
    assert_eq!(table.sockets.take(&connection(1)), [Value::Null; 0], "nothing comes before hello");
    assert_eq!(table.say_hello(&connection(1)).await.outcome, "done");

    let messages = table.sockets.take(&connection(1));
    assert_eq!(messages[0]["type"], "welcome");
    assert_eq!(messages[0]["you"], json!({"playerId": player(1).to_string(), "role": "player"}));
    assert_eq!(messages[0]["room"]["players"][1]["connected"], true);
    let lines = messages[1]["lines"].as_array().unwrap();
    let texts: Vec<_> = lines.iter().map(|line| line["text"].as_str().unwrap()).collect();
    assert_eq!((&messages[1]["type"], texts.contains(&"やあ")), (&json!("chat"), true), "{messages:?}");

    let seen = table.sockets.take(&connection(0));
    assert_eq!(seen[0]["room"]["players"][1]["name"], "あん1");
    assert_eq!(seen[0]["lines"][0]["text"], "joined", "the line comes with the room");
}

#[tokio::test]
async fn nobody_says_anything_before_hello() {
    let table = GameTable::with_players(2).await.unwrap();
    table.open("early", 1).await.unwrap();
    let handled = table.send("early", &json!({"action": "ready", "ready": true})).await;
    assert_eq!((handled.status, handled.outcome), (409, "hello-first"));
}

#[tokio::test]
async fn a_turn_is_played_from_the_word_to_the_reveal() {
    let table = GameTable::with_players(3).await.unwrap();
    table.start(3).await.unwrap();
    let choose = json!({"action": "choose", "turnId": "01.01", "word": "りんご"});
    assert_eq!(table.send(&connection(0), &choose).await.outcome, "done");
    let drawer = table.last_room(&connection(0)).unwrap();
    let guesser = table.last_room(&connection(1)).unwrap();
    assert_eq!(drawer["turn"]["answer"], "りんご");
    assert_eq!((&guesser["turn"]["answer"], &guesser["turn"]["mask"]), (&Value::Null, &json!("＿＿＿")));

    table.drain(3);
    assert_eq!(table.say(1, "みかん").await.outcome, "done");
    assert_eq!(table.sockets.take(&connection(2))[0]["lines"][0]["kind"], "guess");
    assert_eq!(table.say(1, "りんこ").await.outcome, "done");
    assert_eq!((table.types(2), table.types(0).len()), (vec![], 1), "what is near is told to the guesser alone");
    assert_eq!(table.types(1), ["chat", "near"]);

    assert_eq!(table.say(1, "リンゴ").await.outcome, "done");
    let heard = table.sockets.take(&connection(2));
    assert_eq!((heard.len(), &heard[0]["lines"][0]["kind"]), (1, &json!("correct")), "{heard:?}");
    let room = &heard[0]["room"];
    assert_eq!(room["turn"]["solvers"][0]["playerId"], player(1).to_string());
    assert!(!room.to_string().contains("りんご"));
    table.drain(3);
    table.say(1, "かんたん").await;
    assert_eq!((table.types(0).len(), table.types(2).len()), (1, 0), "who knows it talks among those who know it");

    assert_eq!(table.say(2, "りんご").await.outcome, "done");
    let room = table.last_room(&connection(2)).unwrap();
    assert_eq!((&room["turn"]["phase"], &room["turn"]["answer"]), (&json!("reveal"), &json!("りんご")));
    assert_eq!(room["turn"]["awards"].as_array().unwrap().len(), 3);
    table.pass(8_000);
    let version = room["version"].as_u64().unwrap();
    assert_eq!(table.send(&connection(2), &json!({"action": "tick", "version": version})).await.outcome, "done");
    assert_eq!(table.last_room(&connection(0)).unwrap()["turn"]["turnId"], "01.02");
}

/// The drawer sees it beside the word, and whoever plays along in English types it.
#[tokio::test]
async fn english_gloss_of_a_japanese_word_is_correct_and_hidden() {
    let table = GameTable::with_players(3).await.unwrap();
    table.start_drawing(3, "りんご").await.unwrap();
    table.drain(3);
    table.say(1, "is it an aple?").await;
    table.say(1, "green apple").await;
    table.say(1, "An Apple").await;
    for seat in [0, 2] {
        let heard = table.sockets.take(&connection(seat));
        assert!(heard.iter().any(|message| message["lines"][0]["kind"] == "correct"), "{heard:?}");
        let lines = heard.iter().flat_map(|message| message["lines"].as_array().into_iter().flatten());
        assert!(lines.clone().all(|line| !line["text"].as_str().unwrap().contains("pple")), "{heard:?}");
    }
}

#[tokio::test]
async fn an_english_game_is_drawn_and_guessed_in_english() {
    let settings = Settings { language: Language::English, ..Settings::default() };
    let table = GameTable::with(3, settings, &["Hot dog", "hot-dog", "kraken"]).await.unwrap();
    table.start(3).await.unwrap();
    let choose = |word| json!({"action": "choose", "turnId": "01.01", "word": word});
    assert_eq!(table.send(&connection(0), &choose("りんご")).await.outcome, "invalid-word");
    assert_eq!(table.send(&connection(0), &choose("Polar bear")).await.outcome, "done");
    assert_eq!(table.last_room(&connection(1)).unwrap()["turn"]["mask"], "＿＿＿＿＿ ＿＿＿＿");

    table.drain(3);
    table.say(1, "bear").await;
    assert_eq!(table.sockets.take(&connection(2))[0]["lines"][0]["kind"], "guess");
    table.say(1, "poler bear").await;
    assert_eq!((table.types(2), table.types(1)), (vec![], vec!["chat".to_owned(), "near".to_owned()]));
    table.say(1, "the polar-bears").await;
    let room = table.last_room(&connection(2)).unwrap();
    assert_eq!(room["turn"]["solvers"][0]["playerId"], player(1).to_string());
    assert_eq!((&room["settings"]["language"], &room["settings"]["customWords"]), (&json!("en"), &json!(2)));
}

#[tokio::test]
async fn early_tick_waits_and_stale_tick_gets_the_room() {
    let table = GameTable::with_players(2).await.unwrap();
    table.start_drawing(2, "りんご").await.unwrap();
    let version = table.live().await.unwrap().room.version;
    table.send(&connection(1), &json!({"action": "tick", "version": version})).await;
    let wait = table.sockets.take(&connection(1));
    assert_eq!((&wait[0]["type"], &wait[0]["version"]), (&json!("wait"), &json!(version)));
    assert!(wait[0]["nextMs"].as_u64().unwrap() > 0);
    table.send(&connection(1), &json!({"action": "tick", "version": version - 1})).await;
    assert_eq!((table.types(1), table.types(0)), (vec!["room".to_owned()], vec![]));
}

#[tokio::test]
async fn strokes_reach_others_and_latecomers_get_saved_ones() {
    let table = GameTable::with_players(3).await.unwrap();
    table.start_drawing(3, "りんご").await.unwrap();
    assert_eq!(table.send(&connection(0), &draw(1)).await.outcome, "done");
    let ink = json!({"type": "ink", "turnId": "01.01", "batches": [{"seq": 1, "ops": draw(1)["ops"]}]});
    assert_eq!(table.sockets.take(&connection(1)), std::slice::from_ref(&ink));
    assert_eq!(table.sockets.take(&connection(2)), [ink]);
    assert_eq!(table.types(0), [""; 0]);

    for (chunk, seqs) in [(1, 1..=3), (2, 4..=19), (1, 1..=3)] {
        assert_eq!(table.send(&connection(0), &save(chunk, seqs)).await.outcome, "done");
    }
    assert_eq!(table.types(1), [""; 0], "no player is told of what is stored");
    table.send(&connection(2), &json!({"action": "catch-up", "turnId": "01.01", "after": 3})).await;
    let parts = table.sockets.take(&connection(2));
    let seqs =
        parts.iter().flat_map(|part| part["batches"].as_array().unwrap()).map(|batch| batch["seq"].as_u64().unwrap());
    assert_eq!(seqs.collect::<Vec<_>>(), (4..=19).collect::<Vec<u64>>());
    assert_eq!((&parts[0]["saved"], &parts[0]["last"]), (&json!(19), &json!(true)));
    table.send(&connection(2), &json!({"action": "catch-up", "turnId": "01.01", "after": 19})).await;
    let nothing = json!([{"type": "ink", "turnId": "01.01", "batches": [], "saved": 19, "last": true}]);
    assert_eq!(json!(table.sockets.take(&connection(2))), nothing);
}

/// A message for each chunk, not one for each batch.
#[tokio::test]
async fn spectators_get_saved_strokes_joined_and_once() {
    let table = GameTable::with_players(2).await.unwrap();
    table.start_drawing(2, "りんご").await.unwrap();
    table.open_as("guest", 9, Role::Spectator).await.unwrap();
    table.say_hello("guest").await;
    table.drain(2);
    table.sockets.take("guest");
    for seq in 1..=3 {
        table.send(&connection(0), &draw(seq)).await;
    }
    assert_eq!((table.types(1).len(), table.sockets.take("guest").len()), (3, 0));
    for _ in 0..2 {
        assert_eq!(table.send(&connection(0), &save(1, 1..=3)).await.outcome, "done");
    }
    let ink = json!([{"type": "ink", "turnId": "01.01", "batches": save(1, 1..=3)["batches"]}]);
    assert_eq!((json!(table.sockets.take("guest")), table.types(1).len()), (ink, 0));
}

#[tokio::test]
async fn a_reaction_reaches_others_but_not_from_the_drawer() {
    let table = GameTable::with_players(3).await.unwrap();
    table.start(3).await.unwrap();
    let react = json!({"action": "react", "turnId": "01.01", "reaction": "laugh"});
    assert_eq!(table.send(&connection(1), &react).await.outcome, "no-drawing", "before the drawing");
    let choose = json!({"action": "choose", "turnId": "01.01", "word": "りんご"});
    table.send(&connection(0), &choose).await;
    table.drain(3);
    assert_eq!(table.send(&connection(1), &react).await.outcome, "done");
    let told = json!({"type": "reaction", "turnId": "01.01", "playerId": player(1).to_string(), "reaction": "laugh"});
    assert_eq!(table.sockets.take(&connection(0)), std::slice::from_ref(&told));
    assert_eq!(table.sockets.take(&connection(2)), [told]);
    assert_eq!(table.types(1), [""; 0]);
    assert_eq!(table.send(&connection(0), &react).await.outcome, "no-drawing", "the drawer");
    let unknown = json!({"action": "react", "turnId": "01.01", "reaction": "boo"});
    assert_eq!(table.send(&connection(1), &unknown).await.outcome, "invalid-message");
}

#[tokio::test]
async fn a_game_without_points_stays_so_when_stored() {
    let table = GameTable::with(2, Settings { scoring: Scoring::None, ..Settings::default() }, &[]).await.unwrap();
    table.start_drawing(2, "りんご").await.unwrap();
    table.say(1, "りんご").await;
    let room = table.last_room(&connection(1)).unwrap();
    assert_eq!((&room["settings"]["scoring"], &room["turn"]["phase"]), (&json!("none"), &json!("reveal")));
    assert_eq!(room["turn"]["solvers"], json!([{"playerId": player(1).to_string(), "points": 0}]));
    assert_eq!((&room["turn"]["awards"], &room["players"][1]["score"]), (&Value::Null, &json!(0)));
}

#[tokio::test]
async fn a_long_drawing_comes_in_parts_that_fit_a_frame() {
    let table = GameTable::with_players(2).await.unwrap();
    table.start_drawing(2, "りんご").await.unwrap();
    let points: Vec<i32> =
        [800, 600, 50].into_iter().chain((0..399).flat_map(|n| [if n % 2 == 0 { 700 } else { -700 }, 1, 0])).collect();
    let ops = json!([{"op": "stroke", "id": 1, "points": points, "color": 1, "width": 8, "tool": "pen"}]);
    for chunk in 1..=20u32 {
        let batches: Vec<_> = (0..4).map(|n| json!({"seq": (chunk - 1) * 4 + n + 1, "ops": ops})).collect();
        let save = json!({"action": "save", "turnId": "01.01", "chunk": chunk, "batches": batches});
        assert_eq!(table.send(&connection(0), &save).await.outcome, "done");
        table.pass(1_000);
    }
    table.send(&connection(1), &json!({"action": "catch-up", "turnId": "01.01", "after": 0})).await;
    let parts = table.sockets.take_raw(&connection(1));
    assert!(
        parts.len() > 1 && parts.iter().all(|part| part.len() <= 32 * 1024),
        "{:?}",
        parts.iter().map(|part| part.len()).collect::<Vec<_>>()
    );
    let parts: Vec<Value> = parts.iter().map(|part| serde_json::from_slice(part).unwrap()).collect();
    let seqs =
        parts.iter().flat_map(|part| part["batches"].as_array().unwrap()).map(|batch| batch["seq"].as_u64().unwrap());
    assert_eq!(seqs.collect::<Vec<_>>(), (1..=80).collect::<Vec<u64>>());
    let lasts: Vec<_> = parts.iter().map(|part| part["last"].as_bool().unwrap()).collect();
    assert_eq!(lasts.iter().filter(|last| **last).count(), 1);
    assert_eq!(lasts.last(), Some(&true));
}

#[tokio::test]
async fn a_second_tab_takes_the_place_of_the_first() {
    let table = GameTable::with_players(2).await.unwrap();
    table.open("second", 1).await.unwrap();
    table.say_hello("second").await;
    assert_eq!(table.sockets.take(&connection(1)).last().unwrap()["type"], "replaced");
    assert!(table.sockets.is_closed(&connection(1)));
    assert_eq!(table.sockets.take("second")[0]["type"], "welcome");

    // The old one's end comes later and changes nothing.
    assert_eq!(table.room.disconnected(&connection(1), table.now_ms()).await.outcome, "known");
    assert!(table.live().await.unwrap().room.player(player(1)).unwrap().is_connected());
    let late = table.send(&connection(1), &json!({"action": "ready", "ready": true})).await;
    assert_eq!((late.status, late.outcome), (410, "replaced"));
    assert!(!table.live().await.unwrap().room.player(player(1)).unwrap().ready);
}

#[tokio::test]
async fn a_leave_counts_that_arrives_after_its_connection_ended() {
    let table = GameTable::with_players(3).await.unwrap();
    table.start_drawing(3, "りんご").await.unwrap();
    let leave = json!({"action": "leave"});
    table.room.disconnected(&connection(0), table.now_ms()).await;
    assert_eq!(table.instance().message(&connection(0), &leave.to_string(), table.now_ms()).await.outcome, "done");
    assert!(table.live().await.unwrap().room.player(player(0)).is_none());
    let room = table.last_room(&connection(1)).unwrap();
    assert_eq!((&room["turn"]["phase"], room["players"].as_array().unwrap().len()), (&json!("reveal"), 2));
    let version = table.live().await.unwrap().room.version;
    assert_eq!(table.send(&connection(0), &leave).await.outcome, "done");
    assert_eq!(table.live().await.unwrap().room.version, version, "a leave counts once");

    // The player has come back: the late leave of the old connection is void.
    table.room.disconnected(&connection(1), table.now_ms()).await;
    table.open("again", 1).await.unwrap();
    table.say_hello("again").await;
    assert_eq!(table.send(&connection(1), &leave).await.outcome, "replaced");
    assert!(table.live().await.unwrap().room.player(player(1)).unwrap().is_connected());
}

#[tokio::test]
async fn a_turn_moves_on_without_a_drawer_who_drew_nothing() {
    let still_runs = async |draws: bool| {
        let table = GameTable::with_players(3).await.unwrap();
        table.start_drawing(3, "りんご").await.unwrap();
        if draws {
            assert_eq!(table.send(&connection(0), &save(1, 1..=1)).await.outcome, "done");
        }
        table.room.disconnected(&connection(0), table.now_ms()).await;
        let room = table.last_room(&connection(1)).unwrap();
        let version = room["version"].as_u64().unwrap();
        table.pass(UNDRAWN_AWAY_MS);
        table.send(&connection(1), &json!({"action": "tick", "version": version})).await;
        table.live().await.unwrap().room.turn().unwrap().phase.is_secret()
    };
    assert!(!still_runs(false).await, "nothing is drawn: the turn ends");
    assert!(still_runs(true).await, "a drawing can still be guessed");
}

#[tokio::test]
async fn disconnected_player_returns_to_their_seat_and_score() {
    let table = GameTable::with_players(3).await.unwrap();
    table.start_drawing(3, "りんご").await.unwrap();
    table.say(1, "りんご").await;
    let score = table.live().await.unwrap().room.player(player(1)).unwrap().score;
    assert!(score > 0);
    table.drain(3);
    assert_eq!(table.room.disconnected(&connection(1), table.now_ms()).await.outcome, "away");
    assert_eq!(table.last_room(&connection(2)).unwrap()["players"][1]["connected"], false);

    table.open("again", 1).await.unwrap();
    table.say_hello("again").await;
    let welcome = table.sockets.take("again").remove(0);
    let seat = &welcome["room"]["players"][1];
    assert_eq!((&seat["connected"], &seat["score"]), (&json!(true), &json!(score)));
    assert_eq!(welcome["room"]["turn"]["answer"], "りんご", "who has guessed it still knows it");
}

#[tokio::test]
async fn dead_connection_is_noticed_by_the_next_message() {
    let table = GameTable::with_players(3).await.unwrap();
    table.start_drawing(3, "りんご").await.unwrap();
    table.sockets.lose(&connection(2));
    assert_eq!(table.send(&connection(0), &draw(1)).await.outcome, "done");
    assert_eq!(table.types(1), ["ink", "room"]);
    let live = table.live().await.unwrap();
    assert!(!live.room.player(player(2)).unwrap().is_connected());
    assert_eq!(live.listeners.len(), 2);
}

#[tokio::test]
async fn a_connection_that_fails_or_hangs_holds_up_nobody_else() {
    let table = GameTable::with_players(4).await.unwrap();
    table.start_drawing(4, "りんご").await.unwrap();
    table.sockets.fail(&connection(1), true);
    table.sockets.stick(&connection(2));
    let (drawer, message) = (connection(0), draw(1));
    let sending = table.send(&drawer, &message);
    let arrives = async {
        while table.types(3).is_empty() {
            tokio::task::yield_now().await;
        }
    };
    // It has arrived while the stuck one is still being waited for.
    tokio::select! {
        biased;
        handled = sending => panic!("the invocation ended first: {handled:?}"),
        () = arrives => {}
    }
    assert_eq!(table.live().await.unwrap().listeners.len(), 4, "failing is not gone");
}

#[tokio::test]
async fn unfinished_disconnect_is_completed_by_the_next_message() {
    let table = GameTable::with_players(3).await.unwrap();
    table.start_drawing(3, "りんご").await.unwrap();
    // `$disconnect` forgot the connection, and died before it looked after the room.
    let connections = game_store::Connections::new(&table.db.table(Database::GAMES));
    let whose = connections.get(&connection(2)).await.unwrap().unwrap();
    connections.disconnect(&connection(2), &whose, table.now_ms()).await.unwrap();
    assert!(table.live().await.unwrap().room.player(player(2)).unwrap().is_connected());
    table.say(1, "みかん").await;
    assert!(!table.live().await.unwrap().room.player(player(2)).unwrap().is_connected());
}

#[tokio::test]
async fn a_spectator_sees_the_game_and_never_the_answer() {
    let table = GameTable::with_players(2).await.unwrap();
    table.start_drawing(2, "りんご").await.unwrap();
    table.open_as("guest", 9, Role::Spectator).await.unwrap();
    table.say_hello("guest").await;
    let welcome = table.sockets.take("guest").remove(0);
    assert_eq!((&welcome["you"]["role"], &welcome["room"]["spectators"]), (&json!("spectator"), &json!(1)));
    assert_eq!(table.last_room(&connection(1)).unwrap()["spectators"], 1);
    table.say(0, "りんごだよ").await;
    assert_eq!(table.sockets.take("guest"), [Value::Null; 0]);
    let handled = table.send("guest", &draw(1)).await;
    assert_eq!(handled.outcome, "not-drawing");
    table.sockets.take("guest");
    table.send("guest", &json!({"action": "say", "id": uuid::Uuid::now_v7().to_string(), "text": "りんご"})).await;
    assert_eq!(table.sockets.take("guest").len(), 1, "their own line comes back to them");
    assert_eq!(table.types(1), [""; 0], "and to nobody who guesses");
}

#[tokio::test]
async fn spectator_limit_refuses_a_newcomer_but_not_a_returner() {
    let table = GameTable::with_players(2).await.unwrap();
    for (seat, n) in (100..).zip(0..SPECTATORS_MAX) {
        table.open_as(&format!("spectator-{n}"), seat, Role::Spectator).await.unwrap();
        assert_eq!(table.say_hello(&format!("spectator-{n}")).await.status, 200);
    }
    table.open_as("guest", 9, Role::Spectator).await.unwrap();
    table.say_hello("guest").await;
    let refused = table.sockets.take("guest").remove(0);
    assert_eq!(refused["error"]["type"], "urn:tidemark:problem:too-many-spectators");
    table.open_as("again", 100, Role::Spectator).await.unwrap();
    table.say_hello("again").await;
    let welcome = table.sockets.take("again").remove(0);
    assert_eq!((&welcome["type"], &welcome["room"]["spectators"]), (&json!("welcome"), &json!(SPECTATORS_MAX)));
}

#[tokio::test]
async fn who_leaves_gives_up_the_seat_and_the_connection() {
    let table = GameTable::with_players(3).await.unwrap();
    assert_eq!(table.send(&connection(2), &json!({"action": "leave"})).await.outcome, "done");
    assert!(table.sockets.is_closed(&connection(2)));
    let live = table.live().await.unwrap();
    assert_eq!((live.room.players.len(), live.listeners.len()), (2, 2));
    assert_eq!(table.last_room(&connection(0)).unwrap()["players"].as_array().unwrap().len(), 2);
}

#[tokio::test]
async fn kicked_player_is_notified_and_cannot_return() {
    let table = GameTable::with_players(3).await.unwrap();
    table.pass(VOTER_SEATED_MS);
    for seat in [0, 1] {
        let kick = json!({"action": "kick", "playerId": player(2).to_string()});
        assert_eq!(table.send(&connection(seat), &kick).await.outcome, "done");
    }
    assert_eq!(table.types(2).last().unwrap(), "kicked");
    assert!(table.sockets.is_closed(&connection(2)));
    // With a ticket from before.
    table.open("again", 2).await.unwrap();
    table.say_hello("again").await;
    let messages = table.sockets.take("again");
    assert_eq!(messages[0]["error"]["type"], "urn:tidemark:problem:kicked");
    assert!(table.sockets.is_closed("again"));
}

#[tokio::test]
async fn first_rematch_request_creates_the_game_for_all() {
    let table = GameTable::with_players(2).await.unwrap();
    table.start(2).await.unwrap();
    table.send(&connection(1), &json!({"action": "leave"})).await;
    assert_eq!(table.last_room(&connection(0)).unwrap()["status"], "finished");
    table.send(&connection(0), &json!({"action": "rematch"})).await;
    let first = table.sockets.take(&connection(0));
    let game = first.iter().find(|message| message["type"] == "rematch").unwrap()["gameId"].clone();
    table.send(&connection(0), &json!({"action": "rematch"})).await;
    assert_eq!(table.sockets.take(&connection(0)), [json!({"type": "rematch", "gameId": game})]);

    let rooms = game_store::Rooms::new(&table.db.table(Database::GAMES));
    let next = rooms.room(game.as_str().unwrap().parse().unwrap()).await.unwrap().unwrap();
    assert_eq!((next.host, next.settings), (player(0), table.live().await.unwrap().room.settings));
}

#[tokio::test]
async fn each_overdue_reveal_has_its_own_version() {
    let table = GameTable::with_players(2).await.unwrap();
    table.start_drawing(2, "りんご").await.unwrap();
    table.pass(3_600_000);
    let version = table.live().await.unwrap().room.version;
    table.send(&connection(1), &json!({"action": "tick", "version": version})).await;
    assert_eq!(table.last_room(&connection(0)).unwrap()["status"], "finished");
    let records = table.db.game_records().await.unwrap();
    let turns = records.iter().map(|record| &record["dynamodb"]["NewImage"]["currentRound"]["M"]);
    let reveals = turns.filter(|round| round["currentTurn"]["M"]["status"]["S"] == "finished").map(|round| {
        let number = |value: &Value| value["N"].as_str().unwrap().to_owned();
        format!("{}.{}", number(&round["roundNumber"]), number(&round["currentTurn"]["M"]["turnNumber"]))
    });
    assert_eq!(reveals.collect::<Vec<_>>(), ["1.1", "1.2", "2.1", "2.2", "3.1", "3.2"]);
}

#[tokio::test]
async fn lobby_keeps_hidden_words_until_its_ttl() {
    const DAY_MS: u64 = 24 * 60 * 60 * 1_000;
    let table = GameTable::with(2, Settings::default(), &["りんご", "くじら", "えんぴつ"]).await.unwrap();
    for seat in 2..6 {
        table.pass(2 * DAY_MS);
        table.sit_down(seat).await.unwrap();
    }
    let game = format!("GAME#{}", table.game_id);
    let ends = async |sort: &str| {
        let get = table.db.client.get_item().table_name(Database::GAMES);
        let get = get.key("PK", AttributeValue::S(game.clone())).key("SK", AttributeValue::S(sort.to_owned()));
        get.send().await.unwrap().item.unwrap()["ttl"].as_n().unwrap().parse::<u64>().unwrap()
    };
    let room = ends("META").await;
    assert!(ends("LIVE#SECRET").await >= room && ends("WORDS").await >= room);
}
