//! Mails that functions send with the SDK's client, and the page that shows them.

use crate::support::Stage;
use aws_config::{BehaviorVersion, Region};
use aws_sdk_sesv2::Client;
use aws_sdk_sesv2::config::Credentials;
use aws_sdk_sesv2::types::{Body, Content, Destination, EmailContent, Message};
use reqwest::{Method, StatusCode};
use serde_json::Value;
use tidemark_local::startup::RunningStack;

fn client(running: &RunningStack) -> Client {
    let config = aws_config::SdkConfig::builder()
        .behavior_version(BehaviorVersion::latest())
        .region(Region::new("us-east-1"))
        .credentials_provider(aws_sdk_sesv2::config::SharedCredentialsProvider::new(Credentials::for_tests()))
        .endpoint_url(format!("{}{}", running.admin.addresses.http, tidemark_local::mail::PATH))
        .http_client(aws_smithy_http_client::Builder::new().build_http())
        .build();
    Client::new(&config)
}

fn content(text: &str) -> Content {
    Content::builder().data(text).charset("UTF-8").build().unwrap()
}

async fn page(running: &RunningStack, accept: &str, host: Option<&str>) -> reqwest::Response {
    let url = format!("{}{}", running.admin.addresses.http, tidemark_local::mail::PAGE);
    let request = reqwest::Client::new().request(Method::GET, url).header("accept", accept);
    host.into_iter().fold(request, |request, host| request.header("host", host)).send().await.unwrap()
}

#[tokio::test]
async fn mails_of_functions_are_shown_on_this_machine_only() {
    let running = Stage::new("", "").start().await;
    let client = client(&running);
    let send = |to: &str, subject: &str| {
        let body = Body::builder().text(content("確認コード: 123456")).html(content("<b>123456</b>")).build();
        let message = Message::builder().subject(content(subject)).body(body).build();
        client
            .send_email()
            .from_email_address("okusuri@example.com")
            .destination(Destination::builder().to_addresses(to).build())
            .content(EmailContent::builder().simple(message).build())
            .send()
    };
    let first = send("ann@example.com", "First").await.unwrap().message_id.unwrap();
    send("bob@example.com", "Second").await.unwrap();
    let refused = send("nobody", "Third").await.unwrap_err().into_service_error();
    assert!(refused.is_bad_request_exception(), "{refused:?}");

    let mails: Value = page(&running, "application/json", None).await.json().await.unwrap();
    let subjects: Vec<_> = mails["items"].as_array().unwrap().iter().map(|mail| mail["subject"].clone()).collect();
    assert_eq!(subjects, ["Second", "First"]);
    let mail = &mails["items"][1];
    assert_eq!(mail["messageId"], first);
    assert_eq!(mail["to"], serde_json::json!(["ann@example.com"]));
    assert_eq!((&mail["text"], &mail["html"]), (&"確認コード: 123456".into(), &"<b>123456</b>".into()));

    let html = page(&running, "text/html", None).await;
    assert!(html.headers()["content-security-policy"].to_str().unwrap().contains("default-src 'none'"));
    assert!(html.text().await.unwrap().contains("確認コード: 123456"));
    assert_eq!(page(&running, "text/html", Some("evil.example")).await.status(), StatusCode::FORBIDDEN);
}
