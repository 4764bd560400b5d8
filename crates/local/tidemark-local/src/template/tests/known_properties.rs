//! The table of properties: each property does what its mark says.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

use super::super::files::Files;
use super::super::known_properties::{Mark, lines};
use super::super::problems::Problems;
use super::super::{TemplateProblem, read, read_root, yaml};
use super::problem;

/// A name that AWS does not know.
const TYPING_ERROR: &str = "Zzz";

/// Properties that decide whether and how the others are read.
const FIRST: [&str; 11] = [
    "Bucket",
    "Condition",
    "Effect",
    "GenerateStringKey",
    "HttpMethod",
    "ProtocolType",
    "ResourcePath",
    "RestApiId",
    "Runtime",
    "SecretStringTemplate",
    "Type",
];

/// Properties of HTTP APIs only; the table has one entry for the authorizers of both kinds of API.
const OF_HTTP_APIS: [&str; 1] = ["AuthorizerPayloadFormatVersion"];

/// What a part needs before its other properties are read, in one or two forms.
fn needed(key: &str) -> Vec<Value> {
    let arn = json!({ "Fn::GetAtt": ["Worker", "Arn"] });
    let one = match key {
        "AWS::ApiGatewayV2::Api" => json!({ "ProtocolType": "HTTP" }),
        "AWS::ApiGatewayV2::Authorizer" => {
            return vec![
                json!({ "AuthorizerType": "JWT", "JwtConfiguration": {} }),
                json!({ "AuthorizerType": "REQUEST", "AuthorizerUri": arn }),
            ];
        }
        "AWS::ApiGatewayV2::Route" => json!({ "ApiId": "A", "RouteKey": "GET /a", "Target": "integrations/b" }),
        "AWS::DynamoDB::Table" => json!({ "KeySchema": [], "AttributeDefinitions": [] }),
        "AWS::Lambda::EventSourceMapping" => {
            let from = |source: &str| json!({ "FunctionName": arn, "EventSourceArn": source, "StartingPosition": "AT_TIMESTAMP" });
            let stream = "arn:aws:kinesis:us-east-1:000000000000:stream/a";
            return vec![from(stream), from("arn:aws:sqs:us-east-1:000000000000:a")];
        }
        "AWS::Lambda::Function" | "AWS::Serverless::Function" => json!({ "Runtime": "provided.al2023" }),
        "AWS::Lambda::Url" => json!({ "TargetFunctionArn": arn, "AuthType": "NONE" }),
        "AWS::SNS::Subscription" => json!({ "TopicArn": "arn:aws:sns:us-east-1:000000000000:a" }),
        "AWS::SNS::Topic" => json!({ "TopicName": "a" }),
        "AWS::S3::Bucket" => json!({ "BucketName": "a-bucket" }),
        "AWS::Scheduler::Schedule" => json!({ "Target": { "Arn": arn }, "ScheduleExpression": "rate(2 days)" }),
        "AWS::Scheduler::Schedule.Target" => json!({ "Arn": arn }),
        "AWS::Serverless::Function.Events{}.Api" => json!({ "Path": "/a", "Method": "get" }),
        "AWS::Serverless::Function.Events{}.DynamoDB" => json!({ "Stream": { "Fn::GetAtt": ["Table", "StreamArn"] } }),
        "AWS::Serverless::Function.Events{}.Kinesis" => {
            json!({ "Stream": "arn:aws:kinesis:us-east-1:000000000000:stream/a", "StartingPosition": "AT_TIMESTAMP" })
        }
        "AWS::Serverless::Function.Events{}.SQS" => json!({ "Queue": "arn:aws:sqs:us-east-1:000000000000:a" }),
        "AWS::Serverless::Function.Events{}.S3" => json!({ "Bucket": "a", "Events": "s3:ObjectCreated:*" }),
        "AWS::Serverless::Api.Auth.Authorizers{}.JwtConfiguration" => json!({ "issuer": "a", "audience": ["a"] }),
        "AWS::Serverless::Api.Auth.Authorizers{}" => {
            return vec![
                json!({ "FunctionArn": arn }),
                json!({ "JwtConfiguration": { "issuer": "a", "audience": ["a"] } }),
            ];
        }
        "AWS::ApiGateway::Method.Integration" => json!({ "Type": "MOCK" }),
        "AWS::ApiGateway::Method" => json!({ "RestApiId": "Api", "ResourceId": "root", "HttpMethod": "GET" }),
        "AWS::ApiGateway::RestApi" => json!({}),
        key if key.starts_with("AWS::ApiGateway::") && !key.contains('.') => json!({ "RestApiId": "Api" }),
        _ => json!({}),
    };
    vec![one]
}

/// A template with these further properties in the part that the key names.
fn template(key: &str, form: usize, more: &Map<String, Value>) -> String {
    let needed = |key: &str| {
        let mut forms = needed(key);
        forms.swap_remove(form.min(forms.len() - 1))
    };
    let resource = |kind: &str, properties: Value| json!({ "Type": kind, "Properties": properties });
    let mut own = needed(key);
    own.as_object_mut().unwrap().extend(more.clone());
    let mut parts: Vec<&str> = key.split('.').collect();
    let kind = parts.remove(0);
    let mut path = kind.to_owned();
    let paths: Vec<String> = parts
        .iter()
        .map(|part| {
            path = format!("{path}.{part}");
            path.clone()
        })
        .collect();
    let mut properties = own;
    for (index, part) in parts.iter().enumerate().rev() {
        let above = if index == 0 { kind } else { &paths[index - 1] };
        // The part after `Events{}` is the type of an event.
        if above.ends_with("Events{}") {
            properties = json!({ "Type": part, "Properties": properties });
            continue;
        }
        let mut outer = needed(above);
        let (name, value) = match (part.strip_suffix("[]"), part.strip_suffix("{}")) {
            (Some(name), _) => (name, json!([properties])),
            (_, Some(name)) => (name, json!({ "One": properties })),
            _ => (*part, properties),
        };
        outer.as_object_mut().unwrap().insert(name.to_owned(), value);
        properties = outer;
    }
    let mut resources =
        json!({ "Worker": resource("AWS::Serverless::Function", json!({ "Runtime": "provided.al2023" })) });
    let stream = json!({ "StreamViewType": "KEYS_ONLY" });
    resources["Table"] = resource(
        "AWS::DynamoDB::Table",
        json!({ "StreamSpecification": stream, "KeySchema": [], "AttributeDefinitions": [] }),
    );
    resources["Api"] = resource("AWS::ApiGateway::RestApi", json!({}));
    resources["Tested"] = if kind == "Resource" { properties } else { resource(kind, properties) };
    if kind == "Resource" {
        let tested = resources["Tested"].as_object_mut().unwrap();
        tested.entry("Type").or_insert_with(|| json!("AWS::SQS::Queue"));
    }
    json!({ "Resources": resources }).to_string()
}

/// What the reader says about a property: refusals and warnings. The flag: it read the whole part.
fn said(key: &str, form: usize, name: &str) -> (Vec<TemplateProblem>, Vec<TemplateProblem>, bool) {
    let value = if name == "DependsOn" { json!("Worker") } else { json!("value") };
    let more = Map::from_iter([(name.to_owned(), value), (TYPING_ERROR.to_owned(), json!(1))]);
    let root = yaml::parse(&template(key, form, &more), None).unwrap();
    let problems = Problems::default();
    read_root(&root, &BTreeMap::new(), Files { folder: None, root: None, problems: &problems });
    let (refused, warned) = problems.into_lists();
    let is_reached = refused.iter().any(|problem| problem.path.ends_with(TYPING_ERROR));
    let own = |problems: Vec<TemplateProblem>| {
        problems.into_iter().filter(|problem| problem.path.ends_with(&format!(".{name}"))).collect::<Vec<_>>()
    };
    (own(refused), own(warned), is_reached)
}

/// Whether the reader does with a property what its mark says.
fn is_right(key: &str, form: usize, name: &str, mark: Mark) -> bool {
    let (refused, warned, is_reached) = said(key, form, name);
    let says = |problems: &[TemplateProblem], end: &str| {
        problems.iter().any(|problem| problem.message == format!("{name} of {key} {end}"))
    };
    let has_no_effect = says(&warned, "has no effect on this machine");
    let is_refused = says(&refused, "is not supported on this machine");
    match mark {
        Mark::Runs => {
            let is_read = is_reached || !refused.is_empty() || FIRST.contains(&name);
            !is_refused && is_read && (!has_no_effect || OF_HTTP_APIS.contains(&name))
        }
        Mark::Aws => is_reached && refused.is_empty() && warned.is_empty(),
        Mark::Warned => is_reached && refused.is_empty() && !warned.is_empty(),
        Mark::Refused => !refused.is_empty(),
    }
}

#[test]
fn every_known_property_does_what_the_table_says() {
    let mut wrong = Vec::new();
    for (key, mark, names) in lines() {
        for name in names {
            if !(0..needed(key).len().max(2)).any(|form| is_right(key, form, name, mark)) {
                wrong.push(format!("{key}: {name} ({mark:?}): {:?}", said(key, 0, name)));
            }
        }
    }
    assert!(wrong.is_empty(), "{} of them:\n{}", wrong.len(), wrong.join("\n"));
}

#[test]
fn typing_error_is_refused_with_the_most_similar_name() {
    let queue = |property: &str| {
        format!("Resources:\n  Queue:\n    Type: AWS::SQS::Queue\n    Properties: {{ {property}: 1 }}\n")
    };
    let (line, message) = problem(&queue("VisibiltyTimeout"));
    let expected = "AWS::SQS::Queue has no property VisibiltyTimeout: the most similar one is VisibilityTimeout";
    assert_eq!((line, message.as_str()), (4, expected));
    let (_, message) = problem(
        "Resources:\n  F:\n    Type: AWS::Lambda::Function\n    Properties: { Runtime: provided.al2023, CodeUri: . }\n",
    );
    assert_eq!(message, "AWS::Lambda::Function has no property CodeUri: the most similar one is Code");
}

#[test]
fn globals_that_a_resource_ignores_are_not_merged() {
    let timeout = |ignored: &str| {
        let yaml = format!(
            "Globals: {{ Function: {{ Runtime: provided.al2023, Timeout: 10 }} }}
Resources:
  F: {{ Type: AWS::Serverless::Function, IgnoreGlobals: {ignored}, Properties: {{ Runtime: provided.al2023 }} }}
"
        );
        read(&yaml, &BTreeMap::new()).unwrap().stack.functions[0].timeout.as_secs()
    };
    assert_eq!([timeout("'*'"), timeout("[Timeout]"), timeout("[MemorySize]")], [3, 3, 10]);
}
