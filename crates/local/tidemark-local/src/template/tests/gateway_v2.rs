//! HTTP APIs that are written as `AWS::ApiGatewayV2::*`.

use std::time::Duration;

use super::{function, ignored, problems, stack};
use crate::stack::{
    ApiKind, AuthorizerEvent, AuthorizerKind, IdentitySource, PayloadFormat, Route, RouteAuthorizer, Throttle,
};

fn parts() -> String {
    let invocations =
        "!Sub 'arn:aws:apigateway:${AWS::Region}:lambda:path/2015-03-31/functions/${Worker.Arn}/invocations'";
    format!(
        "{}  Shop:
    Type: AWS::ApiGatewayV2::Api
    Properties: {{ Name: shop, ProtocolType: HTTP, CorsConfiguration: {{ AllowOrigins: ['*'] }} }}
  Stage:
    Type: AWS::ApiGatewayV2::Stage
    Properties:
      ApiId: !Ref Shop
      StageName: $default
      AutoDeploy: true
      StageVariables: {{ color: red }}
      DefaultRouteSettings: {{ ThrottlingRateLimit: 5, ThrottlingBurstLimit: 6 }}
  List:
    Type: AWS::ApiGatewayV2::Route
    Properties: {{ ApiId: !Ref Shop, RouteKey: 'GET /items/{{id}}', Target: !Join [/, [integrations, !Ref Worker2]] }}
  Buy:
    Type: AWS::ApiGatewayV2::Route
    Properties:
      ApiId: !Ref Shop
      RouteKey: POST /items
      Target: !Sub 'integrations/${{Worker2}}'
      AuthorizationType: JWT
      AuthorizerId: !Ref Tokens
      AuthorizationScopes: [write]
  Worker2:
    Type: AWS::ApiGatewayV2::Integration
    Properties:
      ApiId: !Ref Shop
      IntegrationType: AWS_PROXY
      IntegrationUri: !GetAtt Worker.Arn
      PayloadFormatVersion: '2.0'
  Tokens:
    Type: AWS::ApiGatewayV2::Authorizer
    Properties:
      ApiId: !Ref Shop
      Name: tokens
      AuthorizerType: JWT
      IdentitySource: [$request.header.X-Auth]
      JwtConfiguration: {{ Issuer: 'https://issuer.example/', Audience: [shop] }}
  Function:
    Type: AWS::ApiGatewayV2::Authorizer
    Properties:
      ApiId: !Ref Shop
      Name: function
      AuthorizerType: REQUEST
      AuthorizerPayloadFormatVersion: '2.0'
      AuthorizerResultTtlInSeconds: 0
      EnableSimpleResponses: true
      IdentitySource: [$request.querystring.key, $context.identity.sourceIp]
      AuthorizerUri: {invocations}
",
        function("{}")
    )
}

#[test]
fn an_http_api_is_assembled_from_its_parts() {
    let stack = stack(&parts());
    let api = &stack.http_apis[0];
    assert_eq!((api.logical_id.as_str(), api.kind, api.stage.as_str()), ("Shop", ApiKind::Http, "$default"));
    assert_eq!(api.throttle, Some(Throttle { rate_per_s: 5.0, burst: 6 }));
    assert_eq!(api.stage_variables["color"], "red");
    assert!(api.cors.is_some());
    let list = Route { authorizer: RouteAuthorizer::None, ..Route::new("Shop", "GET /items/{id}", PayloadFormat::V2) };
    let buy = Route {
        authorizer: RouteAuthorizer::Named("Tokens".to_owned()),
        scopes: vec!["write".to_owned()],
        ..Route::new("Shop", "POST /items", PayloadFormat::V2)
    };
    assert_eq!(stack.functions[0].routes, [list, buy]);
    let AuthorizerKind::Jwt(tokens) = &api.authorizers[0].kind else { panic!("{api:?}") };
    assert_eq!(tokens.issuer, "https://issuer.example/");
    assert_eq!(tokens.identity, IdentitySource::Header("X-Auth".to_owned()));
    let AuthorizerKind::Lambda(function) = &api.authorizers[1].kind else { panic!("{api:?}") };
    assert_eq!((function.function.as_str(), function.event), ("Worker", AuthorizerEvent::RequestV2));
    assert_eq!((function.simple_responses, function.ttl), (true, Duration::ZERO));
    let sources = [IdentitySource::Query("key".to_owned()), IdentitySource::Context("identity.sourceIp".to_owned())];
    assert_eq!(function.identity, sources);
}

#[test]
fn an_api_with_a_target_has_one_route_for_everything() {
    let quick = "  Quick:
    Type: AWS::ApiGatewayV2::Api
    Properties: { Name: quick, ProtocolType: HTTP, Target: !GetAtt Worker.Arn }
";
    let yaml = format!("{}{quick}", function("{}"));
    assert_eq!(stack(&yaml).functions[0].routes, [Route::new("Quick", "$default", PayloadFormat::V2)]);
    assert_eq!(ignored(&format!("Resources:\n{yaml}")), Vec::<String>::new());
}

#[test]
fn unsupported_parts_of_an_http_api_are_rejected_with_position() {
    let valid = format!("Resources:\n{}", parts());
    for (right, wrong, expected) in [
        ("RouteKey: POST /items", "RouteKey: items", "\"items\" is not a route key"),
        ("IntegrationType: AWS_PROXY", "IntegrationType: HTTP_PROXY", "IntegrationType must be AWS_PROXY"),
        ("AuthorizerId: !Ref Tokens", "AuthorizerId: Nobody", "there is no authorizer Nobody"),
        ("Audience: [shop]", "Audience: []", "audience is missing"),
        ("$request.querystring.key", "$request.body.key", "is not a source of an identity"),
        ("ProtocolType: HTTP", "ProtocolType: HTTP, Body: {}", "this is no OpenAPI document"),
        ("ProtocolType: HTTP", "ProtocolType: HTTP, BodyS3Location: {}", "write the document as Body"),
    ] {
        assert!(valid.contains(right), "{right}");
        let problems = problems(&valid.replace(right, wrong));
        assert!(problems.iter().any(|problem| problem.message.contains(expected)), "{wrong}: {problems:#?}");
    }
}
