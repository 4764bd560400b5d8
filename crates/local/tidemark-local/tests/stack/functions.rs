//! Real Lambda binaries behind the stack's Runtime API: results, errors, crashes, timeouts, limits.

use crate::support::Stage;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use reqwest::{Client, Response, StatusCode};
use serde_json::{Value, json};
use tidemark_local::startup::RunningStack;

async fn invoke(running: &RunningStack, name: &str, event: &Value) -> Response {
    let url = format!("{}/2015-03-31/functions/{name}/invocations", running.admin.addresses.http);
    Client::new().post(url).body(event.to_string()).send().await.unwrap()
}

async fn failure(running: &RunningStack, event: Value) -> Value {
    let response = invoke(running, "test_function", &event).await;
    assert_eq!(response.status(), StatusCode::OK);
    assert_eq!(response.headers()["x-amz-function-error"], "Unhandled");
    response.json().await.unwrap()
}

async fn pid(running: &RunningStack) -> u64 {
    let context: Value = invoke(running, "test_function", &json!({"do": "context"})).await.json().await.unwrap();
    context["pid"].as_u64().unwrap()
}

async fn environment(running: &RunningStack, function: &str) -> Response {
    let url = format!("{}/_local/environment?function={function}", running.admin.addresses.http);
    Client::new().get(url).send().await.unwrap()
}

#[tokio::test]
async fn function_is_invoked_by_each_name_with_its_environment() {
    let running = Stage::new("AutoPublishAlias: live", "").start().await;
    for name in [
        "test_function",
        "the-test_function",
        "TestFunction",
        "arn:aws:lambda:us-east-1:000000000000:function:the-test_function",
        "arn:aws:lambda:us-east-1:000000000000:function:the-test_function:live",
        "the-test_function:live",
        "the-test_function:1",
        "the-test_function:$LATEST",
    ] {
        let response = invoke(&running, name, &json!({"do": "context"})).await;
        assert_eq!(response.headers()["x-amz-executed-version"], "$LATEST", "{name}");
        let context: Value = response.json().await.unwrap();
        assert_eq!(context["functionArn"], "arn:aws:lambda:us-east-1:000000000000:function:the-test_function");
        assert_eq!(context["greeting"], "hello from us-east-1");
        assert_eq!(context["memory"], "128");
        assert_eq!(context["dynamodb"], json!(running.admin.addresses.dynamodb));
        assert_eq!(context["timeLeft"], true);
        let variables = environment(&running, name).await.text().await.unwrap();
        assert!(variables.contains("GREETING=hello from us-east-1\n"), "{name}: {variables}");
    }
    assert_eq!(environment(&running, "nobody").await.status(), StatusCode::BAD_REQUEST);
    assert_eq!(invoke(&running, "the-test_function:other", &json!({})).await.status(), StatusCode::NOT_FOUND);
    for (qualifier, expected) in [("live", StatusCode::OK), ("other", StatusCode::NOT_FOUND)] {
        let url = format!("{}/2015-03-31/functions/the-test_function", running.admin.addresses.http);
        let invoked = Client::new().post(format!("{url}/invocations?Qualifier={qualifier}")).body("{}");
        assert_eq!(invoked.send().await.unwrap().status(), expected, "{qualifier}");
        let described = Client::new().get(format!("{url}/configuration?Qualifier={qualifier}"));
        assert_eq!(described.send().await.unwrap().status(), expected, "{qualifier}");
    }
}

#[tokio::test]
async fn warm_instance_is_reused_even_after_handler_errors() {
    let running = Stage::new("", "").start().await;
    let before = pid(&running).await;
    let error = failure(&running, json!({"do": "fail"})).await;
    assert!(error["errorMessage"].as_str().unwrap().contains("told to fail"), "{error}");
    assert_eq!(pid(&running).await, before);
}

#[tokio::test]
async fn an_instance_that_crashes_or_times_out_is_replaced() {
    let stage = Stage::new("", "");
    stage.replace("Timeout: 29", "Timeout: 2");
    let running = stage.start().await;
    let first = pid(&running).await;
    let error = failure(&running, json!({"do": "crash"})).await;
    assert_eq!(error["errorType"], "Runtime.ExitError");
    assert!(error["errorMessage"].as_str().unwrap().ends_with("exit status 7"), "{error}");
    let second = pid(&running).await;
    assert_ne!(second, first);
    let error = failure(&running, json!({"do": "sleep"})).await;
    assert_eq!(error["errorType"], "Sandbox.Timedout");
    assert!(error["errorMessage"].as_str().unwrap().ends_with("Task timed out after 2.00 seconds"), "{error}");
    assert_ne!(pid(&running).await, second);
}

#[tokio::test]
async fn concurrent_invocations_run_in_separate_instances() {
    let stage = Stage::new("", "");
    let running = stage.start().await;
    let wait = json!({"do": "wait"});
    let both_run = async {
        stage.until("the second invocation", |stage| stage.recording().len() == 2).await;
        stage.open_gate();
    };
    let invoke = || invoke(&running, "test_function", &wait);
    let (one, two, ()) = tokio::join!(invoke(), invoke(), both_run);
    assert!(one.status().is_success() && two.status().is_success());
    assert_eq!(running.admin.functions.get("test_function").unwrap().idle_instances(), 2);
}

#[tokio::test]
async fn calls_beyond_the_reserved_concurrency_are_throttled() {
    let stage = Stage::new("ReservedConcurrentExecutions: 1", "");
    let running = stage.start().await;
    let wait = json!({"do": "wait"});
    let invoke = || invoke(&running, "test_function", &wait);
    let second = async {
        stage.until("the first invocation", |stage| stage.recording().len() == 1).await;
        let second = invoke().await;
        stage.open_gate();
        second
    };
    let (first, second) = tokio::join!(invoke(), second);
    assert_eq!((first.status().as_u16(), second.status().as_u16()), (200, 429));
}

#[tokio::test]
async fn payloads_beyond_the_limits_of_lambda_are_rejected() {
    let running = Stage::new("", "").start().await;
    let error = failure(&running, json!({"do": "large"})).await;
    assert_eq!(error["errorType"], "Function.ResponseSizeTooLarge");
    let large = json!("x".repeat(6 * 1024 * 1024));
    let response = invoke(&running, "test_function", &large).await;
    assert_eq!(response.status(), StatusCode::PAYLOAD_TOO_LARGE);
    assert_eq!(response.headers()["x-amzn-errortype"], "RequestTooLargeException");
}

#[tokio::test]
async fn the_invoke_api_returns_the_errors_of_lambda() {
    let running = Stage::new("", "").start().await;
    let response = invoke(&running, "nobody", &json!({})).await;
    assert_eq!(response.status(), StatusCode::NOT_FOUND);
    assert_eq!(response.headers()["x-amzn-errortype"], "ResourceNotFoundException");
    let url = format!("{}/2015-03-31/functions/test_function/invocations", running.admin.addresses.http);
    let response = Client::new().post(&url).body("{not json").send().await.unwrap();
    assert_eq!(response.headers()["x-amzn-errortype"], "InvalidRequestContentException");
    let event = Client::new().post(&url).header("X-Amz-Invocation-Type", "Event").body("{}").send().await.unwrap();
    assert_eq!(event.status(), StatusCode::ACCEPTED);
}

#[tokio::test]
async fn function_invokes_another_only_with_a_policy() {
    let stage = Stage::new("", "");
    stage.replace("Policies: AdministratorAccess", "Policies: AWSLambdaBasicExecutionRole");
    let running = stage.start().await;
    let url = format!("{}/2015-03-31/functions/test_function/invocations", running.admin.addresses.http);
    let signed_by = |caller: &str| {
        let credential = format!("AWS4-HMAC-SHA256 Credential={caller}/20260101/us-east-1/lambda/aws4_request");
        Client::new().post(&url).header("Authorization", credential).body("{}").send()
    };
    let refused = signed_by("the-test_function").await.unwrap();
    assert_eq!(refused.status(), StatusCode::FORBIDDEN);
    assert_eq!(refused.headers()["x-amzn-errortype"], "AccessDeniedException");
    assert!(refused.text().await.unwrap().contains("is not authorized to perform: lambda:InvokeFunction"));
    assert_eq!(signed_by("somebody").await.unwrap().status(), StatusCode::OK);
}

#[tokio::test]
async fn function_invokes_an_alias_only_with_a_policy_for_it() {
    let stage = Stage::new("AutoPublishAlias: live", "");
    let alias = "arn:aws:lambda:us-east-1:000000000000:function:the-test_function:live";
    let statement = format!("{{ Effect: Allow, Action: lambda:InvokeFunction, Resource: '{alias}' }}");
    stage.replace("Policies: AdministratorAccess", &format!("Policies: {{ Statement: {statement} }}"));
    let running = stage.start().await;
    for (name, expected) in [(alias, StatusCode::OK), ("the-test_function", StatusCode::FORBIDDEN)] {
        let url = format!("{}/2015-03-31/functions/{name}/invocations", running.admin.addresses.http);
        let credential = "AWS4-HMAC-SHA256 Credential=the-test_function/20260101/us-east-1/lambda/aws4_request";
        let answer = Client::new().post(url).header("Authorization", credential).body("{}").send().await.unwrap();
        assert_eq!(answer.status(), expected, "{name}");
    }
}

#[tokio::test]
async fn failed_start_is_reported_with_the_functions_output() {
    let stage = Stage::new("", "");
    stage.replace("          GREETING:", "          INIT: exit\n          GREETING:");
    let error = stage.refusal().await;
    assert!(error.contains("test_function") && error.contains("exit status 3"), "{error}");
    assert!(error.contains("test_function cannot start: INIT says so"), "{error}");
}

#[tokio::test]
async fn invoke_returns_the_end_of_the_log_on_demand() {
    let running = Stage::new("", "").start().await;
    let url = format!("{}/2015-03-31/functions/test_function/invocations", running.admin.addresses.http);
    for (event, printed) in [(json!({"do": "print", "text": "hello log"}), "hello log\n"), (json!({"do": "crash"}), "")]
    {
        // On a busy machine a line may arrive after the answer, and is missing in it.
        let mut tries = 0..100;
        loop {
            let request = Client::new().post(&url).header("x-amz-log-type", "Tail").body(event.to_string());
            let response = request.send().await.unwrap();
            let id = response.headers()["x-amzn-requestid"].to_str().unwrap();
            let log = STANDARD.decode(&response.headers()["x-amz-log-result"]).unwrap();
            let log = String::from_utf8(log).unwrap();
            let begin =
                format!("START RequestId: {id} Version: $LATEST\n{printed}END RequestId: {id}\nREPORT RequestId: {id}");
            if log.starts_with(&begin) {
                break;
            }
            assert!(tries.next().is_some(), "{log}");
        }
    }
    let response = invoke(&running, "test_function", &json!({"do": "print", "text": "more"})).await;
    assert!(!response.headers().contains_key("x-amz-log-result"));
}

#[tokio::test]
async fn functions_are_described_and_listed() {
    let running = Stage::new("", "").start().await;
    let url = format!("{}/2015-03-31/functions", running.admin.addresses.http);
    let get = async |path: &str| {
        let response = Client::new().get(format!("{url}{path}")).send().await.unwrap();
        (response.status().as_u16(), response.json::<Value>().await.unwrap())
    };
    let (_, described) = get("/the-test_function").await;
    let configuration = &described["Configuration"];
    let shown = ["FunctionName", "Timeout", "MemorySize", "State"].map(|name| configuration[name].clone());
    assert_eq!(shown, [json!("the-test_function"), json!(29), json!(128), json!("Active")]);
    assert_eq!(get("/the-test_function/configuration").await.1, *configuration);
    let (_, listed) = get("/?MaxItems=1").await;
    assert_eq!((&listed["Functions"][0], &listed["NextMarker"]), (configuration, &Value::Null));
    assert_eq!(get("/?Marker=the-test_function").await.1["Functions"], json!([]));
    assert_eq!(get("/?MaxItems=none").await.0, 400);
    assert_eq!(get("/nobody").await.0, 404);
}
