//! The push services: they take a message, refuse it, or do not answer.

use anyhow::Context;
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use bytes::Bytes;
use http::{Request, Response};
use jiff::Timestamp;
use lambda_kit::outbound::OutboundError;
use serde_json::Value;
use tokio::time::sleep;
use web_push_native::p256::SecretKey;
use web_push_native::p256::elliptic_curve::sec1::ToEncodedPoint as _;
use web_push_native::{Auth, decrypt};

use super::world::{Message, State, World, moment, number};
use crate::history::History;
use crate::wire::{Behind as _, Wire};

/// The secrets of all browsers.
const KEY: [u8; 32] = [1; 32];
const AUTH: [u8; 16] = [2; 16];

/// Gives a message to a browser, whose address says the user and the usual answer.
pub(super) async fn push(wire: Wire<World>, request: Request<Bytes>) -> Result<Response<Bytes>, OutboundError> {
    let (world, run) = (&wire.world, moment(wire.invocation()));
    let latency = world.history(History::latency);
    sleep(latency).await;
    let way = request.uri().path().to_owned();
    let user = way.split('/').nth(1).and_then(number).unwrap_or_default();
    let mut status: u16 = way.rsplit('/').next().and_then(|status| status.parse().ok()).unwrap_or(400);
    let faults = ["message lost", "push service busy", "push answer lost"];
    let fault = world.with(|state| {
        let fault = faults.into_iter().find(|fault| state.history.strikes(fault));
        if fault == Some("push service busy") {
            status = if state.history.rng.bool() { 503 } else { 429 };
        }
        if status == 201
            && fault != Some("message lost")
            && let Err(error) = state.take_push(run, user, &way, request.body())
        {
            state.history.broken.push(format!("a message to {way} cannot be read: {error:#}"));
        }
        if status != 201 || fault.is_some() {
            state.refused.insert((run, user));
        }
        state.history.note(|| format!("  {way} {status} {fault:?}"));
        fault
    });
    match fault {
        Some("message lost") => return Err(OutboundError::Failed("the connection was closed".to_owned())),
        Some("push answer lost") => std::future::pending().await,
        _ => {}
    }
    let mut response = Response::new(Bytes::new());
    *response.status_mut() = http::StatusCode::from_u16(status).unwrap_or_default();
    Ok(response)
}

/// The public key and the secret with which each browser subscribes.
pub(super) fn keys() -> anyhow::Result<[String; 2]> {
    let public = SecretKey::from_slice(&KEY)?.public_key().to_encoded_point(false);
    Ok([URL_SAFE_NO_PAD.encode(public), URL_SAFE_NO_PAD.encode(AUTH)])
}

impl State {
    fn take_push(&mut self, run: Timestamp, user: usize, way: &str, sealed: &[u8]) -> anyhow::Result<()> {
        let key = SecretKey::from_slice(&KEY)?;
        let content = decrypt(sealed.to_vec(), &key, &Auth::clone_from_slice(&AUTH));
        let content = content.map_err(|why| anyhow::anyhow!("{why}"))?;
        let content: Value = serde_json::from_slice(&content)?;
        let texts = |name: &str| content[name].as_array().into_iter().flatten().filter_map(Value::as_str);
        let times = texts("times").map(str::parse).collect::<Result<_, _>>()?;
        let count = content["count"].as_u64().context("no count")?;
        let content = Some((texts("names").map(str::to_owned).collect(), usize::try_from(count)?));
        self.messages.push(Message { user, run, at: self.now(), way: way.to_owned(), times, content });
        Ok(())
    }
}
