//! Buckets: creation, deletion, versions, CORS, roles and the port.

use super::{ok, send, signed, stage};

#[tokio::test]
async fn missing_bucket_is_not_created_and_full_one_kept() {
    let stage = stage();
    let running = stage.start().await;
    for request in
        ["PUT /missing/a", "GET /missing/a", "GET /missing?list-type=2", "DELETE /missing/a", "DELETE /missing"]
    {
        assert_eq!(send(&running, request, &[], "").await.code(), (404, "NoSuchBucket"), "{request}");
    }
    assert_eq!(send(&running, "HEAD /missing", &[], "").await.status, 404);
    ok(&running, "PUT /files/a", &[], "kept").await;
    assert_eq!(send(&running, "DELETE /files", &[], "").await.code(), (409, "BucketNotEmpty"));
    assert_eq!(ok(&running, "GET /files/a", &[], "").await.body, "kept");
    ok(&running, "PUT /created", &[], "").await;
    assert_eq!(send(&running, "PUT /created", &[], "").await.code(), (409, "BucketAlreadyOwnedByYou"));
    assert_eq!(ok(&running, "GET /", &[], "").await.texts("Name"), ["created", "files", "others", "versions"]);
    ok(&running, "DELETE /created", &[], "").await;
    let policy = send(&running, "GET /files?policy", &[], "").await;
    assert_eq!(policy.code(), (501, "NotImplemented"));
}

#[tokio::test]
async fn versions_outlive_overwrites_and_delete_markers() {
    let stage = stage();
    let running = stage.start().await;
    let one = ok(&running, "PUT /versions/a", &[], "one").await.header("x-amz-version-id").to_owned();
    let two = ok(&running, "PUT /versions/a", &[], "two").await.header("x-amz-version-id").to_owned();
    let deleted = ok(&running, "DELETE /versions/a", &[], "").await;
    let marker = deleted.header("x-amz-version-id");
    assert_eq!(deleted.header("x-amz-delete-marker"), "true");
    let gone = send(&running, "GET /versions/a", &[], "").await;
    assert_eq!((gone.code(), gone.header("x-amz-delete-marker")), ((404, "NoSuchKey"), "true"));
    assert_eq!(ok(&running, "GET /versions?list-type=2", &[], "").await.texts("Key"), [""; 0]);
    assert_eq!(ok(&running, &format!("GET /versions/a?versionId={one}"), &[], "").await.body, "one");
    assert_eq!(send(&running, &format!("HEAD /versions/a?versionId={marker}"), &[], "").await.status, 405);
    assert_eq!(send(&running, "GET /versions/a?versionId=x", &[], "").await.code(), (404, "NoSuchVersion"));
    let list = ok(&running, "GET /versions?versions", &[], "").await;
    let mut all = list.texts("VersionId");
    all.sort_unstable();
    let mut expected = [&*one, &two, marker];
    expected.sort_unstable();
    assert_eq!((all, list.body.matches("<DeleteMarker>").count()), (expected.to_vec(), 1));
    assert_eq!(send(&running, "DELETE /versions", &[], "").await.code(), (409, "BucketNotEmpty"));

    ok(&running, &format!("DELETE /versions/a?versionId={marker}"), &[], "").await;
    assert_eq!(ok(&running, "GET /versions/a", &[], "").await.body, "two");
    ok(&running, &format!("DELETE /versions/a?versionId={two}"), &[], "").await;
    assert_eq!(ok(&running, "GET /versions/a", &[], "").await.body, "one");

    let suspend = "<VersioningConfiguration><Status>Suspended</Status></VersioningConfiguration>";
    ok(&running, "PUT /versions?versioning", &[], suspend).await;
    ok(&running, "PUT /versions/a", &[], "three").await;
    ok(&running, "PUT /versions/a", &[], "four").await;
    let list = ok(&running, "GET /versions?versions", &[], "").await;
    assert_eq!(list.texts("VersionId"), ["null", &one]);
    assert_eq!(ok(&running, "GET /versions?versioning", &[], "").await.texts("Status"), ["Suspended"]);
}

#[tokio::test]
async fn page_of_an_allowed_origin_may_call_a_bucket() {
    let stage = stage();
    let running = stage.start().await;
    let origin = ("origin", "https://page.example");
    let site = ("sec-fetch-site", "cross-site");
    let asks = |method, header| {
        [origin, site, ("access-control-request-method", method), ("access-control-request-headers", header)]
    };
    let preflight = ok(&running, "OPTIONS /versions/a", &asks("PUT", "content-type"), "").await;
    assert_eq!(preflight.header("access-control-allow-origin"), "https://page.example");
    assert_eq!(preflight.header("access-control-allow-methods"), "GET, PUT");
    assert_eq!(preflight.header("access-control-allow-headers"), "content-type");
    assert_eq!(preflight.header("access-control-max-age"), "60");
    let put = ok(&running, "PUT /versions/a", &[origin, site], "of a page").await;
    assert_eq!(put.header("access-control-allow-origin"), "https://page.example");
    assert_eq!(put.header("access-control-expose-headers"), "ETag");
    let missing = send(&running, "GET /versions/none", &[origin, site], "").await;
    assert_eq!((missing.status, missing.header("access-control-allow-origin")), (404, "https://page.example"));

    for (request, headers) in [
        ("OPTIONS /versions/a", asks("DELETE", "content-type")),
        ("OPTIONS /versions/a", asks("PUT", "x-other")),
        ("OPTIONS /files/a", asks("PUT", "content-type")),
    ] {
        assert_eq!(
            send(&running, request, &headers, "").await.code(),
            (403, "AccessForbidden"),
            "{request} {headers:?}"
        );
    }
    for (request, origin) in [
        ("DELETE /versions/a", origin),
        ("GET /versions/a", ("origin", "https://foreign.test")),
        ("GET /files/a", origin),
    ] {
        assert_eq!(send(&running, request, &[origin, site], "").await.code(), (403, "AccessDenied"), "{request}");
    }
}

#[tokio::test]
async fn function_copies_only_what_its_role_may_read() {
    let stage = stage();
    let policies = "Policies:\n        - Statement:\n            - { Effect: Allow, Action: ['s3:PutObject', 's3:DeleteObject'], Resource: 'arn:aws:s3:::files/*' }\n            - { Effect: Allow, Action: 's3:GetObject', Resource: 'arn:aws:s3:::files/*' }\n";
    stage.replace("Policies: AdministratorAccess\n", policies);
    let running = stage.start().await;
    ok(&running, "PUT /others/secret", &[], "secret").await;
    ok(&running, "PUT /files/own", &[], "own").await;
    let copy = async |source: &str| {
        let headers = [("x-amz-copy-source", source)];
        signed(&running, ("the-test_function", "PUT /files/copy"), &headers, "").await
    };
    assert_eq!(copy("others/secret").await.code(), (403, "AccessDenied"));
    assert_eq!(copy("files/own").await.status, 200);
    assert_eq!(ok(&running, "GET /files/copy", &[], "").await.body, "own");
    let objects = "<Delete><Object><Key>secret</Key></Object></Delete>";
    let delete = signed(&running, ("the-test_function", "POST /others?delete="), &[], objects).await;
    assert_eq!((delete.status, delete.texts("Code")), (200, vec!["AccessDenied"]));
    assert_eq!(ok(&running, "GET /others/secret", &[], "").await.body, "secret");
}

#[tokio::test]
async fn missing_key_is_told_only_to_who_may_list() {
    let stage = stage();
    let policies = "Policies:\n        - Statement:\n            - { Effect: Allow, Action: 's3:GetObject', Resource: '*' }\n            - { Effect: Allow, Action: 's3:ListBucket', Resource: 'arn:aws:s3:::files' }\n";
    stage.replace("Policies: AdministratorAccess\n", policies);
    let running = stage.start().await;
    for method in ["GET", "HEAD"] {
        let status = async |bucket: &str| {
            let request = format!("{method} /{bucket}/none");
            signed(&running, ("the-test_function", &*request), &[], "").await.status
        };
        assert_eq!((status("files").await, status("others").await), (404, 403), "{method}");
    }
}

#[tokio::test]
async fn form_with_the_name_of_its_file_is_refused() {
    let stage = stage();
    let running = stage.start().await;
    let part =
        |name: &str, text: &str| format!("--b\r\ncontent-disposition: form-data; name=\"{name}\"\r\n\r\n{text}\r\n");
    for (key, answer) in [("a", (204, "")), ("${filename}", (501, "NotImplemented"))] {
        let body = [part("key", key), part("file\"; filename=\"a.txt", "hello"), "--b--\r\n".to_owned()].concat();
        let form = [("content-type", "multipart/form-data; boundary=b")];
        assert_eq!(send(&running, "POST /files", &form, &body).await.code(), answer, "{key}");
    }
}

#[tokio::test]
async fn buckets_have_the_port_of_the_flag() {
    // Below the ports that the system gives to other programs once this one is free again.
    let listen = || std::net::TcpListener::bind(("127.0.0.1", fastrand::u16(20_000..32_000)));
    let free = std::iter::repeat_with(listen).find_map(Result::ok).unwrap();
    let port = free.local_addr().unwrap().port();
    let (stage, flag) = (stage(), format!("--s3-port={port}"));
    let in_use = stage.try_start(&[&flag]).await.unwrap_err().to_string();
    assert!(in_use.contains(&format!("port {port} is in use (--s3-port")), "{in_use}");
    drop(free);
    let running = stage.try_start(&[&flag]).await.unwrap();
    assert_eq!(running.admin.addresses.s3, Some(format!("http://127.0.0.1:{port}")));
}

#[tokio::test]
async fn template_with_an_invalid_bucket_is_refused() {
    for name in ["../outside", "Files", "a", "192.168.0.1"] {
        let stage = stage();
        stage.replace("BucketName: others", &format!("BucketName: {name}"));
        let refusal = stage.refusal().await;
        assert!(refusal.contains(&format!("`{name}` is not a valid bucket name")), "{refusal}");
    }
    let stage = stage();
    stage.replace("Status: Enabled", "Status: On");
    let refusal = stage.refusal().await;
    assert!(refusal.contains("Status must be Enabled or Suspended"), "{refusal}");
}
