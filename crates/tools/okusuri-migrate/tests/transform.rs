//! Tests of whole transformations, over small sets of rows in which all kinds of conflicts occur.

#![allow(clippy::unwrap_used)]

use std::collections::{BTreeMap, BTreeSet};

use clap::Parser;
use okusuri_migrate::PRODUCT;
use proptest::prelude::*;
use serde_json::{Value, json};
use tidemark_migrate::Command;
use tidemark_migrate::export::{self, MANIFEST, Manifest};
use tidemark_migrate::mapping::Mapping;
use tidemark_migrate::run::{LineWriter, Run, RunFolderArgument};
use tidemark_migrate::transform::{ITEMS, Items, REJECTS};

/// Rows of each table, with so few values that they often collide.
type World = Vec<(&'static str, Value)>;

fn user() -> impl Strategy<Value = Value> {
    let emails = [None, Some("ann@example.com"), Some("Ann@Example.COM "), Some("bob@example.com"), Some("nobody")];
    let (times, deleted) =
        (["2020-01-01T00:00:00", "2020-01-02T00:00:00", "infinity"], [None, None, None, Some("2024-01-01T00:00:00")]);
    let (emails, times, deleted) = (
        prop::sample::select(emails.to_vec()),
        prop::sample::select(times.to_vec()),
        prop::sample::select(deleted.to_vec()),
    );
    (0..5_u8, emails, any::<Option<bool>>(), times, deleted).prop_map(|(id, email, verified, time, deleted)| {
        json!({ "id": format!("user-{id}"), "name": "Ann 🌊", "email": email, "emailVerified": verified, "createdAt": time, "updatedAt": time, "deletedAt": deleted })
    })
}

fn log() -> impl Strategy<Value = Value> {
    let days = [
        "2024-03-01T14:59:59.999999+00:00",
        "2024-03-01T15:00:00+00:00",
        "2024-03-02T00:00:00+00:00",
        "1899-12-31T00:00:00+00:00",
    ];
    let (at, changed) = (prop::sample::select(days.to_vec()), prop::sample::select(days.to_vec()));
    (0..200_u8, 0..6_u8, any::<Option<bool>>(), at, changed).prop_map(|(id, user, has_bleeding, at, changed)| {
        json!({ "id": id, "user_id": format!("user-{user}"), "has_bleeding": has_bleeding, "created_at": at, "updated_at": changed, "deleted_at": null })
    })
}

fn account() -> impl Strategy<Value = Value> {
    (0..50_u8, 0..6_u8, 0..3_u8, any::<bool>(), 1..4_u8).prop_map(|(id, user, subject, token, day)| {
        let at = format!("2024-03-0{day}T00:00:00");
        json!({
            "id": format!("account-{id}"), "accountId": format!("subject-{subject}"), "providerId": "google", "userId": format!("user-{user}"),
            "accessToken": token.then_some("ya29"), "createdAt": at, "updatedAt": at,
        })
    })
}

fn session() -> impl Strategy<Value = Value> {
    (0..20_u8, 0..6_u8, 0..4_u8, any::<bool>()).prop_map(|(id, user, token, expired)| {
        let expires = if expired { "2020-01-01T00:00:00" } else { "2099-01-01T00:00:00" };
        let at = "2024-03-01T00:00:00";
        json!({ "id": format!("session-{id}"), "token": format!("token-{token}-{id}"), "userId": format!("user-{user}"), "expiresAt": expires, "createdAt": at, "updatedAt": at })
    })
}

fn setting() -> impl Strategy<Value = Value> {
    let platforms = prop::sample::select(vec!["web", "ios", "WEB", "fridge"]);
    let subscriptions = prop::sample::select(vec![
        None,
        Some(r#"{"endpoint":"https://push.example.com/1","keys":{"p256dh":"a","auth":"b"}}"#),
        Some(r#"{"endpoint":"#),
    ]);
    (0..99_u8, 0..6_u8, platforms, any::<Option<bool>>(), subscriptions, 1..4_u8).prop_map(|(id, user, platform, enabled, subscription, day)| {
        let at = format!("2024-03-0{day}T00:00:00+00:00");
        json!({ "id": id, "user_id": format!("user-{user}"), "platform": platform, "is_enabled": enabled, "subscription": subscription, "created_at": at, "updated_at": at })
    })
}

fn world() -> impl Strategy<Value = World> {
    let of = |table: &'static str, row: BoxedStrategy<Value>| {
        prop::collection::vec(row.prop_map(move |row| (table, row)), 0..12)
    };
    let tables = (
        of("user", user().boxed()),
        of("medication_logs", log().boxed()),
        of("account", account().boxed()),
        of("session", session().boxed()),
        of("notification_settings", setting().boxed()),
    );
    tables.prop_map(|(users, logs, accounts, sessions, settings)| [users, logs, accounts, sessions, settings].concat())
}

/// Transforms a world: the manifest of the items, the lines of their files, and the rejected rows
/// in a fixed order.
fn transform(world: &World) -> (Items, Vec<String>, BTreeSet<String>) {
    let temp = tempfile::tempdir().unwrap();
    let folder = temp.path().join("run");
    let key = temp.path().join("key");
    std::fs::write(&key, "a secret of thirty-two characters").unwrap();
    let run = Run::open(&RunFolderArgument { run: folder.clone() }).unwrap();
    run.fresh_folder("export").unwrap();
    let mapping = Mapping::read(PRODUCT.mapping.unwrap(), PRODUCT.conversions).unwrap();
    let mut tables = BTreeMap::new();
    for table in &mapping.tables {
        let mut lines = LineWriter::create(run.path(&export::file(&table.name))).unwrap();
        for (_, row) in world.iter().filter(|(of, _)| *of == table.name) {
            lines.write(&row.to_string()).unwrap();
        }
        tables.insert(table.name.clone(), lines.finish().unwrap());
    }
    let manifest = Manifest {
        run: "run".to_owned(),
        mapping: mapping.digest,
        taken_at: "2025-01-01T00:00:00Z".parse().unwrap(),
        columns: BTreeMap::new(),
        tables_left_behind: Vec::new(),
        tables,
    };
    run.write(MANIFEST, &manifest).unwrap();
    drop(run);
    let (folder, secret) = (folder.display().to_string(), format!("key={}", key.display()));
    let command = [
        "migrate",
        "transform",
        "--run",
        &folder,
        "--source-zone",
        "UTC",
        "--set",
        "log_zone=Asia/Tokyo",
        "--secret",
        &secret,
    ];
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    runtime.block_on(tidemark_migrate::run_quietly(Command::parse_from(command), &PRODUCT)).unwrap();
    let read = |name: &str| std::fs::read_to_string(temp.path().join("run").join(name)).unwrap();
    let items: Items = serde_json::from_str(&read(ITEMS)).unwrap();
    let lines =
        items.files.keys().flat_map(|name| read(&Items::file(name)).lines().map(str::to_owned).collect::<Vec<_>>());
    let lines = lines.collect();
    (items, lines, read(REJECTS).lines().map(str::to_owned).collect())
}

/// An attribute of an item's line.
fn attribute(line: &str, name: &str) -> String {
    let item: BTreeMap<String, BTreeMap<String, Value>> = serde_json::from_str(line).unwrap();
    let value = item.get(name).and_then(|value| value.values().next());
    value.and_then(Value::as_str).unwrap_or_default().to_owned()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn the_same_rows_become_the_same_items_in_any_order((world, shuffled) in world().prop_flat_map(|world| (Just(world.clone()), Just(world).prop_shuffle()))) {
        let (one, lines, rejects) = transform(&world);
        let (other, of_other, rejects_of_other) = transform(&shuffled);
        prop_assert_eq!(&lines, &of_other);
        prop_assert_eq!((one.files, one.types, one.reasons), (other.files, other.types, other.reasons));
        prop_assert_eq!(rejects, rejects_of_other);
        prop_assert_eq!(lines, transform(&world).1);
    }

    #[test]
    fn no_key_is_duplicated_and_each_marker_has_its_item(world in world()) {
        let (items, lines, _) = transform(&world);
        prop_assert_eq!(items.count(), lines.len() as u64);
        let keys: BTreeSet<_> = lines.iter().map(|line| (attribute(line, "PK"), attribute(line, "SK"))).collect();
        prop_assert_eq!(keys.len(), lines.len());
        let count = |kind: &str| items.types.get(kind).copied().unwrap_or_default();
        prop_assert_eq!(count("account"), count("account_owner"));
        prop_assert_eq!(count("session"), count("user_session"));
        for line in &lines {
            let profile = (format!("USER#{}", attribute(line, "UserId")), "PROFILE".to_owned());
            prop_assert!(keys.contains(&profile), "{}", line);
        }
    }
}

#[test]
fn duplicate_address_belongs_to_its_verified_user() {
    let user = |id: &str, email: &str, verified: bool, day: u8| {
        let at = format!("2020-01-0{day}T00:00:00");
        ("user", json!({ "id": id, "email": email, "emailVerified": verified, "createdAt": at, "updatedAt": at }))
    };
    let first = user("first", "Ann@example.com", false, 1);
    let (proved, later) = (user("proved", "ann@example.com", true, 2), user("later", "ANN@example.com", true, 3));
    for (world, expected) in [
        (vec![first.clone(), later.clone(), proved.clone()], "proved"),
        (vec![later, first.clone()], "later"),
        (vec![user("second", "ann@EXAMPLE.com", false, 2), first], "first"),
    ] {
        let (items, lines, rejects) = transform(&world);
        assert_eq!(items.types["user"], world.len() as u64);
        let marker = lines.iter().find(|line| line.contains("EMAIL#ann@example.com")).unwrap();
        assert!(marker.contains(&format!(r#""UserId":{{"S":"{expected}"}}"#)), "{marker}");
        assert_eq!(rejects.len(), world.len() - 1);
        assert!(rejects.iter().all(|reject| reject.contains("duplicate-email") && reject.contains(r#""kept":true"#)));
    }
}

#[test]
fn a_rejected_row_removes_no_reminder() {
    let setting = |id: u8, platform: &str, is_enabled: bool, day: u8| {
        let at = format!("2024-03-0{day}T00:00:00+00:00");
        let subscription = r#"{"endpoint":"https://push.example.com/1","keys":{"p256dh":"a","auth":"b"}}"#;
        (
            "notification_settings",
            json!({ "id": id, "user_id": "ann", "platform": platform, "is_enabled": is_enabled, "subscription": subscription, "created_at": at, "updated_at": at }),
        )
    };
    let ann = ("user", json!({ "id": "ann", "createdAt": "2020-01-01T00:00:00" }));
    let (web, ios, ios_later) = (setting(1, "web", true, 1), setting(2, "ios", true, 2), setting(3, "ios", false, 3));
    let (items, lines, rejects) = transform(&vec![ann.clone(), web, ios.clone(), ios_later.clone()]);
    assert_eq!((items.types["reminder"], rejects.len()), (1, 1));
    assert!(lines.iter().any(|line| line.contains(r#""SK":{"S":"REMINDER"}"#)), "{lines:?}");
    assert_eq!(transform(&vec![ann, ios, ios_later]).0.types.get("reminder"), None);
}

#[test]
fn an_item_has_its_times_and_bytes_unchanged() {
    let picture = "data:image/png;base64,QUJD";
    let world = vec![(
        "user",
        json!({ "id": "ann", "name": "tab\t\"quote\" 🌊", "image": picture, "createdAt": "1900-01-01T00:00:00.123456" }),
    )];
    let (_, lines, _) = transform(&world);
    assert_eq!(lines.len(), 2);
    let image = lines.iter().find(|line| line.contains(r#""SK":{"S":"IMAGE"}"#)).unwrap();
    assert!(image.contains(r#""Bytes":{"B":"QUJD"}"#), "{image}");
    let profile = lines.iter().find(|line| line.contains("PROFILE")).unwrap();
    assert!(profile.contains(r#""Image":{"S":"self:b5d4045c3f466fa9"}"#), "{profile}");
    assert!(profile.contains(r#""CreatedAt":{"S":"1900-01-01T00:00:00.123456Z"}"#), "{profile}");
    assert!(profile.contains(r#""MigratedVersion":{"N":"-2208988799876544"}"#), "{profile}");
    assert_eq!(attribute(profile, "Name"), "tab\t\"quote\" 🌊");
}
