//! Tests of one player's decisions: it receives messages, and its actions are compared.

use super::*;

const ME: &str = "me";

fn player() -> (Player, Instant) {
    let pace = Pace::fast();
    let options =
        BotOptions { name: "凪".to_owned(), seed: 5, pace, start_with: 3, shared_answers: None, transcript: None };
    let now = Instant::now();
    (Player::new(ME, &options, now), now)
}

/// A room of three players; the tested player is the second.
fn room(version: u64, host: &str, ready: bool, more: Value) -> Value {
    let seat = |id, ready| json!({"playerId": id, "ready": ready, "connected": true});
    let players = [seat("ann", true), seat(ME, ready), seat("bob", true)];
    let mut room = json!({"version": version, "status": "waiting", "hostId": host, "players": players});
    room.as_object_mut().expect("an object").extend(more.as_object().expect("an object").clone());
    room
}

fn turn(drawer: &str, phase: &str) -> Value {
    let options = json!([{"word": "りんご"}, {"word": "みかん"}, {"word": "いちご"}]);
    let turn = json!({
        "turnId": "01.01", "drawerId": drawer, "phase": phase, "nextMs": 20_000, "mask": "＿ん＿", "solvers": [], "options": options,
    });
    json!({"status": "playing", "turn": turn})
}

fn hear(player: &mut Player, kind: &str, room: Value, now: Instant) {
    player.hear(serde_json::from_value(json!({"type": kind, "room": room})).expect("a message"), now);
}

fn actions(messages: &[Value]) -> Vec<&str> {
    messages.iter().filter_map(|message| message["action"].as_str()).collect()
}

#[test]
fn bot_guest_repeats_ready_only_until_it_has_effect() {
    let (mut player, now) = player();
    hear(&mut player, "welcome", room(1, "ann", false, json!({})), now);
    assert_eq!(player.due(), now);
    assert_eq!(actions(&player.act(now)), ["ready"]);
    assert_eq!(actions(&player.act(now)), [""; 0]);
    assert_eq!(actions(&player.act(now + AGAIN)), ["ready"]);
    hear(&mut player, "room", room(2, "ann", true, json!({})), now);
    assert_eq!(player.due(), now + PING);
}

#[test]
fn bot_ignores_older_rooms_and_stays_silent_before_welcome() {
    let (mut player, now) = player();
    hear(&mut player, "room", room(2, "ann", false, json!({})), now);
    assert_eq!(actions(&player.act(now)), [""; 0]);
    hear(&mut player, "welcome", room(3, "ann", true, json!({})), now);
    hear(&mut player, "room", room(2, "ann", false, json!({})), now);
    assert_eq!(actions(&player.act(now)), [""; 0]);
}

#[test]
fn a_host_starts_when_enough_players_are_connected_and_ready() {
    let (mut player, now) = player();
    let mut waiting = room(1, ME, false, json!({}));
    waiting["players"][2]["connected"] = false.into();
    hear(&mut player, "welcome", waiting, now);
    assert_eq!(actions(&player.act(now)), [""; 0]);
    let mut waiting = room(2, ME, false, json!({}));
    waiting["players"][2]["ready"] = false.into();
    hear(&mut player, "room", waiting, now);
    assert_eq!(actions(&player.act(now)), [""; 0]);
    hear(&mut player, "room", room(3, ME, false, json!({})), now);
    assert_eq!(actions(&player.act(now)), ["start"]);
}

#[test]
fn bot_guesser_tries_each_fitting_word_once_and_ticks() {
    let (mut player, now) = player();
    hear(&mut player, "welcome", room(1, "ann", true, turn("ann", "drawing")), now);
    let mut said = HashSet::new();
    for n in 0..10 {
        let messages = player.act(now + n * GUESS_PAUSE);
        assert_eq!(actions(&messages), ["say"]);
        assert!(said.insert(messages[0]["text"].as_str().expect("a text").to_owned()));
    }
    let mut solved = turn("ann", "drawing");
    solved["turn"]["solvers"] = json!([{"playerId": ME}]);
    hear(&mut player, "room", room(2, "ann", true, solved), now);
    let end = now + Duration::from_millis(20_000 + PLACE_MS);
    assert_eq!(player.due(), end);
    assert_eq!(player.act(end), [json!({"action": "tick", "version": 2})]);
    assert_eq!(player.due(), end + TICK_AGAIN);
}

#[test]
fn bot_drawer_saves_all_batches_and_repeats_the_last_chunk() {
    let (mut player, mut now) = player();
    hear(&mut player, "welcome", room(1, "ann", true, turn(ME, "choosing")), now);
    assert_eq!(actions(&player.act(now)), ["choose"]);
    hear(&mut player, "room", room(2, "ann", true, turn(ME, "drawing")), now);
    let (mut drawn, mut saved, mut chunks) = (Vec::new(), Vec::new(), Vec::new());
    while player.due() < now + Duration::from_secs(1) {
        now = player.due();
        for message in player.act(now) {
            match message["action"].as_str() {
                Some("draw") => drawn.push(json!({"seq": message["seq"], "ops": message["ops"]})),
                Some("save") => {
                    saved.extend(message["batches"].as_array().expect("batches").clone());
                    chunks.push(message);
                }
                _ => {}
            }
        }
    }
    assert!(drawn.len() >= 3 && drawn == saved, "{drawn:?} {saved:?}");
    player.on_connect();
    hear(&mut player, "welcome", room(2, "ann", true, turn(ME, "drawing")), now);
    now = player.due();
    assert_eq!(player.act(now).last(), chunks.last());
    assert_eq!(actions(&player.act(now + AGAIN)), [""; 0]);
}
