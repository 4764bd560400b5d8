//! Requests through the HTTP API to a real function.

use crate::support::Stage;
use reqwest::{Client, Method, StatusCode};
use serde_json::{Value, json};

#[tokio::test]
async fn a_request_reaches_its_function_and_the_answer_comes_back() {
    let running = Stage::new("", "").start().await;
    let http = &running.admin.addresses.http;
    let response = Client::new().get(format!("{http}/things/a%20b?x=1&x=2")).send().await.unwrap();
    assert_eq!(response.status(), StatusCode::OK);
    let event: Value = response.json().await.unwrap();
    assert_eq!(event["routeKey"], "GET /things/{id}");
    assert_eq!(event["pathParameters"], json!({"id": "a b"}));
    assert_eq!(event["queryStringParameters"], json!({"x": "1,2"}));
    assert_eq!(event["requestContext"]["http"]["sourceIp"], "127.0.0.1");

    let response = Client::new().get(format!("{http}/things/1?do=answer")).send().await.unwrap();
    assert_eq!((response.status().as_u16(), &response.headers()["x-test_function"]), (418, &"yes".parse().unwrap()));
    assert_eq!(response.text().await.unwrap(), "short and stout");
}

#[tokio::test]
async fn errors_of_the_gateway_have_the_messages_of_api_gateway() {
    let running = Stage::new("", "").start().await;
    let http = &running.admin.addresses.http;
    let cases = [
        (Method::GET, "/nowhere", 0, 404, "Not Found"),
        (Method::DELETE, "/things/1", 0, 404, "Not Found"),
        (Method::GET, "/things/1?do=fail", 0, 500, "Internal Server Error"),
        (Method::GET, "/things/1?do=crash", 0, 500, "Internal Server Error"),
        (Method::POST, "/things", 11 * 1024 * 1024, 413, "Request Entity Too Large"),
        (Method::POST, "/things", 7 * 1024 * 1024, 413, "Request Entity Too Large"),
    ];
    for (method, path, body_bytes, status, message) in cases {
        let request = Client::new().request(method, format!("{http}{path}")).body("x".repeat(body_bytes));
        let response = request.send().await.unwrap();
        assert_eq!(response.status().as_u16(), status, "{path}");
        assert_eq!(response.json::<Value>().await.unwrap(), json!({ "message": message }), "{path}");
    }
}

#[tokio::test]
async fn cors_is_answered_by_the_api() {
    let running = Stage::new("", "").start().await;
    let url = format!("{}/things/1", running.admin.addresses.http);
    let preflight = Client::new().request(Method::OPTIONS, &url).header("Origin", "https://page.example");
    let preflight = preflight.header("Access-Control-Request-Method", "GET").send().await.unwrap();
    assert_eq!(preflight.status(), StatusCode::NO_CONTENT);
    assert_eq!(preflight.headers()["access-control-allow-methods"], "GET,POST");
    let response = Client::new().get(&url).header("Origin", "https://page.example").send().await.unwrap();
    assert_eq!(response.headers()["access-control-allow-origin"], "https://page.example");
    let other = Client::new().get(&url).header("Origin", "https://other.example").send().await.unwrap();
    assert!(!other.headers().contains_key("access-control-allow-origin"));
}

#[tokio::test]
async fn pages_are_served_if_only_the_default_route_matches() {
    let stage = Stage::new("", "Rest: { Type: HttpApi, Properties: { Method: ANY, Path: $default } }");
    std::fs::create_dir_all(stage.path("pages/things")).unwrap();
    std::fs::write(stage.path("pages/index.html"), "<h1>page</h1>").unwrap();
    std::fs::write(stage.path("pages/things/1"), "a file").unwrap();
    let running = stage.start().await;
    let http = &running.admin.addresses.http;
    let get = async |path: &str| Client::new().get(format!("{http}{path}")).send().await.unwrap().text().await.unwrap();
    assert_eq!(get("/").await, "<h1>page</h1>");
    assert!(get("/things/1").await.contains("GET /things/{id}"), "a route comes before a file");
    assert!(get("/elsewhere").await.contains("\"routeKey\":\"$default\""));
    assert!(get("/..%2ftemplate.yaml").await.contains("\"routeKey\":\"$default\""), "nothing outside the folder");
    std::os::unix::fs::symlink(stage.path("template.yaml"), stage.path("pages/link")).unwrap();
    assert!(get("/link").await.contains("\"routeKey\":\"$default\""), "no link out of the folder");
    std::os::unix::fs::symlink("index.html", stage.path("pages/inner")).unwrap();
    assert_eq!(get("/inner").await, "<h1>page</h1>");
}

#[tokio::test]
async fn pages_are_compressed_if_the_client_accepts_it() {
    let stage = Stage::new("", "");
    std::fs::create_dir_all(stage.path("pages")).unwrap();
    let script = "export const wave = 'up and down';\n".repeat(1_000);
    std::fs::write(stage.path("pages/app.js"), &script).unwrap();
    let running = stage.start().await;
    let url = format!("{}/app.js", running.admin.addresses.http);
    let compressed = Client::new().get(&url).header("accept-encoding", "gzip, br").send().await.unwrap();
    assert_eq!(compressed.headers()["content-encoding"], "gzip");
    assert_eq!(compressed.headers()["vary"], "accept-encoding");
    assert!(compressed.bytes().await.unwrap().len() < script.len() / 10);
    let plain = Client::new().get(&url).send().await.unwrap();
    assert!(!plain.headers().contains_key("content-encoding"));
    assert_eq!(plain.text().await.unwrap(), script);
}

#[tokio::test]
async fn pages_and_matching_routes_respond_to_head() {
    let stage = Stage::new("", "Any: { Type: HttpApi, Properties: { Method: ANY, Path: /any } }");
    std::fs::create_dir_all(stage.path("pages")).unwrap();
    std::fs::write(stage.path("pages/index.html"), "<h1>page</h1>").unwrap();
    let running = stage.start().await;
    let head = async |path: &str| {
        let answer = Client::new().head(format!("{}{path}", running.admin.addresses.http)).send().await.unwrap();
        (
            answer.status().as_u16(),
            answer.headers().get("content-length").map(|length| length.to_str().unwrap().to_owned()),
        )
    };
    assert_eq!(head("/").await, (200, Some("13".to_owned())));
    assert_eq!(head("/any").await.0, 200);
    assert_eq!(head("/things/1").await.0, 404, "as in API Gateway, a GET route does not match HEAD");
    assert_eq!(head("/_local/health").await.0, 200);
}

#[tokio::test]
async fn health_lists_the_addresses_and_functions() {
    let running = Stage::new("", "").start().await;
    let url = format!("{}/_local/health", running.admin.addresses.http);
    let response = Client::new().get(&url).send().await.unwrap();
    assert_eq!(response.status(), StatusCode::OK);
    let health: Value = response.json().await.unwrap();
    assert_eq!(health["status"], "up");
    assert_eq!(health["addresses"]["dynamodb"], json!(running.admin.addresses.dynamodb));
    assert_eq!(health["functions"][0]["binary"], "test_function");
}

#[tokio::test]
async fn faults_are_set_and_read_and_unknown_ones_are_rejected() {
    let running = Stage::new("", "").start().await;
    let url = format!("{}/_local/faults", running.admin.addresses.http);
    let faults = json!({"engine": {"delay_ms": 1}, "functions": {"kill_after": {"next": 1}}});
    let set: Value = Client::new().put(&url).json(&faults).send().await.unwrap().json().await.unwrap();
    assert_eq!(set["engine"]["delay_ms"], 1);
    assert_eq!(set["functions"]["kill_after"]["next"], 1);
    let refused = Client::new().put(&url).json(&json!({"function": {}})).send().await.unwrap();
    assert_eq!(refused.status(), StatusCode::BAD_REQUEST);
}
