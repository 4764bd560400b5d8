//! References, conditions, and YAML itself.

use std::collections::BTreeMap;
use std::time::Duration;

use super::{TABLE, function, problem, problems, read, stack};
use crate::secret_value::SecretValue;

#[test]
fn intrinsics_are_resolved_in_both_forms() {
    let yaml = format!(
        "Parameters:
  Stage: {{ Type: String, Default: local, AllowedPattern: '[a-z]+' }}
  Shards: {{ Type: Number, Default: 4, MinValue: 1, MaxValue: 100 }}
Conditions:
  IsLocal: !Equals [!Ref Stage, local]
  IsElsewhere: !And [!Not [!Condition IsLocal], !Or [!Equals [a, b], !Equals [c, c]]]
Mappings:
  Sizes: {{ local: {{ memory: 256 }} }}
Resources:{TABLE}{}      MemorySize: !FindInMap [Sizes, !Ref Stage, memory]
      Timeout: !If [IsElsewhere, 1, !Ref AWS::NoValue]
      Environment:
        Variables:
          TABLE: !Ref Clicks
          ARN: {{ 'Fn::GetAtt': [Clicks, Arn] }}
          SHARDS: {{ Ref: Shards }}
          NAME: !If [IsLocal, here, there]
          SUB: !Sub ['${{A}}-${{Stage}}-${{!Literal}}-${{Failures.QueueName}}', {{ A: !Join ['+', [x, y]] }}]
          PART: !Select [1, !Split [',', 'a,b,c']]
          GONE: !Ref AWS::NoValue
",
        function("{}")
    );
    let stack = read(&yaml, &BTreeMap::new()).unwrap().stack;
    let function = &stack.functions[0];
    assert_eq!((function.memory_size_mib, function.timeout), (256, Duration::from_secs(3)));
    let variable = |name: &str| function.environment.get(name).map(String::as_str);
    assert_eq!(variable("TABLE"), Some("clicks-us-east-1"));
    assert_eq!(variable("ARN"), Some("arn:aws:dynamodb:us-east-1:000000000000:table/clicks-us-east-1"));
    assert_eq!((variable("SHARDS"), variable("NAME"), variable("PART")), (Some("4"), Some("here"), Some("b")));
    assert_eq!(variable("SUB"), Some("x+y-local-${Literal}-tidemark-local-Failures"));
    assert_eq!(variable("GONE"), None);
}

#[test]
fn a_resource_whose_condition_does_not_hold_is_not_created() {
    let yaml = format!(
        "Conditions: {{ Never: !Equals [a, b] }}\nResources:{TABLE}  Other:\n    Type: AWS::SQS::Queue\n    Condition: Never\n"
    );
    assert_eq!(read(&yaml, &BTreeMap::new()).unwrap().stack.queues.len(), 1);
}

#[test]
fn a_name_whose_condition_does_not_hold_is_made_up() {
    let none = "!If [Never, own, !Ref AWS::NoValue]";
    let yaml = format!(
        "Conditions: {{ Never: !Equals [a, b] }}
Resources:
{}      FunctionName: {none}
      Environment: {{ Variables: {{ BUCKET: !Ref Files }} }}
  Files: {{ Type: AWS::S3::Bucket, Properties: {{ BucketName: {none} }} }}
  Things: {{ Type: AWS::Serverless::SimpleTable, Properties: {{ TableName: {none} }} }}
  Jobs: {{ Type: AWS::SQS::Queue, Properties: {{ QueueName: {none}, FifoQueue: !If [Never, false, true] }} }}
",
        function("{}")
    );
    let stack = read(&yaml, &BTreeMap::new()).unwrap().stack;
    assert_eq!(stack.functions[0].name, "tidemark-local-Worker");
    assert_eq!(stack.functions[0].environment["BUCKET"], "tidemark-local-files");
    assert_eq!((&*stack.tables[0].name, &*stack.buckets[0].name), ("tidemark-local-Things", "tidemark-local-files"));
    assert_eq!(stack.queues[0].name, "tidemark-local-Jobs.fifo");
}

#[test]
fn a_reference_to_a_secret_is_its_arn() {
    let resources = format!(
        "  Key:
    Type: AWS::SecretsManager::Secret
    Properties: {{ Name: a/key, GenerateSecretString: {{ PasswordLength: 64, ExcludePunctuation: true }} }}
{}      Environment: {{ Variables: {{ KEY: !Ref Key }} }}
",
        function("{}")
    );
    let stack = stack(&resources);
    assert!(matches!(&stack.secrets[0].value, SecretValue::Generated(password) if password.length == 64));
    assert_eq!(stack.secrets[0].name, "a/key");
    assert_eq!(stack.functions[0].environment["KEY"], stack.secrets[0].arn);
}

#[test]
fn yaml_is_read_as_aws_reads_it() {
    let yaml = format!(
        "Common: &common\n  Timeout: 7\nResources:\n{}      <<: *common\n      MemorySize: !!int 256\n      MemorySize: 512\n",
        function("{ A: { Type: Schedule, Properties: { Schedule: rate(1 hour), Enabled: no } } }")
    );
    let stack = read(&yaml.replace("Common:", "Metadata:"), &BTreeMap::new()).unwrap().stack;
    let worker = &stack.functions[0];
    assert_eq!((worker.timeout, worker.memory_size_mib), (Duration::from_secs(7), 512));
    assert!(!worker.schedules[0].enabled);
}

#[test]
fn aliases_of_aliases_are_bounded() {
    let levels = (1..9).map(|level| {
        let inner = vec![format!("*a{}", level - 1); 10].join(", ");
        format!("  b{level}: &a{level} [{inner}]\n")
    });
    let yaml = format!("Metadata:\n  b0: &a0 [x]\n{}Resources: {{}}\n", levels.collect::<String>());
    let (_, message) = problem(&yaml);
    assert!(message.contains("the aliases add more than 100000 values"), "{message}");
}

#[test]
fn references_to_parts_of_sam_or_aws_get_values() {
    let yaml = format!(
        "Parameters: {{ Stage: {{ Type: String, Default: live }} }}
Resources:\n{}      AutoPublishAlias: !Ref Stage
      FunctionName: !Sub '${{Stage}}-worker'
      FunctionUrlConfig: {{ AuthType: NONE }}
      Environment:
        Variables:
          ROLE: !GetAtt WorkerRole.Arn
          ALIAS: !Ref Worker.Alias
          URL: !GetAtt WorkerUrl.FunctionUrl
          API: !Sub 'https://${{ServerlessHttpApi}}.execute-api.us-east-1.amazonaws.com'
          POOL: !GetAtt Pool.Arn
          ZONES: !Join [' ', !GetAZs '']
          COUNT: !Length [a, b]
  Pool:
    Type: AWS::Cognito::UserPool
",
        function("{ A: { Type: HttpApi } }")
    );
    let environment = read(&yaml, &BTreeMap::new()).unwrap().stack.functions[0].environment.clone();
    for (name, expected) in [
        ("ROLE", "arn:aws:iam::000000000000:role/tidemark-local-WorkerRole"),
        ("ALIAS", "arn:aws:lambda:us-east-1:000000000000:function:live-worker:live"),
        ("URL", "https://worker.lambda-url.us-east-1.on.aws/"),
        ("API", "https://ServerlessHttpApi.execute-api.us-east-1.amazonaws.com"),
        ("POOL", "arn:aws:cognito:us-east-1:000000000000:tidemark-local-Pool"),
        ("ZONES", "us-east-1a us-east-1b us-east-1c"),
        ("COUNT", "2"),
    ] {
        assert_eq!(environment[name], expected);
    }
}

#[test]
fn invalid_yaml_is_rejected() {
    for (yaml, line, expected) in [
        ("Resources:\n  Q: &a { Type: *a }\n", 2, "this alias is inside the value that it names"),
        ("Resources:\n  Q: [", 2, "not YAML"),
        ("Resources: {}\n", 1, "declares no Resources"),
        ("", 1, "empty"),
    ] {
        let (found, message) = problem(yaml);
        assert!(message.contains(expected) && found >= line, "{yaml:?}: line {found}: {message}");
    }
}

#[test]
fn a_template_with_a_cycle_is_rejected() {
    let yaml = "Conditions:\n  A: !Condition B\n  B: !Condition A\nResources:\n  Q:\n    Type: AWS::SQS::Queue\n    Properties: { QueueName: !GetAtt Q.QueueName }\n";
    let problems = problems(yaml);
    assert!(
        problems.iter().filter(|problem| problem.message.contains("refers to itself")).count() >= 2,
        "{problems:#?}"
    );
}

#[test]
fn a_stream_arn_is_not_text() {
    let yaml = format!(
        "Resources:{TABLE}{}      Environment: {{ Variables: {{ STREAM: !GetAtt Clicks.StreamArn }} }}\n",
        function("{}")
    );
    let (_, message) = problem(&yaml);
    assert!(message.contains("known only after the table is created"), "{message}");
}
