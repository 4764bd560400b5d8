//! The problems that both the game's HTTP API and its sockets use.

use lambda_kit::problem::Problem;

/// The settings are not valid.
pub const INVALID_SETTINGS: Problem = Problem::new(400, "invalid-settings", "The settings are not valid");
/// The game does not exist, or no longer exists.
pub const GAME_NOT_FOUND: Problem = Problem::new(404, "game-not-found", "There is no such game");
