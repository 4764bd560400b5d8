//! Objects: literal keys, conditions, checksums, attributes and lists.

use super::{ok, send, signed, stage};

#[tokio::test]
async fn objects_outlive_a_restart_and_unnamed_files_do_not() {
    let stage = stage();
    let running = stage.start().await;
    ok(&running, "PUT /files/a.png", &[], "kept").await;
    running.stop().await;
    let left_by_a_kill = stage.path("data/s3/objects/half");
    std::fs::write(&left_by_a_kill, "half").unwrap();
    let running = stage.start().await;
    assert_eq!(ok(&running, "GET /files/a.png", &[], "").await.body, "kept");
    assert!(!left_by_a_kill.exists());
}

#[tokio::test]
async fn keys_are_literal_and_listed_in_utf8_order() {
    let stage = stage();
    let running = stage.start().await;
    ok(&running, "PUT /others/secret.txt", &[], "secret").await;
    let long = "k".repeat(1024);
    let keys = [
        "%25",
        "%252e",
        "%C3%A9",
        ".",
        "..",
        "../others/secret.txt",
        "./a",
        "/lead",
        "a/..",
        "a//b",
        "folder/",
        "p",
        "p/q",
        "+ +",
        &long,
    ];
    let sent = |key: &str| key.replace(' ', "%20");
    for key in keys {
        ok(&running, &format!("PUT /files/{}", sent(key)), &[], &format!("of {key}")).await;
    }
    for key in keys {
        let read = ok(&running, &format!("GET /files/{}", sent(key)), &[], "").await;
        assert_eq!(read.body, format!("of {key}"));
        let encoded = format!("GET /files/{}", sent(key).replace('.', "%2E").replace('/', "%2f"));
        assert_eq!(ok(&running, &encoded, &[], "").await.body, format!("of {key}"));
    }
    let list = ok(&running, "GET /files?list-type=2&encoding-type=url", &[], "").await;
    let expected = [
        "%25",
        "%252e",
        "%2B+%2B",
        ".",
        "..",
        "../others/secret.txt",
        "./a",
        "/lead",
        "a/..",
        "a//b",
        "folder/",
        &long,
        "p",
        "p/q",
        "%C3%A9",
    ];
    let mut sorted = expected.to_vec();
    sorted.sort_by_key(|key| percent_encoding::percent_decode_str(&key.replace('+', " ")).collect::<Vec<u8>>());
    assert_eq!(list.texts("Key"), sorted);
    assert_eq!(ok(&running, "GET /others/secret.txt", &[], "").await.body, "secret");
    let too_long = send(&running, &format!("PUT /files/{long}k"), &[], "").await;
    assert_eq!(too_long.code(), (400, "KeyTooLongError"));
}

#[tokio::test]
async fn pages_of_a_list_have_each_key_once() {
    let stage = stage();
    let running = stage.start().await;
    for key in ["a", "b/1", "b/2", "c", "d/1"] {
        ok(&running, &format!("PUT /files/{key}"), &[], "").await;
    }
    let first = ok(&running, "GET /files?list-type=2&delimiter=/&max-keys=2", &[], "").await;
    assert_eq!((first.texts("Key"), first.texts("IsTruncated")), (vec!["a"], vec!["true"]));
    let token = first.texts("NextContinuationToken")[0];
    let query = format!("GET /files?list-type=2&delimiter=/&max-keys=2&continuation-token={token}");
    let second = ok(&running, &query, &[], "").await;
    assert_eq!((second.texts("Key"), second.texts("IsTruncated")), (vec!["c"], vec!["false"]));
    let old = ok(&running, "GET /files?delimiter=/&max-keys=2", &[], "").await;
    assert_eq!(old.texts("NextMarker"), ["b/"]);
    let rest = ok(&running, "GET /files?delimiter=/&marker=b/&prefix=", &[], "").await;
    assert_eq!((rest.texts("Key"), rest.texts("IsTruncated")), (vec!["c"], vec!["false"]));
    let later = ok(&running, "GET /files?list-type=2&start-after=b/1&prefix=b", &[], "").await;
    assert_eq!(later.texts("Key"), ["b/2"]);
    let wrong = send(&running, "GET /files?list-type=2&continuation-token=x", &[], "").await;
    assert_eq!(wrong.code(), (400, "InvalidArgument"));
}

#[tokio::test]
async fn conditions_are_honoured_by_reads_writes_and_deletions() {
    let stage = stage();
    let running = stage.start().await;
    let tag = ok(&running, "PUT /files/a", &[("if-none-match", "*")], "one").await.header("etag").to_owned();
    let other = ("if-match", "\"0123\"");
    for request in ["GET /files/a", "HEAD /files/a", "PUT /files/a", "DELETE /files/a"] {
        assert_eq!(send(&running, request, &[other], "").await.status, 412, "{request}");
    }
    for request in ["GET /files/a", "HEAD /files/a"] {
        let unchanged = send(&running, request, &[("if-none-match", &tag)], "").await;
        assert_eq!((unchanged.status, unchanged.header("etag"), &*unchanged.body), (304, &*tag, ""), "{request}");
        let later = ("if-modified-since", "Fri, 01 Jan 2100 00:00:00 GMT");
        assert_eq!(send(&running, request, &[later], "").await.status, 304, "{request}");
    }
    let exists = send(&running, "PUT /files/a", &[("if-none-match", "*")], "two").await;
    assert_eq!(exists.code(), (412, "PreconditionFailed"));
    assert_eq!(send(&running, "PUT /files/none", &[other], "").await.code(), (404, "NoSuchKey"));
    assert_eq!(ok(&running, "GET /files/a", &[("if-match", &tag)], "").await.body, "one");
    ok(&running, "PUT /files/a", &[("if-match", &tag)], "two").await;
    assert_eq!(send(&running, "DELETE /files/a", &[("if-match", &tag)], "").await.status, 412);
    ok(&running, "DELETE /files/a", &[("if-match", "*")], "").await;
}

#[tokio::test]
async fn checksums_are_verified_and_answered() {
    let stage = stage();
    let running = stage.start().await;
    let of_hello = [
        ("crc32", "NhCmhg=="),
        ("crc32c", "mnG7TA=="),
        ("sha1", "qvTGHdzF6KLavt4PO0gs2a6pQ00="),
        ("sha256", "LPJNul+wow4m6DsqxbninhsWHlwfp0JecwQzYpOLmCQ="),
    ];
    for (algorithm, value) in of_hello {
        let header = format!("x-amz-checksum-{algorithm}");
        ok(&running, "PUT /files/a", &[(&header, value)], "hello").await;
        let read = ok(&running, "GET /files/a", &[("x-amz-checksum-mode", "ENABLED")], "").await;
        assert_eq!((read.header(&header), &*read.body), (value, "hello"));
        let wrong = send(&running, "PUT /files/a", &[(&header, value)], "Hello").await;
        assert_eq!(wrong.code(), (400, "BadDigest"), "{algorithm}");
    }
    let wrong = send(&running, "PUT /files/a", &[("content-md5", "XUFAKrxLKna5cZ2REBfFkg==")], "Hello").await;
    assert_eq!(wrong.code(), (400, "BadDigest"));
    ok(&running, "PUT /files/a", &[("content-md5", "XUFAKrxLKna5cZ2REBfFkg==")], "hello").await;
    let default = ok(&running, "HEAD /files/a", &[("x-amz-checksum-mode", "ENABLED")], "").await;
    assert_ne!(default.header("x-amz-checksum-crc64nvme"), "");
}

/// The SDKs' default.
#[tokio::test]
async fn crc32_behind_a_body_in_chunks_is_verified() {
    let stage = stage();
    let running = stage.start().await;
    let headers = [
        ("content-encoding", "aws-chunked"),
        ("x-amz-decoded-content-length", "5"),
        ("x-amz-trailer", "x-amz-checksum-crc32"),
    ];
    let body = |crc: &str| format!("5\r\nhello\r\n0\r\nx-amz-checksum-crc32:{crc}\r\n\r\n");
    let wrong = signed(&running, ("me", "PUT /files/a"), &headers, &body("AAAAAA==")).await;
    assert_eq!(wrong.code(), (400, "BadDigest"));
    let right = signed(&running, ("me", "PUT /files/a"), &headers, &body("NhCmhg==")).await;
    assert_eq!((right.status, right.header("x-amz-checksum-crc32")), (200, "NhCmhg=="));
    let read = ok(&running, "GET /files/a", &[], "").await;
    assert_eq!((&*read.body, read.header("content-encoding")), ("hello", ""));
}

#[tokio::test]
async fn object_keeps_its_headers_metadata_and_tags() {
    let stage = stage();
    let running = stage.start().await;
    let kept = [
        ("cache-control", "no-cache"),
        ("content-disposition", "inline"),
        ("content-encoding", "gzip"),
        ("content-language", "de"),
        ("content-type", "text/x"),
        ("expires", "Tue, 01 Jan 2030 00:00:00 GMT"),
        ("x-amz-meta-colour", "blue"),
        ("x-amz-server-side-encryption", "aws:kms"),
        ("x-amz-storage-class", "STANDARD_IA"),
    ];
    ok(&running, "PUT /files/a", &[&kept[..], &[("x-amz-tagging", "x=1&y=%32")]].concat(), "hello").await;
    for request in ["HEAD /files/a", "GET /files/a"] {
        let read = ok(&running, request, &[], "").await;
        for (name, value) in kept {
            assert_eq!(read.header(name), value, "{request}");
        }
    }
    let tags = ok(&running, "GET /files/a?tagging", &[], "").await;
    assert_eq!((tags.texts("Key"), tags.texts("Value")), (vec!["x", "y"], vec!["1", "2"]));
    let part = ok(&running, "GET /files/a", &[("range", "bytes=1-2")], "").await;
    assert_eq!((part.status, &*part.body, part.header("content-range")), (206, "el", "bytes 1-2/5"));
    assert_eq!(send(&running, "GET /files/a", &[("range", "bytes=5-")], "").await.code(), (416, "InvalidRange"));
    let attributes = [("x-amz-object-attributes", "ETag,ObjectSize")];
    let attributes = ok(&running, "GET /files/a?attributes", &attributes, "").await;
    assert_eq!(attributes.texts("ObjectSize"), ["5"]);
    let metadata = "x".repeat(2048);
    let much = send(&running, "PUT /files/b", &[("x-amz-meta-much", &*metadata)], "").await;
    assert_eq!(much.code(), (400, "MetadataTooLarge"));
}

#[tokio::test]
async fn refused_upload_of_300_kb_is_answered() {
    let stage = stage();
    let running = stage.start().await;
    let body = "x".repeat(300_000);
    let missing = send(&running, "PUT /missing/a", &[], &body).await;
    assert_eq!(missing.code(), (404, "NoSuchBucket"));
    let foreign = send(&running, "PUT /files/a", &[("origin", "https://foreign.example")], &body).await;
    assert_eq!(foreign.code(), (403, "AccessDenied"));
}
