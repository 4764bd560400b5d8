//! REST APIs, further APIs and function URLs, each at an address of its own.

use crate::support::Stage;
use reqwest::{Client, Method};
use serde_json::{Value, json};
use tidemark_local::startup::RunningStack;

const EVENTS: &str = "Rest: { Type: Api, Properties: { Method: any, Path: '/rest/{id}' } }
Old: { Type: HttpApi, Properties: { Method: GET, Path: /old, PayloadFormatVersion: '1.0' } }";

fn url(running: &RunningStack, name: &str) -> String {
    let apis = &running.admin.addresses.apis;
    apis.iter().find(|api| api.name == name).unwrap_or_else(|| panic!("{apis:?}")).url.clone()
}

async fn start() -> RunningStack {
    Stage::new("FunctionUrlConfig: { AuthType: NONE }", EVENTS).start().await
}

#[tokio::test]
async fn rest_api_sends_format_1_with_and_without_its_stage() {
    let running = start().await;
    let rest = url(&running, "ServerlessRestApi");
    assert!(rest.ends_with("/Prod"), "{rest}");
    for base in [rest.as_str(), rest.trim_end_matches("/Prod")] {
        let event: Value = Client::new()
            .put(format!("{base}/rest/7?x=1&do=echo"))
            .body("text")
            .send()
            .await
            .unwrap()
            .json()
            .await
            .unwrap();
        // The test function returns its event, which is no response of format 1.0.
        assert_eq!(event, json!({ "message": "Internal server error" }));
    }
    let answer = Client::new().get(format!("{rest}/rest/7?do=answer")).send().await.unwrap();
    assert_eq!((answer.status().as_u16(), &answer.headers()["x-test_function"]), (418, &"yes".parse().unwrap()));
}

#[tokio::test]
async fn a_rest_api_has_errors_in_its_own_words() {
    let running = start().await;
    let rest = url(&running, "ServerlessRestApi");
    let cases = [
        (Method::GET, "/nowhere", 403, "Missing Authentication Token"),
        (Method::GET, "/rest/1?do=fail", 502, "Internal server error"),
        (Method::GET, "/rest/1?do=crash", 502, "Internal server error"),
    ];
    for (method, path, status, message) in cases {
        let response = Client::new().request(method, format!("{rest}{path}")).send().await.unwrap();
        assert_eq!(response.status().as_u16(), status, "{path}");
        assert_eq!(response.json::<Value>().await.unwrap(), json!({ "message": message }), "{path}");
    }
}

#[tokio::test]
async fn function_url_takes_every_path_http_api_sends_format_1() {
    let running = start().await;
    let of_function = url(&running, "TestFunctionUrl");
    let event: Value = Client::new().get(format!("{of_function}/any/path")).send().await.unwrap().json().await.unwrap();
    assert_eq!(
        (&event["version"], &event["routeKey"], &event["rawPath"]),
        (&json!("2.0"), &json!("$default"), &json!("/any/path"))
    );
    let http = &running.admin.addresses.http;
    assert_eq!(url(&running, "ServerlessHttpApi"), *http);
    let answer = Client::new().get(format!("{http}/old?do=answer")).send().await.unwrap();
    assert_eq!(answer.status().as_u16(), 418);
}
