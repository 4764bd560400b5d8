//! What a game costs on AWS: messages, units, money; beside the layout that rewrites the drawing in
//! the room's item.

use game_store::CHAT_LINES_MAX;
use scale::price;

use crate::Effort;
use crate::game_drawing::Hand;
use crate::game_original_design;
use crate::game_play::{GamePhases, GameUsage, PLAYERS, Skill, play};
use crate::report::{Better, Row};

const SECTION: &str = "Cost of a game on AWS: 10 players, 10 rounds, 100 turns of at most 80 s";

/// The seed's layout, which keeps the drawing in the room.
const SEED: &str = "drawing in the room";

const ROUNDS: u16 = 10;

/// The targets for a whole game.
const MESSAGES_MAX: f64 = 120_000.0;
const WRITE_UNITS_MAX: f64 = 15_000.0;
const DOLLARS_MAX: f64 = 0.15;

/// Memory of `ws-message` and `game-archiver` in the template.
const MEMORY_GB: f64 = 0.5;

/// How long an invocation is billed: one read and ten posts, or a batch of the stream. Assumed,
/// generously; nothing here can measure it.
const MESSAGE_S: f64 = 0.030;
const BATCH_S: f64 = 0.100;

impl GamePhases {
    /// A whole game, of such rounds as these.
    fn whole(&self) -> GameUsage {
        let times = f64::from(ROUNDS) / f64::from(self.rounds);
        let whole = self.opening.plus(1.0, &self.turns.plus(times - 1.0, &self.turns).plus(1.0, &self.closing));
        // The game has fewer chat lines than are kept. Each further line would be deleted, for one
        // unit.
        let deleted =
            (whole.lines - CHAT_LINES_MAX as f64).max(0.0) - (self.turns.lines - CHAT_LINES_MAX as f64).max(0.0);
        GameUsage { write_units: whole.write_units + deleted, ..whole }
    }
}

impl GameUsage {
    /// With so many times the other on top.
    fn plus(&self, times: f64, other: &Self) -> Self {
        Self {
            turns: self.turns + times * other.turns,
            messages_in: self.messages_in + times * other.messages_in,
            messages_out: self.messages_out + times * other.messages_out,
            bytes_out: self.bytes_out + times * other.bytes_out,
            write_units: self.write_units + times * other.write_units,
            read_units: self.read_units + times * other.read_units,
            lines: self.lines + times * other.lines,
            draws: self.draws + times * other.draws,
            archiver_invocations: self.archiver_invocations + times * other.archiver_invocations,
            minutes: self.minutes + times * other.minutes,
        }
    }

    fn messages(&self) -> f64 {
        self.messages_in + self.messages_out
    }

    /// At list prices, without any free tier.
    fn dollars(&self) -> f64 {
        let handshakes = 2.0 * f64::from(PLAYERS);
        let invocations = self.messages_in + handshakes + self.archiver_invocations;
        let gb_seconds =
            MEMORY_GB * ((self.messages_in + handshakes) * MESSAGE_S + self.archiver_invocations * BATCH_S);
        self.messages() * price::MESSAGE
            + self.minutes * f64::from(PLAYERS) * price::CONNECTION_MINUTE
            + self.write_units * price::WRITE_UNIT
            + self.read_units * price::READ_UNIT
            + invocations * price::INVOCATION
            + gb_seconds * price::GB_SECOND
            + self.bytes_out / 1e9 * price::GB_OUT
    }
}

/// Messages, units and money of a game.
pub(crate) async fn rows(effort: Effort) -> anyhow::Result<Vec<Row>> {
    let own = play(effort.game_rounds, Skill::Friends).await?.whole();
    let longest = play(effort.game_rounds, Skill::Strangers).await?.whole();
    let hand = Hand::new(80_000);
    let seed = GameUsage { write_units: game_original_design::write_units(&hand, own.draws, own.turns), ..own };
    let count = |what: &str, unit, value| Row::count(SECTION, what, unit, value);
    Ok(vec![
        count("messages in and out", "", own.messages()).at_most(MESSAGES_MAX),
        count("of them in, and so invocations", "", own.messages_in),
        count("writes", "WRU", own.write_units)
            .beside(Better::Lower, SEED, seed.write_units)
            .at_most(WRITE_UNITS_MAX)
            .pictured("Write units of a whole game of ten", "Tidemark"),
        count("reads", "RRU", own.read_units),
        count("time", "min", own.minutes),
        count("money", "$", own.dollars()).beside(Better::Lower, SEED, seed.dollars()).at_most(DOLLARS_MAX),
        count("when nobody ever guesses it: messages", "", longest.messages()),
        count("when nobody ever guesses it: writes", "WRU", longest.write_units),
        count("when nobody ever guesses it: money", "$", longest.dollars()),
    ])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn game_stays_within_its_messages_write_units_and_price() {
        // One round of ten, and the rest reckoned: a whole game takes minutes in a debug build.
        // What that leaves out is that the archiver reads more of the chat the longer it is.
        let game = play(1, Skill::Friends).await.expect("a game").whole();
        assert_eq!(game.turns, 100.0);
        assert!(game.messages() <= MESSAGES_MAX, "{} messages of {game:?}", game.messages());
        assert!(game.write_units <= WRITE_UNITS_MAX, "{game:?}");
        assert!(game.dollars() < DOLLARS_MAX, "${} for {game:?}", game.dollars());
    }
}
