//! What administrators look up: a user by e-mail address, items of a type, and all logs of a day.

use domain::calendar::parse_date;
use domain::okusuri::Email;
use lambda_kit::http::{Reply, Request, invalid};
use lambda_kit::page::{Listing, limit};
use lambda_kit::problem::Problem;
use serde_json::{Value, json};
use store::okusuri::LISTED_TYPES;
use store::okusuri::rows::User;

use crate::problems::failed;
use crate::{LIMIT_DEFAULT, LIMIT_MAX, Okusuri, logs};

/// The user with an e-mail address, if there is one.
pub(crate) async fn users(okusuri: &Okusuri, request: &Request) -> Result<Reply, Problem> {
    okusuri.admin.authorize(request)?;
    let email = request.parse_query("email", Email::new)?.ok_or_else(|| invalid("email", "is needed"))?;
    let user = okusuri.listings.by_email(&email).await.map_err(failed)?;
    Ok(Reply::json(200, &json!({ "items": user.iter().map(to_json).collect::<Vec<_>>() })))
}

/// Items of a type, newest first.
pub(crate) async fn items(okusuri: &Okusuri, request: &Request) -> Result<Reply, Problem> {
    okusuri.admin.authorize(request)?;
    let kind = request.query("type").filter(|kind| LISTED_TYPES.contains(kind));
    let kind = kind.ok_or_else(|| invalid("type", format!("expected one of {}", LISTED_TYPES.join(", "))))?;
    let limit = limit(request, LIMIT_DEFAULT, LIMIT_MAX)?;
    let listing = Listing::new(&okusuri.cursors, format!("okusuri items {kind}"), (okusuri.now)());
    let after = listing.position(request)?;
    let page = okusuri.listings.of_type(kind, limit, after.as_ref()).await.map_err(failed)?;
    listing.reply(&page.items, page.next.as_ref(), page.skipped)
}

/// The logs of a day, of all users.
pub(crate) async fn logs_of_day(okusuri: &Okusuri, request: &Request) -> Result<Reply, Problem> {
    okusuri.admin.authorize(request)?;
    let date = request.parse_query("date", parse_date)?.ok_or_else(|| invalid("date", "is needed"))?;
    let limit = limit(request, LIMIT_DEFAULT, LIMIT_MAX)?;
    let listing = Listing::new(&okusuri.cursors, format!("okusuri logs of {date}"), (okusuri.now)());
    let after = listing.position(request)?;
    let page = okusuri.listings.logs_of(date, limit, after.as_ref()).await.map_err(failed)?;
    let items = page.items.iter().map(|log| {
        let mut item = logs::to_json(log);
        item["userId"] = log.user_id.as_str().into();
        // What somebody has noted is nobody else's.
        if let Some(members) = item.as_object_mut() {
            members.remove("note");
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
