//! Tests of buses, rules, topics and settings of asynchronous invocations.

use super::{function, ignored, problem, stack};
use crate::eventbridge::input::TargetInput;
use crate::stack::{Endpoint, EventInvoke, FilterScope, RuleTarget, Target};

fn with_worker(resources: &str) -> String {
    format!("{}{resources}", function(""))
}

#[test]
fn a_rule_names_its_bus_and_its_targets() {
    let messaging = stack(&with_worker(
        "
  Bus:
    Type: AWS::Events::EventBus
    Properties: { Name: orders, Description: all orders }
  Queue:
    Type: AWS::SQS::Queue
  Rule:
    Type: AWS::Events::Rule
    Properties:
      EventBusName: !GetAtt Bus.Arn
      EventPattern: { source: [shop] }
      State: DISABLED
      Targets:
        - { Id: a, Arn: !GetAtt Worker.Arn, Input: '{}' }
        - { Id: b, Arn: !GetAtt Queue.Arn, RetryPolicy: { MaximumRetryAttempts: 3 } }
",
    ))
    .messaging;
    assert_eq!(messaging.buses, ["orders"]);
    let rule = &messaging.rules[0];
    assert_eq!((rule.bus.as_str(), rule.enabled), ("orders", false));
    let function = Target::Function("Worker".to_owned());
    assert_eq!(
        rule.targets[0],
        RuleTarget { target: function, input: TargetInput::Constant("{}".to_owned()), group: None }
    );
    let queue = "arn:aws:sqs:us-east-1:000000000000:tidemark-local-Queue".to_owned();
    assert_eq!(rule.targets[1], RuleTarget { target: Target::Queue(queue), input: TargetInput::Event, group: None });
}

#[test]
fn bucket_sends_events_unless_they_are_off() {
    for (configuration, expected) in [("{}", true), ("{ EventBridgeEnabled: false }", false)] {
        let configuration = format!("{{ EventBridgeConfiguration: {configuration} }}");
        let properties = format!("{{ NotificationConfiguration: {configuration} }}");
        let stack = stack(&format!("  Files: {{ Type: AWS::S3::Bucket, Properties: {properties} }}\n"));
        assert_eq!(stack.buckets[0].sends_events, expected, "{configuration}");
    }
}

#[test]
fn rule_with_a_schedule_becomes_its_functions_schedule() {
    let stack = stack(&with_worker(
        "
  Rule:
    Type: AWS::Events::Rule
    Properties:
      Name: hourly
      ScheduleExpression: rate(1 hour)
      Targets: [{ Id: a, Arn: !GetAtt Worker.Arn, Input: '{\"a\":1}' }]
",
    ));
    let schedule = &stack.functions[0].schedules[0];
    assert_eq!((schedule.event_id.as_str(), schedule.expression.as_str()), ("hourly", "rate(1 hour)"));
    assert_eq!(schedule.input, Some(serde_json::json!({ "a": 1 })));
}

#[test]
fn a_topic_has_its_own_subscriptions_and_others() {
    let messaging = stack(&with_worker(
        "
  Topic:
    Type: AWS::SNS::Topic
    Properties:
      TopicName: news
      Subscription: [{ Protocol: email, Endpoint: ann@example.com }]
  Subscription:
    Type: AWS::SNS::Subscription
    Properties:
      TopicArn: !Ref Topic
      Protocol: lambda
      Endpoint: !GetAtt Worker.Arn
      FilterPolicyScope: MessageBody
      FilterPolicy: { kind: [hot] }
",
    ))
    .messaging;
    assert_eq!(messaging.topics[0].arn, "arn:aws:sns:us-east-1:000000000000:news");
    let [mail, worker] = messaging.subscriptions.as_slice() else { panic!("two subscriptions") };
    assert_eq!(mail.endpoint, Endpoint::Mail("ann@example.com".to_owned()));
    assert_eq!((&worker.topic, worker.scope), (&messaging.topics[0].arn, FilterScope::MessageBody));
    assert_eq!(worker.endpoint, Endpoint::Function("Worker".to_owned()));
}

#[test]
fn the_settings_of_asynchronous_invocations_have_destinations() {
    let mut resources = function("");
    resources.push_str(
        "
      EventInvokeConfig:
        MaximumRetryAttempts: 1
        DestinationConfig: { OnFailure: { Type: Lambda, Destination: !GetAtt Worker.Arn } }
      DeadLetterQueue: { Type: SNS, TargetArn: 'arn:aws:sns:us-east-1:000000000000:dead' }
",
    );
    let messaging = stack(&resources).messaging;
    let on_failure = Some(Target::Function("Worker".to_owned()));
    let dead_letters = Some(Target::Topic("arn:aws:sns:us-east-1:000000000000:dead".to_owned()));
    let expected = EventInvoke { retries: 1, on_failure, dead_letters, ..EventInvoke::default() };
    assert_eq!(messaging.event_invokes["Worker"], expected);
}

#[test]
fn target_that_does_not_exist_here_is_listed_as_ignored() {
    let template = with_worker(
        "
  Rule:
    Type: AWS::Events::Rule
    Properties:
      EventPattern: { source: [a] }
      Targets: [{ Id: a, Arn: 'arn:aws:logs:us-east-1:000000000000:log-group:/aws/events/x' }]
  Subscription:
    Type: AWS::SNS::Subscription
    Properties: { TopicArn: 'arn:aws:sns:us-east-1:000000000000:t', Protocol: sms, Endpoint: '+123' }
",
    );
    let ignored = ignored(&format!("Resources:\n{template}"));
    assert_eq!(ignored.len(), 2, "{ignored:#?}");
    assert!(ignored[0].contains("log-group:/aws/events/x are dropped"), "{}", ignored[0]);
    assert!(ignored[1].contains("no message is sent by sms"), "{}", ignored[1]);
}

#[test]
fn an_invalid_rule_is_refused_with_its_position() {
    let refused = |event: &str| problem(&format!("Resources:\n{}", function(&format!("{{ {event} }}")))).1;
    let said = refused("E: { Type: EventBridgeRule, Properties: { Pattern: { source: shop } } }");
    assert!(said.starts_with("filter pattern at `source`"), "{said}");
    let said = refused("E: { Type: EventBridgeRule, Properties: { Pattern: { a: [b] }, InputPath: detail } }");
    assert_eq!(said, "detail is not a path: write it as $.detail.name or $.detail.items[0]");
    let said = refused("E: { Type: EventBridgeRule, Properties: { Pattern: { a: [b] }, Input: plain text } }");
    assert!(said.starts_with("Input must give JSON"), "{said}");
    assert_eq!(refused("E: { Type: EventBridgeRule, Properties: { EventBusName: a } }"), "Pattern is missing");
    assert_eq!(refused("E: { Type: SNS }"), "Topic is missing");
}
