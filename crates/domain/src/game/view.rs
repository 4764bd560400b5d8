//! The view of a game that a participant may see.
//!
//! [`Room::view`] has no access to the secret, so it cannot leak it. [`Game::view`] adds the
//! options for the drawer, and the answer for participants who know it.

use super::room::{Award, Phase, Playing, Room, Solver, Stage, Turn};
use super::scoring::{Standing, standings};
use super::{CLOSED_LETTER, Game, GameId, PlayerId, PlayerName, Settings, TurnId, Word, words};

/// A room as one participant sees it. `docs/protocol.md` describes its JSON form.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct View {
    /// The game's id.
    pub id: GameId,
    /// The version of the room.
    pub version: u64,
    /// `waiting`, `playing` or `finished`.
    pub status: &'static str,
    /// Whether the lobby may list it.
    pub public: bool,
    /// Whether anybody may see the drawings.
    pub shared: bool,
    /// The rules chosen for the game.
    pub settings: Settings,
    /// The number of the game's own words.
    pub custom_words: u8,
    /// The player who may configure and start the game.
    pub host: PlayerId,
    /// The players in the order of joining.
    pub players: Vec<PlayerView>,
    /// The running turn; `None` before and after.
    pub turn: Option<TurnView>,
    /// Whether the game is paused because all players are away.
    pub paused: bool,
    /// The standings, best first; empty before the game is finished.
    pub standings: Vec<Standing>,
    /// The next game, if there is a rematch.
    pub rematch: Option<GameId>,
}

/// A player as others see them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PlayerView {
    /// The player's id.
    pub id: PlayerId,
    /// The player's name.
    pub name: PlayerName,
    /// The player's points.
    pub score: u32,
    /// Whether the player is ready; used in the waiting room.
    pub ready: bool,
    /// Whether the player is connected.
    pub connected: bool,
    /// The number of votes against the player; several voters at one address may count as one.
    pub kick_votes: u8,
}

/// The running turn.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TurnView {
    /// The turn's id, with its round.
    pub id: TurnId,
    /// The player who draws.
    pub drawer: PlayerId,
    /// `choosing`, `drawing` or `reveal`.
    pub phase: &'static str,
    /// The time until the phase is over; 0 when it is overdue.
    pub remaining_ms: u64,
    /// The time until the room changes next by itself; 0 when it is overdue.
    pub next_ms: u64,
    /// The answer's letters, with [`CLOSED_LETTER`] for each letter that is not open; all letters
    /// in the reveal. `None` while the drawer chooses.
    pub mask: Option<String>,
    /// The players who guessed the answer, in order.
    pub solvers: Vec<Solver>,
    /// The answer: for participants who know it, and for everybody in the reveal.
    pub answer: Option<OptionView>,
    /// The words that the drawer may choose from; empty for others and in later phases.
    pub options: Vec<OptionView>,
    /// The awards of the turn in the reveal; empty before.
    pub awards: Vec<Award>,
}

/// A word and its meaning.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OptionView {
    /// The word.
    pub word: Word,
    /// The meaning in English, for Japanese words of the built-in list.
    pub gloss: Option<&'static str>,
}

impl OptionView {
    fn new(word: &Word) -> Self {
        Self { word: word.clone(), gloss: words::gloss(word) }
    }
}

impl Game {
    /// The room as one participant may see it; `None` is a viewer without a seat.
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
    /// The room as everybody may see it.
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
            shared: self.is_shared(),
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
