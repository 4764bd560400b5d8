//! What can be wrong with a request.

use lambda_kit::problem::{self, Problem};
use store::StoreError;

pub(crate) const NOT_SIGNED_IN: Problem = Problem::new(401, "not-signed-in", "Nobody is signed in");

/// What a client learns of a failed request to DynamoDB.
pub(crate) fn failed(error: StoreError) -> Problem {
    tracing::error!(%error, "a request to DynamoDB failed");
    problem::failed(error.is_transient())
}
