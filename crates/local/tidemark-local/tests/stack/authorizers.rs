//! Authorizers: functions and signed tokens decide which requests reach a function.

use std::net::Ipv4Addr;

use crate::support::Stage;
use axum::Json;
use axum::Router;
use axum::routing::get;
use jsonwebtoken::jwk::Jwk;
use jsonwebtoken::{Algorithm, EncodingKey, Header, encode};
use reqwest::{Client, Method};
use serde_json::{Value, json};
use tidemark_local::startup::RunningStack;

/// The key of the tests' issuer, RSA as PKCS #1. No other system uses it.
const ISSUER_KEY: &[u8] = include_bytes!("support/issuer_key.der");

const EVENTS: &str = "
Open: { Type: Api, Properties: { RestApiId: !Ref Rest, Method: GET, Path: /open, Auth: { Authorizer: NONE } } }
Token: { Type: Api, Properties: { RestApiId: !Ref Rest, Method: ANY, Path: '/token/{id}' } }
Request: { Type: Api, Properties: { RestApiId: !Ref Rest, Method: GET, Path: /request, Auth: { Authorizer: ByRequest } } }
Simple: { Type: HttpApi, Properties: { ApiId: !Ref Http, Method: GET, Path: /simple, Auth: { Authorizer: Simple } } }
Old: { Type: HttpApi, Properties: { ApiId: !Ref Http, Method: GET, Path: /old, Auth: { Authorizer: Old } } }
Jwt: { Type: HttpApi, Properties: { ApiId: !Ref Http, Method: GET, Path: /jwt } }
Scoped: { Type: HttpApi, Properties: { ApiId: !Ref Http, Method: GET, Path: /scoped, Auth: { AuthorizationScopes: [write] } } }
";

const APIS: &str = r"
  Rest:
    Type: AWS::Serverless::Api
    Properties:
      StageName: prod
      Auth:
        DefaultAuthorizer: ByToken
        Authorizers:
          ByToken:
            FunctionArn: !GetAtt TestFunction.Arn
            Identity: { Header: X-Token, ValidationExpression: '[a-z]+' }
          ByRequest:
            FunctionPayloadType: REQUEST
            FunctionArn: !GetAtt TestFunction.Arn
            Identity: { Headers: [X-Token], QueryStrings: [tenant], ReauthorizeEvery: 0 }
  Http:
    Type: AWS::Serverless::HttpApi
    Properties:
      Auth:
        DefaultAuthorizer: Jwt
        Authorizers:
          Simple:
            AuthorizerPayloadFormatVersion: '2.0'
            EnableSimpleResponses: true
            FunctionArn: !GetAtt TestFunction.Arn
            Identity: { Headers: [X-Token] }
          Old:
            AuthorizerPayloadFormatVersion: '1.0'
            FunctionArn: !GetAtt TestFunction.Arn
            Identity: { Headers: [X-Token] }
          Jwt:
            IdentitySource: $request.header.Authorization
            JwtConfiguration: { issuer: 'ISSUER', audience: [shop] }
";

struct Apis {
    stage: Stage,
    running: RunningStack,
}

impl Apis {
    async fn start(issuer: &str) -> Self {
        let stage = Stage::new("", EVENTS.trim());
        stage.add_resources(&APIS.replace("ISSUER", issuer));
        let running = stage.start().await;
        assert_eq!(running.template.ignored, []);
        Self { stage, running }
    }

    /// The status and the body for a request with these headers.
    async fn ask(&self, api: &str, method: Method, path: &str, headers: &[(&str, &str)]) -> (u16, Value) {
        let apis = &self.running.admin.addresses.apis;
        let url = &apis.iter().find(|known| known.name == api).unwrap().url;
        let mut request = Client::new().request(method, format!("{url}{path}"));
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        let response = request.send().await.unwrap();
        (response.status().as_u16(), response.json().await.unwrap_or_default())
    }

    /// The number of requests for a decision.
    fn decisions(&self) -> usize {
        self.stage.recording().len()
    }
}

#[tokio::test]
async fn a_function_decides_about_requests_by_their_token() {
    let apis = Apis::start("http://127.0.0.1:1").await;
    let ask = |method: Method, token: &'static str| {
        let headers = [("x-token", token)];
        let apis = &apis;
        async move { apis.ask("Rest", method, "/token/7?do=show", &headers).await }
    };
    let (status, event) = ask(Method::GET, "member").await;
    assert_eq!(status, 200);
    let authorizer = &event["requestContext"]["authorizer"];
    assert_eq!(authorizer["principalId"], "member");
    // A REST API passes the context on as text.
    assert_eq!((&authorizer["tenant"], &authorizer["level"]), (&json!("blue"), &json!("3")));
    let asked = &apis.stage.recording()[0];
    let arn = "arn:aws:execute-api:us-east-1:000000000000:Rest/prod/GET/token/7";
    assert_eq!(asked, &json!({ "type": "TOKEN", "authorizationToken": "member", "methodArn": arn }));

    let denied = "User is not authorized to access this resource";
    let cases = [
        (Method::GET, "invalid", 401, json!({ "message": "Unauthorized" })),
        (Method::GET, "NotLowerCase", 401, json!({ "message": "Unauthorized" })),
        (Method::GET, "", 401, json!({ "message": "Unauthorized" })),
        (Method::GET, "broken", 500, json!({ "message": null })),
        (Method::GET, "stranger", 403, json!({ "Message": denied })),
        (Method::POST, "guest", 403, json!({ "Message": format!("{denied} with an explicit deny") })),
    ];
    for (method, token, status, body) in cases {
        assert_eq!(ask(method, token).await, (status, body), "{token}");
    }
    assert_eq!(ask(Method::GET, "guest").await.0, 200);
    assert_eq!(apis.ask("Rest", Method::GET, "/open?do=answer", &[]).await.0, 418);
    apis.running.stop().await;
}

#[tokio::test]
async fn authorizer_answer_is_cached_per_identity_for_its_ttl() {
    let apis = Apis::start("http://127.0.0.1:1").await;
    for _ in 0..3 {
        apis.ask("Rest", Method::GET, "/token/7?do=answer", &[("x-token", "guest")]).await;
    }
    assert_eq!(apis.decisions(), 1);
    // The kept policy also decides about other requests.
    assert_eq!(apis.ask("Rest", Method::POST, "/token/8?do=answer", &[("x-token", "guest")]).await.0, 403);
    assert_eq!(apis.decisions(), 1);
    for _ in 0..2 {
        let (status, event) =
            apis.ask("Rest", Method::GET, "/request?do=show&tenant=a", &[("x-token", "member")]).await;
        assert_eq!((status, &event["requestContext"]["authorizer"]["principalId"]), (200, &json!("member")));
    }
    assert_eq!(apis.decisions(), 3);
    let asked = apis.stage.recording().pop().unwrap();
    assert_eq!((&asked["type"], &asked["queryStringParameters"]["tenant"]), (&json!("REQUEST"), &json!("a")));
    assert_eq!(asked.get("body"), None);
    // Without one of its sources, a request has no identity.
    assert_eq!(apis.ask("Rest", Method::GET, "/request", &[("x-token", "member")]).await.0, 401);
    assert_eq!(apis.decisions(), 3);
    apis.running.stop().await;
}

#[tokio::test]
async fn an_http_api_asks_in_both_formats() {
    let apis = Apis::start("http://127.0.0.1:1").await;
    let (status, event) = apis.ask("Http", Method::GET, "/simple", &[("x-token", "member")]).await;
    let context = json!({ "lambda": { "tenant": "blue", "level": 3 } });
    assert_eq!((status, &event["requestContext"]["authorizer"]), (200, &context));
    let asked = apis.stage.recording().pop().unwrap();
    assert_eq!((&asked["version"], &asked["identitySource"]), (&json!("2.0"), &json!(["member"])));
    assert_eq!(asked["routeArn"], "arn:aws:execute-api:us-east-1:000000000000:Http/$default/GET/simple");
    let (status, event) = apis.ask("Http", Method::GET, "/old", &[("x-token", "member")]).await;
    assert_eq!((status, &event["requestContext"]["authorizer"]["lambda"]["level"]), (200, &json!(3)));
    assert_eq!(apis.stage.recording().pop().unwrap()["authorizationToken"], "member");
    let refused = |message: &str| json!({ "message": message });
    let cases = [
        ("/simple", "stranger", 403, "Forbidden"),
        ("/old", "stranger", 403, "Forbidden"),
        ("/simple", "invalid", 401, "Unauthorized"),
        ("/simple", "", 401, "Unauthorized"),
        ("/old", "broken", 500, "Internal Server Error"),
    ];
    for (path, token, status, message) in cases {
        let answer = apis.ask("Http", Method::GET, path, &[("x-token", token)]).await;
        assert_eq!(answer, (status, refused(message)), "{path} {token}");
    }
    apis.running.stop().await;
}

/// Serves the configuration and the public key of an issuer, and returns its address.
async fn serve_issuer() -> String {
    let listener = tokio::net::TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
    let issuer = format!("http://{}", listener.local_addr().unwrap());
    let mut key = Jwk::from_encoding_key(&EncodingKey::from_rsa_der(ISSUER_KEY), Algorithm::RS256).unwrap();
    key.common.key_id = Some("first".to_owned());
    let keys = json!({ "keys": [{ "kty": "unknown", "kid": "other" }, key] });
    let configuration = json!({ "issuer": issuer, "jwks_uri": format!("{issuer}/keys") });
    let router = Router::new()
        .route("/.well-known/openid-configuration", get(|| async { Json(configuration) }))
        .route("/keys", get(|| async { Json(keys) }));
    tokio::spawn(async move { axum::serve(listener, router).await });
    issuer
}

fn token(key_id: &str, claims: &Value) -> String {
    let header = Header { kid: Some(key_id.to_owned()), ..Header::new(Algorithm::RS256) };
    let token = encode(&header, claims, &EncodingKey::from_rsa_der(ISSUER_KEY)).unwrap();
    format!("Bearer {token}")
}

#[tokio::test]
async fn jwt_needs_valid_signature_issuer_audience_time_and_scope() {
    let issuer = serve_issuer().await;
    let apis = Apis::start(&issuer).await;
    let now = jiff::Timestamp::now().as_second();
    let claims = |more: Value| {
        let mut claims = json!({ "iss": issuer, "aud": ["shop", "other"], "exp": now + 60, "sub": "user-1", "n": 7 });
        claims.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        claims
    };
    let valid = token("first", &claims(json!({})));
    let (status, event) = apis.ask("Http", Method::GET, "/jwt", &[("authorization", &valid)]).await;
    assert_eq!(status, 200, "{event}");
    let jwt = &event["requestContext"]["authorizer"]["jwt"];
    let seen = [&jwt["claims"]["sub"], &jwt["claims"]["n"], &jwt["claims"]["aud"], &jwt["scopes"]];
    assert_eq!(seen, [&json!("user-1"), &json!("7"), &json!("[shop other]"), &Value::Null]);

    let client = token("first", &claims(json!({ "aud": null, "client_id": "shop" })));
    let mut forged = valid.clone();
    forged.replace_range(forged.len() - 6..forged.len() - 2, "AAAA");
    let cases = [
        ("/jwt", "", 401),
        ("/jwt", "Bearer no.token.here", 401),
        ("/jwt", &forged, 401),
        ("/jwt", &token("second", &claims(json!({}))), 401),
        ("/jwt", &token("first", &claims(json!({ "exp": now - 5 }))), 401),
        ("/jwt", &token("first", &claims(json!({ "nbf": now + 60 }))), 401),
        ("/jwt", &token("first", &claims(json!({ "aud": "another" }))), 401),
        ("/jwt", &token("first", &claims(json!({ "iss": "https://evil.example" }))), 401),
        ("/jwt", &client, 200),
        ("/scoped", &valid, 403),
        ("/scoped", &token("first", &claims(json!({ "scope": "read" }))), 403),
        ("/scoped", &token("first", &claims(json!({ "scope": "read write" }))), 200),
    ];
    for (path, token, status) in cases {
        let answer = apis.ask("Http", Method::GET, path, &[("authorization", token)]).await;
        assert_eq!(answer.0, status, "{path} {token} {}", answer.1);
    }
    apis.running.stop().await;
}

#[tokio::test]
async fn unreachable_jwt_issuer_is_an_error_of_the_api() {
    let apis = Apis::start("http://127.0.0.1:1").await;
    let bearer = token("first", &json!({}));
    let answer = apis.ask("Http", Method::GET, "/jwt", &[("authorization", &bearer)]).await;
    assert_eq!(answer, (500, json!({ "message": "Internal Server Error" })));
    apis.running.stop().await;
}
