//! Table descriptions: converts the emulator's ARNs and stream labels to AWS's form.

use bytes::Bytes;
use serde_json::Value;

use crate::arn;
use crate::streams::Streams;

/// Whether the operation's reply contains a table description.
pub(crate) fn describes_a_table(operation: &str) -> bool {
    matches!(operation, "CreateTable" | "DescribeTable" | "UpdateTable" | "DeleteTable")
}

/// The reply `body` with the caller's region and the table's stream. Blocks on SQLite.
pub(crate) fn described(streams: &Streams, body: Bytes, region: &str) -> Bytes {
    let Ok(mut answer) = serde_json::from_slice::<Value>(&body) else { return body };
    for member in ["Table", "TableDescription"] {
        let Some(description) = answer.get_mut(member) else { continue };
        if description["BillingModeSummary"]["BillingMode"] == "PAY_PER_REQUEST" {
            description["BillingModeSummary"]["LastUpdateToPayPerRequestDateTime"] =
                description["CreationDateTime"].clone();
        }
        if let Err(error) = streams.describe(description, region) {
            tracing::warn!(%error, "could not describe a stream");
        }
    }
    let emulators = format!(":{}:{}:", dynoxide::streams::LOCAL_REGION, arn::ACCOUNT);
    Bytes::from(answer.to_string().replace(&emulators, &format!(":{region}:{}:", arn::ACCOUNT)))
}
