use serde_json::value::to_raw_value;

use super::*;

fn with_body(body: &str, is_base64_encoded: bool) -> Request {
    let mut event = ApiGatewayV2httpRequest::default();
    event.body = Some(body.to_owned());
    event.is_base64_encoded = is_base64_encoded;
    Request::new(event)
}

fn name(outcome: Result<serde_json::Value, Problem>) -> Result<serde_json::Value, &'static str> {
    outcome.map_err(|problem| problem.name())
}

#[test]
fn a_body_is_json_plain_or_in_base64() {
    assert_eq!(with_body("[1]", false).json(10), Ok(serde_json::json!([1])));
    assert_eq!(with_body("WzFd", true).json(10), Ok(serde_json::json!([1])));
    assert_eq!(name(with_body("[1", false).json(10)), Err("invalid-body"));
    assert_eq!(name(with_body("", false).json(10)), Err("invalid-body"));
    assert_eq!(name(with_body("!", true).json(10)), Err("invalid-body"));
}

#[test]
fn body_over_the_limit_is_refused_before_parsing() {
    assert_eq!(name(with_body("[1,2,3]", false).json(6)), Err("body-too-large"));
    assert!(with_body("[1,2,3]", false).json::<serde_json::Value>(7).is_ok());
    let encoded = STANDARD.encode("[1,2,3]");
    assert_eq!(name(with_body(&encoded, true).json(6)), Err("body-too-large"));
    assert!(with_body(&encoded, true).json::<serde_json::Value>(7).is_ok());
}

#[test]
fn bytes_are_received_and_sent_in_base64() {
    assert_eq!(with_body("/wA=", true).bytes(2).as_deref(), Ok(&[0xff, 0x00][..]));
    assert_eq!(with_body("", false).bytes(2).as_deref(), Ok(&[][..]));
    let event = serde_json::to_value(Reply::bytes(200, "image/png", &[0xff, 0x00]).into_event()).expect("JSON");
    assert_eq!((&event["body"], &event["isBase64Encoded"]), (&"/wA=".into(), &true.into()));
}

#[test]
fn a_header_that_is_not_text_is_an_invalid_request() {
    let event = |header: &str| {
        let mut event = serde_json::to_value(ApiGatewayV2httpRequest::default()).expect("JSON");
        event["headers"] = serde_json::json!({ "x-name": header });
        let request = read(&to_raw_value(&event).expect("JSON"));
        request.map(|event| Request::new(*event).header("x-name").map(str::to_owned)).map_err(|problem| problem.name())
    };
    assert_eq!(event("plain"), Ok(Some("plain".to_owned())));
    assert_eq!(event("a\u{fffd}b"), Err("invalid-request"));
    assert_eq!(event("名"), Ok(None));
    assert_eq!(event("\u{7f}"), Err("invalid-request"));
}

#[test]
fn a_parameter_that_the_route_does_not_know_is_named() {
    let mut event = serde_json::to_value(ApiGatewayV2httpRequest::default()).expect("JSON");
    event["queryStringParameters"] = serde_json::json!({ "from": "2025-10-02", "too": "2025-10-03" });
    let request = Request::new(serde_json::from_value(event).expect("an event"));
    assert_eq!(request.allow_query_parameters(&["from", "to", "too"]), Ok(()));
    let problem = request.allow_query_parameters(&["from", "to"]).expect_err("an unknown one");
    assert_eq!(
        (problem.name(), problem.to_json()["detail"].as_str().map(|why| why.contains("`too`"))),
        ("invalid-parameter", Some(true))
    );
}

#[test]
fn the_media_type_with_the_clients_highest_weight_is_chosen() {
    for (accept, expected) in [
        ("", "application/json"),
        ("*/*", "application/json"),
        ("text/csv", "text/csv"),
        ("text/csv;q=0", "application/json"),
        ("text/csv; q=0, */*", "application/json"),
        ("text/csv;q=0.5, application/json", "application/json"),
        ("application/json;q=0.5, text/*", "text/csv"),
        ("text/csv, application/json", "text/csv"),
        ("application/json, text/csv", "application/json"),
        ("image/png", "application/json"),
    ] {
        let mut event = ApiGatewayV2httpRequest::default();
        event.headers.insert("accept", HeaderValue::from_static(accept));
        assert_eq!(Request::new(event).preferred_media_type(&["application/json", "text/csv"]), expected, "{accept}");
    }
}

#[test]
fn cookies_are_read_by_their_whole_name() {
    let mut event = ApiGatewayV2httpRequest::default();
    event.cookies = Some(["my-session=1", "session=a=b", "two=a", "two=b", "empty=", "none"].map(str::to_owned).into());
    let request = Request::new(event);
    for (name, value) in
        [("session", Some("a=b")), ("my-session", Some("1")), ("empty", Some("")), ("two", None), ("none", None)]
    {
        assert_eq!(request.cookie(name), value, "{name}");
    }
    assert_eq!(Request::default().cookie("session"), None);
}

#[test]
fn each_cookie_becomes_its_own_header() {
    let cookie = Cookie { name: "a", value: "b", path: "/okusuri", max_age: Duration::from_secs(60), is_secure: true };
    let plain = Cookie { name: "c", value: "", max_age: Duration::ZERO, is_secure: false, ..cookie };
    let reply = Reply::redirect("https://example.com/?a=b").cookie(&cookie).cookie(&plain);
    assert_eq!(reply.location(), Some("https://example.com/?a=b"));
    let event = serde_json::to_value(reply.into_event()).expect("JSON");
    assert_eq!(event["statusCode"], 302);
    let cookies = [
        "a=b; Path=/okusuri; Max-Age=60; HttpOnly; SameSite=Lax; Secure",
        "c=; Path=/okusuri; Max-Age=0; HttpOnly; SameSite=Lax",
    ];
    assert_eq!(event["cookies"], serde_json::json!(cookies));
}

#[test]
fn a_client_is_an_ipv4_address_or_an_ipv6_network() {
    for (source_ip, client) in [
        (Some("203.0.113.7"), Some("203.0.113.7")),
        (Some("2001:db8:1:2:3:4:5:6"), Some("2001:db8:1:2::")),
        (Some("::ffff:203.0.113.7"), Some("203.0.113.7")),
        (Some("unknown"), None),
        (None, None),
    ] {
        let mut event = ApiGatewayV2httpRequest::default();
        event.request_context.http.source_ip = source_ip.map(str::to_owned);
        let address = Request::new(event).client_address().map(|address| address.to_string());
        assert_eq!(address.as_deref(), client, "{source_ip:?}");
    }
}

#[test]
fn connection_is_plain_http_only_if_the_gateway_says_so() {
    for (proto, is_https) in [(Some("http"), false), (Some("https"), true), (None, true)] {
        let mut event = ApiGatewayV2httpRequest::default();
        event
            .headers
            .extend(proto.map(|proto| (HeaderName::from_static("x-forwarded-proto"), HeaderValue::from_static(proto))));
        assert_eq!(Request::new(event).is_https(), is_https, "{proto:?}");
    }
}
