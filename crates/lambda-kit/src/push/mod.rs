//! Messages to browsers: [RFC 8030](https://www.rfc-editor.org/rfc/rfc8030), encrypted for the
//! browser alone ([RFC 8291](https://www.rfc-editor.org/rfc/rfc8291)), signed by [`VapidKey`].

mod vapid;

use std::sync::Arc;
use std::time::Duration;

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use bytes::Bytes;
use http::{HeaderMap, HeaderName, HeaderValue, Uri, header};
use jiff::Timestamp;
use jiff::fmt::rfc2822;
use web_push_native::p256::PublicKey;
use web_push_native::{Auth, WebPushBuilder};

use crate::outbound::{Limits, Outbound, OutboundError, Refusal};

pub use vapid::{VapidKey, VapidKeyError};

/// The longest endpoint. Browsers' are some hundred characters.
pub const ENDPOINT_BYTES_MAX: usize = 2_048;

/// The longest message: a record of 4,096 bytes has 86 for its header and 17 for its end.
pub const MESSAGE_BYTES_MAX: usize = 3_993;

/// The limits of one attempt. The body of the answer is not read.
const LIMITS: Limits = Limits { time: Duration::from_secs(5), body_bytes_max: 16 * 1024 };

/// The result for a push service that does not answer.
const UNREACHABLE: &str = "the push service cannot be reached";

/// How often a push service is asked that says it cannot now.
const ATTEMPTS_MAX: u32 = 3;

/// The first pause; the next are twice as long each.
const RETRY_DELAY: Duration = Duration::from_millis(500);

/// The longest pause, also where the push service asks for more.
const RETRY_DELAY_MAX: Duration = Duration::from_secs(3);

/// Where a browser is reached, and how to encrypt for it.
#[derive(Debug, Clone)]
pub struct Subscriber {
    endpoint: Uri,
    key: PublicKey,
    auth: Auth,
}

/// The error of a subscription.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum SubscriberError {
    /// The endpoint is no address.
    #[error("the endpoint is not an address of at most {ENDPOINT_BYTES_MAX} bytes")]
    Endpoint,
    /// `p256dh` is no point of the curve.
    #[error("`p256dh` is not a P-256 public key in base64url")]
    Key,
    /// `auth` is not what a browser makes.
    #[error("`auth` is not 16 bytes in base64url")]
    Auth,
}

impl Subscriber {
    /// Reads what a browser's `PushSubscription` tells: its endpoint, and the keys `p256dh` and
    /// `auth` in base64url.
    ///
    /// # Errors
    /// [`SubscriberError`]. Where the endpoint may lie is [`Outbound`]'s to decide.
    pub fn new(endpoint: &str, p256dh: &str, auth: &str) -> Result<Self, SubscriberError> {
        let bytes = |text: &str| URL_SAFE_NO_PAD.decode(text.trim_end_matches('=')).ok();
        let is_short = endpoint.len() <= ENDPOINT_BYTES_MAX;
        let endpoint = Some(endpoint).filter(|_| is_short).and_then(|endpoint| endpoint.parse().ok());
        let key = bytes(p256dh).and_then(|key| PublicKey::from_sec1_bytes(&key).ok());
        let auth = bytes(auth).and_then(Auth::from_exact_iter);
        Ok(Self {
            endpoint: endpoint.ok_or(SubscriberError::Endpoint)?,
            key: key.ok_or(SubscriberError::Key)?,
            auth: auth.ok_or(SubscriberError::Auth)?,
        })
    }

    /// Where it is reached.
    #[must_use]
    pub fn endpoint(&self) -> &Uri {
        &self.endpoint
    }
}

/// The message.
#[derive(Debug, Clone, Copy)]
pub struct Message<'a> {
    /// At most [`MESSAGE_BYTES_MAX`] bytes; what the page's service worker reads.
    pub content: &'a [u8],
    /// How long a push service keeps it for a browser that is away.
    pub time_to_live: Duration,
    /// At most 32 letters, digits, `-` and `_`. A later message of the same topic takes the place
    /// of one that still waits.
    pub topic: &'a str,
}

/// What became of a message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SendOutcome {
    /// The push service has it.
    Accepted,
    /// The subscription is over; the status says so: 404 or 410.
    Gone(u16),
    /// It does not have it, and will not take it like this: why.
    Rejected(String),
    /// It does not have it now, or nobody knows: why. Another day it may.
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
    /// The push service does not have it, and may take it later: after that long, if it says so.
    RetryLater(String, Option<Duration>),
}

impl Push {
    /// Messages signed with `key`.
    #[must_use]
    pub fn new(outbound: Outbound, key: VapidKey) -> Self {
        Self { outbound, key: Arc::new(key) }
    }

    /// The public key that browsers subscribe with.
    #[must_use]
    pub fn public_key(&self) -> String {
        self.key.public()
    }

    /// Whether a message to that endpoint would be let through now.
    ///
    /// # Errors
    /// [`Refusal`].
    pub async fn check(&self, subscriber: &Subscriber) -> Result<(), Refusal> {
        self.outbound.check(&subscriber.endpoint).await
    }

    /// Sends a message. A push service that says it cannot now is asked up to three times, within
    /// half a minute.
    ///
    /// A message without an answer is not sent again: it may have arrived, and a reminder must come
    /// only once.
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
                    // Many that were turned away at once should not come back at once.
                    tokio::time::sleep(wait + wait.mul_f64(fastrand::f64() / 4.0)).await;
                }
            }
            (attempt, pause) = (attempt + 1, pause * 2);
        }
    }

    /// Sends a message, and asks nobody twice: within five seconds.
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
        let builder = WebPushBuilder::new(to.endpoint.clone(), to.key, to.auth);
        let built = builder.with_valid_duration(message.time_to_live).build(message.content);
        let mut request = match built {
            Ok(request) => request.map(Bytes::from),
            Err(error) => return AttemptOutcome::Final(SendOutcome::Rejected(error.to_string())),
        };
        let headers = [
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
            // Every error of an address that a user gives has the same text. Otherwise a user could
            // probe names, ports and certificates.
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
