//! The public keys of a token's issuer.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use axum::body::{Body, to_bytes};
use axum::http::{Request, StatusCode};
use hyper_rustls::{HttpsConnector, HttpsConnectorBuilder};
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::TokioExecutor;
use jsonwebtoken::DecodingKey;
use jsonwebtoken::jwk::{Jwk, JwkSet};
use serde::Deserialize;
use serde_json::Value;
use tokio::sync::Mutex;

/// How long API Gateway uses keys.
const KEYS_TTL: Duration = Duration::from_secs(2 * 60 * 60);

/// Minimum interval between two requests: a stranger can send tokens with unknown keys.
const FETCH_INTERVAL: Duration = Duration::from_secs(5);

/// Time limit of a request.
const FETCH_MAX: Duration = Duration::from_secs(5);

/// Maximum size of an answer.
const ANSWER_BYTES_MAX: usize = 1024 * 1024;

/// The keys of an issuer, read on demand.
#[derive(Debug)]
pub(super) struct Keys {
    issuer: String,
    state: Mutex<Fetched>,
}

#[derive(Default)]
struct Fetched {
    by_id: HashMap<String, DecodingKey>,
    read: Option<Instant>,
    tried: Option<Instant>,
}

impl std::fmt::Debug for Fetched {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Fetched").field("keys", &self.by_id.len()).finish_non_exhaustive()
    }
}

/// Why a key is missing.
#[derive(Debug)]
pub(super) enum KeyError {
    /// The issuer does not have it.
    Unknown,
    /// The issuer does not answer, or its answer is invalid.
    Unreachable(String),
}

/// The part of an issuer's configuration that names its keys.
#[derive(Deserialize)]
struct Configuration {
    jwks_uri: String,
}

impl Keys {
    pub(super) fn new(issuer: &str) -> Self {
        Self { issuer: issuer.to_owned(), state: Mutex::default() }
    }

    /// The key with this id. An unknown key may be a new one, so the keys are read again.
    pub(super) async fn get(&self, id: &str) -> Result<DecodingKey, KeyError> {
        let mut state = self.state.lock().await;
        let is_fresh = state.read.is_some_and(|read| read.elapsed() < KEYS_TTL);
        if let Some(key) = state.by_id.get(id).filter(|_| is_fresh) {
            return Ok(key.clone());
        }
        if state.tried.is_none_or(|tried| tried.elapsed() >= FETCH_INTERVAL) {
            state.tried = Some(Instant::now());
            state.by_id = self.fetch().await.map_err(|error| KeyError::Unreachable(error.to_string()))?;
            state.read = Some(Instant::now());
        }
        state.by_id.get(id).cloned().ok_or(KeyError::Unknown)
    }

    async fn fetch(&self) -> Result<HashMap<String, DecodingKey>, FetchError> {
        let connector = HttpsConnectorBuilder::new().with_native_roots()?.https_or_http().enable_http1().build();
        let client = Client::builder(TokioExecutor::new()).build(connector);
        let address = format!("{}/.well-known/openid-configuration", self.issuer.trim_end_matches('/'));
        let configuration: Configuration = serde_json::from_slice(&get(&client, &address).await?)?;
        let set = serde_json::from_slice::<Value>(&get(&client, &configuration.jwks_uri).await?)?;
        // A key of an unknown kind must not hide the others.
        let keys = set.get("keys").and_then(Value::as_array).cloned().unwrap_or_default();
        let set = JwkSet { keys: keys.into_iter().filter_map(|key| serde_json::from_value::<Jwk>(key).ok()).collect() };
        let by_id = |key: &Jwk| Some((key.common.key_id.clone()?, DecodingKey::from_jwk(key).ok()?));
        Ok(set.keys.iter().filter_map(by_id).collect())
    }
}

/// Why keys cannot be read.
type FetchError = Box<dyn std::error::Error + Send + Sync>;

async fn get(client: &Client<HttpsConnector<HttpConnector>, Body>, address: &str) -> Result<Vec<u8>, FetchError> {
    let request = Request::get(address).header("accept", "application/json").body(Body::empty())?;
    let response = tokio::time::timeout(FETCH_MAX, client.request(request)).await??;
    if response.status() != StatusCode::OK {
        return Err(format!("{address} answers {}", response.status()).into());
    }
    let body = to_bytes(Body::new(response.into_body()), ANSWER_BYTES_MAX);
    Ok(tokio::time::timeout(FETCH_MAX, body).await??.to_vec())
}
