//! The loop of a function: it takes events from Lambda's Runtime API, and answers each.

use std::future::Future;
use std::pin::Pin;

use lambda_runtime::{Context, Diagnostic, Error, LambdaEvent, service_fn};
use serde::Serialize;
use serde_json::value::{RawValue, to_raw_value};

use crate::telemetry;

/// A future on the one thread of a function.
pub(crate) type Local<'a, T> = Pin<Box<dyn Future<Output = T> + 'a>>;

/// The answer to an event: JSON, or the invocation's error.
pub(crate) type Answer<'a> = Local<'a, Result<Box<RawValue>, Diagnostic>>;

/// Handles events until Lambda ends the process, with one flush of the metrics for each. The
/// handler gets the event's JSON and writes its own log line. Its error becomes the invocation's
/// error, with a stable type.
pub async fn run<F, Fut, R, E>(handle: F) -> Result<(), Error>
where
    F: Fn(Box<RawValue>, Context) -> Fut,
    Fut: Future<Output = Result<R, E>>,
    R: Serialize,
    E: Into<Diagnostic>,
{
    let handle = &handle;
    let answer = |LambdaEvent { payload, context, .. }: LambdaEvent<Box<RawValue>>| -> Answer<'_> {
        Box::pin(async move {
            let reply = handle(payload, context).await.map_err(Into::into)?;
            json(&reply)
        })
    };
    serve(&answer).await
}

/// Answers events with JSON, and flushes the metrics after each. The client of the Runtime API is
/// generic over the handler. With this one type of handler it is compiled once, and not again in
/// each function.
pub(crate) fn serve<'a>(answer: &'a dyn Fn(LambdaEvent<Box<RawValue>>) -> Answer<'a>) -> Local<'a, Result<(), Error>> {
    let flushed = move |event| async move {
        let answered = answer(event).await;
        telemetry::flush();
        answered
    };
    Box::pin(lambda_runtime::run(service_fn(flushed)))
}

/// A reply as JSON.
pub(crate) fn json(reply: &impl Serialize) -> Result<Box<RawValue>, Diagnostic> {
    let invalid = |error: serde_json::Error| Diagnostic {
        error_type: "invalid_reply".to_owned(),
        error_message: format!("the reply cannot be written: {error}"),
    };
    to_raw_value(reply).map_err(invalid)
}
