//! `okusuri-api` from its users' view, with one clock and the real engine.

use aws_sdk_dynamodb::types::AttributeValue;
use jiff::Timestamp;
use lambda_kit::http::Request;
use okusuri_api::{Okusuri, handle};
use serde_json::{Value, json};
use tests::Database;
use tests::okusuri::{service, user};

mod administration;
mod import;
mod medicines;

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
        let okusuri = service(&db, noon).unwrap();
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
        let media_type = content.0.trim_end_matches(";base64");
        let event = json!({
            "routeKey": route,
            "headers": { "authorization": format!("Bearer {token}"), "content-type": media_type },
            "pathParameters": parameters,
            "queryStringParameters": query,
            "requestContext": { "http": { "method": route.split(' ').next() } },
            "body": content.1,
            "isBase64Encoded": content.0.ends_with(";base64"),
        });
        let request = Request::new(serde_json::from_value(event).unwrap());
        match handle(&self.okusuri, request).await {
            Ok(reply) => (reply.status(), serde_json::from_str(reply.body()).unwrap_or_else(|_| reply.body().into())),
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
async fn unmailed_code_is_reported_and_counts_towards_limits() {
    let world = World::new().await;
    let ask = || async {
        world.json("nobody", "POST /okusuri/api/sign-in/email", &[], json!({ "email": "carol@example.com" })).await
    };
    assert_eq!(problem(&ask().await), (503, "mail-not-sent"));
    // No second mail within the minute, and at most five within the hour.
    assert_eq!(ask().await.0, 202);
}

#[tokio::test]
async fn code_is_mailed_when_the_writes_answer_is_lost() {
    let world = World::new().await;
    // A loopback client has no source limit, so the mailbox has the first update.
    let request = Request::new(
        serde_json::from_value(json!({
            "routeKey": "POST /okusuri/api/sign-in/email",
            "headers": { "content-type": "application/json" },
            "requestContext": { "http": { "method": "POST", "sourceIp": "127.0.0.1" } },
            "body": json!({ "email": "carol@example.com" }).to_string(),
        }))
        .unwrap(),
    );
    world.db.lose_answers("UpdateItem", 1);
    // The mailer of this test sends nothing, and says so when it is asked to.
    assert_eq!(
        handle(&world.okusuri, request).await.unwrap_err().to_json()["type"],
        "urn:tidemark:problem:mail-not-sent"
    );
}

#[tokio::test]
async fn day_is_logged_in_its_users_time_zone() {
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
async fn forgotten_log_can_be_added_and_wrong_one_deleted() {
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
    let mut bleeding = json!({ "hasBleeding": true, "isTaken": false, "note": "痛み", "flow": "light" });
    bleeding["symptoms"] = json!(["mood", "cramps"]);
    let (status, body) = world.json("ann", &format!("PUT {LOG}"), &["2026-11-22"], bleeding.clone()).await;
    assert_eq!((status, &body["log"]["isTaken"]), (201, &json!(false)));
    assert_eq!((&body["log"]["flow"], &body["log"]["symptoms"]), (&json!("light"), &json!(["cramps", "mood"])));
    // Today has no log that counts yet, so yesterday's streak continues.
    let standing = &body["status"];
    assert_eq!((&standing["streak"], &standing["loggedToday"]), (&json!(1), &json!(false)));
    assert_eq!((&standing["lastLogOn"], &standing["consecutiveBleedingDays"]), (&json!("2026-11-21"), &json!(0)));
    let month = world.get("ann", "GET /okusuri/api/calendar/{month}", &["2026-11"]).await;
    let today = &month["days"][21];
    assert_eq!((&today["state"], &today["log"]["hasBleeding"]), (&json!("none"), &json!(true)));
    assert_eq!(world.json("ann", &format!("PUT {LOG}"), &["2026-11-22"], bleeding).await.0, 200);
    // Importing an export changes nothing.
    let (_, file) = world.send("token-of-ann", "GET /okusuri/api/export?format=csv", &[], ("", "")).await;
    let file = file.as_str().unwrap();
    let head = "date,has_bleeding,is_taken,note,flow,symptoms\n2026-11-21,false,true,,,\n";
    assert_eq!(file, format!("{head}2026-11-22,true,false,痛み,light,cramps mood\n"));
    let wrong = "2026-11-20,true,perhaps,,,\n2026-11-19,true,,,a lot,\n2026-11-18,no,,,heavy,\n2026-11-17,no,,,,mood mood\n2026-11-16,no,,,,hunger\n";
    let file = format!("{file}{wrong}");
    let (_, body) = world.send("token-of-ann", "POST /okusuri/api/import?dryRun=0", &[], ("text/csv", &file)).await;
    let problems: Vec<_> = body["items"].as_array().unwrap()[2..].iter().map(|item| item["problem"].as_str()).collect();
    let flow_or_symptoms = ["invalid-flow", "invalid-flow", "invalid-symptoms", "invalid-symptoms"].map(Some);
    assert_eq!(problems, [&[Some("invalid-is-taken")], &flow_or_symptoms[..]].concat(), "{body}");
    assert_eq!(body["unchanged"], 2);
}

#[tokio::test]
async fn a_regimen_is_chosen_and_counts_all_days_anew() {
    let world = World::new().await;
    const ME: &str = "PUT /okusuri/api/me";
    for days in 18..=20 {
        let date = format!("2026-11-{days}");
        world.json("ann", &format!("PUT {LOG}"), &[&date], json!({ "hasBleeding": true })).await;
    }
    let me = world.get("ann", "GET /okusuri/api/me", &[]).await;
    assert_eq!((&me["regimen"], &me["asksRegimen"]), (&json!({ "kind": "continuous" }), &json!(false)));
    let standing = async || {
        let status = world.get("ann", "GET /okusuri/api/status", &[]).await;
        (status["streak"].clone(), status["isResting"].clone(), status["restDaysLeft"].clone())
    };
    assert_eq!(standing().await, (json!(0), json!(true), json!(3)));
    let cycle = json!({ "kind": "cycle", "activeDays": 21, "restDays": 7, "startOn": "2026-10-31" });
    let (status, me) = world.json("ann", ME, &[], json!({ "regimen": cycle })).await;
    assert_eq!((status, &me["regimen"]), (200, &cycle));
    assert_eq!(standing().await, (json!(3), json!(true), json!(6)));
    let month = world.get("ann", "GET /okusuri/api/calendar/{month}", &["2026-11"]).await;
    assert_eq!([19, 20, 26, 27].map(|day| month["days"][day]["state"].clone()), ["bleeding", "rest", "rest", "future"]);
    // Another change keeps the regimen, and an invalid one does nothing.
    assert_eq!(world.json("ann", ME, &[], json!({ "name": "Ann" })).await.1["regimen"], cycle);
    for invalid in [
        json!({ "kind": "own" }),
        json!({ "kind": "medicines", "activeDays": 21 }),
        json!({ "kind": "cycle", "activeDays": 0, "restDays": 7, "startOn": "2026-10-31" }),
        json!({ "kind": "cycle", "activeDays": 21, "restDays": 7, "startOn": "yesterday" }),
    ] {
        let refused = world.json("ann", ME, &[], json!({ "regimen": invalid })).await;
        assert_eq!(problem(&refused), (400, "invalid-body"), "{invalid}");
    }
    assert_eq!(standing().await, (json!(3), json!(true), json!(6)));
    world.json("ann", ME, &[], json!({ "regimen": { "kind": "medicines" } })).await;
    assert_eq!(standing().await, (json!(0), json!(false), json!(0)), "the 21st was missed");
}

#[tokio::test]
async fn logs_are_paged_with_cursors_bound_to_their_list() {
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
