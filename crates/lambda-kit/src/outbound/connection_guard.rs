//! Decides where a request may go. The decision uses the very address that is connected to, so a
//! name that resolves to another address a moment later (DNS rebinding) gains nothing.

use std::net::{IpAddr, SocketAddr};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use http::Uri;
use http::uri::Scheme;
use hyper_util::rt::TokioIo;
use rustls::pki_types::ServerName;
use tokio::net::TcpStream;
use tokio::time::timeout;
use tower::Service;

use super::address::is_public;

/// The time limit for connecting to one address. One dead address of several must not use up the
/// whole time.
const CONNECT_MAX: Duration = Duration::from_secs(3);

/// The most addresses of one name that are tried.
const ADDRESSES_MAX: usize = 4;

/// A future of the resolver, the connector or a simulation.
pub(super) type Boxed<T> = Pin<Box<dyn Future<Output = T> + Send>>;

/// Resolves a name to its addresses.
type Resolve = dyn Fn(String) -> Boxed<std::io::Result<Vec<IpAddr>>> + Send + Sync;

/// Why a connection is not made.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// Not an address that a request could go to.
    #[error("{0}")]
    NotAnAddress(&'static str),
    /// Without TLS, and not one of the explicitly allowed addresses.
    #[error("only https is allowed")]
    NotEncrypted,
    /// The address belongs to a private network.
    #[error("the address is not public")]
    NotPublic,
    /// The name does not resolve to an address now.
    #[error("the name cannot be resolved")]
    Unresolved,
    /// No address accepts a connection.
    #[error("no connection is accepted there")]
    Unreachable,
}

/// Allows connections to public addresses over TLS, and to explicitly allowed addresses.
#[derive(Clone)]
pub(super) struct ConnectionGuard {
    allowed: Arc<[SocketAddr]>,
    resolve: Arc<Resolve>,
}

/// The parts of an address, before any lookup.
#[derive(Debug)]
pub(super) struct Target<'a> {
    host: &'a str,
    port: u16,
    is_encrypted: bool,
}

impl std::fmt::Debug for ConnectionGuard {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ConnectionGuard").field("allowed", &self.allowed).finish_non_exhaustive()
    }
}

impl ConnectionGuard {
    /// A guard with the system's resolver.
    pub(super) fn new(allowed: &[SocketAddr]) -> Self {
        Self::with_resolver(allowed, |name| {
            Box::pin(async move {
                let found = tokio::net::lookup_host((name, 0)).await?;
                Ok(found.map(|address| address.ip()).collect())
            })
        })
    }

    /// A guard with another resolver, for tests.
    pub(super) fn with_resolver(
        allowed: &[SocketAddr],
        resolve: impl Fn(String) -> Boxed<std::io::Result<Vec<IpAddr>>> + Send + Sync + 'static,
    ) -> Self {
        Self { allowed: allowed.into(), resolve: Arc::new(resolve) }
    }

    /// The parts of `uri`, checked before any name is looked up.
    pub(super) fn target<'a>(&self, uri: &'a Uri) -> Result<Target<'a>, Refusal> {
        let authority = uri.authority().ok_or(Refusal::NotAnAddress("an absolute address is needed"))?;
        if authority.as_str().contains('@') {
            return Err(Refusal::NotAnAddress("an address with a user name or password is not allowed"));
        }
        let is_encrypted = match uri.scheme() {
            Some(scheme) if *scheme == Scheme::HTTPS => true,
            Some(scheme) if *scheme == Scheme::HTTP && !self.allowed.is_empty() => false,
            _ => return Err(Refusal::NotEncrypted),
        };
        let host = authority.host().trim_start_matches('[').trim_end_matches(']');
        if ServerName::try_from(host).is_err() {
            return Err(Refusal::NotAnAddress("the host is neither a name nor an address"));
        }
        let port = authority.port_u16().unwrap_or(if is_encrypted { 443 } else { 80 });
        Ok(Target { host, port, is_encrypted })
    }

    /// The addresses behind `uri` that a request may go to; at least one.
    pub(super) async fn addresses(&self, uri: &Uri) -> Result<Vec<SocketAddr>, Refusal> {
        let Target { host, port, is_encrypted } = self.target(uri)?;
        let found = match host.parse() {
            Ok(address) => vec![address],
            Err(_) => (self.resolve)(host.to_owned()).await.map_err(|_| Refusal::Unresolved)?,
        };
        if found.is_empty() {
            return Err(Refusal::Unresolved);
        }
        let found = found.into_iter().map(|address| SocketAddr::new(address.to_canonical(), port));
        let (explicitly_allowed, others): (Vec<_>, Vec<_>) = found.partition(|address| self.allowed.contains(address));
        if !explicitly_allowed.is_empty() {
            return Ok(explicitly_allowed);
        }
        if !is_encrypted {
            return Err(Refusal::NotEncrypted);
        }
        // A name that resolves to a public and a private address at once is suspicious, so none of
        // its addresses is tried.
        if others.iter().all(|address| is_public(address.ip())) { Ok(others) } else { Err(Refusal::NotPublic) }
    }

    async fn connect(&self, uri: &Uri) -> Result<TokioIo<TcpStream>, Refusal> {
        for address in self.addresses(uri).await?.into_iter().take(ADDRESSES_MAX) {
            if let Ok(Ok(stream)) = timeout(CONNECT_MAX, TcpStream::connect(address)).await {
                // A request is one write, so Nagle's algorithm would only delay it.
                stream.set_nodelay(true).map_err(|_| Refusal::Unreachable)?;
                return Ok(TokioIo::new(stream));
            }
        }
        Err(Refusal::Unreachable)
    }
}

impl Service<Uri> for ConnectionGuard {
    type Response = TokioIo<TcpStream>;
    type Error = Refusal;
    type Future = Boxed<Result<Self::Response, Refusal>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Refusal>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, uri: Uri) -> Self::Future {
        let guard = self.clone();
        Box::pin(async move { guard.connect(&uri).await })
    }
}
