//! A complete migration of more than 100,000 unusual rows, compared with an oracle in SQL. Tests
//! run by their names: as the first, the longest one does not run alone at the end.

use std::collections::{BTreeMap, BTreeSet};

use aws_sdk_dynamodb::types::AttributeValue;
use migration_tests::Migration;
use okusuri_store::sha256_hex;
use tidemark_migrate::PhaseOutcome;
use tokio_postgres::Client;

type Items = BTreeMap<(String, String), BTreeMap<String, AttributeValue>>;

/// The users that are migrated, as a query.
const LIVE: &str = r#"
    SELECT * FROM "user"
    WHERE "deletedAt" IS NULL AND id !~ '#' AND length(id) <= 128
        AND "createdAt" >= '0001-01-01' AND "createdAt" < '10000-01-01'"#;

async fn texts(client: &Client, query: &str) -> Vec<Vec<String>> {
    let rows = client.query(&query.replace("LIVE", &format!("({LIVE})")), &[]).await.unwrap();
    let text = |row: &tokio_postgres::Row, n| row.get::<_, Option<String>>(n).unwrap_or_default();
    rows.iter().map(|row| (0..row.len()).map(|n| text(row, n)).collect()).collect()
}

fn of_type<'i>(items: &'i Items, kind: &str) -> Vec<&'i BTreeMap<String, AttributeValue>> {
    items.values().filter(|item| item["Type"] == AttributeValue::S(kind.to_owned())).collect()
}

fn text(item: &BTreeMap<String, AttributeValue>, name: &str) -> String {
    item.get(name).and_then(|value| value.as_s().ok()).cloned().unwrap_or_default()
}

#[tokio::test(flavor = "multi_thread")]
async fn hundred_thousand_rows_are_migrated_as_an_sql_oracle_expects() {
    let mut migration = Migration::new(1, users()).await.unwrap();
    let start = std::time::Instant::now();
    assert_eq!(migration.phase("export", &[]).await.unwrap(), PhaseOutcome::Done);
    println!("exported after {:?}", start.elapsed());
    assert_eq!(migration.phase("transform", &[]).await.unwrap(), PhaseOutcome::NeedsReview);
    println!("transformed after {:?}", start.elapsed());
    assert_eq!(migration.phase("load", &[]).await.unwrap(), PhaseOutcome::Done);
    println!("loaded after {:?}", start.elapsed());
    assert_eq!(migration.phase("check", &["--strict"]).await.unwrap(), PhaseOutcome::Done);
    println!("checked after {:?}", start.elapsed());

    let items = migration.items().await.unwrap();
    println!("scanned after {:?}", start.elapsed());
    let client = migration.postgres.client().await.unwrap();

    // The newest log of each day in Tokyo's time zone.
    let logs = texts(
        &client,
        "SELECT DISTINCT ON (l.user_id, day) l.user_id, day::text, l.id::text, coalesce(l.has_bleeding, false)::text
         FROM (SELECT *, (created_at AT TIME ZONE 'Asia/Tokyo')::date AS day FROM medication_logs WHERE isfinite(created_at)) l
         JOIN LIVE u ON u.id = l.user_id WHERE l.deleted_at IS NULL AND day >= '1900-01-01'
         ORDER BY l.user_id, day, l.updated_at DESC, l.id DESC",
    );
    let logs: BTreeSet<_> = logs.await.into_iter().collect();
    let migrated = of_type(&items, "medication_log").into_iter().map(|item| {
        let has_bleeding = item["HasBleeding"].as_bool().unwrap().to_string();
        vec![text(item, "UserId"), text(item, "Date"), text(item, "LogId"), has_bleeding]
    });
    let migrated: BTreeSet<_> = migrated.collect();
    assert_eq!(migrated.difference(&logs).next(), None);
    assert_eq!(logs.difference(&migrated).next(), None);

    // Existing cookies stay valid: a token leads to its session, unless the session had expired.
    let sessions = texts(
        &client,
        r#"SELECT s.token, s."userId" FROM session s JOIN LIVE u ON u.id = s."userId"
           WHERE s."expiresAt" > now() AND isfinite(s."expiresAt") AND s.token IS NOT NULL"#,
    );
    let sessions = sessions.await;
    assert!(sessions.len() > users() / 2);
    for session in &sessions {
        let key = (format!("SESSION#{}", sha256_hex(session[0].as_bytes())), "SESSION".to_owned());
        assert_eq!(text(&items[&key], "UserId"), session[1]);
    }
    for kind in ["session", "user_session"] {
        assert_eq!(of_type(&items, kind).len(), sessions.len(), "{kind}");
    }

    // All users are migrated, and found by their address. Of two users with one address, the
    // verified one is found, and otherwise the older one.
    let live = texts(&client, "SELECT id, name FROM LIVE u").await;
    assert_eq!(of_type(&items, "user").len(), live.len());
    for user in &live {
        assert_eq!(text(&items[&(format!("USER#{}", user[0]), "PROFILE".to_owned())], "Name"), user[1]);
    }
    let owners = texts(
        &client,
        r#"SELECT DISTINCT ON (address) address, id FROM (SELECT *, lower(trim(email)) AS address FROM LIVE u) u
           WHERE address ~ '^[a-z0-9]+@[a-z.]+$' ORDER BY address, coalesce("emailVerified", false) DESC, "createdAt", id"#,
    );
    for owner in owners.await {
        let item = &items[&(format!("EMAIL#{}", owner[0]), "EMAIL".to_owned())];
        // Users created at the same time are ordered by a hash, which SQL does not compute.
        let same = r#"SELECT id FROM LIVE u WHERE lower(trim(email)) = "#.to_owned() + &format!("'{}'", owner[0]);
        let same = texts(&client, &same).await;
        assert!(same.contains(&vec![text(item, "UserId")]) && (same.len() == 2 || same[0][0] == owner[1]), "{owner:?}");
    }

    // All logins except those of users who never verified their address.
    let accounts = texts(
        &client,
        r#"SELECT DISTINCT a."providerId", a."accountId" FROM account a JOIN LIVE u ON u.id = a."userId"
           WHERE a."providerId" <> 'credential' AND u."emailVerified""#,
    );
    let accounts = accounts.await.len();
    assert_eq!((of_type(&items, "account").len(), of_type(&items, "account_owner").len()), (accounts, accounts));
    let sealed = of_type(&items, "account").into_iter().filter(|item| item.contains_key("AccessToken")).count();
    assert!(sealed > accounts / 3);

    // Every other row is reported: each row is either migrated or rejected.
    let rejects = migration.lines("rejects.jsonl").unwrap();
    let reasons: BTreeSet<_> = rejects.iter().map(|reject| reject["reason"].as_str().unwrap()).collect();
    let all = [
        "date-before-1900",
        "deleted",
        "duplicate",
        "duplicate-email",
        "duplicate-log-of-day",
        "expired",
        "invalid-email",
        "invalid-id",
        "missing-value",
        "orphan",
        "password",
        "single-use",
        "unknown-platform",
        "unreadable-image",
        "unreadable-subscription",
        "unreadable-time",
        "unverified-user",
    ];
    assert_eq!(reasons, BTreeSet::from(all));
    let rows: u64 = migration.json("report-export.json").unwrap()["rows"]
        .as_object()
        .unwrap()
        .values()
        .map(|rows| rows.as_u64().unwrap())
        .sum();
    let rejected = rejects.iter().filter(|reject| reject["kept"] == false).count() as u64;
    let carried = ["user", "session", "account", "medication_log", "notification_setting"];
    let carried: usize = carried.iter().map(|kind| of_type(&items, kind).len()).sum();
    assert_eq!(rows, rejected + carried as u64);
    assert!(rows > 40 * users() as u64, "{rows}");
}

/// This number of users gives 100,000 rows.
fn users() -> usize {
    2_500
}
