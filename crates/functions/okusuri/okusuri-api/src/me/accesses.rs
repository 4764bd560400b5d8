//! `/okusuri/api/me/accesses`: the access records of the user: what the health administration read,
//! and why.

use lambda_kit::http::{Reply, Request};
use lambda_kit::problem::Problem;
use serde_json::{Value, json};

use crate::Okusuri;
use crate::problems::store_problem;

/// Lists the records, newest first.
pub(crate) async fn list(okusuri: &Okusuri, request: &Request) -> Result<Reply, Problem> {
    let signed_in = okusuri.user(request).await?;
    let records = okusuri.accesses.of(&signed_in.id).await.map_err(store_problem)?;
    let items: Vec<Value> = records
        .iter()
        .map(|record| json!({ "at": record.created_at.to_string(), "kind": record.kind, "reason": record.reason }))
        .collect();
    Ok(Reply::json(200, &json!({ "items": items })))
}
