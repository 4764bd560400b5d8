//! Starts buses and topics, and connects them with functions and queues.

use std::sync::Arc;

use axum::Router;

use crate::eventbridge::{self, Buses};
use crate::functions::Functions;
use crate::functions::event_invoke::EventInvokes;
use crate::policies::Policies;
use crate::queue_delivery::QueueDelivery;
use crate::queues::Queues;
use crate::sns::{self, Topics};
use crate::stack::Stack;

/// The running buses, and the routes of buses and topics. From now on the functions' asynchronous
/// invocations have their settings.
pub(crate) fn start(
    stack: &Stack,
    functions: &Arc<Functions>,
    queues: &Arc<Queues>,
    policies: &Arc<Policies>,
) -> (Arc<Buses>, Router) {
    let queues = Arc::new(QueueDelivery::new(queues));
    let topics = Topics::new(&stack.messaging, functions, &queues);
    let buses = Buses::new(&stack.messaging, functions, &topics, &queues);
    let by_function = stack.messaging.event_invokes.clone();
    functions.set_event_invokes(EventInvokes { by_function, destinations: Arc::downgrade(&buses) });
    let events = eventbridge::api::router(Arc::clone(&buses), Arc::clone(policies));
    (buses, events.merge(sns::api::router(topics, Arc::clone(policies))))
}
