//! Columns whose values PostgreSQL does not take from a write.

use std::collections::BTreeMap;

use tokio_postgres::GenericClient;

use super::connect::unreadable;
use crate::Failure;

/// When a write may give the value of a column.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Restricted {
    /// Never: it is computed from other columns.
    Computed,
    /// Only in an insert: PostgreSQL generates it.
    Generated,
}

/// The restricted columns, by table and column.
pub(crate) type RestrictedColumns = BTreeMap<String, BTreeMap<String, Restricted>>;

pub(super) async fn read<C: GenericClient + Sync>(client: &C, schema: &str) -> Result<RestrictedColumns, Failure> {
    let sql = "SELECT relname::text, attname::text, attgenerated <> ''
        FROM pg_class c JOIN pg_namespace n ON n.oid = relnamespace AND nspname = $1
        JOIN pg_attribute ON attrelid = c.oid AND attnum > 0 AND NOT attisdropped
        WHERE relkind IN ('r', 'p') AND (attgenerated <> '' OR attidentity = 'a')";
    let mut restricted = RestrictedColumns::new();
    for row in client.query(sql, &[&schema]).await.map_err(unreadable)? {
        let kind = if row.get(2) { Restricted::Computed } else { Restricted::Generated };
        restricted.entry(row.get(0)).or_default().insert(row.get(1), kind);
    }
    Ok(restricted)
}
