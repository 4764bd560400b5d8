//! Games of the tests, and people who look on.

use anyhow::{Result, ensure};
use aws_sdk_dynamodb::Client;
use domain::game::{Command, GameId, VOTER_SEATED_MS};
use game_store::{Connections, Freshness, GreetOutcome, NewConnection, Role, Rooms};

pub use tidemark_cli::play::{NAMES, Play, game, name, player, settings};

/// Lets so many look on, player 100 and those after, as `$connect` and hello do.
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
