//! A push service of a test's own, and browsers that subscribe there: it takes only messages that a
//! real one would take, and opens them. It takes mails too, as SES does.

use std::collections::{HashMap, VecDeque};
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::{Arc, Mutex, PoisonError};

use anyhow::{Context, Result, ensure};
use aws_sdk_sesv2::config::{Credentials, Region};
use axum::Router;
use axum::body::Bytes;
use axum::extract::{Path, State};
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use axum::routing::post;
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use jiff::Timestamp;
use lambda_kit::mail::Mailer;
use okusuri_store::rows::PushSubscription;
use p256::ecdsa::signature::Verifier as _;
use p256::ecdsa::{Signature, VerifyingKey};
use serde_json::{Value, json};
use tokio::net::TcpListener;
use web_push_native::p256::SecretKey;
use web_push_native::p256::elliptic_curve::sec1::ToEncodedPoint as _;
use web_push_native::{Auth, decrypt};

/// A private VAPID key, of RFC 8291's example.
pub const VAPID_KEY: &str = "yfWPiYE-n46HLnH0KqZOF1fJJU3MYrct3AELtAQ-oRw";

/// Who answers for it.
pub const VAPID_SUBJECT: &str = "mailto:operator@example.com";

/// The path of `SendEmail`.
const SES: &str = "/v2/email/outbound-emails";

/// What the service answers in place of 201.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Answer {
    /// A status.
    Status(u16),
    /// A status, with the seconds of `Retry-After`.
    RetryAfter(u16, u32),
    /// Nothing, ever.
    Nothing,
}

/// A message that was taken and opened.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Received {
    /// Which browser's.
    pub browser: String,
    /// Its answer.
    pub content: Value,
    /// `TTL`, in seconds.
    pub time_to_live: String,
    /// `Topic`.
    pub topic: String,
}

#[derive(Debug, Default)]
struct Inner {
    browsers: HashMap<String, (SecretKey, Auth)>,
    answers: HashMap<String, VecDeque<Answer>>,
    received: Vec<Received>,
    mails: Vec<(String, String)>,
    /// Requests of each browser, also those that were not taken.
    requests: HashMap<String, usize>,
    /// What a real service would have refused.
    mistakes: Vec<String>,
}

/// The service, for as long as the test runs.
#[derive(Debug, Clone)]
pub struct PushService {
    address: SocketAddr,
    inner: Arc<Mutex<Inner>>,
}

impl PushService {
    /// Starts one on this machine.
    pub async fn start() -> Result<Self> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await?;
        let service = Self { address: listener.local_addr()?, inner: Arc::default() };
        let router = Router::new().route("/push/{browser}", post(take)).route(SES, post(take_mail));
        let router = router.with_state(service.clone());
        tokio::spawn(async move { axum::serve(listener, router).await });
        Ok(service)
    }

    /// Its address, which a test has to allow.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// The endpoint of a browser.
    pub fn endpoint(&self, browser: &str) -> String {
        format!("http://{}/push/{browser}", self.address)
    }

    /// A browser with fresh keys, as it subscribes: `PushSubscription.toJSON()`.
    pub fn browser(&self, name: &str) -> Value {
        let mut inner = self.lock();
        // Each its own, the same in every run.
        let bytes = |prefix: u8| -> [u8; 32] {
            let mut bytes = [prefix; 32];
            for (place, byte) in bytes.iter_mut().zip(name.bytes()) {
                *place ^= byte;
            }
            bytes
        };
        let key = SecretKey::from_slice(&bytes(1)).unwrap_or_else(|_| unreachable!("32 small bytes are a key"));
        let auth = Auth::clone_from_slice(&bytes(2)[..16]);
        let public = key.public_key().to_encoded_point(false);
        let json = json!({
            "endpoint": self.endpoint(name),
            "expirationTime": null,
            "keys": { "p256dh": URL_SAFE_NO_PAD.encode(public), "auth": URL_SAFE_NO_PAD.encode(auth) },
        });
        inner.browsers.insert(name.to_owned(), (key, auth));
        json
    }

    /// The row of a browser that has subscribed.
    pub fn subscription(&self, user: &str, browser: &str, now: Timestamp) -> PushSubscription {
        let json = self.browser(browser);
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        PushSubscription {
            user_id: user.to_owned(),
            platform: "web".to_owned(),
            endpoint: text(&json["endpoint"]),
            p256dh: text(&json["keys"]["p256dh"]),
            auth: text(&json["keys"]["auth"]),
            is_enabled: true,
            disabled_because: None,
            failures: 0,
            last_sent_at: None,
            created_at: now,
            updated_at: now,
        }
    }

    /// What a browser's next messages are answered with; then 201 again.
    pub fn answers(&self, browser: &str, answers: &[Answer]) {
        self.lock().answers.insert(browser.to_owned(), answers.iter().copied().collect());
    }

    /// The messages that were taken, oldest first.
    ///
    /// # Errors
    /// When there was one among all that a real service would have refused.
    pub fn received(&self) -> Result<Vec<Received>> {
        let inner = self.lock();
        ensure!(inner.mistakes.is_empty(), "{:?}", inner.mistakes);
        Ok(inner.received.clone())
    }

    /// Sends mails to this service, over the connector of a client of DynamoDB.
    pub fn mailer(&self, client: &aws_sdk_dynamodb::Client) -> Mailer {
        let config = aws_sdk_sesv2::Config::builder().behavior_version_latest().region(Region::new("us-east-1"));
        let config = config.credentials_provider(Credentials::new("id", "secret", None, None, "tests"));
        let mut config = config.endpoint_url(format!("http://{}", self.address));
        config.set_http_client(client.config().http_client());
        Mailer::new(aws_sdk_sesv2::Client::from_conf(config.build()), "okusuri@example.com")
    }

    /// Address and subject of each mail, oldest first.
    pub fn mails(&self) -> Vec<(String, String)> {
        self.lock().mails.clone()
    }

    /// How often a browser was written to, whatever the answer.
    pub fn requests(&self, browser: &str) -> usize {
        self.lock().requests.get(browser).copied().unwrap_or_default()
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

async fn take(
    State(service): State<PushService>,
    Path(browser): Path<String>,
    headers: HeaderMap,
    body: Bytes,
) -> Response {
    let opened = open(&service, &browser, &headers, &body);
    let answer = {
        let mut inner = service.lock();
        *inner.requests.entry(browser.clone()).or_default() += 1;
        let answer = inner.answers.get_mut(&browser).and_then(VecDeque::pop_front);
        match opened {
            Err(mistake) => {
                inner.mistakes.push(format!("{browser}: {mistake:#}"));
                Some(Answer::Status(400))
            }
            Ok(received) => {
                if answer.is_none() {
                    inner.received.push(received);
                }
                answer
            }
        }
    };
    match answer {
        None => (StatusCode::CREATED, [("location", "/message/1")]).into_response(),
        Some(Answer::Status(status)) => status_of(status).into_response(),
        Some(Answer::RetryAfter(status, seconds)) => {
            (status_of(status), [("retry-after", seconds.to_string())]).into_response()
        }
        Some(Answer::Nothing) => std::future::pending().await,
    }
}

async fn take_mail(State(service): State<PushService>, body: Bytes) -> Response {
    let mail: Value = serde_json::from_slice(&body).unwrap_or_default();
    let text = |path: &str| mail.pointer(path).and_then(Value::as_str).unwrap_or_default().to_owned();
    let mail = (text("/Destination/ToAddresses/0"), text("/Content/Simple/Subject/Data"));
    service.lock().mails.push(mail);
    axum::Json(json!({ "MessageId": "1" })).into_response()
}

fn status_of(status: u16) -> StatusCode {
    StatusCode::from_u16(status).unwrap_or(StatusCode::IM_A_TEAPOT)
}

fn open(service: &PushService, browser: &str, headers: &HeaderMap, body: &[u8]) -> Result<Received> {
    let header = |name: &str| -> Result<String> {
        let value = headers.get(name).with_context(|| format!("no header {name}"))?;
        Ok(value.to_str()?.to_owned())
    };
    verify(&header("authorization")?, &format!("http://{}", service.address))?;
    ensure!(header("content-encoding")? == "aes128gcm", "not encrypted");
    let (key, auth) = service.lock().browsers.get(browser).cloned().context("no such browser")?;
    let content = decrypt(body.to_vec(), &key, &auth).map_err(|error| anyhow::anyhow!("{error}"))?;
    let topic = header("topic")?;
    ensure!(topic.len() <= 32, "the topic is too long");
    let time_to_live = header("ttl")?;
    Ok(Received { browser: browser.to_owned(), content: serde_json::from_slice(&content)?, time_to_live, topic })
}

/// As RFC 8292 has it: by the key that browsers subscribed with, for this service, and for no
/// longer than a day.
fn verify(authorization: &str, origin: &str) -> Result<()> {
    let parts = authorization.strip_prefix("vapid t=").and_then(|rest| rest.split_once(", k="));
    let (token, public) = parts.context("no VAPID")?;
    let signing = p256::ecdsa::SigningKey::from_slice(&URL_SAFE_NO_PAD.decode(VAPID_KEY)?)?;
    let expected = signing.verifying_key().to_sec1_point(false);
    ensure!(URL_SAFE_NO_PAD.decode(public)? == expected.as_bytes(), "the key is another one");
    let (signed, signature) = token.rsplit_once('.').context("no token")?;
    let signature = Signature::from_slice(&URL_SAFE_NO_PAD.decode(signature)?)?;
    VerifyingKey::from_sec1_bytes(expected.as_bytes())?.verify(signed.as_bytes(), &signature)?;
    let claims = signed.split_once('.').context("no claims")?.1;
    let claims: Value = serde_json::from_slice(&URL_SAFE_NO_PAD.decode(claims)?)?;
    ensure!(claims["aud"] == origin && claims["sub"] == VAPID_SUBJECT, "claims: {claims}");
    ensure!(claims["exp"].as_i64().is_some(), "no expiry: {claims}");
    Ok(())
}
