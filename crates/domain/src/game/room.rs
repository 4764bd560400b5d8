//! The part of a game that anybody may see: who plays, whose turn it is, until when. It holds no
//! answer before the reveal.
//!
//! Times are milliseconds since 1970-01-01T00:00:00Z.

use super::{GameId, PlayerId, PlayerName, Settings, TurnId, Word};

/// How long a drawer has for choosing a word.
pub const CHOOSING_MS: u64 = 20_000;
/// How long the answer is shown.
pub const REVEAL_MS: u64 = 8_000;
/// How long a drawer has to be away before others may skip the turn.
pub const DRAWER_AWAY_MS: u64 = 10_000;
/// How long a host has to be away before a waiting game gets another one.
pub const HOST_AWAY_MS: u64 = 30_000;
/// How long a seat is kept for a player who never connected, when others want one: as long as its
/// ticket is valid.
pub const SEAT_HELD_MS: u64 = 60_000;
/// With fewer players a game does not start, and does not go on.
pub const PLAYERS_MIN: usize = 2;
/// The most spectators. Each stroke and line is sent to all of them.
pub const SPECTATORS_MAX: usize = 50;
/// How long a game stands still with everybody away before it is finished.
pub const PAUSE_MS_MAX: u64 = 15 * 60_000;
/// A round ends after this many turns, even if players who joined meanwhile have not drawn.
/// Otherwise a game might never end.
pub const TURNS_PER_ROUND_MAX: u8 = 20;
/// How many kicked players a room remembers. The oldest are forgotten first.
pub const KICKED_MAX: usize = 10;
/// How long somebody has to have a seat before they may vote. Stops puppets that come together from
/// ousting a host at once.
pub const VOTER_SEATED_MS: u64 = 60_000;
/// With so many votes at least somebody is out: one player alone ousts nobody.
pub(super) const VOTES_MIN: usize = 2;
/// A turn in which so many have guessed is over, though people came and went; so what a turn brings
/// has an end.
pub const SOLVERS_MAX: usize = 20;

/// Where a player's client is, as far as a game needs to know: the same address has the same tag.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct ClientTag(pub u32);

/// A game without its secrets.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Room {
    /// Which game.
    pub id: GameId,
    /// Grows with every change; the condition of every write.
    pub version: u64,
    /// When the game was made.
    pub created_at_ms: u64,
    /// When it changed last; time never goes back behind it.
    pub updated_at_ms: u64,
    /// Whether strangers find it in the lobby.
    pub public: bool,
    /// How it is played.
    pub settings: Settings,
    /// How many words of its own it has.
    pub custom_words: u8,
    /// The player who may configure and start the game. One of `players`, if there are any.
    pub host: PlayerId,
    /// The seated players, in the order of joining.
    pub players: Vec<Player>,
    /// The players who were voted out and may not return; at most [`KICKED_MAX`].
    pub kicked: Vec<PlayerId>,
    /// The clients of the kicked players. No new player may join from these clients. At most
    /// [`KICKED_MAX`].
    pub kicked_from: Vec<ClientTag>,
    /// How far it is.
    pub stage: Stage,
}

/// Somebody with a seat.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Player {
    /// Who.
    pub id: PlayerId,
    /// As others see them; two may have the same one.
    pub name: PlayerName,
    /// The sum of their awards since they took the seat.
    pub score: u32,
    /// Whether they said so; for the waiting room.
    pub ready: bool,
    /// When they took the seat.
    pub joined_at_ms: u64,
    /// When the connection ended; `None` while connected. `joined_at_ms` if the player never
    /// connected.
    pub away_since_ms: Option<u64>,
    /// The last round in which they drew, 0 for none.
    pub drew_in_round: u8,
    /// The players who voted against them.
    pub kick_votes: Vec<PlayerId>,
    /// From where they took the seat, if that is known.
    pub client: Option<ClientTag>,
}

/// How far a game is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Stage {
    /// For players, and for the host to start.
    Waiting,
    /// Turn by turn.
    Playing(Playing),
    /// For good.
    Finished {
        /// When.
        at_ms: u64,
        /// The game that goes on from here, once somebody asked for one.
        rematch: Option<GameId>,
    },
}

/// What a running game has on top.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Playing {
    /// When the round of this turn began.
    pub round_started_at_ms: u64,
    /// The turn.
    pub turn: Turn,
    /// Since when everybody is away and the clock stands.
    pub paused_at_ms: Option<u64>,
}

/// One player's turn to draw.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Turn {
    /// Which.
    pub id: TurnId,
    /// Who draws; they may have left the game since.
    pub drawer: PlayerId,
    /// When the drawer was asked to choose.
    pub started_at_ms: u64,
    /// When the phase is over, unless the clock stands.
    pub deadline_ms: u64,
    /// Who guessed the answer, in order; they may have left the game since.
    pub solvers: Vec<Solver>,
    /// What happens now.
    pub phase: Phase,
}

/// What happens in a turn, in this order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Phase {
    /// The drawer chooses a word.
    Choosing,
    /// The drawer draws it.
    Drawing {
        /// The answer's letters that hints have opened, `None` for a closed one.
        mask: Vec<Option<char>>,
        /// How many times hints have been opened.
        hints: u8,
    },
    /// Everybody sees the answer.
    Reveal {
        /// The word that was drawn.
        answer: Word,
        /// What the turn brought to whom.
        awards: Vec<Award>,
        /// When the drawing ended.
        at_ms: u64,
    },
}

/// Somebody who guessed the answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Solver {
    /// Who.
    pub player: PlayerId,
    /// The points.
    pub points: u32,
}

/// Points, and for what.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Award {
    /// Whose.
    pub player: PlayerId,
    /// How many, never 0.
    pub points: u32,
    /// For what.
    pub reason: AwardReason,
}

/// What points are given for. The names are those of the original design.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AwardReason {
    /// They guessed the answer.
    CorrectAnswer,
    /// For the drawing: the full amount less a penalty for each player who did not guess it.
    DrawerPenalty,
}

impl Player {
    /// Whether they have a connection.
    pub fn is_connected(&self) -> bool {
        self.away_since_ms.is_none()
    }

    /// Whether they have been away for that long.
    pub(super) fn is_away_for(&self, ms: u64, now_ms: u64) -> bool {
        self.away_since_ms.is_some_and(|since| now_ms.saturating_sub(since) >= ms)
    }
}

impl Phase {
    /// Whether the answer is known to those in the know alone: in choosing (the options) and
    /// drawing.
    pub fn is_secret(&self) -> bool {
        !matches!(self, Self::Reveal { .. })
    }
}

impl Room {
    /// The seat of that player.
    pub fn player(&self, id: PlayerId) -> Option<&Player> {
        self.players.iter().find(|player| player.id == id)
    }

    /// Whether the game waits and none of its seated players has connected yet.
    pub fn is_unvisited(&self) -> bool {
        matches!(self.stage, Stage::Waiting) && self.players.iter().all(Player::has_never_come)
    }

    /// Whether strangers find it: it is public, it waits, and somebody is there to play with.
    pub fn is_listed(&self) -> bool {
        self.public && matches!(self.stage, Stage::Waiting) && self.players.iter().any(Player::is_connected)
    }

    /// What a running game has; `None` before and after.
    pub fn playing(&self) -> Option<&Playing> {
        match &self.stage {
            Stage::Playing(playing) => Some(playing),
            Stage::Waiting | Stage::Finished { .. } => None,
        }
    }

    /// The running turn.
    pub fn turn(&self) -> Option<&Turn> {
        self.playing().map(|playing| &playing.turn)
    }

    /// Whether somebody new may not come from there, because a player from there was voted out.
    pub fn bars_client(&self, client: Option<ClientTag>) -> bool {
        client.is_some_and(|client| self.kicked_from.contains(&client))
    }

    /// Notes from where a player took their seat.
    pub fn remember_client(&mut self, player: PlayerId, client: Option<ClientTag>) {
        if let Some(seat) = self.players.iter_mut().find(|seat| seat.id == player) {
            seat.client = client;
        }
    }

    /// The votes against a player, and the possible votes. A disconnected player has no vote.
    /// Several players at one address, other than the target's, have one vote together, because
    /// they may be one person.
    pub(super) fn votes_against(&self, target: &Player) -> (usize, usize) {
        let count = |voters: &[&Player]| {
            let is_first = |index: usize, voter: &Player| {
                voter.client.is_none()
                    || voter.client == target.client
                    || !voters[..index].iter().any(|other| other.client == voter.client)
            };
            voters.iter().enumerate().filter(|(index, voter)| is_first(*index, voter)).count()
        };
        let is_other = |player: &&Player| player.is_connected() && player.id != target.id;
        let others: Vec<_> = self.players.iter().filter(is_other).collect();
        let voters: Vec<_> = others.iter().copied().filter(|other| target.kick_votes.contains(&other.id)).collect();
        (count(&voters), count(&others))
    }

    /// Whether the player knows the answer: as the drawer, or after a right guess.
    pub fn knows_answer(&self, id: PlayerId) -> bool {
        self.turn().is_some_and(|turn| {
            turn.phase.is_secret() && (turn.drawer == id || turn.solvers.iter().any(|solver| solver.player == id))
        })
    }

    /// Whether what that one says now is a guess.
    pub fn is_guessing(&self, id: PlayerId) -> bool {
        let is_drawing = self.turn().is_some_and(|turn| matches!(turn.phase, Phase::Drawing { .. }));
        is_drawing && !self.knows_answer(id)
    }

    /// Whether a stored line of the chat may be read by that one (`None`: somebody without a seat).
    /// `turn` is the turn of a line that was for those in the know; a line without is for
    /// everybody.
    pub fn may_read(&self, reader: Option<PlayerId>, turn: Option<TurnId>) -> bool {
        match (turn, self.turn()) {
            (Some(turn), Some(running)) if turn >= running.id && running.phase.is_secret() => {
                turn == running.id && reader.is_some_and(|reader| self.knows_answer(reader))
            }
            _ => true,
        }
    }

    /// Whether a batch of the drawing is taken from that one: the drawer, while the drawing's time
    /// runs. The room may be an older one; the time decides.
    pub fn may_draw(&self, player: PlayerId, turn: TurnId, now_ms: u64) -> bool {
        self.turn().is_some_and(|running| {
            running.id == turn
                && running.drawer == player
                && matches!(running.phase, Phase::Drawing { .. })
                && now_ms < running.deadline_ms
        })
    }

    /// Whether a chunk of the drawing is stored for that one: the drawer, until the reveal is over.
    pub fn may_save(&self, player: PlayerId, turn: TurnId, now_ms: u64) -> bool {
        self.turn().is_some_and(|running| {
            let until_ms = match running.phase {
                Phase::Choosing => return false,
                Phase::Drawing { .. } => running.deadline_ms + REVEAL_MS,
                Phase::Reveal { .. } => running.deadline_ms,
            };
            running.id == turn && running.drawer == player && now_ms < until_ms
        })
    }

    /// Whether the drawing of that turn is there to be seen, by players and spectators alike: once
    /// it has been begun.
    pub fn may_see_drawing(&self, turn: TurnId) -> bool {
        match &self.stage {
            Stage::Waiting => false,
            Stage::Playing(Playing { turn: running, .. }) => {
                turn < running.id || turn == running.id && !matches!(running.phase, Phase::Choosing)
            }
            Stage::Finished { .. } => true,
        }
    }

    /// Whether the drawing of that turn may be replayed with its answer: from the reveal on.
    pub fn may_replay(&self, turn: TurnId) -> bool {
        match &self.stage {
            Stage::Waiting => false,
            Stage::Playing(Playing { turn: running, .. }) => {
                turn < running.id || turn == running.id && !running.phase.is_secret()
            }
            Stage::Finished { .. } => true,
        }
    }
}
