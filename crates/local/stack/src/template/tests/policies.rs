//! Roles and policies: their statements are read, and unsupported parts are errors.

use super::{function, problem, stack};
use crate::stack::{Condition, Quantifier, Statement, Test};

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
fn a_role_has_its_own_statements_and_those_of_its_managed_policies() {
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
        of("{ Effect: Deny, Action: 'dynamodb:GetItem', Resource: '*' }"),
        "only Effect Allow is supported on this machine, not Deny"
    );
    assert_eq!(of("{ Effect: Allow, Action: 'dynamodb:GetItem' }"), "Resource is missing");
    assert_eq!(
        of(&format!("{{ {allowed}, NotAction: 'dynamodb:PutItem' }}")),
        "NotAction is not supported on this machine: list what the statement allows"
    );
    assert_eq!(
        of(&format!("{{ {allowed}, Condition: {{ IpAddress: {{ 'aws:SourceIp': '10.0.0.0/8' }} }} }}")),
        "the condition operator IpAddress is not supported on this machine"
    );
    assert_eq!(
        of(&format!("{{ {allowed}, Condition: {{ StringEquals: {{ 'dynamodb:Attributes': a }} }} }}")),
        "the condition key dynamodb:Attributes is not supported on this machine"
    );
}

#[test]
fn a_role_or_policy_that_is_not_in_the_template_is_rejected() {
    let foreign = "arn:aws:iam::aws:policy/ReadOnlyAccess";
    let statement = "{ Effect: Allow, Action: 'dynamodb:GetItem', Resource: '*' }";
    let managed = role(statement).replace("[!Ref Common]", &format!("['{foreign}']"));
    assert_eq!(problem(&format!("Resources:\n{managed}")).1, format!("{foreign} is not a policy of this template"));
    let worker = function("{}").replace("Runtime:", "Role: 'arn:aws:iam::1:role/x'\n      Runtime:");
    assert_eq!(problem(&format!("Resources:\n{worker}")).1, "arn:aws:iam::1:role/x is not a role of this template");
}
