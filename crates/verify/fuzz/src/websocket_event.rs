//! An event of the WebSocket API.

#![no_main]

use lambda_kit::socket::SocketEvent;
use libfuzzer_sys::fuzz_target;
use serde_json::Value;

fuzz_target!(|event: &str| {
    let Ok(read) = serde_json::from_str::<SocketEvent>(event) else { return };
    // The parsed values equal those in the JSON. `Value` may fail for JSON that the event accepts:
    // it cannot hold numbers such as 1e999, which an ignored member may contain. Of a duplicate
    // member it keeps only one.
    let Ok(json) = serde_json::from_str::<Value>(event) else { return };
    if json.is_array() {
        return;
    }
    let context = &json["requestContext"];
    if context.is_object() {
        assert_eq!(context["connectionId"], read.connection_id());
        assert_eq!(context["routeKey"], read.route());
    }
    match read.text() {
        Some(text) => assert_eq!((&json["body"], json["isBase64Encoded"] == true), (&Value::from(text), false)),
        None => assert!(json["body"].is_null() || json["isBase64Encoded"] == true),
    }
    let ticket = read.query("ticket");
    assert_ne!(ticket, Some(""), "an empty parameter counts as missing");
    if let Some(ticket) = ticket {
        assert_eq!(json["queryStringParameters"]["ticket"], ticket);
    }
    let _ = read.close_code();
});
