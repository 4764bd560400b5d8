//! The items of a game as they lie in the table, under the seed's names, and the domain's own on
//! the other side.
//!
//! The room is rewritten at each change, and each begun kilobyte is billed. Therefore derived data
//! is not stored: the awards of the solvers follow from the order of the right guesses.

mod answer;
mod round;

use domain::game::{
    ClientTag, GameId, Language, OutOfBounds, Player, PlayerId, PlayerName, Room, Scoring, Settings, Stage, Word,
    WordSource,
};
use serde::{Deserialize, Serialize};

use store_base::StoreError;

pub(crate) use answer::AnswerRow;

use round::RoundRow;

#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct MetaRow {
    game_id: String,
    pub(crate) status: Status,
    version: u64,
    created_at: u64,
    updated_at: u64,
    public: bool,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    shared: bool,
    settings: SettingsRow,
    #[serde(default)]
    custom_words: u8,
    host_id: String,
    players: Vec<PlayerRow>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    kicked: Vec<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    kicked_from: Vec<u32>,
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
    /// Absent is Japanese, the original design's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    language: Option<String>,
    /// Absent is by speed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    scoring: Option<String>,
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
    /// From where they play, as a tag that says nothing to anybody else. A short name: ten of them
    /// are in each room, whose size is paid for.
    #[serde(default, rename = "c", skip_serializing_if = "Option::is_none")]
    client: Option<u32>,
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
        let Settings { time_limit, round_count, player_count, hints, words, language, scoring } = room.settings;
        Self {
            game_id: room.id.to_string(),
            status,
            version: room.version,
            created_at: room.created_at_ms,
            updated_at: room.updated_at_ms,
            public: room.public,
            shared: room.shared,
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
                language: (language != Language::Japanese).then(|| language.code().to_owned()),
                scoring: scoring.other_than_default().map(str::to_owned),
            },
            custom_words: room.custom_words,
            host_id: room.host.to_string(),
            players: room.players.iter().map(PlayerRow::from).collect(),
            kicked: texts(&room.kicked),
            kicked_from: room.kicked_from.iter().map(|client| client.0).collect(),
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
        let SettingsRow { time_limit, round_count, player_count, hints, words, language, scoring } = row.settings;
        let language = match language {
            None => Language::Japanese,
            Some(code) => Language::with_code(&code).ok_or_else(|| StoreError::unreadable("a language of no words"))?,
        };
        let scoring = match scoring {
            None => Scoring::Speed,
            Some(name) => Scoring::with_name(&name).ok_or_else(|| StoreError::unreadable("an unknown scoring"))?,
        };
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
            language,
            scoring,
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
            shared: row.shared,
            settings,
            custom_words: row.custom_words,
            host: player_id(&row.host_id)?,
            players: row.players.into_iter().map(Player::try_from).collect::<Result<_, _>>()?,
            kicked: player_ids(&row.kicked)?,
            kicked_from: row.kicked_from.into_iter().map(ClientTag).collect(),
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
            client: player.client.map(|client| client.0),
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
            client: row.client.map(ClientTag),
        })
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

/// A word in the letters that the text has. Only the room's row has the language.
pub(crate) fn word(text: &str) -> Result<Word, StoreError> {
    Word::read(text).map_err(StoreError::unreadable)
}

#[cfg(test)]
mod tests {
    use aws_sdk_dynamodb::types::AttributeValue;
    use domain::game::{
        Answer, Award, AwardReason, Phase, PlayerCount, Playing, RoundCount, Secret, Solver, TimeLimit, Turn, TurnId,
        TurnSecret,
    };

    use super::round::awards_of;
    use super::*;
    use store_base::Item;

    const NOW_MS: u64 = 1_759_401_000_000;

    fn id(n: u8) -> PlayerId {
        format!("0199c0de-0000-7000-8000-0000000000{n:02x}").parse().expect("an id")
    }

    /// Ten players with names of four kanji, who have all guessed, at the end of the second to last
    /// turn.
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
            client: Some(ClientTag(u32::MAX - u32::from(n))),
        };
        let solvers: Vec<_> = (0..9).map(|n| Solver { player: id(n), points: 120 }).collect();
        let mut awards = awards_of(&solvers);
        awards.push(Award { player: id(9), points: 100, reason: AwardReason::Drawing });
        let phase = Phase::Reveal { answer: word("ちゅーりっぷ").expect("a word"), awards, at_ms: NOW_MS };
        let turn = Turn {
            id: TurnId::new(10, 9).expect("a turn"),
            drawer: id(9),
            started_at_ms: NOW_MS,
            deadline_ms: NOW_MS + 8_000,
            abandoned_at_ms: None,
            solvers,
            phase,
        };
        Room {
            id: "0199c0de-0000-7000-8000-000000000001".parse().expect("an id"),
            version: 4_321,
            created_at_ms: NOW_MS,
            updated_at_ms: NOW_MS,
            public: true,
            shared: false,
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
            kicked_from: vec![],
            stage: Stage::Playing(Playing { round_started_at_ms: NOW_MS, turn, paused_at_ms: None }),
        }
    }

    /// How much of an item is paid for ([item
    /// sizes](https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/CapacityUnitCalculations.html)).
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
    fn full_room_takes_less_than_two_kilobytes() {
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
        drawing.turn.abandoned_at_ms = Some(10);
        stages.extend([Stage::Playing(choosing), Stage::Playing(drawing)]);
        (room.kicked, room.kicked_from) = (vec![id(20)], vec![ClientTag(7)]);
        room.players[1].kick_votes = vec![id(2), id(3)];
        room.players[2].away_since_ms = Some(9);
        room.players[3].ready = false;
        for (stage, language) in stages.into_iter().zip(Language::ALL.into_iter().cycle()) {
            (room.stage, room.settings.language) = (stage, language);
            let item: Item = serde_dynamo::to_item(MetaRow::from(&room)).expect("an item");
            let row: MetaRow = serde_dynamo::from_item(item).expect("a row");
            assert_eq!(Room::try_from(row).expect("a room"), room);
        }
    }

    /// The original design's clients know no language.
    #[test]
    fn room_row_stores_its_language_unless_it_is_japanese() {
        let mut room = full_room();
        let settings = |room: &Room| -> Item {
            let item: Item = serde_dynamo::to_item(MetaRow::from(room)).expect("an item");
            item["settings"].as_m().expect("a map").clone()
        };
        assert!(!settings(&room).contains_key("language"));
        room.settings.language = Language::English;
        assert_eq!(settings(&room)["language"], AttributeValue::S("en".to_owned()));
        let mut row = MetaRow::from(&room);
        row.settings.language = Some("xx".to_owned());
        assert!(Room::try_from(row).is_err());
    }

    #[test]
    fn a_secret_reads_back_as_it_was() {
        let turn = TurnSecret {
            id: TurnId::new(2, 1).expect("a turn"),
            options: ["いぬ", "ねこ", "ice cream"].map(|text| word(text).expect("a word")).to_vec(),
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
