//! One open connection: what others may do with it, and its conversation with the client.

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

/// Messages that wait for a client to read them.
const OUTBOUND_MAX: usize = 128;

/// Messages of one client that wait for a function, or for its answer.
const UNDER_WAY_MAX: usize = 64;

/// How long a client may take to hang up once it is told that the connection ends.
const CLOSE_GRACE: Duration = Duration::from_secs(1);

/// Far below the library's own 128 KiB, which each connection would hold for as long as it lives.
const READ_BUFFER_BYTES: usize = 4096;

type Socket = WebSocketStream<TokioIo<Upgraded>>;

/// How a connection ended: a close code and its reason.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CloseStatus {
    /// Source: <https://www.rfc-editor.org/rfc/rfc6455#section-7.4.1>.
    pub code: u16,
    /// In API Gateway's words where they are known.
    pub reason: String,
}

impl CloseStatus {
    /// An end of that code.
    #[must_use]
    pub fn new(code: u16, reason: &str) -> Self {
        Self { code, reason: reason.to_owned() }
    }

    /// The stack stops, or the connection has been idle or open for too long.
    #[must_use]
    pub fn going_away() -> Self {
        Self::new(1001, "Going away")
    }

    /// The connection is gone without a word.
    #[must_use]
    pub fn lost() -> Self {
        Self::new(1006, "Connection lost")
    }
}

/// Why nothing can be sent to a client.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PostError {
    /// The connection has ended.
    Gone,
    /// As many messages as may wait for it do so already.
    Full,
}

/// A connection as others see it.
#[derive(Debug)]
pub struct Connection {
    /// Who is on the other side.
    pub client: Client,
    /// A permit for each message that is under way.
    pub under_way: Arc<Semaphore>,
    last_active_ms: AtomicI64,
    outbound: mpsc::Sender<Utf8Bytes>,
    closed: CancellationToken,
    cut: CancellationToken,
}

/// What is on its way to the client.
pub(super) type Outbound = mpsc::Receiver<Utf8Bytes>;

impl Connection {
    /// The connection to a client, and where what others send to it comes out.
    #[must_use]
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

    /// Queues a message for the client. It does not wait: a slow client holds nobody up.
    ///
    /// # Errors
    /// [`PostError`], when the client will not get it.
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

    /// Ends the connection once the client has what was queued before.
    pub fn close(&self) {
        self.closed.cancel();
    }

    /// Ends the connection as a broken line does: no close frame, nothing more.
    pub fn cut(&self) {
        self.cut.cancel();
    }

    /// Notes that it is in use.
    pub fn touch(&self) {
        self.last_active_ms.store(Timestamp::now().as_millisecond(), Ordering::Relaxed);
    }

    /// When the last message came or went.
    #[must_use]
    pub fn last_active(&self) -> Timestamp {
        Timestamp::from_millisecond(self.last_active_ms.load(Ordering::Relaxed)).unwrap_or(self.client.connected_at)
    }

    /// How long it may stay open as things are; `None` when its time is up.
    fn time_left(&self, limits: &ConnectionLimits) -> Option<Duration> {
        let now = Timestamp::now();
        // A clock that was set back in between makes nobody older.
        let since = |then: Timestamp| Duration::try_from(now.duration_since(then)).unwrap_or_default();
        let idle = limits.idle_max.checked_sub(since(self.last_active()))?;
        let age = limits.age_max.checked_sub(since(self.client.connected_at))?;
        Some(idle.min(age)).filter(|left| !left.is_zero())
    }

    /// Talks with the client until the connection ends: `receive` gets each of its messages, and must not block.
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

/// Who ended a connection.
#[derive(Debug)]
enum ClosedBy {
    /// We did, and say so.
    Server(CloseStatus),
    /// The client did, and said so.
    Client(CloseStatus),
    Lost,
}

/// The text that a client has sent, if it is one; otherwise why it was the last.
fn text_of(message: Option<Result<Message, Error>>) -> Result<Option<Utf8Bytes>, ClosedBy> {
    let refused = |code, reason| Err(ClosedBy::Server(CloseStatus::new(code, reason)));
    match message {
        Some(Ok(Message::Text(text))) => Ok(Some(text)),
        // The library answers pings by itself.
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

/// Whether the client took the message in time.
async fn send(socket: &mut Socket, text: Utf8Bytes, limits: &ConnectionLimits) -> bool {
    matches!(timeout(limits.write_max, socket.send(Message::Text(text))).await, Ok(Ok(())))
}

/// A connection that has ended, with a client that may not know it yet.
#[derive(Debug)]
pub struct ClosingConnection {
    socket: Socket,
    ending: ClosedBy,
}

impl ClosingConnection {
    /// How it ended.
    #[must_use]
    pub fn end(&self) -> CloseStatus {
        match &self.ending {
            ClosedBy::Server(end) | ClosedBy::Client(end) => end.clone(),
            ClosedBy::Lost => CloseStatus::lost(),
        }
    }

    /// Tells the client, where that is still to be done, and waits for it to hang up.
    ///
    /// The rest of what it sends is read and forgotten. To close with bytes unread would reset the line, and the client might
    /// never see the close frame.
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
        // A client that neither reads nor hangs up is dropped.
        drop(timeout(CLOSE_GRACE, parting).await);
    }
}
