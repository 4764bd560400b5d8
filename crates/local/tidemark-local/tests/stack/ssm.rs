//! Parameters of Systems Manager, and services that are not on this machine.

use crate::support::Stage;
use reqwest::Client;
use serde_json::{Value, json};
use tidemark_local::startup::RunningStack;

const PARAMETERS: &str = "
  Level: { Type: AWS::SSM::Parameter, Properties: { Name: /shop/level, Type: String, Value: info } }
  Key: { Type: AWS::SSM::Parameter, Properties: { Name: /shop/deep/key, Type: SecureString, Value: secret } }
  Reader:
    Type: AWS::Serverless::Function
    Metadata: { BuildProperties: { Binary: test_function } }
    Properties:
      Runtime: provided.al2023
      FunctionName: reader
      Policies: [{ SSMParameterReadPolicy: { ParameterName: shop/level } }]
";

async fn start(more: &[&str]) -> (Stage, RunningStack) {
    let stage = Stage::new("", "");
    stage.add_resources(PARAMETERS.trim_matches('\n'));
    let running = stage.try_start(more).await.unwrap();
    (stage, running)
}

async fn post(url: String, caller: &str, service: &str, target: &str, request: &Value) -> (u16, Value) {
    let signature = format!("AWS4-HMAC-SHA256 Credential={caller}/20261124/us-east-1/{service}/aws4_request");
    let request = Client::new()
        .post(url)
        .header("authorization", signature)
        .header("x-amz-target", target)
        .body(request.to_string());
    let response = request.send().await.unwrap();
    (response.status().as_u16(), response.json().await.unwrap())
}

async fn ssm(running: &RunningStack, caller: &str, operation: &str, request: Value) -> (u16, Value) {
    let url = format!("{}/_local/ssm/", running.admin.addresses.http);
    post(url, caller, "ssm", &format!("AmazonSSM.{operation}"), &request).await
}

#[tokio::test]
async fn parameters_are_read_by_name_and_path_and_put() {
    let (_stage, running) = start(&[]).await;
    let (_, level) = ssm(&running, "local", "GetParameter", json!({ "Name": "/shop/level" })).await;
    assert_eq!((&level["Parameter"]["Value"], &level["Parameter"]["Version"]), (&json!("info"), &json!(1)));
    let names = json!({ "Names": ["/shop/deep/key", "/nowhere"], "WithDecryption": true });
    let (_, both) = ssm(&running, "local", "GetParameters", names).await;
    assert_eq!((&both["Parameters"][0]["Value"], &both["InvalidParameters"]), (&json!("secret"), &json!(["/nowhere"])));
    let (_, hidden) = ssm(&running, "local", "GetParameter", json!({ "Name": "/shop/deep/key" })).await;
    assert_ne!(hidden["Parameter"]["Value"], "secret");

    let put = |overwrite: bool| json!({ "Name": "/shop/level", "Value": "debug", "Overwrite": overwrite });
    assert_eq!(ssm(&running, "local", "PutParameter", put(false)).await.1["__type"], "ParameterAlreadyExists");
    assert_eq!(ssm(&running, "local", "PutParameter", put(true)).await.1["Version"], 2);
    let below = |recursive: bool, next: &Value| json!({ "Path": "/shop", "Recursive": recursive, "MaxResults": 1, "NextToken": next });
    let (_, direct) = ssm(&running, "local", "GetParametersByPath", below(false, &Value::Null)).await;
    assert_eq!((&direct["Parameters"][0]["Value"], &direct["NextToken"]), (&json!("debug"), &Value::Null));
    let (_, first) = ssm(&running, "local", "GetParametersByPath", below(true, &Value::Null)).await;
    let (_, second) = ssm(&running, "local", "GetParametersByPath", below(true, &first["NextToken"])).await;
    let pages = [&first["Parameters"][0]["Name"], &second["Parameters"][0]["Name"], &second["NextToken"]];
    assert_eq!(pages, [&json!("/shop/deep/key"), &json!("/shop/level"), &Value::Null]);
    let (status, missing) = ssm(&running, "local", "GetParameter", json!({ "Name": "/nowhere" })).await;
    assert_eq!((status, &missing["__type"]), (400, &json!("ParameterNotFound")));
}

#[tokio::test]
async fn a_function_reads_only_the_parameters_of_its_role() {
    let (_stage, running) = start(&[]).await;
    assert_eq!(ssm(&running, "reader", "GetParameter", json!({ "Name": "/shop/level" })).await.0, 200);
    for (operation, request) in [
        ("GetParameter", json!({ "Name": "/shop/deep/key" })),
        ("GetParameters", json!({ "Names": ["/shop/level", "/shop/deep/key"] })),
        ("PutParameter", json!({ "Name": "/shop/level", "Value": "x", "Overwrite": true })),
    ] {
        let (status, refusal) = ssm(&running, "reader", operation, request).await;
        assert_eq!((status, &refusal["__type"]), (400, &json!("AccessDeniedException")), "{operation}");
    }
}

/// The address for services that the stack does not have.
async fn other_services(running: &RunningStack) -> String {
    let url = format!("{}/_local/environment", running.admin.addresses.http);
    let variables = Client::new().get(url).send().await.unwrap().text().await.unwrap();
    let value = variables.lines().find_map(|line| line.strip_prefix("AWS_ENDPOINT_URL="));
    value.unwrap().to_owned()
}

#[tokio::test]
async fn missing_aws_service_is_named_unless_an_emulator_has_it() {
    let (_stage, running) = start(&[]).await;
    let endpoint = other_services(&running).await;
    let (status, refusal) = post(format!("{endpoint}/"), "reader", "rekognition", "Any.Detect", &json!({})).await;
    assert_eq!((status, &refusal["__type"]), (501, &json!("ServiceNotOnThisMachine")));
    assert!(refusal["message"].as_str().unwrap().starts_with("rekognition is not on this machine"), "{refusal}");
    let signature = "AWS4-HMAC-SHA256 Credential=reader/20261124/us-east-1/sts/aws4_request";
    let request = Client::new().post(&endpoint).header("authorization", signature);
    let request = request.header("content-type", "application/x-www-form-urlencoded; charset=utf-8");
    let response = request.body("Action=GetCallerIdentity&Version=2011-06-15").send().await.unwrap();
    assert_eq!((response.status().as_u16(), &response.headers()["content-type"]), (501, &"text/xml".parse().unwrap()));
    let refusal = response.text().await.unwrap();
    assert!(refusal.contains("<Code>ServiceNotOnThisMachine</Code><Message>sts is not on this machine"), "{refusal}");
    running.stop().await;

    let (_stage, running) = start(&["--aws-endpoint=http://127.0.0.1:4566/"]).await;
    assert_eq!(other_services(&running).await, "http://127.0.0.1:4566");
}
