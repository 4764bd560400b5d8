//! APIs that an OpenAPI document describes, and what REST APIs check before a function is called.

use crate::support::Stage;
use reqwest::{Client, Method, Response};
use serde_json::{Value, json};
use tidemark_local::startup::RunningStack;

const EVENTS: &str = "
Model:
  Type: Api
  Properties:
    RestApiId: !Ref Own
    Method: POST
    Path: /model
    RequestModel: { Model: Pet, ValidateBody: true, ValidateParameters: true }
    RequestParameters: [method.request.header.X-Id: { Required: true }, method.request.querystring.free]
Unchecked:
  Type: Api
  Properties: { RestApiId: !Ref Own, Method: POST, Path: /unchecked, RequestModel: { Model: Pet } }
Slow: { Type: Api, Properties: { RestApiId: !Ref Own, Method: GET, Path: /slow, TimeoutInMillis: 100 } }";

const APIS: &str = r#"
  Own:
    Type: AWS::Serverless::Api
    Properties:
      StageName: v1
      Models: { Pet: { type: object, required: [name], properties: { name: { type: string } } } }
      GatewayResponses:
        DEFAULT_4XX: { ResponseParameters: { Headers: { Access-Control-Allow-Origin: "'*'" } } }
        MISSING_AUTHENTICATION_TOKEN:
          StatusCode: 404
          ResponseTemplates: { application/json: '{"type": "$context.error.responseType", "text": $context.error.messageString}' }
  Rest:
    Type: AWS::Serverless::Api
    Properties:
      StageName: v1
      DefinitionBody:
        swagger: "2.0"
        info: { title: pets, version: "1" }
        securityDefinitions:
          Token:
            type: apiKey
            name: X-Token
            in: header
            x-amazon-apigateway-authtype: custom
            x-amazon-apigateway-authorizer:
              type: token
              authorizerUri: !Sub "arn:aws:apigateway:${AWS::Region}:lambda:path/2015-03-31/functions/${TestFunction.Arn}/invocations"
        x-amazon-apigateway-request-validators: { all: { validateRequestBody: true, validateRequestParameters: true } }
        x-amazon-apigateway-gateway-responses:
          UNAUTHORIZED: { statusCode: 418, responseParameters: { gatewayresponse.header.X-Why: "'no token'" } }
        definitions: { Name: { type: string }, Pet: { type: object, required: [name], properties: { name: { $ref: '#/definitions/Name' } } } }
        paths:
          /pets:
            post:
              x-amazon-apigateway-request-validator: all
              parameters:
                - { in: query, name: kind, required: true, type: string }
                - { in: body, name: pet, schema: { $ref: '#/definitions/Pet' } }
              x-amazon-apigateway-integration: &lambda
                type: aws_proxy
                httpMethod: POST
                uri: !Sub "arn:aws:apigateway:${AWS::Region}:lambda:path/2015-03-31/functions/${TestFunction.Arn}/invocations"
            options:
              x-amazon-apigateway-integration:
                type: mock
                requestTemplates: { application/json: '{ statusCode: 204 }' }
                responses:
                  default: { statusCode: 500 }
                  2\d{2}:
                    statusCode: 204
                    responseParameters: { method.response.header.Access-Control-Allow-Methods: "'POST,OPTIONS'" }
          /secret/{id}:
            x-amazon-apigateway-any-method: { security: [{ Token: [] }], x-amazon-apigateway-integration: *lambda }
  Http:
    Type: AWS::Serverless::HttpApi
    Properties:
      DefinitionUri: api.json
"#;

const DOCUMENT: &str = r##"{
  "openapi": "3.0.1",
  "info": { "title": "http", "version": "1" },
  "x-amazon-apigateway-cors": { "allowOrigins": ["https://page.example"], "allowMethods": ["GET"] },
  "paths": {
    "/things/{id}": { "get": { "x-amazon-apigateway-integration": { "$ref": "#/components/x-amazon-apigateway-integrations/own" } } },
    "/$default": { "x-amazon-apigateway-any-method": { "x-amazon-apigateway-integration": { "$ref": "#/components/x-amazon-apigateway-integrations/own" } } }
  },
  "components": { "x-amazon-apigateway-integrations": { "own": {
    "type": "AWS_PROXY", "payloadFormatVersion": "2.0", "uri": { "Fn::GetAtt": ["TestFunction", "Arn"] }
  } } }
}"##;

/// The folder is there as long as the stage.
async fn start() -> (Stage, RunningStack) {
    let stage = Stage::new("", EVENTS);
    stage.add_resources(APIS);
    std::fs::write(stage.path("api.json"), DOCUMENT).unwrap();
    let running = stage.start().await;
    (stage, running)
}

fn url(running: &RunningStack, name: &str) -> String {
    let apis = &running.admin.addresses.apis;
    apis.iter().find(|api| api.name == name).unwrap_or_else(|| panic!("{apis:?}")).url.clone()
}

async fn send(method: Method, url: &str, header: (&str, &str), body: &str) -> Response {
    Client::new().request(method, url).header(header.0, header.1).body(body.to_owned()).send().await.unwrap()
}

async fn status_and_body(response: Response) -> (u16, Value) {
    (response.status().as_u16(), response.json().await.unwrap_or_default())
}

#[tokio::test]
async fn rest_api_document_gives_routes_checks_and_mocks() {
    let (_stage, running) = start().await;
    let pets = format!("{}/pets", url(&running, "Rest"));
    let json = ("content-type", "application/json");
    let post = |query: &str, body: &'static str| {
        let url = format!("{pets}{query}");
        async move { status_and_body(send(Method::POST, &url, json, body).await).await }
    };
    let named = r#"{"name": "Rex"}"#;
    let missing = json!({ "message": "Missing required request parameters: [kind]" });
    for blank in ["?do=answer", "?kind=&do=answer", "?kind=%20&do=answer"] {
        assert_eq!(post(blank, named).await, (400, missing.clone()), "{blank}");
    }
    let invalid = json!({ "message": "Invalid request body" });
    for body in ["", "{}", r#"{"name": 1}"#] {
        assert_eq!(post("?kind=dog&do=answer", body).await, (400, invalid.clone()), "{body}");
    }
    assert_eq!(post("?kind=dog&do=answer", named).await.0, 418);
    let text = send(Method::POST, &format!("{pets}?kind=dog&do=answer"), ("content-type", "text/plain"), "{}").await;
    assert_eq!(text.status(), 418, "a body of another type is not checked");
    let preflight = send(Method::OPTIONS, &pets, ("origin", "https://page.example"), "").await;
    assert_eq!(
        (preflight.status().as_u16(), &preflight.headers()["access-control-allow-methods"]),
        (204, &"POST,OPTIONS".parse().unwrap())
    );
}

#[tokio::test]
async fn document_of_a_rest_api_gives_its_authorizers_and_refusals() {
    let (_stage, running) = start().await;
    let secret = format!("{}/secret/1?do=show", url(&running, "Rest"));
    let refused = send(Method::GET, &secret, ("x-other", "1"), "").await;
    assert_eq!((refused.status().as_u16(), &refused.headers()["x-why"]), (418, &"no token".parse().unwrap()));
    let (status, event) = status_and_body(send(Method::GET, &secret, ("X-Token", "abc"), "").await).await;
    assert_eq!((status, &event["requestContext"]["authorizer"]["principalId"]), (200, &json!("abc")), "{event}");
}

#[tokio::test]
async fn document_in_a_file_gives_an_http_api_its_routes() {
    let (_stage, running) = start().await;
    let http = url(&running, "Http");
    let (status, event) =
        status_and_body(send(Method::GET, &format!("{http}/things/7"), ("origin", "https://page.example"), "").await)
            .await;
    assert_eq!((status, &event["routeKey"]), (200, &json!("GET /things/{id}")), "{event}");
    let other = send(Method::PUT, &format!("{http}/any"), ("origin", "https://page.example"), "").await;
    assert_eq!(other.headers()["access-control-allow-origin"], "https://page.example");
    assert_eq!(other.json::<Value>().await.unwrap()["routeKey"], "$default");
}

#[tokio::test]
async fn event_of_a_rest_api_is_checked_and_timed_out() {
    let (_stage, running) = start().await;
    let own = url(&running, "Own");
    let post = |path: &str, header: &'static str, body: &'static str| {
        let url = format!("{own}{path}?do=answer");
        async move { send(Method::POST, &url, (header, "1"), body).await }
    };
    let missing = post("/model", "x-other", r#"{"name": "Rex"}"#).await;
    assert_eq!(missing.headers()["access-control-allow-origin"], "*", "of DEFAULT_4XX");
    let text = json!({ "message": "Missing required request parameters: [X-Id]" });
    assert_eq!(status_and_body(missing).await, (400, text));
    assert_eq!(post("/model", "x-id", "{}").await.status(), 400);
    assert_eq!(post("/model", "x-id", r#"{"name": "Rex"}"#).await.status(), 418);
    assert_eq!(post("/unchecked", "x-other", "{}").await.status(), 418, "it has no validator");
    let nowhere = status_and_body(post("/nowhere", "x-id", "").await).await;
    assert_eq!(
        nowhere,
        (404, json!({ "type": "MISSING_AUTHENTICATION_TOKEN", "text": "Missing Authentication Token" }))
    );
    let slow = status_and_body(send(Method::GET, &format!("{own}/slow?do=sleep"), ("a", "b"), "").await).await;
    assert_eq!(slow, (504, json!({ "message": "Endpoint request timed out" })));
}
