//! A whole game (of five, or in `make verify` of ten) over real sockets, through the running stack:
//! what bots hear and say, beside what the table has in the end.

use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};

use aws_sdk_dynamodb::types::AttributeValue;
use bots::{
    BotMessage, BotOptions, Ending, NAMES, Pace, PlayError, Seat, Server, SharedAnswers, Socket, Standing, play,
};
use domain::game::GameId;
use reqwest::Method;
use serde_json::{Value, json};
use tests::{Database, Stack};
use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

/// How long anything may take that happens by itself, on the slowest machine that should still
/// pass. A turn takes 12 s or so.
const PATIENCE: Duration = Duration::from_secs(300);

/// How many sockets are opened and stay silent.
const SILENT: usize = 100;

/// Not in the list that comes with the game, so that nobody guesses them by chance; and long, so
/// that nothing else contains them.
const WORDS: [&str; 13] = [
    "うみほたる",
    "なみのりいた",
    "とうだいもり",
    "かいぞくのうた",
    "しおひがりのひ",
    "ふなのりのうた",
    "はまべのしろ",
    "おきのこじま",
    "すなのおしろ",
    "みなとのあかり",
    "さんごのもり",
    "くじらのうた",
    "あおいみずうみ",
];

/// The number of players; the one that is killed, and in which turn; the one that opens a second
/// tab.
struct Plan {
    players: usize,
    killed: (usize, &'static str),
    twice: (usize, &'static str),
}

const OF_FIVE: Plan = Plan { players: 5, killed: (4, "01.02"), twice: (2, "01.04") };
const OF_TEN: Plan = Plan { players: NAMES.len(), killed: (4, "01.03"), twice: (7, "01.06") };

/// One connection's worth of a bot: from when it sits down until it is killed or done.
struct Life {
    player_id: String,
    token: String,
    name: String,
    notes: UnboundedReceiver<BotMessage>,
    /// The messages taken from `notes`.
    read: Vec<BotMessage>,
    task: JoinHandle<Result<Ending, PlayError>>,
}

impl Life {
    fn begin(server: &Server, players: usize, number: usize, seat: Seat, shared_answers: &SharedAnswers) -> Self {
        let (transcript, notes) = unbounded_channel();
        let name = NAMES[number].to_owned();
        let options = BotOptions {
            name: name.clone(),
            seed: number as u64,
            pace: Pace::fast(),
            start_with: players,
            shared_answers: Some(shared_answers.clone()),
            transcript: Some(transcript),
        };
        let (player_id, token) = (seat.player_id.clone(), seat.player_token.clone());
        let (server, game) = (server.clone(), seat.game_id.parse::<GameId>().unwrap());
        let task = tokio::spawn(async move { play(&server, game, seat, options, CancellationToken::new()).await });
        Self { player_id, token, name, notes, read: Vec::new(), task }
    }

    /// Reads on until a room comes of which that holds.
    async fn until(&mut self, holds: impl Fn(&Value) -> bool) -> Value {
        let read = async {
            loop {
                let note = self.notes.recv().await.expect("the bot has ended");
                self.read.push(note.clone());
                if let BotMessage::Received(text) = note {
                    let room = serde_json::from_str::<Value>(&text).unwrap()["room"].take();
                    if room.is_object() && holds(&room) {
                        return room;
                    }
                }
            }
        };
        tokio::time::timeout(PATIENCE, read).await.expect("the room never comes to that")
    }

    async fn until_drawing(&mut self, turn_id: &str) -> Value {
        self.until(|room| room["turn"]["turnId"] == turn_id && room["turn"]["phase"] == "drawing").await
    }

    /// Its ending, and all that it heard and said.
    async fn end(mut self) -> (Option<Ending>, Vec<BotMessage>) {
        let ended = tokio::time::timeout(PATIENCE, &mut self.task).await.expect("the bot plays on and on");
        // One that was killed has no ending.
        let ending = ended.ok().map(|ended| ended.unwrap());
        while let Ok(note) = self.notes.try_recv() {
            self.read.push(note);
        }
        (ending, self.read)
    }
}

fn score(room: &Value, player_id: &str) -> u64 {
    let players = room["players"].as_array().unwrap();
    players.iter().find(|player| player["playerId"] == player_id).unwrap()["score"].as_u64().unwrap()
}

fn heard(note: &BotMessage) -> Option<(&str, Value)> {
    let BotMessage::Received(text) = note else { return None };
    Some((text.as_str(), serde_json::from_str(text).unwrap()))
}

#[tokio::test]
async fn bots_play_a_whole_game_though_one_is_killed() {
    let Plan { players, killed: (killed, killed_in), twice: (twice, twice_in) } = tests::load(OF_FIVE, OF_TEN);
    let stack = Stack::start().await.unwrap();
    let server = Server::at(stack.url(), None).await.unwrap();
    let shared_answers = SharedAnswers::default();
    let settings = json!({"timeLimit": 120, "roundCount": 1, "playerCount": players, "words": "custom"});
    let wanted = json!({"name": NAMES[0], "settings": settings, "words": WORDS});
    let seat = server.create_game(&wanted).await.unwrap();
    let game: GameId = seat.game_id.parse().unwrap();
    let mut lives = vec![Life::begin(&server, players, 0, seat, &shared_answers)];
    for (number, name) in NAMES[..players].iter().enumerate().skip(1) {
        let seat = server.join_game(game, name, None).await.unwrap();
        lives.push(Life::begin(&server, players, number, seat, &shared_answers));
    }

    let silent = silent_sockets(&stack, &server, game).await;

    // One is killed while others draw and guess, and comes back.
    let room = lives[0].until_drawing(killed_in).await;
    let before = score(&room, &lives[killed].player_id);
    items(&stack, game, "LIVE#CONN#", players).await;
    lives[killed].task.abort();
    lives[0].until(|room| room["players"][killed]["connected"] == false).await;
    let seat = server.join_game(game, &lives[killed].name, Some(&lives[killed].token)).await.unwrap();
    assert_eq!(seat.player_id, lives[killed].player_id);
    let mut back = Life::begin(&server, players, killed, seat, &shared_answers);
    let room = back.until(|_| true).await;
    assert!(before > 0 && score(&room, &back.player_id) >= before, "{room}");
    assert_eq!((room["players"].as_array().unwrap().len(), &room["spectators"]), (players, &json!(0)));

    // Another one opens a second tab.
    lives[0].until_drawing(twice_in).await;
    let seat = server.join_game(game, &lives[twice].name, Some(&lives[twice].token)).await.unwrap();
    let second_tab = Life::begin(&server, players, twice, seat, &shared_answers);

    let token = lives[0].token.clone();
    let player_ids: Vec<_> = lives.iter().map(|life| life.player_id.clone()).collect();
    lives.extend([back, second_tab]);
    let (mut endings, mut journals) = (Vec::new(), Vec::new());
    for life in lives {
        let player_id = life.player_id.clone();
        let (ending, notes) = life.end().await;
        endings.push(ending);
        journals.push((player_id, notes));
    }
    assert_eq!((&endings[killed], &endings[twice]), (&None, &Some(Ending::Replaced)));
    let standings: Vec<_> =
        endings.into_iter().filter(|ending| !matches!(ending, None | Some(Ending::Replaced))).collect();
    let Some(Ending::Finished(standing)) = standings[0].clone() else { panic!("{:?}", standings[0]) };
    assert_eq!((standings.len(), standing.len()), (players, players));
    assert!(standings.iter().all(|other| *other == standings[0]), "{standings:?}");

    let turns = turns(&stack, &game.to_string(), &token, players).await;
    let drawers: Vec<_> = turns.iter().map(|turn| turn["drawerId"].as_str().unwrap().to_owned()).collect();
    assert_eq!(drawers, player_ids, "everybody drew once, in the order of joining");
    let awards = turns.iter().map(|turn| turn["awards"].as_array().unwrap().len()).sum();
    everybody_has_what_their_awards_add_up_to(&stack, game, awards, &standing).await;
    what_was_drawn_is_there_to_replay(&stack, game, &token, &turns, &journals).await;
    nobody_heard_an_answer_early(&turns, &journals);
    drop(silent);
}

/// Opens sockets that never say a word.
async fn silent_sockets(stack: &Stack, server: &Server, game: GameId) -> Vec<Socket> {
    let mut sockets = Vec::new();
    for _ in 0..SILENT {
        let body = json!({"name": "だんまり", "role": "spectator"}).to_string();
        let path = format!("/games/{game}/players");
        let answer = stack.request(Method::POST, &path, &[], Some(body)).await.unwrap().json();
        let ticket = answer["ticket"].as_str().unwrap();
        sockets.push(server.connect(ticket).await.unwrap());
        assert!(server.connect(ticket).await.is_err(), "a ticket opens one socket");
    }
    sockets
}

/// The turns, once the archiver has put all of them.
async fn turns(stack: &Stack, game_id: &str, token: &str, count: usize) -> Vec<Value> {
    let start = Instant::now();
    loop {
        let header = ("authorization", &*format!("Bearer {token}"));
        let answer = stack.request(Method::GET, &format!("/games/{game_id}/turns"), &[header], None).await.unwrap();
        let turns = answer.json()["items"].as_array().unwrap().clone();
        if turns.len() == count {
            return turns;
        }
        assert!(start.elapsed() < PATIENCE, "{answer:?}");
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}

/// The items of the game that begin so, once there are `count` of them.
async fn items(stack: &Stack, game: GameId, prefix: &str, count: usize) -> Vec<BTreeMap<String, AttributeValue>> {
    let start = Instant::now();
    loop {
        let query = stack.dynamodb().query().table_name(Database::GAMES);
        let query = query.key_condition_expression("PK = :pk AND begins_with(SK, :prefix)");
        let query = query.expression_attribute_values(":pk", AttributeValue::S(format!("GAME#{game}")));
        let query = query.expression_attribute_values(":prefix", AttributeValue::S(prefix.to_owned()));
        let found = query.send().await.unwrap().items.unwrap_or_default();
        if found.len() == count {
            return found.into_iter().map(|item| item.into_iter().collect()).collect();
        }
        assert!(start.elapsed() < PATIENCE, "{} items {prefix}, expected {count}", found.len());
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}

async fn everybody_has_what_their_awards_add_up_to(stack: &Stack, game: GameId, awards: usize, standings: &[Standing]) {
    let sums = |awards: &[BTreeMap<String, AttributeValue>]| {
        let mut sums = BTreeMap::new();
        for award in awards {
            let points: u32 = award["points"].as_n().unwrap().parse().unwrap();
            *sums.entry(award["playerId"].as_s().unwrap().clone()).or_default() += points;
        }
        sums
    };
    let awards = items(stack, game, "SCORE#", awards).await;
    let scores = standings.iter().map(|standing| (standing.player_id.clone(), standing.score)).collect();
    assert_eq!(sums(&awards), scores);
}

async fn what_was_drawn_is_there_to_replay(
    stack: &Stack,
    game: GameId,
    token: &str,
    turns: &[Value],
    journals: &[(String, Vec<BotMessage>)],
) {
    items(stack, game, "DRAWING#", turns.len()).await;
    let mut drawn = BTreeMap::new();
    for turn in turns {
        let (turn_id, drawer) = (turn["id"].as_str().unwrap(), &turn["drawerId"]);
        let notes = journals.iter().filter(|(player_id, _)| player_id == drawer).flat_map(|(_, notes)| notes);
        let said = notes.filter_map(|note| match note {
            BotMessage::Sent(said) if said["action"] == "draw" && said["turnId"] == *turn_id => Some(said),
            _ => None,
        });
        let batches: Vec<_> = said.map(|said| json!({"seq": said["seq"], "ops": said["ops"]})).collect();
        let header = ("authorization", &*format!("Bearer {token}"));
        let path = format!("/games/{game}/turns/{turn_id}/drawing");
        let replay = stack.request(Method::GET, &path, &[header], None).await.unwrap().json();
        assert_eq!(replay["batches"], json!(batches), "turn {turn_id}");
        assert!(batches.len() >= 3, "turn {turn_id}");
        drawn.extend(batches.into_iter().map(|batch| ((turn_id.to_owned(), batch["seq"].as_u64()), batch)));
    }
    // The host was there from the beginning to the end, and saw every batch but its own.
    let (host, notes) = &journals[0];
    let mut seen = BTreeMap::new();
    for (_, message) in notes.iter().filter_map(heard).filter(|(_, message)| message["type"] == "ink") {
        for batch in message["batches"].as_array().unwrap() {
            let turn_id = message["turnId"].as_str().unwrap().to_owned();
            seen.insert((turn_id, batch["seq"].as_u64()), batch.clone());
        }
    }
    let own = turns.iter().filter(|turn| turn["drawerId"] == **host).map(|turn| turn["id"].as_str().unwrap());
    let own: BTreeSet<_> = own.collect();
    drawn.retain(|(turn_id, _), _| !own.contains(turn_id.as_str()));
    assert_eq!(seen, drawn);
}

fn nobody_heard_an_answer_early(turns: &[Value], journals: &[(String, Vec<BotMessage>)]) {
    let answers: BTreeMap<_, _> =
        turns.iter().map(|turn| (turn["id"].as_str().unwrap(), turn["answer"].as_str().unwrap())).collect();
    let (mut unaware, mut aware) = (0, 0);
    for (player_id, notes) in journals {
        let (mut room, mut guessed) = (Value::Null, BTreeSet::new());
        for note in notes {
            // Who says the right word knows it before the server says so: lines and rooms overtake
            // each other.
            if let BotMessage::Sent(said) = note {
                guessed.extend(said["text"].as_str());
            }
            let Some((text, mut message)) = heard(note) else { continue };
            if message["room"]["version"].as_u64() >= room["version"].as_u64() && message["room"].is_object() {
                room = message["room"].take();
            }
            let turn = &room["turn"];
            let Some(answer) = turn["turnId"].as_str().map(|turn_id| answers[turn_id]) else { continue };
            let is_open = turn["phase"] == "reveal";
            if is_open || guessed.contains(answer) || turn["drawerId"] == **player_id {
                aware += u32::from(text.contains(answer));
            } else {
                assert!(!text.contains(answer), "{player_id} hears {text}");
                unaware += 1;
            }
        }
    }
    // The answer is found where it may be, so it would have been found elsewhere.
    assert!(
        unaware > tests::load(100, 1_000) && aware > tests::load(10, 100),
        "{unaware} messages to those who do not know, {aware} with the answer"
    );
}
