//! Real WebSocket connections through the WebSocket API to a real function.

use crate::support::Stage;
use crate::support::sockets::{ALL, Player, manage, refusal};
use futures::SinkExt;
use reqwest::Method;
use serde_json::{Value, json};
use tokio_tungstenite::tungstenite::protocol::CloseFrame;
use tokio_tungstenite::tungstenite::protocol::frame::Frame;
use tokio_tungstenite::tungstenite::protocol::frame::coding::{Data, OpCode};
use tokio_tungstenite::tungstenite::{Bytes, Message};

#[tokio::test]
async fn connect_message_and_disconnect_reach_their_functions_as_one_connection() {
    let stage = Stage::sockets(&ALL, "");
    let running = stage.start().await;
    let mut player = Player::try_connect(&running, "?ticket=a%20b", &[("user-agent", "test")]).await.unwrap();
    let id = player.id().await;
    player.socket.send(Message::text("no JSON")).await.unwrap();
    stage.until("the second message", |stage| stage.events("MESSAGE").len() == 2).await;
    player.socket.close(None).await.unwrap();
    let (connect, disconnect) = (stage.event("CONNECT").await, stage.event("DISCONNECT").await);
    let messages = stage.events("MESSAGE");
    assert_eq!(connect["queryStringParameters"], json!({"ticket": "a b"}));
    assert_eq!(connect["headers"]["user-agent"], "test");
    for event in [&connect, &messages[0], &messages[1], &disconnect] {
        let context = &event["requestContext"];
        assert_eq!(context["connectionId"], id);
        assert_eq!(context["connectedAt"], connect["requestContext"]["requestTimeEpoch"]);
        assert_eq!((&context["stage"], &context["identity"]["sourceIp"]), (&json!("live"), &json!("127.0.0.1")));
    }
    assert_eq!(messages[0]["requestContext"]["routeKey"], "ask");
    assert_eq!(
        (&messages[1]["requestContext"]["routeKey"], &messages[1]["body"]),
        (&json!("$default"), &json!("no JSON"))
    );
    assert_eq!(disconnect["requestContext"]["routeKey"], "$disconnect");
}

#[tokio::test]
async fn connect_refuses_a_handshake_with_its_own_status() {
    let stage = Stage::sockets(&ALL, "");
    let running = stage.start().await;
    for (query, status) in
        [("?do=refuse&status=401", 401), ("?do=refuse&status=302", 302), ("?do=fail", 502), ("?do=nothing", 502)]
    {
        assert_eq!(refusal(Player::try_connect(&running, query, &[]).await), status, "{query}");
    }
    assert_eq!(refusal(Player::try_connect(&running, "", &[("sec-websocket-version", "12")]).await), 400);
    assert_eq!(manage(&running, Method::GET, "/ws", Vec::new()).await.status(), 400);
    assert_eq!(running.admin.sockets.as_ref().unwrap().count(), 0);
    assert!(stage.events("DISCONNECT").is_empty(), "a refused handshake has no disconnect event");
}

const GUARD: &str = "
  Guard:
    Type: AWS::Serverless::Function
    Metadata: { BuildProperties: { Binary: test_function } }
    Properties: { Runtime: provided.al2023, FunctionName: guard }
  Guarding:
    Type: AWS::ApiGatewayV2::Authorizer
    Properties:
      ApiId: !Ref Sockets
      Name: guarding
      AuthorizerType: REQUEST
      IdentitySource: [route.request.header.X-Token]
      AuthorizerUri: !Sub 'arn:aws:apigateway:${AWS::Region}:lambda:path/2015-03-31/functions/${Guard.Arn}/invocations'
";

#[tokio::test]
async fn authorizer_guards_handshakes_and_its_context_is_in_events() {
    let stage = Stage::sockets(&ALL, "");
    let path = stage.path("template.yaml");
    let template = std::fs::read_to_string(&path).unwrap();
    let guarded = "RouteKey: $connect, AuthorizationType: CUSTOM, AuthorizerId: !Ref Guarding,";
    std::fs::write(&path, template.replace("RouteKey: $connect,", guarded)).unwrap();
    stage.add_resources(GUARD.trim_matches('\n'));
    let running = stage.start().await;
    for (token, status) in [("", 401), ("invalid", 401), ("stranger", 403), ("broken", 500)] {
        assert_eq!(refusal(Player::try_connect(&running, "", &[("x-token", token)]).await), status, "{token}");
    }
    assert!(stage.events("CONNECT").is_empty(), "a refused handshake does not reach $connect");
    let mut player = Player::try_connect(&running, "", &[("x-token", "member")]).await.unwrap();
    player.id().await;
    for event in [stage.event("CONNECT").await, stage.event("MESSAGE").await] {
        let authorizer = &event["requestContext"]["authorizer"];
        assert_eq!((&authorizer["principalId"], &authorizer["tenant"]), (&json!("member"), &json!("blue")));
    }
}

#[tokio::test]
async fn connect_chooses_a_subprotocol() {
    let stage = Stage::sockets(&ALL, "");
    let running = stage.start().await;
    let offer = [("sec-websocket-protocol", "v1, v2")];
    let player = Player::try_connect(&running, "?do=choose&protocol=v2", &offer).await.unwrap();
    assert_eq!(player.protocol.as_deref(), Some("v2"));
}

#[tokio::test]
async fn unroutable_or_failing_message_is_answered_by_the_api() {
    let stage = Stage::sockets(&["$connect", "say", "ask"], "");
    let running = stage.start().await;
    let mut player = Player::connect(&running).await;
    let id = player.id().await;
    for (message, expected) in [
        ("no JSON", "Forbidden"),
        (r#"{"action": "other"}"#, "Forbidden"),
        (r#"{"action": "$connect"}"#, "Forbidden"),
        (r#"{"action": "say", "do": "fail"}"#, "Internal server error"),
        (r#"{"action": "say", "do": "nothing"}"#, "Internal server error"),
    ] {
        player.socket.send(Message::text(message)).await.unwrap();
        let answer: Value = serde_json::from_str(&player.text().await).unwrap();
        assert_eq!((&answer["message"], &answer["connectionId"]), (&json!(expected), &json!(id)), "{message}");
        assert_eq!(answer["requestId"].as_str().map(str::len), Some(15));
    }
}

#[tokio::test]
async fn only_a_route_with_a_response_answers() {
    let stage = Stage::sockets(&["say", "ask"], "");
    let running = stage.start().await;
    let mut player = Player::connect(&running).await;
    player.send(&json!({"action": "say"})).await;
    stage.event("MESSAGE").await;
    // If the first message had a response, it would arrive here instead of the second's.
    assert_eq!(player.ask(json!({"do": "describe", "to": "AAAAAAAAAAAAAAA="})).await, "GoneException");
}

#[tokio::test]
async fn messages_of_one_connection_do_not_wait_for_each_other() {
    let stage = Stage::sockets(&ALL, "");
    let running = stage.start().await;
    let mut player = Player::connect(&running).await;
    let file = stage.path("go on");
    player.send(&json!({"action": "ask", "do": "wait", "file": file})).await;
    assert_ne!(player.id().await, "waited");
    std::fs::write(file, "").unwrap();
    assert_eq!(player.text().await, "waited");
}

#[tokio::test]
async fn disconnect_gets_the_close_status() {
    let stage = Stage::sockets(&ALL, "");
    let running = stage.start().await;
    let mut endings = Vec::new();
    for code in [Some(1000), Some(4001), None] {
        let mut player = Player::connect(&running).await;
        let frame = code.map(|code: u16| CloseFrame { code: code.into(), reason: "enough".into() });
        player.socket.close(frame).await.unwrap();
        stage.until("the disconnect", |stage| stage.events("DISCONNECT").len() > endings.len()).await;
        endings.push(stage.events("DISCONNECT").pop().unwrap());
    }
    drop(Player::connect(&running).await);
    stage.until("the last disconnect", |stage| stage.events("DISCONNECT").len() > endings.len()).await;
    endings.push(stage.events("DISCONNECT").pop().unwrap());
    let ending = |event: &Value| {
        let context = &event["requestContext"];
        (context["disconnectStatusCode"].as_u64().unwrap(), context["disconnectReason"].as_str().unwrap().to_owned())
    };
    let endings: Vec<_> = endings.iter().map(ending).collect();
    let expected = [
        (1000, "enough"),
        (4001, "enough"),
        (1005, "Client-side close frame status not set"),
        (1006, "Connection lost"),
    ];
    assert_eq!(endings, expected.map(|(code, reason)| (code, reason.to_owned())));
    assert_eq!(running.admin.sockets.as_ref().unwrap().count(), 0);
}

/// Sends a message of this size in frames of this size, and asks for a response.
async fn send_in_frames(player: &mut Player, message_bytes: usize, frame_bytes: usize) {
    let (head, tail) = (r#"{"action":"ask","padding":""#, r#""}"#);
    let padding = "x".repeat(message_bytes - head.len() - tail.len());
    let body = format!("{head}{padding}{tail}").into_bytes();
    let chunks = body.chunks(frame_bytes);
    let last = chunks.len() - 1;
    for (number, chunk) in chunks.enumerate() {
        let code = OpCode::Data(if number == 0 { Data::Text } else { Data::Continue });
        let frame = Frame::message(Bytes::copy_from_slice(chunk), code, number == last);
        if player.socket.send(Message::Frame(frame)).await.is_err() {
            return;
        }
    }
}

#[tokio::test]
async fn messages_within_limits_pass_and_larger_ones_end_connection() {
    let stage = Stage::sockets(&ALL, "");
    let running = stage.start().await;
    for (message_bytes, frame_bytes) in [(32 * 1024, 32 * 1024), (128 * 1024, 32 * 1024)] {
        let mut player = Player::connect(&running).await;
        send_in_frames(&mut player, message_bytes, frame_bytes).await;
        assert_eq!(player.text().await.len(), 16, "{message_bytes}");
    }
    for (message_bytes, frame_bytes) in
        [(32 * 1024 + 1, 32 * 1024 + 1), (128 * 1024 + 1, 32 * 1024), (4 << 20, 4 << 20)]
    {
        let mut player = Player::connect(&running).await;
        send_in_frames(&mut player, message_bytes, frame_bytes).await;
        assert_eq!(player.closed().await, (1009, "Message too long".to_owned()), "{message_bytes}");
    }
}

#[tokio::test]
async fn binary_frames_end_the_connection() {
    let stage = Stage::sockets(&ALL, "");
    let running = stage.start().await;
    let mut player = Player::connect(&running).await;
    player.socket.send(Message::binary(b"abc".to_vec())).await.unwrap();
    assert_eq!(player.closed().await.0, 1003);
    assert_eq!(stage.event("DISCONNECT").await["requestContext"]["disconnectStatusCode"], 1003);
}

#[tokio::test]
async fn an_idle_connection_and_an_old_one_are_closed() {
    for flag in ["--ws-idle-timeout=0.2", "--ws-connection-duration=0.2"] {
        let stage = Stage::sockets(&ALL, "");
        let running = stage.try_start(&[flag]).await.unwrap();
        let mut player = Player::connect(&running).await;
        assert_eq!(player.closed().await, (1001, "Going away".to_owned()), "{flag}");
        assert_eq!(stage.event("DISCONNECT").await["requestContext"]["disconnectStatusCode"], 1001, "{flag}");
        running.stop().await;
    }
}

#[tokio::test]
async fn messages_and_handshakes_beyond_the_rate_limit_are_refused() {
    let throttle = "DefaultRouteSettings: { ThrottlingRateLimit: 0.001, ThrottlingBurstLimit: 1 }\n\
                    RouteSettings: { ask: { ThrottlingRateLimit: 0.001, ThrottlingBurstLimit: 2 } }";
    let stage = Stage::sockets(&ALL, throttle);
    let running = stage.start().await;
    let mut player = Player::connect(&running).await;
    assert_eq!(refusal(Player::try_connect(&running, "", &[]).await), 429);
    assert_eq!(player.id().await.len(), 16);
    assert_eq!(player.id().await.len(), 16);
    assert!(player.id().await.contains(r#""message":"Too Many Requests""#));
}

#[tokio::test]
async fn too_many_unanswered_messages_of_one_client_are_refused() {
    let stage = Stage::sockets(&ALL, "");
    let running = stage.start().await;
    let mut player = Player::connect(&running).await;
    let file = stage.path("go on");
    for _ in 0..65 {
        player.send(&json!({"action": "say", "do": "wait", "file": file})).await;
    }
    assert!(player.text().await.contains(r#""message":"Too Many Requests""#));
    std::fs::write(file, "").unwrap();
    stage.until("all accepted messages", |stage| stage.events("MESSAGE").len() == 64).await;
}

#[tokio::test]
async fn stopping_the_stack_closes_connections_and_invokes_disconnect() {
    let stage = Stage::sockets(&ALL, "");
    let running = stage.start().await;
    let mut player = Player::connect(&running).await;
    let (closed, ()) = tokio::join!(player.closed(), running.stop());
    assert_eq!(closed, (1001, "Going away".to_owned()));
    assert_eq!(stage.events("DISCONNECT")[0]["requestContext"]["disconnectStatusCode"], 1001);
}

#[tokio::test]
async fn faults_cut_connections_and_delay_messages() {
    let stage = Stage::sockets(&ALL, "");
    let running = stage.start().await;
    let mut player = Player::connect(&running).await;
    let set = async |faults: Value| {
        let url = format!("{}/_local/faults", running.admin.addresses.http);
        let faults = json!({ "sockets": faults });
        let set: Value = reqwest::Client::new().put(url).json(&faults).send().await.unwrap().json().await.unwrap();
        set["sockets"].clone()
    };
    assert_eq!(set(json!({"delay_ms_max": 20})).await["delay_ms_max"], 20);
    let numbers: Vec<String> = (0..30).map(|number| number.to_string()).collect();
    let own = player.id().await;
    for number in &numbers {
        player.send(&json!({"action": "say", "do": "say", "to": [own], "text": number})).await;
    }
    let mut seen = Vec::new();
    for _ in &numbers {
        seen.push(player.text().await);
    }
    assert_ne!(seen, numbers, "no message overtook another");
    seen.sort_by_key(|number| number.parse::<u32>().unwrap());
    assert_eq!(seen, numbers);
    set(json!({"cut": {"next": 1}})).await;
    player.send(&json!({"action": "say"})).await;
    player.broken().await;
    assert_eq!(stage.event("DISCONNECT").await["requestContext"]["disconnectStatusCode"], 1006);
}

#[tokio::test]
async fn health_and_environment_contain_the_websocket_address() {
    let stage = Stage::sockets(&ALL, "");
    let running = stage.start().await;
    let _player = Player::connect(&running).await;
    let http = &running.admin.addresses.http;
    let health: Value = manage(&running, Method::GET, "/_local/health", Vec::new()).await.json().await.unwrap();
    assert_eq!(health["addresses"]["sockets"], json!(http.replace("http:", "ws:") + "/ws"));
    assert_eq!(health["connections"], 1);
    let environment = manage(&running, Method::GET, "/_local/environment", Vec::new()).await.text().await.unwrap();
    assert!(environment.contains(&format!("AWS_ENDPOINT_URL_APIGATEWAYMANAGEMENTAPI={http}/live\n")), "{environment}");
}
