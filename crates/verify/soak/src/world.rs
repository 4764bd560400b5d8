//! What everybody shares who lives through the soak: the stack, the time that is left, and how
//! requests are made.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use ::tests::{OPERATOR_TOKEN, STAFF_TOKEN, Stack};
use anyhow::{Context, Result};
use fastrand::Rng;
use reqwest::Method;
use serde::Serialize;
use serde_json::Value;
use tokio::sync::RwLock;

/// How long one request may take: the functions' own time and some more.
const REQUEST_MAX: Duration = Duration::from_secs(40);

/// How often a patient client asks for the same thing.
const TRIES_MAX: u32 = 10;

/// How long after the end of the traffic somebody still tries to be heard.
const GRACE: Duration = Duration::from_secs(30);

/// The longest list that is read to its end, in pages of 100.
const PAGES_MAX: usize = 10_000;

/// What became of the requests to one system.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct Tally {
    /// Writes that were answered with success.
    pub answered: u64,
    /// Writes that were refused for good.
    pub refused: u64,
    /// Writes whose client gave up without having learned what became of them.
    pub unanswered: u64,
    /// Times that a request was sent again.
    pub repeated: u64,
    /// Reads that were looked at while there was traffic.
    pub reads: u64,
}

/// What a client knows about its request.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum RequestOutcome {
    /// It was answered with success, and this.
    Done(Value),
    /// It was refused with this problem, the first time that it was heard or under a key, so it has
    /// no effect.
    Refused(String),
    /// It may have had its effect, or have it soon.
    Unknown,
}

/// A request that may be sent again: the same one has its effect once.
#[derive(Debug)]
pub(crate) struct Request<'a> {
    /// Whose numbers it goes into.
    pub system: &'static str,
    /// HTTP's method.
    pub method: Method,
    /// Path and query.
    pub path: &'a str,
    /// `Idempotency-Key`, where the route takes one. A refusal under a key is the last word,
    /// whatever became of earlier tries.
    pub key: Option<&'a str>,
    /// The request.
    pub body: &'a Value,
}

/// The world.
#[derive(Debug)]
pub(crate) struct World {
    /// Gone for moments, while it is killed and started again.
    stack: RwLock<Option<Stack>>,
    client: reqwest::Client,
    url: String,
    until: Instant,
    tallies: Mutex<BTreeMap<&'static str, Tally>>,
}

impl World {
    /// A world around a stack that is up, whose traffic lasts for `time`.
    pub(crate) fn new(stack: Stack, time: Duration) -> Result<Self> {
        let client = reqwest::Client::builder().timeout(REQUEST_MAX).build()?;
        let (url, until) = (stack.url().to_owned(), Instant::now() + time);
        Ok(Self { stack: RwLock::new(Some(stack)), client, url, until, tallies: Mutex::default() })
    }

    /// Whether there is traffic.
    pub(crate) fn goes_on(&self) -> bool {
        Instant::now() < self.until
    }

    /// Whether even the last ones have given up who still try to be heard.
    pub(crate) fn is_over(&self) -> bool {
        Instant::now() > self.until + GRACE
    }

    /// When the traffic ends.
    pub(crate) fn until(&self) -> Instant {
        self.until
    }

    /// Where the stack is, before and after it is killed.
    pub(crate) fn url(&self) -> &str {
        &self.url
    }

    /// Does something with the stack that no kill shall interrupt.
    ///
    /// # Errors
    /// When the stack did not come up again.
    pub(crate) async fn with<T>(&self, work: impl AsyncFnOnce(&Stack) -> T) -> Result<T> {
        let stack = self.stack.read().await;
        Ok(work(stack.as_ref().context("the stack is gone")?).await)
    }

    /// Kills the stack amid everything, and starts it again.
    ///
    /// # Errors
    /// When it does not come up again.
    pub(crate) async fn kill(&self) -> Result<()> {
        let mut place = self.stack.write().await;
        let stack = place.take().context("the stack is gone")?;
        *place = Some(stack.restart_after_sigkill(&[]).await?);
        Ok(())
    }

    /// The numbers of each system.
    pub(crate) fn tallies(&self) -> BTreeMap<&'static str, Tally> {
        self.tallies.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Changes a system's numbers.
    pub(crate) fn count(&self, system: &'static str, change: impl FnOnce(&mut Tally)) {
        change(self.tallies.lock().unwrap_or_else(PoisonError::into_inner).entry(system).or_default());
    }

    /// Writes what became of a write into the numbers.
    pub(crate) fn note(&self, system: &'static str, outcome: &RequestOutcome) {
        self.count(system, |tally| match outcome {
            RequestOutcome::Done(_) => tally.answered += 1,
            RequestOutcome::Refused(_) => tally.refused += 1,
            RequestOutcome::Unknown => tally.unanswered += 1,
        });
    }

    /// Sends a request, and again until it is settled or this client loses patience.
    pub(crate) async fn ask(&self, rng: &mut Rng, request: &Request<'_>) -> RequestOutcome {
        let mut tries = Tries::of_somebody(rng);
        tries.is_keyed = request.key.is_some();
        loop {
            let step = match self.once(request).await {
                Ok((status, body)) => tries.on_response(status, body),
                Err(error) => tries.failed(error.is_connect()),
            };
            if let Some(outcome) = step {
                return outcome;
            }
            if self.is_over() {
                return tries.given_up();
            }
            self.count(request.system, |tally| tally.repeated += 1);
            tokio::time::sleep(Duration::from_millis(rng.u64(10..200))).await;
        }
    }

    /// A page of the stored items, as an administrator sees it; `None` if the stack cannot answer.
    pub(crate) async fn read(&self, path: &str) -> Option<Value> {
        let request = Request { system: "", method: Method::GET, path, key: None, body: &Value::Null };
        let (status, body) = self.once(&request).await.ok()?;
        (status == 200).then_some(body)
    }

    /// Everything of a list, page by page.
    pub(crate) async fn list(&self, path: &str) -> Result<Vec<Value>> {
        let (mut items, mut cursor) = (Vec::new(), None::<String>);
        for _ in 0..PAGES_MAX {
            let next = cursor.as_ref().map(|cursor| format!("&cursor={cursor}")).unwrap_or_default();
            let address = format!("{path}?limit=100{next}");
            let mut page = None;
            for _ in 0..TRIES_MAX {
                page = self.read(&address).await;
                if page.is_some() {
                    break;
                }
                tokio::time::sleep(Duration::from_millis(200)).await;
            }
            let mut page = page.with_context(|| format!("no {path}"))?;
            items.extend(page["items"].as_array_mut().map(std::mem::take).unwrap_or_default());
            cursor = page["cursor"].as_str().map(str::to_owned);
            if cursor.is_none() {
                return Ok(items);
            }
        }
        anyhow::bail!("{path} does not end");
    }

    async fn once(&self, request: &Request<'_>) -> Result<(u16, Value), reqwest::Error> {
        let mut sent = self.client.request(request.method.clone(), format!("{}{}", self.url, request.path));
        let is_clicks = request.path.contains("/clicks") || request.path.starts_with("/days/");
        sent = sent.bearer_auth(if is_clicks { OPERATOR_TOKEN } else { STAFF_TOKEN });
        if let Some(key) = request.key {
            sent = sent.header("idempotency-key", key);
        }
        if !request.body.is_null() {
            sent = sent.json(request.body);
        }
        let answer = sent.send().await?;
        let status = answer.status().as_u16();
        // An answer that breaks off was none.
        let body = answer.bytes().await?;
        Ok((status, serde_json::from_slice(&body).unwrap_or_default()))
    }
}

/// The number of attempts of a request that reached the stack, and its consequences for the
/// expected state.
#[derive(Debug)]
pub(crate) struct Tries {
    patience: u32,
    heard: u32,
    is_keyed: bool,
}

impl Tries {
    /// Of a patient client, or now and then of one that gives up at once.
    pub(crate) fn of_somebody(rng: &mut Rng) -> Self {
        Self::new(if rng.u8(..6) == 0 { 1 } else { TRIES_MAX })
    }

    /// Of a client that gives up after so many tries that somebody may have heard.
    fn new(patience: u32) -> Self {
        Self { patience, heard: 0, is_keyed: false }
    }

    /// An answer came. `None`: it is worth another try.
    pub(crate) fn on_response(&mut self, status: u16, body: Value) -> Option<RequestOutcome> {
        let problem = body["type"].as_str().and_then(|kind| kind.rsplit(':').next()).unwrap_or_default().to_owned();
        match status {
            200..300 => Some(RequestOutcome::Done(body)),
            400..500 if status != 429 && problem != "conflict" => Some(self.refused(problem)),
            // Stopped at the door, by the API's own throttling: nobody has seen it.
            429 => None,
            _ => self.again(),
        }
    }

    /// No answer came. A connection that was never made carried nothing.
    pub(crate) fn failed(&mut self, is_connect: bool) -> Option<RequestOutcome> {
        if is_connect { None } else { self.again() }
    }

    /// The client gives up for another reason.
    pub(crate) fn given_up(&self) -> RequestOutcome {
        if self.heard == 0 { RequestOutcome::Refused("nobody-there".to_owned()) } else { RequestOutcome::Unknown }
    }

    fn refused(&self, problem: String) -> RequestOutcome {
        if self.heard == 0 || self.is_keyed { RequestOutcome::Refused(problem) } else { RequestOutcome::Unknown }
    }

    fn again(&mut self) -> Option<RequestOutcome> {
        self.heard += 1;
        (self.heard >= self.patience).then_some(RequestOutcome::Unknown)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn refusal_after_a_lost_answer_leaves_the_outcome_unknown() {
        let refusal = || json!({"type": "urn:tidemark:problem:out-of-stock"});
        assert_eq!(Tries::new(3).on_response(409, refusal()), Some(RequestOutcome::Refused("out-of-stock".to_owned())));
        let mut tries = Tries::new(3);
        assert_eq!(tries.failed(false), None);
        assert_eq!(tries.on_response(409, refusal()), Some(RequestOutcome::Unknown));
        let mut tries = Tries { is_keyed: true, ..Tries::new(3) };
        assert_eq!(tries.failed(false), None);
        assert_eq!(tries.on_response(409, refusal()), Some(RequestOutcome::Refused("out-of-stock".to_owned())));
    }

    #[test]
    fn a_client_that_was_never_heard_knows_that_nothing_happened() {
        let mut tries = Tries::new(1);
        assert_eq!((tries.failed(true), tries.on_response(429, Value::Null)), (None, None));
        assert_eq!(tries.given_up(), RequestOutcome::Refused("nobody-there".to_owned()));
        assert_eq!(tries.on_response(502, Value::Null), Some(RequestOutcome::Unknown));
    }
}
