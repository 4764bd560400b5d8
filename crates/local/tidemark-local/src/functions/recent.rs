//! The newest invocations of a function with their events, answers and logs, for the page and for
//! tests.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use bytes::Bytes;
use jiff::Timestamp;
use serde_json::{Value, json};

use super::invocation::FunctionError;
use super::log_tail::{self, LogTail};
use super::usage::Usage;

/// Maximum number of invocations that are kept of a function.
const KEPT_MAX: usize = 50;

/// Maximum size of their events and answers together.
const KEPT_BYTES_MAX: usize = 2 * 1024 * 1024;

/// The part of an event or answer that is kept.
const TEXT_BYTES_MAX: usize = 256 * 1024;

/// The newest invocations of a function.
#[derive(Debug, Default)]
pub(crate) struct RecentInvocations(Mutex<Kept>);

#[derive(Debug, Default)]
struct Kept {
    /// The newest last.
    invocations: VecDeque<Recorded>,
    bytes: usize,
    changes: u64,
}

/// An invocation; without an end it is running.
#[derive(Debug, Clone)]
struct Recorded {
    request_id: String,
    started_at: Timestamp,
    event: Text,
    trigger: Arc<OnceLock<String>>,
    log: Option<Arc<LogTail>>,
    end: Option<End>,
}

#[derive(Debug, Clone)]
struct End {
    /// `None` if the parts of the answer went to the caller.
    answer: Option<Text>,
    error: Option<String>,
    /// Duration, init phase and billed duration, milliseconds.
    times: Option<(f64, Option<f64>, u128)>,
    memory_mib: Option<u64>,
}

/// The beginning of a text, with the length of the whole.
#[derive(Debug, Clone)]
struct Text {
    kept: Bytes,
    bytes: usize,
}

impl Text {
    fn new(whole: &Bytes) -> Self {
        // A part of the whole would keep all of it in memory.
        let is_short = whole.len() <= TEXT_BYTES_MAX;
        let kept = if is_short { whole.clone() } else { Bytes::copy_from_slice(&whole[..TEXT_BYTES_MAX]) };
        Self { kept, bytes: whole.len() }
    }

    fn is_cut(&self) -> bool {
        self.kept.len() < self.bytes
    }
}

impl RecentInvocations {
    /// Keeps an invocation that begins, and removes the oldest ones above the limits.
    pub(super) fn begin(&self, request_id: &str, event: &Bytes) {
        let text = Text::new(event);
        let trigger = Arc::<OnceLock<String>>::default();
        if text.is_cut() {
            // A part of the event is no JSON any more.
            trigger.get_or_init(|| trigger_of(event));
        }
        let (request_id, started_at) = (request_id.to_owned(), Timestamp::now());
        let mut kept = self.lock();
        kept.bytes += text.kept.len();
        kept.invocations.push_back(Recorded { request_id, started_at, event: text, trigger, log: None, end: None });
        kept.settle();
    }

    /// Notes where the lines of a running invocation go.
    pub(super) fn set_log(&self, request_id: &str, log: &Arc<LogTail>) {
        self.change(request_id, |recorded| recorded.log = Some(Arc::clone(log)));
    }

    /// Notes how an invocation ended.
    pub(super) fn end(
        &self,
        request_id: &str,
        outcome: &Result<Bytes, FunctionError>,
        is_streamed: bool,
        usage: Option<&Usage>,
    ) {
        let (body, error) = match outcome {
            Ok(body) => (Some(body).filter(|_| !is_streamed), None),
            Err(error) => (Some(&error.body), Some(error.message())),
        };
        let ms = |duration: std::time::Duration| duration.as_secs_f64() * 1e3;
        let times = usage.map(|usage| (ms(usage.duration), usage.init.map(ms), usage.billed_ms()));
        let answer = body.map(Text::new);
        self.change(request_id, |recorded| recorded.end = Some(End { answer, error, times, memory_mib: None }));
    }

    /// Notes the peak memory of an invocation's instance, which is read after the answer.
    pub(super) fn set_memory(&self, request_id: &str, memory_mib: Option<u64>) {
        self.change(request_id, |recorded| recorded.end.iter_mut().for_each(|end| end.memory_mib = memory_mib));
    }

    /// How often something changed.
    pub(super) fn changes(&self) -> u64 {
        self.lock().changes
    }

    /// The limits, for people.
    pub(crate) fn limits() -> Value {
        json!({
            "invocations": KEPT_MAX,
            "bytes": KEPT_BYTES_MAX,
            "textBytes": TEXT_BYTES_MAX,
            "logBytes": log_tail::KEPT_BYTES_MAX,
        })
    }

    /// All kept invocations without their texts, the newest first, each with its start.
    pub(crate) fn newest_first(&self) -> Vec<(Timestamp, Value)> {
        self.all().iter().rev().map(|recorded| (recorded.started_at, recorded.summary())).collect()
    }

    /// One invocation with its texts.
    pub(crate) fn get(&self, request_id: &str) -> Option<Value> {
        self.all().iter().find(|recorded| recorded.request_id == request_id).map(Recorded::whole)
    }

    /// All kept invocations with their texts, the oldest first.
    pub(crate) fn whole(&self) -> Vec<Value> {
        self.all().iter().map(Recorded::whole).collect()
    }

    /// Copies of all; the texts are shared. A slow reader must not hold up a function.
    fn all(&self) -> Vec<Recorded> {
        self.lock().invocations.iter().cloned().collect()
    }

    fn change(&self, request_id: &str, change: impl FnOnce(&mut Recorded)) {
        let mut kept = self.lock();
        if let Some(recorded) = kept.invocations.iter_mut().rev().find(|recorded| recorded.request_id == request_id) {
            let before = recorded.bytes();
            change(recorded);
            let after = recorded.bytes();
            kept.bytes = kept.bytes + after - before;
            kept.settle();
        }
    }

    fn lock(&self) -> MutexGuard<'_, Kept> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Kept {
    /// Counts a change, and removes the oldest invocations above the limits.
    fn settle(&mut self) {
        self.changes += 1;
        while self.invocations.len() > KEPT_MAX || self.bytes > KEPT_BYTES_MAX {
            let Some(oldest) = self.invocations.pop_front() else { break };
            self.bytes -= oldest.bytes();
        }
    }
}

impl Recorded {
    fn bytes(&self) -> usize {
        let answer = self.end.as_ref().and_then(|end| end.answer.as_ref());
        self.event.kept.len() + answer.map_or(0, |answer| answer.kept.len())
    }

    fn trigger(&self) -> &str {
        self.trigger.get_or_init(|| trigger_of(&self.event.kept))
    }

    fn summary(&self) -> Value {
        let end = self.end.as_ref();
        let times = end.and_then(|end| end.times);
        let error = end.and_then(|end| end.error.as_deref());
        json!({
            "requestId": self.request_id,
            "startedAt": self.started_at,
            "trigger": self.trigger(),
            "status": if end.is_none() { "running" } else if error.is_some() { "failed" } else { "ok" },
            "error": error,
            "durationMs": times.map(|(duration, ..)| duration),
            "initMs": times.and_then(|(_, init, _)| init),
            "billedMs": times.map(|(.., billed)| billed),
            "memoryMib": end.and_then(|end| end.memory_mib),
        })
    }

    fn whole(&self) -> Value {
        let mut whole = self.summary();
        let text = |text: &Text| String::from_utf8_lossy(&text.kept).into_owned();
        let answer = self.end.as_ref().and_then(|end| end.answer.as_ref());
        whole["event"] = text(&self.event).into();
        whole["eventIsCut"] = self.event.is_cut().into();
        whole["eventBytes"] = self.event.bytes.into();
        whole["answer"] = answer.map(text).into();
        whole["answerIsCut"] = answer.is_some_and(Text::is_cut).into();
        whole["answerBytes"] = answer.map(|answer| answer.bytes).into();
        whole["log"] = self.log.as_ref().map(|log| log.last(usize::MAX)).unwrap_or_default().into();
        whole
    }
}

/// What an event tells about its sender: `POST /things`, `queue work`.
fn trigger_of(event: &[u8]) -> String {
    let event: Value = serde_json::from_slice(event).unwrap_or_default();
    let text = |path: &str| event.pointer(path).and_then(Value::as_str);
    let name = |path: &str| text(path).unwrap_or_default().rsplit([':', '/']).next().unwrap_or_default().to_owned();
    let count = event.pointer("/Records").and_then(Value::as_array).map_or(0, Vec::len);
    let of_records = |what: &str| if count == 1 { what.to_owned() } else { format!("{what}, {count} records") };
    match text("/Records/0/eventSource").or_else(|| text("/Records/0/EventSource")) {
        Some("aws:sqs") => return of_records(&format!("queue {}", name("/Records/0/eventSourceARN"))),
        Some("aws:kinesis") => return of_records(&format!("Kinesis {}", name("/Records/0/eventSourceARN"))),
        Some("aws:dynamodb") => {
            let arn = text("/Records/0/eventSourceARN").unwrap_or_default();
            return of_records(&format!("stream of {}", arn.split('/').nth(1).unwrap_or_default()));
        }
        Some("aws:sns") => return format!("topic {}", name("/Records/0/Sns/TopicArn")),
        Some("aws:s3") => return format!("bucket {}", name("/Records/0/s3/bucket/name")),
        _ => {}
    }
    if matches!(text("/type"), Some("TOKEN" | "REQUEST")) {
        return "authorizer".to_owned();
    }
    let pair = |first: &str, second: &str| Some(format!("{} {}", text(first)?, text(second)?));
    let socket =
        || Some(format!("WebSocket {}", text("/requestContext/eventType").and(text("/requestContext/routeKey"))?));
    let bus = || match text("/detail-type")? {
        "Scheduled Event" => Some(format!("schedule {}", name("/resources/0"))),
        kind => Some(format!("event {kind}")),
    };
    let found = pair("/requestContext/http/method", "/rawPath").or_else(|| pair("/httpMethod", "/path"));
    let window = || event.get("isFinalInvokeForWindow").map(|_| "end of a window".to_owned());
    found.or_else(socket).or_else(bus).or_else(window).unwrap_or_else(|| "invoke".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record(recent: &RecentInvocations, id: &str, event: &Bytes, answer: &Bytes) {
        recent.begin(id, event);
        recent.end(id, &Ok(answer.clone()), false, None);
    }

    #[test]
    fn only_the_newest_invocations_are_kept_within_all_limits() {
        let recent = RecentInvocations::default();
        for n in 0..=KEPT_MAX {
            record(&recent, &n.to_string(), &Bytes::from_static(b"{}"), &Bytes::from_static(b"1"));
        }
        assert_eq!((recent.whole().len(), &recent.whole()[0]["requestId"]), (KEPT_MAX, &"1".into()));
        let large = Bytes::from(format!("\"{}\"", "x".repeat(TEXT_BYTES_MAX)));
        for n in 0..10 {
            record(&recent, &format!("large {n}"), &large, &large);
        }
        let kept = recent.whole();
        assert_eq!(kept.len(), KEPT_BYTES_MAX / TEXT_BYTES_MAX / 2);
        assert_eq!(recent.lock().bytes, KEPT_BYTES_MAX);
        for text in ["event", "answer"] {
            let bytes = kept[0][text].as_str().map(str::len);
            assert_eq!((bytes, &kept[0][format!("{text}Bytes")]), (Some(TEXT_BYTES_MAX), &large.len().into()));
        }
    }

    #[test]
    fn end_of_a_forgotten_invocation_changes_no_other() {
        let recent = RecentInvocations::default();
        recent.begin("slow", &Bytes::from_static(b"{}"));
        for n in 0..KEPT_MAX {
            record(&recent, &n.to_string(), &Bytes::from_static(b"{}"), &Bytes::from_static(b"1"));
        }
        let before = (recent.whole(), recent.lock().bytes);
        recent.end("slow", &Ok(Bytes::from_static(b"late")), false, None);
        assert_eq!((recent.whole(), recent.lock().bytes), before);
    }

    #[test]
    fn the_trigger_is_read_from_the_event() {
        let of = |event: Value| trigger_of(event.to_string().as_bytes());
        let record = |source: &str, arn: &str| json!({ "eventSource": source, "eventSourceARN": arn });
        let sqs = record("aws:sqs", "arn:aws:sqs:us-east-1:1:work");
        assert_eq!(of(json!({ "Records": [sqs.clone(), sqs] })), "queue work, 2 records");
        let stream = record("aws:dynamodb", "arn:aws:dynamodb:us-east-1:1:table/things/stream/2026");
        assert_eq!(of(json!({ "Records": [stream] })), "stream of things");
        let http = json!({ "http": { "method": "GET" }, "routeKey": "$default" });
        assert_eq!(of(json!({ "rawPath": "/a", "requestContext": http })), "GET /a");
        assert_eq!(of(json!({ "httpMethod": "PUT", "path": "/b" })), "PUT /b");
        assert_eq!(of(json!({ "type": "REQUEST", "httpMethod": "PUT", "path": "/b" })), "authorizer");
        let socket = json!({ "eventType": "CONNECT", "routeKey": "$connect" });
        assert_eq!(of(json!({ "requestContext": socket })), "WebSocket $connect");
        let due = json!({ "detail-type": "Scheduled Event", "resources": ["arn:aws:events:x:1:rule/nightly"] });
        assert_eq!(of(due), "schedule nightly");
        assert_eq!(of(json!({ "detail-type": "OrderPaid" })), "event OrderPaid");
        assert_eq!(of(json!({ "isFinalInvokeForWindow": true, "Records": [] })), "end of a window");
        for other in [json!({ "Records": ["a"] }), json!([1]), json!("x"), json!({ "requestContext": [] })] {
            assert_eq!(of(other), "invoke");
        }
        assert_eq!(trigger_of(b"no JSON"), "invoke");
    }
}
