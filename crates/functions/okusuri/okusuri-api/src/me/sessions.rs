//! `/okusuri/api/sessions` and `/okusuri/api/sign-out`: the user's sessions.

use lambda_kit::http::{Reply, Request};
use lambda_kit::problem::Problem;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::problems::{SESSION_NOT_FOUND, store_problem};
use crate::session::expired_cookies;
use crate::{BODY_BYTES_MAX, Okusuri};

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct SignOut {
    #[serde(default)]
    everywhere: bool,
}

/// Ends this session, or all of them. Without a session it still expires the cookies, so signing
/// out twice is no error.
pub(crate) async fn sign_out(okusuri: &Okusuri, request: &Request) -> Result<Reply, Problem> {
    let SignOut { everywhere } = request.json(BODY_BYTES_MAX)?;
    match okusuri.user(request).await {
        Ok(signed_in) if everywhere => {
            okusuri.sessions.end_all(&signed_in.id, (okusuri.now)()).await.map_err(store_problem)?;
        }
        Ok(signed_in) => {
            okusuri.sessions.end(&signed_in.id, &signed_in.session.session_id).await.map_err(store_problem)?;
        }
        Err(problem) if problem.status() == 401 => {}
        Err(problem) => return Err(problem),
    }
    Ok(expired_cookies(request).iter().fold(Reply::empty(), |reply, cookie| reply.cookie(cookie)))
}

/// The valid sessions, newest first.
pub(crate) async fn list(okusuri: &Okusuri, request: &Request) -> Result<Reply, Problem> {
    let signed_in = okusuri.user(request).await?;
    let rows = okusuri.sessions.list(&signed_in.user, (okusuri.now)()).await.map_err(store_problem)?;
    let items: Vec<Value> = rows
        .iter()
        .map(|row| {
            json!({
                "id": row.session_id,
                "isThis": row.session_id == signed_in.session.session_id,
                "createdAt": row.created_at,
                "expiresAt": row.expires_at,
                "ipAddress": row.ip_address,
                "userAgent": row.user_agent,
            })
        })
        .collect();
    Ok(Reply::json(200, &json!({ "items": items })))
}

/// Ends one of the user's sessions.
pub(crate) async fn end(okusuri: &Okusuri, request: &Request) -> Result<Reply, Problem> {
    let signed_in = okusuri.user(request).await?;
    let session_id = request.path_parameter("sessionId");
    // An impossible id is not looked up: DynamoDB would refuse a key of more than 1,024 bytes.
    let is_name = !session_id.is_empty() && session_id.len() <= 128;
    if is_name && okusuri.sessions.end(&signed_in.id, session_id).await.map_err(store_problem)? {
        Ok(Reply::empty())
    } else {
        Err(SESSION_NOT_FOUND)
    }
}
