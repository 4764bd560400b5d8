//! Push messages to browsers: [RFC 8030](https://www.rfc-editor.org/rfc/rfc8030), encrypted for the
//! browser ([RFC 8291](https://www.rfc-editor.org/rfc/rfc8291)) and signed by [`VapidKey`].

mod encryption;
mod vapid;

use std::sync::Arc;
use std::time::Duration;

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use bytes::Bytes;
use http::uri::Scheme;
use http::{HeaderMap, HeaderName, HeaderValue, Method, Request, Uri, header};
use jiff::Timestamp;
use jiff::fmt::rfc2822;
use p256::PublicKey;

use crate::outbound::{Limits, Outbound, OutboundError, Refusal};

use self::encryption::{Auth, encrypt};
pub use vapid::{VapidKey, VapidKeyError};

/// The longest endpoint. Real endpoints have some hundred characters.
pub const ENDPOINT_BYTES_MAX: usize = 2_048;

/// The longest message: of a record's 4,096 bytes, the header takes 86 and the end 17.
pub const MESSAGE_BYTES_MAX: usize = 3_993;

/// The limits of one attempt. The answer's body is not used.
const LIMITS: Limits = Limits { time: Duration::from_secs(5), body_bytes_max: 16 * 1024 };

/// The reason for a push service that gives no answer.
const UNREACHABLE: &str = "the push service cannot be reached";

/// The most attempts while a push service is temporarily unavailable.
const ATTEMPTS_MAX: u32 = 3;

/// The first pause between attempts; each further pause is twice as long.
const RETRY_DELAY: Duration = Duration::from_millis(500);

/// The longest pause. If the push service asks for a longer one, the message fails.
const RETRY_DELAY_MAX: Duration = Duration::from_secs(3);

/// One browser's endpoint and encryption keys.
#[derive(Debug, Clone)]
pub struct Subscriber {
    endpoint: Uri,
    key: PublicKey,
    auth: Auth,
}

/// Why a subscription is refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum SubscriberError {
    /// The endpoint is not an address, too long, or at another port than https has.
    #[error("the endpoint is not an address of at most {ENDPOINT_BYTES_MAX} bytes, at port 443")]
    Endpoint,
    /// `p256dh` is not a point of the curve.
    #[error("`p256dh` is not a P-256 public key in base64url")]
    Key,
    /// `auth` is not the 16 bytes that a browser generates.
    #[error("`auth` is not 16 bytes in base64url")]
    Auth,
}

impl Subscriber {
    /// Reads a browser's `PushSubscription`: its endpoint, and the keys `p256dh` and `auth` in
    /// base64url.
    ///
    /// # Errors
    /// [`SubscriberError`]. [`Outbound`] decides whether the endpoint's address is allowed.
    pub fn new(endpoint: &str, p256dh: &str, auth: &str) -> Result<Self, SubscriberError> {
        let bytes = |text: &str| URL_SAFE_NO_PAD.decode(text.trim_end_matches('=')).ok();
        let is_short = endpoint.len() <= ENDPOINT_BYTES_MAX;
        let endpoint = Some(endpoint).filter(|_| is_short).and_then(|endpoint| endpoint.parse().ok());
        // All push services use port 443. At other ports, the suite could be made to scan networks.
        let is_at_port =
            |uri: &Uri| uri.scheme() != Some(&Scheme::HTTPS) || uri.port_u16().is_none_or(|port| port == 443);
        let endpoint = endpoint.filter(is_at_port);
        let key = bytes(p256dh).and_then(|key| PublicKey::from_sec1_bytes(&key).ok());
        let auth = bytes(auth).and_then(|auth| Auth::try_from(auth).ok());
        Ok(Self {
            endpoint: endpoint.ok_or(SubscriberError::Endpoint)?,
            key: key.ok_or(SubscriberError::Key)?,
            auth: auth.ok_or(SubscriberError::Auth)?,
        })
    }

    /// The browser's endpoint.
    pub fn endpoint(&self) -> &Uri {
        &self.endpoint
    }
}

/// A push message.
#[derive(Debug, Clone, Copy)]
pub struct Message<'a> {
    /// At most [`MESSAGE_BYTES_MAX`] bytes, for the page's service worker.
    pub content: &'a [u8],
    /// How long a push service stores it for a browser that is offline.
    pub time_to_live: Duration,
    /// At most 32 letters, digits, `-` and `_`. A later message of the same topic replaces one that
    /// is still stored.
    pub topic: &'a str,
}

/// The result of sending a message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SendOutcome {
    /// The push service accepted it.
    Accepted,
    /// The subscription has ended; the push service answered with this status, 404 or 410.
    Gone(u16),
    /// The push service refused it for this reason. Sending it again would not help.
    Rejected(String),
    /// It was not delivered, or that is unknown, for this reason. A later message may succeed.
    Failed(String),
}

/// Sends messages.
#[derive(Debug, Clone)]
pub struct Push {
    outbound: Outbound,
    key: Arc<VapidKey>,
}

/// The result of one attempt.
enum AttemptOutcome {
    Final(SendOutcome),
    /// The push service did not accept it and may do so later; with the delay that it asks for, if
    /// any.
    RetryLater(String, Option<Duration>),
}

impl Push {
    /// Sends messages that are signed with `key`.
    pub fn new(outbound: Outbound, key: VapidKey) -> Self {
        Self { outbound, key: Arc::new(key) }
    }

    /// The public key with which browsers subscribe.
    pub fn public_key(&self) -> String {
        self.key.public()
    }

    /// Whether a message to that endpoint would be allowed now.
    ///
    /// # Errors
    /// [`Refusal`].
    pub async fn check(&self, subscriber: &Subscriber) -> Result<(), Refusal> {
        self.outbound.check(&subscriber.endpoint).await
    }

    /// Sends a message. A push service that is temporarily unavailable is asked up to three times,
    /// within half a minute.
    ///
    /// An attempt without an answer is not repeated: the message may have arrived, and a reminder
    /// must not arrive twice.
    pub async fn send(&self, to: &Subscriber, message: Message<'_>, now: Timestamp) -> SendOutcome {
        let mut pause = RETRY_DELAY;
        let mut attempt = 1;
        loop {
            match self.attempt(to, message, now).await {
                AttemptOutcome::Final(sent) => return sent,
                AttemptOutcome::RetryLater(why, after) => {
                    let wait = after.unwrap_or(pause);
                    if attempt == ATTEMPTS_MAX || wait > RETRY_DELAY_MAX {
                        return SendOutcome::Failed(why);
                    }
                    // Jitter: many messages that were refused at once must not be retried at once.
                    tokio::time::sleep(wait + wait.mul_f64(fastrand::f64() / 4.0)).await;
                }
            }
            (attempt, pause) = (attempt + 1, pause * 2);
        }
    }

    /// Sends a message in one attempt, within five seconds.
    pub async fn send_once(&self, to: &Subscriber, message: Message<'_>, now: Timestamp) -> SendOutcome {
        match self.attempt(to, message, now).await {
            AttemptOutcome::Final(sent) => sent,
            AttemptOutcome::RetryLater(why, _) => SendOutcome::Failed(why),
        }
    }

    async fn attempt(&self, to: &Subscriber, message: Message<'_>, now: Timestamp) -> AttemptOutcome {
        if message.content.len() > MESSAGE_BYTES_MAX {
            return AttemptOutcome::Final(SendOutcome::Rejected("the message is too long".to_owned()));
        }
        let sealed = match encrypt(message.content, &to.key, &to.auth) {
            Ok(sealed) => Bytes::from(sealed),
            Err(error) => return AttemptOutcome::Final(SendOutcome::Failed(error.to_string())),
        };
        let mut request = Request::new(sealed);
        *request.method_mut() = Method::POST;
        *request.uri_mut() = to.endpoint.clone();
        let headers = [
            (header::CONTENT_ENCODING, "aes128gcm".to_owned()),
            (header::CONTENT_LENGTH, request.body().len().to_string()),
            (header::CONTENT_TYPE, "application/octet-stream".to_owned()),
            (HeaderName::from_static("ttl"), message.time_to_live.as_secs().to_string()),
            (header::AUTHORIZATION, self.key.authorization(&to.endpoint, now)),
            (HeaderName::from_static("topic"), message.topic.to_owned()),
            (HeaderName::from_static("urgency"), "normal".to_owned()),
        ];
        for (name, value) in headers {
            match HeaderValue::from_str(&value) {
                Ok(value) => drop(request.headers_mut().insert(name, value)),
                Err(error) => return AttemptOutcome::Final(SendOutcome::Rejected(error.to_string())),
            }
        }
        match self.outbound.send(request, LIMITS).await {
            Ok(answer) => {
                let status = answer.status();
                let why = format!("the push service answers {status}");
                match status.as_u16() {
                    404 | 410 => AttemptOutcome::Final(SendOutcome::Gone(status.as_u16())),
                    429 => AttemptOutcome::RetryLater(why, retry_after(answer.headers(), now)),
                    _ if status.is_success() => AttemptOutcome::Final(SendOutcome::Accepted),
                    _ if status.is_server_error() => {
                        AttemptOutcome::RetryLater(why, retry_after(answer.headers(), now))
                    }
                    _ => AttemptOutcome::Final(SendOutcome::Rejected(why)),
                }
            }
            // The user chose the endpoint. All errors read the same to the user, so that nobody can
            // probe names, ports and certificates with it.
            Err(error) => {
                tracing::warn!(%error, "a push service cannot be reached");
                let why = UNREACHABLE.to_owned();
                match error {
                    OutboundError::Refused(Refusal::Unresolved | Refusal::Unreachable) => {
                        AttemptOutcome::RetryLater(why, None)
                    }
                    OutboundError::Refused(_) => AttemptOutcome::Final(SendOutcome::Rejected(why)),
                    _ => AttemptOutcome::Final(SendOutcome::Failed(why)),
                }
            }
        }
    }
}

/// `Retry-After`: seconds, or a date.
fn retry_after(headers: &HeaderMap, now: Timestamp) -> Option<Duration> {
    let text = headers.get(header::RETRY_AFTER)?.to_str().ok()?;
    match text.trim().parse() {
        Ok(seconds) => Some(Duration::from_secs(seconds)),
        Err(_) => {
            let date = rfc2822::parse(text).ok()?.timestamp();
            Some(Duration::try_from(date.duration_since(now)).unwrap_or_default())
        }
    }
}

#[cfg(test)]
mod tests;
