//! Strokes through the local stack: how soon a batch is on nine other screens, and how many games
//! the machine carries.

use std::time::{Duration, Instant};

use anyhow::Result;
use futures::future::try_join_all;
use futures::{StreamExt, TryStreamExt, stream};

use crate::game_party::{Party, draws};
use crate::report::{Better, Row, quantile};
use crate::{Effort, Folders, repository, stack};

const SECTION: &str = "Strokes through the local stack: socket, function, table, nine sockets";

/// The floor.
const BARE: &str = "bare relay";

/// Between two batches of the latency's run: a connection may send 15 messages a second.
const CALM: Duration = Duration::from_millis(75);

/// Between two batches of a drawer in a crowd.
const DRAWING: Duration = Duration::from_millis(175);

/// The p99 at which there are too many games.
const LATENCY_MS_MAX: f64 = 100.0;

/// The first crowd.
const GAMES_MIN: usize = 8;

/// Games are set up so many at a time.
const AT_ONCE: usize = 4;

/// The search for the largest crowd ends after this.
const SEARCH: Duration = Duration::from_secs(60);

/// Latency from `draw` to the last of nine `ink`s.
pub(crate) async fn rows(folders: &Folders, effort: Effort) -> Result<Vec<Row>> {
    let running = stack::start(&repository().join("template.yaml"), &folders.functions).await?;
    let mut own = Party::in_game(&running).await?;
    let mut bare = Party::at_bare_relay().await?;
    for party in [&mut own, &mut bare] {
        draws(party, effort.draws, CALM).await?;
    }
    let mut p50_ms = [Vec::new(), Vec::new()];
    let mut p99_ms = [Vec::new(), Vec::new()];
    for _ in 0..effort.rounds {
        for (side, party) in [&mut own, &mut bare].into_iter().enumerate() {
            let latencies_ms = draws(party, effort.draws, CALM).await?;
            p50_ms[side].push(quantile(&latencies_ms, 0.5));
            p99_ms[side].push(quantile(&latencies_ms, 0.99));
        }
    }
    drop((own, bare));
    running.stop().await;
    let row = |what, [own, bare]: &[Vec<f64>; 2]| {
        Row::median(SECTION, what, "ms", own).beside_runs(Better::Lower, BARE, own, bare)
    };
    Ok(vec![
        row("from one pen to nine screens, p50", &p50_ms).at_most(3.0),
        row("from one pen to nine screens, p99", &p99_ms).at_most(10.0),
    ])
}

/// How many games at a time still have a p99 below the limit.
pub(crate) async fn crowd_rows(folders: &Folders, effort: Effort) -> Result<Vec<Row>> {
    let running = stack::start(&repository().join("template.yaml"), &folders.functions).await?;
    let mut parties: Vec<Party> = Vec::new();
    let (mut carried, mut too_many, mut p99_ms) = (0, effort.games_max + 1, 0.0);
    let mut games = GAMES_MIN.min(effort.games_max);
    let start = Instant::now();
    let mut looks = 0;
    while games > carried && games < too_many && start.elapsed() < SEARCH {
        let new = (parties.len()..games).map(|_| Party::in_game(&running));
        let new: Vec<Party> = stream::iter(new).buffer_unordered(AT_ONCE).try_collect().await?;
        parties.extend(new);
        // Posts that time out are not sent again, so a batch that gets lost is a crowd that is too
        // large.
        let latency_ms = crowd(&mut parties[..games], effort.crowd_draws).await.unwrap_or_else(|error| {
            eprintln!("{games} games at a time: {error:#}");
            f64::INFINITY
        });
        looks += 1;
        if latency_ms <= LATENCY_MS_MAX {
            (carried, p99_ms) = (games, latency_ms);
        } else {
            too_many = games;
        }
        // Doubled while that is well, then halved between the last that was and the first that was
        // not.
        let is_open = too_many > effort.games_max;
        games = if is_open { (carried * 2).min(effort.games_max) } else { carried.midpoint(too_many) };
    }
    drop(parties);
    running.stop().await;
    let row = |what, unit, value| Row { runs: looks, ..Row::count(SECTION, what, unit, value) };
    Ok(vec![
        row("games of ten at a time, p99 up to 100 ms", "games", carried as f64).at_least(60.0),
        row("the p99 of so many", "ms", p99_ms),
    ])
}

/// The p99 of these games, all drawn at a time; their drawers do not begin together.
async fn crowd(parties: &mut [Party], count: u32) -> Result<f64> {
    let places = parties.len() as u32;
    let drawing = (0..places).zip(parties).map(|(place, party)| async move {
        tokio::time::sleep(DRAWING * place / places).await;
        draws(party, count, DRAWING).await
    });
    Ok(quantile(&try_join_all(drawing).await?.concat(), 0.99))
}
