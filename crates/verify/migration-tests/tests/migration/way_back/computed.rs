//! Computed columns and rows of several items on the way back.

use migration_tests::Migration;
use tidemark_migrate::PhaseOutcome;

use super::{Application, n, not_returned, to_finished};

const SCHEMA: &str = "
    CREATE TABLE members (id text PRIMARY KEY, name text);
    CREATE TABLE lines (id text PRIMARY KEY, member_id text, price int, total int GENERATED ALWAYS AS (price * 2) STORED);
    INSERT INTO members VALUES ('ann', 'Ann'), ('bob', 'Bob');
    INSERT INTO lines VALUES ('one', 'ann', 1), ('two', 'ann', 2), ('three', 'bob', 3)";

const MAPPING: &str = r##"
[target]
key = ["PK", "SK"]

[owners.member]
table = "members"
partitions = ["{$owner}"]

[tables.members]
owner = { kind = "member", column = "id" }
columns = { id = "key", name = "text" }
[[tables.members.items]]
type = "member"
key = { PK = "{id}", SK = "MEMBER" }
attributes = { Name = "{name}" }

[tables.lines]
owner = { kind = "member", column = "member_id" }
columns = { id = "key", member_id = "key", price = "integer", total = "integer" }
[[tables.lines.items]]
type = "line"
key = { PK = "{member_id}", SK = "LINE#{id}" }
attributes = { Price = "{price}", Total = "{total}" }
[[tables.lines.items]]
type = "price"
key = { PK = "{member_id}", SK = "PRICE#{id}" }
attributes = { Price = "{price}" }
"##;

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn way_back_names_computed_columns_and_half_deleted_rows() {
    let mut migration = Migration::of_schema(SCHEMA, MAPPING).await.unwrap();
    to_finished(&migration, &["--way-back", "14"]).await;
    let application = Application(&migration);
    for (total, sort, price) in [("7", "LINE#one", "1"), ("10", "LINE#two", "5")] {
        let mut line = application.get("ann", sort).await;
        line.insert("Total".to_owned(), n(total));
        line.insert("Price".to_owned(), n(price));
        application.put(line).await;
    }
    let mut price = application.get("ann", "PRICE#two").await;
    price.insert("Price".to_owned(), n("5"));
    application.put(price).await;
    // The row's other item stays.
    application.delete("bob", "LINE#three").await;
    assert_eq!(migration.phase("rollback", &["--dry-run"]).await.unwrap(), PhaseOutcome::NeedsReview);
    let shown = not_returned(&migration);
    assert_eq!(migration.phase("rollback", &[]).await.unwrap(), PhaseOutcome::NeedsReview);
    assert_eq!(shown, not_returned(&migration));
    let named = migration.lines("not-returned.jsonl").unwrap();
    let text = |line: &serde_json::Value, name: &str| line[name].as_str().unwrap_or_default().to_owned();
    let names = ["what", "table", "key", "sort", "detail"];
    let mut named: Vec<_> = named.iter().map(|line| names.map(|name| text(line, name))).collect();
    named.sort();
    let computed = ["attributes", "lines", "one", "", "PostgreSQL computes total"];
    let expected = [computed, ["missing", "", "", "LINE#three", "line"]];
    assert_eq!(named, expected.map(|line| line.map(str::to_owned)));
    migration.phase("rollback", &["--accept-losses"]).await.unwrap();
    let client = migration.postgres.client().await.unwrap();
    let rows = "SELECT string_agg(row(id, price, total)::text, ' ' ORDER BY id) FROM lines";
    let rows: String = client.query_one(rows, &[]).await.unwrap().get(0);
    assert_eq!(rows, "(one,1,2) (three,3,6) (two,5,10)");
}
