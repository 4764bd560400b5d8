//! Event buses, rules, topics and the settings of asynchronous invocations.

use std::collections::BTreeMap;
use std::time::Duration;

use serde_json::Value;

use crate::eventbridge::input::TargetInput;

/// The parts of a template that pass events and messages on.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Messaging {
    /// The names of the `AWS::Events::EventBus` resources; the default bus always exists.
    pub(crate) buses: Vec<String>,
    /// `AWS::Events::Rule` resources, and the rules of functions' events.
    pub(crate) rules: Vec<Rule>,
    /// The `AWS::SNS::Topic` resources.
    pub(crate) topics: Vec<Topic>,
    /// `AWS::SNS::Subscription` resources, inline subscriptions, and functions' `SNS` events.
    pub(crate) subscriptions: Vec<Subscription>,
    /// `EventInvokeConfig` and `DeadLetterQueue` by the function's logical id.
    pub(crate) event_invokes: BTreeMap<String, EventInvoke>,
}

/// A rule of an event bus with an event pattern. A rule with a schedule becomes a
/// [`Schedule`](super::Schedule) of its functions.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Rule {
    /// `Name`, resolved.
    pub(crate) name: String,
    /// The name of its bus.
    pub(crate) bus: String,
    /// `EventPattern`; checked when the template is read.
    pub(crate) pattern: Option<Value>,
    /// `ScheduleExpression`; checked when the template is read.
    pub(crate) schedule: Option<String>,
    /// `Targets`.
    pub(crate) targets: Vec<RuleTarget>,
    /// `State`.
    pub(crate) enabled: bool,
}

/// A target of a rule.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct RuleTarget {
    /// The receiver.
    pub(crate) target: Target,
    /// What the receiver gets.
    pub(crate) input: TargetInput,
    /// `SqsParameters.MessageGroupId`, for a FIFO queue.
    pub(crate) group: Option<String>,
}

/// A receiver of events or messages.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Target {
    /// The function with this logical id.
    Function(String),
    /// The queue with this ARN.
    Queue(String),
    /// The topic with this ARN.
    Topic(String),
    /// The event bus of this name.
    Bus(String),
}

/// A topic.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Topic {
    /// Its ARN.
    pub(crate) arn: String,
    /// `ContentBasedDeduplication`.
    pub(crate) content_based_deduplication: bool,
    /// `FifoThroughputScope: MessageGroup`: each group has deduplication ids of its own.
    pub(crate) deduplicates_groups: bool,
}

impl Topic {
    /// A topic that another stack owns.
    pub(crate) fn standing_in(arn: &str) -> Self {
        Self { arn: arn.to_owned(), content_based_deduplication: true, deduplicates_groups: false }
    }

    /// Whether it keeps the order of each group.
    pub(crate) fn is_fifo(&self) -> bool {
        self.arn.ends_with(".fifo")
    }
}

/// A subscription to a topic.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Subscription {
    /// The topic's ARN.
    pub(crate) topic: String,
    /// The receiver.
    pub(crate) endpoint: Endpoint,
    /// `FilterPolicy`; checked when the template is read.
    pub(crate) filter: Option<Value>,
    /// The part of a message that the filter policy applies to.
    pub(crate) scope: FilterScope,
    /// `RawMessageDelivery`: a queue gets the message without SNS's envelope.
    pub(crate) raw: bool,
}

/// The receiver of a subscription.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Endpoint {
    /// The function with this logical id.
    Function(String),
    /// The queue with this ARN.
    Queue(String),
    /// A mail address: the message is shown in the log.
    Mail(String),
}

/// `FilterPolicyScope`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) enum FilterScope {
    /// The message attributes.
    #[default]
    MessageAttributes,
    /// The message as JSON.
    MessageBody,
}

/// `EventInvokeConfig` of a function, with Lambda's defaults.
///
/// Source: <https://docs.aws.amazon.com/lambda/latest/dg/invocation-async-configuring.html>.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct EventInvoke {
    /// `MaximumRetryAttempts`, 0 to 2.
    pub(crate) retries: usize,
    /// `MaximumEventAgeInSeconds`, 60 to 21,600.
    pub(crate) age_max: Duration,
    /// `DestinationConfig.OnSuccess`.
    pub(crate) on_success: Option<Target>,
    /// `DestinationConfig.OnFailure`.
    pub(crate) on_failure: Option<Target>,
    /// `DeadLetterQueue`: a queue or a topic.
    pub(crate) dead_letters: Option<Target>,
}

impl Default for EventInvoke {
    fn default() -> Self {
        Self {
            retries: 2,
            age_max: Duration::from_secs(21_600),
            on_success: None,
            on_failure: None,
            dead_letters: None,
        }
    }
}
