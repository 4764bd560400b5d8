//! The data of the page `/_local/`: invocations, messages and items, which it only reads.

use aws_sdk_dynamodb::types::AttributeValue;
use reqwest::{Client, StatusCode};
use serde_json::{Value, json};
use tidemark_local::dynamodb::{Identity, client};
use tidemark_local::startup::RunningStack;

use crate::queues::{receive, send};
use crate::support::{Stage, put};

async fn get(running: &RunningStack, path: &str) -> (StatusCode, Value) {
    let answer = Client::new().get(format!("{}{path}", running.admin.addresses.http)).send().await.unwrap();
    (answer.status(), answer.json().await.unwrap())
}

/// Invokes the test function as the page does, and returns the request id.
async fn invoke(running: &RunningStack, event: String) -> String {
    let url = format!("{}/2015-03-31/functions/TestFunction/invocations", running.admin.addresses.http);
    let answer = Client::new().post(url).body(event).send().await.unwrap();
    answer.headers()["x-amzn-requestid"].to_str().unwrap().to_owned()
}

async fn invocations(running: &RunningStack) -> Vec<Value> {
    let (status, answer) = get(running, "/_local/invocations?function=TestFunction").await;
    assert_eq!(status, StatusCode::OK, "{answer}");
    answer["items"].as_array().unwrap().clone()
}

/// An invocation with its texts, once `is_whole`: the memory and the last lines come after the answer.
async fn invocation(running: &RunningStack, id: &str, is_whole: impl Fn(&Value) -> bool) -> Value {
    for _ in 0..1_000 {
        let (status, found) = get(running, &format!("/_local/invocations?function=TestFunction&id={id}")).await;
        assert_eq!(status, StatusCode::OK, "{found}");
        if is_whole(&found) {
            return found;
        }
        tokio::time::sleep(std::time::Duration::from_millis(20)).await;
    }
    panic!("the invocation {id} does not become whole")
}

fn ids(items: &[Value]) -> Vec<&str> {
    items.iter().map(|item| item["requestId"].as_str().unwrap()).collect()
}

#[tokio::test]
async fn invocation_is_kept_with_event_answer_and_log() {
    let running = Stage::new("", "").start().await;
    // The number has more digits than a float: nobody may parse it on its way to the page and back.
    let event = r#"{"do": "print",  "text": "a line", "n": 12345678901234567890123}"#;
    let printed = invoke(&running, event.to_owned()).await;
    let is_whole = |found: &Value| found["log"].to_string().contains("a line") && found["memoryMib"].is_u64();
    let kept = invocation(&running, &printed, is_whole).await;
    assert_eq!((&kept["event"], &kept["eventBytes"]), (&event.into(), &event.len().into()));
    assert_eq!((&kept["trigger"], &kept["status"], &kept["error"]), (&"invoke".into(), &"ok".into(), &Value::Null));
    assert!(kept["answer"].as_str().unwrap().contains(r#""text":"a line""#), "{kept}");
    assert!(kept["durationMs"].as_f64().unwrap() > 0.0 && kept["billedMs"].as_u64().unwrap() > 0, "{kept}");

    let again = invoke(&running, kept["event"].as_str().unwrap().to_owned()).await;
    let log = |found: &Value| found["log"].as_array().unwrap().len() == 1;
    assert_eq!(invocation(&running, &again, log).await["event"], event);
    let failed = invoke(&running, json!({ "do": "fail" }).to_string()).await;
    let kept = invocation(&running, &failed, |_| true).await;
    assert_eq!((&kept["status"], &kept["error"]), (&"failed".into(), &"test_function was told to fail".into()));
    assert!(kept["answer"].as_str().unwrap().contains("errorMessage"), "{kept}");

    Client::new().get(format!("{}/things/7", running.admin.addresses.http)).send().await.unwrap();
    let all = invocations(&running).await;
    assert_eq!(ids(&all)[1..], [&failed, &again, &printed]);
    assert_eq!(all[0]["trigger"], "GET /things/7");
    let (status, _) = get(&running, "/_local/invocations?function=TestFunction&id=none").await;
    assert_eq!(status, StatusCode::NOT_FOUND);
}

#[tokio::test]
async fn only_the_newest_invocations_and_parts_of_texts_are_kept() {
    let running = Stage::new("", "").start().await;
    let (_, answer) = get(&running, "/_local/invocations").await;
    let max = |limit: &str| usize::try_from(answer["kept"][limit].as_u64().unwrap()).unwrap();
    let event = json!({ "do": "echo", "text": "x".repeat(max("textBytes")) }).to_string();
    let large = invoke(&running, event.clone()).await;
    let kept = invocation(&running, &large, |found| found["status"] == "ok").await;
    for text in ["event", "answer"] {
        assert_eq!(kept[text].as_str().unwrap().len(), max("textBytes"), "{text}");
    }
    assert_eq!(kept["eventBytes"], event.len());
    for _ in 0..max("invocations") {
        invoke(&running, "{}".to_owned()).await;
    }
    let all = invocations(&running).await;
    assert_eq!((all.len(), ids(&all).contains(&&*large)), (max("invocations"), false));
}

#[tokio::test]
async fn running_invocation_is_shown_before_its_end() {
    let stage = Stage::new("", "");
    let running = stage.start().await;
    let waiting = invoke(&running, json!({ "do": "wait" }).to_string());
    let seen = async {
        loop {
            let all = invocations(&running).await;
            if let Some(first) = all.first() {
                stage.open_gate();
                return first.clone();
            }
        }
    };
    let (id, seen) = tokio::join!(waiting, seen);
    assert_eq!((&seen["requestId"], &seen["status"]), (&id.as_str().into(), &"running".into()));
    invocation(&running, &id, |found| found["status"] == "ok").await;
}

#[tokio::test]
async fn timed_out_invocation_is_shown_with_its_error() {
    let stage = Stage::new("", "");
    stage.replace("Timeout: 29", "Timeout: 1");
    let running = stage.start().await;
    let id = invoke(&running, json!({ "do": "sleep" }).to_string()).await;
    let ended = invocation(&running, &id, |_| true).await;
    assert!(ended["error"].as_str().unwrap().contains("timed out"), "{ended}");
}

#[tokio::test]
async fn looking_at_a_queue_receives_no_message() {
    let running = Stage::new("", "").start().await;
    for body in ["a", "b"] {
        send(&running, "failures", body).await;
    }
    for _ in 0..2 {
        let (_, answer) = get(&running, "/_local/messages?queue=failures").await;
        let shown = |item: &Value| (item["body"].clone(), item["state"].clone(), item["receiveCount"].clone());
        let all: Vec<_> = answer["items"].as_array().unwrap().iter().map(shown).collect();
        assert_eq!(all, ["a", "b"].map(|body| (body.into(), "visible".into(), 0.into())));
    }
    let received = receive(&running, "failures").await;
    assert_eq!(received[0]["Attributes"]["ApproximateReceiveCount"], "1");
    let (_, answer) = get(&running, "/_local/messages?queue=failures").await;
    assert_eq!((&answer["items"][0]["state"], &answer["items"][0]["receiveCount"]), (&"in flight".into(), &1.into()));
    let (status, _) = get(&running, "/_local/messages?queue=none").await;
    assert_eq!(status, StatusCode::NOT_FOUND);
}

#[tokio::test]
async fn items_are_read_page_by_page_and_never_written() {
    let running = Stage::new("", "").start().await;
    let dynamodb = &running.admin.addresses.dynamodb;
    for n in 0..60 {
        put(dynamodb, n, &["flag"]).await;
    }
    let (_, first) = get(&running, "/_local/items?table=Table").await;
    let start: String = form_urlencoded::byte_serialize(first["last"].to_string().as_bytes()).collect();
    let (_, second) = get(&running, &format!("/_local/items?table=things&start={start}")).await;
    let keys =
        |page: &Value| page["items"].as_array().unwrap().iter().map(|item| item["pk"].clone()).collect::<Vec<_>>();
    assert_eq!((keys(&first).len(), keys(&second).len(), &second["last"]), (50, 10, &Value::Null));
    assert!(keys(&second).iter().all(|key| !keys(&first).contains(key)));

    let (_, one) = get(&running, "/_local/items?table=things&partition=item-7").await;
    let item = json!({ "pk": { "S": "item-7" }, "n": { "N": "7" }, "flag": { "BOOL": true } });
    assert_eq!(one["items"], json!([item]));
    let refused = [
        ("table=other", StatusCode::NOT_FOUND),
        ("table=things&index=none", StatusCode::NOT_FOUND),
        ("table=things&start=x", StatusCode::BAD_REQUEST),
        (r#"table=things&start={"pk":{"M":"x"}}"#, StatusCode::BAD_REQUEST),
        (r#"table=things&start={"other":{"S":"x"}}"#, StatusCode::BAD_GATEWAY),
    ];
    for (query, expected) in refused {
        let (status, answer) = get(&running, &format!("/_local/items?{query}")).await;
        assert_eq!(status, expected, "{query}: {answer}");
        assert!(answer["message"].is_string(), "{query}: {answer}");
    }
    let url = format!("{}/_local/items?table=things", running.admin.addresses.http);
    for method in [reqwest::Method::POST, reqwest::Method::PUT, reqwest::Method::DELETE] {
        let answer = Client::new().request(method, &url).body("{}").send().await.unwrap();
        assert_eq!(answer.status(), StatusCode::METHOD_NOT_ALLOWED);
    }
    let client = client(dynamodb, &Identity::local());
    let stored = client.get_item().table_name("things").key("pk", AttributeValue::S("item-7".to_owned()));
    assert_eq!(stored.send().await.unwrap().item.unwrap()["n"], AttributeValue::N("7".to_owned()));
}

#[tokio::test]
async fn state_names_each_part_with_its_numbers() {
    let events = "Nightly: { Type: Schedule, Properties: { Schedule: rate(1 hour) } }
Off: { Type: Schedule, Properties: { Schedule: rate(1 hour), Enabled: false } }
Job: { Type: SQS, Properties: { Queue: !GetAtt Failures.Arn, Enabled: false } }
Paid: { Type: EventBridgeRule, Properties: { Pattern: { source: [shop] } } }
Change: { Type: DynamoDB, Properties: { Stream: !GetAtt Table.StreamArn, StartingPosition: LATEST } }";
    let running = Stage::new("", events).start().await;
    send(&running, "failures", "a").await;
    let (_, state) = get(&running, "/_local/state").await;
    let function = &state["functions"][0];
    assert_eq!(
        (&function["id"], &function["invocations"], &function["idle"]),
        (&"TestFunction".into(), &0.into(), &1.into())
    );
    let route = json!({ "key": "GET /things/{id}", "function": "TestFunction" });
    assert_eq!((&state["apis"][0]["routes"][0], &state["apis"][0]["kind"]), (&route, &"http".into()));
    assert_eq!((&state["queues"][0]["name"], &state["queues"][0]["waiting"]), (&"failures".into(), &1.into()));
    let table = &state["tables"][0];
    assert_eq!(
        (&table["name"], &table["keys"], &table["ttl"]),
        (&"things".into(), &json!(["pk"]), &"expiresAt".into())
    );
    let schedules = state["schedules"].as_array().unwrap();
    let next = |name: &str| schedules.iter().find(|schedule| schedule["name"] == name).unwrap()["nextAt"].clone();
    assert!(next("Nightly").is_string() && next("Off").is_null(), "{schedules:?}");
    let sources: Vec<_> =
        state["mappings"].as_array().unwrap().iter().map(|mapping| mapping["source"].clone()).collect();
    assert_eq!(sources, ["stream of things", "queue failures"]);
    assert_eq!(state["buses"][0]["rules"][0]["targets"], json!([{ "function": "TestFunction" }]));
}

#[tokio::test]
async fn page_loads_its_own_files_only() {
    let running = Stage::new("", "").start().await;
    let base = reqwest::Url::parse(&running.admin.addresses.http).unwrap();
    // It follows the redirect.
    let document = Client::new().get(base.join("/_local").unwrap()).send().await.unwrap();
    assert_eq!(document.url().path(), "/_local/");
    let policy = document.headers()["content-security-policy"].to_str().unwrap();
    assert!(policy.starts_with("default-src 'none'; script-src 'self';") && policy.contains("frame-ancestors 'none'"));
    let (mut texts, mut seen) = (vec![document.text().await.unwrap()], Vec::new());
    while let Some(text) = texts.pop() {
        assert!(!text.contains("innerHTML") && !text.contains("https://"), "{text}");
        let quoted =
            text.split(['"', '\'']).skip(1).step_by(1).filter(|name| name.ends_with(".js") || name.ends_with(".css"));
        for name in quoted.map(|name| name.trim_start_matches("./").to_owned()).collect::<Vec<_>>() {
            if !seen.contains(&name) {
                let answer = Client::new().get(base.join(&format!("/_local/{name}")).unwrap()).send().await.unwrap();
                assert_eq!(answer.status(), StatusCode::OK, "{name}");
                texts.push(answer.text().await.unwrap());
                seen.push(name);
            }
        }
    }
    seen.sort();
    assert_eq!(seen, ["dom.js", "functions.js", "page.css", "page.js", "parts.js", "requests.js"]);
}
