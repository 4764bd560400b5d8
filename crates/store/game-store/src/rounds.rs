//! The history of a game: a `ROUND#` item for each round, with its turns, and a `SCORE#` item for
//! each award.
//!
//! Both are made of what the stream tells, which may tell it twice, late, or to two readers at
//! once.

use std::collections::BTreeMap;

use domain::game::{Award, AwardReason, GameId, Phase, Room, TurnId};
use futures::future::try_join_all;
use serde::{Deserialize, Serialize};

use super::keys::{ARCHIVE_TTL_S, PARTITION_KEY, ROUND_PREFIX, SORT_KEY, TTL, expires, game, key, n, round, s, score};
use store_base::Retry;
use store_base::RowReader;
use store_base::unless_condition_failed;
use store_base::{StoreError, Table};

/// A turn that is over, as its reveal showed it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EndedTurn<'a> {
    /// The room in its reveal.
    pub room: &'a Room,
    /// Which turn.
    pub id: TurnId,
    /// Its awards.
    pub awards: &'a [Award],
    /// When the drawing ended, Unix milliseconds.
    pub at_ms: u64,
}

impl<'a> EndedTurn<'a> {
    /// The turn that a room reveals.
    pub fn of(room: &'a Room) -> Option<Self> {
        let turn = room.turn()?;
        let Phase::Reveal { awards, at_ms, .. } = &turn.phase else { return None };
        Some(Self { room, id: turn.id, awards, at_ms: *at_ms })
    }
}

/// A round, under the names of its item.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Round {
    id: String,
    game_id: String,
    /// From 1.
    pub round_number: u8,
    /// When its first turn began, Unix milliseconds.
    pub started_at: u64,
    /// When the drawing of its last turn ended, so far.
    pub ended_at: u64,
    /// Those that are over, in order.
    pub turns: Vec<PlayedTurn>,
    /// What its turns brought to whom.
    pub round_scores: Vec<RoundScore>,
    /// Grows with every turn.
    revision: u32,
    ttl: u64,
}

/// A turn of a round.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct PlayedTurn {
    /// `<round>.<turn>`.
    pub id: String,
    /// From 1.
    pub turn_number: u8,
    /// Who drew.
    pub drawer_id: String,
    /// Their name; `None` when they had left before the reveal.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub drawer_name: Option<String>,
    /// What.
    pub answer: String,
    /// Always `finished`.
    status: String,
    /// Seconds.
    pub time_limit: u16,
    /// When the drawer was asked to choose, Unix milliseconds.
    pub started_at: u64,
    /// When the drawing ended.
    pub ended_at: u64,
    /// Who guessed it, in order.
    pub correct_player_ids: Vec<String>,
    /// What the turn brought.
    pub awards: Vec<PlayedAward>,
}

/// Points, and for what.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct PlayedAward {
    /// Whose.
    pub player_id: String,
    /// How many.
    pub points: u32,
    /// `correct_answer` or `drawer_penalty`.
    pub reason: String,
}

/// What a round brought to a player.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct RoundScore {
    /// Whose.
    pub player_id: String,
    /// Their name, as it was last seen; empty when it never was.
    pub player_name: String,
    /// The sum.
    pub points: u32,
}

fn reason(reason: AwardReason) -> &'static str {
    match reason {
        AwardReason::CorrectAnswer => "correct_answer",
        AwardReason::Drawing => "drawer_penalty",
    }
}

impl From<&Award> for PlayedAward {
    fn from(award: &Award) -> Self {
        Self { player_id: award.player.to_string(), points: award.points, reason: reason(award.reason).to_owned() }
    }
}

impl PlayedTurn {
    fn of(ended: &EndedTurn<'_>) -> Option<Self> {
        let turn = ended.room.turn()?;
        let Phase::Reveal { answer, .. } = &turn.phase else { return None };
        Some(Self {
            id: turn.id.to_string(),
            turn_number: turn.id.number(),
            drawer_id: turn.drawer.to_string(),
            drawer_name: ended.room.player(turn.drawer).map(|player| player.name.to_string()),
            answer: answer.to_string(),
            status: "finished".to_owned(),
            time_limit: ended.room.settings.time_limit.get(),
            started_at: turn.started_at_ms,
            ended_at: ended.at_ms,
            correct_player_ids: turn.solvers.iter().map(|solver| solver.player.to_string()).collect(),
            awards: ended.awards.iter().map(PlayedAward::from).collect(),
        })
    }
}

impl Round {
    fn new(room: &Room, number: u8, started_at_ms: u64) -> Self {
        Self {
            id: format!("{}.{number:02}", room.id),
            game_id: room.id.to_string(),
            round_number: number,
            started_at: started_at_ms,
            ended_at: started_at_ms,
            turns: Vec::new(),
            round_scores: Vec::new(),
            revision: 0,
            ttl: 0,
        }
    }

    /// With one turn more; `None` when it has it already.
    fn with(mut self, turn: PlayedTurn, room: &Room) -> Option<Self> {
        let place = self.turns.binary_search_by_key(&turn.turn_number, |turn| turn.turn_number).err()?;
        self.ended_at = self.ended_at.max(turn.ended_at);
        self.turns.insert(place, turn);
        let mut scores = BTreeMap::<&str, u32>::new();
        for award in self.turns.iter().flat_map(|turn| &turn.awards) {
            *scores.entry(&award.player_id).or_default() += award.points;
        }
        let name = |id: &str| {
            let now = room.players.iter().find(|player| player.id.to_string() == id);
            let before = || self.round_scores.iter().find(|score| score.player_id == id);
            now.map(|player| player.name.to_string())
                .or_else(|| Some(before()?.player_name.clone()))
                .unwrap_or_default()
        };
        let scores = scores.into_iter().map(|(player_id, points)| RoundScore {
            player_id: player_id.to_owned(),
            player_name: name(player_id),
            points,
        });
        self.round_scores = scores.collect();
        self.revision += 1;
        self.ttl = expires(self.ended_at, ARCHIVE_TTL_S);
        Some(self)
    }
}

/// Stores and reads the history of games. Its requests are `GetItem`, `PutItem` and `Query`.
#[derive(Debug, Clone)]
pub struct Rounds {
    table: Table,
}

impl Rounds {
    /// The rounds in `table`.
    pub fn new(table: &Table) -> Self {
        Self { table: table.clone() }
    }

    /// Adds a turn to its round. The same turn again changes nothing.
    ///
    /// # Errors
    /// [`StoreError::Busy`] when other writers were faster each time.
    pub async fn add(&self, ended: &EndedTurn<'_>) -> Result<(), StoreError> {
        let Some(turn) = PlayedTurn::of(ended) else { return Ok(()) };
        let started_at_ms = ended.room.playing().map_or(ended.at_ms, |playing| playing.round_started_at_ms);
        let mut retry = Retry::new();
        loop {
            let read = self.get(ended.room.id, ended.id.round()).await?;
            let revision = read.as_ref().map(|round| round.revision);
            let round = read.unwrap_or_else(|| Round::new(ended.room, ended.id.round(), started_at_ms));
            let Some(round) = round.with(turn.clone(), ended.room) else { return Ok(()) };
            if self.put(ended.room.id, &round, revision).await? {
                return Ok(());
            }
            if !retry.wait().await {
                return Err(StoreError::Busy(format!("other writers changed round {} each time", ended.id.round())));
            }
        }
    }

    async fn get(&self, game_id: GameId, number: u8) -> Result<Option<Round>, StoreError> {
        let key = key(game(game_id), round(number));
        let request = self.table.get_item(key).consistent_read(true);
        let item = request.send().await?.item;
        item.map(|item| serde_dynamo::from_item(item).map_err(StoreError::unreadable)).transpose()
    }

    /// `false`: the round is not the one of that revision any more.
    async fn put(&self, game_id: GameId, value: &Round, revision: Option<u32>) -> Result<bool, StoreError> {
        let mut item = key(game(game_id), round(value.round_number));
        item.extend(serde_dynamo::to_item::<_, store_base::Item>(value).map_err(StoreError::unreadable)?);
        let put = self.table.put_item(item);
        // Stops two deliveries of different turns, read at the same time, from forgetting one of
        // them.
        let put = match revision {
            None => {
                put.condition_expression("attribute_not_exists(#key)").expression_attribute_names("#key", PARTITION_KEY)
            }
            Some(revision) => {
                put.condition_expression("revision = :read").expression_attribute_values(":read", n(revision))
            }
        };
        Ok(unless_condition_failed(put.send().await)?.is_some())
    }

    /// Keeps what a turn brought: an item for each award, named by turn and player, so that one
    /// that comes again is the same.
    pub async fn award(&self, room: &Room, turn_id: TurnId, awards: &[Award], at_ms: u64) -> Result<(), StoreError> {
        try_join_all(awards.iter().map(|award| self.put_award(room, turn_id, award, at_ms))).await?;
        Ok(())
    }

    async fn put_award(&self, room: &Room, turn_id: TurnId, award: &Award, at_ms: u64) -> Result<(), StoreError> {
        #[derive(Serialize)]
        #[serde(rename_all = "camelCase")]
        struct Row {
            #[serde(flatten)]
            award: PlayedAward,
            round_number: u8,
            turn_number: u8,
            timestamp: u64,
        }
        let row =
            Row { award: award.into(), round_number: turn_id.round(), turn_number: turn_id.number(), timestamp: at_ms };
        let mut item = key(game(room.id), score(turn_id, award.player));
        item.extend(serde_dynamo::to_item::<_, store_base::Item>(row).map_err(StoreError::unreadable)?);
        item.insert(TTL.to_owned(), n(expires(at_ms, ARCHIVE_TTL_S)));
        self.table.put_item(item).send().await?;
        Ok(())
    }

    /// The rounds of a game, in order, and how many cannot be read. At most ten of at most 20 turns
    /// each, which fit one page.
    pub async fn of_game(&self, game_id: GameId) -> Result<(Vec<Round>, usize), StoreError> {
        let query = self
            .table
            .query()
            .key_condition_expression("#pk = :pk AND begins_with(#sk, :rounds)")
            .expression_attribute_names("#pk", PARTITION_KEY)
            .expression_attribute_names("#sk", SORT_KEY)
            .expression_attribute_values(":pk", s(game(game_id)))
            .expression_attribute_values(":rounds", s(ROUND_PREFIX));
        let items = query.send().await?.items.unwrap_or_default();
        let mut reader = RowReader::new([PARTITION_KEY, SORT_KEY]);
        let round = |item| serde_dynamo::from_item(item).map_err(StoreError::unreadable);
        let mut rounds: Vec<Round> = items.into_iter().filter_map(|item| reader.read(item, round)).collect();
        // The tenth lies before the second in the table.
        rounds.sort_by_key(|round| round.round_number);
        Ok((rounds, reader.skipped()))
    }
}
