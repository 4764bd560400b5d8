//! What the bench has measured on the real code: `docs/bench.json`.

use anyhow::{Context, Result};
use serde_json::Value;

const CLICK: &str = "Cost on DynamoDB, per click";
const HOT_DAY: &str = "Hot day: clicks a second before the first one is throttled";
const GAME: &str = "Cost of a game on AWS: 10 players, 10 rounds, 100 turns of at most 80 s";

/// How many clicks and users the bench's batch has.
const BATCH_CLICKS: f64 = 1_000.0;
const BATCH_USERS: f64 = 300.0;

/// Reckoned from the bench's players: nine guess right after 8 s and 22 s more on average each, or
/// the 80 s of the drawing are over; with choosing and reveal that makes 76 s for each of 100
/// turns.
const GAME_MINUTES: f64 = 127.0;

/// Figures of the bench.
#[derive(Debug, Clone, PartialEq)]
pub struct Measured {
    /// Write units of a batch's transaction: checkpoint, day, month and total, and their places in
    /// the index.
    pub commit_units: f64,
    /// Write units of a batch that is buffered.
    pub buffer_units: f64,
    /// Write units of adding the buffer of one shard to the statistics: a transaction of the same
    /// four items as a batch.
    pub flush_units: f64,
    /// Write units for a new visitor of the day.
    pub first_seen_units: f64,
    /// Read units for a click.
    pub read_units: f64,
    /// Clicks of one second that a day takes, by its date shards: 1, 4 and 10.
    pub hot_day: [f64; 3],
    /// A whole game of ten.
    pub game: Game,
}

/// What a game of ten players and ten rounds takes.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Game {
    /// Messages in.
    pub messages_in: f64,
    /// Messages in and out.
    pub messages: f64,
    /// Write units.
    pub write_units: f64,
    /// Read units.
    pub read_units: f64,
    /// How long it takes. Reckoned.
    pub minutes: f64,
    /// Dollars, at list prices.
    pub dollars: f64,
}

impl Measured {
    /// Reads `docs/bench.json`, which is compiled in.
    pub fn read() -> Result<Self> {
        let rows: Vec<Value> = serde_json::from_str(include_str!("../../../../docs/bench.json"))?;
        let value = |section: &str, what: &str| {
            let row = rows.iter().find(|row| row["section"] == section && row["what"] == what);
            row.and_then(|row| row["value"].as_f64()).with_context(|| format!("docs/bench.json has no row `{what}`"))
        };
        let batch = |what: &str| value(CLICK, &format!("1,000 clicks of 300 users, {what}"));
        let game = |what: &str| value(GAME, what);
        let none_new = batch("none new: writes")?;
        Ok(Self {
            commit_units: none_new * BATCH_CLICKS,
            buffer_units: batch("none new, buffered: writes")? * BATCH_CLICKS,
            flush_units: value(CLICK, "adding a shard's buffer to the statistics, each time: writes")?,
            first_seen_units: (batch("all new: writes")? - none_new) * BATCH_CLICKS / BATCH_USERS,
            read_units: batch("10 % new: reads")?,
            hot_day: [
                value(HOT_DAY, "1 date shard")?,
                value(HOT_DAY, "4 date shards")?,
                value(HOT_DAY, "10 date shards")?,
            ],
            game: Game {
                messages_in: game("of them in, and so invocations")?,
                messages: game("messages in and out")?,
                write_units: game("writes")?,
                read_units: game("reads")?,
                minutes: GAME_MINUTES,
                dollars: game("money")?,
            },
        })
    }
}
