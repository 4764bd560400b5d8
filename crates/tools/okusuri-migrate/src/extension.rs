//! The conversions that only Okusuri needs, and the summary of logs that a change outdates.

use std::sync::Arc;

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use domain::UserId;
use domain::okusuri::{Email, REMINDER_TIME_DEFAULT, next_due};
use jiff::tz::TimeZone;
use okusuri_store::{Logs, due_partition, sha256_hex};
use serde::Deserialize;
use store_base::seal::Seal;
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
    Signature { name: SEAL, arguments: (0, usize::MAX) },
];

/// The conversion that encrypts a value in the context of its arguments.
const SEAL: &str = "seal";

/// The name of the service in the keys that are made of its secret.
const APPLICATION: &str = "tidemark okusuri";

#[derive(Debug)]
struct Okusuri {
    /// `None` if the secret is left out.
    seal: Option<Seal>,
}

/// The extension, which needs the secret `key`.
pub(crate) fn make(parameters: &Parameters) -> Result<Arc<dyn Extension>, String> {
    let seal = parameters.secrets.get("key").map(|secret| Seal::new(secret, APPLICATION)).transpose();
    Ok(Arc::new(Okusuri { seal: seal.map_err(|error| format!("the secret \"key\": {error}"))? }))
}

impl Extension for Okusuri {
    fn convert(&self, conversion: usize, input: &Value, arguments: &[Value]) -> Result<Value, Reject> {
        let text = input.text().unwrap_or_default();
        match (CONVERTS.get(conversion), &self.seal) {
            (Some(convert), _) => convert(&text, input, arguments),
            (None, None) => Ok(Value::Null),
            (None, Some(seal)) => {
                let context = context(arguments).ok_or_else(|| {
                    Reject::because(Reason::INVALID_VALUE, "a part of the context of a secret is missing")
                })?;
                Ok(Value::Bytes(seal.seal(&borrowed(&context), text.as_bytes())))
            }
        }
    }

    /// An address that was normalised already, and a text that was encrypted.
    fn invert(&self, conversion: usize, output: &Value, arguments: &[Value]) -> Option<Value> {
        match (CONVERSIONS.get(conversion)?.name, output) {
            ("email_address", Value::Text(_)) => Some(output.clone()),
            (SEAL, Value::Bytes(sealed)) => {
                let opened = self.seal.as_ref()?.open(&borrowed(&context(arguments)?), sealed).ok()?;
                String::from_utf8(opened).ok().map(Value::Text)
            }
            _ => None,
        }
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

/// The texts of the arguments. A context that lacks a part could be that of another value.
fn context(arguments: &[Value]) -> Option<Vec<String>> {
    arguments.iter().map(Value::text).collect()
}

fn borrowed(context: &[String]) -> Vec<&str> {
    context.iter().map(String::as_str).collect()
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
    use tidemark_migrate::mapping::Mapping;

    use super::*;

    #[test]
    fn the_mapping_has_no_error() {
        Mapping::read(include_str!("../okusuri.toml"), CONVERSIONS).unwrap();
        assert_eq!((CONVERSIONS.len(), CONVERSIONS[CONVERTS.len()].name), (CONVERTS.len() + 1, SEAL));
    }

    #[test]
    fn a_token_is_encrypted_for_its_owner_and_read_again() {
        let of = |text: &str| Value::Text(text.to_owned());
        let secrets = [("key".to_owned(), "a secret of thirty-two characters".into())].into();
        let okusuri = make(&Parameters { secrets, ..Parameters::default() }).unwrap();
        let sealed = okusuri.convert(CONVERTS.len(), &of("token"), &[of("ann")]).unwrap();
        let opened = |user: &str| okusuri.invert(CONVERTS.len(), &sealed, &[of(user)]);
        assert_eq!((opened("ann"), opened("bob")), (Some(of("token")), None));
        assert!(okusuri.convert(CONVERTS.len(), &of("token"), &[Value::Null]).is_err());
        let without = make(&Parameters::default()).unwrap();
        assert_eq!(without.convert(CONVERTS.len(), &of("token"), &[of("ann")]), Ok(Value::Null));
        let short = [("key".to_owned(), "short".into())].into();
        assert!(make(&Parameters { secrets: short, ..Parameters::default() }).is_err());
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
