//! The user's own data: profile, picture, sessions, provider logins, export, and deletion.

mod accesses;
mod accounts;
pub(crate) mod delete;
mod export;
mod image;
mod sessions;

pub(crate) use accesses::list as accesses;
pub(crate) use accounts::{list as accounts, unlink};
pub(crate) use delete::delete;
pub(crate) use export::export;
pub(crate) use image::{put as put_image, remove as remove_image, show as show_image};
pub(crate) use sessions::{end as end_session, list as sessions, sign_out};

use std::fmt::Display;

use domain::calendar::parse_date;
use domain::okusuri::{Cycle, Regimen};
use lambda_kit::http::{Reply, Request};
use lambda_kit::problem::{INVALID_BODY, Problem};
use okusuri_store::rows::User;
use okusuri_store::{OWN_IMAGE, ProfileChange};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::problems::{INVALID_NAME, INVALID_TIME_ZONE, NOT_SIGNED_IN, store_problem, write_problem};
use crate::session::{cookie, expired_better_auth_cookies, token};
use crate::{BODY_BYTES_MAX, Okusuri, sign_in};

/// The longest name, in characters.
pub(crate) const NAME_CHARS_MAX: usize = 100;

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
struct ProfileBody {
    name: Option<String>,
    time_zone: Option<String>,
    regimen: Option<RegimenBody>,
}

/// A regimen as clients see it.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase", rename_all_fields = "camelCase", tag = "kind")]
enum RegimenBody {
    Medicines {},
    Continuous {},
    Cycle { active_days: u16, rest_days: u8, start_on: String },
}

impl RegimenBody {
    fn regimen(self) -> Result<Regimen, Problem> {
        match self {
            Self::Medicines {} => Ok(Regimen::Medicines),
            Self::Continuous {} => Ok(Regimen::Continuous),
            Self::Cycle { active_days, rest_days, start_on } => {
                let invalid = |why: &dyn Display| INVALID_BODY.detail(format!("`regimen` {why}"));
                let start = parse_date(&start_on).map_err(|why| invalid(&why))?;
                Ok(Regimen::Cycle(Cycle::new(active_days, rest_days, start).map_err(|why| invalid(&why))?))
            }
        }
    }
}

/// The signed-in user. Pages call this first, so it also extends the session, and exchanges the
/// cookie of a migrated one.
pub(crate) async fn show(okusuri: &Okusuri, request: &Request) -> Result<Reply, Problem> {
    if token(request).is_none() {
        let (signed_in, token) = okusuri.migrated_user(request).await?;
        let reply = Reply::json(200, &user_json(&signed_in.user)).cookie(&cookie(request, &token));
        return Ok(expired_better_auth_cookies().iter().fold(reply, |reply, cookie| reply.cookie(cookie)));
    }
    let signed_in = okusuri.user(request).await?;
    let reply = Reply::json(200, &user_json(&signed_in.user));
    let (_, is_extended) = okusuri.sessions.extend(signed_in.session, (okusuri.now)()).await.map_err(store_problem)?;
    // Only browsers have the cookie; clients with a bearer token do not need it.
    let token = token(request).filter(|_| is_extended && request.header("authorization").is_none());
    Ok(match token {
        Some(token) => reply.cookie(&cookie(request, &token)),
        None => reply,
    })
}

/// Changes name, time zone and regimen.
pub(crate) async fn change(okusuri: &Okusuri, request: &Request) -> Result<Reply, Problem> {
    let signed_in = okusuri.user(request).await?;
    let ProfileBody { name, time_zone, regimen } = request.json(BODY_BYTES_MAX)?;
    let name = name.map(|name| name.trim().to_owned());
    if let Some(name) = &name
        && (name.chars().nth(NAME_CHARS_MAX).is_some() || name.chars().any(char::is_control))
    {
        return Err(INVALID_NAME.detail(format!("expected at most {NAME_CHARS_MAX} characters on one line")));
    }
    let known = |zone: String| {
        sign_in::time_zone(&zone).ok_or_else(|| INVALID_TIME_ZONE.detail("expected a name like `Asia/Tokyo`"))
    };
    let (zone, time_zone) = time_zone.map(known).transpose()?.unzip();
    let regimen = regimen.map(RegimenBody::regimen).transpose()?;
    let change = ProfileChange { name, time_zone, regimen };
    let user = okusuri.users.change(&signed_in.user, &change, (okusuri.now)()).await.map_err(store_problem)?;
    let user = user.ok_or(NOT_SIGNED_IN)?;
    if let Some(zone) = zone {
        let (reminders, now) = (&okusuri.notification_services.reminders, (okusuri.now)());
        reminders.follow(&signed_in.id, &zone, now).await.map_err(write_problem)?;
        reminders.follow_doses(&signed_in.id, &zone, now).await.map_err(write_problem)?;
    }
    if let Some(regimen) = regimen {
        okusuri.logs.under(regimen).follow_regimen(&signed_in.id, (okusuri.now)()).await.map_err(write_problem)?;
    }
    Ok(Reply::json(200, &user_json(&user)))
}

/// A user as the page sees them.
pub(crate) fn user_json(user: &User) -> Value {
    // The image's address changes with the picture, so that no cache shows an old one.
    let image = user.image.as_ref().map(|image| match image.strip_prefix(OWN_IMAGE) {
        Some(tag) => format!("/okusuri/api/me/image?v={tag}"),
        None => image.clone(),
    });
    json!({
        "id": user.user_id,
        "name": user.name,
        "email": user.email,
        "emailVerified": user.email_verified,
        "image": image,
        "timeZone": user.time_zone,
        "regimen": regimen_json(user.regimen.unwrap_or_default()),
        "asksRegimen": user.asks_regimen,
        "createdAt": user.created_at,
    })
}

fn regimen_json(regimen: Regimen) -> Value {
    match regimen {
        Regimen::Medicines => json!({ "kind": "medicines" }),
        Regimen::Continuous => json!({ "kind": "continuous" }),
        Regimen::Cycle(cycle) => json!({
            "kind": "cycle",
            "activeDays": cycle.active(),
            "restDays": cycle.rest(),
            "startOn": cycle.start().to_string(),
        }),
    }
}
