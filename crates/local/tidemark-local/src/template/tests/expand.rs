//! Loops, and resources of CloudFormation that are read as those of SAM.

use std::collections::BTreeMap;

use super::{ignored, problem, read};

const LOOPS: &str = "
Transform: [AWS::LanguageExtensions, AWS::Serverless-2016-10-31]
Parameters:
  Stages: { Type: CommaDelimitedList, Default: 'dev, prod' }
Resources:
  'Fn::ForEach::Queues':
    - Stage
    - !Ref Stages
    - 'Fn::ForEach::Kinds':
        - Kind
        - [a-1, b]
        - 'Queue${Stage}&{Kind}':
            Type: AWS::SQS::Queue
            Properties:
              QueueName: !Sub '${Stage}-${Kind}'
              Tags: [{ Key: stage, Value: !Ref Stage }]
";

#[test]
fn loop_makes_a_resource_for_each_value() {
    let names = |parameters: &[(&str, &str)]| {
        let parameters = parameters.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        let stack = read(LOOPS, &parameters).unwrap().stack;
        stack.queues.into_iter().map(|queue| (queue.logical_id, queue.name)).collect::<Vec<_>>()
    };
    let expected =
        [("Queuedeva1", "dev-a-1"), ("Queuedevb", "dev-b"), ("Queueproda1", "prod-a-1"), ("Queueprodb", "prod-b")];
    assert_eq!(names(&[]), expected.map(|(id, name)| (id.to_owned(), name.to_owned())));
    assert_eq!(names(&[("Stages", "x")]).len(), 2);
}

#[test]
fn loop_that_is_malformed_or_endless_is_refused() {
    let values = (0..1_001).map(|n| n.to_string()).collect::<Vec<_>>().join(", ");
    for (from, to, message) in [
        ("AWS::LanguageExtensions, ", "", "needs the transform AWS::LanguageExtensions"),
        ("!Ref Stages", "!Ref Missing", "takes an identifier, and a list of texts"),
        ("[a-1, b]", &format!("[{values}]"), "repeat more than 1000 times"),
    ] {
        let problems = read(&LOOPS.replace(from, to), &BTreeMap::new()).unwrap_err().problems;
        assert!(problems.iter().any(|problem| problem.message.contains(message)), "{message}: {problems:?}");
    }
}

#[test]
fn cloudformations_function_and_global_table_are_read() {
    let yaml = "
Globals: { Function: { MemorySize: 512, Environment: { Variables: { SHARED: x } } } }
Resources:
  Role: { Type: AWS::IAM::Role, Properties: { AssumeRolePolicyDocument: {} } }
  Dead: { Type: AWS::SQS::Queue }
  Fn:
    Type: AWS::Lambda::Function
    Metadata: { BuildProperties: { Binary: fn } }
    Properties:
      Code: { S3Bucket: artifacts, S3Key: fn.zip }
      Role: !GetAtt Role.Arn
      Runtime: provided.al2023
      Handler: bootstrap
      Timeout: 7
      TracingConfig: { Mode: Active }
      DeadLetterConfig: { TargetArn: !GetAtt Dead.Arn }
      Environment: { Variables: { TABLE: !Ref Things } }
  Url: { Type: AWS::Lambda::Url, Properties: { TargetFunctionArn: !GetAtt Fn.Arn, AuthType: NONE } }
  Things:
    Type: AWS::DynamoDB::GlobalTable
    Properties:
      TableName: things
      BillingMode: PAY_PER_REQUEST
      AttributeDefinitions: [{ AttributeName: id, AttributeType: S }]
      KeySchema: [{ AttributeName: id, KeyType: HASH }]
      Replicas: [{ Region: us-east-1 }]
";
    let stack = read(yaml, &BTreeMap::new()).unwrap_or_else(|error| panic!("{error}")).stack;
    let function = &stack.functions[0];
    assert_eq!((function.binary.as_deref(), function.timeout.as_secs(), function.routes.len()), (Some("fn"), 7, 1));
    assert_eq!(function.environment["TABLE"], "things");
    assert_eq!((function.memory_size_mib, function.environment.len()), (128, 1), "Globals are SAM's");
    assert!(stack.messaging.event_invokes.contains_key("Fn"), "its dead letters");
    assert_eq!(stack.tables[0].name, "things");
    let left = ignored(yaml);
    assert!(left.len() == 1 && left[0].contains("Replicas of AWS::DynamoDB::GlobalTable has no effect"), "{left:?}");
}

#[test]
fn connectors_are_refused_and_imports_have_a_warning() {
    let queue = "Resources:\n  Queue:\n    Type: AWS::SQS::Queue\n";
    let (line, message) = problem(&format!("{queue}    Connectors: {{ ToOther: {{}} }}\n"));
    assert!(line == 4 && message.starts_with("Connectors are not supported"), "{message}");
    let left = ignored(&format!("{queue}    Properties: {{ QueueName: !ImportValue shared }}\n"));
    assert!(left[0].contains("the export shared of another stack is not known here"), "{left:?}");
}
