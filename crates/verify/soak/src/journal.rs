//! The journal: entries are appended while others read. Afterwards each stream must be newest
//! first, and contain each acknowledged entry once.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

use anyhow::Result;
use fastrand::Rng;
use reqwest::Method;
use serde_json::{Value, json};
use uuid::Uuid;

use crate::check::Check;
use crate::world::{Request, RequestOutcome, World};

const SYSTEM: &str = "journal";
const STREAMS: [&str; 3] = ["harbour", "tides", "weather"];

/// All entries that were sent, by their keys.
#[derive(Debug, Default)]
pub(crate) struct Journal {
    sent: Mutex<BTreeMap<String, (&'static str, RequestOutcome)>>,
    /// Lists that were out of order while they were written to.
    disorder: Mutex<Vec<String>>,
}

impl Journal {
    /// Appends and reads until the traffic ends.
    pub(crate) async fn drive(&self, world: &World, mut rng: Rng) {
        while world.goes_on() {
            let stream = STREAMS[rng.usize(..STREAMS.len())];
            if rng.u8(..4) == 0 { self.read(world, stream).await } else { self.append(world, &mut rng, stream).await }
        }
    }

    async fn append(&self, world: &World, rng: &mut Rng, stream: &'static str) {
        let (key, path) = (Uuid::now_v7().to_string(), format!("/journal/{stream}"));
        let body = json!({"message": format!("The tide stands at {}.", rng.u32(..900))});
        let request = Request { system: SYSTEM, method: Method::POST, path: &path, key: Some(&key), body: &body };
        let outcome = world.ask(rng, &request).await;
        world.note(SYSTEM, &outcome);
        self.sent.lock().unwrap_or_else(PoisonError::into_inner).insert(key, (stream, outcome));
    }

    async fn read(&self, world: &World, stream: &str) {
        let Some(page) = world.read(&format!("/journal/{stream}?limit=100")).await else { return };
        world.count(SYSTEM, |tally| tally.reads += 1);
        let entries = page["items"].as_array().cloned().unwrap_or_default();
        if let Some(line) = out_of_order(&entries) {
            self.disorder.lock().unwrap_or_else(PoisonError::into_inner).push(format!("{stream}: {line}"));
        }
    }

    /// Reads every stream to its end.
    pub(crate) async fn check(&self, world: &World) -> Result<Vec<Check>> {
        let mut sent = self.sent.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let mut order = Check::of("every list of the journal is newest first, also while it is written to");
        let mut once = Check::of("each entry that was answered is in its stream, once, and nothing else is");
        order.compared = world.tallies().get(SYSTEM).map_or(0, |tally| tally.reads);
        for line in &*self.disorder.lock().unwrap_or_else(PoisonError::into_inner) {
            order.mistake(line.clone());
        }
        for stream in STREAMS {
            let entries = world.list(&format!("/journal/{stream}")).await?;
            let line = out_of_order(&entries);
            order.expect(line.is_none(), || format!("{stream}: {}", line.unwrap_or_default()));
            for entry in &entries {
                let id = entry["id"].as_str().unwrap_or_default();
                // Taken out, so that a second one is one too many.
                let known = sent.remove(id);
                let is_meant = matches!(&known, Some((of, outcome)) if *of == stream && !matches!(outcome, RequestOutcome::Refused(_)));
                once.expect(is_meant, || format!("{stream} has {entry}, which was {known:?}"));
            }
        }
        for (key, (stream, outcome)) in &sent {
            once.expect(!matches!(outcome, RequestOutcome::Done(_)), || format!("{stream} has no {key}: {outcome:?}"));
        }
        Ok(vec![order, once])
    }
}

/// The first two entries that are not newest first.
fn out_of_order(entries: &[Value]) -> Option<String> {
    let pair = entries.windows(2).find(|pair| pair[0]["id"].as_str() <= pair[1]["id"].as_str())?;
    Some(format!("{} before {}", pair[0], pair[1]))
}
