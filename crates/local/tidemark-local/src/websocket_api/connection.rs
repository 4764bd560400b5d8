//! One open connection: the messages that others send to it, and the exchange with its client.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;

use futures::{SinkExt as _, StreamExt as _};
use hyper::upgrade::Upgraded;
use hyper_util::rt::TokioIo;
use jiff::Timestamp;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::sync::{Semaphore, mpsc};
use tokio::time::{Instant, sleep_until, timeout};
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::protocol::frame::coding::CloseCode;
use tokio_tungstenite::tungstenite::protocol::{CloseFrame, Role, WebSocketConfig};
use tokio_tungstenite::tungstenite::{Error, Message, Utf8Bytes, error::ProtocolError};
use tokio_util::sync::CancellationToken;

use super::event::Client;
use super::limits::ConnectionLimits;

/// Maximum number of messages that wait for a client to read them.
const OUTBOUND_MAX: usize = 128;

/// Maximum number of one client's messages whose function has not responded yet.
const UNDER_WAY_MAX: usize = 64;

/// How long a client may take to close its side after the close frame.
const CLOSE_GRACE: Duration = Duration::from_secs(1);

/// Far below the library's default of 128 KiB, which each connection would hold for its whole life.
const READ_BUFFER_BYTES: usize = 4096;

type Socket = WebSocketStream<TokioIo<Upgraded>>;

/// The end of a connection: close code and reason.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CloseStatus {
    /// Source: <https://www.rfc-editor.org/rfc/rfc6455#section-7.4.1>.
    pub code: u16,
    /// In API Gateway's wording, if it is known.
    pub reason: String,
}

impl CloseStatus {
    /// A status with this code and reason.
    pub fn new(code: u16, reason: &str) -> Self {
        Self { code, reason: reason.to_owned() }
    }

    /// The stack stops, or the connection was idle or open for too long.
    pub fn going_away() -> Self {
        Self::new(1001, "Going away")
    }

    /// The connection ended without a close frame.
    pub fn lost() -> Self {
        Self::new(1006, "Connection lost")
    }
}

/// Why a message cannot be sent to a client.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PostError {
    /// The connection has ended.
    Gone,
    /// Too many messages already wait for the client.
    Full,
}

/// The part of a connection that other tasks use.
#[derive(Debug)]
pub struct Connection {
    /// The client.
    pub client: Client,
    /// A permit for each message in processing.
    pub under_way: Arc<Semaphore>,
    last_active_ms: AtomicI64,
    outbound: mpsc::Sender<Utf8Bytes>,
    closed: CancellationToken,
    cut: CancellationToken,
}

/// The messages to the client.
pub(super) type Outbound = mpsc::Receiver<Utf8Bytes>;

impl Connection {
    /// The connection to a client, and the receiver of the messages that others send to it.
    pub fn new(client: Client) -> (Arc<Self>, Outbound) {
        let (sender, outbound) = mpsc::channel(OUTBOUND_MAX);
        let connection = Self {
            under_way: Arc::new(Semaphore::new(UNDER_WAY_MAX)),
            last_active_ms: AtomicI64::new(client.connected_at.as_millisecond()),
            client,
            outbound: sender,
            closed: CancellationToken::new(),
            cut: CancellationToken::new(),
        };
        (Arc::new(connection), outbound)
    }

    /// Queues a message for the client without waiting: a slow client does not block the sender.
    ///
    /// # Errors
    /// [`PostError`] if the client will not get the message.
    pub fn post(&self, text: Utf8Bytes) -> Result<(), PostError> {
        if self.closed.is_cancelled() || self.cut.is_cancelled() {
            return Err(PostError::Gone);
        }
        self.outbound.try_send(text).map_err(|error| match error {
            mpsc::error::TrySendError::Full(_) => PostError::Full,
            mpsc::error::TrySendError::Closed(_) => PostError::Gone,
        })?;
        self.touch();
        Ok(())
    }

    /// Closes the connection after the queued messages are sent.
    pub fn close(&self) {
        self.closed.cancel();
    }

    /// Breaks the connection: no close frame, no further message.
    pub fn cut(&self) {
        self.cut.cancel();
    }

    /// Records activity on the connection.
    pub fn touch(&self) {
        self.last_active_ms.store(Timestamp::now().as_millisecond(), Ordering::Relaxed);
    }

    /// The time of the last message in either direction.
    pub fn last_active(&self) -> Timestamp {
        Timestamp::from_millisecond(self.last_active_ms.load(Ordering::Relaxed)).unwrap_or(self.client.connected_at)
    }

    /// The time until the connection must be closed; `None` if it is over.
    fn time_left(&self, limits: &ConnectionLimits) -> Option<Duration> {
        let now = Timestamp::now();
        // If the clock was set back, the elapsed time counts as zero.
        let since = |then: Timestamp| Duration::try_from(now.duration_since(then)).unwrap_or_default();
        let idle = limits.idle_max.checked_sub(since(self.last_active()))?;
        let age = limits.age_max.checked_sub(since(self.client.connected_at))?;
        Some(idle.min(age)).filter(|left| !left.is_zero())
    }

    /// Exchanges messages with the client until the connection ends. `receive` gets each message of
    /// the client and must not block.
    pub async fn run(
        &self,
        io: Upgraded,
        mut outbound: Outbound,
        limits: &ConnectionLimits,
        stop: &CancellationToken,
        receive: impl Fn(Utf8Bytes),
    ) -> ClosingConnection {
        let config = WebSocketConfig::default()
            .read_buffer_size(READ_BUFFER_BYTES)
            .write_buffer_size(0)
            .max_frame_size(Some(limits.frame_bytes_max))
            .max_message_size(Some(limits.message_bytes_max));
        let mut socket = WebSocketStream::from_raw_socket(TokioIo::new(io), Role::Server, Some(config)).await;
        let conversation = async {
            let mut alarm = std::pin::pin!(sleep_until(Instant::now()));
            loop {
                tokio::select! {
                    text = outbound.recv() => {
                        let Some(text) = text else { return ClosedBy::Lost };
                        if !send(&mut socket, text, limits).await {
                            return ClosedBy::Lost;
                        }
                    }
                    message = socket.next() => match text_of(message) {
                        Ok(Some(text)) => receive(text),
                        Ok(None) => {}
                        Err(ending) => return ending,
                    },
                    () = self.closed.cancelled() => {
                        outbound.close();
                        while let Some(text) = outbound.recv().await {
                            if !send(&mut socket, text, limits).await {
                                return ClosedBy::Lost;
                            }
                        }
                        return ClosedBy::Server(CloseStatus::new(1000, "Connection Closed Normally"));
                    }
                    () = stop.cancelled() => return ClosedBy::Server(CloseStatus::going_away()),
                    () = &mut alarm => match self.time_left(limits) {
                        Some(left) => alarm.as_mut().reset(Instant::now() + left),
                        None => return ClosedBy::Server(CloseStatus::going_away()),
                    },
                }
            }
        };
        let ending = self.cut.run_until_cancelled(conversation).await.unwrap_or(ClosedBy::Lost);
        ClosingConnection { socket, ending }
    }
}

/// The side that ended a connection.
#[derive(Debug)]
enum ClosedBy {
    /// The server, with this close frame.
    Server(CloseStatus),
    /// The client, with this close frame.
    Client(CloseStatus),
    Lost,
}

/// The text of a client's message, if it has one. An error ends the connection.
fn text_of(message: Option<Result<Message, Error>>) -> Result<Option<Utf8Bytes>, ClosedBy> {
    let refused = |code, reason| Err(ClosedBy::Server(CloseStatus::new(code, reason)));
    match message {
        Some(Ok(Message::Text(text))) => Ok(Some(text)),
        // The library answers pings itself.
        Some(Ok(Message::Ping(_) | Message::Pong(_) | Message::Frame(_))) => Ok(None),
        Some(Ok(Message::Binary(_))) => refused(1003, "Binary frames are not supported"),
        Some(Ok(Message::Close(Some(frame)))) => {
            Err(ClosedBy::Client(CloseStatus::new(frame.code.into(), &frame.reason)))
        }
        Some(Ok(Message::Close(None))) => {
            Err(ClosedBy::Client(CloseStatus::new(1005, "Client-side close frame status not set")))
        }
        Some(Err(Error::Capacity(_))) => refused(1009, "Message too long"),
        Some(Err(Error::Utf8(_))) => refused(1007, "Text is not UTF-8"),
        Some(Err(Error::Protocol(ProtocolError::ResetWithoutClosingHandshake))) | None => Err(ClosedBy::Lost),
        Some(Err(Error::Protocol(error))) => refused(1002, &error.to_string()),
        Some(Err(_)) => Err(ClosedBy::Lost),
    }
}

/// Whether the client received the message in time.
async fn send(socket: &mut Socket, text: Utf8Bytes, limits: &ConnectionLimits) -> bool {
    matches!(timeout(limits.write_max, socket.send(Message::Text(text))).await, Ok(Ok(())))
}

/// A connection that has ended. Its client may not know yet.
#[derive(Debug)]
pub struct ClosingConnection {
    socket: Socket,
    ending: ClosedBy,
}

impl ClosingConnection {
    /// The close code and reason.
    pub fn end(&self) -> CloseStatus {
        match &self.ending {
            ClosedBy::Server(end) | ClosedBy::Client(end) => end.clone(),
            ClosedBy::Lost => CloseStatus::lost(),
        }
    }

    /// Sends the close frame if needed, and waits for the client to close its side.
    ///
    /// Further bytes of the client are read and ignored. Closing with unread bytes would reset the
    /// connection, and the client might never see the close frame.
    pub async fn finish_close(self) {
        let Self { mut socket, ending } = self;
        let parting = async {
            match ending {
                ClosedBy::Server(CloseStatus { code, reason }) => {
                    let frame = CloseFrame { code: CloseCode::from(code), reason: reason.into() };
                    socket.send(Message::Close(Some(frame))).await.ok()?;
                }
                ClosedBy::Client(_) => socket.flush().await.ok()?,
                ClosedBy::Lost => return None,
            }
            let line = socket.get_mut();
            line.shutdown().await.ok()?;
            let mut rest = [0; READ_BUFFER_BYTES];
            while line.read(&mut rest).await.ok()? > 0 {}
            Some(())
        };
        // A client that neither reads nor closes its side is dropped.
        drop(timeout(CLOSE_GRACE, parting).await);
    }
}
