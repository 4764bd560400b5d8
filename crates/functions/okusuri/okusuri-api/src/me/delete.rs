//! `DELETE /okusuri/api/me`: deletes all data of the user.

use std::time::{Duration, Instant};

use domain::okusuri::Email;
use jiff::SignedDuration;
use lambda_kit::http::{Cookie, Reply, Request};
use lambda_kit::problem::Problem;
use okusuri_store::DeleteProgress;
use serde::Deserialize;
use serde_json::json;

use crate::problems::{SIGN_IN_AGAIN, store_problem};
use crate::session::{device_cookie, expired_cookies};
use crate::{BODY_BYTES_MAX, Okusuri};

/// A younger session proves the user's identity; an older one needs a mailed code.
const FRESH_SESSION_AGE: SignedDuration = SignedDuration::from_mins(10);

/// How long one request deletes. The page waits for ten seconds; the next request deletes the rest.
const TIME_MAX: Duration = Duration::from_secs(7);

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct DeleteBody {
    /// A code that was sent to the user's own address.
    code: Option<String>,
}

/// Returns a check whether there is still time, counted from this call.
pub(crate) fn time_budget() -> impl Fn() -> bool {
    let begin = Instant::now();
    move || begin.elapsed() < TIME_MAX
}

/// Deletes: 204 if nothing is left, 202 if the client must call again.
pub(crate) async fn delete(okusuri: &Okusuri, request: &Request) -> Result<Reply, Problem> {
    let signed_in = okusuri.user_even_deleting(request).await?;
    let now = (okusuri.now)();
    // A user who has already started the deletion may continue it without another proof.
    let is_fresh =
        now.duration_since(signed_in.session.created_at) < FRESH_SESSION_AGE || signed_in.user.deleting.is_some();
    if !is_fresh {
        let is_empty = request.bytes(BODY_BYTES_MAX)?.is_empty();
        let DeleteBody { code } = if is_empty { DeleteBody::default() } else { request.json(BODY_BYTES_MAX)? };
        let email = signed_in.user.email.as_deref().and_then(|email| Email::new(email).ok());
        let (Some(code), Some(email)) = (code, email) else {
            return Err(SIGN_IN_AGAIN
                .detail("send a `code` that was mailed to you, or sign in again and delete within 10 minutes"));
        };
        okusuri.check_code(request, &email, &code).await?;
    }
    let deleted = okusuri.user_data.delete(&signed_in.id, now, time_budget()).await.map_err(store_problem)?;
    Ok(match deleted {
        DeleteProgress::Done => {
            let device = Cookie { max_age: Duration::ZERO, ..device_cookie(request, "") };
            expired_cookies(request).iter().fold(Reply::empty().cookie(&device), |reply, cookie| reply.cookie(cookie))
        }
        DeleteProgress::Unfinished => Reply::json(202, &json!({ "isDone": false })),
    })
}
