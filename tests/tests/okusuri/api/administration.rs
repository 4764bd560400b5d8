//! What the health administration sees, and what its users see of it.

use std::collections::BTreeSet;

use aws_sdk_dynamodb::types::AttributeValue;
use serde_json::{Value, json};
use tests::Database;
use tests::okusuri::user;

use super::{LOG, World, noon, problem};

#[tokio::test]
async fn health_access_needs_a_reason_and_users_see_it() {
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
        "date=2026-11-22&reason=\u{200b}\u{200b}\u{200b}\u{200b}\u{200b}\u{200b}\u{200b}\u{200b}\u{200b}\u{200b}",
        "date=2026-11-22&reason=..........",
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
    let everything = okusuri_store::UserData::new(&world.db.table(Database::OKUSURI));
    everything.delete(&domain::UserId::new("ann").unwrap(), noon(), || false).await.unwrap();
    let (_, shown) = world.admin("GET /okusuri/api/admin/items?type=user&reason=a complaint by phone").await;
    assert_eq!(shown["items"].as_array().unwrap().iter().map(|user| &user["userId"]).collect::<Vec<_>>(), ["bob"]);
    // If the access cannot be recorded, nothing is shown.
    let fail = tidemark_engine::Chance { next: 50, probability: 0.0 };
    let fail_before = std::collections::BTreeMap::from([("TransactWriteItems".to_owned(), fail)]);
    world
        .db
        .engine()
        .faults()
        .set(tidemark_engine::EngineFaults { fail_before, ..tidemark_engine::EngineFaults::default() });
    let (status, body) = world.admin(&format!("{logs}?date=2026-11-21&reason=a complaint by phone")).await;
    assert!(status >= 500 && !body.to_string().contains("bob"), "{body}");
}

/// The function is asked for each type that it lists, so a new type is tested too.
#[tokio::test]
async fn no_item_is_shown_without_a_record_for_its_user() {
    let world = World::new().await;
    world.json("ann", &format!("PUT {LOG}"), &["2026-11-22"], json!({ "hasBleeding": true })).await;
    world.json("nobody", "POST /okusuri/api/sign-in/email", &[], json!({ "email": "ann@example.com" })).await;
    for kind in okusuri_store::LISTED_TYPES {
        let (_, shown) = world.admin(&format!("GET /okusuri/api/admin/items?type={kind}&reason=an inspection")).await;
        let accesses = world.get("ann", "GET /okusuri/api/me/accesses", &[]).await;
        let is_recorded = accesses["items"].as_array().unwrap().iter().any(|access| access["kind"] == kind);
        assert_eq!(is_recorded, shown.to_string().contains("ann"), "{kind}: {shown}");
    }
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
        let body = json!({ "hasBleeding": number % 2 == 0, "note": "mine", "symptoms": ["mood"] });
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
                assert_eq!((&log["date"], log.get("note"), log.get("symptoms")), (&json!("2026-11-21"), None, None));
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
        okusuri_store::rows::EmailOwner { email: "ann@example.com".into(), user_id: "ann".into(), created_at: noon() };
    tests::okusuri::put(&world.db.client, &owner).await.unwrap();
    let (_, found) = world.admin("GET /okusuri/api/admin/users?reason=an inspection&email=Ann@Example.com").await;
    assert_eq!(found["items"][0]["id"], "ann");
    let (_, none) = world.admin("GET /okusuri/api/admin/users?reason=an inspection&email=zoe@example.com").await;
    assert_eq!(none["items"], json!([]));
}
