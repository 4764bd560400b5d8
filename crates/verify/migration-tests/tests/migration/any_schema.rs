//! A shop by its mapping alone: composite keys, lines that only their order knows the customer of,
//! an order and its lines in one item and each line in another, and two kinds of owners.

use migration_tests::Migration;
use serde_json::json;
use tidemark_migrate::cutover::{Reader, Side, Writer};

use super::cutover::compared;

pub(super) const SCHEMA: &str = "
    CREATE TABLE customers (id int PRIMARY KEY, name text, phone text UNIQUE, blocked boolean NOT NULL DEFAULT false);
    CREATE TABLE products (id text PRIMARY KEY, price numeric(20, 4));
    CREATE TABLE orders (
        id bigserial PRIMARY KEY, customer_id int NOT NULL REFERENCES customers ON DELETE CASCADE ON UPDATE CASCADE,
        placed_at timestamp, state text NOT NULL DEFAULT 'new', note jsonb
    );
    CREATE TABLE order_lines (
        order_id bigint REFERENCES orders ON DELETE CASCADE, line_no smallint, product_id text, quantity int NOT NULL,
        PRIMARY KEY (order_id, line_no)
    );
    INSERT INTO customers (id, name, phone, blocked)
        SELECT n, 'Customer ' || n, '+' || n, n % 10 = 0 FROM generate_series(1, 40) AS n;
    INSERT INTO products SELECT 'p' || n, n * 1.25 FROM generate_series(1, 20) AS n;
    INSERT INTO orders (customer_id, placed_at, state, note)
        SELECT 1 + n % 40, timestamp '2025-01-01 14:30' + n * interval '7 hours', (ARRAY['new', 'paid', 'draft'])[1 + n % 3],
            jsonb_build_object('gift', n % 2 = 0, 'weight', n * 1.10)
        FROM generate_series(1, 200) AS n;
    INSERT INTO order_lines SELECT 1 + n % 200, n / 200, 'p' || (1 + n % 20), 1 + n % 3 FROM generate_series(0, 499) AS n;";

pub(super) const MAPPING: &str = r##"
[target]
key = ["PK", "SK"]

[parameters.zone]
kind = "zone"
about = "The zone of the shop."

[owners.customer]
table = "customers"
prefix = "customer/"
partitions = ["{$owner}"]

[owners.product]
table = "products"
prefix = "product/"
partitions = ["{$owner}"]

[tables.customers]
owner = { kind = "customer", column = "id" }
columns = { id = "integer", name = "text", phone = "text", blocked = "boolean" }
[[tables.customers.reject]]
reason = "blocked"
when = "blocked"
expected = true
[[tables.customers.items]]
type = "customer"
key = { PK = "{$owner}", SK = "PROFILE" }
attributes = { Name = "{name}", Phone = "{phone}" }
[[tables.customers.items]]
type = "phone"
key = { PK = "PHONE#{phone}", SK = "PHONE" }
when = "phone is not null"

[tables.products]
owner = { kind = "product", column = "id" }
columns = { id = "key", price = "number" }
[[tables.products.items]]
type = "product"
key = { PK = "{$owner}", SK = "PRODUCT" }
attributes = { Price = "{price}" }

[tables.orders]
owner = { kind = "customer", column = "customer_id" }
columns = { id = "integer", customer_id = "integer", placed_at = "time", state = "text", note = "json" }
[tables.orders.joins.lines]
table = "order_lines"
on = { order_id = "id" }
order = ["line_no"]
[[tables.orders.items]]
type = "order"
key = { PK = "{$owner}", SK = "ORDER#{placed_at | instant | date($zone)}#{id | pad(8)}" }
when = "state <> 'draft'"
[tables.orders.items.attributes]
State = "{state | upper}"
Customer = "{$owner.name}"
Note = "{note | json}"
Lines = { each = "lines", attributes = { Product = "{product_id}", Quantity = "{quantity}" } }

[tables.order_lines]
key = ["order_id", "line_no"]
owner = { kind = "customer", column = "order_id", through = "orders" }
columns = { order_id = "integer", line_no = "integer", product_id = "text", quantity = "integer" }
[[tables.order_lines.items]]
type = "purchase"
key = { PK = "{$owner}", SK = "PRODUCT#{product_id}#{order_id | pad(8)}#{line_no | pad(4)}" }

[[markers]]
marker = "phone"
of = "customer"
key = { PK = "PHONE#{Phone}", SK = "PHONE" }
leads_to = { PK = "{MigratedOwner}", SK = "PROFILE" }
"##;

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn order_that_changes_its_customer_takes_its_lines_along() {
    let mut migration = Migration::of_schema(SCHEMA, MAPPING).await.unwrap();
    let client = migration.postgres.client().await.unwrap();
    migration.captured_and_loaded().await.unwrap();
    migration.phase("cutover", &["--to", "dual"]).await.unwrap();
    let reader = Reader::new(migration.sides().await.unwrap());
    let writer = Writer::new(migration.sides().await.unwrap());
    for (to, side) in [("100%", Side::Dynamo), ("0%", Side::Postgres), ("100%", Side::Dynamo)] {
        migration.phase("cutover", &["--to", to]).await.unwrap();
        let order = json!({ "id": 5_000, "customer_id": 3, "placed_at": "2025-06-01T20:00:00", "state": "new" });
        assert_eq!(writer.put(&migration.row("orders", &order)).await.unwrap(), side);
        for line in [10, 2] {
            let line = json!({ "order_id": 5_000, "line_no": line, "product_id": "p3", "quantity": line });
            assert_eq!(writer.put(&migration.row("order_lines", &line)).await.unwrap(), side);
        }
        // The sequence does not give an id again that the application has chosen.
        let last = client.query_one("SELECT last_value FROM orders_id_seq", &[]).await.unwrap();
        assert!(last.get::<_, i64>(0) > 5_000, "{last:?}");
        let moved = json!({ "id": 5_000, "customer_id": 5 });
        writer.put(&migration.row("orders", &moved)).await.unwrap();
        for (customer, purchases) in [("customer/3", 0), ("customer/5", 2)] {
            let items = reader.items(customer, "purchase").await.unwrap();
            assert_eq!(items.keys().filter(|key| key.sort.contains("#00005000#")).count(), purchases, "{customer}");
        }
        compared(&migration, to).await;
        writer.delete(&migration.row("orders", &moved)).await.unwrap();
        compared(&migration, to).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn delete_beyond_one_transaction_is_done_in_postgresql() {
    let mut migration = Migration::of_schema(SCHEMA, MAPPING).await.unwrap();
    let client = migration.postgres.client().await.unwrap();
    let lines = "INSERT INTO order_lines SELECT 1, 100 + n, 'p1', 1 FROM generate_series(1, 120) AS n";
    client.batch_execute(lines).await.unwrap();
    migration.captured_and_loaded().await.unwrap();
    for to in ["dual", "100%"] {
        migration.phase("cutover", &["--to", to]).await.unwrap();
    }
    let writer = Writer::new(migration.sides().await.unwrap());
    let order = |id: i64| migration.row("orders", &json!({ "id": id, "customer_id": 2 }));
    assert_eq!(writer.delete(&order(41)).await.unwrap(), Side::Dynamo);
    assert_eq!(writer.delete(&order(1)).await.unwrap(), Side::Postgres);
    compared(&migration, "100%").await;
    let left = "SELECT count(*) FROM order_lines WHERE order_id IN (1, 41)";
    assert_eq!(client.query_one(left, &[]).await.unwrap().get::<_, i64>(0), 0);
}

/// Lines know their customer by their order alone, so no index of theirs has it.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn rows_below_an_owners_rows_are_read_by_index() {
    let mut migration = Migration::of_schema(SCHEMA, MAPPING).await.unwrap();
    let client = migration.postgres.client().await.unwrap();
    let many = "
        CREATE INDEX ON orders (customer_id);
        INSERT INTO customers (id) SELECT n FROM generate_series(1001, 5000) AS n;
        INSERT INTO orders (customer_id) SELECT 1001 + n % 4000 FROM generate_series(0, 19999) AS n;
        INSERT INTO order_lines SELECT id, 99, 'p1', 1 FROM orders WHERE customer_id > 1000;
        ANALYZE";
    client.batch_execute(many).await.unwrap();
    migration.phase("cutover", &["--to", "capture"]).await.unwrap();
    migration.phase("export", &[]).await.unwrap();
    client.batch_execute("SELECT pg_stat_reset()").await.unwrap();
    let reader = Reader::new(migration.sides().await.unwrap());
    assert_eq!(reader.items("customer/1001", "purchase").await.unwrap().len(), 5);
    // A session's statistics are complete when it has ended.
    drop(reader);
    let scans = "SELECT idx_scan, seq_tup_read FROM pg_stat_user_tables
                 WHERE relname = 'order_lines' AND (idx_scan > 0 OR seq_tup_read > 0)";
    let mut found = None;
    for _ in 0..1_200 {
        found = client.query_opt(scans, &[]).await.unwrap();
        if found.is_some() {
            break;
        }
        tokio::time::sleep(std::time::Duration::from_millis(50)).await;
    }
    let found = found.expect("no statistics");
    let (by_index, in_sequence): (i64, i64) = (found.get(0), found.get(1));
    assert!(by_index < 20 && in_sequence == 0, "{by_index} reads of an index, and {in_sequence} rows in sequence");
}
