//! A table for tests: a game, its clock, people with short names, and helpers for their commands.

use std::sync::Arc;

use domain::game::*;
use uuid::Uuid;

/// The time at which the games of the tests begin.
pub(crate) const START_MS: u64 = 1_760_000_000_000;

pub(crate) fn player(n: u8) -> PlayerId {
    PlayerId(Uuid::from_u128(0x0199_c0de_0000_7000_8000_0000_0000_0000 + u128::from(n)))
}

pub(crate) fn name(n: u8) -> PlayerName {
    PlayerName::new(&format!("p{n}")).expect("a name")
}

pub(crate) fn word(text: &str) -> Word {
    Word::read(text).expect("a word")
}

pub(crate) fn talk(text: &str) -> Talk {
    Talk::new(text).expect("talk")
}

/// A game and its current time.
#[derive(Debug, Clone)]
pub(crate) struct Table {
    pub game: Game,
    pub now_ms: u64,
    /// The effects of the last command.
    pub effects: Vec<Effect>,
    lines: u128,
}

impl Table {
    /// A waiting game whose host, player 0, has not connected.
    pub(crate) fn new(settings: Settings, words: &[Word]) -> Self {
        let new = NewGame {
            id: GameId(Uuid::from_u128(1)),
            host: player(0),
            name: name(0),
            settings,
            public: true,
            words: Arc::from(words),
            seed: 42,
        };
        let game = Game::new(new, START_MS).expect("a game");
        Self { game, now_ms: START_MS, effects: vec![], lines: 0 }
    }

    /// A game of connected players at its first turn: player 0 chooses.
    pub(crate) fn playing(players: u8) -> Self {
        let mut table = Self::new(Settings::default(), &[]);
        table.seat(players);
        table.does(0, Command::Start);
        table
    }

    /// A game in which player 0 draws an apple.
    pub(crate) fn drawing(players: u8) -> Self {
        let mut table = Self::playing(players);
        table.chooses(0, "りんご");
        table
    }

    /// Seats and connects players 0 to `players - 1`, all ready.
    pub(crate) fn seat(&mut self, players: u8) {
        for n in 0..players {
            self.does(n, Command::Join { name: name(n) });
            self.does(n, Command::Connect);
            self.does(n, Command::Ready(true));
        }
        self.pass(1);
    }

    pub(crate) fn pass(&mut self, ms: u64) {
        self.now_ms += ms;
    }

    /// Advances the game to its next change by time, `times` times.
    pub(crate) fn pass_steps(&mut self, times: usize) {
        for _ in 0..times {
            self.now_ms = self.game.room.next_at_ms().expect("time brings something");
            let after = self.game.advance_to(self.now_ms).game;
            assert_ne!(after, self.game, "what is due happens");
            self.game = after;
        }
    }

    /// Applies a command of any participant.
    pub(crate) fn asks(&mut self, who: &Participant, command: Command) -> Result<(), Refusal> {
        let CommandOutcome { game, effects, refusal } = self.game.apply(who, command, self.now_ms);
        self.game = game;
        self.effects = effects;
        refusal.map_or(Ok(()), Err)
    }

    /// Applies a player's command and returns the refusal, if any.
    pub(crate) fn tries(&mut self, n: u8, command: Command) -> Result<(), Refusal> {
        self.asks(&Participant::Player(player(n)), command)
    }

    /// Applies a player's command, which must succeed.
    pub(crate) fn does(&mut self, n: u8, command: Command) {
        self.tries(n, command).expect("allowed");
    }

    pub(crate) fn chooses(&mut self, n: u8, text: &str) {
        let turn = self.turn().id;
        self.does(n, Command::Choose { turn, choice: Choice::Word(word(text)) });
    }

    pub(crate) fn says(&mut self, n: u8, text: &str) {
        let id = self.line_id();
        self.does(n, Command::Say { id, text: talk(text) });
    }

    pub(crate) fn line_id(&mut self) -> LineId {
        self.lines += 1;
        LineId(Uuid::from_u128(self.lines))
    }

    pub(crate) fn turn(&self) -> &Turn {
        self.game.room.turn().expect("a turn")
    }

    pub(crate) fn score(&self, n: u8) -> u32 {
        self.game.room.player(player(n)).expect("a seat").score
    }

    pub(crate) fn sees(&self, n: u8) -> View {
        self.game.view(Some(player(n)), self.now_ms)
    }

    /// The lines of the system since the last command.
    pub(crate) fn told(&self) -> Vec<(SystemText, PlayerId)> {
        let lines = self.effects.iter().filter_map(|effect| match effect {
            Effect::Chat { line: Line { kind: LineKind::System(text), player, .. }, .. } => Some((*text, *player)),
            _ => None,
        });
        lines.collect()
    }

    /// The audiences of the last command's lines.
    pub(crate) fn audiences(&self) -> Vec<Audience> {
        let audience = |effect: &Effect| match effect {
            Effect::Chat { audience, .. } => Some(*audience),
            _ => None,
        };
        self.effects.iter().filter_map(audience).collect()
    }
}
