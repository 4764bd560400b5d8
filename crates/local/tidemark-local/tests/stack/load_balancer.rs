//! A function behind a load balancer.

use crate::support::{BALANCER, Stage};
use reqwest::Client;
use serde_json::{Value, json};

/// A second group, with lists of values, for some paths.
const LISTS: &str = "
  Lists:
    Type: AWS::ElasticLoadBalancingV2::TargetGroup
    Properties:
      TargetType: lambda
      Targets: [{ Id: !GetAtt TestFunction.Arn }]
      TargetGroupAttributes: [{ Key: lambda.multi_value_headers.enabled, Value: 'true' }]
  Rule:
    Type: AWS::ElasticLoadBalancingV2::ListenerRule
    Properties:
      ListenerArn: !Ref Listener
      Priority: 1
      Conditions: [{ Field: path-pattern, PathPatternConfig: { Values: ['/lists/*'] } }]
      Actions: [{ Type: forward, ForwardConfig: { TargetGroups: [{ TargetGroupArn: !Ref Lists }] } }]
";

#[tokio::test]
async fn listener_passes_requests_to_its_rules_target_group() {
    let stage = Stage::new("", "");
    stage.add_resources(BALANCER);
    stage.add_resources(LISTS.trim_matches('\n'));
    let running = stage.start().await;
    assert_eq!(running.template.ignored, []);
    let apis = &running.admin.addresses.apis;
    let url = &apis.iter().find(|api| api.name == "Listener").unwrap().url;
    let ask = |path: &str| {
        let request = Client::new().post(format!("{url}{path}")).header("x-a", "1").header("x-a", "2").body("text");
        async move { request.send().await.unwrap() }
    };
    let event: Value = ask("/any/path?do=show&b=x%20y").await.json().await.unwrap();
    assert_eq!(
        (&event["httpMethod"], &event["path"], &event["body"]),
        (&json!("POST"), &json!("/any/path"), &json!("text"))
    );
    assert_eq!(event["queryStringParameters"], json!({ "do": "show", "b": "x%20y" }));
    assert_eq!(event["headers"]["x-a"], "2");
    let group = event["requestContext"]["elb"]["targetGroupArn"].as_str().unwrap();
    assert!(group.contains(":targetgroup/Listener/"), "{group}");
    let parsed: aws_lambda_events::alb::AlbTargetGroupRequest = serde_json::from_value(event.clone()).unwrap();
    assert_eq!(parsed.path.as_deref(), Some("/any/path"));
    let lists: Value = ask("/lists/a?do=show&n=1&n=2").await.json().await.unwrap();
    assert_eq!(lists["multiValueQueryStringParameters"]["n"], json!(["1", "2"]));
    assert_eq!((&lists["multiValueHeaders"]["x-a"], lists.get("headers")), (&json!(["1", "2"]), None));
    // Without a body of the right form, a load balancer has its own error.
    assert_eq!(ask("/any").await.status(), 502);
}
