//! The game server: the HTTP API and its WebSockets.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use domain::game::GameId;
use http::{HeaderValue, Method, Request, StatusCode, Uri, header};
use http_body_util::{BodyExt, Full, Limited};
use hyper_rustls::{HttpsConnector, HttpsConnectorBuilder, MaybeHttpsStream};
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::{TokioExecutor, TokioIo};
use rustls::{ClientConfig, RootCertStore, crypto::ring};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use tokio::net::TcpStream;
use tokio::time::timeout;
use tokio_tungstenite::tungstenite::Error as SocketError;
use tokio_tungstenite::tungstenite::client::IntoClientRequest;
use tokio_tungstenite::{WebSocketStream, client_async};
use tower::ServiceExt;

/// The time limit of a request or handshake. API Gateway's own limit is 29 s.
const REQUEST_MAX: Duration = Duration::from_secs(30);

/// The largest answer that is read. A room with a ticket has some kilobytes.
const ANSWER_BYTES_MAX: usize = 1024 * 1024;

/// A connection to a game.
pub type Socket = WebSocketStream<TokioIo<MaybeHttpsStream<TokioIo<TcpStream>>>>;

/// A seat in a game, with the ticket for a WebSocket.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Seat {
    /// The game.
    pub game_id: String,
    /// The player's id.
    pub player_id: String,
    /// Identifies the player in all games.
    pub player_token: String,
    /// Opens one WebSocket within 60 seconds.
    pub ticket: String,
}

/// Why a request failed.
#[derive(Debug, thiserror::Error)]
pub enum ServerError {
    /// An address is not valid.
    #[error("{0} is not an address")]
    Address(String),
    /// The server does not answer, or not in time.
    #[error("{0}")]
    Unreachable(String),
    /// The server refused the request.
    #[error("{status}: {title} ({kind})")]
    Refused {
        /// The HTTP status.
        status: StatusCode,
        /// The last part of the problem's type, such as `game-full`.
        kind: String,
        /// The problem's title.
        title: String,
    },
    /// The answer does not have the documented format.
    #[error("the answer cannot be read: {0}")]
    Unreadable(String),
}

impl ServerError {
    /// Whether the same request may succeed later.
    pub fn is_transient(&self) -> bool {
        match self {
            Self::Unreachable(_) => true,
            Self::Refused { status, .. } => status.is_server_error() || *status == StatusCode::TOO_MANY_REQUESTS,
            Self::Address(_) | Self::Unreadable(_) => false,
        }
    }
}

/// A game server. Clones share its connections.
#[derive(Debug, Clone)]
pub struct Server {
    http: String,
    sockets: String,
    connector: HttpsConnector<HttpConnector>,
    client: Client<HttpsConnector<HttpConnector>, Full<Bytes>>,
}

impl Server {
    /// The server at `http`, such as `http://127.0.0.1:3000`. `sockets` is the address of its
    /// WebSockets. Without it, a local stack reports the address, and for a deployed stack it is
    /// `/ws` beside the page.
    ///
    /// # Errors
    /// If the server does not answer, or reports no address of WebSockets.
    pub async fn at(http: &str, sockets: Option<&str>) -> Result<Self, ServerError> {
        let connector = connector()?;
        let client = Client::builder(TokioExecutor::new()).build(connector.clone());
        let http = http.trim_end_matches('/').to_owned();
        let mut server = Self { http, sockets: String::new(), connector, client };
        server.sockets = match sockets {
            Some(sockets) => sockets.to_owned(),
            None => match server.request::<Value>(Method::GET, "/_local/health", None, None).await {
                Ok(health) => {
                    let sockets = health["addresses"]["sockets"].as_str().map(str::to_owned);
                    sockets.ok_or_else(|| {
                        ServerError::Unreadable("the server reports no address of WebSockets".to_owned())
                    })?
                }
                // A deployed stack has no such route; its WebSockets are at `/ws` beside the page.
                Err(ServerError::Refused { .. } | ServerError::Unreadable(_)) => {
                    format!("{}/ws", server.http.replacen("http", "ws", 1))
                }
                Err(error) => return Err(error),
            },
        };
        Ok(server)
    }

    /// The link to a game's page.
    pub fn link(&self, game_id: &str) -> String {
        format!("{}/game/?game={game_id}", self.http)
    }

    /// Creates a game; `wanted` is the body of `POST /games`.
    pub async fn create_game(&self, wanted: &Value) -> Result<Seat, ServerError> {
        self.request(Method::POST, "/games", None, Some(wanted)).await
    }

    /// Takes a seat. With the token of a player who has a seat, gets a new ticket for it.
    pub async fn join_game(&self, game_id: GameId, name: &str, token: Option<&str>) -> Result<Seat, ServerError> {
        let path = format!("/games/{game_id}/players");
        self.request(Method::POST, &path, token, Some(&json!({"name": name}))).await
    }

    /// Opens a WebSocket with a ticket.
    pub async fn connect(&self, ticket: &str) -> Result<Socket, ServerError> {
        let url = format!("{}?ticket={ticket}", self.sockets);
        let request = url.as_str().into_client_request().map_err(|_| ServerError::Address(self.sockets.clone()))?;
        // The connector accepts only HTTP schemes, so the address of the socket is rewritten.
        let over: Uri =
            url.replacen("ws", "http", 1).parse().map_err(|_| ServerError::Address(self.sockets.clone()))?;
        let connect = async {
            let stream = self.connector.clone().oneshot(over).await;
            let stream = stream.map_err(|error| ServerError::Unreachable(error.to_string()))?;
            match client_async(request, TokioIo::new(stream)).await {
                Ok((socket, _)) => Ok(socket),
                Err(SocketError::Http(answer)) => Err(ServerError::Refused {
                    status: answer.status(),
                    kind: "handshake".to_owned(),
                    title: "The socket was refused".to_owned(),
                }),
                Err(error) => Err(ServerError::Unreachable(error.to_string())),
            }
        };
        timeout(REQUEST_MAX, connect).await.map_err(|_| no_answer())?
    }

    async fn request<T: DeserializeOwned>(
        &self,
        method: Method,
        path: &str,
        token: Option<&str>,
        body: Option<&Value>,
    ) -> Result<T, ServerError> {
        let mut request = Request::builder().method(method).uri(format!("{}{path}", self.http));
        if let Some(token) = token {
            let token = HeaderValue::try_from(format!("Bearer {token}"));
            request = request.header(header::AUTHORIZATION, token.map_err(|_| no_address(path))?);
        }
        let body = body.map_or_else(Bytes::new, |body| body.to_string().into());
        let request = request.header(header::CONTENT_TYPE, "application/json").body(Full::new(body));
        let request = request.map_err(|_| no_address(&self.http))?;
        let exchange = async {
            let answer = self.client.request(request).await.map_err(|error| {
                // The client's own error text contains neither the address nor the reason.
                let reason = std::error::Error::source(&error).map(ToString::to_string).unwrap_or_default();
                ServerError::Unreachable(format!("{} does not answer: {reason}", self.http))
            })?;
            let status = answer.status();
            let body = Limited::new(answer.into_body(), ANSWER_BYTES_MAX).collect().await;
            Ok((status, body.map_err(|error| ServerError::Unreadable(error.to_string()))?.to_bytes()))
        };
        let (status, body) = timeout(REQUEST_MAX, exchange).await.map_err(|_| no_answer())??;
        if !status.is_success() {
            let problem: Value = serde_json::from_slice(&body).unwrap_or_default();
            let text = |name: &str| problem[name].as_str().unwrap_or_default().to_owned();
            let kind = text("type").rsplit(':').next().unwrap_or_default().to_owned();
            return Err(ServerError::Refused { status, kind, title: text("title") });
        }
        serde_json::from_slice(&body).map_err(|error| ServerError::Unreadable(error.to_string()))
    }
}

fn no_answer() -> ServerError {
    ServerError::Unreachable("no answer in time".to_owned())
}

fn no_address(text: &str) -> ServerError {
    ServerError::Address(text.to_owned())
}

/// One connector for HTTP, HTTPS and WebSockets, so that TLS is set up in one place. A machine
/// without root certificates can still reach a local server.
fn connector() -> Result<HttpsConnector<HttpConnector>, ServerError> {
    let mut roots = RootCertStore::empty();
    roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
    let tls =
        ClientConfig::builder_with_provider(Arc::new(ring::default_provider())).with_safe_default_protocol_versions();
    let tls = tls.map_err(|error| ServerError::Unreachable(error.to_string()))?;
    let tls = tls.with_root_certificates(roots).with_no_client_auth();
    Ok(HttpsConnectorBuilder::new().with_tls_config(tls).https_or_http().enable_http1().build())
}
