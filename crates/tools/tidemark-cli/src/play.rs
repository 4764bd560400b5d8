//! Games played straight on the table: the rules decide, the store persists, and no function or
//! socket is asked. The demo plays one, and tests play others.

use std::sync::Arc;

use anyhow::{Result, ensure};
use aws_sdk_dynamodb::Client;
use domain::game::{
    Audience, Choice, Command, Effect, Game, GameId, LineId, NewGame, Participant, Phase, PlayerCount, PlayerId,
    PlayerName, RoundCount, Settings, Stage, Talk, TurnId, Word,
};
use game_store::{Chat, Chunk, Freshness, PersistOutcome, Rooms, StoredLine, Strokes};
use uuid::Uuid;

/// A game on its way.
#[derive(Debug)]
pub struct Play {
    /// As it was persisted.
    pub game: Game,
    /// The time, which goes on when told.
    pub now_ms: u64,
    rooms: Rooms,
    chat: Chat,
    strokes: Strokes,
    lines: u64,
}

/// A player with an id of their own, by number.
pub fn player(n: u8) -> PlayerId {
    PlayerId(id(0xa000 + u64::from(n)))
}

/// A game with an id of its own, by number.
pub fn game(n: u8) -> GameId {
    GameId(id(u64::from(n)))
}

fn id(n: u64) -> Uuid {
    Uuid::from_u64_pair(0x0199_c0de_0000_7000, 0x8000_0000_0000_0000 | n)
}

/// The names of the players by number.
pub const NAMES: [&str; 10] = ["あんず", "ぼたん", "ちとせ", "Dan", "えま", "ふみ", "Gus", "はな", "いく", "じゅん"];

/// The name of a player by number; from 10 on they come again.
pub fn name(n: u8) -> PlayerName {
    PlayerName::new(NAMES[usize::from(n) % NAMES.len()]).expect("a name")
}

/// Settings with so many rounds and seats.
pub fn settings(rounds: u16, seats: u16) -> Result<Settings> {
    Ok(Settings {
        round_count: RoundCount::new(rounds)?,
        player_count: PlayerCount::new(seats)?,
        ..Settings::default()
    })
}

impl Play {
    /// A game that player 0 makes.
    pub async fn new(
        client: &Client,
        table: &str,
        id: GameId,
        settings: Settings,
        public: bool,
        now_ms: u64,
    ) -> Result<Self> {
        let words: Arc<[Word]> = Arc::default();
        let new = NewGame { id, host: player(0), name: name(0), settings, public, words, seed: 7 };
        let game = Game::new(new, now_ms)?;
        let rooms = Rooms::new(&store_base::Table::new(client.clone(), table));
        ensure!(rooms.create(&game).await? == PersistOutcome::Yes, "the game is there");
        let (chat, strokes) = (
            Chat::new(&store_base::Table::new(client.clone(), table)),
            Strokes::new(&store_base::Table::new(client.clone(), table)),
        );
        Ok(Self { game, now_ms, rooms, chat, strokes, lines: 0 })
    }

    /// The same with so many players, all of them here.
    pub async fn with_players(
        client: &Client,
        table: &str,
        id: GameId,
        settings: Settings,
        players: u8,
        now_ms: u64,
    ) -> Result<Self> {
        let mut play = Self::new(client, table, id, settings, true, now_ms).await?;
        for n in 0..players {
            if n > 0 {
                play.apply(n, Command::Join { name: name(n) }).await?;
            }
            play.apply(n, Command::Connect).await?;
        }
        Ok(play)
    }

    /// Reads the game again, which somebody else has changed.
    pub async fn reload(&mut self) -> Result<()> {
        let live = self.rooms.live(self.game.room.id, Freshness::Consistent).await?;
        let live = live.ok_or_else(|| anyhow::anyhow!("no game"))?;
        (self.game.room, self.game.secret) = (live.room, live.secret);
        Ok(())
    }

    /// Does what a player asks for.
    pub async fn apply(&mut self, n: u8, command: Command) -> Result<()> {
        let outcome = self.game.apply(&Participant::Player(player(n)), command, self.now_ms);
        ensure!(outcome.refusal.is_none(), "{:?}", outcome.refusal);
        self.persist(outcome.game, &outcome.effects).await
    }

    /// Lets everybody get ready and the host start.
    pub async fn start(&mut self) -> Result<()> {
        for n in 1..u8::try_from(self.game.room.players.len())? {
            self.apply(n, Command::Ready(true)).await?;
        }
        self.apply(0, Command::Start).await
    }

    /// Waits for the next thing that time brings.
    pub async fn wait(&mut self) -> Result<()> {
        if let Some(next_ms) = self.game.room.next_at_ms() {
            self.now_ms = next_ms;
            let outcome = self.game.advance_to(next_ms);
            self.persist(outcome.game, &outcome.effects).await?;
        }
        Ok(())
    }

    async fn persist(&mut self, after: Game, effects: &[Effect]) -> Result<()> {
        for effect in effects {
            if let Effect::Chat { line, audience: Audience::Everyone } = effect {
                self.chat.put(self.game.room.id, &StoredLine { line: line.clone(), solvers_of: None }).await?;
            }
            if let Effect::Chat { line, audience: Audience::KnowsAnswer(turn) } = effect {
                self.chat.put(self.game.room.id, &StoredLine { line: line.clone(), solvers_of: Some(*turn) }).await?;
            }
        }
        if after.room.version != self.game.room.version {
            ensure!(self.rooms.persist(&self.game, &after).await? == PersistOutcome::Yes, "somebody else plays");
        }
        self.game = after;
        Ok(())
    }

    /// Who draws, by number.
    pub fn drawer(&self) -> Option<u8> {
        let drawer = self.game.room.turn()?.drawer;
        (0..10).find(|n| player(*n) == drawer)
    }

    /// The running turn.
    pub fn turn(&self) -> Option<TurnId> {
        Some(self.game.room.turn()?.id)
    }

    /// Lets the drawer take the first word, and gives it.
    ///
    /// # Errors
    /// When nobody chooses.
    pub async fn choose(&mut self) -> Result<Word> {
        self.choose_word(Choice::Option(0)).await
    }

    /// Lets the drawer choose a word, and gives it.
    ///
    /// # Errors
    /// When nobody chooses, or the rules refuse the word.
    pub async fn choose_word(&mut self, choice: Choice) -> Result<Word> {
        let (Some(turn), Some(drawer)) = (self.turn(), self.drawer()) else { anyhow::bail!("nobody chooses") };
        self.apply(drawer, Command::Choose { turn, choice }).await?;
        let answer = self.game.secret.turn.as_ref().and_then(|turn| turn.answer.as_ref());
        answer.map(|answer| answer.word.clone()).ok_or_else(|| anyhow::anyhow!("no answer"))
    }

    /// Lets somebody say something.
    pub async fn say(&mut self, n: u8, text: &str) -> Result<()> {
        self.lines += 1;
        let id = LineId(id(0xc_0000 + self.lines));
        self.apply(n, Command::Say { id, text: Talk::new(text)? }).await
    }

    /// Lets the drawer save a chunk with one batch.
    pub async fn draw(&mut self, seq: u16) -> Result<()> {
        let batches = format!(
            r#"[{{"seq":{seq},"ops":[{{"op":"stroke","id":{seq},"points":[800,600,50],"color":0,"width":8,"tool":"pen","end":true}}]}}]"#
        );
        self.save(seq, &Chunk { from: seq.into(), to: seq.into(), batches }).await
    }

    /// Lets the drawer save a chunk, numbered from 1 in its turn.
    pub async fn save(&mut self, number: u16, chunk: &Chunk) -> Result<()> {
        let Some(turn) = self.turn() else { anyhow::bail!("nobody draws") };
        self.strokes.put(self.game.room.id, turn, number, chunk, self.now_ms).await?;
        Ok(())
    }

    /// Plays a turn: a word, two strokes, a wrong guess, the right one by everybody, the reveal to
    /// its end.
    pub async fn turn_over(&mut self) -> Result<()> {
        let answer = self.choose().await?;
        self.draw(1).await?;
        self.draw(2).await?;
        self.guess(&answer, "ちがうよ").await
    }

    /// Lets everybody guess, first `wrong` and then the answer, and ends the turn.
    pub async fn guess(&mut self, answer: &Word, wrong: &str) -> Result<()> {
        let guessers: Vec<_> =
            (0..u8::try_from(self.game.room.players.len())?).filter(|n| Some(*n) != self.drawer()).collect();
        for n in guessers {
            self.now_ms += 1_000;
            self.say(n, wrong).await?;
            self.say(n, answer.as_str()).await?;
        }
        while self.game.room.turn().is_some_and(|turn| !matches!(turn.phase, Phase::Choosing)) {
            self.wait().await?;
        }
        Ok(())
    }

    /// Plays turn after turn until the game is finished.
    pub async fn to_the_end(&mut self) -> Result<()> {
        while !matches!(self.game.room.stage, Stage::Finished { .. }) {
            self.turn_over().await?;
        }
        Ok(())
    }
}
