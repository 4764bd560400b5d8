//! Commands to a game, and their outcome.

use super::{Game, GameId, Language, LineId, PlayerId, PlayerName, Settings, Talk, TurnId, Word};

/// The sender of a command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Participant {
    /// A player who has a seat, had one, or is about to take one.
    Player(PlayerId),
    /// A connected person without a seat.
    Spectator(PlayerId, PlayerName),
}

/// A request to change a game.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Command {
    /// Takes a seat. A player who already has one keeps it unchanged.
    Join {
        /// The player's name.
        name: PlayerName,
    },
    /// A connection has opened.
    Connect,
    /// The connection has closed; the seat stays.
    Disconnect,
    /// Reports that the drawer, who is away, has drawn nothing.
    DrewNothing,
    /// Gives up the seat and its points.
    Leave,
    /// Changes the settings. Only the host may, while the game waits.
    Configure(Settings),
    /// Sets whether the player is ready, while the game waits.
    Ready(bool),
    /// Starts the game. Only the host may.
    Start,
    /// Chooses the word of a turn. Only the drawer may.
    Choose {
        /// The turn's id.
        turn: TurnId,
        /// The chosen word.
        choice: Choice,
    },
    /// Sends a chat line. It is a guess if the sender is guessing.
    Say {
        /// The line's id, chosen by the client.
        id: LineId,
        /// The text.
        text: Talk,
    },
    /// A client's message that the deadline is over.
    Tick {
        /// The version of the room that the client has.
        version: u64,
    },
    /// Ends a turn. Only the drawer may, and every player after the drawer has been away for
    /// [`super::DRAWER_AWAY_MS`].
    Skip {
        /// The turn's id.
        turn: TurnId,
    },
    /// Votes to remove another player.
    Kick {
        /// The other player.
        target: PlayerId,
    },
    /// Lets anybody with the link see the drawings of the finished game, or not. Only the host may.
    Share(bool),
    /// Asks for another game with the same settings.
    Rematch {
        /// The id for the new game, unless there already is a rematch.
        game: GameId,
    },
}

/// The word that a drawer chooses.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Choice {
    /// The index of an option, from 0.
    Option(u8),
    /// A word that the drawer typed.
    Word(Word),
}

/// The result of a command and of the time that has passed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CommandOutcome {
    /// The game now. Its room has a higher version if and only if the room changed. A changed room
    /// must be stored and shown to everybody.
    pub game: Game,
    /// The effects to carry out, in this order, after the room is stored.
    pub effects: Vec<Effect>,
    /// Why the command had no effect. The passing of time may have changed the game anyway.
    pub refusal: Option<Refusal>,
}

/// The recipients of a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Audience {
    /// Players and spectators.
    Everyone,
    /// Participants who know the answer of that turn: [`super::Room::knows_answer`]. A stored line
    /// keeps the turn for [`super::Room::may_read`].
    KnowsAnswer(TurnId),
    /// The sender of the command.
    Asker,
}

/// An action besides showing a changed room.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Effect {
    /// A chat line. It is stored, unless its audience is the asker alone.
    Chat {
        /// The line.
        line: Line,
        /// The recipients.
        audience: Audience,
    },
    /// Tells the asker that their guess is near the answer. Nobody else receives it.
    Near {
        /// The id of the asker's line.
        id: LineId,
        /// The text of the asker's line.
        text: Talk,
    },
    /// Tells the asker that the deadline is not over yet.
    Wait {
        /// The current version of the room.
        version: u64,
        /// The time to wait; `None` if time alone changes nothing.
        next_ms: Option<u64>,
    },
    /// Sends the room to the asker, because the asker has an old version.
    Show,
    /// The next game. Everybody is told if it is new; otherwise only the asker is told.
    Rematch {
        /// Its id.
        game: GameId,
        /// Whether the asker has just created it.
        new: bool,
    },
    /// Closes the connections of a participant.
    Disconnect {
        /// The participant's id.
        player: PlayerId,
        /// The reason.
        reason: DisconnectReason,
    },
}

/// The reason why a connection is closed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DisconnectReason {
    /// The participant left.
    Left,
    /// The player was voted out.
    Kicked,
}

/// A line of the chat.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Line {
    /// Its id; a line of the system has a version 7 UUID.
    pub id: LineId,
    /// The author, or the player that a line of the system is about.
    pub player: PlayerId,
    /// That player's name.
    pub name: PlayerName,
    /// The kind of line, with its text.
    pub kind: LineKind,
    /// When it was written.
    pub at_ms: u64,
    /// The turn in which it was written, if any.
    pub turn: Option<TurnId>,
}

/// The kind of a chat line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LineKind {
    /// A chat line that is not a guess.
    Talk(Talk),
    /// A wrong guess.
    Guess(Talk),
    /// A correct guess. The text is left out, because it would reveal the answer.
    Correct,
    /// An event about a player.
    System(SystemText),
}

/// An event about a player.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SystemText {
    /// The player took a seat.
    Joined,
    /// The player gave it up.
    Left,
    /// The player was voted out.
    Kicked,
    /// The player's turn was skipped.
    Skipped,
    /// The player is the host now.
    Host,
}

impl Line {
    /// A line of the system. Its id consists of the time, the text's number, one byte of the
    /// player's id, and the room's version, so the ids of a game's lines differ.
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
    /// The participant's id.
    pub fn id(&self) -> PlayerId {
        match self {
            Self::Player(id) | Self::Spectator(id, _) => *id,
        }
    }

    /// The id, if the participant is a player.
    pub fn player(&self) -> Option<PlayerId> {
        match self {
            Self::Player(id) => Some(*id),
            Self::Spectator(..) => None,
        }
    }
}

/// Why a command had no effect.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// The asker has no seat.
    #[error("you have no seat in this game")]
    NotSeated,
    /// All seats are taken.
    #[error("all {0} seats are taken")]
    GameFull(u16),
    /// There are already [`super::SPECTATORS_MAX`] spectators.
    #[error("the game already has {max} spectators", max = super::SPECTATORS_MAX)]
    TooManySpectators,
    /// The asker was voted out.
    #[error("you were voted out of this game")]
    Kicked,
    /// The game is over.
    #[error("the game is finished")]
    GameFinished,
    /// The game has already started.
    #[error("the game has begun")]
    NotWaiting,
    /// The game is not running.
    #[error("the game is not being played")]
    NotPlaying,
    /// The game is not over.
    #[error("the game is not finished")]
    NotFinished,
    /// Only the host may do it.
    #[error("only the host may do that")]
    NotHost,
    /// Only the drawer may do it.
    #[error("only the drawer may do that")]
    NotDrawer,
    /// Fewer than two players are connected.
    #[error("at least two players have to be connected")]
    TooFewPlayers,
    /// A connected player is not ready.
    #[error("not everybody is ready")]
    NotReady,
    /// Another turn is running now.
    #[error("that turn is not running")]
    WrongTurn,
    /// The word of the turn is already chosen.
    #[error("the word is already chosen")]
    WordChosen,
    /// The turn is over.
    #[error("the turn is over")]
    TurnOver,
    /// The option does not exist.
    #[error("there is no such word to choose")]
    NoSuchOption,
    /// Fewer seats than there are players.
    #[error("there are already {0} players")]
    TooFewSeats(u16),
    /// The game uses only its own words and has too few of them.
    #[error("a game that uses only its own words needs at least {min} of them", min = super::OPTIONS)]
    TooFewWords,
    /// A word in another language than the game's.
    #[error("the words of this game are {0}")]
    WrongLanguage(Language),
    /// Another language than that of the game's own words.
    #[error("the game's own words are {0}, so that is its language")]
    OwnWords(Language),
    /// The drawer is connected, or has been away for too short a time.
    #[error("the drawer has not been away for {seconds} seconds", seconds = super::DRAWER_AWAY_MS / 1000)]
    DrawerIsHere,
    /// The voter has had a seat for too short a time.
    #[error("you may vote once you have been seated for {seconds} seconds", seconds = super::VOTER_SEATED_MS / 1000)]
    TooNewToVote,
    /// A guess or chat line too soon after the last ones; the time to wait, in milliseconds.
    #[error("that was too fast: wait {seconds} s, and say it again", seconds = .0.div_ceil(1000))]
    TooFast(u64),
    /// A vote against oneself or against a player who is not in the game.
    #[error("there is no such other player")]
    NoSuchPlayer,
}

impl Refusal {
    /// The last part of the problem's type. It is stable, so programs may rely on it.
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
