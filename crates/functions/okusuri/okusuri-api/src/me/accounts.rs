//! `/okusuri/api/me/accounts`: the user's logins at OpenID providers.

use lambda_kit::http::{Reply, Request};
use lambda_kit::problem::Problem;
use okusuri_store::UnlinkOutcome;
use serde_json::{Value, json};

use crate::Okusuri;
use crate::problems::{ACCOUNT_NOT_FOUND, LAST_SIGN_IN_METHOD, store_problem};

/// The logins, without their tokens.
pub(crate) async fn list(okusuri: &Okusuri, request: &Request) -> Result<Reply, Problem> {
    let signed_in = okusuri.user(request).await?;
    let accounts = okusuri.sign_ins.logins(&signed_in.id).await.map_err(store_problem)?;
    let items: Vec<Value> = accounts
        .iter()
        .map(|account| {
            json!({ "provider": account.provider, "subject": account.subject, "createdAt": account.created_at })
        })
        .collect();
    Ok(Reply::json(200, &json!({ "items": items })))
}

/// Removes the logins of a provider, unless the user could not sign in without them.
pub(crate) async fn unlink(okusuri: &Okusuri, request: &Request) -> Result<Reply, Problem> {
    let signed_in = okusuri.user(request).await?;
    let provider = request.path_parameter("provider");
    match okusuri.sign_ins.unlink(&signed_in.user, provider).await.map_err(store_problem)? {
        UnlinkOutcome::Yes => Ok(Reply::empty()),
        UnlinkOutcome::NotThere => Err(ACCOUNT_NOT_FOUND),
        UnlinkOutcome::LastSignInMethod => Err(LAST_SIGN_IN_METHOD),
    }
}
