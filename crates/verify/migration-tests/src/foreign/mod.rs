//! Databases of applications that are not ours: a shop, an issue tracker and a chat, each with
//! 100,000 unusual rows, a mapping, and the items that a migration is expected to make.
//!
//! The rows and the expected items are made in SQL, without the migration's code.

use std::collections::BTreeMap;

use anyhow::Result;
use tokio_postgres::Client;

pub(crate) const RANDOM: &str = include_str!("random.sql");
const EXPECTED: &str = include_str!("expected.sql");

/// A database of an application.
#[derive(Debug, Clone, Copy)]
pub struct Source {
    /// What the application is.
    pub name: &'static str,
    /// The mapping file.
    pub mapping: &'static str,
    /// Its tables, with the number of rows in each.
    pub tables: &'static [(&'static str, i64)],
    schema: &'static str,
    rows: &'static str,
    expected: &'static str,
}

macro_rules! source {
    ($name:literal, $tables:expr) => {
        Source {
            name: $name,
            mapping: include_str!(concat!($name, ".toml")),
            tables: $tables,
            schema: include_str!(concat!($name, ".sql")),
            rows: include_str!(concat!($name, "_rows.sql")),
            expected: include_str!(concat!($name, "_expected.sql")),
        }
    };
}

/// Customers with orders, products with reviews and a partitioned stock ledger.
pub const SHOP: Source = source!(
    "shop",
    &[
        ("addresses", 9_000),
        ("customers", 6_000),
        ("order_lines", 40_000),
        ("orders", 18_000),
        ("products", 2_000),
        ("reviews", 10_000),
        ("stock_movements", 15_000),
    ]
);

/// Projects with issues, comments and attachments, users who watch issues.
pub const TRACKER: Source = source!(
    "tracker",
    &[
        ("attachments", 6_000),
        ("comments", 40_000),
        ("issue_labels", 20_000),
        ("issues", 15_000),
        ("labels", 2_500),
        ("members", 4_000),
        ("projects", 500),
        ("thumbnails", 2_000),
        ("users", 2_000),
        ("watches", 8_000),
    ]
);

/// Rooms with members, messages and reactions, users with devices.
pub const CHAT: Source = source!(
    "chat",
    &[
        ("devices", 1_500),
        ("invites", 2_500),
        ("members", 12_000),
        ("messages", 60_000),
        ("pins", 1_500),
        ("reactions", 18_000),
        ("rooms", 1_500),
        ("users", 3_000),
    ]
);

/// The partition key and the sort key of an item.
pub type ItemKey = (String, String);

impl Source {
    /// Makes the tables and fills them: the same rows for the same seed.
    pub async fn fill(&self, client: &Client, seed: u64) -> Result<()> {
        let seed = format!("SET rows.seed = '{seed}'");
        for statements in [self.schema, RANDOM, &seed, self.rows, "ANALYZE"] {
            client.batch_execute(statements).await?;
        }
        Ok(())
    }

    /// Makes the views of the expected rows. They show the present rows.
    pub async fn expect(&self, client: &Client) -> Result<()> {
        client.batch_execute(EXPECTED).await?;
        Ok(client.batch_execute(self.expected).await?)
    }
}

/// The attributes of each expected item, as JSON: `expected.sql` describes it.
pub async fn expected_items(client: &Client) -> Result<Vec<(ItemKey, String)>> {
    let rows = client.query("SELECT pk, sk, attributes::text FROM expected.items", &[]).await?;
    Ok(rows.into_iter().map(|row| ((row.get(0), row.get(1)), row.get(2))).collect())
}

/// How many rows, or parts of them, are expected to be left behind, by table and reason.
pub async fn expected_rejects(client: &Client) -> Result<BTreeMap<(String, String), u64>> {
    let rows = client.query("SELECT source, reason, count FROM expected.rejects", &[]).await?;
    let rejects = rows.into_iter().map(|row| Ok(((row.get(0), row.get(1)), u64::try_from(row.get::<_, i64>(2))?)));
    rejects.collect()
}
