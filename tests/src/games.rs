//! Games played straight on the table: the rules decide, the store persists, and no function or
//! socket is asked.

use std::sync::Arc;

use anyhow::{Result, ensure};
use aws_sdk_dynamodb::Client;
use domain::game::{
    Audience, Choice, Command, Effect, Game, GameId, LineId, NewGame, Participant, Phase, PlayerCount, PlayerId,
    PlayerName, RoundCount, Settings, Stage, Talk, TurnId, VOTER_SEATED_MS, Word,
};
use game_store::{
    Chat, Chunk, Connections, Freshness, GreetOutcome, NewConnection, PersistOutcome, Role, Rooms, StoredLine, Strokes,
};
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
///
/// # Errors
/// When they are out of bounds.
pub fn settings(rounds: u16, seats: u16) -> Result<Settings> {
    Ok(Settings {
        round_count: RoundCount::new(rounds)?,
        player_count: PlayerCount::new(seats)?,
        ..Settings::default()
    })
}

impl Play {
    /// A game that player 0 makes.
    ///
    /// # Errors
    /// When it cannot be made or stored.
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
    ///
    /// # Errors
    /// As above.
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
    ///
    /// # Errors
    /// When it is not there.
    pub async fn reload(&mut self) -> Result<()> {
        let live = self.rooms.live(self.game.room.id, Freshness::Consistent).await?;
        let live = live.ok_or_else(|| anyhow::anyhow!("no game"))?;
        (self.game.room, self.game.secret) = (live.room, live.secret);
        Ok(())
    }

    /// Does what a player asks for.
    ///
    /// # Errors
    /// When the rules refuse it.
    pub async fn apply(&mut self, n: u8, command: Command) -> Result<()> {
        let outcome = self.game.apply(&Participant::Player(player(n)), command, self.now_ms);
        ensure!(outcome.refusal.is_none(), "{:?}", outcome.refusal);
        self.persist(outcome.game, &outcome.effects).await
    }

    /// Lets everybody get ready and the host start.
    ///
    /// # Errors
    /// When the rules refuse it.
    pub async fn start(&mut self) -> Result<()> {
        for n in 1..u8::try_from(self.game.room.players.len())? {
            self.apply(n, Command::Ready(true)).await?;
        }
        self.apply(0, Command::Start).await
    }

    /// Waits for the next thing that time brings.
    ///
    /// # Errors
    /// When it cannot be stored.
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
        let (Some(turn), Some(drawer)) = (self.turn(), self.drawer()) else { anyhow::bail!("nobody chooses") };
        self.apply(drawer, Command::Choose { turn, choice: Choice::Option(0) }).await?;
        let answer = self.game.secret.turn.as_ref().and_then(|turn| turn.answer.as_ref());
        answer.map(|answer| answer.word.clone()).ok_or_else(|| anyhow::anyhow!("no answer"))
    }

    /// Lets somebody say something.
    ///
    /// # Errors
    /// When it cannot be said.
    pub async fn say(&mut self, n: u8, text: &str) -> Result<()> {
        self.lines += 1;
        let id = LineId(id(0xc_0000 + self.lines));
        self.apply(n, Command::Say { id, text: Talk::new(text)? }).await
    }

    /// Lets the drawer save a chunk with one batch.
    ///
    /// # Errors
    /// When it cannot be stored.
    pub async fn draw(&mut self, seq: u16) -> Result<()> {
        let Some(turn) = self.turn() else { anyhow::bail!("nobody draws") };
        let batches = format!(
            r#"[{{"seq":{seq},"ops":[{{"op":"stroke","id":{seq},"points":[800,600,50],"color":0,"width":8,"tool":"pen","end":true}}]}}]"#
        );
        let chunk = Chunk { from: seq.into(), to: seq.into(), batches };
        self.strokes.put(self.game.room.id, turn, seq, &chunk, self.now_ms).await?;
        Ok(())
    }

    /// Plays a turn: a word, two strokes, a wrong guess, the right one by everybody, the reveal to
    /// its end.
    ///
    /// # Errors
    /// When anything of it fails.
    pub async fn turn_over(&mut self) -> Result<()> {
        let answer = self.choose().await?;
        self.draw(1).await?;
        self.draw(2).await?;
        let guessers: Vec<_> =
            (0..u8::try_from(self.game.room.players.len())?).filter(|n| Some(*n) != self.drawer()).collect();
        for n in guessers {
            self.now_ms += 1_000;
            self.say(n, "ちがうよ").await?;
            self.say(n, answer.as_str()).await?;
        }
        while self.game.room.turn().is_some_and(|turn| !matches!(turn.phase, Phase::Choosing)) {
            self.wait().await?;
        }
        Ok(())
    }

    /// Plays turn after turn until the game is finished.
    ///
    /// # Errors
    /// When anything of it fails.
    pub async fn to_the_end(&mut self) -> Result<()> {
        while !matches!(self.game.room.stage, Stage::Finished { .. }) {
            self.turn_over().await?;
        }
        Ok(())
    }
}

/// Lets so many look on, player 100 and those after, as `$connect` and hello do.
///
/// # Errors
/// When that cannot be stored.
pub async fn look_on(client: &Client, table: &str, game_id: GameId, spectators: usize) -> Result<()> {
    for n in (100..=u8::MAX).take(spectators) {
        let (connection_id, name) = (format!("spectator-{n}"), name(n));
        let connection_id = connection_id.as_str();
        let new = NewConnection { connection_id, player_id: player(n), game_id, role: Role::Spectator, name: &name };
        listen(client, table, &new, 0).await?;
    }
    Ok(())
}

/// Makes a connection one of its game's listeners, as `$connect` and hello do.
///
/// # Errors
/// When that cannot be stored, or there is no place.
pub async fn listen(client: &Client, table: &str, new: &NewConnection<'_>, now_ms: u64) -> Result<()> {
    let (connections, rooms) = (
        Connections::new(&store_base::Table::new(client.clone(), table)),
        Rooms::new(&store_base::Table::new(client.clone(), table)),
    );
    connections.connect(new, now_ms).await?;
    let connection = connections.get(new.connection_id).await?;
    let live = rooms.live(new.game_id, Freshness::Consistent).await?;
    let (Some(connection), Some(live)) = (connection, live) else { anyhow::bail!("no connection, or no game") };
    let greeted = connections.greet(new.connection_id, &connection, &live.listeners, &live.room, now_ms).await?;
    ensure!(greeted == GreetOutcome::Yes, "{} is {greeted:?}", new.connection_id);
    Ok(())
}

/// The games that the sample events ask for, with ids 1 to 5: one that waits, a full one, a
/// finished one, one that has kicked player 2, and one in the middle of a drawing.
///
/// # Errors
/// When any of them cannot be played.
pub async fn play_samples(client: &Client, table: &str, now_ms: u64) -> Result<()> {
    let (one, two, three) = (settings(1, 2)?, settings(1, 3)?, settings(1, 8)?);
    Play::with_players(client, table, game(1), three, 2, now_ms).await?;
    Play::with_players(client, table, game(2), one, 2, now_ms + 1).await?;

    let mut finished = Play::with_players(client, table, game(3), one, 2, now_ms + 2).await?;
    finished.start().await?;
    finished.to_the_end().await?;

    let mut kicked = Play::with_players(client, table, game(4), two, 3, now_ms + 3).await?;
    kicked.now_ms += VOTER_SEATED_MS;
    kicked.apply(0, Command::Kick { target: player(2) }).await?;
    kicked.apply(1, Command::Kick { target: player(2) }).await?;

    let mut drawing = Play::with_players(client, table, game(5), two, 3, now_ms + 4).await?;
    drawing.start().await?;
    let answer = drawing.choose().await?;
    drawing.draw(1).await?;
    drawing.say(1, answer.as_str()).await?;
    drawing.say(0, "みんながんばれ").await?;
    Ok(())
}
