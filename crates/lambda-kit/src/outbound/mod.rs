//! Requests to addresses that somebody else chose: a browser's push service, an OpenID provider.
//!
//! Such an address may be chosen to make a function call its own network, or to keep it waiting. So
//! requests go only to public addresses over TLS, follow no redirect, and are limited in time and
//! in the bytes that they read.

mod address;
mod connection_guard;

use std::error::Error;
use std::fmt;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::{Request, Response, Uri};
use http_body::Body as _;
use http_body_util::{BodyExt as _, Full, LengthLimitError, Limited};
use hyper_rustls::{HttpsConnector, HttpsConnectorBuilder};
use hyper_util::client::legacy::Client;
use hyper_util::rt::{TokioExecutor, TokioTimer};
use rustls::{ClientConfig, RootCertStore, crypto::ring};
use tokio::time::timeout;

use crate::env::{ConfigError, parsed};
use connection_guard::{Boxed, ConnectionGuard};

pub use address::is_public;
pub use connection_guard::Refusal;

/// The variable that explicitly allows addresses, separated by commas: `127.0.0.1:9443,[::1]:9443`.
/// The local stack and tests set it; in the cloud it is not set. An allowed address may also be
/// reached without TLS.
pub const ALLOW: &str = "TIDEMARK_OUTBOUND_ALLOW";

/// Longer headers of an answer are an error.
const HEADER_BYTES_MAX: usize = 64 * 1024;

/// An idle connection is closed after this time. Push services close idle connections, and a frozen
/// function does not notice.
const IDLE_MAX: Duration = Duration::from_secs(30);

/// The time limit for resolving a name when nothing is sent. The author of the address may also run
/// its name server.
const CHECK_MAX: Duration = Duration::from_secs(3);

/// The limits of one request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// The whole time: lookup, connection, request and answer.
    pub time: Duration,
    /// The most bytes of the answer's body.
    pub body_bytes_max: usize,
}

/// Why there is no answer.
#[derive(Debug, thiserror::Error)]
pub enum OutboundError {
    /// The request may not go there, or cannot.
    #[error("{0}")]
    Refused(Refusal),
    /// The answer did not arrive, or did not end, in time.
    #[error("no answer within {} ms", .0.as_millis())]
    TimedOut(Duration),
    /// The answer's body is longer than the limit.
    #[error("the answer is longer than {0} bytes")]
    TooLong(usize),
    /// The other side did not speak correct HTTP or TLS, or closed the connection.
    #[error("the exchange failed: {0}")]
    Failed(String),
}

impl OutboundError {
    /// Whether the same request may succeed later.
    pub fn is_transient(&self) -> bool {
        match self {
            Self::Refused(Refusal::Unresolved | Refusal::Unreachable) | Self::TimedOut(_) | Self::Failed(_) => true,
            Self::Refused(_) | Self::TooLong(_) => false,
        }
    }
}

/// Answers a request in place of the network.
type Answer = dyn Fn(Request<Bytes>) -> Boxed<Result<Response<Bytes>, OutboundError>> + Send + Sync;

/// Sends requests. Clones share their connections.
#[derive(Debug, Clone)]
pub struct Outbound {
    way: Way,
    guard: ConnectionGuard,
}

#[derive(Clone)]
enum Way {
    Network(Box<Client<HttpsConnector<ConnectionGuard>, Full<Bytes>>>),
    Simulated(Arc<Answer>),
}

impl fmt::Debug for Way {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Way").finish_non_exhaustive()
    }
}

impl Outbound {
    /// Reads the environment: [`ALLOW`], and the system's root certificates.
    ///
    /// # Errors
    /// [`ConfigError`] when [`ALLOW`] is not a list of addresses with ports.
    pub fn from_env() -> Result<Self, ConfigError> {
        let allowed = |list: String| -> Option<Vec<SocketAddr>> {
            list.split(',').map(str::trim).filter(|entry| !entry.is_empty()).map(|entry| entry.parse().ok()).collect()
        };
        Ok(Self::new(&parsed(ALLOW, String::new(), "addresses with ports, such as 127.0.0.1:9443", allowed)?))
    }

    /// Sends to public addresses, and to `allowed`.
    pub fn new(allowed: &[SocketAddr]) -> Self {
        Self::through(ConnectionGuard::new(allowed))
    }

    /// Sends nothing: `answer` takes each request, for a simulation with a virtual clock.
    pub fn simulated(
        answer: impl Fn(Request<Bytes>) -> Boxed<Result<Response<Bytes>, OutboundError>> + Send + Sync + 'static,
    ) -> Self {
        Self { way: Way::Simulated(Arc::new(answer)), guard: ConnectionGuard::new(&[]) }
    }

    fn through(guard: ConnectionGuard) -> Self {
        let mut roots = RootCertStore::empty();
        // A root certificate that cannot be read is left out. A connection that needs it fails with
        // an error.
        roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
        let tls = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()));
        // The ring provider has cipher suites for the default versions, so this cannot fail.
        let tls = tls.with_safe_default_protocol_versions().expect("ring speaks TLS 1.2 and 1.3");
        let tls = tls.with_root_certificates(roots).with_no_client_auth();
        let connector = HttpsConnectorBuilder::new().with_tls_config(tls).https_or_http().enable_http1();
        let client = Client::builder(TokioExecutor::new())
            .pool_timer(TokioTimer::new())
            .pool_idle_timeout(IDLE_MAX)
            .http1_max_buf_size(HEADER_BYTES_MAX)
            .build(connector.wrap_connector(guard.clone()));
        Self { way: Way::Network(Box::new(client)), guard }
    }

    /// Sends a request and reads the whole answer, of any status. A redirect is returned and not
    /// followed.
    ///
    /// # Errors
    /// [`OutboundError`].
    pub async fn send(&self, request: Request<Bytes>, limits: Limits) -> Result<Response<Bytes>, OutboundError> {
        // Checked first, because the TLS connector looks at the host before the guard is called and
        // would report a bad host as a failure.
        self.guard.target(request.uri()).map_err(OutboundError::Refused)?;
        let exchange = async {
            let client = match &self.way {
                Way::Network(client) => client,
                Way::Simulated(answer) => return answer(request).await,
            };
            let answer = client.request(request.map(Full::new)).await.map_err(|error| reason(&error))?;
            let (head, body) = answer.into_parts();
            if body.size_hint().lower() > limits.body_bytes_max as u64 {
                return Err(OutboundError::TooLong(limits.body_bytes_max));
            }
            let body = Limited::new(body, limits.body_bytes_max).collect().await.map_err(|error| match error
                .downcast_ref::<LengthLimitError>(
            ) {
                Some(_) => OutboundError::TooLong(limits.body_bytes_max),
                None => reason(&*error),
            })?;
            Ok(Response::from_parts(head, body.to_bytes()))
        };
        timeout(limits.time, exchange).await.unwrap_or(Err(OutboundError::TimedOut(limits.time)))
    }

    /// Whether a request to `uri` would be allowed now. The name may resolve to another address
    /// later, so [`send`](Self::send) checks again.
    ///
    /// # Errors
    /// [`Refusal`].
    pub async fn check(&self, uri: &Uri) -> Result<(), Refusal> {
        timeout(CHECK_MAX, self.guard.addresses(uri)).await.unwrap_or(Err(Refusal::Unresolved)).map(drop)
    }
}

/// The [`Refusal`] in the chain of causes, or the whole chain as text.
fn reason(error: &(dyn Error + 'static)) -> OutboundError {
    let (mut next, mut words) = (Some(error), Vec::new());
    while let Some(cause) = next {
        if let Some(refusal) = cause.downcast_ref::<Refusal>() {
            return OutboundError::Refused(refusal.clone());
        }
        words.push(cause.to_string());
        next = cause.source();
    }
    OutboundError::Failed(words.join(": "))
}

#[cfg(test)]
mod tests;
