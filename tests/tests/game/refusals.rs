//! What a connection may send that it should not: each gets a defined answer, and nothing changes.

use serde_json::{Value, json};
use tests::GameTable;
use tests::game_table::{connection, player};

/// The problem that the sender is told, and the action it was told back.
async fn refusal(table: &GameTable, seat: u8, text: &str) -> (String, Value) {
    table.sockets.take(&connection(seat));
    // Not the flood's test: the bucket is full again each time.
    table.pass(1_000);
    let handled = table.room.message(&connection(seat), text, table.now_ms()).await;
    let answer = table.sockets.take(&connection(seat)).pop().unwrap_or_default();
    assert_eq!(answer["type"], "error", "{text}: {handled:?}");
    let problem = answer["error"]["type"].as_str().unwrap().strip_prefix("urn:tidemark:problem:").unwrap().to_owned();
    assert_eq!(handled.outcome, problem);
    assert!((400..=499).contains(&handled.status), "{text}: {handled:?}");
    (problem, answer["action"].clone())
}

#[tokio::test]
async fn what_cannot_be_read_says_why() {
    let table = GameTable::with_players(2).await.unwrap();
    let long = "あ".repeat(501);
    let id = uuid::Uuid::now_v7();
    let large = format!(r#"{{"action":"ping","more":"{}"}}"#, "x".repeat(33_000));
    let settings = |name: &str, value: Value| {
        let mut settings = json!({"timeLimit": 80, "roundCount": 3, "playerCount": 8, "hints": true, "words": "built-in", "language": "ja"});
        settings[name] = value;
        json!({"action": "configure", "settings": settings}).to_string()
    };
    let cases = [
        ("invalid-message", "{"),
        ("invalid-message", ""),
        ("invalid-message", "[]"),
        ("invalid-message", r#"["ping"]"#),
        ("invalid-message", "null"),
        ("invalid-message", r#""ping""#),
        ("invalid-message", "{}"),
        ("invalid-message", r#"{"action":7}"#),
        ("invalid-message", r#"{"action":null}"#),
        ("invalid-message", r#"{"action":"ping","action":"leave"}"#),
        ("invalid-message", r#"{"action":"ping","more":{"a":1,"a":2}}"#),
        ("message-too-large", &large),
        ("unknown-action", r#"{"action":"dance"}"#),
        ("unknown-action", r#"{"action":"Ping"}"#),
        ("invalid-message", r#"{"action":"hello"}"#),
        ("invalid-message", r#"{"action":"hello","protocol":"1"}"#),
        ("wrong-protocol", r#"{"action":"hello","protocol":2}"#),
        ("invalid-message", r#"{"action":"ready"}"#),
        ("invalid-message", r#"{"action":"ready","ready":1}"#),
        ("invalid-message", r#"{"action":"tick","version":-1}"#),
        ("invalid-message", r#"{"action":"tick","version":1.5}"#),
        ("invalid-message", r#"{"action":"tick","version":1e99}"#),
        ("invalid-message", r#"{"action":"kick","playerId":"nobody"}"#),
        ("invalid-message", r#"{"action":"skip","turnId":"1.1"}"#),
        ("invalid-message", r#"{"action":"choose","turnId":"01.01"}"#),
        ("invalid-message", r#"{"action":"choose","turnId":"01.01","option":0,"word":"いぬ"}"#),
        ("invalid-message", r#"{"action":"choose","turnId":"01.01","option":256}"#),
        ("invalid-word", r#"{"action":"choose","turnId":"01.01","word":"イヌ"}"#),
        ("invalid-word", r#"{"action":"choose","turnId":"01.01","word":""}"#),
        ("invalid-message", r#"{"action":"say","text":"やあ"}"#),
        ("invalid-message", r#"{"action":"say","id":"7","text":"やあ"}"#),
        ("invalid-message", &format!(r#"{{"action":"say","id":"{id}","text":["やあ"]}}"#)),
        ("invalid-text", &format!(r#"{{"action":"say","id":"{id}","text":""}}"#)),
        ("invalid-text", &format!(r#"{{"action":"say","id":"{id}","text":" \u3000 "}}"#)),
        ("invalid-text", &format!(r#"{{"action":"say","id":"{id}","text":"{long}"}}"#)),
        ("invalid-text", &format!(r#"{{"action":"say","id":"{id}","text":"a\u0007b"}}"#)),
        ("invalid-text", &format!(r#"{{"action":"say","id":"{id}","text":"a\u202eb"}}"#)),
        ("invalid-message", &format!(r#"{{"action":"say","id":"{id}","text":"\ud800"}}"#)),
        ("invalid-settings", &settings("timeLimit", json!(29))),
        ("invalid-settings", &settings("timeLimit", json!(65_566))),
        ("invalid-settings", &settings("roundCount", json!(11))),
        ("invalid-settings", &settings("playerCount", json!(-3))),
        ("invalid-settings", &settings("words", json!("all"))),
        ("invalid-message", &settings("hints", json!("yes"))),
        ("invalid-words", &settings("words", json!("custom"))),
    ];
    let before = table.live().await.unwrap().room;
    for (problem, text) in cases {
        let shown: String = text.chars().take(80).collect();
        assert_eq!(refusal(&table, 0, text).await.0, problem, "{shown}");
    }
    let (_, action) = refusal(&table, 0, r#"{"action":"dance"}"#).await;
    assert_eq!(action, "dance");
    assert_eq!(table.live().await.unwrap().room, before);
    assert_eq!(table.types(1), [""; 0]);
}

#[tokio::test]
async fn a_drawing_that_breaks_its_limits_says_so() {
    let table = GameTable::with_players(2).await.unwrap();
    table.start_drawing(2, "りんご").await.unwrap();
    let draw = |ops: Value| json!({"action": "draw", "turnId": "01.01", "seq": 1, "ops": ops}).to_string();
    let stroke = |points: Value| {
        draw(json!([{"op": "stroke", "id": 1, "points": points, "color": 1, "width": 8, "tool": "pen"}]))
    };
    let cases = [
        ("invalid-message", draw(json!([{"op": "spray", "id": 1}]))),
        ("invalid-message", draw(json!([{"op": "clear"}]))),
        ("invalid-message", draw(json!({}))),
        ("invalid-message", draw(json!([{"op": "fill", "id": 1, "color": 1}]))),
        ("invalid-message", draw(json!([{"op": "fill", "id": 1, "color": 1, "at": [1, 2, 3]}]))),
        ("invalid-message", draw(json!([{"op": "stroke", "id": 1, "points": [0, 0, 50], "color": 1}]))),
        ("invalid-message", stroke(json!([0.5, 0, 50]))),
        ("invalid-drawing", draw(json!([]))),
        ("invalid-drawing", draw(json!([{"op": "clear", "id": 0}]))),
        ("invalid-drawing", draw(Value::Array(vec![json!({"op": "clear", "id": 1}); 65]))),
        ("invalid-drawing", stroke(json!([]))),
        ("invalid-drawing", stroke(json!([0, 0]))),
        ("invalid-drawing", stroke(json!([1_801, 0, 50]))),
        ("invalid-drawing", stroke(json!([0, 0, 50, -201, 0, 0]))),
        ("invalid-drawing", stroke(json!(vec![0; 401 * 3]))),
        ("invalid-drawing", draw(json!([{"op": "fill", "id": 1, "color": 24, "at": [0, 0]}]))),
        (
            "invalid-drawing",
            json!({"action": "draw", "turnId": "01.01", "seq": 0, "ops": [{"op": "clear", "id": 1}]}).to_string(),
        ),
        ("invalid-drawing", json!({"action": "save", "turnId": "01.01", "chunk": 1, "batches": []}).to_string()),
        (
            "invalid-drawing",
            json!({"action": "save", "turnId": "01.01", "chunk": 0,
            "batches": [{"seq": 1, "ops": [{"op": "clear", "id": 1}]}]})
            .to_string(),
        ),
        (
            "invalid-drawing",
            json!({"action": "save", "turnId": "01.01", "chunk": 1,
            "batches": [{"seq": 1, "ops": [{"op": "clear", "id": 1}]}, {"seq": 3, "ops": [{"op": "clear", "id": 2}]}]})
            .to_string(),
        ),
    ];
    for (problem, text) in cases {
        assert_eq!(refusal(&table, 0, &text).await.0, problem, "{text}");
    }
    assert_eq!(table.types(1), [""; 0], "nothing of it is relayed");
}

#[tokio::test]
async fn disallowed_action_is_refused_and_changes_nothing() {
    let table = GameTable::with_players(3).await.unwrap();
    let me = player(1).to_string();
    let clear = json!([{"op": "clear", "id": 1}]);
    let waiting = [
        (1, "not-host", json!({"action": "start"})),
        (0, "not-ready", json!({"action": "start"})),
        (
            1,
            "not-host",
            json!({"action": "configure", "settings":
            {"timeLimit": 80, "roundCount": 3, "playerCount": 8, "hints": true, "words": "built-in", "language": "ja"}}),
        ),
        (
            0,
            "invalid-settings",
            json!({"action": "configure", "settings":
            {"timeLimit": 80, "roundCount": 3, "playerCount": 2, "hints": true, "words": "built-in", "language": "ja"}}),
        ),
        (0, "game-not-running", json!({"action": "skip", "turnId": "01.01"})),
        (1, "no-such-player", json!({"action": "kick", "playerId": me})),
        (1, "game-not-finished", json!({"action": "rematch"})),
        (1, "not-drawing", json!({"action": "draw", "turnId": "01.01", "seq": 1, "ops": clear})),
        (1, "no-drawing", json!({"action": "catch-up", "turnId": "01.01", "after": 0})),
    ];
    for (seat, problem, message) in waiting {
        assert_eq!(refusal(&table, seat, &message.to_string()).await.0, problem, "{message}");
    }
    table.start(3).await.unwrap();
    let choosing = [
        (1, "not-drawer", json!({"action": "choose", "turnId": "01.01", "option": 0})),
        (0, "no-such-option", json!({"action": "choose", "turnId": "01.01", "option": 3})),
        (0, "wrong-turn", json!({"action": "choose", "turnId": "01.02", "option": 0})),
        (0, "not-drawing", json!({"action": "draw", "turnId": "01.01", "seq": 1, "ops": clear})),
        (1, "no-drawing", json!({"action": "catch-up", "turnId": "01.01", "after": 0})),
        (1, "game-started", json!({"action": "ready", "ready": false})),
    ];
    for (seat, problem, message) in choosing {
        assert_eq!(refusal(&table, seat, &message.to_string()).await.0, problem, "{message}");
    }
    table.send(&connection(0), &json!({"action": "choose", "turnId": "01.01", "word": "りんご"})).await;
    let save =
        |turn: &str| json!({"action": "save", "turnId": turn, "chunk": 1, "batches": [{"seq": 1, "ops": clear}]});
    let drawing = [
        (1, "not-drawing", json!({"action": "draw", "turnId": "01.01", "seq": 1, "ops": clear})),
        (0, "not-drawing", json!({"action": "draw", "turnId": "01.02", "seq": 1, "ops": clear})),
        (1, "not-drawing", save("01.01")),
        (0, "not-drawing", save("01.02")),
        (0, "wrong-phase", json!({"action": "choose", "turnId": "01.01", "option": 0})),
        (1, "drawer-is-here", json!({"action": "skip", "turnId": "01.01"})),
        (1, "no-drawing", json!({"action": "catch-up", "turnId": "02.01", "after": 0})),
    ];
    for (seat, problem, message) in drawing {
        assert_eq!(refusal(&table, seat, &message.to_string()).await.0, problem, "{message}");
    }
    table.drain(3);
    table.say(0, "りんごだよ").await;
    assert_eq!(
        (table.types(1), table.types(2)),
        (vec![], vec![]),
        "what the drawer says is no guess, and reaches no guesser"
    );

    // The drawing's time is over, though nobody has ticked yet: neither strokes nor guesses count.
    table.pass(80_000);
    let late = json!({"action": "draw", "turnId": "01.01", "seq": 2, "ops": clear});
    assert_eq!(refusal(&table, 0, &late.to_string()).await.0, "not-drawing");
    table.say(1, "りんご").await;
    let room = table.live().await.unwrap().room;
    assert_eq!(room.turn().unwrap().solvers, []);
}

#[tokio::test]
async fn a_finished_game_takes_talk_and_rematches_alone() {
    let table = GameTable::with_players(2).await.unwrap();
    table.start(2).await.unwrap();
    table.send(&connection(1), &json!({"action": "leave"})).await;
    for message in [
        json!({"action": "start"}),
        json!({"action": "ready", "ready": true}),
        json!({"action": "choose", "turnId": "01.01", "option": 0}),
        json!({"action": "skip", "turnId": "01.01"}),
        json!({"action": "draw", "turnId": "01.01", "seq": 1, "ops": [{"op": "clear", "id": 1}]}),
    ] {
        refusal(&table, 0, &message.to_string()).await;
    }
    assert_eq!(table.say(0, "またね").await.outcome, "done");
    assert_eq!(table.types(0), ["chat"]);
}

#[tokio::test]
async fn flood_is_dropped_with_one_notice_others_are_heard() {
    let table = GameTable::with_players(2).await.unwrap();
    // The bucket has been used a little by the way here.
    table.pass(10_000);
    let ping = json!({"action": "ping"});
    for _ in 0..40 {
        table.send(&connection(1), &ping).await;
    }
    let types = table.types(1);
    assert_eq!(types.iter().filter(|kind| *kind == "pong").count(), 30);
    assert_eq!(types[30..], ["error"]);
    assert_eq!(table.send(&connection(0), &ping).await.outcome, "done");
    table.pass(1_000);
    assert_eq!(table.send(&connection(1), &ping).await.outcome, "done");
}

#[tokio::test]
async fn a_connection_that_nobody_has_is_sent_away() {
    let table = GameTable::with_players(1).await.unwrap();
    let handled = table.send("stranger", &json!({"action": "hello", "protocol": 1})).await;
    assert_eq!((handled.status, handled.outcome), (410, "replaced"));
    assert!(table.sockets.is_closed("stranger"));
}
