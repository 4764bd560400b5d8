//! Buckets: objects, uploads, versions, CORS, and events of changes.

mod events;
mod objects;
mod settings;
mod uploads;

use std::fmt::Write as _;
use std::time::Duration;

use crate::support::Stage;
use hmac::{Hmac, KeyInit, Mac};
use sha2::{Digest, Sha256};
use tidemark_local::startup::RunningStack;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

/// A bucket that tells a function and the bus, one with versions and a CORS rule, and a third one.
fn stage() -> Stage {
    let filter = "Filter: { S3Key: { Rules: [{ Name: suffix, Value: .txt }] } }";
    let event =
        format!("File: {{ Type: S3, Properties: {{ Bucket: !Ref Files, Events: ['s3:ObjectCreated:*'], {filter} }} }}");
    let stage = Stage::new("", &event);
    let buckets = "  Files:
    Type: AWS::S3::Bucket
    Properties:
      BucketName: files
      NotificationConfiguration: { EventBridgeConfiguration: { EventBridgeEnabled: true } }
  Versions:
    Type: AWS::S3::Bucket
    Properties:
      BucketName: versions
      NotificationConfiguration: { EventBridgeConfiguration: { EventBridgeEnabled: true } }
      VersioningConfiguration: { Status: Enabled }
      CorsConfiguration:
        CorsRules:
          - AllowedOrigins: ['https://*.example']
            AllowedMethods: [GET, PUT]
            AllowedHeaders: [content-type]
            ExposedHeaders: [ETag]
            MaxAge: 60
  Others: { Type: AWS::S3::Bucket, Properties: { BucketName: others } }
  Failures:
";
    stage.replace("  Failures:\n", buckets);
    stage
}

/// An answer of the buckets.
#[derive(Debug)]
struct Answer {
    status: u16,
    head: String,
    body: String,
}

impl Answer {
    /// The value of a header, or nothing.
    fn header(&self, name: &str) -> &str {
        let lines = self.head.lines().filter_map(|line| line.split_once(": "));
        lines.into_iter().find(|(found, _)| *found == name).map_or("", |(_, value)| value)
    }

    /// The texts of the elements with this name.
    fn texts(&self, element: &str) -> Vec<&str> {
        let tag = format!("<{element}>");
        let parts = self.body.split(&*tag).skip(1);
        parts.map(|part| part.split("</").next().unwrap()).collect()
    }

    /// The status, and the code of S3's error.
    fn code(&self) -> (u16, &str) {
        (self.status, self.texts("Code").first().copied().unwrap_or_default())
    }
}

/// Sends a request whose path is sent as it is: HTTP clients resolve `..` themselves.
async fn send(running: &RunningStack, request: &str, headers: &[(&str, &str)], body: &str) -> Answer {
    let address = running.admin.addresses.s3.as_ref().unwrap().strip_prefix("http://").unwrap().to_owned();
    let mut text = format!("{request} HTTP/1.1\r\nhost: {address}\r\nconnection: close\r\n");
    for (name, value) in headers {
        write!(text, "{name}: {value}\r\n").unwrap();
    }
    write!(text, "content-length: {}\r\n\r\n{body}", body.len()).unwrap();
    let mut stream = TcpStream::connect(&address).await.unwrap();
    // A long body takes its time: the server could answer and close the connection before its end.
    for part in text.as_bytes().chunks(100_000) {
        stream.write_all(part).await.unwrap_or_else(|error| panic!("{request} is not read to its end: {error}"));
        if part.len() == 100_000 {
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
    }
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await.unwrap();
    let (head, body) = answer.split_once("\r\n\r\n").unwrap_or_else(|| panic!("no answer to {request}: {answer}"));
    let status = head.split(' ').nth(1).unwrap().parse().unwrap();
    Answer { status, head: head.to_owned(), body: body.to_owned() }
}

/// Sends a request that must succeed.
async fn ok(running: &RunningStack, request: &str, headers: &[(&str, &str)], body: &str) -> Answer {
    let answer = send(running, request, headers, body).await;
    assert!((200..300).contains(&answer.status), "{request}: {answer:?}");
    answer
}

/// Sends a request that a function signs, by its access key.
async fn signed(
    running: &RunningStack,
    (access_key, request): (&str, &str),
    headers: &[(&str, &str)],
    body: &str,
) -> Answer {
    let hex = |bytes: &[u8]| bytes.iter().map(|byte| format!("{byte:02x}")).collect::<String>();
    let hmac = |key: &[u8], text: &str| {
        let mut hmac = Hmac::<Sha256>::new_from_slice(key).unwrap();
        hmac.update(text.as_bytes());
        hmac.finalize().into_bytes().to_vec()
    };
    let (method, target) = request.split_once(' ').unwrap();
    let (path, query) = target.split_once('?').unwrap_or((target, ""));
    let now = jiff::Timestamp::now().strftime("%Y%m%dT%H%M%SZ").to_string();
    let host = running.admin.addresses.s3.as_ref().unwrap().strip_prefix("http://").unwrap();
    let trailer = headers.iter().any(|(name, _)| *name == "x-amz-trailer");
    let payload = if trailer { "STREAMING-UNSIGNED-PAYLOAD-TRAILER" } else { "UNSIGNED-PAYLOAD" };
    let own = [("host", host), ("x-amz-content-sha256", payload), ("x-amz-date", &*now)];
    let mut all = [headers, &own].concat();
    all.sort_unstable();
    let names: Vec<_> = all.iter().map(|(name, _)| *name).collect();
    let names = names.join(";");
    let lines: String = all.iter().map(|(name, value)| format!("{name}:{value}\n")).collect();
    let canonical = format!("{method}\n{path}\n{query}\n{lines}\n{names}\n{payload}");
    let scope = format!("{}/us-east-1/s3/aws4_request", &now[..8]);
    let text = format!("AWS4-HMAC-SHA256\n{now}\n{scope}\n{}", hex(&Sha256::digest(canonical)));
    let key = scope.split('/').fold(b"AWS4local".to_vec(), |key, part| hmac(&key, part));
    let signature = hex(&hmac(&key, &text));
    let authorization =
        format!("AWS4-HMAC-SHA256 Credential={access_key}/{scope}, SignedHeaders={names}, Signature={signature}");
    let sent = [headers, &own[1..], &[("authorization", &*authorization)]].concat();
    send(running, request, &sent, body).await
}
