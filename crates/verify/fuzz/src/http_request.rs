//! An event of the HTTP API, and all values that functions read from it.

#![no_main]

use aws_lambda_events::apigw::ApiGatewayV2httpRequest;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use lambda_kit::bearer::AccessToken;
use lambda_kit::http::Request;
use lambda_kit::page::limit;
use libfuzzer_sys::fuzz_target;
use secrecy::SecretString;
use serde_json::Value;

const BODY_BYTES_MAX: usize = 1024;

fuzz_target!(|event: &[u8]| {
    let Ok(event) = serde_json::from_slice::<ApiGatewayV2httpRequest>(event) else { return };
    let (body, is_base64_encoded) = (event.body.clone().unwrap_or_default(), event.is_base64_encoded);
    let request = Request::new(event);

    // The bytes of a body are within the limit, and equal to the sent ones.
    let bytes = request.bytes(BODY_BYTES_MAX);
    match &bytes {
        Ok(bytes) => {
            assert!(bytes.len() <= BODY_BYTES_MAX);
            let sent_again = if is_base64_encoded { STANDARD.encode(bytes).into_bytes() } else { bytes.to_vec() };
            assert_eq!(sent_again, body.as_bytes());
        }
        Err(problem) => assert!([400, 413].contains(&problem.status())),
    }
    match request.json::<Value>(BODY_BYTES_MAX) {
        Ok(value) => {
            assert_eq!(serde_json::from_slice::<Value>(&bytes.expect("it has just been read")).ok(), Some(value))
        }
        Err(problem) => assert!([400, 413].contains(&problem.status())),
    }

    let media_type = request.media_type();
    assert!(!media_type.contains(';') && media_type.trim() == media_type);
    assert_eq!(media_type, media_type.to_ascii_lowercase());
    assert_ne!(request.query("date"), Some(""), "an empty parameter counts as missing");
    match limit(&request, 50, 100) {
        Ok(limit) => assert!((1..=100).contains(&limit)),
        Err(problem) => assert_eq!(problem.status(), 400),
    }
    let _ = (request.route(), request.target(), request.source_ip(), request.is_https());
    let _ = (request.path_parameter("date"), request.cookie("session"));

    // Only a header that contains the token is accepted.
    let token = AccessToken::new(SecretString::from("a-token-of-the-operator"));
    let header = request.header("authorization");
    let holds_it = header.is_some_and(|header| header.contains("a-token-of-the-operator"));
    assert!(token.authorize(&request).is_err() || holds_it);
    assert_eq!(token.authorize_if_present(&request) == Ok(false), header.is_none());
});
