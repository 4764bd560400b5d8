//! Multipart uploads.

use tidemark_local::startup::RunningStack;

use super::{ok, send, stage};

async fn create(running: &RunningStack, key: &str) -> String {
    ok(running, &format!("POST /files/{key}?uploads"), &[], "").await.texts("UploadId")[0].to_owned()
}

async fn put(running: &RunningStack, (key, upload): (&str, &str), number: u32, body: &str) -> String {
    let request = format!("PUT /files/{key}?partNumber={number}&uploadId={upload}");
    ok(running, &request, &[], body).await.header("etag").to_owned()
}

fn list(parts: &[(u32, &str)]) -> String {
    let part =
        |(number, tag): &(u32, &str)| format!("<Part><PartNumber>{number}</PartNumber><ETag>{tag}</ETag></Part>");
    let parts: String = parts.iter().map(part).collect();
    format!("<CompleteMultipartUpload>{parts}</CompleteMultipartUpload>")
}

#[tokio::test]
async fn upload_over_an_object_takes_its_own_checksum() {
    let stage = stage();
    let running = stage.start().await;
    ok(&running, "PUT /files/a", &[("x-amz-sdk-checksum-algorithm", "SHA256")], "before").await;
    let upload = create(&running, "a").await;
    let tag = put(&running, ("a", &upload), 3, "hello").await;
    assert_eq!(tag, "\"5d41402abc4b2a76b9719d911017c592\"");
    let complete = format!("POST /files/a?uploadId={upload}");
    let parts = list(&[(3, &tag)]);
    let exists = send(&running, &complete, &[("if-none-match", "*")], &parts).await;
    assert_eq!(exists.code(), (412, "PreconditionFailed"));
    assert_eq!(ok(&running, "GET /files/a", &[], "").await.body, "before");
    ok(&running, &complete, &[], &parts).await;
    let read = ok(&running, "GET /files/a", &[("x-amz-checksum-mode", "ENABLED")], "").await;
    assert_eq!((&*read.body, read.header("x-amz-checksum-sha256")), ("hello", ""));
    assert!(!read.header("x-amz-checksum-crc64nvme").is_empty() && read.header("etag").ends_with("-1\""), "{read:?}");
}

#[tokio::test]
async fn upload_refuses_parts_that_it_does_not_have() {
    let stage = stage();
    let running = stage.start().await;
    let upload = create(&running, "p/q").await;
    let (one, two) = (put(&running, ("p/q", &upload), 1, "one").await, put(&running, ("p/q", &upload), 2, "two").await);
    let complete = format!("POST /files/p/q?uploadId={upload}");
    for (parts, code) in [
        (vec![(2, &*two), (1, &one)], "InvalidPartOrder"),
        (vec![(1, "\"0123\"")], "InvalidPart"),
        (vec![(1, &one), (2, &two)], "EntityTooSmall"),
        (vec![], "MalformedXML"),
    ] {
        assert_eq!(send(&running, &complete, &[], &list(&parts)).await.code(), (400, code));
    }
    let stored = ok(&running, &format!("GET /files/p/q?uploadId={upload}"), &[], "").await;
    assert_eq!((stored.texts("PartNumber"), stored.texts("Size")), (vec!["1", "2"], vec!["3", "3"]));
    let uploads = ok(&running, "GET /files?uploads", &[], "").await;
    assert_eq!((uploads.texts("Key"), uploads.texts("UploadId")), (vec!["p/q"], vec![&*upload]));
    ok(&running, &format!("DELETE /files/p/q?uploadId={upload}"), &[], "").await;
    assert_eq!(send(&running, &complete, &[], &list(&[(1, &one)])).await.code(), (404, "NoSuchUpload"));
    assert_eq!(std::fs::read_dir(stage.path("data/s3/objects")).unwrap().count(), 0);
}

#[tokio::test]
async fn part_may_be_a_range_of_an_object() {
    let stage = stage();
    let running = stage.start().await;
    ok(&running, "PUT /others/..", &[], "0123456789").await;
    let upload = create(&running, "a").await;
    let headers = [("x-amz-copy-source", "others/.."), ("x-amz-copy-source-range", "bytes=2-4")];
    let part = format!("PUT /files/a?partNumber=1&uploadId={upload}");
    let copied = ok(&running, &part, &headers, "").await;
    let tag = copied.texts("ETag")[0].replace("&quot;", "\"");
    ok(&running, &format!("POST /files/a?uploadId={upload}"), &[], &list(&[(1, &tag)])).await;
    assert_eq!(ok(&running, "GET /files/a", &[], "").await.body, "234");
}
