//! Events of buses and messages of topics, from the services' own protocols to the function.

use crate::support::{Stage, until};
use reqwest::{Client, Response, StatusCode};
use serde_json::{Value, json};
use tidemark_local::startup::RunningStack;

const EVENTS: &str = r#"
Orders:
  Type: EventBridgeRule
  Properties:
    EventBusName: orders
    Pattern: { source: [shop], detail: { total: [{ numeric: [">", 100] }] } }
Moved:
  Type: CloudWatchEvent
  Properties:
    Pattern: { source: [mover] }
    InputTransformer:
      InputPathsMap: { who: $.detail.who }
      InputTemplate: '{"do": "record", "text": "<who> moved"}'
Off:
  Type: EventBridgeRule
  Properties: { State: DISABLED, Pattern: { source: [shop] } }
News:
  Type: SNS
  Properties:
    Topic: arn:aws:sns:us-east-1:000000000000:news
    FilterPolicy: { kind: [hot], level: [{ numeric: [">=", 3] }] }
"#;

async fn put_events(running: &RunningStack, caller: &str, request: &Value) -> Response {
    let url = format!("{}/_local/eventbridge", running.admin.addresses.http);
    let signature = format!("AWS4-HMAC-SHA256 Credential={caller}/20261123/us-east-1/events/aws4_request");
    let request = Client::new().post(url).body(request.to_string()).header("authorization", signature);
    request.header("x-amz-target", "AWSEvents.PutEvents").send().await.unwrap()
}

pub(crate) async fn sns(running: &RunningStack, form: &str) -> Response {
    let url = format!("{}/_local/sns", running.admin.addresses.http);
    let request = Client::new().post(url).body(form.to_owned());
    request.header("content-type", "application/x-www-form-urlencoded").send().await.unwrap()
}

async fn recent(running: &RunningStack) -> Value {
    let url = format!("{}/_local/events", running.admin.addresses.http);
    Client::new().get(url).send().await.unwrap().json().await.unwrap()
}

#[tokio::test]
async fn event_reaches_the_matching_rules_function_as_on_aws() {
    let stage = Stage::new("", EVENTS);
    let running = stage.start().await;
    let entry = |total: u32| {
        let detail = json!({ "total": total }).to_string();
        json!({ "Source": "shop", "DetailType": "Order", "Detail": detail, "EventBusName": "orders", "Resources": ["r"] })
    };
    let request =
        json!({ "Entries": [entry(100), entry(101), { "Source": "shop", "DetailType": "Order", "Detail": "{" }] });
    let answer: Value = put_events(&running, "anybody", &request).await.json().await.unwrap();
    assert_eq!(answer["FailedEntryCount"], 1);
    assert_eq!(answer["Entries"][2], json!({ "ErrorCode": "MalformedDetail", "ErrorMessage": "Detail is malformed." }));

    stage.until("an event", |stage| !stage.recording().is_empty()).await;
    let event = stage.recording().remove(0);
    assert_eq!(event["id"], answer["Entries"][1]["EventId"]);
    let mut constant = event.clone();
    for own in ["id", "time"] {
        assert!(constant.as_object_mut().unwrap().remove(own).unwrap().is_string());
    }
    let expected = json!({
        "version": "0", "detail-type": "Order", "source": "shop", "account": "000000000000",
        "region": "us-east-1", "resources": ["r"], "detail": { "total": 101 }
    });
    assert_eq!(constant, expected);

    let recent = recent(&running).await;
    let items = recent["items"].as_array().unwrap();
    assert_eq!(items.len(), 2);
    assert_eq!((&items[0]["bus"], &items[0]["event"]), (&"orders".into(), &event));
    assert_eq!(items[0]["rules"][0]["name"], "tidemark-local-TestFunctionOrders");
    assert_eq!(items[1]["rules"], json!([]));
}

#[tokio::test]
async fn an_input_transformer_shapes_the_event_of_the_default_bus() {
    let stage = Stage::new("", EVENTS);
    let running = stage.start().await;
    let entry = json!({ "Source": "mover", "DetailType": "Moved", "Detail": "{\"who\":\"Ann\"}" });
    put_events(&running, "anybody", &json!({ "Entries": [entry] })).await.error_for_status().unwrap();
    stage.until("an event", |stage| !stage.recording().is_empty()).await;
    assert_eq!(stage.recording(), [json!({ "do": "record", "text": "Ann moved" })]);
}

#[tokio::test]
async fn rule_forwards_to_a_second_bus_but_no_third() {
    let events = "News: { Type: SNS, Properties: { Topic: !Ref Topic } }\n";
    let stage = Stage::new("", events);
    let resources = "
  Second: { Type: AWS::Events::EventBus, Properties: { Name: second } }
  Third: { Type: AWS::Events::EventBus, Properties: { Name: third } }
  Topic: { Type: AWS::SNS::Topic }
  First:
    Type: AWS::Events::Rule
    Properties: { EventPattern: { source: [shop] }, Targets: [{ Id: a, Arn: !GetAtt Second.Arn }] }
  Onward:
    Type: AWS::Events::Rule
    Properties:
      EventBusName: !Ref Second
      EventPattern: { source: [{ prefix: sh }] }
      Targets: [{ Id: a, Arn: !GetAtt Third.Arn }, { Id: b, Arn: !Ref Topic, InputPath: $.detail }]
";
    stage.add_resources(resources);
    let running = stage.start().await;
    let entry = json!({ "Source": "shop", "DetailType": "Order", "Detail": "{\"n\":1}" });
    put_events(&running, "anybody", &json!({ "Entries": [entry] })).await.error_for_status().unwrap();
    stage.until("a message", |stage| !stage.recording().is_empty()).await;
    assert_eq!(stage.recording()[0]["Records"][0]["Sns"]["Message"], r#"{"n":1}"#);
    let recent = recent(&running).await;
    let buses: Vec<&Value> = recent["items"].as_array().unwrap().iter().map(|item| &item["bus"]).collect();
    assert_eq!(buses, ["second", "default"]);
}

#[tokio::test]
async fn event_for_a_queue_reaches_the_queues_function() {
    let events = "Queue: { Type: SQS, Properties: { Queue: !GetAtt Failures.Arn } }\n";
    let stage = Stage::new("", events);
    let rule = "
  Rule:
    Type: AWS::Events::Rule
    Properties:
      EventPattern: { source: [shop] }
      Targets: [{ Id: a, Arn: !GetAtt Failures.Arn, InputPath: $.detail }]
";
    stage.add_resources(rule);
    let running = stage.start().await;
    let entry = json!({ "Source": "shop", "DetailType": "Order", "Detail": "{\"n\":1}" });
    put_events(&running, "anybody", &json!({ "Entries": [entry] })).await.error_for_status().unwrap();
    stage.until("a message", |stage| !stage.recording().is_empty()).await;
    assert_eq!(stage.recording()[0]["Records"][0]["body"], r#"{"n":1}"#);
}

#[tokio::test]
async fn put_events_above_limits_or_without_permission_does_nothing() {
    let stage = Stage::new("Role: !GetAtt Role.Arn\n", EVENTS);
    let role = "
  Role:
    Type: AWS::IAM::Role
    Properties:
      AssumeRolePolicyDocument: {}
      Policies:
        - PolicyName: events
          PolicyDocument: { Statement: [{ Effect: Allow, Action: events:PutEvents, Resource: '*orders' }] }
";
    stage.add_resources(role);
    let running = stage.start().await;
    let entry = |bus: &str| json!({ "Source": "a", "DetailType": "b", "Detail": "{}", "EventBusName": bus });
    let large =
        json!({ "Source": "a", "DetailType": "b", "Detail": json!({ "x": "y".repeat(1024 * 1024) }).to_string() });
    for (request, code) in [
        (json!({ "Entries": vec![entry("orders"); 11] }), "ValidationException"),
        (json!({ "Entries": [] }), "ValidationException"),
        (json!({ "Entries": [large] }), "ValidationException"),
        (json!({ "Entries": [entry("orders"), entry("default")] }), "AccessDeniedException"),
    ] {
        let answer = put_events(&running, "the-test_function", &request).await;
        assert_eq!(answer.status(), StatusCode::BAD_REQUEST);
        assert_eq!(answer.json::<Value>().await.unwrap()["__type"], code);
    }
    assert_eq!(recent(&running).await, json!({ "items": [] }));
    let request = json!({ "Entries": [entry("orders")] });
    assert_eq!(put_events(&running, "the-test_function", &request).await.status(), StatusCode::OK);
}

#[tokio::test]
async fn sns_message_that_passes_its_filter_reaches_the_function() {
    let stage = Stage::new("", EVENTS);
    let running = stage.start().await;
    let attribute = |number: u32, name: &str, kind: &str, value: &str| {
        let entry = format!("&MessageAttributes.entry.{number}");
        format!("{entry}.Name={name}{entry}.Value.DataType={kind}{entry}.Value.StringValue={value}")
    };
    let form = |text: &str, level: &str| {
        let topic = "arn%3Aaws%3Asns%3Aus-east-1%3A000000000000%3Anews";
        let attributes = attribute(1, "kind", "String", "hot") + &attribute(2, "level", "Number", level);
        format!("Action=Publish&TopicArn={topic}&Subject=Today&Message={text}{attributes}")
    };
    sns(&running, &form("low", "2")).await.error_for_status().unwrap();
    let answer = sns(&running, &form("high", "3")).await.text().await.unwrap();
    let id = answer.split_once("<MessageId>").unwrap().1.split_once("</MessageId>").unwrap().0.to_owned();

    stage.until("a message", |stage| !stage.recording().is_empty()).await;
    let event: aws_lambda_events::sns::SnsEvent = serde_json::from_value(stage.recording().remove(0)).unwrap();
    let record = &event.records[0];
    assert_eq!((record.event_source.as_str(), record.sns.message.as_str()), ("aws:sns", "high"));
    assert_eq!((&record.sns.message_id, record.sns.subject.as_deref()), (&id, Some("Today")));
    assert_eq!(record.sns.message_attributes["level"].value, "3");
    assert!(record.event_subscription_arn.starts_with("arn:aws:sns:us-east-1:000000000000:news:"));

    let missing = sns(&running, "Action=Publish&TopicArn=arn%3Aother&Message=m").await;
    assert_eq!(missing.status(), StatusCode::NOT_FOUND);
    assert!(missing.text().await.unwrap().contains("<Code>NotFound</Code>"));
}

#[tokio::test]
async fn a_failed_event_goes_to_the_topic_for_dead_letters() {
    let config = "
EventInvokeConfig: { MaximumRetryAttempts: 0 }
DeadLetterQueue: { Type: SNS, TargetArn: arn:aws:sns:us-east-1:000000000000:dead }
";
    let events = "
Dead: { Type: SNS, Properties: { Topic: arn:aws:sns:us-east-1:000000000000:dead } }
";
    let stage = Stage::new(config, events);
    let running = stage.start().await;
    let pool = running.admin.functions.get("the-test_function").unwrap();
    running.admin.functions.invoke_event(pool, r#"{"do":"fail"}"#.into());
    until("a dead letter", || !stage.recording().is_empty()).await;
    let sns = stage.recording().remove(0)["Records"][0]["Sns"].clone();
    assert_eq!(
        (&sns["Message"], &sns["TopicArn"]),
        (&r#"{"do":"fail"}"#.into(), &"arn:aws:sns:us-east-1:000000000000:dead".into())
    );
    assert_eq!(sns["MessageAttributes"]["ErrorMessage"]["Value"], "test_function was told to fail");
}

#[tokio::test]
async fn the_result_of_an_asynchronous_invocation_goes_to_its_destination() {
    let config = "
EventInvokeConfig:
  MaximumRetryAttempts: 0
  DestinationConfig:
    OnSuccess: { Type: EventBridge, Destination: arn:aws:events:us-east-1:000000000000:event-bus/default }
    OnFailure: { Type: EventBridge, Destination: arn:aws:events:us-east-1:000000000000:event-bus/default }
";
    let events = "
Failed:
  Type: EventBridgeRule
  Properties: { Pattern: { source: [lambda], detail-type: [{ suffix: Failure }] } }
";
    let stage = Stage::new(config, events);
    let running = stage.start().await;
    let pool = running.admin.functions.get("the-test_function").unwrap();
    running.admin.functions.invoke_event(pool, r#"{"do":"fail"}"#.into());
    until("a record", || !stage.recording().is_empty()).await;
    let event = stage.recording().remove(0);
    assert_eq!(event["detail-type"], "Lambda Function Invocation Result - Failure");
    let detail = &event["detail"];
    assert_eq!(detail["requestPayload"], json!({ "do": "fail" }));
    assert_eq!(detail["requestContext"]["condition"], "RetriesExhausted");
    assert_eq!(detail["requestContext"]["approximateInvokeCount"], 1);
    assert_eq!(detail["responseContext"]["functionError"], "Unhandled");
    assert_eq!(detail["responsePayload"]["errorMessage"], "test_function was told to fail");
}

#[tokio::test]
async fn throttled_asynchronous_invocation_uses_up_no_retry() {
    let config = "ReservedConcurrentExecutions: 1\nEventInvokeConfig: { MaximumRetryAttempts: 0 }";
    let stage = Stage::new(config, "");
    let running = stage.start().await;
    let pool = running.admin.functions.get("the-test_function").unwrap();
    let invoke = || running.admin.functions.invoke_event(pool, r#"{"do":"wait"}"#.into());
    invoke();
    stage.until("the first invocation", |stage| stage.recording().len() == 1).await;
    invoke();
    until("a throttled attempt", || pool.metrics().of(pool.subject()).contains_key("Throttles")).await;
    stage.open_gate();
    stage.until("the second invocation", |stage| stage.recording().len() == 2).await;
}

#[tokio::test]
async fn event_for_a_function_without_concurrency_fails_at_once() {
    let config = "
ReservedConcurrentExecutions: 0
EventInvokeConfig: { DestinationConfig: { OnFailure: { Type: SQS, Destination: !GetAtt Failures.Arn } } }
";
    let stage = Stage::new(config, "");
    let running = stage.start().await;
    let pool = running.admin.functions.get("the-test_function").unwrap();
    running.admin.functions.invoke_event(pool, "{}".into());
    let message = crate::queues::receive(&running, "failures").await.remove(0);
    let record: Value = serde_json::from_str(message["Body"].as_str().unwrap()).unwrap();
    let context = &record["requestContext"];
    assert_eq!(
        (&context["condition"], &context["approximateInvokeCount"]),
        (&json!("ZeroReservedConcurrency"), &json!(0))
    );
}

#[tokio::test]
async fn test_event_pattern_judges_patterns_and_events() {
    let stage = Stage::new("", EVENTS);
    let running = stage.start().await;
    let url = format!("{}/_local/eventbridge", running.admin.addresses.http);
    let test = async |pattern: &Value, event: &Value| {
        let request = json!({ "EventPattern": pattern.to_string(), "Event": event.to_string() });
        let request =
            Client::new().post(&url).header("x-amz-target", "AWSEvents.TestEventPattern").body(request.to_string());
        request.send().await.unwrap().json::<Value>().await.unwrap()
    };
    let event = json!({
        "id": "1", "account": "000000000000", "source": "shop", "time": "2026-01-01T00:00:00Z", "region": "us-east-1",
        "resources": [], "detail-type": "Order", "detail": { "path": "a/lib/b", "note": null, "text": "" }
    });
    for (detail, expected) in [
        (json!({ "path": [{ "wildcard": "*/lib/*" }], "note": [null], "text": [""] }), true),
        (json!({ "path": [{ "anything-but": { "wildcard": "*/lib/*" } }] }), false),
        (json!({ "$or": [{ "path": ["x"] }, { "text": [{ "exists": true }] }] }), true),
    ] {
        assert_eq!(test(&json!({ "source": ["shop"], "detail": detail }), &event).await, json!({ "Result": expected }));
    }
    for pattern in [json!({ "source": "shop" }), json!({ "source": [{ "like": "shop" }] }), json!([]), json!({})] {
        let refused = test(&pattern, &event).await;
        assert_eq!(refused["__type"], "InvalidEventPatternException", "{pattern}");
        assert!(refused["message"].as_str().unwrap().starts_with("Event pattern is not valid. Reason: "), "{refused}");
    }
    assert_eq!(
        test(&json!({ "source": ["shop"] }), &json!({ "source": "shop" })).await["__type"],
        "ValidationException"
    );
}

#[tokio::test]
async fn filter_policy_of_the_body_looks_into_nested_keys() {
    let events = r#"
News:
  Type: SNS
  Properties:
    Topic: arn:aws:sns:us-east-1:000000000000:news
    FilterPolicyScope: MessageBody
    FilterPolicy: { a: { b: [{ anything-but: { prefix: [x, y] } }] }, $or: [{ ip: [{ cidr: 10.0.0.0/8 }] }, { name: [{ equals-ignore-case: ANN }] }] }
Dotted:
  Type: SNS
  Properties:
    Topic: arn:aws:sns:us-east-1:000000000000:dotted
    FilterPolicy: { order.kind: [{ suffix: hot }] }
"#;
    let stage = Stage::new("", events);
    let running = stage.start().await;
    let topic = "arn%3Aaws%3Asns%3Aus-east-1%3A000000000000%3A";
    for text in
        [r#"{"a":{"b":"xy"},"ip":"10.1.1.1"}"#, r#"{"a":{"b":"z"},"ip":"11.1.1.1"}"#, r#"{"a":{"b":"z"},"name":"Ann"}"#]
    {
        sns(&running, &format!("Action=Publish&TopicArn={topic}news&Message={text}")).await.error_for_status().unwrap();
    }
    for kind in ["cold", "red-hot"] {
        let entry = "&MessageAttributes.entry.1";
        let attribute = format!("{entry}.Name=order.kind{entry}.Value.DataType=String{entry}.Value.StringValue={kind}");
        sns(&running, &format!("Action=Publish&TopicArn={topic}dotted&Message={kind}{attribute}"))
            .await
            .error_for_status()
            .unwrap();
    }
    stage.until("two messages", |stage| stage.recording().len() == 2).await;
    let mut texts: Vec<Value> =
        stage.recording().iter().map(|event| event["Records"][0]["Sns"]["Message"].clone()).collect();
    texts.sort_by_key(ToString::to_string);
    assert_eq!(texts, [json!("red-hot"), json!(r#"{"a":{"b":"z"},"name":"Ann"}"#)]);
}
