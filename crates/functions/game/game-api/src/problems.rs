//! The problems of requests, and the problem for each refusal of the rules.

use domain::game::Refusal;
use lambda_kit::problem::{self, INTERNAL, Problem};
use store_base::StoreError;

pub(crate) const INVALID_NAME: Problem = Problem::new(400, "invalid-name", "The name is not valid");
pub(crate) const INVALID_WORDS: Problem = Problem::new(400, "invalid-words", "The words are not valid");
pub(crate) const INVALID_ROLE: Problem = Problem::new(400, "invalid-role", "The role is not valid");
pub(crate) const OTHER_PLAYER: Problem = Problem::new(403, "other-player", "The token belongs to another player");
const KICKED: Problem = Problem::new(403, "kicked", "You were voted out of this game");
pub(crate) use game_room::protocol::GAME_NOT_FOUND;
pub(crate) const DRAWING_NOT_FOUND: Problem = Problem::new(404, "drawing-not-found", "There is no such drawing");
const GAME_FULL: Problem = Problem::new(409, "game-full", "All seats are taken");
const TOO_MANY_SPECTATORS: Problem = Problem::new(409, "too-many-spectators", "There are too many spectators");
const GAME_FINISHED: Problem = Problem::new(409, "game-finished", "The game is finished");

const TOO_MANY_REQUESTS: Problem = Problem::new(429, "too-many-requests", "Too many requests from your network");

/// Too many requests from one client address.
pub(crate) fn too_many(wait_ms: u64) -> Problem {
    let seconds = wait_ms.div_ceil(1_000);
    TOO_MANY_REQUESTS.detail(format!("try again in {seconds} s"))
}

/// The problem for a failed request to DynamoDB.
pub(crate) fn store_problem(error: StoreError) -> Problem {
    problem::store_problem(&error, error.is_transient())
}

/// The problem for a refused game or seat.
pub(crate) fn refused(refusal: Refusal) -> Problem {
    let problem = match refusal {
        Refusal::Kicked => KICKED,
        Refusal::GameFull(_) => GAME_FULL,
        Refusal::TooManySpectators => TOO_MANY_SPECTATORS,
        Refusal::GameFinished => GAME_FINISHED,
        Refusal::TooFewWords => INVALID_WORDS,
        // No other command is sent to the rules here.
        other => {
            tracing::error!(?other, "an unexpected refusal");
            return INTERNAL;
        }
    };
    problem.detail(refusal)
}
