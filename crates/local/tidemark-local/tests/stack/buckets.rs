//! Objects in buckets: stored over a restart, and told to functions and to the default bus.

use crate::support::Stage;
use reqwest::{Client, StatusCode};
use serde_json::{Value, json};
use tidemark_local::startup::RunningStack;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

fn stage() -> Stage {
    let filter = "Filter: { S3Key: { Rules: [{ Name: suffix, Value: .txt }] } }";
    let event =
        format!("File: {{ Type: S3, Properties: {{ Bucket: !Ref Files, Events: ['s3:ObjectCreated:*'], {filter} }} }}");
    let stage = Stage::new("", &event);
    let bucket = "  Files:
    Type: AWS::S3::Bucket
    Properties:
      BucketName: files
      NotificationConfiguration: { EventBridgeConfiguration: { EventBridgeEnabled: true } }
  Others: { Type: AWS::S3::Bucket, Properties: { BucketName: others } }
  Failures:
";
    stage.replace("  Failures:\n", bucket);
    stage
}

async fn put(running: &RunningStack, key: &str, text: &'static str) {
    let url = format!("{}/files/{key}", running.admin.addresses.s3.as_ref().unwrap());
    let response = Client::new().put(url).body(text).send().await.unwrap();
    assert_eq!(response.status(), StatusCode::OK, "{}", response.text().await.unwrap());
}

#[tokio::test]
async fn object_event_reaches_the_function_and_every_change_the_bus() {
    let stage = stage();
    let running = stage.start().await;
    put(&running, "a.png", "no text").await;
    put(&running, "folder/a%20b.txt", "hello").await;
    let s3 = running.admin.addresses.s3.clone().unwrap();
    assert!(Client::new().delete(format!("{s3}/files/a.png")).send().await.unwrap().status().is_success());
    stage.until("the object's event", |stage| !stage.recording().is_empty()).await;
    let events = stage.recording();
    assert_eq!(events.len(), 1, "{events:?}");
    let record = &events[0]["Records"][0];
    assert_eq!((&record["eventName"], &record["s3"]["bucket"]["name"]), (&json!("ObjectCreated:Put"), &json!("files")));
    assert_eq!(
        (&record["s3"]["object"]["key"], &record["s3"]["object"]["size"]),
        (&json!("folder/a+b.txt"), &json!(5))
    );
    let events = Client::new().get(format!("{}/_local/events", running.admin.addresses.http)).send().await.unwrap();
    let events = events.json::<Value>().await.unwrap().to_string();
    assert_eq!(
        (events.matches("Object Created").count(), events.matches("Object Deleted").count()),
        (2, 1),
        "{events}"
    );
    running.stop().await;
}

#[tokio::test]
async fn objects_outlive_a_restart() {
    let stage = stage();
    let running = stage.start().await;
    put(&running, "a.png", "kept").await;
    running.stop().await;
    let running = stage.start().await;
    let url = format!("{}/files/a.png", running.admin.addresses.s3.as_ref().unwrap());
    assert_eq!(Client::new().get(url).send().await.unwrap().text().await.unwrap(), "kept");
    running.stop().await;
}

/// The status and the text of the answer to a request whose path is sent as it is: HTTP clients
/// resolve `..` themselves.
async fn send(running: &RunningStack, request: &str, headers: &[(&str, &str)], body: &str) -> (u16, String) {
    let address = running.admin.addresses.s3.as_ref().unwrap().strip_prefix("http://").unwrap().to_owned();
    let mut text = format!("{request} HTTP/1.1\r\nhost: {address}\r\nconnection: close\r\n");
    for (name, value) in headers {
        text += &format!("{name}: {value}\r\n");
    }
    text += &format!("content-length: {}\r\n\r\n{body}", body.len());
    let mut stream = TcpStream::connect(&address).await.unwrap();
    stream.write_all(text.as_bytes()).await.unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await.unwrap();
    let status = answer.split(' ').nth(1).unwrap_or_else(|| panic!("no answer to {request}"));
    (status.parse().unwrap(), answer)
}

#[tokio::test]
async fn a_key_that_leaves_its_bucket_is_refused() {
    let stage = stage();
    let running = stage.start().await;
    let (status, answer) = send(&running, "PUT /others/secret.txt", &[], "secret").await;
    assert_eq!(status, 200, "{answer}");
    let folder = stage.path("data/buckets").canonicalize().unwrap();
    let (status, upload) = send(&running, "POST /files/big?uploads", &[], "").await;
    assert_eq!(status, 200, "{upload}");
    let upload = upload.split("<UploadId>").nth(1).unwrap().split('<').next().unwrap();

    let keys =
        ["../others/secret.txt", "a/../../others/secret.txt", "./../others/secret.txt", "..", ".", "../", "a/.."];
    let absolute = format!("{}/others/secret.txt", folder.display());
    for key in keys.into_iter().chain([&*absolute]) {
        let refused = async |request: &str, headers: &[(&str, &str)], body: &str| {
            let (status, answer) = send(&running, request, headers, body).await;
            assert_eq!(status, 400, "{request} {key}: {answer}");
            let named = answer.contains("<Code>InvalidArgument</Code>") && answer.contains("<Message>");
            assert!(named || request.starts_with("HEAD"), "{request} {key}: {answer}");
        };
        let encoded = key.replace('.', "%2E").replace('/', "%2f");
        for key in [key, &encoded] {
            for method in ["GET", "HEAD", "PUT", "DELETE"] {
                refused(&format!("{method} /files/{key}"), &[], "new").await;
            }
            refused(&format!("POST /files/{key}?uploads"), &[], "").await;
            refused(&format!("PUT /files/{key}?partNumber=1&uploadId={upload}"), &[], "new").await;
            refused(&format!("DELETE /files/{key}?uploadId={upload}"), &[], "").await;
            let complete = "<CompleteMultipartUpload><Part><ETag>x</ETag><PartNumber>1</PartNumber></Part></CompleteMultipartUpload>";
            refused(&format!("POST /files/{key}?uploadId={upload}"), &[], complete).await;
            refused(&format!("PUT /files/{key}"), &[("x-amz-copy-source", "others/secret.txt")], "").await;
            for source in [format!("files/{key}"), format!("/files/{key}")] {
                refused("PUT /files/copy", &[("x-amz-copy-source", &source)], "").await;
                let part = format!("PUT /files/big?partNumber=1&uploadId={upload}");
                refused(&part, &[("x-amz-copy-source", &source)], "").await;
            }
        }
        let list = format!("<Delete><Object><Key>a</Key></Object><Object><Key>{key}</Key></Object></Delete>");
        refused("POST /files?delete", &[], &list).await;
        let field = |name: &str, value: &str| {
            format!("--x\r\ncontent-disposition: form-data; name=\"{name}\"\r\n\r\n{value}\r\n")
        };
        let form = field("key", key) + &field("file", "new") + "--x--\r\n";
        refused("POST /files", &[("content-type", "multipart/form-data; boundary=x")], &form).await;
    }
    for request in ["GET /../others/secret.txt", "GET /./others/secret.txt", "PUT /%2e%2e/x", "GET /Others/secret.txt"]
    {
        let (status, answer) = send(&running, request, &[], "").await;
        assert_eq!(status, 400, "{request}: {answer}");
    }
    let (status, answer) = send(&running, "GET /others/secret.txt", &[], "").await;
    assert!(status == 200 && answer.ends_with("secret"), "{answer}");
    running.stop().await;
}

#[tokio::test]
async fn a_template_with_an_invalid_bucket_name_is_refused() {
    for name in ["../outside", "Files", "a", "192.168.0.1"] {
        let stage = stage();
        stage.replace("BucketName: others", &format!("BucketName: {name}"));
        let refusal = stage.refusal().await;
        assert!(refusal.contains(&format!("`{name}` is not a valid bucket name")), "{refusal}");
    }
}
