//! How a command changes a game.

use std::collections::HashSet;
use std::sync::Arc;

use super::command::{Command, CommandOutcome, DisconnectReason, Effect, Participant, Refusal, SystemText};
use super::room::{Phase, Player, Room, Stage, Turn};
use super::secret::Secret;
use super::settings::{OPTIONS, Settings, WordSource};
use super::{GameId, PlayerId, PlayerName, TurnId, Word};

/// A complete game: room, secret and words.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Game {
    /// The part that everybody may see.
    pub room: Room,
    /// The part that nobody may see whole.
    pub secret: Secret,
    /// The game's own words; they never change. A new turn needs them if the game uses them.
    pub words: Arc<[Word]>,
}

/// The parameters of a new game.
#[derive(Debug, Clone)]
pub struct NewGame {
    /// A new id.
    pub id: GameId,
    /// The player who creates the game and takes the first seat.
    pub host: PlayerId,
    /// The host's name.
    pub name: PlayerName,
    /// The rules chosen for the game.
    pub settings: Settings,
    /// Whether the lobby may list it.
    pub public: bool,
    /// The game's own words, at most [`super::CUSTOM_WORDS_MAX`], in its language. Two spellings of
    /// the same word count as one.
    pub words: Arc<[Word]>,
    /// An unpredictable number; all random choices of the game derive from it.
    pub seed: u64,
}

/// Room and secret belong to different versions: another function wrote between the two reads. Read
/// again.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the room and its secret were read at different moments")]
pub struct TornRead;

impl Game {
    /// A waiting game. Its host has a seat and no connection yet.
    pub fn new(new: NewGame, now_ms: u64) -> Result<Self, Refusal> {
        let NewGame { id, host, name, settings, public, words, seed } = new;
        let mut seen = HashSet::new();
        let words: Arc<[_]> =
            words.iter().filter(|word| seen.insert(word.spelling(settings.language))).cloned().collect();
        if words.iter().any(|word| !word.suits(settings.language)) {
            return Err(Refusal::WrongLanguage(settings.language));
        }
        check_words(&settings, words.len())?;
        let room = Room {
            id,
            version: 1,
            created_at_ms: now_ms,
            updated_at_ms: now_ms,
            public,
            shared: false,
            settings,
            custom_words: u8::try_from(words.len()).unwrap_or(u8::MAX),
            host,
            players: vec![Player::new(host, name, now_ms)],
            kicked: vec![],
            kicked_from: vec![],
            stage: Stage::Waiting,
        };
        Ok(Self { room, secret: Secret::new(seed), words })
    }

    /// Combines the parts that were read from the table, if they belong to the same version.
    pub fn assemble(room: Room, secret: Secret, words: Arc<[Word]>) -> Result<Self, TornRead> {
        let belongs = room.turn().is_none_or(|turn| {
            let chosen =
                secret.turn.as_ref().filter(|hidden| hidden.id == turn.id).map(|hidden| hidden.answer.is_some());
            chosen == Some(!matches!(turn.phase, Phase::Choosing))
        });
        belongs.then_some(Self { room, secret, words }).ok_or(TornRead)
    }

    /// A new game with the same settings and words. The player who asked for it is the host.
    pub fn rematch(&self, id: GameId, host: PlayerId, seed: u64, now_ms: u64) -> Result<Self, Refusal> {
        let Room { settings, public, .. } = self.room;
        let seat = self.room.player(host).ok_or(Refusal::NotSeated)?;
        let (name, client) = (seat.name.clone(), seat.client);
        let mut next =
            Self::new(NewGame { id, host, name, settings, public, words: self.words.clone(), seed }, now_ms)?;
        next.room.remember_client(host, client);
        Ok(next)
    }

    /// The game after all changes that are due by now. A time before the room's last change counts
    /// as the time of that change.
    pub fn advance_to(&self, now_ms: u64) -> CommandOutcome {
        let mut game = self.clone();
        let mut effects = vec![];
        game.pass_time(now_ms.max(self.room.updated_at_ms), &mut effects);
        CommandOutcome { game, effects, refusal: None }
    }

    /// Advances the game to now, then carries out the command or refuses it.
    pub fn apply(&self, who: &Participant, command: Command, now_ms: u64) -> CommandOutcome {
        let now_ms = now_ms.max(self.room.updated_at_ms);
        let CommandOutcome { game, mut effects, .. } = self.advance_to(now_ms);
        let has_moved = game.room.version != self.room.version;
        let mut asked = Asked { game: game.clone(), effects: vec![], now_ms, has_moved };
        match asked.run(who, command) {
            Ok(()) => {
                let Asked { game: mut after, effects: more, .. } = asked;
                effects.extend(more);
                if after.room != game.room {
                    after.touch(now_ms);
                    // A player's return resumes a paused game, so a deadline may now be over.
                    after.pass_time(now_ms, &mut effects);
                }
                CommandOutcome { game: after, effects, refusal: None }
            }
            Err(refusal) => CommandOutcome { game, effects, refusal: Some(refusal) },
        }
    }
}

/// Checks that a game has enough words of its own for its settings.
pub(super) fn check_words(settings: &Settings, own: usize) -> Result<(), Refusal> {
    let enough = settings.words != WordSource::Custom || own >= OPTIONS;
    enough.then_some(()).ok_or(Refusal::TooFewWords)
}

/// A command in progress on a game that was advanced to now.
pub(super) struct Asked {
    pub(super) game: Game,
    pub(super) effects: Vec<Effect>,
    pub(super) now_ms: u64,
    /// Whether the passing of time changed the room before the command.
    pub(super) has_moved: bool,
}

impl Asked {
    fn run(&mut self, who: &Participant, command: Command) -> Result<(), Refusal> {
        match (who, command) {
            (_, Command::Say { id, text }) => self.say(who, id, text),
            (_, Command::Tick { version }) => self.tick(version),
            // A spectator's connection changes nothing in the room.
            (Participant::Spectator(..), Command::Connect | Command::Disconnect | Command::DrewNothing) => Ok(()),
            (Participant::Spectator(id, _), Command::Leave) => self.disconnect_player(*id, DisconnectReason::Left),
            (Participant::Spectator(..), _) => Err(Refusal::NotSeated),
            (Participant::Player(me), Command::Join { name }) => self.join(*me, name),
            (Participant::Player(me), Command::Connect) => self.connect(*me),
            (Participant::Player(me), Command::Disconnect) => self.disconnect(*me),
            (Participant::Player(me), Command::DrewNothing) => self.drew_nothing(*me),
            (Participant::Player(me), Command::Leave) => self.leave(*me),
            (Participant::Player(me), Command::Configure(settings)) => self.configure(*me, settings),
            (Participant::Player(me), Command::Ready(ready)) => self.ready(*me, ready),
            (Participant::Player(me), Command::Start) => self.start(*me),
            (Participant::Player(me), Command::Choose { turn, choice }) => self.choose(*me, turn, choice),
            (Participant::Player(me), Command::Skip { turn }) => self.skip(*me, turn),
            (Participant::Player(me), Command::Kick { target }) => self.kick(*me, target),
            (Participant::Player(me), Command::Share(shared)) => self.share(*me, shared),
            (Participant::Player(me), Command::Rematch { game }) => self.rematch(*me, game),
        }
    }

    /// The seat of the player who sent the command.
    pub(super) fn seat(&mut self, me: PlayerId) -> Result<&mut Player, Refusal> {
        if self.game.room.kicked.contains(&me) {
            return Err(Refusal::Kicked);
        }
        self.game.room.players.iter_mut().find(|player| player.id == me).ok_or(Refusal::NotSeated)
    }

    /// Checks that the game waits.
    pub(super) fn waiting(&self) -> Result<(), Refusal> {
        match self.game.room.stage {
            Stage::Waiting => Ok(()),
            Stage::Playing(_) => Err(Refusal::NotWaiting),
            Stage::Finished { .. } => Err(Refusal::GameFinished),
        }
    }

    /// The running turn, if it has this id.
    pub(super) fn turn(&mut self, id: TurnId) -> Result<&mut Turn, Refusal> {
        match &mut self.game.room.stage {
            Stage::Waiting => Err(Refusal::NotPlaying),
            Stage::Finished { .. } => Err(Refusal::GameFinished),
            Stage::Playing(playing) if playing.turn.id == id => Ok(&mut playing.turn),
            Stage::Playing(_) => Err(Refusal::WrongTurn),
        }
    }

    /// Adds a line of the system about a seated player.
    pub(super) fn tell(&mut self, text: SystemText, about: PlayerId) {
        self.game.tell(text, about, self.now_ms, &mut self.effects);
    }
}
