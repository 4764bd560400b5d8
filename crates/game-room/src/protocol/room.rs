//! The room in JSON. It is built from a view, which holds only what its viewer may see.

use domain::game::{
    Award, AwardReason, OptionView, PlayerView, Settings, Solver, Standing, TurnView, View, WordSource,
};
use serde::Serialize;

/// A room as one participant sees it.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct RoomMessage {
    game_id: String,
    version: u64,
    status: &'static str,
    public: bool,
    #[serde(skip_serializing_if = "is_false")]
    shared: bool,
    settings: SettingsMessage,
    host_id: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    round: Option<u8>,
    players: Vec<PlayerMessage>,
    spectators: usize,
    #[serde(skip_serializing_if = "is_false")]
    paused: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    turn: Option<TurnMessage>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    standings: Vec<StandingMessage>,
    #[serde(skip_serializing_if = "Option::is_none")]
    rematch: Option<String>,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct SettingsMessage {
    time_limit: u16,
    round_count: u16,
    player_count: u16,
    hints: bool,
    words: &'static str,
    language: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    scoring: Option<&'static str>,
    custom_words: u8,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct PlayerMessage {
    player_id: String,
    name: String,
    score: u32,
    ready: bool,
    connected: bool,
    kick_votes: u8,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct TurnMessage {
    turn_id: String,
    drawer_id: String,
    phase: &'static str,
    time_limit: u16,
    remaining_ms: u64,
    next_ms: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    mask: Option<String>,
    solvers: Vec<SolverMessage>,
    #[serde(skip_serializing_if = "Option::is_none")]
    answer: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    gloss: Option<&'static str>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    options: Vec<WordMessage>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    awards: Vec<AwardMessage>,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct SolverMessage {
    player_id: String,
    points: u32,
}

#[derive(Debug, Serialize)]
struct WordMessage {
    word: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    gloss: Option<&'static str>,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct AwardMessage {
    player_id: String,
    points: u32,
    reason: &'static str,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct StandingMessage {
    player_id: String,
    name: String,
    score: u32,
    rank: u8,
}

fn is_false(value: &bool) -> bool {
    !value
}

impl RoomMessage {
    /// Builds the message from a view and the number of spectators.
    pub fn new(view: View, spectators: usize) -> Self {
        let Settings { time_limit, round_count, player_count, hints, words, language, scoring } = view.settings;
        Self {
            game_id: view.id.to_string(),
            version: view.version,
            status: view.status,
            public: view.public,
            shared: view.shared,
            settings: SettingsMessage {
                time_limit: time_limit.get(),
                round_count: round_count.get(),
                player_count: player_count.get(),
                hints,
                words: word_source_name(words),
                language: language.code(),
                scoring: scoring.other_than_default(),
                custom_words: view.custom_words,
            },
            host_id: view.host.to_string(),
            round: view.turn.as_ref().map(|turn| turn.id.round()),
            players: view.players.into_iter().map(PlayerMessage::from).collect(),
            spectators,
            paused: view.paused,
            turn: view.turn.map(|turn| TurnMessage::new(turn, time_limit.get())),
            standings: view.standings.into_iter().map(StandingMessage::from).collect(),
            rematch: view.rematch.map(|game| game.to_string()),
        }
    }
}

/// The sources of a game's words, with their names in the protocol and the API.
pub const WORD_SOURCES: [(WordSource, &str); 3] =
    [(WordSource::BuiltIn, "built-in"), (WordSource::Custom, "custom"), (WordSource::Both, "both")];

fn word_source_name(source: WordSource) -> &'static str {
    WORD_SOURCES.iter().find(|(other, _)| *other == source).map_or("", |(_, name)| name)
}

impl TurnMessage {
    fn new(turn: TurnView, time_limit: u16) -> Self {
        let gloss = turn.answer.as_ref().and_then(|answer| answer.gloss);
        Self {
            turn_id: turn.id.to_string(),
            drawer_id: turn.drawer.to_string(),
            phase: turn.phase,
            time_limit,
            remaining_ms: turn.remaining_ms,
            next_ms: turn.next_ms,
            mask: turn.mask,
            solvers: turn.solvers.iter().map(SolverMessage::from).collect(),
            answer: turn.answer.map(|answer| answer.word.to_string()),
            gloss,
            options: turn.options.into_iter().map(WordMessage::from).collect(),
            awards: turn.awards.iter().map(AwardMessage::from).collect(),
        }
    }
}

impl From<PlayerView> for PlayerMessage {
    fn from(player: PlayerView) -> Self {
        Self {
            player_id: player.id.to_string(),
            name: player.name.to_string(),
            score: player.score,
            ready: player.ready,
            connected: player.connected,
            kick_votes: player.kick_votes,
        }
    }
}

impl From<&Solver> for SolverMessage {
    fn from(solver: &Solver) -> Self {
        Self { player_id: solver.player.to_string(), points: solver.points }
    }
}

impl From<OptionView> for WordMessage {
    fn from(option: OptionView) -> Self {
        Self { word: option.word.to_string(), gloss: option.gloss }
    }
}

impl From<&Award> for AwardMessage {
    fn from(award: &Award) -> Self {
        let reason = match award.reason {
            AwardReason::CorrectAnswer => "correct_answer",
            AwardReason::Drawing => "drawer_penalty",
        };
        Self { player_id: award.player.to_string(), points: award.points, reason }
    }
}

impl From<Standing> for StandingMessage {
    fn from(standing: Standing) -> Self {
        let Standing { player, name, score, rank } = standing;
        Self { player_id: player.to_string(), name: name.to_string(), score, rank }
    }
}
