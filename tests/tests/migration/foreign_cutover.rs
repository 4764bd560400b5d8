//! The shop moves through all phases while its rows change. At each step the table has the items that
//! the oracle in SQL expects of the present rows.

use tidemark_migrate::PhaseOutcome;
use tidemark_tests::foreign::SHOP;
use tidemark_tests::{Migration, Postgres};
use tokio_postgres::Client;

use super::foreign::{assert_expected, stored};

/// A fiftieth of the rows.
const THIN: &str = "
    DELETE FROM customers WHERE hashtext(id::text) % 50 <> 0;
    DELETE FROM orders WHERE id % 50 <> 0;
    DELETE FROM products WHERE id % 50 <> 0;
    DELETE FROM stock_movements WHERE product_id % 50 <> 0;
    SELECT setval('orders_id_seq', 1000000)";

/// Changes by programs that know nothing of the migration. `ROUND` counts the calls.
const CHANGES: [&str; 9] = [
    "UPDATE orders SET status = 'paid', note = coalesce(note, '') || '!' WHERE id / 50 % 7 = ROUND",
    "UPDATE orders SET customer_id = (SELECT id FROM customers ORDER BY id OFFSET ROUND LIMIT 1) WHERE id / 50 % 17 = ROUND",
    "DELETE FROM orders WHERE id / 50 % 23 = ROUND",
    "UPDATE order_lines SET quantity = quantity + 100 WHERE line_no = ROUND",
    "DELETE FROM order_lines WHERE line_no = ROUND + 1 AND order_id % 3 = 0",
    "DELETE FROM customers WHERE hashtext(id::text) % 1000 = 50 * ROUND",
    "INSERT INTO orders (customer_id, status, placed_at, total, updated_at)
        SELECT id, 'placed', timestamp '2025-05-05 10:00', ROUND, '2025-05-05' FROM customers ORDER BY id LIMIT 20",
    "UPDATE products SET price = price + 1, discontinued = NOT discontinued WHERE id / 50 % 5 = ROUND",
    "INSERT INTO stock_movements SELECT 10000000 + id * 100 + ROUND, id, ROUND, 'again', '2025-06-01' FROM products",
];

async fn change(client: &Client, round: u32) {
    for sql in CHANGES {
        client.batch_execute(&sql.replace("ROUND", &round.to_string())).await.unwrap();
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_shop_that_changes_has_the_items_that_the_oracle_expects_in_each_phase() {
    let mut postgres = Postgres::start().await.unwrap();
    let client = postgres.client().await.unwrap();
    SHOP.fill(&client, 1).await.unwrap();
    client.batch_execute(THIN).await.unwrap();
    SHOP.expect(&client).await.unwrap();
    let migration = Migration::of_postgres(postgres, SHOP.mapping).await.unwrap();
    migration.phase("cutover", &["--to", "capture"]).await.unwrap();
    change(&client, 0).await;
    migration.phase("export", &[]).await.unwrap();
    change(&client, 1).await;
    for name in ["transform", "load"] {
        migration.phase(name, &[]).await.unwrap();
    }
    change(&client, 2).await;
    for (round, to) in ["dual", "100%", "0%"].into_iter().enumerate() {
        let outcome = migration.phase("cutover", &["--to", to, "--compare"]).await.unwrap();
        assert_expected(SHOP, &client, &stored(&migration).await).await;
        assert_eq!(outcome, PhaseOutcome::Done, "{to}: {:?}", migration.lines("differences-cutover.jsonl").unwrap());
        if to != "100%" {
            change(&client, 3 + u32::try_from(round).unwrap()).await;
            migration.phase("cutover", &["--to", to]).await.unwrap();
            assert_expected(SHOP, &client, &stored(&migration).await).await;
        }
    }
    assert_eq!(migration.phase("rollback", &[]).await.unwrap(), PhaseOutcome::Done);
    assert!(stored(&migration).await.is_empty());
}
