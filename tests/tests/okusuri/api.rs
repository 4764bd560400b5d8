//! `okusuri-api` from its users' view: days, medicines, doses, files, and the queries of the health
//! administration. With one clock and the real engine.

use std::collections::BTreeSet;

use aws_sdk_dynamodb::types::AttributeValue;
use jiff::Timestamp;
use lambda_kit::http::Request;
use lambda_kit::outbound::Outbound;
use okusuri_api::{Config, Okusuri, Secrets, handle};
use serde_json::{Value, json};
use tidemark_tests::Database;
use tidemark_tests::okusuri::user;
use uuid::Uuid;

/// 12:00 in Tokyo, and the evening before in Honolulu.
fn noon() -> Timestamp {
    "2026-11-22T03:00:00Z".parse().unwrap()
}

struct World {
    db: Database,
    okusuri: Okusuri,
}

impl World {
    async fn new() -> Self {
        let db = Database::start().await.unwrap();
        user(&db.client, "ann", "Asia/Tokyo").await.unwrap();
        user(&db.client, "bob", "Pacific/Honolulu").await.unwrap();
        let arn = "arn".to_owned();
        let config = Config {
            table: Database::OKUSURI.to_owned(),
            cursor_key_arn: arn.clone(),
            health_token_arn: arn.clone(),
            key_arn: arn.clone(),
            vapid_key_arn: arn,
            mail_from: "okusuri@example.com".to_owned(),
            public_url: None,
            providers: Vec::new(),
            vapid_subject: "mailto:operator@example.com".to_owned(),
        };
        let secret = |text: &str| text.to_owned().into();
        let secrets = Secrets {
            cursor_key: secret("cursor-key-of-the-tests-000000000"),
            health_token: secret("health"),
            key: secret("key-of-the-tests-0000000000000000"),
            vapid_key: secret("vapid-key-of-the-tests-0000000000"),
        };
        // No mail is sent and no provider is called in these tests.
        let mails =
            aws_sdk_sesv2::Client::from_conf(aws_sdk_sesv2::Config::builder().behavior_version_latest().build());
        let okusuri = Okusuri::new(&db.table(Database::OKUSURI), mails, Outbound::new(&[]), &config, secrets).unwrap();
        let okusuri = okusuri.with(noon, Uuid::now_v7);
        Self { db, okusuri }
    }

    /// Sends a request, given as `METHOD /route/{with}/names?query` and the values of the names.
    /// Returns the status and the body.
    async fn send(&self, token: &str, route: &str, values: &[&str], content: (&str, &str)) -> (u16, Value) {
        let (route, query) = route.split_once('?').unwrap_or((route, ""));
        let names = route.split('/').filter_map(|part| part.strip_prefix('{')?.strip_suffix('}'));
        let parameters: serde_json::Map<_, _> =
            names.zip(values).map(|(name, value)| (name.to_owned(), json!(value))).collect();
        let pairs = query.split('&').filter_map(|pair| pair.split_once('='));
        let query: serde_json::Map<_, _> = pairs.map(|(name, value)| (name.to_owned(), json!(value))).collect();
        let event = json!({
            "routeKey": route,
            "headers": { "authorization": format!("Bearer {token}"), "content-type": content.0 },
            "pathParameters": parameters,
            "queryStringParameters": query,
            "requestContext": { "http": { "method": route.split(' ').next() } },
            "body": content.1,
            "isBase64Encoded": false,
        });
        let request = Request::new(serde_json::from_value(event).unwrap());
        match handle(&self.okusuri, request).await {
            Ok(reply) => (reply.status(), serde_json::from_str(reply.body()).unwrap_or_default()),
            Err(problem) => (problem.status(), problem.to_json()),
        }
    }

    async fn json(&self, who: &str, route: &str, values: &[&str], body: Value) -> (u16, Value) {
        self.send(&format!("token-of-{who}"), route, values, ("application/json", &body.to_string())).await
    }

    async fn get(&self, who: &str, route: &str, values: &[&str]) -> Value {
        let (status, body) = self.json(who, route, values, Value::Null).await;
        assert_eq!(status, 200, "{body}");
        body
    }

    /// Changes the time at which Ann added a medicine.
    async fn added_at(&self, medicine: &Value, at: &str) {
        let s = |text: String| AttributeValue::S(text);
        let update = self.db.client.update_item().table_name(Database::OKUSURI).key("PK", s("USER#ann".to_owned()));
        let update = update.key("SK", s(format!("MEDICINE#{}", medicine["id"].as_str().unwrap())));
        let update =
            update.update_expression("SET CreatedAt = :at").expression_attribute_values(":at", s(at.to_owned()));
        update.send().await.unwrap();
    }

    async fn admin(&self, route: &str) -> (u16, Value) {
        self.send("health", route, &[], ("application/json", "")).await
    }
}

const LOG: &str = "/okusuri/api/logs/{date}";

fn problem(answer: &(u16, Value)) -> (u16, &str) {
    (answer.0, answer.1["type"].as_str().unwrap_or_default().trim_start_matches("urn:tidemark:problem:"))
}

#[tokio::test]
async fn a_code_that_could_not_be_mailed_is_reported_and_counts_towards_the_limits() {
    let world = World::new().await;
    let ask = || async {
        world.json("nobody", "POST /okusuri/api/sign-in/email", &[], json!({ "email": "carol@example.com" })).await
    };
    assert_eq!(problem(&ask().await), (503, "mail-not-sent"));
    // No second mail within the minute, and at most five within the hour.
    assert_eq!(ask().await.0, 202);
}

#[tokio::test]
async fn a_day_is_logged_in_the_time_zone_of_its_user() {
    let world = World::new().await;
    let put = async |who, date, body| world.json(who, &format!("PUT {LOG}"), &[date], body).await;
    let today = json!({ "hasBleeding": false });
    let (status, body) = put("ann", "2026-11-22", today.clone()).await;
    assert_eq!((status, &body["status"]["streak"], &body["status"]["loggedToday"]), (201, &json!(1), &json!(true)));
    // In Honolulu it is still Saturday.
    assert_eq!(problem(&put("bob", "2026-11-22", today.clone()).await), (400, "date-in-the-future"));
    let (status, body) = put("bob", "2026-11-21", today.clone()).await;
    assert_eq!((status, &body["status"]["today"]), (201, &json!("2026-11-21")));
    assert_eq!(problem(&put("ann", "2026-11-23", today.clone()).await), (400, "date-in-the-future"));
    assert_eq!(problem(&put("ann", "1899-12-31", today.clone()).await), (400, "date-too-early"));
    assert_eq!(problem(&put("ann", "2026-02-29", today.clone()).await), (400, "invalid-parameter"));
    for body in [json!({}), json!({ "hasBleeding": "no" }), json!({ "hasBleeding": true, "x": 1 }), json!([true])] {
        assert_eq!(problem(&put("ann", "2026-11-22", body.clone()).await), (400, "invalid-body"), "{body}");
    }
    let note = json!({ "hasBleeding": true, "note": "あ".repeat(501) });
    assert_eq!(problem(&put("ann", "2026-11-22", note).await), (400, "invalid-body"));
    let nobody = world.send("token", &format!("GET {LOG}"), &["2026-11-22"], ("", "")).await;
    assert_eq!(problem(&nobody), (401, "not-signed-in"));
}

#[tokio::test]
async fn a_forgotten_log_can_be_added_and_a_wrong_one_deleted() {
    let world = World::new().await;
    for (date, has_bleeding) in [("2026-11-19", true), ("2026-11-20", true), ("2026-11-22", false)] {
        world.json("ann", &format!("PUT {LOG}"), &[date], json!({ "hasBleeding": has_bleeding })).await;
    }
    let status = world.get("ann", "GET /okusuri/api/status", &[]).await;
    assert_eq!((&status["streak"], &status["bestStreak"]), (&json!(1), &json!(2)));
    let forgotten = json!({ "hasBleeding": true, "note": "痛み" });
    let (status, body) = world.json("ann", &format!("PUT {LOG}"), &["2026-11-21"], forgotten).await;
    assert_eq!(status, 201);
    // After three bleeding days, today is a rest day, although it is logged.
    let expected = json!({
        "today": "2026-11-22", "streak": 0, "bestStreak": 3, "consecutiveBleedingDays": 0, "isResting": true, "restDaysLeft": 4,
        "loggedToday": true, "lastLogOn": "2026-11-22",
    });
    assert_eq!(body["status"], expected);
    let month = world.get("ann", "GET /okusuri/api/calendar/{month}", &["2026-11"]).await;
    let states: Vec<_> = month["days"].as_array().unwrap()[17..26].iter().map(|day| day["state"].clone()).collect();
    assert_eq!(
        states,
        ["none", "bleeding", "bleeding", "bleeding", "rest", "rest", "rest", "rest", "future"].map(Value::from)
    );
    assert_eq!(month["days"][20]["log"]["note"], "痛み");
    // Without the member the note is kept; `null` deletes it.
    let (_, body) = world.json("ann", &format!("PUT {LOG}"), &["2026-11-21"], json!({ "hasBleeding": false })).await;
    assert_eq!((&body["log"]["note"], &body["status"]["streak"]), (&json!("痛み"), &json!(4)));
    let without = json!({ "hasBleeding": false, "note": null });
    let (status, body) = world.json("ann", &format!("PUT {LOG}"), &["2026-11-21"], without).await;
    assert_eq!((status, &body["log"]["note"]), (200, &Value::Null));
    let (status, body) = world.json("ann", &format!("DELETE {LOG}"), &["2026-11-20"], json!({})).await;
    assert_eq!((status, &body["status"]["streak"], &body["status"]["bestStreak"]), (200, &json!(2), &json!(2)));
    let again = world.json("ann", &format!("DELETE {LOG}"), &["2026-11-20"], json!({})).await;
    assert_eq!(problem(&again), (404, "log-not-found"));
    // Bob cannot see it.
    let bobs = world.json("bob", &format!("GET {LOG}"), &["2026-11-21"], Value::Null).await;
    assert_eq!(problem(&bobs), (404, "log-not-found"));
}

#[tokio::test]
async fn bleeding_can_be_logged_without_the_medication() {
    let world = World::new().await;
    world.json("ann", &format!("PUT {LOG}"), &["2026-11-21"], json!({ "hasBleeding": false })).await;
    let bleeding = json!({ "hasBleeding": true, "isTaken": false, "note": "痛み" });
    let (status, body) = world.json("ann", &format!("PUT {LOG}"), &["2026-11-22"], bleeding.clone()).await;
    assert_eq!((status, &body["log"]["isTaken"]), (201, &json!(false)));
    // Today has no log that counts yet, so yesterday's streak continues.
    let standing = &body["status"];
    assert_eq!((&standing["streak"], &standing["loggedToday"]), (&json!(1), &json!(false)));
    assert_eq!((&standing["lastLogOn"], &standing["consecutiveBleedingDays"]), (&json!("2026-11-21"), &json!(0)));
    let month = world.get("ann", "GET /okusuri/api/calendar/{month}", &["2026-11"]).await;
    let today = &month["days"][21];
    assert_eq!((&today["state"], &today["log"]["hasBleeding"]), (&json!("none"), &json!(true)));
    assert_eq!(world.json("ann", &format!("PUT {LOG}"), &["2026-11-22"], bleeding).await.0, 200);
    // Importing an export changes nothing.
    let file = "date,has_bleeding,is_taken,note\n2026-11-21,false,true,\n2026-11-22,true,false,痛み\n2026-11-20,true,perhaps,\n";
    let (_, body) = world.send("token-of-ann", "POST /okusuri/api/import?dryRun=0", &[], ("text/csv", file)).await;
    assert_eq!((&body["unchanged"], &body["items"][2]["problem"]), (&json!(2), &json!("invalid-is-taken")), "{body}");
}

#[tokio::test]
async fn logs_are_listed_in_pages_and_a_cursor_is_bound_to_its_list() {
    let world = World::new().await;
    for day in 10..20 {
        world.json("ann", &format!("PUT {LOG}"), &[&format!("2026-11-{day}")], json!({ "hasBleeding": false })).await;
    }
    let route = "GET /okusuri/api/logs?from=2026-11-12&to=2026-11-18&limit=3";
    let (mut dates, mut cursor) = (Vec::new(), String::new());
    loop {
        let page = world.get("ann", &format!("{route}{cursor}"), &[]).await;
        let items = page["items"].as_array().unwrap();
        dates.extend(items.iter().map(|log| log["date"].as_str().unwrap()[8..].to_owned()));
        let Some(next) = page["cursor"].as_str() else { break };
        cursor = format!("&cursor={next}");
    }
    assert_eq!(dates, ["18", "17", "16", "15", "14", "13", "12"]);
    let others = [("bob", format!("{route}{cursor}")), ("ann", format!("{route}{cursor}&order=asc"))];
    for (who, route) in others {
        assert_eq!(problem(&world.json(who, &route, &[], Value::Null).await), (400, "invalid-cursor"), "{route}");
    }
    let reversed = world.json("ann", "GET /okusuri/api/logs?from=2026-11-19&to=2026-11-18", &[], Value::Null).await;
    assert_eq!(problem(&reversed), (400, "invalid-parameter"));
}

#[tokio::test]
async fn doses_are_taken_skipped_snoozed_and_missed() {
    let world = World::new().await;
    let form = json!({ "name": "鉄剤", "dose": "1錠", "times": ["21:00", "08:00", "11:00"], "from": "2026-11-21" });
    let (status, medicine) = world.json("ann", "POST /okusuri/api/medicines", &[], form.clone()).await;
    assert_eq!((status, &medicine["times"]), (201, &json!(["08:00", "11:00", "21:00"])));
    world.added_at(&medicine, "2026-11-20T00:00:00Z").await;
    let id = medicine["id"].as_str().unwrap();
    let dose = "/okusuri/api/doses/{date}/{time}/{medicineId}";
    let mark = async |date, time, body| world.json("ann", &format!("PUT {dose}"), &[date, time, id], body).await;
    let states = async |date: &str| {
        let doses = world.get("ann", &format!("GET /okusuri/api/doses?date={date}"), &[]).await;
        let doses = doses["items"].as_array().unwrap().clone();
        doses.iter().map(|dose| dose["state"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(states("2026-11-22").await, ["missed", "due", "due"]);
    assert_eq!(states("2026-11-20").await, Vec::<String>::new());
    assert_eq!(mark("2026-11-22", "08:00", json!({ "state": "taken" })).await.0, 201);
    let (status, body) = mark("2026-11-22", "11:00", json!({ "state": "snoozed", "minutes": 30 })).await;
    assert_eq!((status, &body["snoozedUntil"]), (201, &json!("2026-11-22T03:30:00Z")));
    assert_eq!(states("2026-11-22").await, ["taken", "snoozed", "due"]);
    assert_eq!(mark("2026-11-22", "11:00", json!({ "state": "skipped" })).await.0, 200);
    assert_eq!(mark("2026-11-21", "08:00", json!({ "state": "taken" })).await.0, 201);
    // Yesterday one of three doses; today one of the two that are no longer possible.
    let adherence = world.get("ann", "GET /okusuri/api/adherence", &[]).await;
    assert_eq!((&adherence["due"], &adherence["taken"], &adherence["of"]), (&json!(5), &json!(2), &json!("doses")));
    let month = world.get("ann", "GET /okusuri/api/calendar/{month}", &["2026-11"]).await;
    assert_eq!(month["days"][20]["doses"], json!({ "planned": 3, "taken": 1, "skipped": 0, "missed": 2 }));

    assert_eq!(world.json("ann", &format!("DELETE {dose}"), &["2026-11-22", "08:00", id], json!({})).await.0, 200);
    let again = world.json("ann", &format!("DELETE {dose}"), &["2026-11-22", "08:00", id], json!({})).await;
    assert_eq!(problem(&again), (404, "dose-not-found"));
    for (date, time, body, expected) in [
        ("2026-11-23", "08:00", json!({ "state": "taken" }), "date-in-the-future"),
        ("2026-11-22", "8:00", json!({ "state": "taken" }), "invalid-parameter"),
        ("2026-11-22", "08:00", json!({ "state": "eaten" }), "invalid-body"),
        ("2026-11-22", "08:00", json!({ "state": "taken", "minutes": 5 }), "invalid-body"),
        ("2026-11-22", "08:00", json!({ "state": "snoozed", "minutes": 721 }), "invalid-body"),
    ] {
        assert_eq!(problem(&mark(date, time, body).await), (400, expected), "{date} {time}");
    }
    // Bob has no such medicine.
    let taken = json!({ "state": "taken" });
    let bobs = world.json("bob", &format!("PUT {dose}"), &["2026-11-21", "08:00", id], taken.clone()).await;
    assert_eq!(problem(&bobs), (404, "medicine-not-found"));
    let bobs = world.json("bob", "PUT /okusuri/api/medicines/{medicineId}", &[id], form).await;
    assert_eq!(problem(&bobs), (404, "medicine-not-found"));
    let no_key = "m".repeat(2_000);
    let gone = world.json("ann", "DELETE /okusuri/api/medicines/{medicineId}", &[&no_key], json!({})).await;
    assert_eq!(problem(&gone), (404, "medicine-not-found"));
    assert_eq!(world.json("ann", "DELETE /okusuri/api/medicines/{medicineId}", &[id], json!({})).await.0, 200);
    assert_eq!(problem(&mark("2026-11-22", "08:00", taken).await), (404, "medicine-not-found"));
}

#[tokio::test]
async fn changing_a_medicine_does_not_change_its_past_days() {
    let world = World::new().await;
    let form = |times: &[&str], until: Option<&str>| {
        let mut form = json!({ "name": "鉄剤", "dose": "1錠", "times": times, "from": "2026-11-21" });
        if let Some(until) = until {
            form["until"] = until.into();
        }
        form
    };
    let (_, medicine) = world.json("ann", "POST /okusuri/api/medicines", &[], form(&["08:00"], None)).await;
    world.added_at(&medicine, "2026-11-20T00:00:00Z").await;
    let medicine = world.get("ann", "GET /okusuri/api/medicines", &[]).await["items"][0].clone();
    let id = medicine["id"].as_str().unwrap();
    let dose = "PUT /okusuri/api/doses/{date}/{time}/{medicineId}";
    world.json("ann", dose, &["2026-11-21", "08:00", id], json!({ "state": "taken" })).await;
    let change = async |form| world.json("ann", "PUT /okusuri/api/medicines/{medicineId}", &[id], form).await;
    let (status, changed) = change(form(&["20:00"], Some("2026-11-22"))).await;
    assert_eq!((status, &changed["until"], &changed["createdAt"]), (200, &json!("2026-11-22"), &medicine["createdAt"]));
    let yesterday = world.get("ann", "GET /okusuri/api/doses?date=2026-11-21", &[]).await;
    let shown: Vec<_> = yesterday["items"].as_array().unwrap().iter().map(|dose| &dose["state"]).collect();
    assert_eq!(shown, ["taken"]);
    let (_, changed) = change(form(&["20:00"], None)).await;
    assert_eq!(changed.get("until"), None);
    for body in [
        form(&[], None),
        form(&["25:00"], None),
        form(&["08:00"], Some("2026-11-20")),
        form(&["08:00"], Some("2026-11-31")),
    ] {
        assert_eq!(problem(&change(body.clone()).await), (400, "invalid-body"), "{body}");
    }
    for _ in 1..50 {
        assert_eq!(world.json("ann", "POST /okusuri/api/medicines", &[], form(&["08:00"], None)).await.0, 201);
    }
    let one_more = world.json("ann", "POST /okusuri/api/medicines", &[], form(&["08:00"], None)).await;
    assert_eq!(problem(&one_more), (409, "too-many-medicines"));
}

#[tokio::test]
async fn a_medicine_does_not_affect_the_time_before_it_was_added() {
    let world = World::new().await;
    for day in 10..=22 {
        let date = format!("2026-11-{day}");
        world.json("ann", &format!("PUT {LOG}"), &[&date], json!({ "hasBleeding": false })).await;
    }
    let adherence = async || {
        let adherence = world.get("ann", "GET /okusuri/api/adherence", &[]).await;
        (adherence["of"].clone(), adherence["due"].clone(), adherence["taken"].clone())
    };
    assert_eq!(adherence().await, (json!("logs"), json!(13), json!(13)));
    // Added at noon, for the morning and the evening, valid since last week.
    let form = json!({ "name": "鉄剤", "dose": "1錠", "times": ["08:00", "20:00"], "from": "2026-11-15" });
    let (_, medicine) = world.json("ann", "POST /okusuri/api/medicines", &[], form).await;
    let doses = world.get("ann", "GET /okusuri/api/doses?date=2026-11-22", &[]).await;
    let times: Vec<_> = doses["items"].as_array().unwrap().iter().map(|dose| [&dose["time"], &dose["state"]]).collect();
    assert_eq!(times, [[&json!("20:00"), &json!("due")]]);
    // Today counts by its doses now, and none of them is over.
    assert_eq!(adherence().await, (json!("logs"), json!(12), json!(12)));
    // A medicine that was added two days ago has missed both doses of yesterday.
    world.added_at(&medicine, "2026-11-20T12:00:00Z").await;
    assert_eq!(adherence().await, (json!("both"), json!(11 + 3), json!(11)));
}

#[tokio::test]
async fn without_a_medicine_adherence_is_computed_from_the_logs() {
    let world = World::new().await;
    for date in ["2026-11-18", "2026-11-20", "2026-11-21"] {
        world.json("ann", &format!("PUT {LOG}"), &[date], json!({ "hasBleeding": false })).await;
    }
    let adherence = world.get("ann", "GET /okusuri/api/adherence", &[]).await;
    let expected =
        json!({ "from": "2026-10-24", "to": "2026-11-22", "of": "logs", "due": 4, "taken": 3, "rate": 0.75 });
    assert_eq!(adherence, expected);
    assert_eq!(world.get("bob", "GET /okusuri/api/adherence", &[]).await.get("rate"), None);
}

#[tokio::test]
async fn a_file_is_read_row_by_row_and_a_dry_run_writes_nothing() {
    let world = World::new().await;
    world.json("ann", &format!("PUT {LOG}"), &["2026-11-20"], json!({ "hasBleeding": false, "note": "old" })).await;
    let file = "\u{feff}note,Date,has_bleeding,else\r\n,2026-11-18,true,x\r\n\"a, \"\"b\"\"\",2026-11-19,0,\r\nold,2026-11-20,no,\r\n\
                ,2026-11-20,yes,\r\n,2026-11-23,no,\r\n,2026-02-30,no,\r\n,2026-11-17,perhaps,\r\n\r\n,1800-01-01,no\r\n";
    let send = async |query: &str, file: &str| {
        world.send("token-of-ann", &format!("POST /okusuri/api/import?{query}"), &[], ("text/csv", file)).await
    };
    for query in ["dryRun=1", "allOrNothing=1"] {
        let (status, body) = send(query, file).await;
        assert_eq!((status, &body["isWritten"], &body["created"]), (200, &json!(false), &json!(2)), "{body}");
        assert_eq!(world.get("ann", "GET /okusuri/api/logs", &[]).await["items"].as_array().unwrap().len(), 1);
    }
    let (status, body) = send("", file).await;
    assert_eq!((status, &body["isWritten"], &body["refused"]), (200, &json!(true), &json!(5)));
    let rows: Vec<_> = body["items"].as_array().unwrap().iter().collect();
    let told = |row: &Value| row["result"].as_str().or(row["problem"].as_str()).unwrap().to_owned();
    let told: Vec<_> = rows.iter().map(|row| (row["line"].as_u64().unwrap(), told(row))).collect();
    let expected = [
        (2, "created"),
        (3, "created"),
        (4, "unchanged"),
        (5, "duplicate-date"),
        (6, "date-in-the-future"),
        (7, "invalid-date"),
        (8, "invalid-has-bleeding"),
        (10, "date-too-early"),
    ];
    assert_eq!(told, expected.map(|(line, told)| (line, told.to_owned())));
    assert_eq!(body["status"]["bestStreak"], 3);
    let log = world.get("ann", &format!("GET {LOG}"), &["2026-11-19"]).await;
    assert_eq!(log["note"], "a, \"b\"");
    // A repeated import changes nothing.
    assert_eq!(send("", file).await.1["unchanged"], 3);

    let many: String = (0..1_001).map(|day| format!("\n2020-01-{day:02},no")).collect();
    assert_eq!(problem(&send("", &format!("date,has_bleeding{many}")).await), (400, "too-many-rows"));
    for file in ["", "date,note\n2026-11-01,x", "date,has_bleeding\n\"2026", "\u{0}"] {
        let answer = send("", file).await;
        assert!(answer.0 == 400 || answer.1["refused"] == 1, "{file:?} {answer:?}");
    }
    assert_eq!(problem(&send("dryRun=yes", file).await), (400, "invalid-parameter"));
    let large = format!("date,has_bleeding\n{}", "x".repeat(1024 * 1024));
    assert_eq!(problem(&send("", &large).await), (413, "body-too-large"));
}

#[tokio::test]
async fn a_thousand_days_are_imported_at_once() {
    let world = World::new().await;
    let first: jiff::civil::Date = "2024-01-01".parse().unwrap();
    let days = first.series(jiff::Span::new().days(1)).take(1_000);
    let file: String = days.map(|day| format!("\n{day},false")).collect();
    let file = format!("date,has_bleeding{file}");
    let (status, body) = world.send("token-of-ann", "POST /okusuri/api/import", &[], ("text/csv", &file)).await;
    assert_eq!((status, &body["created"], &body["status"]["bestStreak"]), (200, &json!(1_000), &json!(1_000)));
}

#[tokio::test]
async fn the_health_administration_gives_a_reason_and_each_user_sees_it() {
    let world = World::new().await;
    let logs = "GET /okusuri/api/admin/logs";
    for (who, date) in [("ann", "2026-11-22"), ("bob", "2026-11-21")] {
        world.json(who, &format!("PUT {LOG}"), &[date], json!({ "hasBleeding": true })).await;
    }
    for query in [
        "date=2026-11-22",
        "date=2026-11-22&reason=",
        "date=2026-11-22&reason=because",
        "date=2026-11-22&reason=          x",
    ] {
        assert_eq!(problem(&world.admin(&format!("{logs}?{query}")).await), (400, "invalid-parameter"), "{query}");
    }
    let accesses = async |who| world.get(who, "GET /okusuri/api/me/accesses", &[]).await["items"].clone();
    assert_eq!(accesses("ann").await, json!([]));
    let (_, shown) = world.admin(&format!("{logs}?date=2026-11-22&reason=a complaint by phone")).await;
    assert_eq!(shown["items"][0]["userId"], "ann");
    let expected = json!([{ "at": noon().to_string(), "kind": "medication_log", "reason": "a complaint by phone" }]);
    assert_eq!((accesses("ann").await, accesses("bob").await), (expected, json!([])));
    // The export contains it, too; and a user who is being deleted is not shown any more.
    let export = world.get("ann", "GET /okusuri/api/export", &[]).await;
    assert!(
        export["items"].as_array().unwrap().iter().any(|item| item["reason"] == "a complaint by phone"),
        "{export}"
    );
    let everything = store::okusuri::UserData::new(&world.db.table(Database::OKUSURI));
    everything.delete(&domain::UserId::new("ann").unwrap(), noon(), || false).await.unwrap();
    let (_, shown) = world.admin("GET /okusuri/api/admin/items?type=user&reason=a complaint by phone").await;
    assert_eq!(shown["items"].as_array().unwrap().iter().map(|user| &user["userId"]).collect::<Vec<_>>(), ["bob"]);
    // If the access cannot be recorded, nothing is shown.
    let fail = engine::Chance { next: 50, probability: 0.0 };
    let fail_before = std::collections::BTreeMap::from([("TransactWriteItems".to_owned(), fail)]);
    world.db.engine().faults().set(engine::EngineFaults { fail_before, ..engine::EngineFaults::default() });
    let (status, body) = world.admin(&format!("{logs}?date=2026-11-21&reason=a complaint by phone")).await;
    assert!(status >= 500 && !body.to_string().contains("bob"), "{body}");
}

#[tokio::test]
async fn an_unreadable_log_is_omitted_from_its_day() {
    let world = World::new().await;
    for id in ["ann", "bob"] {
        user(&world.db.client, id, "Asia/Tokyo").await.unwrap();
        world.json(id, &format!("PUT {LOG}"), &["2026-11-21"], json!({ "hasBleeding": false })).await;
    }
    let text = |text: &str| AttributeValue::S(text.to_owned());
    let update = world.db.client.update_item().table_name(Database::OKUSURI).key("PK", text("USER#ann"));
    let update = update.key("SK", text("MEDICATION#2026-11-21")).update_expression("SET HasBleeding = :perhaps");
    let update = update.condition_expression("attribute_exists(HasBleeding)");
    update.expression_attribute_values(":perhaps", text("perhaps")).send().await.unwrap();
    let (status, page) = world.admin("GET /okusuri/api/admin/logs?reason=an inspection&date=2026-11-21").await;
    assert_eq!((status, &page["skipped"], &page["items"][0]["userId"]), (200, &json!(1), &json!("bob")), "{page}");
}

#[tokio::test]
async fn administrators_list_types_and_days_across_all_shards_without_secrets() {
    let world = World::new().await;
    let mut expected = BTreeSet::new();
    for number in 0..23 {
        let id = format!("user-{number}");
        user(&world.db.client, &id, "Asia/Tokyo").await.unwrap();
        let body = json!({ "hasBleeding": number % 2 == 0, "note": "mine" });
        world.json(&id, &format!("PUT {LOG}"), &["2026-11-21"], body.clone()).await;
        world.json(&id, &format!("PUT {LOG}"), &["2026-11-22"], body).await;
        expected.insert(id);
    }
    for limit in [1, 4, 22, 23, 100] {
        let (mut ids, mut cursor) = (Vec::new(), String::new());
        loop {
            let route =
                format!("GET /okusuri/api/admin/logs?reason=an inspection&date=2026-11-21&limit={limit}{cursor}");
            let (status, page) = world.admin(&route).await;
            assert_eq!(status, 200, "{page}");
            for log in page["items"].as_array().unwrap() {
                assert_eq!((&log["date"], log.get("note")), (&json!("2026-11-21"), None));
                ids.push(log["userId"].as_str().unwrap().to_owned());
            }
            let Some(next) = page["cursor"].as_str() else { break };
            cursor = format!("&cursor={next}");
        }
        assert!(ids.is_sorted(), "limit {limit}");
        assert_eq!((ids.len(), ids.into_iter().collect::<BTreeSet<_>>()), (23, expected.clone()), "limit {limit}");
    }
    let (mut listed, mut cursor) = (Vec::new(), String::new());
    loop {
        let (_, page) = world
            .admin(&format!("GET /okusuri/api/admin/items?reason=an inspection&type=session&limit=7{cursor}"))
            .await;
        listed.extend(page["items"].as_array().unwrap().clone());
        let Some(next) = page["cursor"].as_str() else { break };
        cursor = format!("&cursor={next}");
    }
    assert_eq!(listed.len(), 25);
    assert!(!listed.iter().any(|item| item.to_string().contains("tokenHash")), "{listed:?}");
    let (_, logs) = world.admin("GET /okusuri/api/admin/items?reason=an inspection&type=medication_log").await;
    assert_eq!((logs["items"].as_array().unwrap().len(), logs["items"][0].get("note")), (46, None));
    assert_eq!(
        problem(&world.admin("GET /okusuri/api/admin/items?reason=an inspection&type=secret").await),
        (400, "invalid-parameter")
    );
    let by_user =
        world.json("ann", "GET /okusuri/api/admin/items?reason=an inspection&type=user", &[], Value::Null).await;
    assert_eq!(problem(&by_user), (401, "invalid-token"));

    let owner =
        store::okusuri::rows::EmailOwner { email: "ann@example.com".into(), user_id: "ann".into(), created_at: noon() };
    tidemark_tests::okusuri::put(&world.db.client, &owner).await.unwrap();
    let (_, found) = world.admin("GET /okusuri/api/admin/users?reason=an inspection&email=Ann@Example.com").await;
    assert_eq!(found["items"][0]["id"], "ann");
    let (_, none) = world.admin("GET /okusuri/api/admin/users?reason=an inspection&email=zoe@example.com").await;
    assert_eq!(none["items"], json!([]));
}
