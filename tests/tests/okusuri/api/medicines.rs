//! Medicines with their doses, and how regularly they are taken.

use domain::UserId;
use okusuri_store::{DoseKey, Doses};
use serde_json::{Value, json};
use tests::Database;

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
    assert_eq!(
        month["days"][20]["doses"],
        json!({ "planned": 3, "taken": 1, "skipped": 0, "missed": 2, "asNeeded": 0 })
    );
    let of_month = json!([{ "medicineId": id, "name": "鉄剤", "due": 5, "taken": 2, "rate": 0.4, "asNeeded": 0 }]);
    assert_eq!(month["medicines"], of_month);
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
        form(&["08:00", "09:00", "10:00", "11:00", "12:00", "13:00", "14:00", "15:00", "16:00"], None),
        form(&["25:00"], None),
        form(&["08:00"], Some("2026-11-20")),
        form(&["08:00"], Some("2026-11-31")),
    ] {
        assert_eq!(problem(&change(body.clone()).await), (400, "invalid-body"), "{body}");
    }
    let add = async |number: usize| {
        let mut form = form(&["08:00"], None);
        form["name"] = number.to_string().into();
        world.json("ann", "POST /okusuri/api/medicines", &[], form).await
    };
    for number in 2..=50 {
        assert_eq!(add(number).await.0, 201);
    }
    assert_eq!(add(50).await.0, 201, "the same one again");
    assert_eq!(problem(&add(51).await), (409, "too-many-medicines"));
}

#[tokio::test]
async fn a_medicine_that_is_added_twice_is_added_once() {
    let world = World::new().await;
    let form = json!({ "name": "鉄剤", "dose": "1錠", "times": ["08:00"], "from": "2026-11-21" });
    let add = async || world.json("ann", "POST /okusuri/api/medicines", &[], form.clone()).await;
    let count = async || world.get("ann", "GET /okusuri/api/medicines", &[]).await["items"].as_array().unwrap().len();
    let first = add().await;
    assert_eq!((add().await, count().await), (first.clone(), 1));
    // After ten minutes it is another one, and so it is after a change.
    world.added_at(&first.1, "2026-11-22T02:49:59Z").await;
    let second = add().await.1;
    assert_eq!(count().await, 2);
    let id = second["id"].as_str().unwrap();
    world.json("ann", "PUT /okusuri/api/medicines/{medicineId}", &[id], form.clone()).await;
    assert_eq!((add().await.0, count().await), (201, 3));
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
    // An earlier attempt to delete the record ended before it moved the reminder.
    world.json("ann", &format!("PUT {dose}"), &name, json!({ "state": "snoozed", "minutes": 15 })).await;
    let key = DoseKey { date: name[0].parse().unwrap(), time: name[1].parse().unwrap(), medicine_id: id.to_owned() };
    let doses = Doses::new(&world.db.table(Database::OKUSURI));
    assert!(doses.unmark(&UserId::new("ann").unwrap(), &key).await.unwrap());
    assert_eq!(next().await, json!("2026-11-22T03:15:00Z"));
    let repeated = world.json("ann", &format!("DELETE {dose}"), &name, json!({})).await;
    assert_eq!((problem(&repeated), next().await), ((404, "dose-not-found"), json!("2026-11-22T11:00:00Z")));
    world.json("ann", "PUT /okusuri/api/me", &[], json!({ "timeZone": "UTC" })).await;
    assert_eq!(next().await, json!("2026-11-22T20:00:00Z"));
    let (_, off) = world.json("ann", REMINDER, &[], json!({ "doses": { "isEnabled": false } })).await;
    assert_eq!(off["doses"]["nextAt"], Value::Null);
    assert_eq!(
        problem(&world.json("ann", REMINDER, &[], json!({ "doses": { "colour": "red" } })).await),
        (400, "invalid-body")
    );
}

const MEDICINE: &str = "/okusuri/api/medicines/{medicineId}";
const DOSE: &str = "/okusuri/api/doses/{date}/{time}/{medicineId}";

#[tokio::test]
async fn dose_as_needed_is_recorded_and_counted_apart() {
    let world = World::new().await;
    let form = |times: &[&str]| json!({ "name": "頭痛薬", "dose": "1錠", "times": times, "from": "2026-11-01" });
    let (status, medicine) = world.json("ann", "POST /okusuri/api/medicines", &[], form(&[])).await;
    assert_eq!((status, &medicine["times"]), (201, &json!([])));
    world.added_at(&medicine, "2026-11-01T00:00:00Z").await;
    let id = medicine["id"].as_str().unwrap();
    let taken = json!({ "state": "taken" });
    let minutes: Vec<_> = (3..=24).map(|minute| format!("05:{minute:02}")).collect();
    let mark = async |date, time, body| world.json("ann", &format!("PUT {DOSE}"), &[date, time, id], body).await;
    let of_day = async |date: &str| {
        let doses = world.get("ann", &format!("GET /okusuri/api/doses?date={date}"), &[]).await;
        let doses = doses["items"].as_array().unwrap().clone();
        let shown = |dose: &Value| (dose["time"].clone(), dose["state"].clone(), dose["takenAt"].clone());
        doses.iter().inspect(|dose| assert_eq!(dose["isAsNeeded"], true)).map(shown).collect::<Vec<_>>()
    };
    assert_eq!(of_day("2026-11-22").await, []);
    // The day is logged, and a dose as needed does not take the log's place.
    for date in ["2026-11-20", "2026-11-21", "2026-11-22"] {
        world.json("ann", &format!("PUT {LOG}"), &[date], json!({ "hasBleeding": false })).await;
    }
    assert_eq!(mark("2026-11-21", "03:07", taken.clone()).await.0, 201);
    assert_eq!(mark("2026-11-21", "03:07", taken.clone()).await.0, 200);
    assert_eq!(mark("2026-11-21", "23:59", json!({ "state": "taken", "at": "2026-11-21T13:00:00Z" })).await.0, 201);
    // Its minute is still to come: the clock of the device is fast.
    let (status, body) = mark("2026-11-22", "12:01", taken.clone()).await;
    assert_eq!((status, &body["at"]), (201, &json!("2026-11-22T03:00:00Z")));
    let shown = [("03:07", "2026-11-20T18:07:00Z"), ("23:59", "2026-11-21T13:00:00Z")];
    let shown = shown.map(|(time, at)| (json!(time), json!("taken"), json!(at)));
    assert_eq!(of_day("2026-11-21").await, shown);
    for state in ["skipped", "snoozed"] {
        let refused = mark("2026-11-21", "03:07", json!({ "state": state })).await;
        assert_eq!(problem(&refused), (409, "medicine-as-needed"));
    }
    let adherence = world.get("ann", "GET /okusuri/api/adherence", &[]).await;
    assert_eq!((&adherence["of"], &adherence["due"], &adherence["taken"]), (&json!("logs"), &json!(3), &json!(3)));
    let month = world.get("ann", "GET /okusuri/api/calendar/{month}", &["2026-11"]).await;
    let counts = json!({ "planned": 0, "taken": 0, "skipped": 0, "missed": 0, "asNeeded": 2 });
    assert_eq!(month["days"][20]["doses"], counts);
    let of_month = json!([{ "medicineId": id, "name": "頭痛薬", "due": 0, "taken": 0, "asNeeded": 3 }]);
    assert_eq!(month["medicines"], of_month);
    // A change to times and back keeps the doses of before.
    world.json("ann", &format!("PUT {MEDICINE}"), &[id], form(&["20:00"])).await;
    assert_eq!(of_day("2026-11-21").await, shown);
    world.json("ann", &format!("PUT {MEDICINE}"), &[id], form(&[])).await;
    assert_eq!(of_day("2026-11-21").await, shown);
    assert_eq!(of_day("2026-11-22").await.len(), 1);
    for minute in &minutes {
        assert_eq!(mark("2026-11-21", minute, taken.clone()).await.0, 201);
    }
    assert_eq!(problem(&mark("2026-11-21", "06:00", taken.clone()).await), (409, "too-many-doses"));
    assert_eq!(mark("2026-11-20", "06:00", taken).await.0, 201);
}

#[tokio::test]
async fn stock_counts_down_and_says_when_to_buy() {
    let world = World::new().await;
    let stock = json!({ "left": 9, "perDose": 1, "packSize": 28 });
    let form = |stock: &Value| json!({ "name": "鉄剤", "dose": "1錠", "times": ["08:00"], "from": "2026-11-01", "stock": stock });
    let (status, medicine) = world.json("ann", "POST /okusuri/api/medicines", &[], form(&stock)).await;
    let begun = json!({ "left": 9, "perDose": 1, "packSize": 28, "warnDays": 7, "packs": 0 });
    assert_eq!((status, &medicine["stock"]), (201, &begun));
    world.added_at(&medicine, "2026-11-01T00:00:00Z").await;
    let id = medicine["id"].as_str().unwrap();
    let shown = async || {
        let stock = world.get("ann", "GET /okusuri/api/medicines", &[]).await["items"][0]["stock"].clone();
        (stock["left"].clone(), stock["runsOutOn"].clone(), stock["isLow"].clone())
    };
    let is = |left: u32, day: &str, is_low: bool| (json!(left), json!(format!("2026-{day}")), json!(is_low));
    assert_eq!(shown().await, is(9, "11-30", false));
    let mark = async |date, state: &str| {
        let (status, _) =
            world.json("ann", &format!("PUT {DOSE}"), &[date, "08:00", id], json!({ "state": state })).await;
        assert!(status == 200 || status == 201);
    };
    // The dose of today was in the plan: the last day stays.
    mark("2026-11-22", "taken").await;
    mark("2026-11-22", "taken").await;
    assert_eq!(shown().await, is(8, "11-30", false));
    mark("2026-11-21", "taken").await;
    assert_eq!(shown().await, is(7, "11-29", true));
    mark("2026-11-21", "skipped").await;
    assert_eq!(shown().await, is(8, "11-30", false));
    world.json("ann", &format!("DELETE {DOSE}"), &["2026-11-22", "08:00", id], json!({})).await;
    assert_eq!(shown().await, is(9, "11-30", false));
    // Without `left`, the number stays; with it, it is corrected.
    let change = async |stock: Value| world.json("ann", &format!("PUT {MEDICINE}"), &[id], form(&stock)).await;
    let (status, changed) = change(json!({ "perDose": 3, "packSize": 30, "warnDays": 0 })).await;
    assert_eq!((status, &changed["stock"]["left"]), (200, &json!(9)));
    change(json!({ "left": 2, "perDose": 3, "packSize": 30 })).await;
    assert_eq!(shown().await, (json!(2), Value::Null, json!(true)));
    mark("2026-11-22", "taken").await;
    assert_eq!(shown().await, (json!(0), Value::Null, json!(true)));
    let pack = async |number: &str| {
        world.json("ann", &format!("PUT {MEDICINE}/packs/{{number}}"), &[id, number], json!({})).await
    };
    for _ in 0..2 {
        let (status, added) = pack("1").await;
        assert_eq!((status, &added["stock"]["left"], &added["stock"]["packs"]), (200, &json!(30), &json!(1)));
    }
    let skipped = pack("3").await;
    assert_eq!((problem(&skipped), &skipped.1["next"]), ((409, "pack-out-of-order"), &json!(2)));
    for number in ["0", "-1", "one", "4294967297"] {
        assert_eq!(problem(&pack(number).await), (400, "invalid-parameter"), "{number}");
    }
    for bad in [
        json!({ "perDose": 1 }),
        json!({ "perDose": 0, "packSize": 28 }),
        json!({ "left": -1, "perDose": 1, "packSize": 28 }),
        json!({ "left": 0.5, "perDose": 1, "packSize": 28 }),
        json!({ "perDose": 1, "packSize": 10_001 }),
        json!({ "perDose": 1, "packSize": 28, "warnDays": 91 }),
        json!({ "perDose": 1, "packSize": 28, "packs": 9 }),
    ] {
        assert_eq!(problem(&change(bad.clone()).await), (400, "invalid-body"), "{bad}");
    }
    assert_eq!(change(Value::Null).await.1.get("stock"), None);
    assert_eq!(problem(&pack("1").await), (409, "no-stock"));
    let of_bob = world.json("bob", &format!("PUT {MEDICINE}/packs/{{number}}"), &[id, "1"], json!({})).await;
    assert_eq!(problem(&of_bob), (404, "medicine-not-found"));
}
