//! The part of a game that everybody may see: players, stage, deadline. It holds no answer before
//! the reveal.
//!
//! Times are Unix milliseconds.

use super::{GameId, PlayerId, PlayerName, Settings, TurnId, Word};

/// The time a drawer has for choosing a word.
pub const CHOOSING_MS: u64 = 20_000;
/// The time for which the answer is shown.
pub const REVEAL_MS: u64 = 8_000;
/// The time a drawer has to be away before other players may skip the turn.
pub const DRAWER_AWAY_MS: u64 = 10_000;
/// The time after which a turn ends whose drawer went away before drawing anything.
pub const UNDRAWN_AWAY_MS: u64 = 20_000;
/// The time a host has to be away before another player becomes host of the waiting game.
pub const HOST_AWAY_MS: u64 = 30_000;
/// The time for which a seat is reserved for a player who has not connected yet. Later, another
/// player may take it if the game is full. It is the lifetime of the ticket that comes with the
/// seat.
pub const SEAT_HELD_MS: u64 = 60_000;
/// A game with fewer players does not start, and a running one finishes.
pub const PLAYERS_MIN: usize = 2;
/// The maximum number of spectators. Every message goes to each of them, so it bounds the fan-out.
pub const SPECTATORS_MAX: usize = 50;
/// The time for which a game is paused with all players away before it finishes.
pub const PAUSE_MS_MAX: u64 = 15 * 60_000;
/// The maximum number of turns in a round. It bounds the length of a game in which new players keep
/// joining.
pub const TURNS_PER_ROUND_MAX: u8 = 20;
/// The maximum number of kicked players that a room remembers; the oldest are dropped first.
pub const KICKED_MAX: usize = 10;
/// The time a player has to be seated before they may vote. Stops a group of fake players that
/// joins at once from removing the host.
pub const VOTER_SEATED_MS: u64 = 60_000;
/// The minimum number of votes that remove a player: one player alone removes nobody.
pub(super) const VOTES_MIN: usize = 2;
/// A turn ends after this many correct guesses, even if more players join. It bounds the number of
/// awards of a turn.
pub const SOLVERS_MAX: usize = 20;

/// A keyed hash of a client's address: the same address has the same tag.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct ClientTag(pub u32);

/// A game without its secrets.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Room {
    /// The game's id.
    pub id: GameId,
    /// Grows with every change. Every write has it as its condition (optimistic locking).
    pub version: u64,
    /// When the game was created.
    pub created_at_ms: u64,
    /// When the room last changed. A later change never has an earlier time.
    pub updated_at_ms: u64,
    /// Whether the lobby may list it.
    pub public: bool,
    /// Whether anybody with the link may see the drawings of the finished game.
    pub shared: bool,
    /// The rules chosen for the game.
    pub settings: Settings,
    /// The number of the game's own words.
    pub custom_words: u8,
    /// The player who may configure and start the game; one of `players`, unless that is empty.
    pub host: PlayerId,
    /// The players with a seat, in the order of joining.
    pub players: Vec<Player>,
    /// The players who were voted out and may not come back; at most [`KICKED_MAX`].
    pub kicked: Vec<PlayerId>,
    /// The addresses from which they played; no new player may join from there. At most
    /// [`KICKED_MAX`].
    pub kicked_from: Vec<ClientTag>,
    /// The state of the game.
    pub stage: Stage,
}

/// A player with a seat.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Player {
    /// The player's id.
    pub id: PlayerId,
    /// The name that others see; no other player of the game has it.
    pub name: PlayerName,
    /// The sum of the player's awards since they took the seat.
    pub score: u32,
    /// Whether the player is ready; used in the waiting room.
    pub ready: bool,
    /// When the player took the seat.
    pub joined_at_ms: u64,
    /// When the player's last connection was lost; `None` while connected. It equals `joined_at_ms`
    /// if the player has never connected.
    pub away_since_ms: Option<u64>,
    /// The last round in which the player drew; 0 for none.
    pub drew_in_round: u8,
    /// The players who voted to kick this player.
    pub kick_votes: Vec<PlayerId>,
    /// The address from which the player took the seat, if it is known.
    pub client: Option<ClientTag>,
}

/// The state of a game.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Stage {
    /// The game waits for players and for the host to start it.
    Waiting,
    /// A turn is running.
    Playing(Playing),
    /// The game is over and does not start again.
    Finished {
        /// When it finished.
        at_ms: u64,
        /// The next game, after a player asked for a rematch.
        rematch: Option<GameId>,
    },
}

/// The state of a running game.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Playing {
    /// When the round of this turn began.
    pub round_started_at_ms: u64,
    /// The running turn.
    pub turn: Turn,
    /// When the game was paused because all players were away; `None` while its clock runs.
    pub paused_at_ms: Option<u64>,
}

/// One player's turn to draw.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Turn {
    /// The turn's id.
    pub id: TurnId,
    /// The player who draws; they may have left the game since.
    pub drawer: PlayerId,
    /// When the drawer began to choose a word.
    pub started_at_ms: u64,
    /// When the phase is over, unless the game is paused.
    pub deadline_ms: u64,
    /// When the turn ends because its drawer is away and has drawn nothing.
    pub abandoned_at_ms: Option<u64>,
    /// The players who guessed the answer, in order; they may have left the game since.
    pub solvers: Vec<Solver>,
    /// The current phase.
    pub phase: Phase,
}

/// The phases of a turn, in order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Phase {
    /// The drawer chooses a word.
    Choosing,
    /// The drawer draws, and the others guess.
    Drawing {
        /// The answer's letters that hints have revealed; `None` for a hidden letter.
        mask: Vec<Option<char>>,
        /// The number of hints given so far.
        hints: u8,
    },
    /// Everybody sees the answer.
    Reveal {
        /// The word that was drawn.
        answer: Word,
        /// The points that the turn brought.
        awards: Vec<Award>,
        /// When the drawing ended.
        at_ms: u64,
    },
}

/// A player who guessed the answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Solver {
    /// The player's id.
    pub player: PlayerId,
    /// The points for the guess.
    pub points: u32,
}

/// Points that a turn brought to one player.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Award {
    /// The player's id.
    pub player: PlayerId,
    /// The number of points, never 0.
    pub points: u32,
    /// The reason for the points.
    pub reason: AwardReason,
}

/// The reason for an award.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AwardReason {
    /// The player guessed the answer.
    CorrectAnswer,
    /// The player drew it. The full amount is reduced for each connected player who did not guess.
    /// Rows and messages call it `drawer_penalty`, as the original design does.
    Drawing,
}

impl Player {
    /// Whether the player has a connection.
    pub fn is_connected(&self) -> bool {
        self.away_since_ms.is_none()
    }

    /// Whether the player has been away for at least `ms`.
    pub(super) fn is_away_for(&self, ms: u64, now_ms: u64) -> bool {
        self.away_since_ms.is_some_and(|since| now_ms.saturating_sub(since) >= ms)
    }
}

impl Phase {
    /// Whether the answer is still secret: while choosing (the options) and while drawing.
    pub fn is_secret(&self) -> bool {
        !matches!(self, Self::Reveal { .. })
    }
}

impl Room {
    /// The seat of a player.
    pub fn player(&self, id: PlayerId) -> Option<&Player> {
        self.players.iter().find(|player| player.id == id)
    }

    /// Whether the game waits and no seated player has connected yet.
    pub fn is_unvisited(&self) -> bool {
        matches!(self.stage, Stage::Waiting) && self.players.iter().all(Player::has_never_come)
    }

    /// Whether the lobby lists it: it is public, it waits, and at least one player is connected.
    pub fn is_listed(&self) -> bool {
        self.public && matches!(self.stage, Stage::Waiting) && self.players.iter().any(Player::is_connected)
    }

    /// The state of a running game; `None` before and after.
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

    /// Whether new players from this address are refused because a player from there was voted out.
    pub fn bars_client(&self, client: Option<ClientTag>) -> bool {
        client.is_some_and(|client| self.kicked_from.contains(&client))
    }

    /// Stores the address from which a player took the seat.
    pub fn remember_client(&mut self, player: PlayerId, client: Option<ClientTag>) {
        if let Some(seat) = self.players.iter_mut().find(|seat| seat.id == player) {
            seat.client = client;
        }
    }

    /// The name, with a number behind it if another player has it.
    pub(super) fn distinct_name(&self, name: PlayerName) -> PlayerName {
        let is_free = |name: &PlayerName| !self.players.iter().any(|player| player.name.looks_like(name));
        let numbered = (2..=self.players.len() + 1).map(|number| name.numbered(number));
        std::iter::once(name.clone()).chain(numbered).find(is_free).unwrap_or(name)
    }

    /// The number of votes against a player, and the number of possible votes. Only connected
    /// players count. Players who share an address have one vote together, because they may be one
    /// person; this does not apply to the target's own address.
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

    /// Whether a player knows the secret of the turn: the drawer, and the players who have guessed
    /// it.
    pub fn knows_answer(&self, id: PlayerId) -> bool {
        self.turn().is_some_and(|turn| {
            turn.phase.is_secret() && (turn.drawer == id || turn.solvers.iter().any(|solver| solver.player == id))
        })
    }

    /// Whether a chat line of this player is a guess now.
    pub fn is_guessing(&self, id: PlayerId) -> bool {
        let is_drawing = self.turn().is_some_and(|turn| matches!(turn.phase, Phase::Drawing { .. }));
        is_drawing && !self.knows_answer(id)
    }

    /// Whether `reader` may read a stored chat line; `None` is a reader without a seat. `turn` is
    /// set on a line for participants who knew the answer of that turn; a line without it is for
    /// everybody.
    pub fn may_read(&self, reader: Option<PlayerId>, turn: Option<TurnId>) -> bool {
        match (turn, self.turn()) {
            (Some(turn), Some(running)) if turn >= running.id && running.phase.is_secret() => {
                turn == running.id && reader.is_some_and(|reader| self.knows_answer(reader))
            }
            _ => true,
        }
    }

    /// Whether to relay a batch of the drawing from this player: only the drawer's, before the
    /// deadline. The room may be an old version, so the time is checked as well.
    pub fn may_draw(&self, player: PlayerId, turn: TurnId, now_ms: u64) -> bool {
        self.turn().is_some_and(|running| {
            running.id == turn
                && running.drawer == player
                && matches!(running.phase, Phase::Drawing { .. })
                && now_ms < running.deadline_ms
        })
    }

    /// Whether to tell everybody what this player or spectator thinks of the drawing: anyone but the
    /// drawer, from its beginning to the end of its turn.
    pub fn may_react(&self, who: PlayerId, turn: TurnId) -> bool {
        self.turn().is_some_and(|running| {
            running.id == turn && running.drawer != who && !matches!(running.phase, Phase::Choosing)
        })
    }

    /// Whether to store a chunk of the drawing for this player: only the drawer's, until the reveal
    /// is over.
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

    /// Whether somebody without a player token may see the drawings.
    pub fn is_shared(&self) -> bool {
        self.shared && matches!(self.stage, Stage::Finished { .. })
    }

    /// Whether players and spectators may see the drawing of a turn: after its drawing has begun.
    pub fn may_see_drawing(&self, turn: TurnId) -> bool {
        match &self.stage {
            Stage::Waiting => false,
            Stage::Playing(Playing { turn: running, .. }) => {
                turn < running.id || turn == running.id && !matches!(running.phase, Phase::Choosing)
            }
            Stage::Finished { .. } => true,
        }
    }

    /// Whether the drawing of a turn may be replayed with its answer: from the reveal on.
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
