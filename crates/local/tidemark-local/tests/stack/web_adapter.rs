//! A web server behind the Lambda Web Adapter.

use crate::support::Stage;

pub(crate) const LAYER: &str =
    "Layers: [!Sub \"arn:aws:lambda:${AWS::Region}:753240598075:layer:LambdaAdapterLayerX86:26\"]\n";

/// The stack of `support`, with a web server instead of the test function.
fn stage() -> Stage {
    let stage = Stage::new(LAYER, "");
    stage.replace("Binary: test_function", "Binary: web_server");
    stage
}

#[tokio::test]
async fn requests_reach_the_web_server_and_its_answers_the_client() {
    let running = stage().start().await;
    let url = &running.admin.addresses.http;
    let client = reqwest::Client::new();
    let answer = client.post(format!("{url}/things?a=b%20c")).body("hello").send().await.unwrap();
    assert_eq!(answer.status(), 200);
    assert_eq!(answer.text().await.unwrap(), "POST /things?a=b%20c contexts=true hello");
    let image = client.get(format!("{url}/things/image")).send().await.unwrap();
    assert_eq!(image.headers()["content-type"], "image/png");
    assert_eq!(&image.bytes().await.unwrap()[..], [137, 80, 255]);
}

#[tokio::test]
async fn another_event_is_posted_to_the_path_for_events() {
    let running = stage().start().await;
    let url = &running.admin.addresses.http;
    let invoke = format!("{url}/2015-03-31/functions/web_server/invocations");
    let answer = reqwest::Client::new().post(invoke).body(r#"{"Records":[]}"#).send().await.unwrap();
    let text: String = answer.json().await.unwrap();
    assert_eq!(text, r#"POST /events contexts=false {"Records":[]}"#);
}
