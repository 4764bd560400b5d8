//! What a history's tasks share: dice, clocks, table, functions, and what happened so far.

use std::cell::Cell;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use anyhow::Context;
use domain::journal::Retention;
use fastrand::Rng;
use inventory_log::Inventory;
use jiff::{SignedDuration, Timestamp};
use journal_store::{Journal, JournalShards};
use lambda_kit::http::Request;
use price_history::Shop;
use secrecy::SecretString;
use serde_json::value::RawValue;
use serde_json::{Value, json};
use stock_watch::Watcher;
use tokio::sync::oneshot;
use tokio::time::{Instant, sleep, timeout};
use uuid::Uuid;

use super::weakness::{Weakness, weaken};
use crate::history::History;
use crate::table::{Database, ask, table_request};
use crate::wire::{Behind, Wire, ask_noted};

pub(super) const TABLE: &str = "shop";

/// The product that everybody wants.
pub(super) const PRODUCT: &str = "cup";

/// All products. The second one is in orders of several lines.
pub(super) const PRODUCTS: [&str; 2] = [PRODUCT, "bowl"];

const TOKEN: &str = "token";

/// When histories begin: 2025-10-02T10:30:00Z, Unix seconds.
const BEGIN_S: i64 = 1_759_401_000;

/// How far clocks of instances are off.
const SKEW: SignedDuration = SignedDuration::from_millis(1_500);

/// When Lambda ends an invocation.
const TIME_LIMIT: Duration = Duration::from_secs(10);

/// How long a client waits for an answer.
const PATIENCE: Duration = Duration::from_secs(12);

/// How late an invocation may begin, milliseconds: its client has given up and asked again.
const LATE_MS_MAX: u64 = 25_000;

/// The longest latency of a slow request, and of a usual one.
const LATENCIES_MS: (u64, u64) = (300, 8);

/// How many times pending work is polled before a history counts as stuck.
const LOOKS_MAX: usize = 100_000;

/// A kind of fault and how likely it may at most be, each time that it could strike.
const FAULTS: [(&str, f64); 13] = [
    ("late invocation", 0.15),
    ("request lost", 0.05),
    ("request twice", 0.05),
    ("answer lost", 0.08),
    ("crash before a request", 0.02),
    ("crash after a request", 0.03),
    ("lost request", 0.03),
    ("lost reply", 0.05),
    ("late request", 0.02),
    ("server error", 0.03),
    ("throttling", 0.04),
    ("transaction conflict", 0.15),
    ("clock off", 0.5),
];

thread_local! {
    /// When the history that this thread plays has begun.
    static BEGIN: Cell<Option<Instant>> = const { Cell::new(None) };
}

/// The right time.
pub(super) fn now() -> Timestamp {
    let elapsed = BEGIN.get().map_or(Duration::ZERO, |begin| begin.elapsed());
    Timestamp::UNIX_EPOCH + SignedDuration::from_secs(BEGIN_S) + SignedDuration::try_from(elapsed).unwrap_or_default()
}

fn fast() -> Timestamp {
    now() + SKEW
}

fn slow() -> Timestamp {
    now() - SKEW
}

fn new_id() -> Uuid {
    let mut random = [0; 10];
    fastrand::fill(&mut random);
    uuid::Builder::from_unix_timestamp_millis(now().as_millisecond().unsigned_abs(), &random).into_uuid()
}

pub(super) struct State {
    pub(super) history: History,
    pub(super) database: Box<dyn Database>,
    pub(super) weakness: Option<Weakness>,
    /// Instances that wait for an invocation.
    idle: Vec<Instance>,
    /// The prices that a client of the original design has replaced, by the sort keys of its rows;
    /// `None` in a history without such a client.
    pub(super) replaced: Option<BTreeMap<String, i64>>,
}

/// A handle to it. A lock is held for one step and never across an await.
#[derive(Clone)]
pub(super) struct World(Arc<Mutex<State>>);

impl std::fmt::Debug for World {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("World").finish_non_exhaustive()
    }
}

/// A request to one of the functions: its route key, the order in the path if there is one, and the
/// body.
#[derive(Debug, Clone)]
pub(super) struct Call {
    pub(super) route: &'static str,
    pub(super) order_id: Option<String>,
    pub(super) key: Option<String>,
    pub(super) body: Option<Value>,
}

impl Call {
    fn request(&self) -> anyhow::Result<Request> {
        Ok(Request::new(serde_json::from_value(self.event())?))
    }

    fn event(&self) -> Value {
        let mut headers = json!({ "authorization": format!("Bearer {TOKEN}") });
        if let Some(key) = &self.key {
            headers["idempotency-key"] = json!(key);
        }
        let mut event = json!({
            "version": "2.0",
            "routeKey": self.route,
            "rawPath": "/",
            "headers": headers,
            "pathParameters": { "productId": PRODUCT },
            "requestContext": { "http": { "method": "POST", "path": "/" } },
            "body": self.body.as_ref().map(Value::to_string),
            "isBase64Encoded": false,
        });
        if let Some(order_id) = &self.order_id {
            event["pathParameters"]["orderId"] = json!(order_id);
        }
        event
    }
}

/// An answer of a function: status and body.
pub(super) type Answer = (u16, Value);

impl Behind for World {
    const TABLE: &'static str = TABLE;

    fn history<T>(&self, step: impl FnOnce(&mut History) -> T) -> T {
        self.with(|state| step(&mut state.history))
    }

    fn apply(&self, _: u64, operation: &str, body: &Value) -> (u16, Value) {
        self.with(|state| apply(state, operation, body))
    }

    fn weaken(&self, _: u64, operation: String, body: Value) -> Vec<(String, Value)> {
        weaken(self.with(|state| state.weakness), operation, body)
    }
}

pub(super) fn apply(state: &mut State, operation: &str, body: &Value) -> (u16, Value) {
    ask_noted(&mut *state.database, &mut state.history, operation, body)
}

impl State {
    /// The clock of a new instance.
    fn clock(&mut self) -> fn() -> Timestamp {
        match self.history.strikes("clock off") {
            false => now,
            true if self.history.rng.bool() => fast,
            true => slow,
        }
    }

    /// Ends every instance.
    pub(super) fn end(&mut self) {
        self.idle.clear();
    }
}

impl World {
    pub(super) fn new(
        rng: Rng,
        weakness: Option<Weakness>,
        mut database: Box<dyn Database>,
        is_traced: bool,
    ) -> anyhow::Result<Self> {
        BEGIN.set(Some(Instant::now()));
        let table = table_request(TABLE, &[["open-reservations", "OpenOf", "ExpiresAt", "KEYS_ONLY"]]);
        ask(&mut *database, "CreateTable", &table)?;
        let mut history = History::new(rng, &FAULTS, LATENCIES_MS, is_traced);
        let replaced = history.rng.bool().then(BTreeMap::new);
        Ok(Self(Arc::new(Mutex::new(State { history, database, weakness, idle: Vec::new(), replaced }))))
    }

    /// One step.
    pub(super) fn with<T>(&self, step: impl FnOnce(&mut State) -> T) -> T {
        step(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// A broken promise of the shop.
    pub(super) fn complain(&self, line: String) {
        self.with(|state| state.history.broken.push(line));
    }

    /// The products, with some goods, made in good weather.
    pub(super) async fn make_products(&self) -> anyhow::Result<()> {
        for product in PRODUCTS {
            let stock = self.with(|state| state.history.rng.u64(..200));
            let body = json!({"name": product, "price": 1_000, "currency": "EUR", "stock": stock});
            let route = "PUT /products/{productId}";
            let mut request = Call { route, order_id: None, key: None, body: Some(body) }.event();
            request["pathParameters"]["productId"] = json!(product);
            let request = Request::new(serde_json::from_value(request)?);
            let answer = Instance::new(Wire::perfect(self.clone()), now).answer(request).await;
            anyhow::ensure!(answer.0 == 201, "{answer:?}");
        }
        Ok(())
    }

    /// Asks over a wire that takes no time and has no faults.
    pub(super) async fn ask_perfectly(&self, call: &Call) -> anyhow::Result<Answer> {
        Ok(Instance::new(Wire::perfect(self.clone()), now).answer(call.request()?).await)
    }

    /// Sends a request to its function, as often as the network likes, and waits for an answer;
    /// `None` when none comes.
    pub(super) async fn ask(&self, call: &Call) -> anyhow::Result<Vec<Option<Answer>>> {
        let copies = self.with(|state| {
            state.history.count("requests", 1);
            state.history.note(|| format!("asks {call:?}"));
            1 + usize::from(state.history.strikes("request twice"))
        });
        let mut answers = Vec::new();
        for _ in 0..copies {
            answers.push(self.invoke(call.request()?));
        }
        let mut outcomes = Vec::new();
        for answer in answers {
            let outcome = timeout(PATIENCE, answer).await.ok().and_then(Result::ok);
            self.with(|state| {
                state.history.note(|| format!("{} {:?} {:?}: {outcome:?}", call.route, call.key, call.order_id))
            });
            outcomes.push(outcome);
        }
        Ok(outcomes)
    }

    /// Runs an invocation, which may crash at any point. Its caller may be gone.
    fn invoke(&self, request: Request) -> oneshot::Receiver<Answer> {
        let (told, answered) = oneshot::channel();
        let world = self.clone();
        let (there, back) = self.with(|state| {
            state.history.under_way += 1;
            let late_ms =
                if state.history.strikes("late invocation") { state.history.rng.u64(..LATE_MS_MAX) } else { 0 };
            (state.history.latency() + Duration::from_millis(late_ms), state.history.latency())
        });
        tokio::task::spawn_local(async move {
            sleep(there).await;
            if !world.with(|state| state.history.strikes("request lost")) {
                let answer = world.answer(request).await;
                sleep(back).await;
                let is_lost = world.with(|state| state.history.strikes("answer lost"));
                if let Some(answer) = answer.filter(|_| !is_lost) {
                    // Nobody may be waiting any more.
                    let _ = told.send(answer);
                }
            }
            world.with(|state| state.history.under_way -= 1);
        });
        answered
    }

    /// Has an instance that is idle, or a new one, answer; `None` when it dies.
    async fn answer(&self, request: Request) -> Option<Answer> {
        let instance = match self.with(|state| state.idle.pop()) {
            Some(instance) => instance,
            None => Instance::new(Wire::new(self.clone()), self.with(State::clock)),
        };
        let answer = instance.wire.unless_killed(instance.answer(request), TIME_LIMIT).await;
        if answer.is_some() {
            self.with(|state| state.idle.push(instance));
        }
        answer
    }

    /// Tells the stream's function of an item that time has taken; whether it was taken.
    pub(super) async fn watch(&self, item: &Value) -> anyhow::Result<bool> {
        let event = json!({ "Records": [{
            "eventID": "1",
            "eventName": "REMOVE",
            "eventVersion": "1.1",
            "eventSource": "aws:dynamodb",
            "awsRegion": "us-east-1",
            "userIdentity": { "type": "Service", "principalId": "dynamodb.amazonaws.com" },
            "dynamodb": {
                "Keys": { "PK": item["PK"], "SK": item["SK"] },
                "OldImage": item,
                "SequenceNumber": "100",
                "SizeBytes": 1,
                "StreamViewType": "NEW_AND_OLD_IMAGES",
            },
            "eventSourceARN": "arn:aws:dynamodb:us-east-1:000000000000:table/shop/stream/1",
        }] });
        let wire = Wire::new(self.clone());
        let shards = JournalShards::new(1).context("one is a number of shards")?;
        let journal = Journal::new(&store_base::Table::new(wire.client(), "journal"), shards, Retention::default());
        let watcher = Watcher::new(journal, &wire.table());
        let now = self.with(|state| (state.clock())());
        let handled = stock_watch::handle(&watcher, RawValue::from_string(event.to_string())?, now);
        let reply = match wire.unless_killed(handled, TIME_LIMIT).await {
            Some(Ok(reply)) => serde_json::to_value(reply)?,
            _ => return Ok(false),
        };
        Ok(reply["batchItemFailures"].as_array().is_some_and(Vec::is_empty))
    }

    /// Waits until nothing is on its way.
    pub(super) async fn settle(&self) -> anyhow::Result<()> {
        for _ in 0..LOOKS_MAX {
            if self.with(|state| state.history.under_way == 0) {
                return Ok(());
            }
            sleep(Duration::from_millis(50)).await;
        }
        anyhow::bail!("something stays on its way")
    }
}

/// The functions of one instance. (They are two, in the world.)
struct Instance {
    wire: Wire<World>,
    shop: Shop,
    inventory: Inventory,
}

impl Instance {
    fn new(wire: Wire<World>, clock: fn() -> Timestamp) -> Self {
        let client = wire.client();
        let (key, token) = (SecretString::from("key"), SecretString::from(TOKEN));
        let shop =
            Shop::new(&store_base::Table::new(client.clone(), TABLE), key.clone(), token.clone()).with(clock, new_id);
        let inventory = Inventory::new(&store_base::Table::new(client, TABLE), key, token).with(clock, new_id);
        Self { wire, shop, inventory }
    }

    /// What the function of a route says.
    async fn answer(&self, request: Request) -> Answer {
        let is_stock = ["/stock", "/reservations", "/orders"].iter().any(|part| request.route().contains(part));
        let reply = match is_stock {
            true => inventory_log::handle(&self.inventory, request).await,
            false => price_history::handle(&self.shop, request).await,
        };
        match reply {
            Ok(reply) => (reply.status(), serde_json::from_str(reply.body()).unwrap_or_default()),
            Err(problem) => (problem.status(), problem.to_json()),
        }
    }
}
