//! Journeys through the running stack: the real binaries, the real Runtime API, a real engine, real
//! sockets.

use std::collections::BTreeSet;
use std::process::Command;
use std::time::{Duration, Instant};

use aws_sdk_dynamodb::types::{AttributeValue, PutRequest, WriteRequest};
use futures::stream::{self, StreamExt};
use jiff::{Timestamp, tz::TimeZone};
use reqwest::Method;
use serde_json::{Value, json};
use tests::{OPERATOR_TOKEN, Stack};

fn today() -> String {
    Timestamp::now().to_zoned(TimeZone::UTC).date().to_string()
}

fn uuid_v7() -> String {
    uuid::Uuid::now_v7().to_string()
}

/// The attributes that a foreign client puts, as the table's design shows them.
fn click(user: &str, time: &str) -> [(&'static str, AttributeValue); 5] {
    let day = &time[..10];
    [
        ("userId", AttributeValue::S(user.to_owned())),
        ("createDateTime", AttributeValue::S(time.to_owned())),
        ("clickCount", AttributeValue::N("1".to_owned())),
        ("dateKey", AttributeValue::S(format!("DATE#{day}"))),
        ("recordSort", AttributeValue::S(format!("CLICK#{time}#{user}"))),
    ]
}

#[tokio::test]
async fn a_click_becomes_a_statistic_and_survives_a_kill() {
    tests::away_from_midnight().await;
    let stack = Stack::with(&[]).await.unwrap();
    let click = stack.post("/clicks", &json!({"userId": "ann", "clickCount": 2})).await.unwrap();
    assert_eq!((click.status.as_u16(), click.json()["clickCount"].clone()), (201, json!(2)));
    stack.wait_for("/stats/total", &json!({"totalClicks": 2})).await.unwrap();

    let stack = stack.restart_after_sigkill(&[]).await.unwrap();
    assert_eq!(stack.get("/stats/total").await.unwrap().json(), json!({"totalClicks": 2}));
    for user in ["ann", "bob"] {
        assert_eq!(stack.post("/clicks", &json!({"userId": user})).await.unwrap().status, 201);
    }
    stack.wait_for("/stats/total", &json!({"totalClicks": 4})).await.unwrap();
    let day = stack.get(&format!("/stats/daily/{}", today())).await.unwrap().json();
    let month = stack.get(&format!("/stats/monthly/{}", &today()[..7])).await.unwrap().json();
    assert_eq!((&day["totalClicks"], &day["uniqueUsers"]), (&json!(4), &json!(2)));
    assert_eq!((&month["totalClicks"], &month["uniqueUsers"]), (&json!(4), &json!(2)));
    stack.stop().unwrap();
}

#[tokio::test]
async fn functions_find_tables_without_credentials_in_the_environment() {
    let stack = Stack::start_as_newcomer().await.unwrap();
    assert_eq!(stack.post("/clicks", &json!({"userId": "ann"})).await.unwrap().status, 201);
    stack.wait_for("/stats/total", &json!({"totalClicks": 1})).await.unwrap();
    stack.stop().unwrap();
}

#[tokio::test]
async fn make_invoke_sends_sample_events_with_tokens_of_this_stack() {
    // In memory, its key of the game is its own.
    let stack = Stack::start().await.unwrap();
    let port = stack.url().rsplit(':').next().unwrap();
    for (function, event, status) in [
        ("click-writer", "usual", 201),
        ("stats-reader", "clicks-of-user", 200),
        ("game-api", "finished", 200),
        ("game-api", "chat-token-forged", 401),
        ("okusuri-api", "logs", 200),
    ] {
        let mut invoke = Command::new(tests::repository().join("scripts/invoke"));
        let invoke = invoke.env("FUNCTION", function).env("EVENT", event).env("TIDEMARK_PORT", port);
        let output = invoke.output().unwrap();
        let answer: Value = serde_json::from_slice(&output.stdout).unwrap_or_default();
        assert_eq!(answer["statusCode"], status, "{function} {event}: {output:?}");
    }
    stack.stop().unwrap();
}

#[tokio::test]
async fn a_click_that_is_sent_again_is_the_same_click() {
    let stack = Stack::start().await.unwrap();
    let key = uuid_v7();
    let send = async || {
        let headers = [("idempotency-key", key.as_str()), ("content-type", "application/json")];
        stack.request(Method::POST, "/clicks", &headers, Some(r#"{"userId":"ann"}"#.to_owned())).await.unwrap()
    };
    let first = send().await;
    assert_eq!((first.status.as_u16(), first.json()["clickId"].clone()), (201, json!(key)));
    for _ in 0..3 {
        let again = send().await;
        assert_eq!((again.status.as_u16(), again.json()), (200, first.json()));
    }
    stack.wait_for("/stats/total", &json!({"totalClicks": 1})).await.unwrap();
}

#[tokio::test]
async fn clicks_of_one_user_in_one_millisecond_are_all_kept() {
    let stack = Stack::start().await.unwrap();
    let millisecond = Timestamp::now().as_millisecond() as u64;
    let keys: Vec<_> = (0..20u8)
        .map(|n| uuid::Builder::from_unix_timestamp_millis(millisecond, &[n; 10]).into_uuid().to_string())
        .collect();
    let sent = stream::iter(&keys).map(|key| {
        let body = json!({"clicks": [{"userId": "ann", "idempotencyKey": key}]});
        let stack = &stack;
        async move {
            // A writer gives up after a few collisions, and asks its client to come again.
            for _ in 0..20 {
                let item = stack.post("/clicks", &body).await.unwrap().json()["items"][0].clone();
                if item["status"] != 503 {
                    return item;
                }
            }
            panic!("{key} is never stored");
        }
    });
    let items: Vec<Value> = sent.buffer_unordered(10).collect().await;
    let times: BTreeSet<_> = items.iter().map(|item| item["click"]["createDateTime"].to_string()).collect();
    assert!(items.iter().all(|item| item["status"] == 201), "{items:?}");
    assert_eq!(times.len(), 20);
    stack.wait_for("/stats/total", &json!({"totalClicks": 20})).await.unwrap();
}

#[tokio::test]
async fn many_clicks_of_a_foreign_client_count_whatever_their_dates() {
    const DAYS: u64 = 100;
    // Among each day's clicks are all the users: 100 and their number have no common factor.
    let (a_day, users) = tests::load((14, 13), (140, 97));
    let clicks = DAYS * a_day;
    let stack = Stack::start().await.unwrap();
    let client = stack.dynamodb();
    let first_day = jiff::civil::date(2024, 2, 1);
    let days: Vec<_> = std::iter::successors(Some(first_day), |day| day.tomorrow().ok()).take(DAYS as usize).collect();
    let writes: Vec<_> = (0..clicks)
        .map(|n| {
            let time = format!("{}T12:00:{:02}.{:03}Z", days[(n % DAYS) as usize], n / DAYS % 60, n / DAYS);
            let put = click(&format!("user-{}", n % users), &time).into_iter();
            let put = put.fold(PutRequest::builder(), |put, (name, value)| put.item(name, value)).build().unwrap();
            WriteRequest::builder().put_request(put).build()
        })
        .collect();
    let puts = stream::iter(writes.chunks(25)).map(|chunk| {
        let client = &client;
        async move {
            let answer = client.batch_write_item().request_items("qit-db-local", chunk.to_vec()).send().await.unwrap();
            assert!(answer.unprocessed_items.unwrap_or_default().is_empty());
        }
    });
    puts.buffer_unordered(4).collect::<()>().await;
    stack.wait_for("/stats/total", &json!({"totalClicks": clicks})).await.unwrap();

    let range = format!("/stats/daily?from={}&to={}", days[0], days[99]);
    let range = stack.get(&range).await.unwrap().json();
    let days = range["items"].as_array().unwrap().iter();
    let days: BTreeSet<_> = days.map(|day| (day["totalClicks"].as_u64(), day["uniqueUsers"].as_u64())).collect();
    assert_eq!(days, BTreeSet::from([(Some(a_day), Some(users))]));
}

#[tokio::test]
async fn counts_stay_exact_while_instances_die_and_batches_come_twice() {
    let stack = Stack::with(&["--stream-shards", "4"]).await.unwrap();
    stack
        .set_faults(&json!({"functions": {
            "function": "stats-aggregator",
            "kill_before": {"probability": 0.2},
            "kill_after": {"probability": 0.2},
            "deliver_twice": {"probability": 0.3},
        }}))
        .await
        .unwrap();
    let stack = &stack;
    let clicks = stream::iter(0..400).map(|n| async move {
        let answer = stack.post("/clicks", &json!({"userId": format!("user-{}", n % 37)})).await.unwrap();
        assert_eq!(answer.status, 201);
    });
    clicks.buffer_unordered(8).collect::<()>().await;
    stack.wait_for("/stats/total", &json!({"totalClicks": 400})).await.unwrap();
    stack.set_faults(&json!({})).await.unwrap();
    // A duplicate batch may still be on its way. Afterwards nothing may have changed.
    tokio::time::sleep(Duration::from_secs(1)).await;
    assert_eq!(stack.get("/stats/total").await.unwrap().json(), json!({"totalClicks": 400}));
    let items = stack.get("/stats/daily").await.unwrap().json();
    let days = items["items"].as_array().unwrap();
    // All of it on one day, unless midnight passes.
    let users: u64 = days.iter().map(|day| day["uniqueUsers"].as_u64().unwrap()).sum();
    let days_clicked = days.iter().filter(|day| day["totalClicks"] != 0).count();
    assert!(days_clicked == 2 || users == 37, "{days:?}");
}

#[tokio::test]
async fn bad_requests_get_a_problem_of_a_stable_type() {
    let stack = Stack::start().await.unwrap();
    let long = "x".repeat(70_000);
    let key = |key: &str| Some(("idempotency-key", key.to_owned()));
    let stale = "0199a4a0-9640-7000-8000-000000000000";
    let posts = [
        (400, "invalid-body", "{".to_owned(), None),
        (400, "invalid-body", String::new(), None),
        (400, "invalid-body", "[]".to_owned(), None),
        (400, "invalid-body", r#"{"userId":"ann","more":1}"#.to_owned(), None),
        (400, "invalid-user-id", r#"{"userId":7}"#.to_owned(), None),
        (400, "invalid-user-id", r##"{"userId":"STAT#DAILY"}"##.to_owned(), None),
        (400, "invalid-user-id", format!(r#"{{"userId":"{}"}}"#, "x".repeat(129)), None),
        (400, "invalid-click-count", r#"{"userId":"ann","clickCount":0}"#.to_owned(), None),
        (400, "invalid-click-count", r#"{"userId":"ann","clickCount":"1"}"#.to_owned(), None),
        (400, "invalid-target", r#"{"userId":"ann","target":"a\tb"}"#.to_owned(), None),
        (400, "invalid-idempotency-key", r#"{"userId":"ann"}"#.to_owned(), key("x")),
        (400, "idempotency-key-time", r#"{"userId":"ann"}"#.to_owned(), key(stale)),
        (400, "idempotency-key-in-batch", r#"{"clicks":[{"userId":"ann"}]}"#.to_owned(), key(stale)),
        (413, "body-too-large", format!(r#"{{"userId":"{long}"}}"#), None),
    ];
    for (status, problem, body, header) in posts {
        let headers: Vec<_> = header.iter().map(|(name, value)| (*name, value.as_str())).collect();
        let shown: String = body.chars().take(60).collect();
        let answer = stack.request(Method::POST, "/clicks", &headers, Some(body)).await.unwrap();
        assert_eq!((answer.status.as_u16(), answer.problem().as_str()), (status, problem), "{shown}");
        assert_eq!(answer.content_type, "application/problem+json", "{shown}");
    }
    let gets = [
        (400, "invalid-parameter", "/stats/daily/2025-02-30"),
        (400, "invalid-parameter", "/stats/monthly/2025-13"),
        (400, "invalid-parameter", "/stats/daily?from=2025-10-03&to=2025-10-02"),
        (400, "invalid-parameter", "/stats/daily?from=2025-01-01&to=2026-02-05"),
        (400, "invalid-parameter", "/stats/daily?from=yesterday"),
        (400, "invalid-parameter", "/stats/daily?from=2025-01-01&from=2025-01-02"),
        (404, "not-found", "/stats"),
        (404, "not-found", "/stats/daily/2025-10-02/more"),
        (401, "missing-token", "/days/2025-10-02/clicks"),
        (401, "missing-token", "/users/ann/clicks"),
    ];
    for (status, problem, path) in gets {
        let answer = stack.get(path).await.unwrap();
        assert_eq!((answer.status.as_u16(), answer.problem().as_str()), (status, problem), "{path}");
    }
    let wrong = [("authorization", "Bearer wrong")];
    let answer = stack.request(Method::GET, "/users/ann/clicks", &wrong, None).await.unwrap();
    assert_eq!((answer.status.as_u16(), answer.problem().as_str()), (401, "invalid-token"));
    for path in ["/users/STAT%23DAILY/clicks", "/users/ann/clicks?limit=1001", "/days/2025-10-02/clicks?cursor=AAAA"] {
        let answer = stack.get_with(OPERATOR_TOKEN, path).await.unwrap();
        assert_eq!(answer.status, 400, "{path}");
    }
    assert_eq!(stack.get("/stats/total").await.unwrap().json(), json!({"totalClicks": 0}));
}

#[tokio::test]
async fn click_list_continues_by_cursor_in_its_own_query_only() {
    let stack = Stack::start().await.unwrap();
    let client = stack.dynamodb();
    for second in 0..5 {
        let time = format!("2025-10-02T10:30:0{second}.000Z");
        let put = client.put_item().table_name("qit-db-local");
        let put = click("ann", &time).into_iter().fold(put, |put, (name, value)| put.item(name, value));
        put.send().await.unwrap();
    }
    for path in ["/users/ann/clicks?order=desc&limit=2", "/days/2025-10-02/clicks?limit=2"] {
        let (mut times, mut cursor, mut pages) = (Vec::new(), String::new(), 0);
        loop {
            let answer = stack.get_with(OPERATOR_TOKEN, &format!("{path}&cursor={cursor}")).await.unwrap();
            assert_eq!(answer.status, 200, "{answer:?}");
            let page = answer.json();
            times.extend(page["items"].as_array().unwrap().iter().map(|click| click["createDateTime"].to_string()));
            pages += 1;
            match page["cursor"].as_str() {
                Some(next) => cursor = next.to_owned(),
                None => break,
            }
        }
        assert_eq!((times.iter().collect::<BTreeSet<_>>().len(), times.len(), pages), (5, 5, 3), "{path}");
        let foreign =
            stack.get_with(OPERATOR_TOKEN, &format!("/days/2025-10-03/clicks?cursor={cursor}")).await.unwrap();
        assert_eq!((foreign.status.as_u16(), foreign.problem().as_str()), (400, "invalid-cursor"));
    }
}

#[tokio::test]
async fn statistics_come_as_csv_to_whoever_prefers_it() {
    let stack = Stack::start().await.unwrap();
    let csv = async |path: &str| stack.request(Method::GET, path, &[("accept", "text/csv")], None).await.unwrap();
    let days = csv("/stats/daily?from=2024-02-28&to=2024-03-01").await;
    assert_eq!(days.content_type, "text/csv; charset=utf-8");
    let lines: Vec<_> = days.body.split("\r\n").collect();
    assert_eq!(lines, ["date,totalClicks,uniqueUsers", "2024-02-28,0,0", "2024-02-29,0,0", "2024-03-01,0,0", ""]);
    assert_eq!(csv("/stats/total").await.body, "totalClicks\r\n0\r\n");
    let json = [("accept", "application/json, text/csv;q=0.5")];
    let answer = stack.request(Method::GET, "/stats/total", &json, None).await.unwrap();
    assert_eq!(answer.content_type, "application/json");
}

#[tokio::test]
async fn a_function_started_elsewhere_is_told_what_it_needs() {
    let stack = Stack::start().await.unwrap();
    let environment = stack.get("/_local/environment").await.unwrap().body;
    let names: BTreeSet<_> = environment.lines().filter_map(|line| Some(line.split_once('=')?.0)).collect();
    for name in ["CLICKS_TABLE", "CLICK_DATE_SHARDS", "CURSOR_KEY_SECRET_ARN", "AWS_REGION", "AWS_ACCESS_KEY_ID"] {
        assert!(names.contains(name), "{name} is missing: {names:?}");
    }
    assert!(environment.contains(&format!("AWS_ENDPOINT_URL_DYNAMODB={}\n", stack.dynamodb_url())));
    assert!(!environment.contains("AWS_LAMBDA_"), "these are Lambda's to give: {names:?}");
}

#[tokio::test]
async fn the_sharded_layout_counts_and_lists_as_the_plain_one() {
    tests::away_from_midnight().await;
    let stack = Stack::with(&["--in-memory", "--parameter", "ClickDateShards=4"]).await.unwrap();
    for n in 0..30 {
        stack.post("/clicks", &json!({"userId": format!("user-{n}")})).await.unwrap();
    }
    stack.wait_for("/stats/total", &json!({"totalClicks": 30})).await.unwrap();
    let listed = stack.get_with(OPERATOR_TOKEN, &format!("/days/{}/clicks", today())).await.unwrap().json();
    assert_eq!(listed["items"].as_array().unwrap().len(), 30);
}

#[tokio::test]
async fn shards_buffer_their_sums_until_the_window_ends() {
    tests::away_from_midnight().await;
    let stack = Stack::with(&["--parameter", "StatLayout=buffers"]).await.unwrap();
    // Early in a window of 60 seconds, so that it does not end before this test ends it.
    while Timestamp::now().as_second() % 60 > 10 {
        tokio::time::sleep(Duration::from_secs(1)).await;
    }
    let answer = stack.post("/clicks", &json!({"userId": "ann"})).await.unwrap();
    assert_eq!(answer.status, 201);
    let (start, mut buffered) = (Instant::now(), None);
    while buffered.is_none() && start.elapsed() < tests::PATIENCE {
        let scan = stack.dynamodb().scan().table_name("qit-db-local").send().await.unwrap();
        buffered = scan.items().iter().find_map(|item| {
            let stream_arn = item["userId"].as_s().ok()?.strip_prefix("ROLLUP#clicks#CHECKPOINT#")?.to_owned();
            item.contains_key("buffer").then(|| (stream_arn, item["createDateTime"].as_s().unwrap().clone()))
        });
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    let (stream_arn, shard_id) = buffered.expect("a checkpoint with buffered sums");
    assert_eq!(stack.get("/stats/total").await.unwrap().json(), json!({"totalClicks": 0}));
    // The window is 60 seconds long. Nobody has to wait for its end.
    let end = json!({
        "Records": [], "isFinalInvokeForWindow": true, "state": {},
        "eventSourceARN": stream_arn, "shardId": shard_id,
    });
    stack.invoke("stats-aggregator", &end).await.unwrap().unwrap();
    assert_eq!(stack.get("/stats/total").await.unwrap().json(), json!({"totalClicks": 1}));
    let day = stack.get(&format!("/stats/daily/{}", today())).await.unwrap().json();
    assert_eq!(day["uniqueUsers"], json!(1));
}

#[tokio::test]
async fn unknown_address_is_a_page_for_browsers_otherwise_a_problem() {
    let stack = Stack::start().await.unwrap();
    let asked = async |accept| stack.request(Method::GET, "/nothing/here", &[("accept", accept)], None).await.unwrap();
    let page = asked("text/html,application/xhtml+xml,*/*;q=0.8").await;
    assert!(page.status == 404 && page.body.contains("no page at this address"), "{page:?}");
    assert_eq!(asked("*/*").await.problem(), "not-found");
    assert_eq!(stack.post("/nothing/here", &json!({})).await.unwrap().problem(), "not-found");
}
