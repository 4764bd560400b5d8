//! Each action of each service: done, or refused with its name in the protocol of the service.

use crate::support::Stage;
use reqwest::{Client, Method, StatusCode};
use serde_json::Value;
use tidemark_local::startup::RunningStack;

/// How a service is called.
enum Protocol {
    /// With this prefix of `X-Amz-Target`.
    Json(&'static str),
    Query,
    Rest,
    /// REST with errors in XML.
    #[cfg(feature = "buckets")]
    Xml,
}

/// A service with its endpoint and the list of its actions.
struct Service {
    name: &'static str,
    url: String,
    protocol: Protocol,
    actions: &'static str,
}

fn services(running: &RunningStack) -> Vec<Service> {
    let addresses = &running.admin.addresses;
    let at = |path: &str| format!("{}{path}", addresses.http);
    let service = |name, url, protocol, actions| Service { name, url, protocol, actions };
    let json = Protocol::Json;
    #[cfg_attr(not(any(feature = "buckets", feature = "kinesis")), expect(unused_mut, reason = "nothing is added"))]
    let mut all = vec![
        service("sqs", at("/_local/sqs"), json("AmazonSQS"), include_str!("../../src/actions/sqs.txt")),
        service("events", at("/_local/eventbridge"), json("AWSEvents"), include_str!("../../src/actions/events.txt")),
        service(
            "secretsmanager",
            at("/_local/secretsmanager"),
            json("secretsmanager"),
            include_str!("../../src/actions/secretsmanager.txt"),
        ),
        service("ssm", at("/_local/ssm"), json("AmazonSSM"), include_str!("../../src/actions/ssm.txt")),
        service("sns", at("/_local/sns"), Protocol::Query, include_str!("../../src/actions/sns.txt")),
        service("lambda", at(""), Protocol::Rest, include_str!("../../src/actions/lambda.txt")),
        service("sesv2", at("/_local/ses"), Protocol::Rest, include_str!("../../src/actions/sesv2.txt")),
        service(
            "dynamodb",
            addresses.dynamodb.clone(),
            json("DynamoDB_20120810"),
            include_str!("../../../tidemark-engine/src/dynamodb_actions.txt"),
        ),
        service(
            "dynamodbstreams",
            addresses.dynamodb.clone(),
            json("DynamoDBStreams_20120810"),
            include_str!("../../src/actions/dynamodbstreams.txt"),
        ),
    ];
    #[cfg(feature = "kinesis")]
    all.push(service(
        "kinesis",
        at("/_local/kinesis"),
        json("Kinesis_20131202"),
        include_str!("../../src/actions/kinesis.txt"),
    ));
    #[cfg(feature = "buckets")]
    all.extend(
        addresses.s3.clone().map(|url| service("s3", url, Protocol::Xml, include_str!("../../src/actions/s3.txt"))),
    );
    all
}

/// Status, type and message of the answer to a call without parameters.
async fn call(service: &Service, action: &str, method: &str, path: &str) -> (StatusCode, String, String) {
    let path: String =
        path.split(['{', '}']).enumerate().map(|(at, part)| if at % 2 == 0 { part } else { "xxx" }).collect();
    let url = service.url.clone();
    let request = match service.protocol {
        Protocol::Json(prefix) => {
            let request = Client::new().post(url).header("x-amz-target", format!("{prefix}.{action}")).body("{}");
            // The engines of DynamoDB and Kinesis ask for the form of a signature.
            let signature = "AWS4-HMAC-SHA256 Credential=local/20261124/us-east-1/x/aws4_request, SignedHeaders=host;x-amz-date, Signature=a";
            let request = request.header("authorization", signature).header("x-amz-date", "20261124T000000Z");
            request.header("content-type", "application/x-amz-json-1.1")
        }
        Protocol::Query => {
            let form = "application/x-www-form-urlencoded";
            Client::new().post(url).header("content-type", form).body(format!("Action={action}"))
        }
        _ => Client::new().request(Method::from_bytes(method.as_bytes()).unwrap(), url + &path).body("{}"),
    };
    let response = request.send().await.unwrap();
    let (status, headers) = (response.status(), response.headers().clone());
    let text = response.text().await.unwrap();
    let body: Value = serde_json::from_str(&text).unwrap_or_default();
    let element = |name: &str| text.split(&format!("<{name}>")).nth(1).and_then(|rest| rest.split('<').next());
    let kind = headers.get("x-amzn-errortype").map(|kind| kind.to_str().unwrap());
    let kind = kind.or(body["__type"].as_str()).or(element("Code")).unwrap_or_default();
    let message = body["message"].as_str().or(element("Message")).unwrap_or_default();
    (status, kind.rsplit('#').next().unwrap_or_default().to_owned(), message.to_owned())
}

#[tokio::test]
async fn every_action_is_done_or_refused_by_its_name() {
    let stage = Stage::new("", "");
    #[cfg(feature = "buckets")]
    stage.add_resources("  Files: { Type: AWS::S3::Bucket, Properties: { BucketName: xxx } }\n");
    #[cfg(feature = "kinesis")]
    stage.add_resources("  Records: { Type: AWS::Kinesis::Stream, Properties: { ShardCount: 1 } }\n");
    let running = stage.start().await;
    for service in services(&running) {
        let lines: Vec<Vec<&str>> = service.actions.lines().map(|line| line.split(' ').collect()).collect();
        for line in &lines {
            let (mark, action, rest) = (line[0], line[1], line[2..].to_vec());
            let (method, path) = (rest.first().copied().unwrap_or_default(), rest.get(1).copied().unwrap_or_default());
            // The model does not show this parameter, and without it there is no such action.
            let path = if action == "CompleteMultipartUpload" { format!("{path}?uploadId=x") } else { path.to_owned() };
            let (status, kind, message) = call(&service, action, method, &path).await;
            let context = format!("{mark} {action} of {}: {status} {kind}: {message}", service.name);
            if mark == "refused" {
                assert_eq!((status, kind.as_str()), (StatusCode::NOT_IMPLEMENTED, "NotImplemented"), "{context}");
                // Actions with the same path differ in parameters.
                let same_path =
                    lines.iter().filter(|line| line[2..] == rest && (line[1] == action || !rest.is_empty()));
                assert!(
                    same_path.into_iter().any(|line| message.starts_with(&format!("{} of ", line[1]))),
                    "{context}"
                );
            } else {
                assert!(mark == "done" && !REFUSALS.contains(&kind.as_str()), "{context}");
            }
        }
        if !matches!(service.name, "s3") {
            let (status, kind, _) = call(&service, "Frobnicate", "PATCH", "/2015-03-31/functions/x").await;
            let context = format!("{}: {status} {kind}", service.name);
            assert!(status.is_client_error() && REFUSALS[1..].contains(&kind.as_str()), "{context}");
        }
    }
}

/// The types of the errors for actions that this machine, or the service, does not have.
const REFUSALS: [&str; 3] = ["NotImplemented", "UnknownOperationException", "InvalidAction"];
