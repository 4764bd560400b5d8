//! An address, or a login, that several users have leads to one of them. When this user gives it
//! up, it leads to the next one.

use migration_tests::okusuri_source::SCHEMA;
use migration_tests::{Migration, okusuri_row};
use serde_json::json;
use tidemark_migrate::cutover::Writer;
use tidemark_migrate::cutover::ownership::bucket;
use tidemark_migrate::row::Row;

use super::cutover::compared;

/// Three users with one address, of whom `ann` verified it first and `bob` next; and two users with
/// one login.
const ROWS: &str = "
    INSERT INTO \"user\" (id, name, email, \"emailVerified\", \"createdAt\", \"updatedAt\") VALUES
        ('ann', 'Ann', 'one@example.com', true, '2024-01-01', '2024-01-01'),
        ('bob', 'Bob', 'ONE@example.com', true, '2024-02-01', '2024-02-01'),
        ('eve', 'Eve', 'One@example.com', false, '2023-01-01', '2023-01-01'),
        ('late', 'Late', 'late@example.com', true, '2024-01-01', '2024-01-01');
    INSERT INTO account (id, \"accountId\", \"providerId\", \"userId\", \"createdAt\", \"updatedAt\") VALUES
        ('a', '7', 'google', 'ann', '2024-01-01', '2025-01-01'), ('b', '7', 'google', 'bob', '2024-01-01', '2024-01-01');";

fn with_address(user: &str, address: &str) -> Row {
    okusuri_row("user", &json!({ "id": user, "email": address }))
}

/// The user to whom an item leads.
async fn holder(migration: &Migration, partition: &str) -> Option<String> {
    let items = migration.items().await.unwrap();
    let of_partition = items.iter().find(|((found, _), _)| found == partition);
    of_partition.map(|(_, item)| item["UserId"].as_s().unwrap().clone())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn address_and_login_pass_to_the_next_waiting_user() {
    const ADDRESS: &str = "EMAIL#one@example.com";
    let mut migration = Migration::new(91, 0).await.unwrap();
    let client = migration.postgres.client().await.unwrap();
    client.batch_execute(&format!("DROP SCHEMA public CASCADE; CREATE SCHEMA public; {SCHEMA}; {ROWS}")).await.unwrap();
    migration.captured_and_loaded().await.unwrap();
    assert_eq!(holder(&migration, ADDRESS).await.as_deref(), Some("ann"));
    assert_eq!(holder(&migration, "ACCOUNT#google#7").await.as_deref(), Some("ann"));

    // The losers of the transformation: `bob` has the better claim.
    client.batch_execute("DELETE FROM \"user\" WHERE id = 'ann'").await.unwrap();
    compared(&migration, "dual").await;
    assert_eq!(holder(&migration, ADDRESS).await.as_deref(), Some("bob"));
    assert_eq!(holder(&migration, "ACCOUNT#google#7").await.as_deref(), Some("bob"));

    // A user who asks for the address later gets it after `eve`.
    let writer = Writer::new(migration.sides().await.unwrap());
    client
        .batch_execute("UPDATE \"user\" SET email = 'one@example.com', \"emailVerified\" = false WHERE id = 'late'")
        .await
        .unwrap();
    compared(&migration, "dual").await;
    assert_eq!(holder(&migration, ADDRESS).await.as_deref(), Some("bob"));
    // The holder gives it up in DynamoDB, and those who wait are there, too.
    compared(&migration, "100%").await;
    writer.put(&with_address("bob", "bob@example.com")).await.unwrap();
    assert_eq!(holder(&migration, ADDRESS).await.as_deref(), Some("eve"));
    compared(&migration, "100%").await;
    // The holder is in DynamoDB, and the user who waits is not.
    let to = format!("{}%", bucket("eve") + 1);
    assert!(bucket("late") > bucket("eve"));
    migration.phase("cutover", &["--to", &to]).await.unwrap();
    writer.delete(&okusuri_row("user", &json!({ "id": "eve" }))).await.unwrap();
    assert_eq!(holder(&migration, ADDRESS).await.as_deref(), Some("late"));
    compared(&migration, &to).await;
    // Nobody waits any more, and the address is free.
    client.batch_execute("DELETE FROM \"user\" WHERE id = 'late'").await.unwrap();
    compared(&migration, "0%").await;
    assert_eq!(holder(&migration, ADDRESS).await, None);
    let waiting = client.query_one("SELECT count(*) FROM tidemark_migration.waiting", &[]).await.unwrap();
    assert_eq!(waiting.get::<_, i64>(0), 0);
}
