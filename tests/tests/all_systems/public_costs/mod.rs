//! Measures the dearest form of each public request on the real engine, beside the bounds of
//! `scale`, which `docs/capacity.md` shows. `make bench ONLY=attack-cost` prints the measurements.

mod clicks;
mod game;
mod journal;
mod okusuri;
mod shop;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use aws_sdk_dynamodb::types::{AttributeValue, PutRequest, WriteRequest};
use lambda_kit::http::{Reply, Request};
use lambda_kit::problem::Problem;
use scale::public::{Cost, PUBLIC, PublicRequest};
use serde_json::value::{RawValue, to_raw_value};
use serde_json::{Value, json};
use tests::{Database, StreamTail, repository};
use tidemark_engine::Meter;

use super::openapi::Document;

/// The address of the client.
const CLIENT: &str = "203.0.113.7";

/// The dearest of each request so far.
type Costs = BTreeMap<String, Cost>;

/// Reads the engine's meter between requests.
struct Gauge {
    meter: Arc<Meter>,
    booked: (f64, f64),
    costs: Costs,
}

impl Gauge {
    fn new(db: &Database) -> Self {
        Self { meter: db.engine().meter(), booked: (0.0, 0.0), costs: Costs::new() }
    }

    /// Forgets what was used so far, as preparation.
    fn skip(&mut self) -> (f64, f64) {
        let used = self.meter.used().into_values();
        let used =
            used.fold((0.0, 0.0), |(writes, reads), usage| (writes + usage.write_units, reads + usage.read_units));
        let before = std::mem::replace(&mut self.booked, used);
        (used.0 - before.0, used.1 - before.1)
    }

    /// Books to a request what was used since.
    fn book(&mut self, request: &str, posts: usize, bytes: usize) {
        let (writes, reads) = self.skip();
        let known = self.costs.entry(request.to_owned()).or_default();
        *known = Cost {
            writes: known.writes.max(writes),
            reads: known.reads.max(reads),
            posts: known.posts.max(posts as f64),
            kilobytes: known.kilobytes.max(bytes as f64 / 1_000.0),
        };
    }

    /// The same for a request of the HTTP API, which has to succeed.
    #[track_caller]
    fn answer(&mut self, route: &str, reply: Result<Reply, Problem>) {
        let reply = reply.unwrap_or_else(|problem| panic!("{route}: {}", problem.to_json()));
        self.book(route.split('?').next().unwrap(), 0, reply.body().len());
    }
}

/// A request as API Gateway passes it on: a route such as `GET /days/{date}/clicks?limit=7`, and
/// the values of the names in it.
fn request(route: &str, values: &[&str], token: &str, body: &Value) -> Request {
    let (route, query) = route.split_once('?').unwrap_or((route, ""));
    let names = route.split('/').filter_map(|part| part.strip_prefix('{')?.strip_suffix('}'));
    let path: serde_json::Map<_, _> = names.zip(values).map(|(name, value)| (name.to_owned(), json!(value))).collect();
    let query = query.split('&').filter_map(|pair| pair.split_once('='));
    let query: serde_json::Map<_, _> = query.map(|(name, value)| (name.to_owned(), json!(value))).collect();
    let mut event = json!({
        "routeKey": route, "pathParameters": path, "queryStringParameters": query, "body": body.to_string(),
        "headers": { "content-type": "application/json" },
        "requestContext": { "http": { "method": route.split(' ').next(), "sourceIp": CLIENT } },
    });
    if !token.is_empty() {
        event["headers"]["authorization"] = json!(format!("Bearer {token}"));
    }
    Request::new(serde_json::from_value(event).unwrap())
}

/// A batch with the records of a stream since the last one.
async fn batch(stream: &mut StreamTail) -> Box<RawValue> {
    let arn = "arn:aws:dynamodb:us-east-1:000000000000:table/any/stream/2025-10-02T10:00:00.000";
    let batch = json!({
        "Records": stream.rest().await.unwrap(), "state": {}, "isFinalInvokeForWindow": true,
        "shardId": "shardId-00000001759400000000", "eventSourceARN": arn,
    });
    to_raw_value(&batch).unwrap()
}

/// The names of a table's keys.
fn keys(table: &str) -> [&'static str; 2] {
    if table == Database::CLICKS { ["userId", "createDateTime"] } else { ["PK", "SK"] }
}

/// Puts copies of the last item of a partition whose sort key begins so, each with other texts.
async fn copies(
    db: &Database,
    table: &str,
    (partition, sort): (&str, &str),
    changes: impl IntoIterator<Item = Vec<(&str, String)>>,
) {
    let [partition_key, sort_key] = keys(table);
    let query = db.client.query().table_name(table).key_condition_expression("#p = :p AND begins_with(#s, :s)");
    let query = query.expression_attribute_names("#p", partition_key).expression_attribute_names("#s", sort_key);
    let query = query.expression_attribute_values(":p", AttributeValue::S(partition.to_owned()));
    let query = query.expression_attribute_values(":s", AttributeValue::S(sort.to_owned()));
    let item = query.scan_index_forward(false).limit(1).send().await.unwrap().items.unwrap().remove(0);
    let puts = changes.into_iter().map(|texts| {
        let texts = texts.into_iter().map(|(name, text)| (name.to_owned(), AttributeValue::S(text)));
        let copy = item.clone().into_iter().chain(texts).collect();
        let put = PutRequest::builder().set_item(Some(copy)).build().unwrap();
        WriteRequest::builder().put_request(put).build()
    });
    for some in puts.collect::<Vec<_>>().chunks(25) {
        let written = db.client.batch_write_item().request_items(table, some.to_vec()).send().await.unwrap();
        assert_eq!(written.unprocessed_items.unwrap_or_default().len(), 0);
    }
}

/// A text of so many characters of four bytes, begun by a number of its own.
fn long(n: u32, chars: usize) -> String {
    format!("{n:04}{}", "𝒳".repeat(chars - 4))
}

/// What needs neither a token of the owner nor a session, as the documents have it.
fn documented() -> BTreeSet<String> {
    let document = Document::read();
    let is_public = |operation: &Value| {
        let schemes = operation["security"].as_array().cloned().unwrap_or_default();
        schemes.iter().all(|scheme| *scheme == json!({}) || scheme["playerToken"].is_array())
            || schemes.contains(&json!({}))
    };
    let operations = document.operations().into_iter();
    let routes = operations.filter(|(route, operation)| route.contains(' ') && is_public(operation));
    let protocol = std::fs::read_to_string(repository().join("docs/protocol.md")).unwrap();
    let (_, messages) = protocol.split_once("## From the client").unwrap();
    let (messages, _) = messages.split_once("\n## ").unwrap();
    let actions = messages.lines().filter_map(|line| Some(line.strip_prefix("| `")?.split_once('`')?.0.to_owned()));
    let ends = ["$connect", "$disconnect"].map(str::to_owned);
    routes.map(|(route, _)| route).chain(actions).chain(ends).collect()
}

#[test]
fn each_public_request_of_the_documents_has_a_bound() {
    let listed: BTreeSet<_> = PUBLIC.iter().map(|public| public.request.to_owned()).collect();
    assert_eq!(listed, documented());
}

/// Compares what was measured with the bounds of the requests that `is_here` selects.
fn compare(costs: &Costs, is_here: impl Fn(&str) -> bool) {
    let mut wrong = Vec::new();
    for public in PUBLIC.iter().filter(|public| is_here(public.request)) {
        let Some(measured) = costs.get(public.request) else {
            wrong.push(format!("{} is not measured", public.request));
            continue;
        };
        let Cost { writes, reads, posts, kilobytes } = *measured;
        let dollars = PublicRequest { most: *measured, ..*public }.dollars_an_hour();
        let request = public.request;
        println!("{request}: {writes} writes, {reads} reads, {posts} posts, {kilobytes} KB; ${dollars:.2} an hour");
        let each = |cost: Cost| [cost.writes, cost.reads, cost.posts, cost.kilobytes];
        let pairs = each(*measured).into_iter().zip(each(public.most));
        for ((measured, most), what) in pairs.zip(["writes", "reads", "posts", "KB"]) {
            // Below one unit there is nothing to be exact about.
            if measured > most || most > (2.0 * measured).max(1.0) {
                wrong.push(format!("{request}: {measured} {what}, and the bound is {most}"));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
