//! Values that PostgreSQL rounds on the way back.

use migration_tests::Migration;
use serde_json::json;
use tidemark_migrate::PhaseOutcome;

use super::{Application, item, n, not_returned, s, to_finished};

const SCHEMA: &str = "
    CREATE TABLE owners (id integer PRIMARY KEY, name text);
    CREATE TABLE offers (id integer PRIMARY KEY, owner_id integer NOT NULL, price numeric(10, 2), title text);
    CREATE TABLE bids (id serial PRIMARY KEY, owner_id integer NOT NULL, price numeric(10, 2));
    INSERT INTO owners VALUES (30, 'Ann');
    INSERT INTO offers VALUES (7, 30, 7.00, 'Old')";

const MAPPING: &str = r##"
[target]
key = ["PK", "SK"]

[owners.owner]
table = "owners"
partitions = ["OWNER#{$owner}"]

[tables.owners]
owner = { kind = "owner", column = "id" }
columns = { id = "integer", name = "text" }
[[tables.owners.items]]
type = "owner"
key = { PK = "OWNER#{id}", SK = "OWNER" }
attributes = { Name = "{name}" }

[tables.offers]
owner = { kind = "owner", column = "owner_id" }
columns = { id = "integer", owner_id = "integer", price = "number", title = "text" }
[[tables.offers.items]]
type = "offer"
key = { PK = "OWNER#{owner_id}", SK = "OFFER#{id}" }
attributes = { Price = "{price | number}", Title = "{title}" }

[tables.bids]
owner = { kind = "owner", column = "owner_id" }
columns = { id = "integer", owner_id = "integer", price = "number" }
[[tables.bids.items]]
type = "bid"
key = { PK = "OWNER#{owner_id}", SK = "BID#{price | required}" }
"##;

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn way_back_names_rounded_values_beside_unknown_items() {
    let mut migration = Migration::of_schema(SCHEMA, MAPPING).await.unwrap();
    to_finished(&migration, &["--way-back", "14"]).await;
    let application = Application(&migration);
    let mut old = application.get("OWNER#30", "OFFER#7").await;
    old.extend([("Price".to_owned(), n("12.345")), ("Title".to_owned(), s("New"))]);
    application.put(old).await;
    let new = vec![("Price", n("0.125")), ("Title", s("Small"))];
    application.put(item("OWNER#30", "OFFER#8", "offer", new)).await;
    // PostgreSQL gives this row its key.
    application.put(item("OWNER#30", "BID#3.333", "bid", vec![])).await;
    application.put(item("OWNER#30", "REMINDER#1", "reminder", vec![])).await;

    assert_eq!(migration.phase("rollback", &["--dry-run"]).await.unwrap(), PhaseOutcome::NeedsReview);
    let shown = not_returned(&migration);
    for flags in [&[][..], &["--accept-losses"]] {
        assert_eq!(migration.phase("rollback", flags).await.unwrap(), PhaseOutcome::NeedsReview);
        assert_eq!(not_returned(&migration), shown);
    }
    let why = "PostgreSQL changed the value: it rounds to the column's type, or a trigger changes it";
    let changed = |table: &str, key: &str, values: &str| json!({ "owner": "30", "table": table, "key": key, "what": "changed", "detail": format!("{values}. {why}") });
    let mut expected = [
        changed("bids", "", "owner_id: the item has 30; price: the item has 3.333"),
        changed("offers", "7", "price: the item has 12.345, PostgreSQL stored 12.35"),
        changed("offers", "8", "price: the item has 0.125, PostgreSQL stored 0.13"),
        json!({ "owner": "30", "partition": "OWNER#30", "sort": "REMINDER#1", "what": "unknown", "detail": "reminder" }),
    ]
    .map(|line| line.to_string());
    expected.sort();
    assert_eq!(Vec::from_iter(shown), expected);
    let report = migration.json("report-rollback.json").unwrap();
    assert_eq!(report["wayBack"]["notReturned"], 4, "{report}");
    let client = migration.postgres.client().await.unwrap();
    let rows = "SELECT string_agg(row(id, price, title)::text, ' ' ORDER BY id) FROM offers";
    let rows: String = client.query_one(rows, &[]).await.unwrap().get(0);
    assert_eq!(rows, "(7,12.35,New) (8,0.13,Small)");
}
