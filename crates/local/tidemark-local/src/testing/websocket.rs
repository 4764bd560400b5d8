//! A client of the WebSocket API.

use std::time::Duration;

use futures::{SinkExt as _, StreamExt as _};
use serde_json::Value;
use tokio::net::TcpStream;
use tokio::time::timeout;
use tokio_tungstenite::tungstenite::client::IntoClientRequest as _;
use tokio_tungstenite::tungstenite::protocol::Message;
use tokio_tungstenite::{WebSocketStream, client_async};

use super::TestError;

/// An open connection.
#[derive(Debug)]
pub struct WebSocket {
    socket: WebSocketStream<TcpStream>,
    /// Messages that came while this client waited for something else.
    received: std::collections::VecDeque<String>,
    patience: Duration,
}

impl WebSocket {
    pub(super) async fn connect(url: &str, patience: Duration) -> Result<Self, TestError> {
        let request = url.into_client_request().map_err(failed)?;
        let host = request.uri().authority().map(ToString::to_string).unwrap_or_default();
        let stream = TcpStream::connect(host).await.map_err(failed)?;
        let connecting = timeout(patience, client_async(request, stream)).await;
        let (socket, _) = connecting.map_err(failed)?.map_err(failed)?;
        Ok(Self { socket, received: std::collections::VecDeque::new(), patience })
    }

    /// Sends JSON, and returns once the stack has taken the message, so that
    /// [`settle`](super::Stack::settle) waits for its function.
    ///
    /// # Errors
    /// [`TestError::Answer`] if the connection has ended.
    pub async fn send(&mut self, message: &Value) -> Result<(), TestError> {
        self.socket.send(Message::text(message.to_string())).await.map_err(failed)?;
        // The server answers a ping after it has taken earlier messages.
        self.socket.send(Message::Ping(bytes::Bytes::new())).await.map_err(failed)?;
        loop {
            match self.next().await? {
                Message::Pong(_) => return Ok(()),
                Message::Text(text) => self.received.push_back(text.to_string()),
                _ => {}
            }
        }
    }

    /// The next message.
    ///
    /// # Errors
    /// [`TestError::Answer`] if none comes within the patience, or the connection has ended.
    pub async fn receive(&mut self) -> Result<String, TestError> {
        if let Some(text) = self.received.pop_front() {
            return Ok(text);
        }
        loop {
            if let Message::Text(text) = self.next().await? {
                return Ok(text.to_string());
            }
        }
    }

    /// Closes the connection, and waits until the stack has closed it too.
    ///
    /// # Errors
    /// [`TestError::Answer`] if it does not within the patience.
    pub async fn close(mut self) -> Result<(), TestError> {
        self.socket.close(None).await.map_err(failed)?;
        let end = async { while let Some(Ok(_)) = self.socket.next().await {} };
        timeout(self.patience, end).await.map_err(failed)
    }

    async fn next(&mut self) -> Result<Message, TestError> {
        match timeout(self.patience, self.socket.next()).await.map_err(failed)? {
            Some(Ok(Message::Close(frame))) => Err(TestError::Answer(format!("the connection was closed: {frame:?}"))),
            Some(message) => message.map_err(failed),
            None => Err(TestError::Answer("the connection has ended".to_owned())),
        }
    }
}

fn failed(error: impl std::fmt::Display) -> TestError {
    TestError::Answer(format!("WebSocket: {error}"))
}
