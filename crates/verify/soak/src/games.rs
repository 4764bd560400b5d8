//! Games: bots play on while connections break and the stack dies; afterwards everybody's score is
//! the sum of their awards.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use anyhow::{Context, Result};
use aws_sdk_dynamodb::types::AttributeValue;
use bots::{BotOptions, Ending, NAMES, Pace, Seat, Server, SharedAnswers, play};
use domain::game::GameId;
use fastrand::Rng;
use futures::future::join_all;
use game_store::{PARTITION_BOUNDS, Rooms, Rounds};
use serde_json::json;
use tests::shop_records::{Item, text};
use tests::{Database, Stack};
use tokio_util::sync::CancellationToken;

use crate::check::Check;
use crate::world::World;

const SYSTEM: &str = "games";
const PLAYERS: usize = 3;
/// Tries to make a game, or to sit down at one.
const TRIES_MAX: u32 = 20;
/// How long a game may go on after the traffic has ended; the longest one here takes three turns of
/// half a minute.
const OVERTIME: Duration = Duration::from_secs(150);

/// Long, and in no list, so that nobody guesses them by chance.
const WORDS: [&str; 6] = [
    "うみほたるのむれ",
    "なみのりのいた",
    "とうだいもりのいえ",
    "かいぞくのうたごえ",
    "しおひがりのひより",
    "さんごのもりのなか",
];

/// Scores by player.
type Scores = BTreeMap<String, u32>;

/// Games that were played to their end, with what their players were told in the end.
#[derive(Debug, Default)]
pub(crate) struct Games {
    finished: Mutex<Vec<(GameId, Scores)>>,
    /// Standings that differ from one player to the other.
    contradictions: Mutex<Vec<String>>,
}

impl Games {
    /// A game after the other, until the traffic ends and the last one is over.
    pub(crate) async fn drive(&self, world: &World, mut rng: Rng) {
        while world.goes_on() {
            if let Err(error) = self.game(world, &mut rng).await {
                // Nobody was lucky enough to sit down; another game may come about.
                world.count(SYSTEM, |tally| tally.unanswered += 1);
                eprintln!("a game was given up: {error:#}");
            }
        }
    }

    async fn game(&self, world: &World, rng: &mut Rng) -> Result<()> {
        let server = with_retries(rng, async || Server::at(world.url(), None).await).await?;
        let settings = json!({"timeLimit": 30, "roundCount": 1, "playerCount": PLAYERS, "words": "custom"});
        let wanted = json!({"name": NAMES[0], "settings": settings, "words": WORDS});
        let first = with_retries(rng, async || server.create_game(&wanted).await).await?;
        let game: GameId = first.game_id.parse().context("the game has no id")?;
        let mut seats = vec![first];
        for name in &NAMES[1..PLAYERS] {
            // A seat whose answer was lost is taken by nobody, so the game is given up if that
            // leaves too few.
            seats.push(with_retries(rng, async || server.join_game(game, name, None).await).await?);
        }
        let (stop, shared_answers) = (CancellationToken::new(), SharedAnswers::default());
        let players = seats.into_iter().enumerate().map(|(number, seat)| {
            let options = options(number, rng.u64(..), &shared_answers);
            play_bot(&server, game, seat, options, stop.clone())
        });
        let players: Vec<_> = players.collect();
        let over = world.until() + OVERTIME;
        let endings = tokio::select! {
            endings = join_all(players) => endings,
            () = tokio::time::sleep_until(over.into()) => Vec::new(),
        };
        let told: Vec<Scores> = endings.into_iter().flatten().collect();
        let Some(scores) = told.first() else {
            world.count(SYSTEM, |tally| tally.unanswered += 1);
            return Ok(());
        };
        if told.iter().any(|other| other != scores) {
            let line = format!("{game}: {told:?}");
            self.contradictions.lock().unwrap_or_else(PoisonError::into_inner).push(line);
        }
        world.count(SYSTEM, |tally| tally.answered += 1);
        self.finished.lock().unwrap_or_else(PoisonError::into_inner).push((game, scores.clone()));
        Ok(())
    }

    /// Adds awards up.
    pub(crate) async fn check(&self, stack: &Stack) -> Result<Vec<Check>> {
        let finished = self.finished.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let mut told = Check::of("everybody was told the same end of a game, and it is the room's");
        let mut sums = Check::of("each score is the sum of its awards");
        let mut bounded = Check::of("a game has of each kind of item at most what its bound says");
        for line in &*self.contradictions.lock().unwrap_or_else(PoisonError::into_inner) {
            told.mistake(line.clone());
        }
        let (rooms, rounds) = (Rooms::new(&stack.table(Database::GAMES)), Rounds::new(&stack.table(Database::GAMES)));
        for (game, scores) in &finished {
            let room = rooms.room(*game).await?.with_context(|| format!("there is no game {game}"))?;
            let in_room: Scores = room.players.iter().map(|player| (player.id.to_string(), player.score)).collect();
            told.expect(in_room == *scores, || format!("{game}: {in_room:?}, and they were told {scores:?}"));
            let mut awarded: Scores = in_room.keys().map(|player| (player.clone(), 0)).collect();
            for turn in rounds.of_game(*game).await?.0.iter().flat_map(|round| &round.turns) {
                for award in &turn.awards {
                    *awarded.entry(award.player_id.clone()).or_default() += award.points;
                }
            }
            sums.expect(awarded == in_room, || format!("{game}: awards of {awarded:?}, scores of {in_room:?}"));
            let items = items(stack, *game).await?;
            let known: usize = PARTITION_BOUNDS.iter().map(|(kind, _)| of_kind(&items, kind).count()).sum();
            bounded
                .expect(known == items.len(), || format!("{game}: {} items are of no known kind", items.len() - known));
            for (kind, bound) in PARTITION_BOUNDS {
                let count = of_kind(&items, kind).count();
                bounded
                    .expect(count <= bound, || format!("{game}: {count} items {kind}, of which {bound} may be there"));
            }
            let rows = award_rows(&items)?;
            let some: Scores = awarded.into_iter().filter(|(_, points)| *points > 0).collect();
            sums.expect(rows == some, || format!("{game}: rows of awards {rows:?}, the rounds say {some:?}"));
        }
        Ok(vec![told, sums, bounded])
    }
}

/// All that lies in a game's partition.
async fn items(stack: &Stack, game: GameId) -> Result<Vec<Item>> {
    let query = stack.dynamodb().query().table_name(Database::GAMES).consistent_read(true);
    let query = query.key_condition_expression("PK = :pk");
    let query = query.expression_attribute_values(":pk", AttributeValue::S(format!("GAME#{game}")));
    Ok(query.into_paginator().items().send().collect::<Result<_, _>>().await?)
}

fn of_kind<'a>(items: &'a [Item], kind: &'a str) -> impl Iterator<Item = &'a Item> {
    items.iter().filter(move |item| text(item, "SK").starts_with(kind))
}

/// The rows of the awards, added up by player.
fn award_rows(items: &[Item]) -> Result<Scores> {
    let mut scores = Scores::new();
    for item in of_kind(items, "SCORE#") {
        let points: Option<u32> =
            item.get("points").and_then(|value| value.as_n().ok()).and_then(|points| points.parse().ok());
        *scores.entry(text(item, "playerId").to_owned()).or_default() += points.context("an award has no points")?;
    }
    Ok(scores)
}

fn options(number: usize, seed: u64, shared_answers: &SharedAnswers) -> BotOptions {
    BotOptions {
        name: NAMES[number].to_owned(),
        seed,
        pace: Pace::fast(),
        start_with: PLAYERS,
        shared_answers: Some(shared_answers.clone()),
        transcript: None,
    }
}

/// Plays one player's game. Returns the final standings that the player received, if any.
async fn play_bot(
    server: &Server,
    game: GameId,
    seat: Seat,
    options: BotOptions,
    stop: CancellationToken,
) -> Option<Scores> {
    match play(server, game, seat, options, stop).await {
        Ok(Ending::Finished(standings)) => {
            Some(standings.into_iter().map(|standing| (standing.player_id, standing.score)).collect())
        }
        _ => None,
    }
}

/// Tries again what a stack may refuse that is being hurt.
async fn with_retries<T>(rng: &mut Rng, work: impl AsyncFn() -> Result<T, bots::ServerError>) -> Result<T> {
    let mut tries = 0;
    loop {
        tries += 1;
        match work().await {
            Ok(done) => return Ok(done),
            Err(error) if tries == TRIES_MAX || !error.is_transient() => return Err(error.into()),
            Err(_) => tokio::time::sleep(Duration::from_millis(rng.u64(50..500))).await,
        }
    }
}
