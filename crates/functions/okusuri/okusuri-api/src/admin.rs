//! The queries of the health administration: a user by e-mail address, items of a type, and all
//! logs of a day.
//!
//! Each request gives a reason. Before the reply, the reason and the time are recorded for each
//! user that the reply shows, and the users can see these records.

use std::collections::BTreeSet;

use domain::ShortText;
use domain::calendar::parse_date;
use domain::okusuri::Email;
use lambda_kit::http::{Reply, Request, invalid_parameter};
use lambda_kit::page::{Listing, limit};
use lambda_kit::problem::Problem;
use okusuri_store::rows::User;
use okusuri_store::{Access, LISTED_TYPES};
use serde_json::{Value, json};

use crate::problems::store_problem;
use crate::{LIMIT_DEFAULT, Okusuri, logs};

/// The most items of a page. Each page writes an access record for each of its users.
const LIMIT_MAX: u16 = 100;

/// The fewest letters and digits of a reason.
const REASON_LETTERS_MIN: usize = 10;

/// Checks the health administration's token and returns the reason of the request.
fn authorized(okusuri: &Okusuri, request: &Request) -> Result<ShortText, Problem> {
    okusuri.health.authorize(request)?;
    let reason = request.parse_query("reason", ShortText::new)?;
    reason.filter(|reason| reason.visible_letters() >= REASON_LETTERS_MIN).ok_or_else(|| {
        invalid_parameter("reason", format!("give the purpose in at least {REASON_LETTERS_MIN} letters"))
    })
}

/// Records the access for each user, with its reason. Returns the users who may be shown.
async fn record_access(
    okusuri: &Okusuri,
    kind: &str,
    reason: ShortText,
    users: BTreeSet<String>,
) -> Result<BTreeSet<String>, Problem> {
    tracing::info!(kind, %reason, users = users.len(), "the health administration reads");
    let (id, kind, at) = ((okusuri.new_id)().to_string(), kind.to_owned(), (okusuri.now)());
    okusuri.accesses.record(&Access { id, kind, reason, at }, users).await.map_err(store_problem)
}

/// The user with an e-mail address, if there is one.
pub(crate) async fn users(okusuri: &Okusuri, request: &Request) -> Result<Reply, Problem> {
    let reason = authorized(okusuri, request)?;
    let email = request.parse_query("email", Email::new)?.ok_or_else(|| invalid_parameter("email", "is needed"))?;
    let user = okusuri.listings.by_email(&email).await.map_err(store_problem)?;
    let users = user.iter().map(|user| user.user_id.clone()).collect();
    let shown = record_access(okusuri, "user", reason, users).await?;
    let items: Vec<_> = user.iter().filter(|user| shown.contains(&user.user_id)).map(to_json).collect();
    Ok(Reply::json(200, &json!({ "items": items })))
}

/// Items of a type, newest first.
pub(crate) async fn items(okusuri: &Okusuri, request: &Request) -> Result<Reply, Problem> {
    let reason = authorized(okusuri, request)?;
    let kind = request.query("type").filter(|kind| LISTED_TYPES.contains(kind));
    let kind = kind.ok_or_else(|| invalid_parameter("type", format!("expected one of {}", LISTED_TYPES.join(", "))))?;
    let limit = limit(request, LIMIT_DEFAULT, LIMIT_MAX)?;
    let listing = Listing::new(&okusuri.cursors, format!("okusuri items {kind}"), (okusuri.now)());
    let after = listing.position(request)?;
    let page = okusuri.listings.of_type(kind, limit, after.as_ref()).await.map_err(store_problem)?;
    // An item without a user is omitted, because no access could be recorded for it.
    let owner = |item: &Value| item["userId"].as_str().map(str::to_owned);
    let shown = record_access(okusuri, kind, reason, page.items.iter().filter_map(owner).collect()).await?;
    let is_shown = |item: &&Value| owner(item).is_some_and(|user| shown.contains(&user));
    let items: Vec<_> = page.items.iter().filter(is_shown).collect();
    listing.reply(&items, page.next.as_ref(), page.skipped)
}

/// The logs of a day, of all users.
pub(crate) async fn logs_of_day(okusuri: &Okusuri, request: &Request) -> Result<Reply, Problem> {
    let reason = authorized(okusuri, request)?;
    let date = request.parse_query("date", parse_date)?.ok_or_else(|| invalid_parameter("date", "is needed"))?;
    let limit = limit(request, LIMIT_DEFAULT, LIMIT_MAX)?;
    let listing = Listing::new(&okusuri.cursors, format!("okusuri logs of {date}"), (okusuri.now)());
    let after = listing.position(request)?;
    let page = okusuri.listings.logs_of(date, limit, after.as_ref()).await.map_err(store_problem)?;
    let users = page.items.iter().map(|log| log.user_id.clone()).collect();
    let shown = record_access(okusuri, "medication_log", reason, users).await?;
    let items = page.items.iter().filter(|log| shown.contains(&log.user_id)).map(|log| {
        let mut item = logs::to_json(log);
        item["userId"] = log.user_id.as_str().into();
        // They are private to the user.
        if let Some(members) = item.as_object_mut() {
            members.retain(|name, _| !["note", "flow", "symptoms"].contains(&name.as_str()));
        }
        item
    });
    listing.reply(&items.collect::<Vec<_>>(), page.next.as_ref(), page.skipped)
}

fn to_json(user: &User) -> Value {
    let mut body = json!({
        "id": user.user_id,
        "emailVerified": user.email_verified,
        "timeZone": user.time_zone,
        "createdAt": user.created_at.to_string(),
        "updatedAt": user.updated_at.to_string(),
    });
    for (name, text) in [("name", &user.name), ("email", &user.email)] {
        if let Some(text) = text {
            body[name] = text.as_str().into();
        }
    }
    body
}
