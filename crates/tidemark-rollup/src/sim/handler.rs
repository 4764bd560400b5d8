//! What handles the batches of a history: the crate's aggregator, or somebody's own handler.

use std::rc::Rc;
use std::time::Duration;

use aws_sdk_dynamodb::Client;
use futures::FutureExt;
use futures::future::LocalBoxFuture;
use jiff::Timestamp;
use serde_json::Value;
use serde_json::value::RawValue;

use super::Factory;
use super::wire::Wire;
use crate::Layout;

/// The input of one invocation.
pub(crate) struct Invocation {
    pub(crate) event: Box<RawValue>,
    /// How long it may take. A point in time would bring the real clock into the history.
    pub(crate) time_left: Duration,
    pub(crate) now: Timestamp,
}

/// The code of a warm instance. It returns the function's reply or its error.
pub(crate) type Handler = Rc<dyn Fn(Invocation) -> LocalBoxFuture<'static, Result<Value, String>>>;

/// Starts an instance whose requests go over a wire.
pub(crate) type Starter = Rc<dyn Fn(&Wire, Layout) -> Handler>;

/// Starts instances of the crate's aggregator.
pub(crate) fn aggregators<T: 'static>(factory: Factory<T>) -> Starter {
    Rc::new(move |wire, layout| {
        let aggregator = Rc::new(factory(wire.table()).layout(layout));
        Rc::new(move |Invocation { event, time_left, now }| {
            let aggregator = Rc::clone(&aggregator);
            let handled = async move {
                let handled =
                    aggregator.handle_within(&event, time_left, now).await.map_err(|error| error.to_string())?;
                serde_json::to_value(&handled.reply).map_err(|error| error.to_string())
            };
            handled.boxed_local()
        })
    })
}

/// Starts instances of somebody's own handler.
pub(crate) fn foreign<H>(start: impl Fn(Client) -> H + 'static) -> Starter
where
    H: AsyncFn(&RawValue) -> Result<Value, String> + 'static,
{
    Rc::new(move |wire, _| {
        let handler = Rc::new(start(wire.client()));
        Rc::new(move |Invocation { event, .. }| {
            let handler = Rc::clone(&handler);
            async move { handler(&event).await }.boxed_local()
        })
    })
}
