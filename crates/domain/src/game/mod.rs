//! The drawing game: one player draws, the others guess. [`Game::apply`] takes a command and the
//! time. It returns the game at that time and the effects: the messages to send and their audience.
//! `docs/rules.md` has the rules for players.
//!
//! A game has a public part, [`Room`], and a hidden part, [`Secret`]. A message to a browser is
//! built from the room alone. The one exception is [`Game::view`], which adds the answer for
//! participants who know it.

mod command;
pub mod drawing;
mod grammar;
mod guess;
mod guess_result;
mod hints;
mod ids;
mod latin;
mod moves;
mod play;
pub mod rate_limit;
mod room;
mod scoring;
mod seats;
mod secret;
mod settings;
mod spelling;
mod text;
mod time;
mod view;
mod word;
pub mod words;

pub use command::{
    Audience, Choice, Command, CommandOutcome, DisconnectReason, Effect, Line, LineKind, Participant, Refusal,
    SystemText,
};
pub use guess::judge;
pub use guess_result::GuessResult;
pub use hints::CLOSED_LETTER;
pub use ids::{GameId, IdError, LineId, PlayerId, TurnId};
pub use play::{Game, NewGame, TornRead};
pub use room::{
    Award, AwardReason, CHOOSING_MS, ClientTag, DRAWER_AWAY_MS, HOST_AWAY_MS, KICKED_MAX, PAUSE_MS_MAX, PLAYERS_MIN,
    Phase, Player, Playing, REVEAL_MS, Room, SEAT_HELD_MS, SOLVERS_MAX, SPECTATORS_MAX, Solver, Stage,
    TURNS_PER_ROUND_MAX, Turn, UNDRAWN_AWAY_MS, VOTER_SEATED_MS,
};
pub use scoring::{Standing, standings};
pub use secret::{Answer, Secret, TurnSecret};
pub use settings::{
    CUSTOM_WORDS_MAX, OPTIONS, OutOfBounds, PlayerCount, RoundCount, Scoring, Settings, TimeLimit, Within, WordSource,
};
pub use text::{Hiragana, PlayerName, Talk, TextError};
pub use view::{OptionView, PlayerView, TurnView, View};
pub use word::{Language, Latin, Word};
