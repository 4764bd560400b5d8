//! Medicines with their doses, and how regularly they are taken.

use serde_json::{Value, json};

use super::{LOG, World, problem};

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
    // A time that is corrected, and one to come; the same request again changes nothing.
    for at in ["2026-11-21T23:12:00Z", "2026-11-21T23:12:00Z", "2026-11-22T09:00:00Z"] {
        let (status, body) = mark("2026-11-22", "08:00", json!({ "state": "taken", "at": at })).await;
        let day = world.get("ann", "GET /okusuri/api/doses", &[]).await;
        let expected = json!(at.min("2026-11-22T03:00:00Z"));
        assert_eq!((status, &body["at"], &day["items"][0]["takenAt"]), (200, &expected, &expected));
        assert_eq!(day["items"][1].get("takenAt"), None);
    }
    assert_eq!(mark("2026-11-21", "08:00", json!({ "state": "taken" })).await.0, 201);
    // Yesterday one of three doses; today one of the two that are no longer possible.
    let adherence = world.get("ann", "GET /okusuri/api/adherence", &[]).await;
    assert_eq!((&adherence["due"], &adherence["taken"], &adherence["of"]), (&json!(5), &json!(2), &json!("doses")));
    let month = world.get("ann", "GET /okusuri/api/calendar/{month}", &["2026-11"]).await;
    assert_eq!(month["days"][20]["doses"], json!({ "planned": 3, "taken": 1, "skipped": 0, "missed": 2 }));
    assert_eq!(month["medicines"], json!([{ "medicineId": id, "name": "鉄剤", "due": 5, "taken": 2, "rate": 0.4 }]));
    assert_eq!(world.get("ann", "GET /okusuri/api/calendar/{month}", &["2026-10"]).await["medicines"], json!([]));

    assert_eq!(world.json("ann", &format!("DELETE {dose}"), &["2026-11-22", "08:00", id], json!({})).await.0, 200);
    let again = world.json("ann", &format!("DELETE {dose}"), &["2026-11-22", "08:00", id], json!({})).await;
    assert_eq!(problem(&again), (404, "dose-not-found"));
    for (date, time, body, expected) in [
        ("2026-11-23", "08:00", json!({ "state": "taken" }), "date-in-the-future"),
        ("2026-11-22", "8:00", json!({ "state": "taken" }), "invalid-parameter"),
        ("2026-11-22", "08:00", json!({ "state": "eaten" }), "invalid-body"),
        ("2026-11-22", "08:00", json!({ "state": "taken", "minutes": 5 }), "invalid-body"),
        ("2026-11-22", "08:00", json!({ "state": "snoozed", "minutes": 721 }), "invalid-body"),
        ("2026-11-22", "08:00", json!({ "state": "skipped", "at": "2026-11-22T01:00:00Z" }), "invalid-body"),
        ("2026-11-22", "08:00", json!({ "state": "taken", "at": "8:00" }), "invalid-body"),
        ("2026-11-20", "08:00", json!({ "state": "taken", "at": "2026-11-22T01:00:00Z" }), "invalid-body"),
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
async fn medicine_does_not_affect_days_before_it_was_added() {
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
async fn changes_of_doses_move_their_next_reminder() {
    const REMINDER: &str = "PUT /okusuri/api/reminder";
    let world = World::new().await;
    let next = async || world.get("ann", "GET /okusuri/api/reminder", &[]).await["doses"]["nextAt"].clone();
    let on = json!({ "doses": { "isEnabled": true, "language": "ja" } });
    let (status, reminder) = world.json("ann", REMINDER, &[], on).await;
    let doses = json!({ "isEnabled": true, "isMailed": true, "nextAt": null });
    assert_eq!((status, &reminder["doses"], &reminder["isEnabled"]), (200, &doses, &json!(false)));
    let form = |time: &str| json!({ "name": "鉄剤", "dose": "1錠", "times": [time], "from": "2026-11-21" });
    let (_, medicine) = world.json("ann", "POST /okusuri/api/medicines", &[], form("21:00")).await;
    assert_eq!(next().await, json!("2026-11-22T12:00:00Z"));
    let id = medicine["id"].as_str().unwrap();
    let (status, _) = world.json("ann", "PUT /okusuri/api/medicines/{medicineId}", &[id], form("20:00")).await;
    assert_eq!((status, next().await), (200, json!("2026-11-22T11:00:00Z")));
    // A dose of this morning, which was recorded before the medicine had its times.
    let dose = "/okusuri/api/doses/{date}/{time}/{medicineId}";
    let name = ["2026-11-22", "08:00", id];
    world.json("ann", &format!("PUT {dose}"), &name, json!({ "state": "snoozed", "minutes": 15 })).await;
    assert_eq!(next().await, json!("2026-11-22T03:15:00Z"));
    world.json("ann", &format!("DELETE {dose}"), &name, json!({})).await;
    assert_eq!(next().await, json!("2026-11-22T11:00:00Z"));
    world.json("ann", "PUT /okusuri/api/me", &[], json!({ "timeZone": "UTC" })).await;
    assert_eq!(next().await, json!("2026-11-22T20:00:00Z"));
    let (_, off) = world.json("ann", REMINDER, &[], json!({ "doses": { "isEnabled": false } })).await;
    assert_eq!(off["doses"]["nextAt"], Value::Null);
    assert_eq!(
        problem(&world.json("ann", REMINDER, &[], json!({ "doses": { "colour": "red" } })).await),
        (400, "invalid-body")
    );
}
