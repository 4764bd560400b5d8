//! A topic: its subscriptions, and the deduplication of a FIFO topic.
//!
//! Source: <https://docs.aws.amazon.com/sns/latest/dg/fifo-message-dedup.html>.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use super::{Message, Subscribed};
use crate::queues::content_id;
use crate::random_id::random_id;
use crate::stack;

/// How long a FIFO topic drops a second message with the same deduplication id.
const DEDUPLICATION: Duration = Duration::from_secs(300);

/// A running topic.
#[derive(Debug)]
pub(super) struct Topic {
    definition: stack::Topic,
    pub(super) subscribed: Vec<Subscribed>,
    recent: Mutex<Recent>,
}

#[derive(Debug, Default)]
struct Recent {
    sequence: u64,
    /// By the scope and the id of the deduplication.
    published: BTreeMap<(String, String), (Published, Instant)>,
}

/// A published message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Published {
    pub(crate) id: String,
    /// Only in a FIFO topic.
    pub(crate) sequence: Option<String>,
}

/// Why a message is not published.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(crate) enum PublishError {
    #[error("Topic does not exist")]
    NoTopic,
    #[error("Invalid parameter: The MessageGroupId parameter is required for FIFO topics")]
    NoGroup,
    #[error(
        "Invalid parameter: The topic should either have ContentBasedDeduplication enabled or MessageDeduplicationId \
         provided explicitly"
    )]
    NoDeduplication,
    #[error(
        "Invalid parameter: MessageDeduplicationId Reason: The request includes MessageDeduplicationId parameter that \
         is not valid for this topic type"
    )]
    StandardTopic,
}

impl Topic {
    pub(super) fn new(definition: stack::Topic) -> Self {
        Self { definition, subscribed: Vec::new(), recent: Mutex::default() }
    }

    /// Gives a message its id, and in a FIFO topic its place and its deduplication id. The second
    /// value tells whether it is new; otherwise it is accepted and not delivered.
    pub(super) fn accept(&self, message: &mut Message, now: Instant) -> Result<(Published, bool), PublishError> {
        if !self.definition.is_fifo() {
            return match message.deduplication {
                Some(_) => Err(PublishError::StandardTopic),
                None => Ok((Published { id: random_id(), sequence: None }, true)),
            };
        }
        let group = message.group.clone().ok_or(PublishError::NoGroup)?;
        let by_content = || self.definition.content_based_deduplication.then(|| content_id(&message.text));
        let id = message.deduplication.clone().or_else(by_content).ok_or(PublishError::NoDeduplication)?;
        message.deduplication = Some(id.clone());
        let scope = if self.definition.deduplicates_groups { group } else { String::new() };
        let mut recent = self.recent.lock().unwrap_or_else(PoisonError::into_inner);
        recent.published.retain(|_, (_, at)| now.duration_since(*at) < DEDUPLICATION);
        let key = (scope, id);
        if let Some((before, _)) = recent.published.get(&key) {
            return Ok((before.clone(), false));
        }
        recent.sequence += 1;
        let published = Published { id: random_id(), sequence: Some(format!("{:020}", recent.sequence)) };
        recent.published.insert(key, (published.clone(), now));
        Ok((published, true))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message(text: &str, group: &str) -> Message {
        Message { text: text.to_owned(), group: Some(group.to_owned()), ..Message::default() }
    }

    #[test]
    fn fifo_topic_drops_duplicates_in_its_scope() {
        let now = Instant::now();
        for (deduplicates_groups, other_group_is_new) in [(false, false), (true, true)] {
            let arn = "arn:aws:sns:us-east-1:000000000000:t.fifo".to_owned();
            let topic = Topic::new(stack::Topic { arn, content_based_deduplication: true, deduplicates_groups });
            let accepted = |mut message: Message, now| topic.accept(&mut message, now).expect("accepted");
            let first = accepted(message("a", "g"), now);
            assert_eq!(first.0.sequence.as_deref(), Some("00000000000000000001"));
            assert_eq!(accepted(message("a", "g"), now), (first.0, false));
            assert_eq!(accepted(message("a", "h"), now).1, other_group_is_new);
            assert!(accepted(message("b", "g"), now).1 && accepted(message("a", "g"), now + DEDUPLICATION).1);
        }
    }
}
