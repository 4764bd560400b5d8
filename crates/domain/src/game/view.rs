//! The view of a game for one participant.
//!
//! [`Room::view`] has no access to the secret, so it cannot reveal it. [`Game::view`] adds the
//! answer for the drawer and the solvers.

use super::room::{Award, Phase, Playing, Room, Solver, Stage, Turn};
use super::scoring::{Standing, standings};
use super::{CLOSED_LETTER, Game, GameId, PlayerId, PlayerName, Settings, TurnId, Word, words};

/// A room as one participant sees it. `docs/protocol.md` has what a browser makes of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct View {
    /// Which game.
    pub id: GameId,
    /// Of the room.
    pub version: u64,
    /// `waiting`, `playing` or `finished`.
    pub status: &'static str,
    /// Whether strangers find it.
    pub public: bool,
    /// How it is played.
    pub settings: Settings,
    /// How many words of its own it has.
    pub custom_words: u8,
    /// The player who may configure and start the game.
    pub host: PlayerId,
    /// In the order of joining.
    pub players: Vec<PlayerView>,
    /// While playing.
    pub turn: Option<TurnView>,
    /// Whether everybody is away and the clock stands.
    pub paused: bool,
    /// Best first, when finished; empty before.
    pub standings: Vec<Standing>,
    /// The game that goes on from here, once there is one.
    pub rematch: Option<GameId>,
}

/// A player as others see them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PlayerView {
    /// Who.
    pub id: PlayerId,
    /// Their name.
    pub name: PlayerName,
    /// Their points.
    pub score: u32,
    /// For the waiting room.
    pub ready: bool,
    /// Whether they are here.
    pub connected: bool,
    /// How many connected players voted against them.
    pub kick_votes: u8,
}

/// The running turn.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TurnView {
    /// Which; it says the round too.
    pub id: TurnId,
    /// Who draws.
    pub drawer: PlayerId,
    /// `choosing`, `drawing` or `reveal`.
    pub phase: &'static str,
    /// How long until the phase is over; 0 when it is overdue.
    pub remaining_ms: u64,
    /// How long until time changes the room next; 0 when it is overdue.
    pub next_ms: u64,
    /// From drawing on: the answer's letters, [`CLOSED_LETTER`] for those that are not opened. All
    /// of them in reveal.
    pub mask: Option<String>,
    /// The solvers, in order.
    pub solvers: Vec<Solver>,
    /// For who knows it; in reveal for all.
    pub answer: Option<OptionView>,
    /// What the drawer may choose from; empty for others, and later.
    pub options: Vec<OptionView>,
    /// What the turn brought, in reveal; empty before.
    pub awards: Vec<Award>,
}

/// A word and its meaning.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OptionView {
    /// The word.
    pub word: Word,
    /// In English, for Japanese words of the built-in list.
    pub gloss: Option<&'static str>,
}

impl OptionView {
    fn new(word: &Word) -> Self {
        Self { word: word.clone(), gloss: words::gloss(word) }
    }
}

impl Game {
    /// The room as that one may see it; `None` is somebody without a seat.
    pub fn view(&self, viewer: Option<PlayerId>, now_ms: u64) -> View {
        let mut view = self.room.view(now_ms);
        let secret = self.secret.turn.as_ref();
        if let (Some(turn), Some(viewer), Some(secret)) = (&mut view.turn, viewer, secret)
            && self.room.knows_answer(viewer)
            && turn.id == secret.id
        {
            match &secret.answer {
                Some(answer) => turn.answer = Some(OptionView::new(&answer.word)),
                None => turn.options = secret.options.iter().map(OptionView::new).collect(),
            }
        }
        view
    }
}

impl Room {
    /// The room as anybody may see it.
    pub fn view(&self, now_ms: u64) -> View {
        let (status, rematch) = match self.stage {
            Stage::Waiting => ("waiting", None),
            Stage::Playing(_) => ("playing", None),
            Stage::Finished { rematch, .. } => ("finished", rematch),
        };
        let is_finished = matches!(self.stage, Stage::Finished { .. });
        View {
            id: self.id,
            version: self.version,
            status,
            public: self.public,
            settings: self.settings,
            custom_words: self.custom_words,
            host: self.host,
            players: self.player_views(),
            turn: self.playing().map(|playing| self.turn_view(playing, now_ms)),
            paused: self.playing().is_some_and(|playing| playing.paused_at_ms.is_some()),
            standings: if is_finished { standings(self) } else { vec![] },
            rematch,
        }
    }

    fn player_views(&self) -> Vec<PlayerView> {
        let view = |player: &super::Player| PlayerView {
            id: player.id,
            name: player.name.clone(),
            score: player.score,
            ready: player.ready,
            connected: player.is_connected(),
            kick_votes: u8::try_from(self.votes_against(player).0).unwrap_or(u8::MAX),
        };
        self.players.iter().map(view).collect()
    }

    fn turn_view(&self, playing: &Playing, now_ms: u64) -> TurnView {
        let Turn { id, drawer, deadline_ms, solvers, phase, .. } = &playing.turn;
        let clock_ms = self.clock_ms(now_ms.max(self.updated_at_ms));
        let until = |at_ms: u64| at_ms.saturating_sub(clock_ms);
        let (phase, mask, answer, awards) = match phase {
            Phase::Choosing => ("choosing", None, None, &[][..]),
            Phase::Drawing { mask, .. } => {
                let mask = mask.iter().map(|letter| letter.unwrap_or(CLOSED_LETTER)).collect();
                ("drawing", Some(mask), None, &[][..])
            }
            Phase::Reveal { answer, awards, .. } => {
                ("reveal", Some(answer.to_string()), Some(OptionView::new(answer)), &awards[..])
            }
        };
        TurnView {
            id: *id,
            drawer: *drawer,
            phase,
            remaining_ms: until(*deadline_ms),
            next_ms: until(self.next_at_ms().unwrap_or(*deadline_ms)),
            mask,
            solvers: solvers.clone(),
            answer,
            options: vec![],
            awards: awards.to_vec(),
        }
    }
}
