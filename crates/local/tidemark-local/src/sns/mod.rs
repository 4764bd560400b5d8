//! Topics: `Publish`, and the delivery of messages to functions and queues.
//!
//! Source: <https://docs.aws.amazon.com/sns/latest/dg/welcome.html>. A message is delivered
//! asynchronously: to a function with Lambda's retries for asynchronous invocations. A message for
//! a mail address is shown in the log.

pub(crate) mod api;
mod attributes;
mod request;

use std::collections::BTreeMap;
use std::sync::Arc;

use bytes::Bytes;
use jiff::Timestamp;
use serde_json::{Value, json};

pub(crate) use self::attributes::Attribute;
use crate::event_source_mapping::filter::Filters;
use crate::functions::Functions;
use crate::queue_delivery::{QueueDelivery, QueueMessage};
use crate::random_id::random_id;
use crate::stack::{Endpoint, FilterScope, Messaging, Subscription};

/// All topics of a stack.
#[derive(Debug)]
pub(crate) struct Topics {
    by_arn: BTreeMap<String, Vec<Subscribed>>,
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
}

impl Topics {
    /// The topics of a template. A topic that only a subscription names exists too.
    #[must_use]
    pub(crate) fn new(messaging: &Messaging, functions: &Arc<Functions>, queues: &Arc<QueueDelivery>) -> Arc<Self> {
        let mut by_arn: BTreeMap<String, Vec<Subscribed>> = BTreeMap::new();
        for topic in &messaging.topics {
            by_arn.entry(topic.clone()).or_default();
        }
        for subscription in &messaging.subscriptions {
            // The template reader has compiled the policy before, so this cannot fail.
            if let Ok(filters) = Filters::compile(subscription.filter.as_slice()) {
                let arn = format!("{}:{}", subscription.topic, random_id());
                let subscribed = Subscribed { arn, subscription: subscription.clone(), filters };
                by_arn.entry(subscription.topic.clone()).or_default().push(subscribed);
            }
        }
        Arc::new(Self { by_arn, functions: Arc::clone(functions), queues: Arc::clone(queues) })
    }

    /// The topics' ARNs.
    pub(crate) fn arns(&self) -> impl Iterator<Item = &str> {
        self.by_arn.keys().map(String::as_str)
    }

    /// Publishes a message and returns its id; `None` if there is no such topic.
    pub(crate) fn publish(&self, topic: &str, message: Message) -> Option<String> {
        let subscribed = self.by_arn.get(topic)?;
        let id = random_id();
        for subscribed in subscribed.iter().filter(|subscribed| subscribed.wants(&message)) {
            self.deliver(subscribed, &id, &message);
        }
        Some(id)
    }

    fn deliver(&self, subscribed: &Subscribed, id: &str, message: &Message) {
        let text = message.text_for(&subscribed.subscription.endpoint);
        let notification = Notification { subscribed, id, message, text, time: Timestamp::now() };
        match &subscribed.subscription.endpoint {
            Endpoint::Function(function) => match self.functions.get(function) {
                Some(pool) => {
                    self.functions.invoke_event(pool, Bytes::from(notification.for_function().to_string()));
                }
                None => tracing::warn!("a message for the function {function} was dropped: there is none"),
            },
            Endpoint::Queue(queue) => self.queues.send(queue, &notification.for_queue()),
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
    id: &'a str,
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
    fn for_queue(&self) -> QueueMessage {
        if self.subscribed.subscription.raw {
            let attributes = self.message.attributes.iter();
            let attributes = attributes.map(|(name, attribute)| (name.clone(), attribute.value.clone())).collect();
            return QueueMessage { body: self.text.to_owned(), attributes };
        }
        let mut body = self.fields("SigningCertURL", "UnsubscribeURL");
        if let Some(subject) = &self.message.subject {
            body["Subject"] = json!(subject);
        }
        if !self.message.attributes.is_empty() {
            body["MessageAttributes"] = attributes::for_event(&self.message.attributes);
        }
        QueueMessage::of(body.to_string())
    }

    /// The fields of both forms. The signature is a placeholder: nothing signs messages here.
    fn fields(&self, certificate: &str, unsubscribe: &str) -> Value {
        json!({
            "Type": "Notification",
            "MessageId": self.id,
            "TopicArn": self.subscribed.subscription.topic,
            "Message": self.text,
            "Timestamp": format!("{:.3}", self.time),
            "SignatureVersion": "1",
            "Signature": "local",
            certificate: "https://sns.us-east-1.amazonaws.com/SimpleNotificationService-local.pem",
            unsubscribe: "https://sns.us-east-1.amazonaws.com/?Action=Unsubscribe",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const QUEUE: &str = "arn:aws:sqs:us-east-1:000000000000:q";

    fn sent(raw: bool, message: &Message) -> QueueMessage {
        let endpoint = Endpoint::Queue(QUEUE.to_owned());
        let (topic, scope) = ("arn:topic".to_owned(), FilterScope::MessageBody);
        let subscription = Subscription { topic, endpoint, filter: None, scope, raw };
        let subscribed = Subscribed { arn: "arn:topic:1".to_owned(), subscription, filters: Filters::default() };
        let text = message.text_for(&subscribed.subscription.endpoint);
        Notification { subscribed: &subscribed, id: "id", message, text, time: Timestamp::UNIX_EPOCH }.for_queue()
    }

    fn message() -> Message {
        let attribute = Attribute { data_type: "String".to_owned(), value: "v".to_owned() };
        let texts = BTreeMap::from([("sqs".to_owned(), "for queues".to_owned())]);
        let attributes = BTreeMap::from([("a".to_owned(), attribute)]);
        Message { text: "for all".to_owned(), subject: Some("s".to_owned()), attributes, texts }
    }

    #[test]
    fn queue_gets_the_sns_envelope_or_the_raw_message() {
        let body: Value = serde_json::from_str(&sent(false, &message()).body).unwrap_or_default();
        assert_eq!(body["Message"], "for queues");
        assert_eq!((&body["Subject"], &body["Timestamp"]), (&json!("s"), &json!("1970-01-01T00:00:00.000Z")));
        assert_eq!(body["MessageAttributes"], json!({ "a": { "Type": "String", "Value": "v" } }));
        let attributes = BTreeMap::from([("a".to_owned(), "v".to_owned())]);
        assert_eq!(sent(true, &message()), QueueMessage { body: "for queues".to_owned(), attributes });
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
