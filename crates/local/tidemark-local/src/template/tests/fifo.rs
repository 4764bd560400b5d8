//! Tests of FIFO queues and topics, and of what Lambda asks of a queue.

use super::{function, ignored, problem, stack};

fn template(events: &str, more: &str) -> String {
    let resources = "
  Topic: { Type: AWS::SNS::Topic, Properties: { FifoTopic: true, FifoThroughputScope: MessageGroup } }
  Plain: { Type: AWS::SNS::Topic }
  Queue:
    Type: AWS::SQS::Queue
    Properties: { FifoQueue: true, DeduplicationScope: messageGroup, FifoThroughputLimit: perMessageGroupId }
";
    format!("{}{resources}{more}", function(events))
}

fn refused(events: &str, more: &str) -> String {
    problem(&format!("Resources:\n{}", template(events, more))).1
}

#[test]
fn fifo_topic_and_queue_have_their_settings() {
    let stack = stack(&template("{}", ""));
    let topic = &stack.messaging.topics[0];
    assert_eq!((topic.arn.rsplit(':').next(), topic.deduplicates_groups), (Some("tidemark-local-Topic.fifo"), true));
    assert!(stack.queues[0].deduplicates_groups && stack.queues[0].limits_groups);
    let ignored = ignored(&format!("Resources:\n{}", template("{}", "")));
    assert!(ignored.len() == 1 && ignored[0].contains("FifoThroughputLimit has no effect"), "{ignored:?}");
}

#[test]
fn settings_that_aws_refuses_for_fifo_are_problems() {
    let subscription = |topic: &str, protocol: &str, endpoint: &str| {
        let properties = format!("TopicArn: !Ref {topic}, Protocol: {protocol}, Endpoint: !GetAtt {endpoint}.Arn");
        refused("{}", &format!("  Sub: {{ Type: AWS::SNS::Subscription, Properties: {{ {properties} }} }}\n"))
    };
    let queue = |properties: &str| {
        refused(
            "{}",
            &format!("  Other: {{ Type: AWS::SQS::Queue, Properties: {{ FifoQueue: true, {properties} }} }}\n"),
        )
    };
    let mapping = |more: &str| {
        refused(&format!("{{ Work: {{ Type: SQS, Properties: {{ Queue: !GetAtt Queue.Arn, {more} }} }} }}"), "")
    };
    for (problem, expected) in [
        (subscription("Plain", "sqs", "Queue"), "FIFO SQS Queues can not be subscribed to standard SNS topics"),
        (subscription("Topic", "lambda", "Worker"), "a FIFO topic delivers to queues only"),
        (
            refused("{}", "  T: { Type: AWS::SNS::Topic, Properties: { TopicName: t, FifoTopic: true } }\n"),
            "ends with .fifo",
        ),
        (queue("FifoThroughputLimit: perMessageGroupId"), "only when the value for DeduplicationScope is messageGroup"),
        (queue("DeduplicationScope: group"), "DeduplicationScope must be queue or messageGroup, not group"),
        (mapping("MaximumBatchingWindowInSeconds: 1"), "a FIFO queue has no batching window"),
    ] {
        assert!(problem.contains(expected), "{problem}");
    }
}

#[test]
fn queue_visibility_below_the_functions_timeout_is_refused() {
    let with = |visibility_s: u32| {
        let queue =
            format!("  Work: {{ Type: AWS::SQS::Queue, Properties: {{ VisibilityTimeout: {visibility_s} }} }}\n");
        let event = "{ Work: { Type: SQS, Properties: { Queue: !GetAtt Work.Arn } } }";
        (event, queue)
    };
    let (event, queue) = with(2);
    let expected = "Queue visibility timeout: 2 seconds is less than Function timeout: 3 seconds";
    assert_eq!(refused(event, &queue), expected);
    let (event, queue) = with(3);
    stack(&template(event, &queue));
}

#[test]
fn nested_filter_policy_needs_the_scope_of_the_body() {
    let event = |more: &str| {
        let topic = "Topic: 'arn:aws:sns:us-east-1:000000000000:t'";
        format!("{{ News: {{ Type: SNS, Properties: {{ {topic}, FilterPolicy: {{ a: {{ b: [c] }} }}{more} }} }} }}")
    };
    assert!(refused(&event(""), "").contains("does not support nested filter policy"));
    stack(&template(&event(", FilterPolicyScope: MessageBody"), ""));
}
