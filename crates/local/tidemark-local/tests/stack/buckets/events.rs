//! Events of changes: what the storage did, not what a request asked for.

use reqwest::Client;
use serde_json::{Value, json};
use tidemark_local::startup::RunningStack;

use super::{ok, send, stage};

/// Type, key, size and tag of each event on the default bus, from the oldest.
async fn events(running: &RunningStack) -> Vec<(String, String, Value, Value)> {
    let url = format!("{}/_local/events", running.admin.addresses.http);
    let answer = Client::new().get(url).send().await.unwrap().json::<Value>().await.unwrap();
    let mut found = Vec::new();
    find_details(&answer, &mut found);
    found.sort_by_key(|event| event["detail"]["object"]["sequencer"].as_str().unwrap().to_owned());
    let told = |event: &Value| {
        let (detail, object) = (&event["detail"], &event["detail"]["object"]);
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        (text(&detail["reason"]), text(&object["key"]), object["size"].clone(), object["etag"].clone())
    };
    found.iter().map(told).collect()
}

fn find_details(value: &Value, found: &mut Vec<Value>) {
    match value {
        Value::Object(map) if map.contains_key("detail") => found.push(value.clone()),
        Value::Object(map) => map.values().for_each(|value| find_details(value, found)),
        Value::Array(list) => list.iter().for_each(|value| find_details(value, found)),
        _ => {}
    }
}

#[tokio::test]
async fn object_event_reaches_the_function_and_every_change_the_bus() {
    let stage = stage();
    let running = stage.start().await;
    ok(&running, "PUT /files/a.png", &[], "no text").await;
    ok(&running, "PUT /files/folder/a%20b.txt", &[], "hello").await;
    ok(&running, "DELETE /files/a.png", &[], "").await;
    stage.until("the object's event", |stage| !stage.recording().is_empty()).await;
    let recording = stage.recording();
    assert_eq!(recording.len(), 1, "{recording:?}");
    let record = &recording[0]["Records"][0];
    assert_eq!((&record["eventName"], &record["s3"]["bucket"]["name"]), (&json!("ObjectCreated:Put"), &json!("files")));
    assert_eq!(
        (&record["s3"]["object"]["key"], &record["s3"]["object"]["size"]),
        (&json!("folder/a+b.txt"), &json!(5))
    );
    let reasons: Vec<_> = events(&running).await.into_iter().map(|event| event.0).collect();
    assert_eq!(reasons, ["PutObject", "PutObject", "DeleteObject"]);
}

#[tokio::test]
async fn refused_and_empty_changes_have_no_event() {
    let stage = stage();
    let running = stage.start().await;
    assert_eq!(send(&running, "PUT /files/a", &[("x-amz-checksum-crc32", "AAAAAA==")], "hello").await.status, 400);
    assert_eq!(send(&running, "DELETE /files/none", &[], "").await.status, 204);
    assert_eq!(events(&running).await, []);
}

#[tokio::test]
async fn copies_and_uploads_tell_the_stored_size_and_tag() {
    let stage = stage();
    let running = stage.start().await;
    ok(&running, "PUT /others/a", &[], "hello").await;
    ok(&running, "PUT /files/copy", &[("x-amz-copy-source", "others/a")], "").await;
    let upload = ok(&running, "POST /files/big?uploads", &[], "").await.texts("UploadId")[0].to_owned();
    let part = ok(&running, &format!("PUT /files/big?partNumber=1&uploadId={upload}"), &[], "hello!").await;
    let parts = format!(
        "<CompleteMultipartUpload><Part><PartNumber>1</PartNumber><ETag>{}</ETag></Part></CompleteMultipartUpload>",
        part.header("etag")
    );
    ok(&running, &format!("POST /files/big?uploadId={upload}"), &[], &parts).await;
    let told = events(&running).await;
    let tag = async |request: &str| ok(&running, request, &[], "").await.header("etag").trim_matches('"').to_owned();
    let (copy, big) = (json!(tag("HEAD /files/copy").await), json!(tag("HEAD /files/big").await));
    assert_eq!(
        told,
        [
            ("CopyObject".to_owned(), "copy".to_owned(), json!(5), copy),
            ("CompleteMultipartUpload".to_owned(), "big".to_owned(), json!(6), big),
        ]
    );
}

#[tokio::test]
async fn changed_tags_reach_the_function_and_the_bus() {
    let stage = stage();
    stage.replace("'s3:ObjectCreated:*'", "'s3:ObjectTagging:*'");
    let running = stage.start().await;
    ok(&running, "PUT /files/a.txt", &[], "hello").await;
    let tags = "<Tagging><TagSet><Tag><Key>x</Key><Value>1</Value></Tag></TagSet></Tagging>";
    ok(&running, "PUT /files/a.txt?tagging", &[], tags).await;
    ok(&running, "DELETE /files/a.txt?tagging", &[], "").await;
    stage.until("two events of tags", |stage| stage.recording().len() == 2).await;
    let mut names: Vec<_> = stage.recording().iter().map(|event| event["Records"][0]["eventName"].clone()).collect();
    names.sort_by_key(ToString::to_string);
    assert_eq!(names, ["ObjectTagging:Delete", "ObjectTagging:Put"]);
    let url = format!("{}/_local/events", running.admin.addresses.http);
    let answer = Client::new().get(url).send().await.unwrap().json::<Value>().await.unwrap();
    let mut found = Vec::new();
    find_details(&answer, &mut found);
    let of = |kind: &str| found.iter().find(|event| event["detail-type"] == kind).map(|event| &event["detail"]);
    for kind in ["Object Tags Added", "Object Tags Deleted"] {
        let detail = of(kind).unwrap_or_else(|| panic!("no {kind} in {found:?}"));
        assert_eq!((&detail["object"]["key"], &detail["reason"]), (&json!("a.txt"), &Value::Null), "{kind}");
    }
}

#[tokio::test]
async fn delete_objects_tells_of_each_deleted_object() {
    let stage = stage();
    let running = stage.start().await;
    for key in ["a", "b"] {
        ok(&running, &format!("PUT /files/{key}"), &[], "").await;
    }
    let keys: String = ["a", "b", "none"].map(|key| format!("<Object><Key>{key}</Key></Object>")).concat();
    let answer = ok(&running, "POST /files?delete", &[], &format!("<Delete>{keys}</Delete>")).await;
    assert_eq!(answer.texts("Key"), ["a", "b", "none"]);
    let mut deleted: Vec<_> =
        events(&running).await.into_iter().filter(|event| event.0 == "DeleteObjects").map(|event| event.1).collect();
    deleted.sort_unstable();
    assert_eq!(deleted, ["a", "b"]);
    let quiet = ok(&running, "POST /files?delete", &[], &format!("<Delete><Quiet>true</Quiet>{keys}</Delete>")).await;
    assert_eq!(quiet.texts("Key"), [""; 0]);
}
