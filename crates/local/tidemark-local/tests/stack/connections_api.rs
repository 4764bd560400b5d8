//! The management API of open connections: for functions, for the aws command line, and closed to
//! the network.

use crate::support::sockets::{ALL, Player, manage};
use crate::support::{Stage, until};
use reqwest::Method;
use serde_json::{Value, json};

#[tokio::test]
async fn post_to_connection_reaches_others_and_reports_gone_ones() {
    let stage = Stage::sockets(&ALL, "");
    let running = stage.start().await;
    let (mut one, mut two) = (Player::connect(&running).await, Player::connect(&running).await);
    let other = two.id().await;
    let to = json!(["AAAAAAAAAAAAAAA=", other, "undefined"]);
    let posted = one.ask(json!({"do": "say", "to": to, "text": "hello ✓"})).await;
    assert_eq!(posted, r#"["GoneException","ok","BadRequestException"]"#);
    assert_eq!(two.text().await, "hello ✓");
    let described: Value = serde_json::from_str(&one.ask(json!({"do": "describe", "to": other})).await).unwrap();
    assert_eq!(described["sourceIp"], "127.0.0.1");
    let time = |field: &str| described[field].as_str().unwrap().parse::<jiff::Timestamp>().unwrap();
    assert!(time("connectedAt") < time("lastActiveAt"));
    assert_eq!(one.ask(json!({"do": "close", "to": other})).await, "closed");
    assert_eq!(two.closed().await, (1000, "Connection Closed Normally".to_owned()));
    assert_eq!(one.ask(json!({"do": "say", "to": [other], "text": "still there?"})).await, r#"["GoneException"]"#);
    assert_eq!(stage.event("DISCONNECT").await["requestContext"]["disconnectStatusCode"], 1000);
}

#[tokio::test]
async fn management_api_works_without_stage_and_rejects_bad_requests() {
    let stage = Stage::sockets(&ALL, "");
    let running = stage.start().await;
    let mut player = Player::connect(&running).await;
    let id = player.id().await;
    let encoded = id.replace('=', "%3D");
    for path in ["/@connections/", "/%40connections/", "/live/@connections/", "/live/%40connections/"] {
        for id in [&id, &encoded] {
            let response = manage(&running, Method::POST, &format!("{path}{id}"), path.into()).await;
            assert_eq!(response.status(), 200, "{path}{id}");
            assert_eq!(player.text().await, path);
        }
    }
    let path = format!("/@connections/{id}");
    let large = |bytes| "x".repeat(bytes).into_bytes();
    for (method, path, body, status, kind) in [
        (Method::POST, path.as_str(), large(128 * 1024 + 1), 413, "PayloadTooLargeException"),
        (Method::POST, &path, vec![0xff], 400, "BadRequestException"),
        (Method::POST, "/@connections/undefined", Vec::new(), 400, "BadRequestException"),
        (Method::POST, "/@connections/AAAAAAAAAAAAAAA=", Vec::new(), 410, "GoneException"),
        (Method::GET, "/@connections/AAAAAAAAAAAAAAA=", Vec::new(), 410, "GoneException"),
        (Method::DELETE, "/@connections/AAAAAAAAAAAAAAA=", Vec::new(), 410, "GoneException"),
    ] {
        let response = manage(&running, method, path, body).await;
        assert_eq!(
            (response.status().as_u16(), &response.headers()["x-amzn-errortype"]),
            (status, &kind.parse().unwrap())
        );
    }
    assert_eq!(manage(&running, Method::POST, &path, large(128 * 1024)).await.status(), 200);
    assert_eq!(player.text().await.len(), 128 * 1024);
}

#[tokio::test]
async fn messages_posted_before_a_close_still_arrive() {
    let stage = Stage::sockets(&ALL, "");
    // The player reads nothing until all messages are posted.
    let running = stage.try_start(&["--ws-write-timeout=120"]).await.unwrap();
    let mut player = Player::connect(&running).await;
    let path = format!("/@connections/{}", player.id().await);
    // More than the socket's buffers hold, so that some messages are still queued when the
    // connection is closed.
    let message = |number: usize| format!("{number:060000}");
    for number in 0..120 {
        assert_eq!(manage(&running, Method::POST, &path, message(number).into()).await.status(), 200);
    }
    assert_eq!(manage(&running, Method::DELETE, &path, Vec::new()).await.status(), 204);
    assert_eq!(manage(&running, Method::POST, &path, Vec::new()).await.status(), 410);
    for number in 0..120 {
        assert!(player.text().await == message(number), "{number}");
    }
    assert_eq!(player.closed().await.0, 1000);
}

#[tokio::test]
async fn slow_client_blocks_no_other_and_is_disconnected() {
    let stage = Stage::sockets(&ALL, "");
    let running = stage.try_start(&["--ws-write-timeout=0.5"]).await.unwrap();
    let (mut slow, mut other) = (Player::connect(&running).await, Player::connect(&running).await);
    let (slow_id, other_id) = (slow.id().await, other.id().await);
    let post = async |id: &str, bytes: usize| {
        manage(&running, Method::POST, &format!("/@connections/{id}"), vec![b'x'; bytes]).await.status().as_u16()
    };
    let mut refused = None;
    for _ in 0..2000 {
        let status = post(&slow_id, 100_000).await;
        assert_eq!(post(&other_id, 3).await, 200);
        assert_eq!(other.text().await, "xxx");
        if status != 200 {
            refused = Some(status);
            break;
        }
    }
    assert!(matches!(refused, Some(429 | 410)), "{refused:?}");
    until("the slow one's end", || running.admin.sockets.as_ref().unwrap().count() == 1).await;
    assert_eq!(post(&slow_id, 3).await, 410);
    assert_eq!(stage.event("DISCONNECT").await["requestContext"]["disconnectStatusCode"], 1006);
    slow.broken().await;
}

#[tokio::test]
async fn other_machines_reach_the_apis_but_no_admin_routes() {
    let stage = Stage::sockets(&ALL, "");
    let running = stage.try_start(&["--host=0.0.0.0"]).await.unwrap();
    let Some(network) = running.admin.addresses.network.clone().filter(|address| !address.contains("//127.")) else {
        eprintln!("NOT RUN: this machine is not on a network");
        return running.stop().await;
    };
    let status = async |method: Method, path: &str| {
        reqwest::Client::new().request(method, format!("{network}{path}")).send().await.unwrap().status().as_u16()
    };
    assert_eq!(status(Method::GET, "/things/1").await, 200);
    for (method, path) in [
        (Method::GET, "/_local/health"),
        (Method::PUT, "/_local/faults"),
        (Method::DELETE, "/_local/expired"),
        (Method::DELETE, "/_local/lost"),
        (Method::POST, "/2015-03-31/functions/test_websocket_function/invocations"),
        (Method::POST, "/@connections/AAAAAAAAAAAAAAA="),
        (Method::POST, "/live/@connections/AAAAAAAAAAAAAAA="),
    ] {
        assert_eq!(status(method, path).await, 403, "{path}");
    }
    assert_eq!(Player::connect(&running).await.id().await.len(), 16, "functions still reach the stack");
}

#[tokio::test]
async fn the_aws_command_line_reaches_connections() {
    let Some(tools) = std::env::var_os("TIDEMARK_TOOLS") else {
        eprintln!("NOT RUN: TIDEMARK_TOOLS is not set, so there is no aws; `make verify PART=tools` installs it");
        return;
    };
    let stage = Stage::sockets(&ALL, "");
    let running = stage.start().await;
    let mut player = Player::connect(&running).await;
    let id = player.id().await;
    let aws = async |arguments: &[&str]| {
        let mut aws = tokio::process::Command::new(std::path::Path::new(&tools).join("aws"));
        aws.args(["--endpoint-url", &format!("{}/live", running.admin.addresses.http), "--output", "json"]);
        aws.arg("apigatewaymanagementapi").args(arguments).args(["--connection-id", &id]);
        aws.env("AWS_ACCESS_KEY_ID", "local")
            .env("AWS_SECRET_ACCESS_KEY", "local")
            .env("AWS_DEFAULT_REGION", "us-east-1");
        let output = aws.output().await.unwrap();
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        (text(&output.stdout), text(&output.stderr))
    };
    std::fs::write(stage.path("message"), "hello ✓").unwrap();
    // From a file: version 1 of the command line takes an argument as it is, version 2 decodes it
    // as base64.
    let data = format!("fileb://{}", stage.path("message").display());
    let (_, problem) = aws(&["post-to-connection", "--data", &data]).await;
    assert_eq!((problem.as_str(), player.text().await.as_str()), ("", "hello ✓"));
    let (found, problem) = aws(&["get-connection"]).await;
    let found: Value = serde_json::from_str(&found).unwrap_or_else(|_| panic!("{problem}"));
    assert_eq!(found["Identity"]["SourceIp"], "127.0.0.1");
    assert_eq!(aws(&["delete-connection"]).await, (String::new(), String::new()));
    assert_eq!(player.closed().await.0, 1000);
    let (_, problem) = aws(&["get-connection"]).await;
    assert!(problem.contains("GoneException"), "{problem}");
}
