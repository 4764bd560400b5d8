//! OpenAPI documents of APIs: what is refused, and where.

use super::{function, ignored, problem, problems};

/// A template with a function and an API with this document, in flow style.
fn document(body: &str) -> String {
    api("AWS::Serverless::Api", "StageName: v1,", &format!("DefinitionBody: {{ openapi: 3.0.1, {body} }}"))
}

fn api(kind: &str, more: &str, document: &str) -> String {
    format!("Resources:\n{}  Api:\n    Type: {kind}\n    Properties: {{ {more} {document} }}\n", function("{}"))
}

const LAMBDA: &str = "x-amazon-apigateway-integration: { type: aws_proxy, uri: !Sub 'arn:aws:apigateway:us-east-1:lambda:path/2015-03-31/functions/${Worker.Arn}/invocations' }";

#[test]
fn unsupported_part_of_a_document_is_refused_by_path() {
    let integration =
        |more: &str| format!("paths: {{ /a: {{ get: {{ x-amazon-apigateway-integration: {{ {more} }} }} }} }}");
    let cases = [
        (
            integration("type: http, uri: 'https://a.example'"),
            "get.x-amazon-apigateway-integration.type",
            "\"http\" are not supported",
        ),
        (
            integration("type: aws_proxy, uri: 'arn:aws:lambda:us-east-1:1:function:other'"),
            "integration.uri",
            "not a function of this template",
        ),
        (
            integration("type: mock, requestTemplates: { application/json: '#set($a = 1)' }"),
            "requestTemplates.application/json",
            "$ or #",
        ),
        (
            integration("type: mock, responses: { '404': { statusCode: 404 } }"),
            "x-amazon-apigateway-integration",
            "response for the status 200",
        ),
        (integration("$ref: '#/components/other'"), "x-amazon-apigateway-integration.$ref", "not in this document"),
        ("paths: { /a: { get: {} } }".to_owned(), "paths./a.get", "GET /a has no x-amazon-apigateway-integration"),
        (
            format!("paths: {{ /a: {{ get: {{ security: [{{ Own: [] }}], {LAMBDA} }} }} }}"),
            "paths./a.get.security",
            "there is no security scheme Own",
        ),
        (
            format!("paths: {{ /a: {{ get: {{ x-amazon-apigateway-request-validator: all, {LAMBDA} }} }} }}"),
            "get.x-amazon-apigateway-request-validator",
            "no request validator all",
        ),
        (
            format!("x-amazon-apigateway-next: 1, paths: {{ /a: {{ get: {{ {LAMBDA} }} }} }}"),
            "DefinitionBody.x-amazon-apigateway-next",
            "not supported",
        ),
        (
            format!(
                "components: {{ securitySchemes: {{ Pool: {{ type: apiKey, x-amazon-apigateway-authorizer: {{ type: cognito_user_pools }} }} }} }}, paths: {{ /a: {{ get: {{ {LAMBDA} }} }} }}"
            ),
            "securitySchemes.Pool.x-amazon-apigateway-authorizer.type",
            "type cognito_user_pools are not supported",
        ),
        (
            format!(
                "x-amazon-apigateway-request-validators: {{ all: {{ validateRequestBody: true }} }}, paths: {{ /a: {{ post: {{ x-amazon-apigateway-request-validator: all, requestBody: {{ content: {{ application/json: {{ schema: {{ type: 7 }} }} }} }}, {LAMBDA} }} }} }}"
            ),
            "application/json.schema",
            if cfg!(feature = "models") { "no JSON schema" } else { "" },
        ),
    ];
    for (body, path, message) in cases.iter().filter(|(.., message)| !message.is_empty()) {
        let problems = problems(&document(body));
        let found = problems.iter().any(|problem| problem.path.ends_with(path) && problem.message.contains(message));
        assert!(found, "{body}: {problems:#?}");
    }
}

#[test]
fn api_without_a_route_that_works_is_refused() {
    for body in ["paths: {}", "info: { title: nothing }"] {
        assert_eq!(problem(&document(body)).1, "no route of Api works on this machine");
    }
    let (_, message) = problem(&api("AWS::Serverless::HttpApi", "", "Description: empty"));
    assert_eq!(message, "no route of Api works on this machine");
}

#[test]
fn document_outside_of_the_machine_is_refused() {
    for uri in ["'s3://bucket/api.yaml'", "{ Bucket: bucket, Key: api.yaml }", "missing.yaml"] {
        let problems = problems(&api("AWS::Serverless::HttpApi", "", &format!("DefinitionUri: {uri}")));
        assert!(problems.iter().any(|problem| problem.path.ends_with("DefinitionUri")), "{problems:#?}");
    }
}

#[test]
fn burst_above_the_limit_is_lowered_with_a_warning() {
    let settings = "MethodSettings: [{ ThrottlingRateLimit: 1, ThrottlingBurstLimit: 20000 }]";
    let body = format!("paths: {{ /a: {{ get: {{ {LAMBDA} }} }} }}");
    let yaml = api(
        "AWS::Serverless::Api",
        &format!("StageName: v1, {settings},"),
        &format!("DefinitionBody: {{ openapi: 3.0.1, {body} }}"),
    );
    let told = ignored(&yaml);
    assert!(told.len() == 1 && told[0].contains("a burst of 20000 is above"), "{told:?}");
    let stack = super::read(&yaml, &Default::default()).unwrap().stack;
    assert_eq!(stack.http_apis[0].throttle.unwrap().burst, 10_000);
}

#[test]
fn document_route_replaces_the_event_of_the_same_route() {
    let event = "{ E: { Type: Api, Properties: { RestApiId: !Ref Api, Method: get, Path: /pets } } }";
    let document = document(&format!("paths: {{ /pets: {{ get: {{ {LAMBDA} }} }} }}"));
    for (own, others) in [(event, "{}"), ("{}", event)] {
        let other = function(others).replace("Worker:", "Other:").replace("worker", "other");
        let yaml = document.replace("Events: {}", &format!("Events: {own}"));
        let read = super::read(&yaml.replace("Resources:\n", &format!("Resources:\n{other}")), &Default::default());
        let stack = read.unwrap_or_else(|error| panic!("{error}")).stack;
        for function in &stack.functions {
            let routes: Vec<&str> = function.routes.iter().map(|route| route.route_key.as_str()).collect();
            let wanted: &[&str] = if function.logical_id == "Worker" { &["GET /pets"] } else { &[] };
            assert_eq!(routes, wanted, "{}", function.logical_id);
        }
    }
}
