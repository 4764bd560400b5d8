//! Roles and policies: their statements are read, and unsupported parts are errors.

use super::{function, ignored, problem, stack};
use crate::stack::{Condition, Effect, Quantifier, Statement, Test};

/// A table, and a role with this statement and a managed policy.
fn role(statement: &str) -> String {
    format!(
        "{}
  Role:
    Type: AWS::IAM::Role
    Properties:
      AssumeRolePolicyDocument: {{ Version: '2012-10-17', Statement: [] }}
      ManagedPolicyArns: [!Ref Common]
      Policies:
        - PolicyName: own
          PolicyDocument:
            Version: '2012-10-17'
            Statement:
              - {statement}
  Common:
    Type: AWS::IAM::ManagedPolicy
    Properties:
      PolicyDocument: {{ Version: '2012-10-17', Statement: {{ Effect: Allow, Action: 'xray:*', Resource: '*' }} }}
",
        super::TABLE
    )
}

#[test]
fn role_has_its_own_statements_and_its_managed_policies() {
    let conditions = "{ 'ForAllValues:StringLike': { 'dynamodb:LeadingKeys': ['A#*', B] }, 'Null': { 'dynamodb:LeadingKeys': 'false' } }";
    let statement = format!(
        "{{ Effect: Allow, Action: ['dynamodb:GetItem'], Resource: [!GetAtt Clicks.Arn, !GetAtt Clicks.StreamArn], Condition: {conditions} }}"
    );
    let worker = function("{}").replace("Runtime:", "Role: !GetAtt Role.Arn\n      Runtime:");
    let stack = stack(&format!("{}{worker}", role(&statement)));
    assert_eq!(stack.functions[0].role.as_deref(), Some("arn:aws:iam::000000000000:role/tidemark-local-Role"));
    let texts = |texts: &[&str]| texts.iter().map(|text| (*text).to_owned()).collect::<Vec<_>>();
    let condition = |quantifier, test, values: &[&str]| Condition {
        key: "dynamodb:LeadingKeys".to_owned(),
        quantifier,
        test,
        values: texts(values),
    };
    let table = "arn:aws:dynamodb:us-east-1:000000000000:table/clicks-us-east-1";
    let [own, common] = &stack.roles[0].statements[..] else { panic!("{:?}", stack.roles) };
    let expected = Statement {
        policy: "Role: own".to_owned(),
        line: own.line,
        effect: Effect::Allow,
        actions: texts(&["dynamodb:GetItem"]),
        resources: texts(&[table, &format!("{table}/stream/*")]),
        conditions: vec![
            condition(Some(Quantifier::All), Test::Like, &["A#*", "B"]),
            condition(None, Test::Null, &["false"]),
        ],
    };
    assert_eq!(*own, expected);
    assert_eq!((&*common.policy, &common.actions, &common.resources), ("Common", &texts(&["xray:*"]), &texts(&["*"])));
}

#[test]
fn unsupported_parts_of_a_statement_are_rejected() {
    let of = |statement: &str| problem(&format!("Resources:\n{}", role(statement))).1;
    let allowed = "Effect: Allow, Action: 'dynamodb:GetItem', Resource: '*'";
    assert_eq!(
        of("{ Effect: Maybe, Action: 'dynamodb:GetItem', Resource: '*' }"),
        "Effect must be Allow or Deny, not Maybe"
    );
    assert_eq!(of("{ Effect: Allow, Action: 'dynamodb:GetItem' }"), "Resource is missing");
    assert_eq!(
        of(&format!("{{ {allowed}, NotAction: 'dynamodb:PutItem' }}")),
        "NotAction is not supported on this machine: list what the statement allows"
    );
}

#[test]
fn unknown_condition_is_dropped_with_a_warning_and_its_deny() {
    let warned = |statement: &str| ignored(&format!("Resources:\n{}", role(statement))).join("\n");
    let allowed = "Effect: Allow, Action: 'dynamodb:GetItem', Resource: '*'";
    let by_address = format!("{{ {allowed}, Condition: {{ IpAddress: {{ 'aws:SourceIp': '10.0.0.0/8' }} }} }}");
    assert!(warned(&by_address).ends_with("conditions with IpAddress are not checked on this machine"));
    let by_attribute = format!("{{ {allowed}, Condition: {{ StringEquals: {{ 'dynamodb:Attributes': a }} }} }}");
    assert!(warned(&by_attribute).ends_with("conditions on dynamodb:Attributes are not checked on this machine"));
    let count = |statement: &str| stack(&role(statement)).roles[0].statements.len();
    assert_eq!(count(&by_address), 2);
    assert_eq!(count(&by_address.replace("Allow", "Deny")), 1, "only the managed policy's statement");
    assert_eq!(count("{ Effect: Deny, Action: 's3:*', Resource: '*' }"), 2);
}

#[test]
fn the_policies_of_a_function_become_its_role() {
    let policies = "Policies:
        - AWSLambdaBasicExecutionRole
        - arn:aws:iam::aws:policy/AmazonSQSFullAccess
        - DynamoDBReadPolicy: { TableName: !Ref Clicks }
        - RekognitionDetectOnlyPolicy: {}
        - Statement: { Effect: Deny, Action: 'dynamodb:Scan', Resource: '*' }
        - !Ref AWS::NoValue
      Runtime:";
    let stack = stack(&format!("{}{}", super::TABLE, function("{}").replace("Runtime:", policies)));
    let role = &stack.roles[0];
    assert_eq!(stack.functions[0].role.as_ref(), Some(&role.arn));
    let of = |policy: &str| role.statements.iter().find(|statement| statement.policy == policy).unwrap();
    let table = "arn:aws:dynamodb:us-east-1:000000000000:table/clicks-us-east-1";
    assert_eq!(of("DynamoDBReadPolicy").resources, [table.to_owned(), format!("{table}/index/*")]);
    assert_eq!(of("arn:aws:iam::aws:policy/AmazonSQSFullAccess").actions, ["sqs:*"]);
    assert_eq!(of("WorkerRole").effect, Effect::Deny);
    assert_eq!(role.statements.len(), 3);
}

#[test]
fn conditional_policies_and_statements_are_read() {
    let either = |yes: &str| format!("!If [Always, {yes}, !Ref AWS::NoValue]");
    let allow = |action: &str| format!("{{ Effect: Allow, Action: '{action}', Resource: !GetAtt Clicks.StreamArn }}");
    let inline = |action: &str| {
        let statements = either(&format!("[{}]", either(&allow(action))));
        format!("{{ PolicyName: own, PolicyDocument: {{ Statement: {statements} }} }}")
    };
    let items = [
        either("{ DynamoDBReadPolicy: { TableName: !Ref Clicks } }"),
        either(&format!("{{ Statement: {} }}", allow("a:b"))),
        either("AmazonSQSFullAccess"),
        "!If [Never, AmazonSNSFullAccess, !Ref AWS::NoValue]".to_owned(),
    ];
    let policies = format!("Policies: {}\n      Runtime:", either(&format!("[{}]", items.join(", "))));
    let yaml = format!(
        "Conditions: {{ Always: !Equals [a, a], Never: !Equals [a, b] }}
Resources:
{}{}
  Role:
    Type: AWS::IAM::Role
    Properties:
      AssumeRolePolicyDocument: {{}}
      ManagedPolicyArns: {}
      Policies: {}
",
        super::TABLE,
        function("{}").replace("Runtime:", &policies),
        either(&format!("[{}, {}]", either("'arn:aws:iam::aws:policy/AmazonSQSFullAccess'"), "!Ref AWS::NoValue")),
        either(&format!("[{}]", either(&inline("c:d")))),
    );
    let stack = super::read(&yaml, &Default::default()).unwrap_or_else(|error| panic!("{error}")).stack;
    let of = |id: &str| &stack.roles.iter().find(|role| role.logical_id == id).unwrap().statements;
    let actions = |id: &str| of(id).iter().map(|statement| statement.actions[0].as_str()).collect::<Vec<_>>();
    assert_eq!(actions("WorkerRole")[1..], ["a:b", "sqs:*"]);
    assert_eq!(of("WorkerRole")[0].policy, "DynamoDBReadPolicy");
    assert_eq!(actions("Role"), ["c:d", "sqs:*"]);
    assert!(of("Role")[0].resources[0].ends_with("table/clicks-us-east-1/stream/*"), "{:?}", of("Role"));
}

#[test]
fn function_without_policies_gets_only_sams_mapping_policies() {
    let plain = stack(&function("{}"));
    assert_eq!(plain.roles[0].statements, []);
    let mapping =
        "{ Click: { Type: DynamoDB, Properties: { Stream: !GetAtt Clicks.StreamArn, StartingPosition: LATEST } } }";
    let reader = stack(&format!("{}{}", super::TABLE, function(mapping)));
    assert_eq!(reader.roles[0].statements[0].policy, "AWSLambdaDynamoDBExecutionRole");
}

#[test]
fn role_or_policy_outside_the_template_has_a_warning() {
    let foreign = "arn:aws:iam::1:policy/Unknown";
    let statement = "{ Effect: Allow, Action: 'dynamodb:GetItem', Resource: '*' }";
    let managed = role(statement).replace("[!Ref Common]", &format!("['{foreign}']"));
    let warned = ignored(&format!("Resources:\n{managed}")).join("\n");
    assert!(
        warned
            .ends_with(&format!("{foreign} is neither a policy of this template nor known here, so it grants nothing"))
    );
    let worker = function("{}").replace("Runtime:", "Role: 'arn:aws:iam::1:role/x'\n      Runtime:");
    let warned = ignored(&format!("Resources:\n{worker}")).join("\n");
    assert!(warned.ends_with("arn:aws:iam::1:role/x is not a role of this template, so it is not enforced"));
}
