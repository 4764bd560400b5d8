//! WebSocket APIs in small templates.

use std::collections::BTreeMap;
use std::time::Duration;

use super::{function, problem, problems, read};
use crate::stack::{Throttle, WebSocketApi, WebSocketRoute};

/// A WebSocket API with one route; each argument is inserted into the properties of its part.
fn sockets(api: &str, stage: &str, route: &str, integration: &str) -> String {
    let uri =
        "arn:${AWS::Partition}:apigateway:${AWS::Region}:lambda:path/2015-03-31/functions/${Worker.Arn}/invocations";
    format!(
        "Resources:
{}      Environment: {{ Variables: {{ URL: !Sub 'https://${{Game}}.execute-api.${{AWS::Region}}.${{AWS::URLSuffix}}/${{Live}}' }} }}
  Game:
    Type: AWS::ApiGatewayV2::Api
    Properties: {{ Name: game, ProtocolType: WEBSOCKET, RouteSelectionExpression: $request.body.action{api} }}
  Live:
    Type: AWS::ApiGatewayV2::Stage
    Properties: {{ ApiId: !Ref Game, StageName: live, AutoDeploy: true{stage} }}
  Say:
    Type: AWS::ApiGatewayV2::Route
    Properties: {{ ApiId: !Ref Game, RouteKey: say, OperationName: Say, Target: !Sub 'integrations/${{SayWorker}}'{route} }}
  SayWorker:
    Type: AWS::ApiGatewayV2::Integration
    Properties: {{ ApiId: !Ref Game, IntegrationType: AWS_PROXY, IntegrationUri: !Sub '{uri}'{integration} }}
",
        function("{}")
    )
}

#[test]
fn a_websocket_api_is_assembled_from_its_parts() {
    let answering = "
  SayAnswer:
    Type: AWS::ApiGatewayV2::RouteResponse
    Properties: { ApiId: !Ref Game, RouteId: !Ref Say, RouteResponseKey: $default }
  Allowed:
    Type: AWS::Lambda::Permission
    Properties: { Action: lambda:InvokeFunction, FunctionName: !Ref Worker, Principal: apigateway.amazonaws.com }
";
    let settings = ", DefaultRouteSettings: { ThrottlingRateLimit: 500, ThrottlingBurstLimit: 1000 }, \
                    RouteSettings: { say: { ThrottlingRateLimit: 5, ThrottlingBurstLimit: 6 } }";
    let response = ", AuthorizationType: NONE, RouteResponseSelectionExpression: $default";
    let yaml = sockets("", settings, response, ", TimeoutInMillis: 5000") + answering;
    let stack = read(&yaml, &BTreeMap::new()).unwrap_or_else(|error| panic!("{error}")).stack;
    let say = WebSocketRoute {
        route_key: "say".to_owned(),
        function: "Worker".to_owned(),
        timeout: Duration::from_secs(5),
        responds: true,
        throttle: Some(Throttle { rate_per_s: 5.0, burst: 6 }),
        authorizer: None,
    };
    let api = WebSocketApi {
        logical_id: "Game".to_owned(),
        selection: vec!["action".to_owned()],
        stage: "live".to_owned(),
        throttle: Some(Throttle { rate_per_s: 500.0, burst: 1000 }),
        routes: vec![say],
    };
    assert_eq!(stack.web_socket_api, Some(api));
    assert_eq!(stack.functions[0].environment["URL"], "https://Game.execute-api.us-east-1.amazonaws.com/live");
}

#[test]
fn a_route_without_a_response_does_not_respond() {
    let yaml = sockets("", "", ", RouteResponseSelectionExpression: $default", "");
    let stack = read(&yaml, &BTreeMap::new()).unwrap().stack;
    let api = stack.web_socket_api.unwrap();
    assert!(!api.routes[0].responds);
    assert_eq!((api.throttle, api.routes[0].timeout), (None, Duration::from_secs(29)));
}

#[test]
fn unsupported_parts_of_a_websocket_api_are_rejected_with_position() {
    let valid = sockets("", "", "", "");
    for (right, wrong, line, expected) in [
        ("ProtocolType: WEBSOCKET", "ProtocolType: MQTT", 11, "ProtocolType must be HTTP or WEBSOCKET, not MQTT"),
        ("$request.body.action", "$request.header.action", 11, "is not of the form $request.body.action"),
        ("StageName: live", "StageName: a/b", 14, "is not a stage name"),
        (
            "StageName: live",
            "StageName: live, RouteSettings: { x: { ThrottlingRateLimit: 1, ThrottlingBurstLimit: 1 } }",
            14,
            "there is no route x",
        ),
        ("ApiId: !Ref Game, StageName", "ApiId: !Ref Say, StageName", 14, "Say is not an AWS::ApiGatewayV2::Api"),
        ("RouteKey: say", "RouteKey: $say", 17, "the keys with $ are $connect"),
        ("RouteKey: say", "RouteKey: say, AuthorizationType: CUSTOM", 17, "only $connect of a WebSocket API"),
        ("integrations/", "", 17, "not of the form integrations/<integration>"),
        ("integrations/${SayWorker}", "integrations/Game", 17, "Game is not an AWS::ApiGatewayV2::Integration"),
        ("AWS_PROXY", "HTTP_PROXY", 20, "IntegrationType must be AWS_PROXY"),
        ("/invocations'", "'", 20, "is not the ARN of a function's invocations"),
        (
            "${Worker.Arn}",
            "arn:aws:lambda:us-east-1:000000000000:function:other",
            20,
            "not a function of this template",
        ),
    ] {
        assert!(valid.contains(right), "{right}");
        let problems = problems(&valid.replace(right, wrong));
        let found = problems.iter().any(|problem| problem.line == line && problem.message.contains(expected));
        assert!(found, "{wrong}: {problems:#?}");
    }
}

#[test]
fn template_has_one_websocket_api_stage_and_route_per_key() {
    let valid = sockets("", "", "", "");
    let part = |name: &str| {
        let start = valid.find(&format!("  {name}:\n")).unwrap();
        let end = valid[start + 3..]
            .match_indices("\n  ")
            .map(|(at, _)| start + 3 + at)
            .find(|at| !valid[at + 3..].starts_with(' '));
        valid[start..end.unwrap_or(valid.len() - 1)].to_owned() + "\n"
    };
    for (name, expected) in [
        ("Game", "only one WebSocket API is supported on this machine, and Game is the first"),
        ("Live", "only one stage is supported on this machine, and live is the first"),
        ("Say", "the route say already exists"),
    ] {
        let second = part(name).replacen(name, "Second", 1);
        let (_, message) = problem(&format!("{valid}{second}"));
        assert_eq!(message, expected);
    }
    let (_, message) = problem(&valid.replace(&part("Live"), "").replace("/${Live}", ""));
    assert_eq!(message, "Game has no AWS::ApiGatewayV2::Stage");
}
