//! What differs between the kinds of API, as the table of `docs/any-template.md` says.

use std::collections::BTreeMap;

use reqwest::{Client, Response};
use serde_json::{Value, json};

use crate::support::{BALANCER, Stage};

const KINDS: [(&str, &str); 5] = [
    ("HTTP API, format 2.0", "ServerlessHttpApi"),
    ("HTTP API, format 1.0", "Old"),
    ("REST API", "ServerlessRestApi"),
    ("function URL", "TestFunctionUrl"),
    ("load balancer", "Listener"),
];

const EVENTS: &str = "
New: { Type: HttpApi, Properties: { Method: ANY, Path: '/v1/items/{id}' } }
NewList: { Type: HttpApi, Properties: { Method: ANY, Path: '/v1/items' } }
Old: { Type: HttpApi, Properties: { ApiId: !Ref Old, Method: ANY, Path: '/v1/items/{id}', PayloadFormatVersion: '1.0' } }
OldList: { Type: HttpApi, Properties: { ApiId: !Ref Old, Method: ANY, Path: '/v1/items', PayloadFormatVersion: '1.0' } }
Rest: { Type: Api, Properties: { Method: ANY, Path: '/v1/items/{id}' } }
RestList: { Type: Api, Properties: { Method: ANY, Path: '/v1/items' } }";

/// One API at this address.
struct Api(String);

impl Api {
    /// The event of a request to this path and query.
    async fn event(&self, path: &str, content_type: &str) -> Value {
        let request = Client::new().post(format!("{}{path}", self.0)).header("content-type", content_type).body("a=1");
        request.send().await.unwrap().json().await.unwrap()
    }

    /// The response for this result of the function.
    async fn respond(&self, result: &Value) -> Response {
        let request = Client::new().post(format!("{}/v1/items?do=return", self.0));
        request.header("content-type", "text/plain").body(result.to_string()).send().await.unwrap()
    }

    /// What the client gets for this result: a failure, the whole result, or the header `name`.
    async fn shown(&self, result: Value, name: &str) -> String {
        let response = self.respond(&result).await;
        let status = response.status().as_u16();
        let values = response.headers().get_all(name).iter().map(|value| value.to_str().unwrap().to_owned());
        let values = values.collect::<Vec<_>>().join(", ");
        let body = response.text().await.unwrap();
        let whole = result.as_str().map_or_else(|| result.to_string(), str::to_owned);
        match status {
            200 if body == whole => format!("the whole result, {values}"),
            200 if values.is_empty() => "no effect".to_owned(),
            200 => values,
            _ => status.to_string(),
        }
    }

    /// The name of a header in an event, as the client sent it or changed.
    async fn header_name(&self, sent: &str) -> String {
        let headers = self.raw(sent).await;
        let named = |name: &String| name.eq_ignore_ascii_case(sent);
        headers.as_object().unwrap().keys().find(|name| named(name)).cloned().unwrap_or_default()
    }

    /// The headers of the event for a request whose header has this spelling. Our HTTP client would
    /// change it.
    async fn raw(&self, name: &str) -> Value {
        use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
        let (host, path) = self.0.trim_start_matches("http://").split_once('/').unwrap_or((&self.0[7..], ""));
        let slash = if path.is_empty() { "" } else { "/" };
        let head = format!(
            "GET {slash}{path}/v1/items?do=show HTTP/1.1\r\nHost: {host}\r\n{name}: 1\r\nConnection: close\r\n\r\n"
        );
        let mut stream = tokio::net::TcpStream::connect(host).await.unwrap();
        stream.write_all(head.as_bytes()).await.unwrap();
        let mut reply = String::new();
        stream.read_to_string(&mut reply).await.unwrap();
        let event: Value = serde_json::from_str(reply.split_once("\r\n\r\n").unwrap().1).unwrap();
        event["headers"].clone()
    }

    /// The rows of the table: what is asked, and what this kind of API does.
    async fn rows(&self) -> Vec<(&'static str, String)> {
        let item = self.event("/v1/items/a%2Fb%20c?do=show&n=1&n=2&t=x%20y", "application/x-www-form-urlencoded").await;
        let first = |names: &[&str]| names.iter().find_map(|name| item.pointer(name)).cloned().unwrap_or_default();
        let text = |value: Value| value.as_str().map_or("none".to_owned(), |text| format!("`{text}`"));
        let slash = Client::new().get(format!("{}/v1/items/?do=show", self.0)).send().await.unwrap().status();
        let header = |name: &str| {
            let spelled = item["headers"].as_object().unwrap().keys().find(|other| other.eq_ignore_ascii_case(name));
            format!("`{}`", spelled.unwrap())
        };
        let is_base64 = item["isBase64Encoded"] == true;
        vec![
            ("path of `/v1/items/a%2Fb%20c`", text(first(&["/rawPath", "/path"]))),
            ("`id` in it, for the route `/v1/items/{id}`", text(first(&["/pathParameters/id"]))),
            ("`/v1/items/`, for the route `/v1/items`", slash.as_u16().to_string()),
            ("the parameter of `?n=1&n=2`", text(first(&["/queryStringParameters/n"]))),
            ("the parameter of `?t=x%20y`", text(first(&["/queryStringParameters/t"]))),
            ("a header `auth_ID`", format!("`{}`", self.header_name("auth_ID").await)),
            ("the id of the trace", header("x-amzn-trace-id")),
            ("the port", header("x-forwarded-port")),
            ("the body of a form", if is_base64 { "base64" } else { "text" }.to_owned()),
            ("a response without content type", {
                self.shown(json!({ "statusCode": 200, "body": "text" }), "content-type").await
            }),
            ("the same without `statusCode`", self.shown(json!({ "body": "text" }), "content-type").await),
            ("a `body` that is no text", self.shown(json!({ "statusCode": 200, "body": {} }), "content-type").await),
            ("a list of `cookies`", self.shown(json!({ "statusCode": 200, "cookies": ["a=1"] }), "set-cookie").await),
            ("`multiValueHeaders`", {
                self.shown(json!({ "statusCode": 200, "multiValueHeaders": { "x": ["1", "2"] } }), "x").await
            }),
            ("a result that is no JSON object", self.shown(json!("text"), "content-type").await),
        ]
    }
}

#[tokio::test]
async fn each_kind_of_api_does_what_the_table_says() {
    let stage = Stage::new("FunctionUrlConfig: { AuthType: NONE }", EVENTS.trim_start());
    stage.add_resources("  Old: { Type: AWS::Serverless::HttpApi }");
    stage.add_resources(BALANCER);
    let running = stage.start().await;
    let mut cells: BTreeMap<usize, (&str, Vec<String>)> = BTreeMap::new();
    for (_, name) in KINDS {
        let api = running.admin.addresses.apis.iter().find(|api| api.name == name).unwrap();
        for (row, (asked, cell)) in Api(api.url.clone()).rows().await.into_iter().enumerate() {
            cells.entry(row).or_insert((asked, Vec::new())).1.push(cell);
        }
    }
    running.stop().await;
    let head = KINDS.map(|(kind, _)| kind).join(" | ");
    let rows = cells.values().map(|(asked, cells)| format!("| {asked} | {} |\n", cells.join(" | ")));
    let table = format!("| | {head} |\n|---|---|---|---|---|---|\n{}", rows.collect::<String>());
    let page = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../docs/any-template.md");
    let page = std::fs::read_to_string(page).unwrap();
    assert!(page.contains(&table), "docs/any-template.md has another table than this:\n\n{table}");
}
