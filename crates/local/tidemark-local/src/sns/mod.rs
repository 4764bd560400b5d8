//! Topics: `Publish`, and the delivery of messages to functions and queues.
//!
//! Source: <https://docs.aws.amazon.com/sns/latest/dg/welcome.html>. A message is delivered
//! asynchronously: to a function with Lambda's retries for asynchronous invocations. A message for
//! a mail address is shown in the log.

pub(crate) mod api;
mod attributes;
mod request;
mod topic;

use std::collections::BTreeMap;
use std::sync::Arc;

use bytes::Bytes;
use jiff::Timestamp;
use serde_json::{Value, json};

pub(crate) use self::attributes::Attribute;
use self::topic::Topic;
pub(crate) use self::topic::{PublishError, Published};
use crate::arn;
use crate::event_source_mapping::filter::Filters;
use crate::functions::Functions;
use crate::queue_delivery::QueueDelivery;
use crate::queues::NewMessage;
use crate::random_id::random_id;
use crate::stack::{self, Endpoint, FilterScope, Messaging, Subscription};

/// All topics of a stack.
#[derive(Debug)]
pub(crate) struct Topics {
    by_arn: BTreeMap<String, Topic>,
    functions: Arc<Functions>,
    queues: Arc<QueueDelivery>,
}

/// A subscription with its compiled filter policy.
#[derive(Debug)]
struct Subscribed {
    arn: String,
    subscription: Subscription,
    filters: Filters,
}

/// A message to publish.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Message {
    /// `Message`.
    pub(crate) text: String,
    /// `Subject`.
    pub(crate) subject: Option<String>,
    /// `MessageAttributes`.
    pub(crate) attributes: BTreeMap<String, Attribute>,
    /// With `MessageStructure: json`, the texts of protocols that have an own one.
    pub(crate) texts: BTreeMap<String, String>,
    /// `MessageGroupId`.
    pub(crate) group: Option<String>,
    /// `MessageDeduplicationId`.
    pub(crate) deduplication: Option<String>,
}

impl Topics {
    /// The topics of a template. A topic that only a subscription names exists too.
    pub(crate) fn new(messaging: &Messaging, functions: &Arc<Functions>, queues: &Arc<QueueDelivery>) -> Arc<Self> {
        let topic = |topic: &stack::Topic| (topic.arn.clone(), Topic::new(topic.clone()));
        let mut by_arn: BTreeMap<String, Topic> = messaging.topics.iter().map(topic).collect();
        for subscription in &messaging.subscriptions {
            // The template reader has compiled the policy before, so this cannot fail.
            if let Ok(filters) = Filters::compile(subscription.filter.as_slice()) {
                let arn = format!("{}:{}", subscription.topic, random_id());
                let subscribed = Subscribed { arn, subscription: subscription.clone(), filters };
                let topic = by_arn.entry(subscription.topic.clone());
                let topic = topic.or_insert_with(|| Topic::new(stack::Topic::standing_in(&subscription.topic)));
                topic.subscribed.push(subscribed);
            }
        }
        Arc::new(Self { by_arn, functions: Arc::clone(functions), queues: Arc::clone(queues) })
    }

    /// The topics' ARNs.
    pub(crate) fn arns(&self) -> impl Iterator<Item = &str> {
        self.by_arn.keys().map(String::as_str)
    }

    /// Publishes a message.
    pub(crate) fn publish(&self, topic: &str, mut message: Message) -> Result<Published, PublishError> {
        let topic = self.by_arn.get(topic).ok_or(PublishError::NoTopic)?;
        let (published, is_new) = topic.accept(&mut message, self.functions.clock().instant())?;
        for subscribed in topic.subscribed.iter().filter(|subscribed| is_new && subscribed.wants(&message)) {
            self.deliver(subscribed, &published, &message);
        }
        Ok(published)
    }

    /// Publishes a message of another service. The log shows a message that is refused.
    pub(crate) fn pass_on(&self, topic: &str, message: Message) {
        if let Err(error) = self.publish(topic, message) {
            tracing::error!("a message to {topic} is lost: {error}");
        }
    }

    fn deliver(&self, subscribed: &Subscribed, published: &Published, message: &Message) {
        let text = message.text_for(&subscribed.subscription.endpoint);
        let notification = Notification { subscribed, published, message, text, time: Timestamp::now() };
        match &subscribed.subscription.endpoint {
            Endpoint::Function(function) => match self.functions.get(function) {
                Some(pool) => {
                    self.functions.invoke_event(pool, Bytes::from(notification.for_function().to_string()));
                }
                None => tracing::warn!("a message for the function {function} was dropped: there is none"),
            },
            Endpoint::Queue(queue) => self.queues.send(queue, notification.for_queue()),
            Endpoint::Mail(address) => {
                let subject = message.subject.as_deref().unwrap_or("AWS Notification Message");
                tracing::info!("mail of {} to {address}: {subject}\n{text}", subscribed.subscription.topic);
            }
        }
    }
}

impl Subscribed {
    /// Whether the filter policy accepts the message.
    fn wants(&self, message: &Message) -> bool {
        if self.subscription.filter.is_none() {
            return true;
        }
        match self.subscription.scope {
            FilterScope::MessageAttributes => self.filters.pass(&attributes::for_filter(&message.attributes)),
            FilterScope::MessageBody => {
                let body = serde_json::from_str::<Value>(&message.text).ok().filter(Value::is_object);
                body.is_some_and(|body| self.filters.pass(&body))
            }
        }
    }
}

impl Message {
    fn text_for(&self, endpoint: &Endpoint) -> &str {
        let protocol = match endpoint {
            Endpoint::Function(_) => "lambda",
            Endpoint::Queue(_) => "sqs",
            Endpoint::Mail(_) => "email",
        };
        self.texts.get(protocol).unwrap_or(&self.text)
    }
}

/// A message for one subscription.
struct Notification<'a> {
    subscribed: &'a Subscribed,
    published: &'a Published,
    message: &'a Message,
    text: &'a str,
    time: Timestamp,
}

impl Notification<'_> {
    /// The event of a function.
    ///
    /// Source: <https://docs.aws.amazon.com/lambda/latest/dg/with-sns.html>.
    fn for_function(&self) -> Value {
        let mut sns = self.fields("SigningCertUrl", "UnsubscribeUrl");
        sns["Subject"] = json!(self.message.subject);
        sns["MessageAttributes"] = attributes::for_event(&self.message.attributes);
        json!({ "Records": [{
            "EventSource": "aws:sns",
            "EventVersion": "1.0",
            "EventSubscriptionArn": self.subscribed.arn,
            "Sns": sns,
        }] })
    }

    /// The message of a queue.
    ///
    /// Source: <https://docs.aws.amazon.com/sns/latest/dg/sns-message-and-json-formats.html>.
    fn for_queue(&self) -> NewMessage {
        let Message { group, deduplication, .. } = self.message.clone();
        let message = NewMessage { group, deduplication, ..NewMessage::default() };
        if self.subscribed.subscription.raw {
            let attributes = attributes::for_queue(&self.message.attributes);
            return NewMessage { body: self.text.to_owned(), attributes, ..message };
        }
        let mut body = self.fields("SigningCertURL", "UnsubscribeURL");
        if let Some(sequence) = &self.published.sequence {
            body["SequenceNumber"] = json!(sequence);
        }
        if let Some(subject) = &self.message.subject {
            body["Subject"] = json!(subject);
        }
        if !self.message.attributes.is_empty() {
            body["MessageAttributes"] = attributes::for_event(&self.message.attributes);
        }
        NewMessage { body: body.to_string(), ..message }
    }

    /// The fields of both forms. The signature is a placeholder: nothing signs messages here.
    fn fields(&self, certificate: &str, unsubscribe: &str) -> Value {
        let host = format!("https://sns.{}.amazonaws.com", arn::region());
        json!({
            "Type": "Notification",
            "MessageId": self.published.id,
            "TopicArn": self.subscribed.subscription.topic,
            "Message": self.text,
            "Timestamp": format!("{:.3}", self.time),
            "SignatureVersion": "1",
            "Signature": "local",
            certificate: format!("{host}/SimpleNotificationService-local.pem"),
            unsubscribe: format!("{host}/?Action=Unsubscribe"),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const QUEUE: &str = "arn:aws:sqs:us-east-1:000000000000:q";

    fn sent(raw: bool, message: &Message) -> NewMessage {
        let endpoint = Endpoint::Queue(QUEUE.to_owned());
        let (topic, scope) = ("arn:topic".to_owned(), FilterScope::MessageBody);
        let subscription = Subscription { topic, endpoint, filter: None, scope, raw };
        let subscribed = Subscribed { arn: "arn:topic:1".to_owned(), subscription, filters: Filters::default() };
        let text = message.text_for(&subscribed.subscription.endpoint);
        let published = &Published { id: "id".to_owned(), sequence: None };
        Notification { subscribed: &subscribed, published, message, text, time: Timestamp::UNIX_EPOCH }.for_queue()
    }

    fn message() -> Message {
        let attribute = Attribute { data_type: "Number".to_owned(), value: "7".to_owned() };
        let texts = BTreeMap::from([("sqs".to_owned(), "for queues".to_owned())]);
        let attributes = BTreeMap::from([("a".to_owned(), attribute)]);
        Message { text: "for all".to_owned(), subject: Some("s".to_owned()), attributes, texts, ..Message::default() }
    }

    #[test]
    fn queue_gets_the_sns_envelope_or_the_raw_message() {
        let body: Value = serde_json::from_str(&sent(false, &message()).body).unwrap_or_default();
        assert_eq!(body["Message"], "for queues");
        assert_eq!((&body["Subject"], &body["Timestamp"]), (&json!("s"), &json!("1970-01-01T00:00:00.000Z")));
        assert_eq!(body["MessageAttributes"], json!({ "a": { "Type": "Number", "Value": "7" } }));
        let raw = sent(true, &message());
        let number = json!({ "a": { "DataType": "Number", "StringValue": "7" } });
        assert_eq!((raw.body.as_str(), Value::Object(raw.attributes)), ("for queues", number));
        let plain = Message { text: "m".to_owned(), ..Message::default() };
        let body: Value = serde_json::from_str(&sent(false, &plain).body).unwrap_or_default();
        assert!(body.get("Subject").is_none() && body.get("MessageAttributes").is_none(), "{body}");
    }

    #[test]
    fn body_filter_refuses_a_message_without_a_json_object() {
        let policy = json!({ "kind": ["hot"] });
        let filters = Filters::compile(std::slice::from_ref(&policy)).unwrap_or_default();
        let endpoint = Endpoint::Queue(QUEUE.to_owned());
        let (topic, scope) = ("arn:topic".to_owned(), FilterScope::MessageBody);
        let subscription = Subscription { topic, endpoint, filter: Some(policy), scope, raw: false };
        let subscribed = Subscribed { arn: String::new(), subscription, filters };
        let wants = |text: &str| subscribed.wants(&Message { text: text.to_owned(), ..Message::default() });
        assert!(wants(r#"{"kind":"hot"}"#));
        assert!(!wants(r#"{"kind":"cold"}"#) && !wants("hot") && !wants("[]"));
    }
}
