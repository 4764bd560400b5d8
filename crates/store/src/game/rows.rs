//! The items of a game as they lie in the table, under the seed's names, and the domain's own on the other side.
//!
//! The room is rewritten at each change, and each begun kilobyte of it is paid for. So what can be told from something else is
//! not stored: the awards of those who guessed follow from who guessed.

use domain::game::{
    Answer, Award, GameId, Hiragana, OutOfBounds, Phase, Player, PlayerId, PlayerName, Playing, Reason, Room, Secret,
    Settings, Solver, Stage, Turn, TurnId, TurnSecret, WordSource,
};
use serde::{Deserialize, Serialize};

use crate::StoreError;

/// One `_` for each letter that is still closed. No answer has it.
const CLOSED: char = '_';

#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct MetaRow {
    game_id: String,
    pub(crate) status: Status,
    version: u64,
    created_at: u64,
    updated_at: u64,
    public: bool,
    settings: SettingsRow,
    #[serde(default)]
    custom_words: u8,
    host_id: String,
    players: Vec<PlayerRow>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    kicked: Vec<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    current_round: Option<RoundRow>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    paused_at: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    finished_at: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    rematch: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Status {
    Waiting,
    Playing,
    Finished,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct SettingsRow {
    time_limit: u16,
    round_count: u16,
    player_count: u16,
    hints: bool,
    words: WordSourceRow,
}

#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum WordSourceRow {
    BuiltIn,
    Custom,
    Both,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct PlayerRow {
    id: String,
    name: String,
    score: u32,
    /// Absent is ready, as all are while they play.
    #[serde(default, skip_serializing_if = "ReadyRow::is_ready")]
    status: ReadyRow,
    joined_at: u64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    away_since: Option<u64>,
    /// The last round in which they drew.
    #[serde(default)]
    drew_in: u8,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    kick_votes: Vec<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum ReadyRow {
    #[default]
    Ready,
    NotReady,
}

impl ReadyRow {
    #[expect(clippy::trivially_copy_pass_by_ref, reason = "serde calls it so")]
    fn is_ready(&self) -> bool {
        *self == Self::Ready
    }
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct RoundRow {
    round_number: u8,
    started_at: u64,
    current_turn: TurnRow,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct TurnRow {
    turn_number: u8,
    drawer_id: String,
    status: TurnStatus,
    started_at: u64,
    deadline: u64,
    #[serde(default)]
    correct_player_ids: Vec<String>,
    /// What each of those earned, in the same order.
    #[serde(default)]
    correct_points: Vec<u32>,
    /// While somebody draws: the opened letters.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    mask: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    hints: Option<u8>,
    /// From the reveal on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    answer: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    ended_at: Option<u64>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    other_awards: Vec<AwardRow>,
}

/// An award that does not follow from who guessed.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct AwardRow {
    player_id: String,
    points: u32,
    reason: ReasonRow,
}

#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum ReasonRow {
    CorrectAnswer,
    DrawerPenalty,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum TurnStatus {
    SettingAnswer,
    Drawing,
    Finished,
}

impl From<&Room> for MetaRow {
    fn from(room: &Room) -> Self {
        let (mut current_round, mut paused_at, mut finished_at, mut rematch) = (None, None, None, None);
        let status = match &room.stage {
            Stage::Waiting => Status::Waiting,
            Stage::Playing(playing) => {
                paused_at = playing.paused_at_ms;
                current_round = Some(RoundRow::from(playing));
                Status::Playing
            }
            Stage::Finished { at_ms, rematch: next } => {
                finished_at = Some(*at_ms);
                rematch = next.map(|game| game.to_string());
                Status::Finished
            }
        };
        let Settings { time_limit, round_count, player_count, hints, words } = room.settings;
        Self {
            game_id: room.id.to_string(),
            status,
            version: room.version,
            created_at: room.created_at_ms,
            updated_at: room.updated_at_ms,
            public: room.public,
            settings: SettingsRow {
                time_limit: time_limit.get(),
                round_count: round_count.get(),
                player_count: player_count.get(),
                hints,
                words: match words {
                    WordSource::BuiltIn => WordSourceRow::BuiltIn,
                    WordSource::Custom => WordSourceRow::Custom,
                    WordSource::Both => WordSourceRow::Both,
                },
            },
            custom_words: room.custom_words,
            host_id: room.host.to_string(),
            players: room.players.iter().map(PlayerRow::from).collect(),
            kicked: texts(&room.kicked),
            current_round,
            paused_at,
            finished_at,
            rematch,
        }
    }
}

impl TryFrom<MetaRow> for Room {
    type Error = StoreError;

    fn try_from(row: MetaRow) -> Result<Self, StoreError> {
        let bounds = |error: OutOfBounds| StoreError::unreadable(error);
        let SettingsRow { time_limit, round_count, player_count, hints, words } = row.settings;
        let settings = Settings {
            time_limit: domain::game::TimeLimit::new(time_limit).map_err(bounds)?,
            round_count: domain::game::RoundCount::new(round_count).map_err(bounds)?,
            player_count: domain::game::PlayerCount::new(player_count).map_err(bounds)?,
            hints,
            words: match words {
                WordSourceRow::BuiltIn => WordSource::BuiltIn,
                WordSourceRow::Custom => WordSource::Custom,
                WordSourceRow::Both => WordSource::Both,
            },
        };
        let stage = match (row.status, row.current_round, row.finished_at) {
            (Status::Waiting, ..) => Stage::Waiting,
            (Status::Playing, Some(round), _) => Stage::Playing(round.read(row.paused_at)?),
            (Status::Finished, _, Some(at_ms)) => {
                let rematch =
                    row.rematch.map(|game| game.parse::<GameId>().map_err(StoreError::unreadable)).transpose()?;
                Stage::Finished { at_ms, rematch }
            }
            _ => return Err(StoreError::unreadable("a game whose status and round do not go together")),
        };
        Ok(Self {
            id: row.game_id.parse().map_err(StoreError::unreadable)?,
            version: row.version,
            created_at_ms: row.created_at,
            updated_at_ms: row.updated_at,
            public: row.public,
            settings,
            custom_words: row.custom_words,
            host: player_id(&row.host_id)?,
            players: row.players.into_iter().map(Player::try_from).collect::<Result<_, _>>()?,
            kicked: player_ids(&row.kicked)?,
            stage,
        })
    }
}

impl From<&Player> for PlayerRow {
    fn from(player: &Player) -> Self {
        Self {
            id: player.id.to_string(),
            name: player.name.to_string(),
            score: player.score,
            status: if player.ready { ReadyRow::Ready } else { ReadyRow::NotReady },
            joined_at: player.joined_at_ms,
            away_since: player.away_since_ms,
            drew_in: player.drew_in_round,
            kick_votes: texts(&player.kick_votes),
        }
    }
}

impl TryFrom<PlayerRow> for Player {
    type Error = StoreError;

    fn try_from(row: PlayerRow) -> Result<Self, StoreError> {
        Ok(Self {
            id: player_id(&row.id)?,
            name: PlayerName::new(&row.name).map_err(StoreError::unreadable)?,
            score: row.score,
            ready: row.status == ReadyRow::Ready,
            joined_at_ms: row.joined_at,
            away_since_ms: row.away_since,
            drew_in_round: row.drew_in,
            kick_votes: player_ids(&row.kick_votes)?,
        })
    }
}

impl From<&Playing> for RoundRow {
    fn from(playing: &Playing) -> Self {
        let turn = &playing.turn;
        let mut row = TurnRow {
            turn_number: turn.id.number(),
            drawer_id: turn.drawer.to_string(),
            status: TurnStatus::SettingAnswer,
            started_at: turn.started_at_ms,
            deadline: turn.deadline_ms,
            correct_player_ids: turn.solvers.iter().map(|solver| solver.player.to_string()).collect(),
            correct_points: turn.solvers.iter().map(|solver| solver.points).collect(),
            mask: None,
            hints: None,
            answer: None,
            ended_at: None,
            other_awards: Vec::new(),
        };
        match &turn.phase {
            Phase::Choosing => {}
            Phase::Drawing { mask, hints } => {
                row.status = TurnStatus::Drawing;
                row.mask = Some(mask.iter().map(|letter| letter.unwrap_or(CLOSED)).collect());
                row.hints = Some(*hints);
            }
            Phase::Reveal { answer, awards, at_ms } => {
                row.status = TurnStatus::Finished;
                row.answer = Some(answer.to_string());
                row.ended_at = Some(*at_ms);
                let solved = awards_of(&turn.solvers);
                row.other_awards = awards.iter().filter(|award| !solved.contains(award)).map(AwardRow::from).collect();
            }
        }
        Self { round_number: turn.id.round(), started_at: playing.round_started_at_ms, current_turn: row }
    }
}

impl RoundRow {
    fn read(self, paused_at_ms: Option<u64>) -> Result<Playing, StoreError> {
        let row = self.current_turn;
        if row.correct_player_ids.len() != row.correct_points.len() {
            return Err(StoreError::unreadable("a turn with more solvers than points, or fewer"));
        }
        let solvers = player_ids(&row.correct_player_ids)?.into_iter().zip(row.correct_points);
        let solvers: Vec<_> = solvers.map(|(player, points)| Solver { player, points }).collect();
        let phase = match (row.status, row.mask, row.hints, row.answer, row.ended_at) {
            (TurnStatus::SettingAnswer, ..) => Phase::Choosing,
            (TurnStatus::Drawing, Some(mask), Some(hints), ..) => {
                Phase::Drawing { mask: mask.chars().map(|c| (c != CLOSED).then_some(c)).collect(), hints }
            }
            (TurnStatus::Finished, _, _, Some(answer), Some(at_ms)) => {
                let mut awards = awards_of(&solvers);
                for award in row.other_awards {
                    awards.push(award.try_into()?);
                }
                Phase::Reveal { answer: word(&answer)?, awards, at_ms }
            }
            _ => return Err(StoreError::unreadable("a turn whose status and answer do not go together")),
        };
        let id = TurnId::new(self.round_number, row.turn_number).map_err(StoreError::unreadable)?;
        let turn = Turn {
            id,
            drawer: player_id(&row.drawer_id)?,
            started_at_ms: row.started_at,
            deadline_ms: row.deadline,
            solvers,
            phase,
        };
        Ok(Playing { round_started_at_ms: self.started_at, turn, paused_at_ms })
    }
}

/// What those who guessed have got for it.
fn awards_of(solvers: &[Solver]) -> Vec<Award> {
    let award = |solver: &Solver| Award { player: solver.player, points: solver.points, reason: Reason::CorrectAnswer };
    solvers.iter().map(award).collect()
}

impl From<&Award> for AwardRow {
    fn from(award: &Award) -> Self {
        let reason = match award.reason {
            Reason::CorrectAnswer => ReasonRow::CorrectAnswer,
            Reason::DrawerPenalty => ReasonRow::DrawerPenalty,
        };
        Self { player_id: award.player.to_string(), points: award.points, reason }
    }
}

impl TryFrom<AwardRow> for Award {
    type Error = StoreError;

    fn try_from(row: AwardRow) -> Result<Self, StoreError> {
        let reason = match row.reason {
            ReasonRow::CorrectAnswer => Reason::CorrectAnswer,
            ReasonRow::DrawerPenalty => Reason::DrawerPenalty,
        };
        Ok(Self { player: player_id(&row.player_id)?, points: row.points, reason })
    }
}

/// What a game hides.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct AnswerRow {
    seed: u64,
    dealt: u16,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    turn_id: Option<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    options: Vec<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    answer: Option<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    hint_order: Vec<u8>,
}

impl From<&Secret> for AnswerRow {
    fn from(secret: &Secret) -> Self {
        let turn = secret.turn.as_ref();
        let answer = turn.and_then(|turn| turn.answer.as_ref());
        Self {
            seed: secret.seed,
            dealt: secret.dealt,
            turn_id: turn.map(|turn| turn.id.to_string()),
            options: turn.map(|turn| turn.options.iter().map(ToString::to_string).collect()).unwrap_or_default(),
            answer: answer.map(|answer| answer.word.to_string()),
            hint_order: answer.map(|answer| answer.hint_order.clone()).unwrap_or_default(),
        }
    }
}

impl TryFrom<AnswerRow> for Secret {
    type Error = StoreError;

    fn try_from(row: AnswerRow) -> Result<Self, StoreError> {
        let turn = match row.turn_id {
            None => None,
            Some(id) => {
                let options = row.options.iter().map(|option| word(option)).collect::<Result<_, _>>()?;
                let answer = match row.answer {
                    None => None,
                    Some(answer) => Some(Answer { word: word(&answer)?, hint_order: row.hint_order }),
                };
                Some(TurnSecret { id: id.parse().map_err(StoreError::unreadable)?, options, answer })
            }
        };
        Ok(Self { seed: row.seed, dealt: row.dealt, turn })
    }
}

fn texts(ids: &[PlayerId]) -> Vec<String> {
    ids.iter().map(ToString::to_string).collect()
}

fn player_ids(texts: &[String]) -> Result<Vec<PlayerId>, StoreError> {
    texts.iter().map(|text| player_id(text)).collect()
}

pub(crate) fn player_id(text: &str) -> Result<PlayerId, StoreError> {
    text.parse().map_err(StoreError::unreadable)
}

pub(crate) fn word(text: &str) -> Result<Hiragana, StoreError> {
    Hiragana::new(text).map_err(StoreError::unreadable)
}

#[cfg(test)]
mod tests {
    use aws_sdk_dynamodb::types::AttributeValue;
    use domain::game::{PlayerCount, RoundCount, TimeLimit};

    use super::*;
    use crate::item::Item;

    const NOW_MS: u64 = 1_759_401_000_000;

    fn id(n: u8) -> PlayerId {
        format!("0199c0de-0000-7000-8000-0000000000{n:02x}").parse().expect("an id")
    }

    /// Ten players with names of four kanji, all of whom have guessed, at the end of the last turn but one.
    fn full_room() -> Room {
        let player = |n| Player {
            id: id(n),
            name: PlayerName::new("東海林太").expect("a name"),
            score: 9_999,
            ready: true,
            joined_at_ms: NOW_MS + u64::from(n),
            away_since_ms: None,
            drew_in_round: 10,
            kick_votes: vec![],
        };
        let solvers: Vec<_> = (0..9).map(|n| Solver { player: id(n), points: 120 }).collect();
        let mut awards = awards_of(&solvers);
        awards.push(Award { player: id(9), points: 100, reason: Reason::DrawerPenalty });
        let phase = Phase::Reveal { answer: word("ちゅーりっぷ").expect("a word"), awards, at_ms: NOW_MS };
        let turn = Turn {
            id: TurnId::new(10, 9).expect("a turn"),
            drawer: id(9),
            started_at_ms: NOW_MS,
            deadline_ms: NOW_MS + 8_000,
            solvers,
            phase,
        };
        Room {
            id: "0199c0de-0000-7000-8000-000000000001".parse().expect("an id"),
            version: 4_321,
            created_at_ms: NOW_MS,
            updated_at_ms: NOW_MS,
            public: true,
            settings: Settings {
                time_limit: TimeLimit::new(300).expect("in range"),
                round_count: RoundCount::new(10).expect("in range"),
                player_count: PlayerCount::new(10).expect("in range"),
                ..Settings::default()
            },
            custom_words: 0,
            host: id(0),
            players: (0..10).map(player).collect(),
            kicked: vec![],
            stage: Stage::Playing(Playing { round_started_at_ms: NOW_MS, turn, paused_at_ms: None }),
        }
    }

    /// How much of an item is paid for
    /// ([item sizes](https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/CapacityUnitCalculations.html)).
    fn size(value: &AttributeValue) -> usize {
        match value {
            AttributeValue::S(text) => text.len(),
            AttributeValue::N(digits) => digits.len().div_ceil(2) + 1,
            AttributeValue::L(values) => 3 + values.iter().map(|value| 1 + size(value)).sum::<usize>(),
            AttributeValue::M(map) => 3 + map.iter().map(|(name, value)| 1 + name.len() + size(value)).sum::<usize>(),
            _ => 1,
        }
    }

    #[test]
    fn a_full_room_at_the_end_of_a_turn_takes_less_than_two_kilobytes() {
        let item: Item = serde_dynamo::to_item(MetaRow::from(&full_room())).expect("an item");
        // Its keys and the TTL come on top.
        let bytes = 60 + item.iter().map(|(name, value)| name.len() + size(value)).sum::<usize>();
        assert!(bytes < 2_048, "{bytes}");
    }

    #[test]
    fn a_room_reads_back_as_it_was() {
        let mut room = full_room();
        let mut stages = vec![room.stage.clone(), Stage::Waiting];
        stages.push(Stage::Finished { at_ms: 7, rematch: Some(room.id) });
        let Stage::Playing(reveal) = &stages[0] else { panic!("playing") };
        let mut choosing = reveal.clone();
        (choosing.turn.phase, choosing.turn.solvers, choosing.paused_at_ms) = (Phase::Choosing, vec![], Some(8));
        let mut drawing = reveal.clone();
        drawing.turn.phase = Phase::Drawing { mask: vec![None, Some('ん'), None], hints: 1 };
        stages.extend([Stage::Playing(choosing), Stage::Playing(drawing)]);
        room.kicked = vec![id(20)];
        room.players[1].kick_votes = vec![id(2), id(3)];
        room.players[2].away_since_ms = Some(9);
        room.players[3].ready = false;
        for stage in stages {
            room.stage = stage;
            let item: Item = serde_dynamo::to_item(MetaRow::from(&room)).expect("an item");
            let row: MetaRow = serde_dynamo::from_item(item).expect("a row");
            assert_eq!(Room::try_from(row).expect("a room"), room);
        }
    }

    #[test]
    fn a_secret_reads_back_as_it_was() {
        let turn = TurnSecret {
            id: TurnId::new(2, 1).expect("a turn"),
            options: ["いぬ", "ねこ", "りんご"].map(|text| word(text).expect("a word")).to_vec(),
            answer: Some(Answer { word: word("りんご").expect("a word"), hint_order: vec![1] }),
        };
        let chosen = Secret { seed: u64::MAX, dealt: 3, turn: Some(turn.clone()) };
        let choosing = Secret { turn: Some(TurnSecret { answer: None, ..turn }), ..chosen.clone() };
        for secret in [Secret::new(7), choosing, chosen] {
            let item: Item = serde_dynamo::to_item(AnswerRow::from(&secret)).expect("an item");
            let row: AnswerRow = serde_dynamo::from_item(item).expect("a row");
            assert_eq!(Secret::try_from(row).expect("a secret"), secret);
        }
    }
}
