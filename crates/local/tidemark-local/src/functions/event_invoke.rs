//! Asynchronous invocations: retries, the maximum age of an event, destinations, and
//! dead letters.
//!
//! Source: <https://docs.aws.amazon.com/lambda/latest/dg/invocation-async-error-handling.html>.

use std::collections::BTreeMap;
use std::sync::{Arc, Weak};
use std::time::Duration;

use bytes::Bytes;
use jiff::Timestamp;
use serde_json::{Value, json};

use super::{EVENT_RETRY_DELAYS, Invocation, InvokeError, Pool};
use crate::arn;
use crate::clock::Work;
use crate::eventbridge::Buses;
use crate::stack::EventInvoke;

/// Maximum length of the error message in a dead letter.
const ERROR_MESSAGE_CHARS_MAX: usize = 1_024;

/// The waits of a throttled event double from the first to the longest.
///
/// Source: <https://docs.aws.amazon.com/lambda/latest/dg/invocation-async-error-handling.html>.
const THROTTLE_DELAY: Duration = Duration::from_secs(1);
const THROTTLE_DELAY_MAX: Duration = Duration::from_secs(300);

/// The settings of all functions' asynchronous invocations.
#[derive(Debug)]
pub(crate) struct EventInvokes {
    /// By the function's logical id.
    pub(crate) by_function: BTreeMap<String, EventInvoke>,
    /// Sends to the destinations. The buses own the functions, so this must not own the buses.
    pub(crate) destinations: Weak<Buses>,
}

/// Why the attempts ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Condition {
    Success,
    RetriesExhausted,
    EventAgeExceeded,
    ZeroReservedConcurrency,
}

impl Condition {
    fn name(self) -> &'static str {
        match self {
            Self::Success => "Success",
            Self::RetriesExhausted => "RetriesExhausted",
            Self::EventAgeExceeded => "EventAgeExceeded",
            Self::ZeroReservedConcurrency => "ZeroReservedConcurrency",
        }
    }
}

/// The last attempt of an invocation.
struct Ended {
    condition: Condition,
    /// How often the function ran.
    attempts: usize,
    last: Result<Invocation, InvokeError>,
}

/// Invokes a function until it succeeds or its settings end the attempts, then sends the record to
/// the destination.
pub(super) async fn run(pool: Arc<Pool>, payload: Bytes, settings: Option<&EventInvokes>, work: Work) {
    let logical_id = &pool.function().logical_id;
    let own = settings.and_then(|settings| settings.by_function.get(logical_id)).cloned().unwrap_or_default();
    let Some((ended, _work)) = attempt(&pool, &payload, &own, work).await else { return };
    let success = ended.condition == Condition::Success;
    let target = if success { &own.on_success } else { &own.on_failure };
    let buses = settings.and_then(|settings| settings.destinations.upgrade());
    if !success && (target, &own.dead_letters) == (&None, &None) {
        tracing::error!("{}: an event was dropped: {}", pool.function().logical_id, ended.condition.name());
    }
    let Some(buses) = buses else { return };
    if let Some(target) = target {
        let record = record(&pool, &payload, &ended, Timestamp::now());
        buses.send_record(target, &arn::function(&pool.function().name), success, record);
    }
    if let (false, Some(target)) = (success, &own.dead_letters) {
        let body = String::from_utf8_lossy(&payload).into_owned();
        buses.send_dead_letter(target, body, dead_letter_attributes(&ended));
    }
}

/// The attributes of a dead letter: the error's message is cut after 1 KB, as on AWS.
fn dead_letter_attributes(ended: &Ended) -> BTreeMap<String, String> {
    let (id, code, message) = match &ended.last {
        Ok(Invocation { request_id, outcome: Err(error), .. }) => {
            let body: Value = serde_json::from_slice(&error.body).unwrap_or_default();
            let message = body.get("errorMessage").and_then(Value::as_str).unwrap_or_default();
            (request_id.clone(), "200", message.chars().take(ERROR_MESSAGE_CHARS_MAX).collect())
        }
        Ok(Invocation { request_id, .. }) => (request_id.clone(), "200", String::new()),
        Err(error) => (String::new(), "429", error.to_string()),
    };
    let attributes = [("RequestID", id), ("ErrorCode", code.to_owned()), ("ErrorMessage", message)];
    let filled = attributes.into_iter().filter(|(_, value)| !value.is_empty());
    filled.map(|(name, value)| (name.to_owned(), value)).collect()
}

/// `None` if no record is due: the stack is stopping, or the payload is too large.
async fn attempt(pool: &Arc<Pool>, payload: &Bytes, settings: &EventInvoke, mut work: Work) -> Option<(Ended, Work)> {
    let age_end = pool.clock().instant() + settings.age_max;
    let mut retry_delays = EVENT_RETRY_DELAYS.iter().copied().take(settings.retries);
    let (mut attempts, mut throttle_delay) = (0, THROTTLE_DELAY);
    loop {
        let last = pool.invoke(payload.clone()).await;
        attempts += usize::from(last.is_ok());
        let ended = |condition, last, work| Some((Ended { condition, attempts, last }, work));
        let delay = match &last {
            Ok(Invocation { outcome: Ok(_), .. }) => return ended(Condition::Success, last, work),
            Ok(_) => match retry_delays.next() {
                Some(delay) => delay,
                None => return ended(Condition::RetriesExhausted, last, work),
            },
            Err(InvokeError::Stopping | InvokeError::TooLarge) => return None,
            Err(InvokeError::Throttled) if pool.function().reserved_concurrency == Some(0) => {
                return ended(Condition::ZeroReservedConcurrency, last, work);
            }
            // The function did not run, so that this is no retry.
            Err(InvokeError::Throttled) => {
                let delay = throttle_delay;
                throttle_delay = (delay * 2).min(THROTTLE_DELAY_MAX);
                delay
            }
        };
        let next = pool.clock().instant() + delay;
        work = work.rest_until(next.min(age_end)).await;
        if next > age_end {
            return ended(Condition::EventAgeExceeded, last, work);
        }
    }
}

/// The record of an invocation.
///
/// Source: <https://docs.aws.amazon.com/lambda/latest/dg/invocation-async-retain-records.html>.
fn record(pool: &Pool, payload: &[u8], ended: &Ended, now: Timestamp) -> Value {
    let Ended { condition, attempts, last } = ended;
    let json = |bytes: &[u8]| serde_json::from_slice::<Value>(bytes).unwrap_or_default();
    let request_id = last.as_ref().map(|invocation| invocation.request_id.clone()).unwrap_or_default();
    let mut record = json!({
        "version": "1.0",
        "timestamp": format!("{now:.3}"),
        "requestContext": {
            "requestId": request_id,
            "functionArn": format!("{}:$LATEST", arn::function(&pool.function().name)),
            "condition": condition.name(),
            "approximateInvokeCount": attempts,
        },
        "requestPayload": json(payload),
    });
    if let Ok(Invocation { outcome, .. }) = last {
        let mut context = json!({ "statusCode": 200, "executedVersion": "$LATEST" });
        if outcome.is_err() {
            context["functionError"] = json!("Unhandled");
        }
        record["responseContext"] = context;
        record["responsePayload"] = match outcome {
            Ok(body) => json(body),
            Err(failure) => json(&failure.body),
        };
    }
    record
}
