//! Results that a function sends part by part.

use reqwest::{Client, Response};
use serde_json::{Value, json};
use tidemark_local::startup::RunningStack;

use crate::support::{Stage, until};

const LAYER: &str = "Layers: [!Sub \"arn:aws:lambda:${AWS::Region}:753240598075:layer:LambdaAdapterLayerX86:26\"]\n";

/// A stack with a function of this binary, at a URL with this mode.
fn stage(binary: &str, mode: &str, properties: &str) -> Stage {
    let url = format!("FunctionUrlConfig: {{ AuthType: NONE, InvokeMode: {mode} }}\n{properties}");
    let stage = Stage::new(&url, "");
    stage.replace("Binary: test_function", &format!("Binary: {binary}"));
    stage
}

fn url(running: &RunningStack) -> String {
    let apis = &running.admin.addresses.apis;
    apis.iter().find(|api| api.name == "TestFunctionUrl").unwrap().url.clone()
}

/// The next part, as text.
async fn part(response: &mut Response) -> String {
    String::from_utf8(response.chunk().await.unwrap().unwrap().to_vec()).unwrap()
}

/// A stream after its first part. On a busy machine, the function may time out before that.
async fn begun(running: &RunningStack) -> Response {
    for _ in 0..60 {
        let Ok(mut response) = Client::new().get(url(running)).send().await else { continue };
        if response.chunk().await.is_ok_and(|part| part.is_some_and(|part| part == "first ")) {
            return response;
        }
    }
    panic!("no stream begins");
}

#[tokio::test]
async fn url_streams_each_part_when_the_function_sends_it() {
    let stage = stage("test_streaming_function", "RESPONSE_STREAM", "");
    let running = stage.start().await;
    let mut response = Client::new().get(url(&running)).send().await.unwrap();
    assert_eq!(
        (response.status().as_u16(), &response.headers()["content-type"]),
        (202, &"text/x-parts".parse().unwrap())
    );
    let cookies: Vec<_> =
        response.headers().get_all("set-cookie").iter().map(|cookie| cookie.to_str().unwrap()).collect();
    assert_eq!(cookies, ["a=1", "b=2; HttpOnly"]);
    // The function waits for the gate now.
    assert_eq!(part(&mut response).await, "first ");
    stage.open_gate();
    assert_eq!(response.text().await.unwrap(), "last");
    // The instance takes the next request.
    assert_eq!(Client::new().get(url(&running)).send().await.unwrap().text().await.unwrap(), "first last");
}

#[tokio::test]
async fn process_that_ends_within_its_stream_cuts_the_connection() {
    let stage = stage("test_streaming_function", "RESPONSE_STREAM", "");
    let running = stage.start().await;
    let mut response = Client::new().get(format!("{}?do=crash", url(&running))).send().await.unwrap();
    assert_eq!(part(&mut response).await, "first ");
    stage.open_gate();
    assert!(response.chunk().await.is_err());
}

#[tokio::test]
async fn stream_that_outlasts_the_timeout_is_cut() {
    let stage = stage("test_streaming_function", "RESPONSE_STREAM", "");
    stage.replace("Timeout: 29", "Timeout: 1");
    let running = stage.start().await;
    let mut response = begun(&running).await;
    assert!(response.chunk().await.is_err());
}

#[tokio::test]
async fn failed_stream_that_nobody_reads_frees_its_instance() {
    let stage = stage("test_streaming_function", "RESPONSE_STREAM", "");
    stage.replace("Timeout: 29", "Timeout: 1");
    let running = stage.start().await;
    let pool = running.admin.functions.get("TestFunction").unwrap();
    let unread = pool.invoke_streaming("{}".into()).await.unwrap();
    until("the end of the invocation", || pool.busy_instances() == 0).await;
    drop(unread);
}

#[tokio::test]
async fn buffered_url_joins_what_was_streamed() {
    let stage = stage("test_streaming_function", "BUFFERED", "");
    stage.open_gate();
    let running = stage.start().await;
    let response = Client::new().get(url(&running)).send().await.unwrap();
    assert_eq!((response.status().as_u16(), response.headers()["content-length"].to_str().unwrap()), (202, "10"));
    assert_eq!(response.text().await.unwrap(), "first last");
    let failed = Client::new().get(format!("{}?do=crash", url(&running))).send().await.unwrap();
    assert_eq!(failed.status(), 502);
}

#[tokio::test]
async fn streaming_url_sends_a_whole_result_as_it_is() {
    let running = stage("test_function", "RESPONSE_STREAM", "").start().await;
    let response = Client::new().get(format!("{}?do=answer", url(&running))).send().await.unwrap();
    assert_eq!(response.status(), 200);
    assert_eq!(response.json::<Value>().await.unwrap()["statusCode"], 418);
}

#[tokio::test]
async fn web_adapter_streams_the_answer_of_its_server() {
    let stage = stage("web_server", "RESPONSE_STREAM", LAYER);
    stage.replace("Variables:\n", "Variables:\n          AWS_LWA_INVOKE_MODE: response_stream\n");
    let running = stage.start().await;
    let mut response = Client::new().get(format!("{}/things/parts", url(&running))).send().await.unwrap();
    assert_eq!(response.status(), 200);
    assert_eq!(part(&mut response).await, "first ");
    stage.open_gate();
    assert_eq!(response.text().await.unwrap(), "last");
}

/// The events of a stream: the type, and the payload.
fn events(mut bytes: &[u8]) -> Vec<(String, String)> {
    let mut events = Vec::new();
    let number = |bytes: &[u8], at: usize| u32::from_be_bytes(bytes[at..at + 4].try_into().unwrap());
    while !bytes.is_empty() {
        let (length, headers) = (number(bytes, 0) as usize, number(bytes, 4) as usize);
        assert_eq!(number(bytes, 8), crc32(&bytes[..8]));
        assert_eq!(number(bytes, length - 4), crc32(&bytes[..length - 4]));
        let names = String::from_utf8_lossy(&bytes[12..12 + headers]);
        let kind = ["PayloadChunk", "InvokeComplete"].into_iter().find(|kind| names.contains(kind)).unwrap();
        let payload = String::from_utf8(bytes[12 + headers..length - 4].to_vec()).unwrap();
        events.push((kind.to_owned(), payload));
        bytes = &bytes[length..];
    }
    events
}

fn crc32(bytes: &[u8]) -> u32 {
    !bytes.iter().fold(!0, |crc: u32, byte| {
        (0..8).fold(crc ^ u32::from(*byte), |crc, _| (crc >> 1) ^ (0xEDB8_8320 & (crc & 1).wrapping_neg()))
    })
}

#[tokio::test]
async fn invocation_with_a_response_stream_gets_parts_as_events() {
    let streaming = stage("test_streaming_function", "BUFFERED", "");
    streaming.open_gate();
    for (stage, event, expected) in [
        (&streaming, json!({}), ("first last", json!({}))),
        (&stage("test_function", "BUFFERED", ""), json!({ "do": "context" }), ("functionArn", json!({}))),
        (&stage("test_function", "BUFFERED", ""), json!({ "do": "fail" }), ("", json!({ "ErrorCode": "Unhandled" }))),
    ] {
        let running = stage.start().await;
        let http = &running.admin.addresses.http;
        let url = format!("{http}/2021-11-15/functions/TestFunction/response-streaming-invocations");
        let response = Client::new().post(url).body(event.to_string()).send().await.unwrap();
        assert_eq!(response.headers()["content-type"], "application/vnd.amazon.eventstream");
        let events = events(&response.bytes().await.unwrap());
        let (last, parts) = events.split_last().unwrap();
        let joined: String =
            parts.iter().map(|(kind, part)| (kind == "PayloadChunk").then_some(&**part).unwrap()).collect();
        assert!(joined.contains(expected.0), "{events:?}");
        let end: Value = serde_json::from_str(&last.1).unwrap();
        assert_eq!((&*last.0, &end["ErrorCode"]), ("InvokeComplete", &expected.1["ErrorCode"]));
        running.stop().await;
    }
}
