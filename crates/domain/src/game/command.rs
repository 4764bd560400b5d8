//! The commands of a game, and their results.

use super::{Game, GameId, Language, LineId, PlayerId, PlayerName, Settings, Talk, TurnId, Word};

/// Who asks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Participant {
    /// A player who has a seat, had one, or is about to take one.
    Player(PlayerId),
    /// Somebody who looks on.
    Spectator(PlayerId, PlayerName),
}

/// The command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Command {
    /// Take a seat. A player who has a seat keeps it unchanged.
    Join {
        /// What to be called.
        name: PlayerName,
    },
    /// A connection has opened.
    Connect,
    /// The connection is gone; the seat stays.
    Disconnect,
    /// To give up the seat, and its points with it.
    Leave,
    /// Other settings. The host's, while waiting.
    Configure(Settings),
    /// Ready or not, while waiting.
    Ready(bool),
    /// To begin. The host's.
    Start,
    /// The word of a turn. The drawer's.
    Choose {
        /// Which turn's.
        turn: TurnId,
        /// Which word.
        choice: Choice,
    },
    /// Something to say; a guess, when somebody guesses.
    Say {
        /// Of the line; the client's.
        id: LineId,
        /// What.
        text: Talk,
    },
    /// The time that a client was told to wait is over.
    Tick {
        /// Of the room that it has.
        version: u64,
    },
    /// To end a turn. The drawer's, and everybody's once the drawer is away for
    /// [`super::DRAWER_AWAY_MS`].
    Skip {
        /// Which turn.
        turn: TurnId,
    },
    /// A vote against another player.
    Kick {
        /// Against whom.
        target: PlayerId,
    },
    /// Another game of the same kind.
    Rematch {
        /// Its id, if it is not there yet.
        game: GameId,
    },
}

/// A drawer's word.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Choice {
    /// One of the options, from 0.
    Option(u8),
    /// A word of their own.
    Word(Word),
}

/// What a command and the passing of time have brought.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CommandOutcome {
    /// The game now. Its room's version is higher than before exactly when the room has changed;
    /// then it is to be persisted, and shown to everybody.
    pub game: Game,
    /// The effects to store and broadcast after the room is persisted, in order.
    pub effects: Vec<Effect>,
    /// Why the command did nothing. Time may have moved the game on all the same.
    pub refusal: Option<Refusal>,
}

/// The audience of a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Audience {
    /// Players and spectators.
    Everyone,
    /// Who knows the answer of that turn: [`super::Room::knows_answer`]. A stored line keeps the
    /// turn, for [`super::Room::may_read`].
    KnowsAnswer(TurnId),
    /// Who asked.
    Asker,
}

/// Something to do besides showing a changed room.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Effect {
    /// A line of the chat. It is stored, unless it is the asker's alone.
    Chat {
        /// The line.
        line: Line,
        /// For whom.
        audience: Audience,
    },
    /// To the asker: their guess is near the answer. Nobody else reads it.
    Near {
        /// Of their line.
        id: LineId,
        /// The text.
        text: Talk,
    },
    /// To the asker: it is too early to tick.
    Wait {
        /// Of the room now.
        version: u64,
        /// How long to wait; `None`: time brings nothing.
        next_ms: Option<u64>,
    },
    /// To the asker: the room, for theirs is an old one.
    Show,
    /// The game that goes on from this one. To everyone when it is new, to the asker when it was
    /// there.
    Rematch {
        /// Which.
        game: GameId,
        /// Whether the asker has just made it.
        new: bool,
    },
    /// Somebody's connection is to be ended.
    Disconnect {
        /// Whose.
        player: PlayerId,
        /// Why.
        reason: DisconnectReason,
    },
}

/// Why a connection ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DisconnectReason {
    /// They left.
    Left,
    /// They were voted out.
    Kicked,
}

/// A line of the chat.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Line {
    /// Its id; a version 7 UUID for the system's.
    pub id: LineId,
    /// Who says it, or whom a system's line is about.
    pub player: PlayerId,
    /// Their name.
    pub name: PlayerName,
    /// What kind of line, and its text.
    pub kind: LineKind,
    /// When.
    pub at_ms: u64,
    /// During which turn, if any.
    pub turn: Option<TurnId>,
}

/// What a line is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LineKind {
    /// Talk.
    Talk(Talk),
    /// A wrong guess.
    Guess(Talk),
    /// The right one; its text is nobody's business yet.
    Correct,
    /// Something that happened to somebody.
    System(SystemText),
}

/// What happened.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SystemText {
    /// They took a seat.
    Joined,
    /// They gave it up.
    Left,
    /// They were voted out.
    Kicked,
    /// Their turn was skipped.
    Skipped,
    /// They are the host now.
    Host,
}

impl Line {
    /// A line of the system. Its id is made of the time and the room's version, which no other line
    /// of the game has together.
    pub(super) fn system(
        text: SystemText,
        (player, name): (PlayerId, PlayerName),
        at_ms: u64,
        version: u64,
        turn: Option<TurnId>,
    ) -> Self {
        let mut bytes = [0; 10];
        bytes[0] = text as u8;
        bytes[1] = player.0.as_bytes()[15];
        bytes[2..].copy_from_slice(&version.to_be_bytes());
        let id = LineId(uuid::Builder::from_unix_timestamp_millis(at_ms, &bytes).into_uuid());
        Self { id, player, name, kind: LineKind::System(text), at_ms, turn }
    }
}

impl Participant {
    /// Who, whatever their role.
    pub fn id(&self) -> PlayerId {
        match self {
            Self::Player(id) | Self::Spectator(id, _) => *id,
        }
    }

    /// Whose seat it would be.
    pub fn player(&self) -> Option<PlayerId> {
        match self {
            Self::Player(id) => Some(*id),
            Self::Spectator(..) => None,
        }
    }
}

/// Why a command did nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// The asker has no seat.
    #[error("you have no seat in this game")]
    NotSeated,
    /// All seats are taken.
    #[error("all {0} seats are taken")]
    GameFull(u16),
    /// So many look on that there is no place for another one.
    #[error("{max} look on already", max = super::SPECTATORS_MAX)]
    TooManySpectators,
    /// The asker was voted out.
    #[error("you were voted out of this game")]
    Kicked,
    /// It is over.
    #[error("the game is finished")]
    GameFinished,
    /// It has begun.
    #[error("the game has begun")]
    NotWaiting,
    /// It has not begun.
    #[error("the game is not being played")]
    NotPlaying,
    /// It is not over.
    #[error("the game is not finished")]
    NotFinished,
    /// Only the host may.
    #[error("only the host may do that")]
    NotHost,
    /// Only the drawer may.
    #[error("only who draws may do that")]
    NotDrawer,
    /// Fewer than two are connected.
    #[error("at least two players have to be connected")]
    TooFewPlayers,
    /// A connected player is not ready.
    #[error("not everybody is ready")]
    NotReady,
    /// Another turn is running.
    #[error("that turn is not running")]
    WrongTurn,
    /// The turn is past choosing.
    #[error("the word has been chosen")]
    WordChosen,
    /// The turn is over.
    #[error("the turn is over")]
    TurnOver,
    /// There is no such option.
    #[error("there is no such word to choose")]
    NoSuchOption,
    /// Fewer seats than players.
    #[error("there are {0} players already")]
    TooFewSeats(u16),
    /// Words of its own, of which it has too few.
    #[error("a game with its own words alone needs at least {min}", min = super::OPTIONS)]
    TooFewWords,
    /// A word of another language than the game's.
    #[error("the words of this game are {0}")]
    WrongLanguage(Language),
    /// Another language for a game whose own words are in this one.
    #[error("the game's own words are {0}, so that is its language")]
    OwnWords(Language),
    /// The drawer is here.
    #[error("the drawer has not been away for {seconds} seconds", seconds = super::DRAWER_AWAY_MS / 1000)]
    DrawerIsHere,
    /// A vote of a player who has just taken a seat.
    #[error("you may vote once you have been seated for {seconds} seconds", seconds = super::VOTER_SEATED_MS / 1000)]
    TooNewToVote,
    /// A guess, or a spectator's line, too soon after the last ones.
    #[error("that was too fast: wait {seconds} s, and say it again", seconds = .0.div_ceil(1000))]
    TooFast(u64),
    /// A vote against nobody of this game, or oneself.
    #[error("there is no such other player")]
    NoSuchPlayer,
}

impl Refusal {
    /// The last part of the problem's type: stable, for programs.
    pub fn problem(self) -> &'static str {
        match self {
            Self::NotSeated => "not-seated",
            Self::GameFull(_) => "game-full",
            Self::TooManySpectators => "too-many-spectators",
            Self::Kicked => "kicked",
            Self::GameFinished => "game-finished",
            Self::NotWaiting => "game-started",
            Self::NotPlaying => "game-not-running",
            Self::NotFinished => "game-not-finished",
            Self::NotHost => "not-host",
            Self::NotDrawer => "not-drawer",
            Self::TooFewPlayers => "too-few-players",
            Self::NotReady => "not-ready",
            Self::WrongTurn => "wrong-turn",
            Self::WordChosen | Self::TurnOver => "wrong-phase",
            Self::NoSuchOption => "no-such-option",
            Self::TooFewSeats(_) | Self::OwnWords(_) => "invalid-settings",
            Self::TooFewWords => "invalid-words",
            Self::WrongLanguage(_) => "invalid-word",
            Self::DrawerIsHere => "drawer-is-here",
            Self::TooNewToVote => "too-new-to-vote",
            Self::TooFast(_) => "too-fast",
            Self::NoSuchPlayer => "no-such-player",
        }
    }
}
