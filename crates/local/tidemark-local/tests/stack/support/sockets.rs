//! A stack with a WebSocket API, and clients of it.

use std::fmt::Write as _;
use std::time::Duration;

use futures::{SinkExt, StreamExt};
use serde_json::{Value, json};
use tidemark_local::startup::RunningStack;
use tokio::net::TcpStream;
use tokio::time::timeout;
use tokio_tungstenite::tungstenite::client::IntoClientRequest;
use tokio_tungstenite::tungstenite::{Error, Message};
use tokio_tungstenite::{WebSocketStream, client_async};

use super::{PATIENCE, Stage};

/// API Gateway's predefined routes, and a route with a response.
pub(crate) const ALL: [&str; 4] = ["$connect", "$disconnect", "$default", "ask"];

impl Stage {
    /// A WebSocket API with these routes, all of the test function; the route `ask` has a response.
    pub(crate) fn sockets(routes: &[&str], stage_settings: &str) -> Self {
        let stage = Self::new("", "");
        let path = stage.path("template.yaml");
        let template =
            std::fs::read_to_string(&path).unwrap().replace("Binary: test_function", "Binary: test_websocket_function");
        // The address on AWS, as in a real template; the stack replaces it by its own.
        let mut template = template.replace(
            "          GREETING:",
            "          AWS_ENDPOINT_URL_APIGATEWAYMANAGEMENTAPI: !Sub 'https://${Sockets}.execute-api.${AWS::Region}.${AWS::URLSuffix}/${Live}'\n          GREETING:",
        );
        template.push_str(&SOCKETS.replace("      STAGE\n", &super::indent(stage_settings, 6)));
        for (number, route) in routes.iter().enumerate() {
            let answers = if *route == "ask" { ", RouteResponseSelectionExpression: $default" } else { "" };
            let target = "!Join [/, [integrations, !Ref ToPuppet]]";
            write!(
                template,
                "  Route{number}:\n    Type: AWS::ApiGatewayV2::Route\n    Properties: {{ ApiId: !Ref Sockets, RouteKey: {route}, Target: {target}{answers} }}\n"
            )
            .unwrap();
            if *route == "ask" {
                write!(
                    template,
                    "  Answer:\n    Type: AWS::ApiGatewayV2::RouteResponse\n    Properties: {{ ApiId: !Ref Sockets, RouteId: !Ref Route{number}, RouteResponseKey: $default }}\n"
                )
                .unwrap();
            }
        }
        std::fs::write(path, template).unwrap();
        stage
    }

    /// The events of this type that the test function has seen.
    pub(crate) fn events(&self, event_type: &str) -> Vec<Value> {
        let events = self.recording().into_iter();
        events.filter(|event| event["requestContext"]["eventType"] == event_type).collect()
    }

    /// Waits for the first event of this type.
    pub(crate) async fn event(&self, event_type: &str) -> Value {
        self.until(event_type, |stage| !stage.events(event_type).is_empty()).await;
        self.events(event_type).remove(0)
    }
}

/// A connected client.
pub(crate) struct Player {
    pub socket: WebSocketStream<TcpStream>,
    pub protocol: Option<String>,
}

impl Player {
    /// Connects with this query and these headers.
    pub(crate) async fn try_connect(
        running: &RunningStack,
        query: &str,
        headers: &[(&'static str, &str)],
    ) -> Result<Self, Error> {
        let url = running.admin.addresses.sockets.clone().unwrap();
        let address = url.trim_start_matches("ws://").split('/').next().unwrap().to_owned();
        let mut request = format!("{url}{query}").into_client_request().unwrap();
        for (name, value) in headers {
            request.headers_mut().insert(*name, value.parse().unwrap());
        }
        let stream = TcpStream::connect(address).await.unwrap();
        let (socket, response) = client_async(request, stream).await?;
        let protocol = response.headers().get("sec-websocket-protocol");
        let protocol = protocol.map(|protocol| protocol.to_str().unwrap().to_owned());
        Ok(Self { socket, protocol })
    }

    pub(crate) async fn connect(running: &RunningStack) -> Self {
        Self::try_connect(running, "", &[]).await.unwrap()
    }

    pub(crate) async fn send(&mut self, message: &Value) {
        self.socket.send(Message::text(message.to_string())).await.unwrap();
    }

    /// The next message; fails after [`PATIENCE`].
    pub(crate) async fn next(&mut self) -> Message {
        timeout(PATIENCE, self.socket.next()).await.expect("a message").expect("an open connection").unwrap()
    }

    /// The next message as text.
    pub(crate) async fn text(&mut self) -> String {
        self.next().await.into_text().unwrap().to_string()
    }

    /// Sends an order to the test function, and waits for the response.
    pub(crate) async fn ask(&mut self, mut order: Value) -> String {
        order["action"] = json!("ask");
        self.send(&order).await;
        self.text().await
    }

    /// The connection's id.
    pub(crate) async fn id(&mut self) -> String {
        self.ask(json!({})).await
    }

    /// Code and reason of the next close frame; messages before it are skipped.
    pub(crate) async fn closed(&mut self) -> (u16, String) {
        loop {
            match self.next().await {
                Message::Close(Some(frame)) => return (frame.code.into(), frame.reason.to_string()),
                Message::Text(_) => {}
                other => panic!("expected a close frame, not {other:?}"),
            }
        }
    }

    /// Waits for the connection to break without a close frame.
    pub(crate) async fn broken(&mut self) {
        loop {
            match timeout(PATIENCE, self.socket.next()).await.expect("the end of the connection") {
                Some(Ok(Message::Text(_))) => {}
                Some(Err(_)) | None => return,
                other => panic!("expected a broken connection, not {other:?}"),
            }
        }
    }
}

/// The status of a refused handshake.
pub(crate) fn refusal(connected: Result<Player, Error>) -> u16 {
    match connected {
        Err(Error::Http(response)) => response.status().as_u16(),
        Err(other) => panic!("expected a refusal, not {other}"),
        Ok(_) => panic!("expected a refusal, not a connection"),
    }
}

/// Calls the management API with a plain HTTP client.
pub(crate) async fn manage(
    running: &RunningStack,
    method: reqwest::Method,
    path: &str,
    body: Vec<u8>,
) -> reqwest::Response {
    let url = format!("{}{path}", running.admin.addresses.http);
    timeout(Duration::from_secs(30), reqwest::Client::new().request(method, url).body(body).send())
        .await
        .unwrap()
        .unwrap()
}

const SOCKETS: &str = "
  Sockets:
    Type: AWS::ApiGatewayV2::Api
    Properties: { Name: sockets, ProtocolType: WEBSOCKET, RouteSelectionExpression: $request.body.action }
  Live:
    Type: AWS::ApiGatewayV2::Stage
    Properties:
      ApiId: !Ref Sockets
      StageName: live
      AutoDeploy: true
      STAGE
  ToPuppet:
    Type: AWS::ApiGatewayV2::Integration
    Properties:
      ApiId: !Ref Sockets
      IntegrationType: AWS_PROXY
      IntegrationUri: !Sub 'arn:${AWS::Partition}:apigateway:${AWS::Region}:lambda:path/2015-03-31/functions/${TestFunction.Arn}/invocations'
";
