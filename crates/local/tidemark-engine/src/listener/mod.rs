//! A listener for HTTP/1.1 that adds two things to hyper: the head of a request may take at most
//! [`HEAD_TIMEOUT`], and the spelling of header names is known ([`Client::spelling`]).

mod heads;

use std::collections::BTreeMap;
use std::io;
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll};
use std::time::Duration;

use axum::extract::connect_info::Connected;
use axum::serve::IncomingStream;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::{TcpListener, TcpStream};
use tokio::time::{Instant, Sleep};

use heads::Heads;

/// How long a client may take to send the head of a request. Connections may wait longer between
/// two requests.
pub const HEAD_TIMEOUT: Duration = Duration::from_secs(30);

/// Accepts connections that send each small reply at once.
#[derive(Debug)]
pub struct Listener {
    listener: TcpListener,
    timeout: Duration,
}

impl Listener {
    /// A listener with [`HEAD_TIMEOUT`].
    pub fn new(listener: TcpListener) -> Self {
        Self { listener, timeout: HEAD_TIMEOUT }
    }
}

impl axum::serve::Listener for Listener {
    type Io = Connection;
    type Addr = SocketAddr;

    async fn accept(&mut self) -> (Connection, SocketAddr) {
        let (stream, address) = axum::serve::Listener::accept(&mut self.listener).await;
        // Without TCP_NODELAY, Nagle's algorithm delays each small reply by up to 40 ms.
        if let Err(error) = stream.set_nodelay(true) {
            tracing::debug!(%error, "could not set TCP_NODELAY: replies may be delayed");
        }
        (Connection::new(stream, address, self.timeout), address)
    }

    fn local_addr(&self) -> io::Result<SocketAddr> {
        self.listener.local_addr()
    }
}

/// The other end of a connection.
#[derive(Debug, Clone)]
pub struct Client {
    /// Its address.
    pub address: SocketAddr,
    spellings: Arc<Mutex<BTreeMap<String, String>>>,
}

impl Client {
    /// A header's name as this client spelled it. `name` is in lower case.
    pub fn spelling(&self, name: &str) -> String {
        let spellings = self.spellings.lock().unwrap_or_else(PoisonError::into_inner);
        spellings.get(name).cloned().unwrap_or_else(|| name.to_owned())
    }
}

impl Connected<IncomingStream<'_, Listener>> for Client {
    fn connect_info(stream: IncomingStream<'_, Listener>) -> Self {
        stream.io().client.clone()
    }
}

/// A connection whose requests are watched while hyper reads them.
#[derive(Debug)]
pub struct Connection {
    stream: TcpStream,
    client: Client,
    heads: Heads,
    timeout: Duration,
    /// When the head that has begun must have ended.
    deadline: Option<Pin<Box<Sleep>>>,
}

impl Connection {
    fn new(stream: TcpStream, address: SocketAddr, timeout: Duration) -> Self {
        let client = Client { address, spellings: Arc::default() };
        let deadline = Some(Box::pin(tokio::time::sleep(timeout)));
        Self { stream, client, heads: Heads::default(), timeout, deadline }
    }

    fn note(&mut self, bytes: &[u8]) {
        let names = self.heads.read(bytes);
        if !names.is_empty() {
            let mut spellings = self.client.spellings.lock().unwrap_or_else(PoisonError::into_inner);
            for name in names {
                heads::remember(&mut spellings, name);
            }
        }
        if !self.heads.is_inside_head() {
            self.deadline = None;
        } else if self.deadline.is_none() {
            self.deadline = Some(Box::pin(tokio::time::sleep_until(Instant::now() + self.timeout)));
        }
    }
}

impl AsyncRead for Connection {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buffer.filled().len();
        let read = Pin::new(&mut self.stream).poll_read(context, buffer)?;
        if read.is_ready() {
            self.note(&buffer.filled()[before..]);
        }
        let is_late = self.deadline.as_mut().is_some_and(|deadline| deadline.as_mut().poll(context).is_ready());
        if is_late {
            return Poll::Ready(Err(io::Error::new(io::ErrorKind::TimedOut, "the head of a request took too long")));
        }
        read.map(Ok)
    }
}

impl AsyncWrite for Connection {
    fn poll_write(mut self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write(context, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        slices: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write_vectored(context, slices)
    }
}

#[cfg(test)]
mod tests {
    use axum::Router;
    use axum::extract::{ConnectInfo, Request};
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

    use super::*;

    async fn start(timeout: Duration) -> SocketAddr {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let address = listener.local_addr().expect("an address");
        let names = async |ConnectInfo(client): ConnectInfo<Client>, request: Request| {
            request.headers().keys().map(|name| client.spelling(name.as_str())).collect::<Vec<_>>().join(",")
        };
        let service = Router::new().fallback(names).into_make_service_with_connect_info::<Client>();
        let listener = Listener { listener, timeout };
        tokio::spawn(async move { axum::serve(listener, service).await });
        address
    }

    async fn send(stream: &mut TcpStream, request: &str) -> String {
        stream.write_all(request.as_bytes()).await.expect("sent");
        let mut reply = [0; 1024];
        let size = stream.read(&mut reply).await.expect("a reply");
        String::from_utf8_lossy(&reply[..size]).into_owned()
    }

    #[tokio::test]
    async fn handler_sees_names_as_the_client_spelled_them() {
        let mut stream = TcpStream::connect(start(HEAD_TIMEOUT).await).await.expect("a connection");
        let first = "POST / HTTP/1.1\r\nHost: x\r\nauth_ID: 1\r\nContent-LENGTH: 9\r\n\r\nX-BODY: 1";
        assert!(send(&mut stream, first).await.ends_with("Host,auth_ID,Content-LENGTH"));
        let second = "GET / HTTP/1.1\r\nHOST: x\r\nx-body: 2\r\n\r\n";
        assert!(send(&mut stream, second).await.ends_with("HOST,x-body"), "the body is no head");
    }

    #[tokio::test]
    async fn half_sent_head_ends_its_connection_a_pause_does_not() {
        let address = start(Duration::from_millis(50)).await;
        let mut half = TcpStream::connect(address).await.expect("a connection");
        half.write_all(b"GET / HTTP/1.1\r\nHost: x\r\n").await.expect("sent");
        assert_eq!(half.read(&mut [0; 100]).await.unwrap_or(0), 0);
        let mut silent = TcpStream::connect(address).await.expect("a connection");
        assert_eq!(silent.read(&mut [0; 100]).await.unwrap_or(0), 0);
        let mut pausing = TcpStream::connect(address).await.expect("a connection");
        for _ in 0..2 {
            assert!(send(&mut pausing, "GET / HTTP/1.1\r\nHost: x\r\n\r\n").await.starts_with("HTTP/1.1 200"));
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
    }
}
