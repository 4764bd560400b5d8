//! Tests against the standards' own examples.

use p256::SecretKey;
use p256::ecdsa::signature::Verifier as _;
use p256::ecdsa::{Signature, VerifyingKey};
use secrecy::SecretString;
use serde_json::Value;

use super::*;

/// The browser's keys, and a message to that browser, of RFC 8291, section 5.
const PRIVATE: &str = "q1dXpw3UpT5VOmu_cf_v6ih07Aems3njxI-JWgLcM94";
const P256DH: &str = "BCVxsr7N_eNgVRqvHtD0zTZsEc6-VV-JvLexhqUzORcxaOzi6-AYWXvTBHm4bjyPjs7Vd8pZGH6SRpkNtoIAiw4";
/// The private key of the example's sender.
const SENDER: &str = "yfWPiYE-n46HLnH0KqZOF1fJJU3MYrct3AELtAQ-oRw";
const AUTH: &str = "BTBZMqHH6r4Tts7J_aSIgg";
const MESSAGE: &str = "DGv6ra1nlYgDCS1FRnbzlwAAEABBBP4z9KsN6nGRTbVYI_c7VJSPQTBtkgcy27mlmlMoZIIgDll6e3vCYLocInmYWAmS6TlzAC8wEqKK6PBru3jl7A_yl95bQpu6cVPTpK4Mqgkf1CXztLVBSt2Ks3oZwbuwXPXLWyouBWLVWGNWQexSgSxsj_Qulcy4a-fN";

const NOW: &str = "2026-11-22T13:00:00Z";

fn bytes(text: &str) -> Vec<u8> {
    URL_SAFE_NO_PAD.decode(text).unwrap()
}

fn key(secret: &str) -> Result<VapidKey, VapidKeyError> {
    VapidKey::new(&SecretString::from(secret.to_owned()), "mailto:operator@example.com")
}

// The tests of reminders decrypt whole messages with a library of its own.
#[test]
fn a_message_is_encrypted_like_the_standards_example() {
    let subscriber = Subscriber::new("https://push.example/x", P256DH, AUTH).unwrap();
    let sender = SecretKey::from_slice(&bytes(SENDER)).unwrap();
    let salt = bytes(MESSAGE)[..16].try_into().unwrap();
    let content = b"When I grow up, I want to be a watermelon";
    let sealed = encryption::encrypt_with(content, &subscriber.key, &subscriber.auth, &sender, &salt);
    assert_eq!(URL_SAFE_NO_PAD.encode(sealed), MESSAGE);
    let seal = || encrypt(content, &subscriber.key, &subscriber.auth).unwrap();
    assert_ne!(seal(), seal(), "each message has a key and a salt of its own");
}

#[test]
fn each_invalid_part_of_a_subscription_has_its_own_error() {
    let endpoint = "https://push.example/x";
    let long = format!("https://push.example/{}", "x".repeat(ENDPOINT_BYTES_MAX));
    // One character is changed, so this is no longer a point of the curve.
    let off_curve = P256DH.replace("BCVx", "BCVy");
    for (endpoint, p256dh, auth, expected) in [
        ("not an address", P256DH, AUTH, SubscriberError::Endpoint),
        (&long, P256DH, AUTH, SubscriberError::Endpoint),
        ("https://push.example:22/x", P256DH, AUTH, SubscriberError::Endpoint),
        ("https://push.example:8443/x", P256DH, AUTH, SubscriberError::Endpoint),
        (endpoint, "", AUTH, SubscriberError::Key),
        (endpoint, &off_curve, AUTH, SubscriberError::Key),
        (endpoint, &P256DH[1..], AUTH, SubscriberError::Key),
        (endpoint, P256DH, "", SubscriberError::Auth),
        (endpoint, P256DH, "AAAA", SubscriberError::Auth),
        (endpoint, P256DH, "no base64!", SubscriberError::Auth),
    ] {
        assert_eq!(Subscriber::new(endpoint, p256dh, auth).err(), Some(expected), "{endpoint} {p256dh} {auth}");
    }
    assert!(Subscriber::new("https://push.example:443/x", P256DH, AUTH).is_ok());
    assert!(Subscriber::new(endpoint, &format!("{P256DH}="), &format!("{AUTH}==")).is_ok());
}

#[test]
fn vapid_key_is_used_unchanged_or_derived_from_a_secret() {
    assert_eq!(key(PRIVATE).unwrap().public(), P256DH);
    let derived = key("any secret of sixty-four letters and digits").unwrap().public();
    assert_eq!(derived, key("any secret of sixty-four letters and digits\n").unwrap().public());
    assert_ne!(derived, key("any secret of sixty-four letters and digitz").unwrap().public());
    // If this assertion fails, the derivation has changed, and every subscription would be lost.
    assert_eq!(derived, "BF0LYcBmxd4g5TMLiqRXyO4TqDXlHWcC_yzceWWiz3uLrWCO6Yx5DF-UjMncNqKdsBctCaaux84LZAPZeWAiG1Q");
    assert_eq!(key("too short").unwrap_err(), VapidKeyError::TooShort);
    assert_eq!(key(&URL_SAFE_NO_PAD.encode([0; 32])).unwrap_err(), VapidKeyError::NotAKey);
}

#[test]
fn a_push_service_can_verify_the_sender() {
    let key = key(PRIVATE).unwrap();
    let now: Timestamp = NOW.parse().unwrap();
    for (endpoint, audience) in [
        ("https://push.example/a/b?c", "https://push.example"),
        ("https://push.example:443/", "https://push.example"),
        ("https://push.example:8443/", "https://push.example:8443"),
        ("http://127.0.0.1:9000/x", "http://127.0.0.1:9000"),
    ] {
        let header = key.authorization(&endpoint.parse().unwrap(), now);
        let (token, public) = header.strip_prefix("vapid t=").unwrap().split_once(", k=").unwrap();
        assert_eq!(public, P256DH);
        let (signed, signature) = token.rsplit_once('.').unwrap();
        let verifying = VerifyingKey::from_sec1_bytes(&bytes(public)).unwrap();
        verifying.verify(signed.as_bytes(), &Signature::from_slice(&bytes(signature)).unwrap()).unwrap();
        let claims: Value = serde_json::from_slice(&bytes(signed.split_once('.').unwrap().1)).unwrap();
        let expiry = now.as_second() + 12 * 3_600;
        assert_eq!(claims, serde_json::json!({ "aud": audience, "exp": expiry, "sub": "mailto:operator@example.com" }));
    }
}

#[test]
fn a_token_is_cached_and_renewed_before_it_expires() {
    let key = key(PRIVATE).unwrap();
    let at = |minutes: i64| NOW.parse::<Timestamp>().unwrap() + jiff::SignedDuration::from_mins(minutes);
    let token = |minutes| key.authorization(&"https://push.example/".parse().unwrap(), at(minutes));
    assert_eq!(token(0), token(10 * 60));
    assert_ne!(token(0), token(11 * 60 + 1));
}

#[test]
fn retry_after_is_a_number_of_seconds_or_a_date() {
    let now: Timestamp = NOW.parse().unwrap();
    for (text, expected) in [
        ("2", Some(2)),
        ("0", Some(0)),
        ("Sun, 22 Nov 2026 13:00:30 GMT", Some(30)),
        ("Sun, 22 Nov 2026 12:00:00 GMT", Some(0)),
        ("soon", None),
        ("-1", None),
    ] {
        let headers = HeaderMap::from_iter([(header::RETRY_AFTER, HeaderValue::from_static(text))]);
        assert_eq!(retry_after(&headers, now), expected.map(Duration::from_secs), "{text}");
    }
}
