//! Compressed requests and replies, and the size limit.

use std::io::{Read, Write};

use bytes::Bytes;
use flate2::Compression;
use flate2::read::{GzDecoder, ZlibDecoder};
use flate2::write::GzEncoder;
use serde_json::{Value, json};

use crate::common::{Wire, start};

const GET: &str = "DynamoDB_20120810.GetItem";

fn gzip(text: &str) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(text.as_bytes()).unwrap();
    encoder.finish().unwrap()
}

/// The request for the item `key`, which is stored with a text of this length.
async fn put_text(wire: &Wire, key: &str, length: usize) -> String {
    let key = json!({ "pk": { "S": key }, "sk": { "S": "1" } });
    let mut item = key.clone();
    item["text"] = json!({ "S": "x".repeat(length) });
    wire.ok("PutItem", json!({ "TableName": "clicks", "Item": item })).await;
    json!({ "TableName": "clicks", "Key": key }).to_string()
}

#[tokio::test]
async fn a_compressed_request_is_read() {
    let (_engine, wire) = start(1).await;
    let request = put_text(&wire, "a", 10).await;
    let encoded = [("content-encoding", "gzip")];
    let halves = [gzip(&request[..10]), gzip(&request[10..])].concat();
    for body in [gzip(&request), halves] {
        let (parts, body) = wire.exchange(GET, &encoded, Bytes::from(body)).await.unwrap();
        let answer: Value = serde_json::from_slice(&body).unwrap();
        assert!(parts.status == 200 && answer["Item"]["text"].is_object(), "{answer}");
    }
    let mut cut = gzip(&request);
    cut.pop();
    for (encoding, body) in
        [("gzip", cut), ("gzip", request.clone().into()), ("gzip", Vec::new()), ("dog", gzip(&request))]
    {
        let (parts, _) = wire.exchange(GET, &[("content-encoding", encoding)], Bytes::from(body)).await.unwrap();
        assert_eq!(parts.status, 500, "{encoding}: AWS answers so");
    }
}

#[tokio::test]
async fn a_large_reply_is_compressed_as_the_client_accepts() {
    let (_engine, wire) = start(1).await;
    let (large, small) = (put_text(&wire, "large", 5_000).await, put_text(&wire, "small", 3_900).await);
    for (accepted, encoding) in [
        ("gzip", Some("gzip")),
        ("deflate", Some("deflate")),
        ("br, identity, deflate, GZIP", Some("deflate")),
        ("gzip;q=0.5, deflate; q = 0.8", Some("deflate")),
        ("gzip ;q=0", None),
        ("identity", None),
        ("x-gzip", None),
        ("*", Some("gzip")),
        ("*, deflate", Some("deflate")),
        ("*, gzip;q=0.5", Some("deflate")),
    ] {
        let headers = [("accept-encoding", accepted)];
        let (parts, body) = wire.exchange(GET, &headers, Bytes::from(large.clone())).await.unwrap();
        let found = parts.headers.get("content-encoding").map(|value| value.to_str().unwrap());
        assert_eq!(found, encoding, "{accepted}");
        let mut text = Vec::new();
        match encoding {
            Some("gzip") => GzDecoder::new(body.as_ref()).read_to_end(&mut text).unwrap(),
            Some(_) => ZlibDecoder::new(body.as_ref()).read_to_end(&mut text).unwrap(),
            None => body.as_ref().read_to_end(&mut text).unwrap(),
        };
        assert!(encoding.is_none() || body.len() < 1_000, "{accepted}");
        let answer: Value = serde_json::from_slice(&text).unwrap();
        assert_eq!(answer["Item"]["text"]["S"].as_str().unwrap().len(), 5_000);
        let (parts, _) = wire.exchange(GET, &headers, Bytes::from(small.clone())).await.unwrap();
        assert!(!parts.headers.contains_key("content-encoding"), "a small reply with {accepted}");
    }
}

#[tokio::test]
async fn a_request_above_16_mb_is_too_large() {
    let (_engine, wire) = start(1).await;
    let text = format!("{{\"a\":\"{}\"}}", "x".repeat(16 * 1024 * 1024));
    let compressed = Bytes::from(gzip(&text));
    let (parts, _) = wire.exchange(GET, &[], Bytes::from(text)).await.unwrap();
    assert_eq!(parts.status, 413);
    let (parts, _) = wire.exchange(GET, &[("content-encoding", "gzip")], compressed).await.unwrap();
    assert_eq!(parts.status, 413, "after decompression");
}

#[tokio::test]
async fn the_endpoint_is_the_address_that_the_client_uses() {
    let (engine, wire) = start(1).await;
    let answer = wire.ok("DescribeEndpoints", json!({})).await;
    assert_eq!(answer["Endpoints"][0]["Address"], engine.addr().to_string());
    assert!(answer["Endpoints"][0]["CachePeriodInMinutes"].as_u64().unwrap() > 0);
}
