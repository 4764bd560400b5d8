//! Turns each row into items, without regard to other rows.

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use domain::UserId;
use domain::okusuri::{Email, REMINDER_TIME_DEFAULT, local_date, next_due};
use jiff::Timestamp;
use jiff::civil::date;
use serde::Deserialize;
use serde_bytes::ByteBuf;
use store::okusuri::vault::TokenKind;
use store::okusuri::{due_partition, rows, sha256_hex};

use super::item::{Item, OnConflict, Rank};
use super::{Options, Reason, Reject};
use crate::source::{Account, MedicationLog, NotificationSetting, Row, Session, Time, User, Verification};

/// The longest address of a picture or a push service, in bytes.
const URL_BYTES_MAX: usize = 2_048;

/// The largest picture that is stored in the table, in bytes.
const IMAGE_BYTES_MAX: usize = 256 * 1024;

/// The longest id of a user at a provider
/// ([OpenID Connect, 2](https://openid.net/specs/openid-connect-core-1_0.html#IDToken)).
const SUBJECT_CHARS_MAX: usize = 255;

/// The result of a row.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct TransformedRow {
    pub items: Vec<Item>,
    /// Parts of the row that are in no item, and why.
    pub left_out: Vec<Reject>,
}

pub(super) fn transform_row(row: &Row, options: &Options) -> Result<TransformedRow, Reject> {
    let mut left_out = Vec::new();
    let items = match row {
        Row::User(row) => user(row, options, &mut left_out),
        Row::Session(row) => session(row, options),
        Row::Account(row) => account(row, options, &mut left_out),
        Row::Verification(row) => Err(verification(row, options)),
        Row::MedicationLog(row) => medication_log(row, options, &mut left_out),
        Row::NotificationSetting(row) => notification_setting(row, options, &mut left_out),
    }?;
    let items = items.into_iter().map(|item| item.of_run(&options.run)).collect();
    Ok(TransformedRow { items, left_out })
}

fn reject(reason: Reason, detail: impl Into<String>) -> Reject {
    Reject::because(reason, detail)
}

fn missing(column: &str) -> Reject {
    reject(Reason::MissingValue, format!("{column} is null"))
}

fn required<'r, T>(value: &'r Option<T>, column: &str) -> Result<&'r T, Reject> {
    value.as_ref().ok_or_else(|| missing(column))
}

fn user_id(id: &str) -> Result<String, Reject> {
    UserId::new(id)
        .map(|id| id.to_string())
        .map_err(|error| reject(Reason::InvalidId, format!("the user's id {error}")))
}

impl Options {
    fn at(&self, time: &Time, column: &str) -> Result<Timestamp, Reject> {
        let at = time.at(&self.source_zone);
        at.map_err(|error| reject(Reason::UnreadableTime, format!("{column}: {error}")))
    }

    fn maybe_at(&self, time: &Option<Time>, column: &str) -> Result<Option<Timestamp>, Reject> {
        time.as_ref().map(|time| self.at(time, column)).transpose()
    }

    /// When a row was created and last changed; if one time is missing, the other one.
    fn made_and_changed(
        &self,
        created_at: &Option<Time>,
        updated_at: &Option<Time>,
    ) -> Result<(Timestamp, Timestamp), Reject> {
        let created = self.maybe_at(created_at, "the time of its creation")?;
        let updated = self.maybe_at(updated_at, "the time of its last change")?;
        let created = created.or(updated).ok_or_else(|| missing("the time of its creation"))?;
        Ok((created, updated.unwrap_or(created)))
    }

    fn zone_name(&self) -> String {
        self.log_zone.iana_name().unwrap_or("UTC").to_owned()
    }
}

fn deleted(at: &Option<Time>) -> Result<(), Reject> {
    match at {
        Some(at) => Err(reject(Reason::Deleted, format!("deleted at {}", at.0))),
        None => Ok(()),
    }
}

fn flag(value: Option<bool>, column: &str, left_out: &mut Vec<Reject>) -> bool {
    value.unwrap_or_else(|| {
        left_out.push(missing(column));
        false
    })
}

fn user(row: &User, options: &Options, left_out: &mut Vec<Reject>) -> Result<Vec<Item>, Reject> {
    deleted(&row.deleted_at)?;
    let user_id = user_id(&row.id)?;
    let (created_at, updated_at) = options.made_and_changed(&row.created_at, &row.updated_at)?;
    let mut items = Vec::new();
    let image = match row.image.as_deref().filter(|image| !image.is_empty()).map(picture) {
        None => None,
        Some(Picture::At(url)) => Some(url.to_owned()),
        Some(Picture::Bytes(content_type, bytes)) => {
            let etag = sha256_hex(&bytes);
            let bytes = ByteBuf::from(bytes);
            let image = rows::UserImage { user_id: user_id.clone(), content_type, bytes, created_at, updated_at };
            items.push(Item::new(&image, updated_at)?);
            Some(format!("self:{}", &etag[..16]))
        }
        Some(Picture::Not(why)) => {
            left_out.push(reject(Reason::UnreadableImage, why));
            None
        }
    };
    let email_verified = row.email_verified.unwrap_or(false);
    let profile = rows::User {
        user_id: user_id.clone(),
        name: row.name.clone(),
        email: row.email.clone(),
        email_verified,
        image,
        time_zone: options.zone_name(),
        sessions_from: None,
        sign_in_grants_added: None,
        deleting: None,
        created_at,
        updated_at,
    };
    items.push(Item::new(&profile, updated_at)?);
    if let Some(text) = &row.email {
        match Email::new(text) {
            Ok(email) => {
                let owner = rows::EmailOwner { email: email.to_string(), user_id, created_at };
                // Of two users with one address, the one who verified it is found by it, and
                // otherwise the older one.
                let rank = Rank(email_verified.into(), -created_at.as_microsecond());
                items.push(Item::new(&owner, updated_at)?.ranked(rank, OnConflict::Item(Reason::DuplicateEmail)));
            }
            Err(error) => left_out.push(reject(Reason::InvalidEmail, error.to_string())),
        }
    }
    Ok(items)
}

enum Picture<'t> {
    At(&'t str),
    Bytes(String, Vec<u8>),
    Not(&'static str),
}

fn picture(text: &str) -> Picture<'_> {
    if text.starts_with("https://") || text.starts_with("http://") {
        return if text.len() <= URL_BYTES_MAX { Picture::At(text) } else { Picture::Not("its address is too long") };
    }
    let Some((kind, data)) = text.strip_prefix("data:").and_then(|rest| rest.split_once(";base64,")) else {
        return Picture::Not("it is neither an address nor a picture");
    };
    if !["image/png", "image/jpeg", "image/webp"].contains(&kind) {
        return Picture::Not("it is not a PNG, JPEG or WebP picture");
    }
    match BASE64_STANDARD.decode(data) {
        Ok(bytes) if bytes.len() <= IMAGE_BYTES_MAX => Picture::Bytes(kind.to_owned(), bytes),
        Ok(_) => Picture::Not("it has more than 256 KB"),
        Err(_) => Picture::Not("it is not base64"),
    }
}

fn session(row: &Session, options: &Options) -> Result<Vec<Item>, Reject> {
    let expires_at = options.at(required(&row.expires_at, "expiresAt")?, "expiresAt")?;
    if expires_at <= options.as_of {
        return Err(reject(Reason::Expired, format!("since {expires_at}")));
    }
    let user_id = user_id(required(&row.user_id, "userId")?)?;
    let session_id = UserId::new(row.id.clone());
    let session_id = session_id.map_err(|error| reject(Reason::InvalidId, format!("the id {error}")))?.to_string();
    let token_hash = sha256_hex(required(&row.token, "token")?.as_bytes());
    let (created_at, updated_at) = options.made_and_changed(&row.created_at, &row.updated_at)?;
    let (ip_address, user_agent) = (row.ip_address.clone(), row.user_agent.clone());
    let session =
        rows::Session { user_id, session_id, token_hash, expires_at, ip_address, user_agent, created_at, updated_at };
    let of_user = rows::UserSession(session.clone());
    Ok(vec![Item::new(&session, updated_at)?, Item::new(&of_user, updated_at)?])
}

fn account(row: &Account, options: &Options, left_out: &mut Vec<Reject>) -> Result<Vec<Item>, Reject> {
    let provider = required(&row.provider_id, "providerId")?;
    if provider == "credential" {
        return Err(reject(Reason::Password, "the user signs in with a code that is mailed"));
    }
    let provider = UserId::new(provider.clone());
    let provider = provider.map_err(|error| reject(Reason::InvalidId, format!("the provider's id {error}")))?;
    let subject = required(&row.account_id, "accountId")?.clone();
    if subject.is_empty() || subject.chars().nth(SUBJECT_CHARS_MAX).is_some() {
        return Err(reject(Reason::InvalidId, "accountId is empty, or too long"));
    }
    let user_id = user_id(required(&row.user_id, "userId")?)?;
    let (created_at, updated_at) = options.made_and_changed(&row.created_at, &row.updated_at)?;
    let provider = provider.to_string();
    let seal = |token: &Option<String>, kind| {
        let (vault, token) = options.vault.as_ref().zip(token.as_ref())?;
        Some(ByteBuf::from(vault.seal_token(&user_id, &provider, kind, token)))
    };
    let access_token = seal(&row.access_token, TokenKind::Access);
    let refresh_token = seal(&row.refresh_token, TokenKind::Refresh);
    let id_token = seal(&row.id_token, TokenKind::Id);
    let mut expiry = |time: &Option<Time>, column, token: &Option<ByteBuf>| {
        let at = options.maybe_at(time, column);
        at.unwrap_or_else(|why| {
            left_out.push(why);
            None
        })
        .filter(|_| token.is_some())
    };
    let access_token_expires_at = expiry(&row.access_token_expires_at, "accessTokenExpiresAt", &access_token);
    let refresh_token_expires_at = expiry(&row.refresh_token_expires_at, "refreshTokenExpiresAt", &refresh_token);
    let account = rows::Account {
        user_id: user_id.clone(),
        provider: provider.clone(),
        subject: subject.clone(),
        access_token,
        refresh_token,
        id_token,
        access_token_expires_at,
        refresh_token_expires_at,
        scope: row.scope.clone(),
        created_at,
        updated_at,
    };
    let owner = rows::AccountOwner { provider, subject, user_id, created_at };
    Ok(vec![Item::new(&account, updated_at)?, Item::new(&owner, updated_at)?])
}

/// The problem of a mailed code: it is not migrated, because a new one can be sent at any time.
fn verification(row: &Verification, options: &Options) -> Reject {
    let expires_at = options.maybe_at(&row.expires_at, "expiresAt");
    match expires_at {
        Ok(Some(at)) if at <= options.as_of => reject(Reason::Expired, format!("since {at}")),
        Ok(_) => reject(Reason::SingleUse, "a new code is sent on request"),
        Err(why) => why,
    }
}

fn medication_log(row: &MedicationLog, options: &Options, left_out: &mut Vec<Reject>) -> Result<Vec<Item>, Reject> {
    deleted(&row.deleted_at)?;
    let user_id = user_id(required(&row.user_id, "user_id")?)?;
    let created_at = options.at(required(&row.created_at, "created_at")?, "created_at")?;
    let updated_at = options.maybe_at(&row.updated_at, "updated_at")?.unwrap_or(created_at);
    let date = local_date(created_at, &options.log_zone);
    if date < date_min() {
        return Err(reject(Reason::DateBefore1900, date.to_string()));
    }
    let has_bleeding = flag(row.has_bleeding, "has_bleeding", left_out);
    let log_id = row.id.to_string();
    let log =
        rows::MedicationLog { user_id, date, has_bleeding, is_taken: true, log_id, note: None, created_at, updated_at };
    let rank = Rank(updated_at.as_microsecond(), row.id);
    Ok(vec![Item::new(&log, updated_at)?.ranked(rank, OnConflict::Row(Reason::DuplicateLogOfDay))])
}

/// The earliest date of a log.
const fn date_min() -> jiff::civil::Date {
    date(1900, 1, 1)
}

/// A browser's `PushSubscription` as JSON.
#[derive(Debug, Deserialize)]
struct Subscription {
    endpoint: String,
    keys: SubscriptionKeys,
}

#[derive(Debug, Deserialize)]
struct SubscriptionKeys {
    p256dh: String,
    auth: String,
}

fn subscription(text: &str) -> Result<Subscription, String> {
    let subscription: Subscription = serde_json::from_str(text).map_err(|error| error.to_string())?;
    let endpoint = &subscription.endpoint;
    if !endpoint.starts_with("https://") || endpoint.len() > URL_BYTES_MAX {
        return Err(format!("its endpoint is not an https address of at most {URL_BYTES_MAX} bytes"));
    }
    if subscription.keys.p256dh.is_empty() || subscription.keys.auth.is_empty() {
        return Err("it has no keys".to_owned());
    }
    Ok(subscription)
}

fn notification_setting(
    row: &NotificationSetting,
    options: &Options,
    left_out: &mut Vec<Reject>,
) -> Result<Vec<Item>, Reject> {
    deleted(&row.deleted_at)?;
    let user_id = user_id(required(&row.user_id, "user_id")?)?;
    let platform = required(&row.platform, "platform")?.trim().to_lowercase();
    if !["web", "ios", "android"].contains(&platform.as_str()) {
        return Err(reject(Reason::UnknownPlatform, platform));
    }
    let (created_at, updated_at) = options.made_and_changed(&row.created_at, &row.updated_at)?;
    let is_enabled = flag(row.is_enabled, "is_enabled", left_out);
    let rank = Rank(updated_at.as_microsecond(), row.id);
    let setting = rows::NotificationSetting {
        user_id: user_id.clone(),
        platform: platform.clone(),
        is_enabled,
        created_at,
        updated_at,
    };
    let mut items = vec![Item::new(&setting, updated_at)?.ranked(rank, OnConflict::Row(Reason::Duplicate))];
    let Some(text) = row.subscription_text().filter(|text| !text.trim().is_empty()) else { return Ok(items) };
    let Subscription { endpoint, keys } = match subscription(&text) {
        Ok(subscription) => subscription,
        Err(why) => {
            left_out.push(reject(Reason::UnreadableSubscription, why));
            return Ok(items);
        }
    };
    let subscription = rows::PushSubscription {
        user_id: user_id.clone(),
        platform,
        endpoint,
        p256dh: keys.p256dh,
        auth: keys.auth,
        is_enabled: true,
        disabled_because: None,
        failures: 0,
        last_sent_at: None,
        created_at,
        updated_at,
    };
    items.push(Item::new(&subscription, updated_at)?.ranked(rank, OnConflict::Row(Reason::Duplicate)));
    if is_enabled {
        // The old application reminded every user with a subscription in the evening, so each gets
        // a reminder.
        let id = UserId::new(user_id.clone()).map_err(|error| reject(Reason::InvalidId, error.to_string()))?;
        let due_at = next_due(REMINDER_TIME_DEFAULT, &options.log_zone, options.as_of);
        let reminder = rows::Reminder {
            user_id,
            is_enabled: true,
            time: REMINDER_TIME_DEFAULT,
            time_zone: options.zone_name(),
            due_partition: due_at.map(|due_at| due_partition(due_at, &id)),
            due_at,
            last_reminded_on: None,
            created_at,
            updated_at,
        };
        items.push(Item::new(&reminder, updated_at)?.ranked(rank, OnConflict::Merged));
    }
    Ok(items)
}
