//! Mappings, URLs and schedules that are resources of their own, and functions that cannot run.

use super::{function, ignored, problem, stack};
use crate::stack::{ApiKind, PayloadFormat, Route, RouteAuthorizer, StreamRef};

#[test]
fn a_resource_beside_a_function_belongs_to_the_function() {
    let resources = format!(
        "{}{}  Queue: {{ Type: AWS::SQS::Queue }}
  Orders: {{ Type: AWS::Kinesis::Stream, Properties: {{ ShardCount: 1 }} }}
  Changes:
    Type: AWS::Lambda::EventSourceMapping
    Properties:
      FunctionName: !Ref Worker
      EventSourceArn: !GetAtt Clicks.StreamArn
      StartingPosition: LATEST
      BatchSize: 7
  Messages:
    Type: AWS::Lambda::EventSourceMapping
    Properties: {{ FunctionName: !GetAtt Worker.Arn, EventSourceArn: !GetAtt Queue.Arn }}
  Records:
    Type: AWS::Lambda::EventSourceMapping
    Properties: {{ FunctionName: !Ref Worker, EventSourceArn: !GetAtt Orders.Arn, StartingPosition: TRIM_HORIZON }}
  Url:
    Type: AWS::Lambda::Url
    Properties: {{ TargetFunctionArn: !GetAtt Worker.Arn, AuthType: NONE, Cors: {{ AllowOrigins: ['*'] }} }}
  Nightly:
    Type: AWS::Scheduler::Schedule
    Properties:
      ScheduleExpression: cron(0 3 * * ? *)
      ScheduleExpressionTimezone: Europe/Berlin
      FlexibleTimeWindow: {{ Mode: FLEXIBLE, MaximumWindowInMinutes: 5 }}
      Target: {{ Arn: !GetAtt Worker.Arn, RoleArn: !GetAtt WorkerRole.Arn, Input: '{{\"a\":1}}' }}
",
        function("{}"),
        super::TABLE.trim_start_matches('\n')
    );
    let stack = stack(&resources);
    let worker = &stack.functions[0];
    let streams: Vec<_> = worker.stream_mappings.iter().map(|mapping| (&mapping.stream, mapping.batch_size)).collect();
    let orders = "arn:aws:kinesis:us-east-1:000000000000:stream/tidemark-local-Orders";
    let expected = [(&StreamRef::Table("Clicks".to_owned()), 7), (&StreamRef::Kinesis(orders.to_owned()), 100)];
    assert_eq!(streams, expected);
    assert_eq!(worker.queue_mappings[0].event_id, "Messages");
    let route = Route { authorizer: RouteAuthorizer::None, ..Route::new("Url", "$default", PayloadFormat::V2) };
    assert_eq!((&worker.routes[0], stack.http_apis[0].kind), (&route, ApiKind::FunctionUrl));
    let schedule = &worker.schedules[0];
    assert_eq!(schedule.time_zone.as_deref(), Some("Europe/Berlin"));
    let arn = "arn:aws:scheduler:us-east-1:000000000000:schedule/default/tidemark-local-Nightly";
    assert_eq!((schedule.arn.as_str(), schedule.is_schedulers), (arn, true));
    assert_eq!(schedule.input, Some(serde_json::json!({ "a": 1 })));
}

#[test]
fn a_resource_of_a_foreign_function_is_refused() {
    let resource = "  Url:
    Type: AWS::Lambda::Url
    Properties: { TargetFunctionArn: 'arn:aws:lambda:us-east-1:000000000000:function:other', AuthType: NONE }
";
    let (_, message) = problem(&format!("Resources:\n{}{resource}", function("{}")));
    assert!(message.contains("is not a function of this template"), "{message}");
}

#[test]
fn a_function_of_another_runtime_is_left_out() {
    let other = "  Script:
    Type: AWS::Serverless::Function
    Properties: { Runtime: python3.13, Handler: app.handler, Events: { Any: { Type: HttpApi } } }
";
    let resources = format!("{}{other}", function("{}"));
    assert_eq!(stack(&resources).functions.len(), 1);
    let ignored = ignored(&format!("Resources:\n{resources}"));
    assert!(ignored[0].contains("Script is left out with its events"), "{ignored:?}");
}
