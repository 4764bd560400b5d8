//! One queue: its messages, their visibility, and the order of a FIFO queue.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock};
use std::time::{Duration, Instant};

use jiff::Timestamp;
use serde_json::{Map, Value};
use sha2::{Digest as _, Sha256};
use tokio::sync::Notify;

use super::error::SendError;
use crate::random_id::random_id;
use crate::stack;

/// Maximum size of a message with its attributes: 1 MiB.
///
/// Source:
/// <https://docs.aws.amazon.com/AWSSimpleQueueService/latest/SQSDeveloperGuide/quotas-messages.html>.
pub(crate) const MESSAGE_BYTES_MAX: usize = 1024 * 1024;

/// Maximum number of received messages that are not deleted yet, in a standard and in a FIFO queue.
const IN_FLIGHT_MAX: usize = 120_000;
const FIFO_IN_FLIGHT_MAX: usize = 20_000;

/// Limits of this machine's memory; AWS has none.
pub(super) const STORED_MAX: usize = 200_000;
pub(super) const STORED_BYTES_MAX: usize = 256 * 1024 * 1024;

/// How long a FIFO queue refuses a second message with the same deduplication id.
const DEDUPLICATION: Duration = Duration::from_secs(300);

/// A queue with its messages.
#[derive(Debug)]
pub(super) struct Queue {
    definition: RwLock<Arc<stack::Queue>>,
    state: Mutex<State>,
    tags: Mutex<Map<String, Value>>,
    pub(super) created: Timestamp,
    /// Notified of each message that becomes visible by itself.
    pub(super) arrived: Notify,
}

#[derive(Debug, Default)]
struct State {
    /// In the order of sending.
    messages: VecDeque<Message>,
    bytes: usize,
    /// By the scope and the id of the deduplication: the message's id and sequence number, and the
    /// time of sending.
    recent: BTreeMap<(String, String), (Sent, Instant)>,
    sequence: u64,
}

/// A message before it is sent.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct NewMessage {
    pub(crate) body: String,
    /// `MessageAttributes` as SQS has them.
    pub(crate) attributes: Map<String, Value>,
    pub(crate) delay: Option<Duration>,
    pub(crate) group: Option<String>,
    pub(crate) deduplication: Option<String>,
    /// `AWSTraceHeader`.
    pub(crate) trace: Option<String>,
}

/// A message in a queue.
#[derive(Debug, Clone)]
pub(super) struct Message {
    pub(super) id: String,
    pub(super) body: String,
    pub(super) attributes: Map<String, Value>,
    pub(super) group: Option<String>,
    pub(super) deduplication: Option<String>,
    pub(super) trace: Option<String>,
    /// The ARN of the queue in which it died.
    pub(super) dead_letter_source: Option<String>,
    pub(super) sequence: u64,
    pub(super) sent_ms: i64,
    pub(super) first_received_ms: Option<i64>,
    pub(super) receive_count: u32,
    pub(super) expires: Instant,
    pub(super) visible: Instant,
    /// The handle of its last receipt, while it is in flight.
    receipt: Option<String>,
}

/// A received message with its receipt handle.
#[derive(Debug, Clone)]
pub(super) struct Received {
    pub(super) message: Message,
    pub(super) receipt: String,
}

/// The result of sending.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Sent {
    pub(super) id: String,
    pub(super) sequence: u64,
}

impl Queue {
    pub(super) fn new(definition: stack::Queue) -> Self {
        Self {
            definition: RwLock::new(Arc::new(definition)),
            state: Mutex::default(),
            tags: Mutex::default(),
            created: Timestamp::now(),
            arrived: Notify::new(),
        }
    }

    pub(super) fn definition(&self) -> Arc<stack::Queue> {
        Arc::clone(&self.definition.read().unwrap_or_else(PoisonError::into_inner))
    }

    pub(super) fn redefine(&self, definition: stack::Queue) {
        *self.definition.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(definition);
    }

    pub(super) fn tags(&self) -> MutexGuard<'_, Map<String, Value>> {
        self.tags.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds a message.
    pub(super) fn send(&self, new: NewMessage, now: Instant) -> Result<Sent, SendError> {
        let definition = self.definition();
        let size = super::sending::size(&new.body, &new.attributes);
        if size > definition.message_bytes_max {
            return Err(SendError::TooLarge(definition.message_bytes_max));
        }
        let deduplication = match (&new.deduplication, definition.fifo) {
            (_, false) => None,
            (Some(id), true) => Some(id.clone()),
            (None, true) if definition.content_based_deduplication => Some(content_id(&new.body)),
            (None, true) => return Err(SendError::NoDeduplication),
        };
        if definition.fifo && new.group.is_none() {
            return Err(SendError::NoGroup);
        }
        let mut state = self.lock();
        state.recent.retain(|_, (_, sent)| now.duration_since(*sent) < DEDUPLICATION);
        let scope = new.group.clone().filter(|_| definition.deduplicates_groups).unwrap_or_default();
        let key = deduplication.clone().map(|id| (scope, id));
        if let Some((before, _)) = key.as_ref().and_then(|key| state.recent.get(key)) {
            return Ok(before.clone());
        }
        if state.messages.len() >= STORED_MAX || state.bytes + size > STORED_BYTES_MAX {
            return Err(SendError::Full);
        }
        state.sequence += 1;
        let delay = new.delay.filter(|_| !definition.fifo).unwrap_or(definition.delay);
        let message = Message {
            id: random_id(),
            body: new.body,
            attributes: new.attributes,
            group: new.group,
            deduplication,
            trace: new.trace,
            dead_letter_source: None,
            sequence: state.sequence,
            sent_ms: Timestamp::now().as_millisecond(),
            first_received_ms: None,
            receive_count: 0,
            expires: now + definition.retention,
            visible: now + delay,
            receipt: None,
        };
        let sent = Sent { id: message.id.clone(), sequence: message.sequence };
        if let Some(key) = key {
            state.recent.insert(key, (sent.clone(), now));
        }
        state.bytes += message.body.len();
        state.messages.push_back(message);
        drop(state);
        self.arrived.notify_waiters();
        Ok(sent)
    }

    /// Takes a message from the queue with the ARN `source`, as a dead-letter queue does.
    pub(super) fn take_over(&self, mut message: Message, source: &str, now: Instant) {
        let definition = self.definition();
        message.dead_letter_source = Some(source.to_owned());
        message.visible = now;
        message.expires = now + definition.retention;
        message.receipt = None;
        let mut state = self.lock();
        if state.messages.len() >= STORED_MAX {
            tracing::error!("the dead-letter queue {} is full: the message {} is lost", definition.name, message.id);
            return;
        }
        state.bytes += message.body.len();
        state.messages.push_back(message);
        drop(state);
        self.arrived.notify_waiters();
    }

    /// Receives up to `count` visible messages. The second list has the messages that were received
    /// too often, which are no longer in the queue.
    pub(super) fn receive(
        &self,
        count: usize,
        visibility: Option<Duration>,
        now: Instant,
    ) -> (Vec<Received>, Vec<Message>) {
        let definition = self.definition();
        let visibility = visibility.unwrap_or(definition.visibility_timeout);
        let max = definition.redrive.as_ref().map(|redrive| redrive.receive_count_max);
        let mut state = self.lock();
        state.remove(|message| message.expires <= now);
        let dead =
            state.remove(|message| message.visible <= now && max.is_some_and(|max| message.receive_count >= max));
        let in_flight_max = if definition.fifo { FIFO_IN_FLIGHT_MAX } else { IN_FLIGHT_MAX };
        let in_flight = state.messages.iter().filter(|message| message.is_in_flight(now)).count();
        let count = count.min(in_flight_max.saturating_sub(in_flight));
        let blocked = self.blocked(&state, now);
        let mut received = Vec::new();
        for message in &mut state.messages {
            if received.len() >= count {
                break;
            }
            let is_blocked = message.group.as_ref().is_some_and(|group| blocked.contains(group));
            if message.visible > now || is_blocked {
                continue;
            }
            let receipt = random_id();
            message.visible = now + visibility;
            message.receive_count += 1;
            message.first_received_ms.get_or_insert_with(|| Timestamp::now().as_millisecond());
            message.receipt = Some(receipt.clone());
            received.push(Received { message: message.clone(), receipt });
        }
        (received, dead)
    }

    /// Deletes the message of a receipt. As in SQS, an old or unknown receipt is no error.
    pub(super) fn delete(&self, receipt: &str) {
        self.lock().remove(|message| message.receipt.as_deref() == Some(receipt));
        // The next message of a group may follow.
        self.arrived.notify_waiters();
    }

    /// Sets the rest of a received message's visibility time-out; false if it is not in flight.
    pub(super) fn change_visibility(&self, receipt: &str, visibility: Duration, now: Instant) -> bool {
        let mut state = self.lock();
        let found = state.messages.iter_mut().find(|message| message.receipt.as_deref() == Some(receipt));
        let Some(message) = found.filter(|message| message.visible > now) else { return false };
        message.visible = now + visibility;
        drop(state);
        self.arrived.notify_waiters();
        true
    }

    /// Deletes all messages.
    pub(super) fn purge(&self) {
        self.lock().remove(|_| true);
    }

    /// The numbers of visible, received and delayed messages.
    pub(super) fn counts(&self, now: Instant) -> (usize, usize, usize) {
        let state = self.lock();
        let visible = state.messages.iter().filter(|message| message.visible <= now).count();
        let in_flight = state.messages.iter().filter(|message| message.is_in_flight(now)).count();
        (visible, in_flight, state.messages.len() - visible - in_flight)
    }

    /// The number of messages that could be received now.
    pub(super) fn receivable(&self, now: Instant) -> usize {
        let state = self.lock();
        let blocked = self.blocked(&state, now);
        let is_free = |message: &&Message| {
            let is_blocked = message.group.as_ref().is_some_and(|group| blocked.contains(group));
            message.visible <= now && message.expires > now && !is_blocked
        };
        state.messages.iter().filter(is_free).count()
    }

    /// The groups of a FIFO queue with a message in flight. They wait for it, so that their order
    /// holds.
    fn blocked(&self, state: &State, now: Instant) -> BTreeSet<String> {
        if !self.definition().fifo {
            return BTreeSet::new();
        }
        let busy = state.messages.iter().filter(|message| message.visible > now);
        busy.filter_map(|message| message.group.clone()).collect()
    }

    /// Up to `max` messages that have not expired, in the order of sending. They are not received.
    pub(super) fn first(&self, max: usize, now: Instant) -> Vec<Message> {
        self.lock().messages.iter().filter(|message| message.expires > now).take(max).cloned().collect()
    }

    /// When the next message becomes visible, if one is waiting for it.
    pub(super) fn next_visible(&self, now: Instant) -> Option<Instant> {
        self.lock().messages.iter().map(|message| message.visible).filter(|visible| *visible > now).min()
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    /// Removes and returns the messages that match.
    fn remove(&mut self, matches: impl Fn(&Message) -> bool) -> Vec<Message> {
        if !self.messages.iter().any(&matches) {
            return Vec::new();
        }
        let (removed, kept): (VecDeque<_>, VecDeque<_>) = self.messages.drain(..).partition(|message| matches(message));
        self.messages = kept;
        self.bytes -= removed.iter().map(|message| message.body.len()).sum::<usize>();
        removed.into()
    }
}

/// The deduplication id of a message's content.
pub(crate) fn content_id(body: &str) -> String {
    Sha256::digest(body).iter().map(|byte| format!("{byte:02x}")).collect()
}

impl Message {
    pub(super) fn is_in_flight(&self, now: Instant) -> bool {
        self.receipt.is_some() && self.visible > now
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stack::Redrive;

    fn queue(fifo: bool, redrive: Option<Redrive>) -> Queue {
        let retention = Duration::from_secs(60);
        Queue::new(stack::Queue { fifo, retention, message_bytes_max: 100, redrive, ..stack::Queue::standing_in("q") })
    }

    fn send(queue: &Queue, body: &str, group: Option<&str>, now: Instant) -> Sent {
        let message = NewMessage { body: body.to_owned(), group: group.map(str::to_owned), ..NewMessage::default() };
        queue.send(message, now).unwrap()
    }

    fn bodies(queue: &Queue, now: Instant) -> Vec<String> {
        queue.receive(10, None, now).0.into_iter().map(|received| received.message.body).collect()
    }

    #[test]
    fn received_message_is_invisible_until_its_timeout_and_expires() {
        let (queue, start) = (queue(false, None), Instant::now());
        send(&queue, "a", None, start);
        let at = |seconds| start + Duration::from_secs(seconds);
        assert_eq!(bodies(&queue, at(0)), ["a"]);
        assert_eq!((bodies(&queue, at(29)), queue.counts(at(29))), (Vec::new(), (0, 1, 0)));
        assert_eq!(bodies(&queue, at(30)), ["a"]);
        assert_eq!((bodies(&queue, at(61)), queue.counts(at(61))), (Vec::new(), (0, 0, 0)));
    }

    #[test]
    fn expired_messages_hide_no_others_from_a_look() {
        let (queue, start) = (queue(false, None), Instant::now());
        send(&queue, "old", None, start);
        send(&queue, "new", None, start + Duration::from_secs(30));
        let seen = |seconds| queue.first(1, start + Duration::from_secs(seconds)).remove(0).body;
        assert_eq!((seen(30), seen(61)), ("old".to_owned(), "new".to_owned()));
    }

    #[test]
    fn only_the_last_receipt_deletes() {
        let (queue, start) = (queue(false, None), Instant::now());
        send(&queue, "a", None, start);
        let first = queue.receive(1, Some(Duration::ZERO), start).0.remove(0);
        let second = queue.receive(1, None, start).0.remove(0);
        assert_eq!(second.message.receive_count, 2);
        queue.delete(&first.receipt);
        assert_eq!(queue.counts(start), (0, 1, 0));
        queue.delete(&second.receipt);
        assert_eq!(queue.counts(start), (0, 0, 0));
    }

    #[test]
    fn a_message_that_was_received_too_often_is_dead() {
        let redrive =
            Redrive { target_arn: "arn:aws:sqs:us-east-1:000000000000:dead".to_owned(), receive_count_max: 2 };
        let (queue, start) = (queue(false, Some(redrive)), Instant::now());
        send(&queue, "a", None, start);
        for _ in 0..2 {
            assert_eq!(queue.receive(1, Some(Duration::ZERO), start).0.len(), 1);
        }
        let (received, dead) = queue.receive(1, None, start);
        assert_eq!((received.len(), dead.len(), queue.counts(start)), (0, 1, (0, 0, 0)));
    }

    #[test]
    fn fifo_queue_keeps_group_order_and_drops_duplicates() {
        let (queue, start) = (queue(true, None), Instant::now());
        let sent = send(&queue, "a", Some("g"), start);
        assert_eq!(send(&queue, "a", Some("g"), start), sent, "the same content within five minutes");
        send(&queue, "b", Some("g"), start);
        send(&queue, "c", Some("h"), start);
        let received = queue.receive(1, None, start).0.remove(0);
        assert_eq!((received.message.body.as_str(), bodies(&queue, start)), ("a", vec!["c".to_owned()]));
        queue.delete(&received.receipt);
        assert_eq!(bodies(&queue, start), ["b"]);
        let without_group = NewMessage { body: "d".to_owned(), ..NewMessage::default() };
        assert_eq!(queue.send(without_group, start), Err(SendError::NoGroup));
        let groups = stack::Queue { deduplicates_groups: true, ..(*queue.definition()).clone() };
        let by_group = Queue::new(groups);
        send(&by_group, "a", Some("g"), start);
        send(&by_group, "a", Some("g"), start);
        send(&by_group, "a", Some("h"), start);
        assert_eq!(bodies(&by_group, start), ["a", "a"]);
        let large = NewMessage { body: "x".repeat(101), ..NewMessage::default() };
        assert_eq!(queue.send(large, start), Err(SendError::TooLarge(100)));
    }
}
