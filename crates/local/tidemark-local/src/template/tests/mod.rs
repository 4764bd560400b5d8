//! Tests of small templates, valid and invalid.
mod expand;
mod fifo;
mod gateway_v2;
mod intrinsics;
mod known_properties;
mod lambda_resources;
mod messaging;
mod nested;
mod openapi;
mod policies;
mod websocket_api;

use std::collections::BTreeMap;
use std::time::Duration;

use super::{Template, TemplateProblem, read};
use crate::secret_value::SecretValue;
use crate::stack::{ApiKind, PayloadFormat, Route, Stack, StartingPosition, StreamRef, Throttle};

const TABLE: &str = "
  Clicks:
    Type: AWS::DynamoDB::Table
    Properties:
      TableName: !Sub 'clicks-${AWS::Region}'
      BillingMode: PAY_PER_REQUEST
      AttributeDefinitions: [{ AttributeName: id, AttributeType: S }]
      KeySchema: [{ AttributeName: id, KeyType: HASH }]
      StreamSpecification: { StreamViewType: NEW_AND_OLD_IMAGES }
      TimeToLiveSpecification: { AttributeName: expiresAt, Enabled: true }
      PointInTimeRecoverySpecification: { PointInTimeRecoveryEnabled: true }
  Failures:
    Type: AWS::SQS::Queue
";

fn stack(resources: &str) -> Stack {
    match read(&format!("Resources:\n{resources}"), &BTreeMap::new()) {
        Ok(template) => template.stack,
        Err(error) => panic!("{error}"),
    }
}

fn problems(yaml: &str) -> Vec<TemplateProblem> {
    read(yaml, &BTreeMap::new()).expect_err("the template must be rejected").problems
}

/// The messages for the ignored parts of a template.
fn ignored(yaml: &str) -> Vec<String> {
    match read(yaml, &BTreeMap::new()) {
        Ok(template) => template.ignored.iter().map(ToString::to_string).collect(),
        Err(error) => panic!("{error}"),
    }
}

/// The only problem of a template.
fn problem(yaml: &str) -> (usize, String) {
    let problems = problems(yaml);
    assert_eq!(problems.len(), 1, "{problems:#?}");
    (problems[0].line, problems[0].message.clone())
}

/// A function with these events, as YAML in flow style.
fn function(events: &str) -> String {
    format!(
        "  Worker:
    Type: AWS::Serverless::Function
    Metadata: {{ BuildMethod: rust-cargolambda, BuildProperties: {{ Binary: worker }} }}
    Properties:
      Runtime: provided.al2023
      Events: {events}
"
    )
}

/// The mapping of a function with these further properties.
fn with_mapping(more: &str) -> String {
    let properties = format!("{{ Stream: !GetAtt Clicks.StreamArn, StartingPosition: TRIM_HORIZON, {more} }}");
    format!("Resources:{TABLE}{}", function(&format!("{{ Click: {{ Type: DynamoDB, Properties: {properties} }} }}")))
}

#[test]
fn the_template_of_the_suite_is_supported() {
    let yaml = include_str!("../../../../../../template.yaml");
    match read(yaml, &BTreeMap::new()).and_then(Template::strict) {
        Ok(template) => assert!(template.stack.tables.iter().any(|table| table.name == "qit-db-local")),
        Err(error) => panic!("{error}"),
    }
    let stage = BTreeMap::from([("Stage".to_owned(), "beta".to_owned())]);
    let stack = read(yaml, &stage).unwrap().stack;
    assert_eq!(stack.tables[0].name, "tidemark-clicks-beta");
}

#[test]
fn a_table_becomes_a_request_to_create_it() {
    let stack = stack(TABLE);
    let table = &stack.tables[0];
    assert_eq!(table.name, "clicks-us-east-1");
    assert_eq!(table.create_table["TableName"], "clicks-us-east-1");
    assert_eq!(table.create_table["StreamSpecification"]["StreamEnabled"], true);
    assert_eq!(table.create_table["KeySchema"][0]["AttributeName"], "id");
    assert_eq!(table.ttl_attribute.as_deref(), Some("expiresAt"));
    assert!(table.point_in_time_recovery);
    assert_eq!(stack.queues[0].arn, "arn:aws:sqs:us-east-1:000000000000:tidemark-local-Failures");
}

#[test]
fn a_stream_event_becomes_a_mapping_with_lambdas_defaults() {
    let stack = read(&with_mapping("Enabled: true"), &BTreeMap::new()).unwrap().stack;
    let mapping = &stack.functions[0].stream_mappings[0];
    assert_eq!((&mapping.stream, mapping.batch_size), (&StreamRef::Table("Clicks".to_owned()), 100));
    assert_eq!(mapping.starting_position, StartingPosition::TrimHorizon);
    assert_eq!((mapping.retry_attempts_max, mapping.record_age_max), (None, None));
    assert!(!mapping.report_batch_item_failures && !mapping.bisect_on_error);
}

#[test]
fn every_setting_of_a_stream_event_is_read() {
    let yaml = with_mapping(
        "BatchSize: 1000, MaximumBatchingWindowInSeconds: 5, TumblingWindowInSeconds: 60, BisectBatchOnFunctionError: true,
         MaximumRetryAttempts: 3, MaximumRecordAgeInSeconds: 3600, FunctionResponseTypes: [ReportBatchItemFailures],
         DestinationConfig: { OnFailure: { Type: SQS, Destination: !GetAtt Failures.Arn } }, Enabled: false,
         FilterCriteria: { Filters: [{ Pattern: '{\"eventName\": [\"INSERT\"]}' }] }",
    );
    let stack = read(&yaml, &BTreeMap::new()).unwrap().stack;
    let mapping = &stack.functions[0].stream_mappings[0];
    assert_eq!(mapping.batch_size, 1000);
    assert_eq!((mapping.batching_window, mapping.tumbling_window), (Duration::from_secs(5), Duration::from_secs(60)));
    assert_eq!((mapping.retry_attempts_max, mapping.record_age_max), (Some(3), Some(Duration::from_secs(3600))));
    assert!(mapping.bisect_on_error && mapping.report_batch_item_failures && !mapping.enabled);
    assert_eq!(mapping.on_failure_queue.as_deref(), Some("Failures"));
    assert_eq!(mapping.filters, [serde_json::json!({ "eventName": ["INSERT"] })]);
}

#[test]
fn capacity_units_may_be_text_but_must_be_numbers() {
    let yaml = "Parameters: { Units: { Type: String, Default: '7' } }
Resources:
  Things:
    Type: AWS::DynamoDB::Table
    Properties:
      AttributeDefinitions: [{ AttributeName: id, AttributeType: S }]
      KeySchema: [{ AttributeName: id, KeyType: HASH }]
      ProvisionedThroughput: { ReadCapacityUnits: '5', WriteCapacityUnits: !Ref Units }
      GlobalSecondaryIndexes:
        - IndexName: i
          KeySchema: [{ AttributeName: id, KeyType: HASH }]
          Projection: { ProjectionType: ALL }
          ProvisionedThroughput: { ReadCapacityUnits: 3, WriteCapacityUnits: '4' }
";
    let table = read(yaml, &BTreeMap::new()).unwrap().stack.tables.remove(0).create_table;
    let units = |read: u32, write: u32| serde_json::json!({ "ReadCapacityUnits": read, "WriteCapacityUnits": write });
    assert_eq!(table["ProvisionedThroughput"], units(5, 7));
    assert_eq!(table["GlobalSecondaryIndexes"][0]["ProvisionedThroughput"], units(3, 4));
    for (wrong, expected) in [("ReadCapacityUnits: many", "not many"), ("", "ReadCapacityUnits is missing")] {
        let (_, message) = problem(&yaml.replace("ReadCapacityUnits: '5'", wrong).replace("{ , ", "{ "));
        assert!(message.ends_with(expected), "{message}");
    }
}

#[test]
fn globals_are_merged_into_each_function_and_the_implicit_api() {
    let yaml = format!(
        "Globals:
  Function:
    Timeout: 10
    Environment: {{ Variables: {{ A: shared, B: shared }} }}
  HttpApi:
    CorsConfiguration: {{ AllowOrigins: ['*'], AllowMethods: [GET], MaxAge: 600 }}
    DefaultRouteSettings: {{ ThrottlingRateLimit: 2000, ThrottlingBurstLimit: 4000 }}
Resources:
{}      Environment: {{ Variables: {{ B: own, C: 7 }} }}
",
        function("{ Any: { Type: HttpApi } }")
    );
    let stack = read(&yaml, &BTreeMap::new()).unwrap().stack;
    let function = &stack.functions[0];
    assert_eq!(function.timeout, Duration::from_secs(10));
    let variables: Vec<(&str, &str)> = function.environment.iter().map(|(k, v)| (k.as_str(), v.as_str())).collect();
    assert_eq!(variables, [("A", "shared"), ("B", "own"), ("C", "7")]);
    assert_eq!(function.routes, [Route::new(super::resources::IMPLICIT_HTTP_API, "$default", PayloadFormat::V2)]);
    let api = &stack.http_apis[0];
    assert_eq!(api.logical_id, super::resources::IMPLICIT_HTTP_API);
    assert_eq!(api.throttle, Some(Throttle { rate_per_s: 2000.0, burst: 4000 }));
    assert_eq!(api.cors.as_ref().unwrap().max_age, Some(Duration::from_secs(600)));
}

#[test]
fn schedules_of_both_kinds_are_read() {
    let events = "{ Often: { Type: Schedule, Properties: { Schedule: rate(5 minutes), Input: '{\"a\": 1}' } }, \
      Nightly: { Type: ScheduleV2, Properties: { ScheduleExpression: cron(0 3 * * ? *), State: DISABLED } } }";
    let stack = stack(&function(events));
    let schedules = &stack.functions[0].schedules;
    assert_eq!(schedules[0].input, Some(serde_json::json!({ "a": 1 })));
    assert!(schedules[0].enabled && !schedules[1].enabled);
    assert_eq!(schedules[1].expression, "cron(0 3 * * ? *)");
}

#[test]
fn every_problem_is_reported_with_its_position() {
    let yaml = "Resources:
  Queue:
    Type: AWS::SQS::Queue
    Properties:
      Tags: !Ref Nobody
      QueueName: !Ref Nothing
  Odd:
    Type: AWS::Lambda::EventSourceMapping
";
    let problems = problems(yaml);
    let seen: Vec<(usize, usize, &str)> = problems.iter().map(|p| (p.line, p.column, p.path.as_str())).collect();
    assert_eq!(
        seen,
        [
            (5, 13, "Resources.Queue.Properties.Tags"),
            (6, 18, "Resources.Queue.Properties.QueueName"),
            (8, 5, "Resources.Odd"),
        ]
    );
    assert_eq!(
        problems[0].to_string(),
        "line 5, column 13: Resources.Queue.Properties.Tags: \"Nobody\" is neither a parameter nor a resource"
    );
}

#[test]
fn properties_that_only_aws_uses_are_checked_for_errors() {
    let yaml = "Resources:
  Logs:
    Type: AWS::Logs::LogGroup
    Properties:
      LogGroupName: !Sub '/aws/${Nobody}'
      RetentionInDays: !Frobnicate 3
      KmsKeyId: !GetAtt Nowhere.Arn
";
    let problems = problems(yaml);
    let lines: Vec<usize> = problems.iter().map(|problem| problem.line).collect();
    assert_eq!(lines, [5, 6, 7], "{problems:#?}");
    assert!(problems[1].message.contains("Fn::Frobnicate"));
}

#[test]
fn bad_parameters_are_rejected() {
    let yaml = "Parameters:\n  Stage: { Type: String, Default: local, AllowedValues: [local, prod] }\n  Rate: { Type: Number, Default: 0, MinValue: 1 }\nResources:\n  Q: { Type: AWS::SQS::Queue }\n";
    let (line, message) = problem(yaml);
    assert_eq!((line, message.as_str()), (3, "\"0\" is outside MinValue 1"));
    let given = BTreeMap::from([
        ("Stage".to_owned(), "x".to_owned()),
        ("Rate".to_owned(), "1".to_owned()),
        ("Extra".to_owned(), String::new()),
    ]);
    let problems = read(yaml, &given).unwrap_err().problems;
    assert_eq!(problems.len(), 2, "{problems:#?}");
    assert!(
        problems[0].message.contains("does not declare it") && problems[1].message.contains("not one of local, prod")
    );
}

#[test]
fn parallelization_with_a_tumbling_window_is_rejected_with_reason() {
    let (_, message) = problem(&with_mapping("TumblingWindowInSeconds: 60, ParallelizationFactor: 2"));
    assert!(message.contains("ParallelizationFactor must be 1"), "{message}");
}

#[test]
fn a_window_whose_failures_are_ignored_is_a_warning() {
    let told = ignored(&with_mapping("TumblingWindowInSeconds: 60"));
    assert!(told.len() == 1 && told[0].contains("ReportBatchItemFailures"), "{told:?}");
    for mapping in ["BatchSize: 10", "TumblingWindowInSeconds: 60, FunctionResponseTypes: [ReportBatchItemFailures]"] {
        assert_eq!(ignored(&with_mapping(mapping)), Vec::<String>::new());
    }
}

#[test]
fn settings_beyond_the_limits_of_lambda_are_rejected() {
    for (setting, expected) in [
        ("BatchSize: 10001", "BatchSize must be 1 to 10000, not 10001"),
        ("TumblingWindowInSeconds: 901", "TumblingWindowInSeconds must be 0 to 900, not 901"),
        ("MaximumBatchingWindowInSeconds: 301", "MaximumBatchingWindowInSeconds must be 0 to 300, not 301"),
        ("MaximumRecordAgeInSeconds: 30", "MaximumRecordAgeInSeconds must be -1, or 60 to 604800"),
        ("FilterCriteria: { Filters: [{ Pattern: '{' }] }", "the pattern is not JSON"),
        ("DestinationConfig: { OnFailure: { Destination: 'arn:x' } }", "arn:x is not the ARN of a queue"),
    ] {
        let (_, message) = problem(&with_mapping(setting));
        assert!(message.contains(expected), "{setting}: {message}");
    }
}

#[test]
fn bad_routes_are_rejected() {
    for (event, expected) in [
        ("{ Method: GET, Path: x }", "must begin with /"),
        ("{ Method: GET, Path: '/{a+}/b' }", "nothing can follow"),
        ("{ Method: GET, Path: '/{a}/{a}' }", "it contains the variable a twice"),
        ("{ Method: GET, Path: '/x{a}' }", "a whole segment"),
        ("{ Method: FETCH, Path: /x }", "not a method"),
        ("{ Path: /x }", "set both Method and Path"),
        ("{ Method: GET, Path: /x, Auth: { Authorizer: Own } }", "there is no authorizer Own"),
    ] {
        let yaml = format!("Resources:\n{}", function(&format!("{{ E: {{ Type: HttpApi, Properties: {event} }} }}")));
        let (line, message) = problem(&yaml);
        assert!(line == 7 && message.contains(expected), "{event}: {line} {message}");
    }
}

#[test]
fn rest_apis_function_urls_and_simple_tables_are_read() {
    let yaml = format!(
        "Globals:
  Api: {{ BinaryMediaTypes: ['image~1png'], Cors: \"'https://page.example'\" }}
Resources:
{}      FunctionUrlConfig: {{ AuthType: NONE, Cors: {{ AllowOrigins: ['*'] }} }}
  Own:
    Type: AWS::Serverless::Api
    Properties:
      StageName: v1
      Variables: {{ color: red }}
      Auth: {{ ApiKeyRequired: true }}
      MethodSettings: [{{ HttpMethod: GET, ResourcePath: /a, ThrottlingRateLimit: 1, ThrottlingBurstLimit: 1 }}]
  Things:
    Type: AWS::Serverless::SimpleTable
    Properties: {{ PrimaryKey: {{ Name: number, Type: Number }} }}
",
        function(
            "{ A: { Type: Api, Properties: { Path: /a, Method: get } }, B: { Type: Api, Properties: { Path: '/b/{x+}', Method: any, RestApiId: !Ref Own } } }"
        )
    );
    let read = read(&yaml, &BTreeMap::new()).unwrap();
    let stack = &read.stack;
    let kinds: Vec<_> =
        stack.http_apis.iter().map(|api| (api.logical_id.as_str(), api.kind, api.stage.as_str())).collect();
    let expected = [
        ("Own", ApiKind::Rest, "v1"),
        ("ServerlessRestApi", ApiKind::Rest, "Prod"),
        ("WorkerUrl", ApiKind::FunctionUrl, "$default"),
    ];
    assert_eq!(kinds, expected);
    assert_eq!(stack.http_apis[0].stage_variables["color"], "red");
    assert_eq!(stack.http_apis[0].throttle, None, "the settings are of one method");
    let implicit = &stack.http_apis[1];
    assert_eq!(implicit.binary_media_types, ["image/png"]);
    assert_eq!(implicit.cors.as_ref().unwrap().allow_origins, ["https://page.example"]);
    let keys: Vec<_> =
        stack.functions[0].routes.iter().map(|route| (route.api.as_str(), route.route_key.as_str())).collect();
    assert_eq!(keys, [("ServerlessRestApi", "GET /a"), ("Own", "ANY /b/{x+}"), ("WorkerUrl", "$default")]);
    assert_eq!(stack.tables[0].create_table["AttributeDefinitions"][0]["AttributeType"], "N");
    let warnings: Vec<_> = read.ignored.iter().map(|part| part.message.as_str()).collect();
    let of_methods = "settings of single methods have no effect on this machine: only those of all methods have";
    assert_eq!(warnings, ["API keys are not checked on this machine", of_methods]);
}

#[test]
fn two_events_on_one_route_are_rejected() {
    let events = "{ A: { Type: HttpApi, Properties: { Method: get, Path: '/x/{a}' } }, B: { Type: HttpApi, Properties: { Method: GET, Path: '/x/{b}' } } }";
    let (_, message) = problem(&format!("Resources:\n{}", function(events)));
    assert!(message.contains("GET /x/{b} already leads to Worker"), "{message}");
}

#[test]
fn bad_schedules_are_rejected() {
    for expression in
        ["rate(1 minutes)", "rate(0 days)", "cron(0 3 * * * *)", "cron(0 3 * * ?)", "cron(99 3 * * ? *)", "daily"]
    {
        let events = format!("{{ E: {{ Type: Schedule, Properties: {{ Schedule: {expression} }} }} }}");
        let (line, message) = problem(&format!("Resources:\n{}", function(&events)));
        assert!(line == 7 && message.contains("is not a schedule expression"), "{expression}: {message}");
    }
}

#[test]
fn unsupported_parts_are_ignored_with_warning_or_refused_by_strict() {
    let yaml = "Transform: [AWS::Serverless-2016-10-31, AWS::SecretsManager-2020-07-23]
Parameters:
  Vpc: { Type: 'AWS::EC2::VPC::Id', Label: the network }
Resources:
  Topic:
    Type: AWS::SNS::Topic
    Properties: { MaximumMessageSize: 1024 }
  Odd:
    Type: AWS::Batch::JobQueue
    Properties: { Vpc: !Ref Vpc }
";
    let expected = [
        "line 1, column 41: Transform.1: the transform AWS::SecretsManager-2020-07-23 has no effect on this machine",
        "line 3, column 8: Parameters.Vpc: the parameter Vpc has no default, so it is \"local-Vpc\" here; --parameter Vpc=VALUE sets it",
        "line 7, column 39: Resources.Topic.Properties.MaximumMessageSize: MaximumMessageSize of AWS::SNS::Topic has no effect on this machine",
        "line 9, column 5: Resources.Odd: Odd is left out: AWS::Batch::JobQueue has no part on this machine",
    ];
    assert_eq!(ignored(yaml), expected);
    let refused = read(yaml, &BTreeMap::new()).and_then(Template::strict).unwrap_err();
    assert_eq!(refused.problems.len(), expected.len());
}

#[test]
fn secret_has_the_value_that_the_template_says() {
    let value = |properties: &str| {
        let yaml =
            format!("Resources:\n  Key: {{ Type: AWS::SecretsManager::Secret, Properties: {{ {properties} }} }}\n");
        read(&yaml, &BTreeMap::new()).map(|template| template.stack.secrets[0].value.clone())
    };
    let message = |properties: &str| value(properties).unwrap_err().problems[0].message.clone();
    let given = value(r#"SecretString: !Sub '{"region": "${AWS::Region}"}'"#).unwrap();
    assert_eq!(given, SecretValue::Given(r#"{"region": "us-east-1"}"#.to_owned()));
    assert_eq!(value("Description: empty").unwrap(), SecretValue::Missing);
    let generated = |generator: &str| format!("GenerateSecretString: {{ {generator} }}");
    let made = value(&generated(r#"SecretStringTemplate: '{"user": "a"}', GenerateStringKey: password"#)).unwrap();
    assert!(
        matches!(made, SecretValue::Generated(password) if password.template.is_some() && password.kinds.len() == 4)
    );
    let list = generated("SecretStringTemplate: '[]', GenerateStringKey: password");
    assert!(message(&list).contains("SecretStringTemplate is not a JSON object"), "{}", message(&list));
    assert!(message(&generated("GenerateStringKey: password")).ends_with("need each other"));
    assert!(message(&generated("PasswordLength: 2")).contains("a character of each kind"));
    assert!(message(&format!("SecretString: a, {}", generated("PasswordLength: 9"))).ends_with("not both"));
}
