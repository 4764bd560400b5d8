//! Every port of the stack rejects requests of other sites' pages in a browser on this machine.

use crate::support::Stage;
use reqwest::{Client, Method, StatusCode};
use serde_json::Value;

/// Requests as a browser sends them for pages of other sites.
fn foreign(host: &str) -> Vec<Vec<(&'static str, String)>> {
    let origin = |origin: &str| vec![("host", host.to_owned()), ("origin", origin.to_owned())];
    vec![
        origin("https://evil.example"),
        origin(&format!("http://evil.example//{host}")),
        origin("http://localhost:5173"),
        origin("null"),
        vec![("host", "evil.example".to_owned())],
        vec![("host", host.to_owned()), ("sec-fetch-site", "cross-site".to_owned())],
    ]
}

/// Asserts that programs and the server's own pages get a response, and other pages are rejected.
async fn is_guarded(method: Method, url: &str) {
    let host = reqwest::Url::parse(url).unwrap().authority().to_owned();
    let send = async |headers: &[(&str, String)]| {
        let request = headers
            .iter()
            .fold(Client::new().request(method.clone(), url), |request, (name, value)| request.header(*name, value));
        request.body("{}").send().await.unwrap()
    };
    for headers in foreign(&host) {
        let answer = send(&headers).await;
        assert_eq!(answer.status(), StatusCode::FORBIDDEN, "{method} {url} {headers:?}");
        assert!(!answer.headers().contains_key("access-control-allow-origin"), "{method} {url} {headers:?}");
    }
    for headers in
        [vec![], vec![("origin", format!("http://{host}"))], vec![("host", format!("localhost:{}", port(url)))]]
    {
        assert_ne!(send(&headers).await.status(), StatusCode::FORBIDDEN, "{method} {url} {headers:?}");
    }
}

fn port(url: &str) -> u16 {
    reqwest::Url::parse(url).unwrap().port().unwrap()
}

#[tokio::test]
async fn no_port_accepts_requests_of_other_sites() {
    let stage = Stage::sockets(&["$connect"], "");
    let running = stage.start().await;
    let addresses = running.admin.addresses.clone();
    for path in [
        "/_local/health",
        "/_local/environment",
        "/_local/metrics",
        "/_local/mail",
        "/_local/events",
        "/_local",
        "/_local/",
        "/_local/page.js",
        "/_local/state",
        "/_local/invocations",
        "/_local/invocations?function=TestFunction&id=none",
        "/_local/messages?queue=failures",
        "/_local/items?table=things",
        "/_local/commands",
    ] {
        is_guarded(Method::GET, &format!("{}{path}", addresses.http)).await;
    }
    for path in [
        "/2015-03-31/functions/nobody/invocations",
        "/@connections/AAAAAAAAAAAAAAA=",
        "/_local/secretsmanager",
        "/_local/ses/v2/email/outbound-emails",
        "/_local/eventbridge",
        "/_local/sns",
        "/_local/commands/demo",
    ] {
        is_guarded(Method::POST, &format!("{}{path}", addresses.http)).await;
    }
    is_guarded(Method::PUT, &format!("{}/_local/faults", addresses.http)).await;
    is_guarded(Method::PUT, &format!("{}/_local/usual-handler", addresses.http)).await;
    is_guarded(Method::DELETE, &format!("{}/_local/expired", addresses.http)).await;
    is_guarded(Method::DELETE, &format!("{}/_local/lost", addresses.http)).await;
    for method in [Method::GET, Method::POST, Method::OPTIONS] {
        is_guarded(method, &addresses.dynamodb).await;
    }
    let runtime = runtime_api(&stage);
    is_guarded(Method::POST, &format!("{runtime}/2018-06-01/runtime/invocation/none/error")).await;
}

/// The address of the Runtime API of the only test function of the stage, from the environment of
/// its process.
fn runtime_api(stage: &Stage) -> String {
    let recording = format!("RECORDING={}", stage.path("recording.jsonl").display());
    let processes = std::fs::read_dir("/proc").unwrap().filter_map(Result::ok);
    let mut environments = processes.filter_map(|process| std::fs::read(process.path().join("environ")).ok());
    let environment = environments.find_map(|environment| {
        let variables = String::from_utf8_lossy(&environment).split('\0').map(str::to_owned).collect::<Vec<_>>();
        variables.contains(&recording).then_some(variables)
    });
    let address = environment
        .unwrap()
        .into_iter()
        .find_map(|entry| Some(entry.strip_prefix("AWS_LAMBDA_RUNTIME_API=")?.to_owned()));
    format!("http://{}", address.unwrap())
}

#[tokio::test]
async fn cross_site_page_neither_writes_nor_reads_a_table() {
    let running = Stage::new("", "").start().await;
    let call = async |origin: Option<&str>, target: &str, body: &str| {
        let request = Client::new()
            .post(&running.admin.addresses.dynamodb)
            .body(body.to_owned())
            .header("content-type", "application/x-amz-json-1.0");
        let request = request
            .header("x-amz-target", format!("DynamoDB_20120810.{target}"))
            .header("x-amz-date", "20251002T103000Z");
        let request = request.header(
            "authorization",
            "AWS4-HMAC-SHA256 Credential=a/20251002/us-east-1/dynamodb/aws4_request, SignedHeaders=host, Signature=0",
        );
        let request = origin.into_iter().fold(request, |request, origin| request.header("origin", origin));
        let answer = request.send().await.unwrap();
        (answer.status(), answer.json::<Value>().await.unwrap())
    };
    let put = r#"{"TableName": "things", "Item": {"pk": {"S": "stolen"}}}"#;
    let (status, answer) = call(Some("https://evil.example"), "PutItem", put).await;
    assert_eq!(status, StatusCode::FORBIDDEN, "{answer}");
    let scan = r#"{"TableName": "things"}"#;
    let (status, found) = call(None, "Scan", scan).await;
    assert_eq!((status, &found["Count"]), (StatusCode::OK, &0.into()), "{found}");
    assert_eq!(call(None, "PutItem", put).await.0, StatusCode::OK);
}
