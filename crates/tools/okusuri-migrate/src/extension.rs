//! The conversions that only Okusuri needs, and the summary of logs that a change outdates.

use std::sync::Arc;

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use domain::UserId;
use domain::okusuri::{Email, REMINDER_TIME_DEFAULT, next_due};
use jiff::tz::TimeZone;
use okusuri_store::{Logs, due_partition, sha256_hex};
use serde::Deserialize;
use tidemark_migrate::item::Key;
use tidemark_migrate::mapping::value::Value;
use tidemark_migrate::mapping::{Extension, Parameters, Signature, Writing};
use tidemark_migrate::reject::{Reason, Reject};

/// The longest address of a picture or a push service, in bytes.
const URL_BYTES_MAX: usize = 2_048;

/// The largest picture that is stored in the table, in bytes.
const IMAGE_BYTES_MAX: usize = 256 * 1024;

const UNREADABLE_IMAGE: Reason = Reason::new("unreadable-image");

/// A conversion, and what it does with a value and its arguments.
type Convert = fn(&str, &Value, &[Value]) -> Result<Value, Reject>;

const CONVERTS: [Convert; 7] = [
    |text, _, _| email_address(text),
    |text, _, _| picture_address(text),
    |text, _, _| Ok(picture(text).map_or(Value::Null, |(kind, _)| Value::Text(kind))),
    |text, _, _| Ok(picture(text).map_or(Value::Null, |(_, bytes)| Value::Bytes(bytes))),
    |text, _, _| push_subscription(text),
    |_, input, arguments| due(input, arguments),
    |_, input, arguments| partition_of(input, arguments),
];

/// In the order of [`CONVERTS`].
pub(crate) const CONVERSIONS: &[Signature] = &[
    Signature { name: "email_address", arguments: (0, 0) },
    Signature { name: "picture_address", arguments: (0, 0) },
    Signature { name: "picture_type", arguments: (0, 0) },
    Signature { name: "picture_bytes", arguments: (0, 0) },
    Signature { name: "push_subscription", arguments: (0, 0) },
    Signature { name: "next_due", arguments: (1, 1) },
    Signature { name: "due_partition", arguments: (1, 1) },
];

#[derive(Debug)]
struct Okusuri;

/// The extension, which needs no parameters.
pub(crate) fn make(_parameters: &Parameters) -> Result<Arc<dyn Extension>, String> {
    Ok(Arc::new(Okusuri))
}

impl Extension for Okusuri {
    fn convert(&self, conversion: usize, input: &Value, arguments: &[Value]) -> Result<Value, Reject> {
        let text = input.text().unwrap_or_default();
        CONVERTS.get(conversion).map_or(Ok(Value::Null), |convert| convert(&text, input, arguments))
    }

    /// An address that was normalised already.
    fn invert(&self, conversion: usize, output: &Value, _arguments: &[Value]) -> Option<Value> {
        let name = CONVERSIONS.get(conversion)?.name;
        (name == "email_address" && matches!(output, Value::Text(_))).then(|| output.clone())
    }

    /// The service stores a summary of a user's logs, which changed logs make outdated.
    fn before_write<'a>(&'a self, table: &'a store_base::Table, owner: &'a str, keys: &'a [Key]) -> Writing<'a> {
        Box::pin(async move {
            if !keys.iter().any(|key| key.sort.starts_with("MEDICATION#")) {
                return Ok(());
            }
            let user = UserId::new(owner).map_err(|error| store_base::StoreError::Refused(error.to_string()))?;
            Logs::new(table).forget_summary(&user).await.map(drop)
        })
    }
}

/// The normalised address.
fn email_address(text: &str) -> Result<Value, Reject> {
    let email = Email::new(text).map_err(|error| Reject::because(Reason::new("invalid-email"), error.to_string()))?;
    Ok(Value::Text(email.to_string()))
}

/// The type and the bytes of a picture in a `data:` URL.
fn picture(text: &str) -> Option<(String, Vec<u8>)> {
    let (kind, data) = text.strip_prefix("data:")?.split_once(";base64,")?;
    let is_known = ["image/png", "image/jpeg", "image/webp"].contains(&kind);
    let bytes = BASE64_STANDARD.decode(data).ok()?;
    (is_known && bytes.len() <= IMAGE_BYTES_MAX).then(|| (kind.to_owned(), bytes))
}

/// The address of a picture, or `self:<etag>` of a picture that is stored in the table.
fn picture_address(text: &str) -> Result<Value, Reject> {
    let unreadable = |why: &str| Err(Reject::because(UNREADABLE_IMAGE, why));
    if text.starts_with("https://") || text.starts_with("http://") {
        return match text.len() {
            0..=URL_BYTES_MAX => Ok(Value::Text(text.to_owned())),
            _ => unreadable("its address is too long"),
        };
    }
    match picture(text) {
        Some((_, bytes)) => Ok(Value::Text(format!("self:{}", &sha256_hex(&bytes)[..16]))),
        None => unreadable("it is neither an address nor a PNG, JPEG or WebP picture of at most 256 KB in base64"),
    }
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

/// The JSON of a subscription that can be used.
fn push_subscription(text: &str) -> Result<Value, Reject> {
    let unreadable = |why: String| Err(Reject::because(Reason::new("unreadable-subscription"), why));
    // In a column of JSON, the text may be a JSON string with the JSON.
    let inner: Option<String> = serde_json::from_str(text).ok();
    let text = inner.as_deref().unwrap_or(text);
    let subscription: Subscription = match serde_json::from_str(text) {
        Ok(subscription) => subscription,
        Err(error) => return unreadable(error.to_string()),
    };
    let Subscription { endpoint, keys } = subscription;
    if !endpoint.starts_with("https://") || endpoint.len() > URL_BYTES_MAX {
        return unreadable(format!("its endpoint is not an https address of at most {URL_BYTES_MAX} bytes"));
    }
    if keys.p256dh.is_empty() || keys.auth.is_empty() {
        return unreadable("it has no keys".to_owned());
    }
    Ok(Value::Json(text.to_owned()))
}

/// The instant and the text that a reminder needs.
fn due(input: &Value, arguments: &[Value]) -> Result<Value, Reject> {
    let zone = arguments.first().and_then(Value::text).and_then(|name| TimeZone::get(&name).ok());
    match (input, zone) {
        (Value::Instant(at), Some(zone)) => {
            Ok(next_due(REMINDER_TIME_DEFAULT, &zone, *at).map_or(Value::Null, Value::Instant))
        }
        _ => Err(Reject::because(Reason::INVALID_VALUE, "next_due takes an instant and a zone")),
    }
}

fn partition_of(input: &Value, arguments: &[Value]) -> Result<Value, Reject> {
    let user = arguments.first().and_then(Value::text).unwrap_or_default();
    match (input, UserId::new(user)) {
        (Value::Instant(at), Ok(user)) => Ok(Value::Text(due_partition(*at, &user))),
        _ => Err(Reject::because(Reason::INVALID_VALUE, "due_partition takes an instant and a user")),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use tidemark_migrate::mapping::Mapping;

    use super::*;

    #[test]
    fn the_mapping_has_no_error() {
        Mapping::read(include_str!("../okusuri.toml"), CONVERSIONS).unwrap();
        assert_eq!(CONVERSIONS.len(), CONVERTS.len());
    }

    #[test]
    fn unusable_pictures_and_subscriptions_are_reported() {
        let converted = |name: &str, text: &str| {
            let place = CONVERSIONS.iter().position(|conversion| conversion.name == name).unwrap();
            let made = make(&Parameters::default()).unwrap().convert(place, &Value::Text(text.to_owned()), &[]);
            made.map(|value| value.text().unwrap_or_default()).map_err(|reject| reject.reason.to_string())
        };
        assert_eq!(converted("picture_address", "https://example.com/1.png").unwrap(), "https://example.com/1.png");
        assert_eq!(converted("picture_address", "data:image/png;base64,QUJD").unwrap(), "self:b5d4045c3f466fa9");
        for text in [
            "data:image/svg+xml;base64,QUJD",
            "data:image/png;base64,!",
            "picture",
            &format!("https://{}", "x".repeat(3_000)),
        ] {
            assert_eq!(converted("picture_address", text), Err("unreadable-image".to_owned()), "{text}");
        }
        let subscription = r#"{"endpoint":"https://push.example.com/1","keys":{"p256dh":"a","auth":"b"}}"#;
        assert_eq!(converted("push_subscription", subscription).unwrap(), subscription);
        for text in ["{", "{}", &subscription.replace("https", "http"), &subscription.replace("\"a\"", "\"\"")] {
            assert_eq!(converted("push_subscription", text), Err("unreadable-subscription".to_owned()), "{text}");
        }
        assert_eq!(converted("email_address", " Ann@Example.COM ").unwrap(), "ann@example.com");
        assert_eq!(converted("email_address", "nobody"), Err("invalid-email".to_owned()));
    }
}
