//! `tidemark bots`: bots that join a visitor's game, or play whole games by themselves.

use anyhow::{Context, Result, bail, ensure};
use bots::{BotOptions, Ending, NAMES, Pace, Seat, Server, play};
use clap::Args;
use domain::game::{GameId, Language};
use futures::future::join_all;
use serde_json::json;
use tokio_util::sync::CancellationToken;

use crate::CommandOutcome;

/// How many rematches the bots join; then they stop.
const REMATCHES_MAX: usize = 100;

/// The game to join, and the bots.
#[derive(Debug, Args)]
pub struct Arguments {
    /// The game's id, or the link to its page, which also names the server. Without it, the bots
    /// create a game and print its link.
    #[arg(long, value_name = "LINK", value_parser = game_link)]
    game: Option<GameLink>,
    /// The number of bots.
    #[arg(long, default_value = "3", value_parser = clap::value_parser!(u8).range(1..=10))]
    players: u8,
    /// The number of players with which a game of the bots starts. By default one more than there
    /// are bots: they wait for you.
    #[arg(long, conflicts_with = "game", value_parser = clap::value_parser!(u8).range(2..=10))]
    start_with: Option<u8>,
    /// The language of a game that the bots create: ja, en, de, fr, es or pt. In another game they
    /// use its language.
    #[arg(long, value_name = "CODE", default_value = "ja", conflicts_with = "game", value_parser = language)]
    language: Language,
    /// The address of the game's page and API. By default the link's host, or this machine.
    #[arg(long, value_name = "URL")]
    server: Option<String>,
    /// The address of the WebSockets, if the server does not report it: `GameSocketsUrl` of a
    /// deployed stack without a page.
    #[arg(long, value_name = "URL")]
    ws: Option<String>,
    /// The seed of the bots' random choices; the same seed draws and guesses the same.
    #[arg(long)]
    seed: Option<u64>,
}

/// The default server.
const THIS_MACHINE: &str = "http://127.0.0.1:3000";

/// A game, and its server if the link names one.
#[derive(Debug, Clone, PartialEq, Eq)]
struct GameLink {
    id: GameId,
    server: Option<String>,
}

/// Parses an id, or any text with `game=<id>` in its query.
fn game_link(text: &str) -> Result<GameLink, String> {
    let id = text.split_once("game=").map_or(text, |(_, rest)| rest.split(['&', '#']).next().unwrap_or_default());
    let id = id.parse().map_err(|_| "must be a game's id, or the link to its page".to_owned())?;
    let server = text.split_once("://").and_then(|(scheme, rest)| {
        let host = rest.split(['/', '?', '#']).next().filter(|host| !host.is_empty())?;
        ["http", "https"].contains(&scheme).then(|| format!("{scheme}://{host}"))
    });
    Ok(GameLink { id, server })
}

fn language(code: &str) -> Result<Language, String> {
    Language::with_code(code).ok_or_else(|| format!("must be one of {}", Language::codes()))
}

/// The command.
///
/// # Errors
/// If the server refuses the bots, or one of them cannot stay connected.
pub async fn run(arguments: Arguments) -> Result<CommandOutcome> {
    let Arguments { game, players, start_with, language, server, ws, seed } = arguments;
    let (game, link_server) = game.map(|link| (link.id, link.server)).unzip();
    let server = server.or(link_server.flatten()).unwrap_or_else(|| THIS_MACHINE.to_owned());
    let server = Server::at(&server, ws.as_deref()).await?;
    let stop = CancellationToken::new();
    tokio::spawn({
        let stop = stop.clone();
        async move {
            if tokio::signal::ctrl_c().await.is_ok() {
                stop.cancel();
            }
        }
    });

    let mut rng = seed.map_or_else(fastrand::Rng::new, fastrand::Rng::with_seed);
    let mut names = NAMES;
    rng.shuffle(&mut names);
    let start_with = start_with.unwrap_or(10.min(players + 1));
    let mut bots: Vec<Bot> = Vec::new();
    for name in names.into_iter().take(players.into()) {
        let options = BotOptions {
            name: name.to_owned(),
            seed: rng.u64(..),
            pace: Pace::human(),
            start_with: start_with.into(),
            shared_answers: None,
            transcript: None,
        };
        // The first bot creates the game, if none was given.
        let its_game = match (game, bots.first()) {
            (Some(game), _) => Some(game),
            (None, Some(host)) => Some(host.game()?),
            (None, None) => None,
        };
        let seat = match its_game {
            Some(game) => server.join_game(game, name, None).await,
            None => {
                let settings = json!({"playerCount": 10, "language": language.code()});
                server.create_game(&json!({"name": name, "settings": settings})).await
            }
        };
        bots.push(Bot { options, seat: seat.with_context(|| format!("{name} cannot join"))? });
    }
    let Some(first) = bots.first() else { bail!("no bots") };
    println!("{}", server.link(&first.seat.game_id));
    if game.is_none() {
        eprintln!("The game starts with {start_with} players. Ctrl-C ends it.");
    }

    let games = bots.into_iter().map(|bot| bot.play_on(server.clone(), stop.clone()));
    let mut standings = Vec::new();
    let mut lost = Vec::new();
    for ended in join_all(games).await {
        match ended {
            Ok(Ending::Finished(finished)) => standings = finished,
            Ok(_) => {}
            Err(error) => lost.push(format!("{error:#}")),
        }
    }
    for standing in standings {
        println!("{:>2}  {:>5}  {}", standing.rank, standing.score, standing.name);
    }
    ensure!(lost.is_empty(), "{}", lost.join("; "));
    Ok(CommandOutcome::Success)
}

struct Bot {
    options: BotOptions,
    seat: Seat,
}

impl Bot {
    fn game(&self) -> Result<GameId> {
        self.seat.game_id.parse().context("the server returned no game id")
    }

    /// Plays, and joins the rematch if there is one.
    async fn play_on(mut self, server: Server, stop: CancellationToken) -> Result<Ending> {
        for _ in 0..REMATCHES_MAX {
            let (game, name, token) = (self.game()?, self.options.name.clone(), self.seat.player_token.clone());
            let ending = play(&server, game, self.seat, self.options.clone(), stop.clone()).await;
            match ending.with_context(|| name.clone())? {
                Ending::Rematch(next) => {
                    let next = next.parse().context("the server returned no game id")?;
                    self.seat = server.join_game(next, &name, Some(&token)).await.with_context(|| name)?;
                }
                ending => return Ok(ending),
            }
        }
        Ok(Ending::Left)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn game_link_is_an_id_or_a_url_with_server() {
        let id = "0199c0de-0000-7000-8000-000000000001";
        for (text, server) in [
            (id.to_owned(), None),
            (format!("http://127.0.0.1:3141/game/?game={id}"), Some("http://127.0.0.1:3141")),
            (format!("https://example.org/game/index.html?lang=ja&game={id}#board"), Some("https://example.org")),
            (format!("https://example.org?game={id}"), Some("https://example.org")),
            (format!("?game={id}&lang=ja"), None),
            (format!("file:///game/?game={id}"), None),
        ] {
            let link = game_link(&text).map(|link| (link.id.to_string(), link.server));
            assert_eq!(link, Ok((id.to_owned(), server.map(str::to_owned))), "{text}");
        }
        for text in ["", "http://127.0.0.1:3000/game/", "?game=", "game=1"] {
            assert!(game_link(text).is_err(), "{text}");
        }
    }
}
