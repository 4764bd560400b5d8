//! Where `click-writer` puts clicks, what a key keeps being told, and what a request can cost: the
//! function on a real engine.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use aws_sdk_dynamodb::config::interceptors::BeforeTransmitInterceptorContextRef;
use aws_sdk_dynamodb::config::{ConfigBag, Intercept, RuntimeComponents};
use aws_sdk_dynamodb::error::BoxError;
use click_writer::{Config, PUTS_MAX, SLOTS_MAX, Writer, handle};
use clicks_store::DateShards;
use jiff::Timestamp;
use lambda_kit::http::{Reply, Request};
use serde_json::{Value, json};
use tests::Database;
use tidemark_engine::{Chance, EngineFaults, FailureReply};

/// 2025-10-02T10:30:00Z.
const NOW_MS: u64 = 1_759_401_000_000;
const HOUR_MS: u64 = 60 * 60 * 1_000;

fn now() -> Timestamp {
    Timestamp::from_millisecond(NOW_MS as i64).unwrap()
}

/// Counts requests by operation.
#[derive(Debug, Clone, Default)]
struct Counter(Arc<Mutex<BTreeMap<String, u32>>>);

impl Intercept for Counter {
    fn name(&self) -> &'static str {
        "counter"
    }

    fn read_before_transmit(
        &self,
        context: &BeforeTransmitInterceptorContextRef<'_>,
        _: &RuntimeComponents,
        _: &mut ConfigBag,
    ) -> Result<(), BoxError> {
        let target = context.request().headers().get("x-amz-target").unwrap_or_default();
        let operation = target.rsplit('.').next().unwrap_or_default().to_owned();
        *self.0.lock().unwrap().entry(operation).or_default() += 1;
        Ok(())
    }
}

impl Counter {
    /// Conditional writes and queries since the last call, and nothing else.
    fn take(&self) -> (u32, u32) {
        let mut counts = std::mem::take(&mut *self.0.lock().unwrap());
        let taken = ["PutItem", "Query"].map(|operation| counts.remove(operation).unwrap_or_default());
        assert_eq!(counts, BTreeMap::new());
        (taken[0], taken[1])
    }
}

struct Function {
    db: Database,
    writer: Writer,
    counter: Counter,
}

impl Function {
    async fn start() -> Self {
        let db = Database::start().await.unwrap();
        let counter = Counter::default();
        let config = db.client.config().to_builder().interceptor(counter.clone()).build();
        let table = store_base::Table::new(aws_sdk_dynamodb::Client::from_conf(config), Database::CLICKS);
        let config = Config { table: Database::CLICKS.to_owned(), date_shards: DateShards::default(), retention: None };
        Self { db, writer: Writer::new(&table, config).with_clock(now), counter }
    }

    async fn post(&self, body: &Value) -> (u16, Value) {
        self.post_at(body, now).await
    }

    async fn post_at(&self, body: &Value, now: fn() -> Timestamp) -> (u16, Value) {
        let event = json!({
            "version": "2.0", "routeKey": "POST /clicks", "rawPath": "/clicks", "headers": {}, "isBase64Encoded": false,
            "requestContext": { "http": { "method": "POST", "path": "/clicks" } }, "body": body.to_string(),
        });
        let request = Request::new(serde_json::from_value(event).unwrap());
        let reply = handle(&self.writer.clone().with_clock(now), request).await.unwrap_or_else(Reply::from);
        (reply.status(), serde_json::from_str(reply.body()).unwrap())
    }

    /// Statuses of a batch's clicks, in their order.
    async fn statuses(&self, clicks: &[Value]) -> Vec<u64> {
        let (status, body) = self.post(&json!({ "clicks": clicks })).await;
        assert_eq!(status, 207, "{body}");
        body["items"].as_array().unwrap().iter().map(|item| item["status"].as_u64().unwrap()).collect()
    }
}

/// A key of a millisecond; `n` tells it from others of the same.
fn key(millisecond: u64, n: u8) -> String {
    uuid::Builder::from_unix_timestamp_millis(millisecond, &[n; 10]).into_uuid().to_string()
}

fn click(user: &str, key: &str) -> Value {
    json!({ "userId": user, "idempotencyKey": key })
}

#[tokio::test]
async fn fully_taken_milliseconds_do_not_make_a_batch_costly() {
    let function = Function::start().await;
    let last = NOW_MS + 2 * u64::from(SLOTS_MAX);
    let taken: Vec<_> = (NOW_MS..last).map(|millisecond| click("ann", &key(millisecond, 0))).collect();
    for batch in taken.chunks(25) {
        assert!(function.statuses(batch).await.iter().all(|status| *status == 201));
    }
    assert_eq!(function.counter.take(), (2 * u32::from(SLOTS_MAX), 0), "a click that meets nobody is one write");

    let same: Vec<_> = (1..=25).map(|n| click("ann", &key(NOW_MS, n))).collect();
    assert_eq!(function.statuses(&same).await, [409; 25]);
    assert_eq!(function.counter.take(), (1, 1));

    let following: Vec<_> = (1..=25).map(|n| click("ann", &key(NOW_MS + u64::from(n), n))).collect();
    assert_eq!(function.statuses(&following).await, [409; 25]);
    let (puts, queries) = function.counter.take();
    assert!(puts <= 25 && queries <= 25, "{puts} writes, {queries} queries");

    // The most that there is: a place behind those that are held.
    let behind: Vec<_> = (1..=25).map(|n| click("ann", &key(last - 10, n))).collect();
    assert_eq!(function.statuses(&behind).await, [201; 25]);
    let (puts, queries) = function.counter.take();
    assert!(puts <= 25 * PUTS_MAX && queries <= 25, "{puts} writes, {queries} queries");
    assert_eq!((puts, queries), (26, 25));
}

#[tokio::test]
async fn batch_clicks_keep_their_order_and_own_milliseconds() {
    let function = Function::start().await;
    let clicks: Vec<_> = (0..25).map(|n| json!({ "userId": if n % 2 == 0 { "ann" } else { "bob" } })).collect();
    let (_, body) = function.post(&json!({ "clicks": clicks })).await;
    let items = body["items"].as_array().unwrap();
    assert!(items.iter().all(|item| item["status"] == 201), "{body}");
    let times: Vec<_> = items.iter().map(|item| item["click"]["createDateTime"].to_string()).collect();
    assert!(times.is_sorted() && BTreeSet::from_iter(&times).len() == 25, "{times:?}");
    assert_eq!(function.counter.take(), (25, 0));
}

#[tokio::test]
async fn a_key_keeps_its_answer_however_late_it_comes_again() {
    let function = Function::start().await;
    let ann = click("ann", &key(NOW_MS, 1));
    let (status, stored) = function.post(&ann).await;
    assert_eq!(status, 201);
    // Another click has moved on to the next millisecond, and is found there.
    let beside = click("ann", &key(NOW_MS, 2));
    let (status, moved) = function.post(&beside).await;
    assert_eq!((status, &moved["createDateTime"]), (201, &json!("2025-10-02T10:30:00.001Z")));
    for later in [
        || now() + Duration::from_secs(6 * 60),
        || now() + Duration::from_secs(25 * 60 * 60),
        || now() + Duration::from_secs(400 * 24 * 60 * 60),
    ] {
        assert_eq!(function.post_at(&ann, later).await, (200, stored.clone()));
        assert_eq!(function.post_at(&beside, later).await, (200, moved.clone()));
    }
    let changed = json!({ "userId": "ann", "clickCount": 2, "idempotencyKey": key(NOW_MS, 1) });
    let (status, problem) = function.post(&changed).await;
    assert_eq!((status, &problem["type"]), (409, &json!("urn:tidemark:problem:idempotency-key-reused")));
    assert_eq!(function.statuses(&[ann.clone(), changed, ann]).await, [200, 409, 200]);
}

#[tokio::test]
async fn offline_click_is_stored_within_a_day_under_its_time() {
    let function = Function::start().await;
    let (status, stored) = function.post(&click("ann", &key(NOW_MS - 23 * HOUR_MS, 1))).await;
    assert_eq!((status, &stored["createDateTime"]), (201, &json!("2025-10-01T11:30:00.000Z")));
    for time in [NOW_MS - 25 * HOUR_MS, NOW_MS + 6 * 60 * 1_000] {
        let (status, problem) = function.post(&click("ann", &key(time, 1))).await;
        assert_eq!((status, &problem["type"]), (400, &json!("urn:tidemark:problem:idempotency-key-time")));
    }
}

#[tokio::test]
async fn click_with_a_lost_reply_is_new_to_its_request() {
    let function = Function::start().await;
    for failure_reply in [FailureReply::InternalServerError, FailureReply::ConnectionClosed] {
        let fail_after = [("PutItem".to_owned(), Chance { next: 1, probability: 0.0 })].into();
        function.db.engine().faults().set(EngineFaults { fail_after, failure_reply, ..EngineFaults::default() });
        let user = format!("{failure_reply:?}");
        let ann = click(&user, &key(NOW_MS, 1));
        let (status, stored) = function.post(&ann).await;
        assert_eq!(status, 201, "{failure_reply:?}: {stored}");
        assert_eq!(function.counter.take(), (2, 0), "the SDK has sent it again");
        assert_eq!(function.post(&ann).await, (200, stored));
        function.counter.take();
    }
}

#[tokio::test]
async fn concurrent_requests_store_a_click_once_and_share_its_answer() {
    let function = Function::start().await;
    // A request that finds others faster each time is asked to come again.
    let ask = async |click: Value| {
        for _ in 0..20 {
            let (status, body) = function.post(&click).await;
            if status != 503 {
                return (status, body);
            }
        }
        panic!("always too late");
    };
    let same = futures::future::join_all((0..6).map(|_| ask(click("ann", &key(NOW_MS, 1)))));
    let others = futures::future::join_all((2..8).map(|n| ask(click("ann", &key(NOW_MS, n)))));
    let (same, others) = tokio::join!(same, others);
    assert!(others.iter().all(|(status, _)| *status == 201), "{others:?}");
    let mut statuses: Vec<_> = same.iter().map(|(status, _)| *status).collect();
    statuses.sort_unstable();
    assert_eq!(statuses, [200, 200, 200, 200, 200, 201]);
    assert_eq!(same.iter().map(|(_, body)| body.to_string()).collect::<BTreeSet<_>>().len(), 1);
}
