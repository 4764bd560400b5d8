//! What PostgreSQL knows about the tables of a schema: columns, keys, unique indexes, sizes.

use tokio_postgres::Client;

use crate::Failure;
use crate::source::{BASE_TYPES, ForeignKey, foreign_keys, heirs, quoted, source_failure};

/// The most rows that are counted in a table without statistics.
const ROWS_COUNTED_MAX: u32 = 200_000;

/// A table of the source.
#[derive(Debug, Clone, Default)]
pub(super) struct SourceTable {
    pub(super) name: String,
    pub(super) columns: Vec<SourceColumn>,
    /// The primary key, or else the first unique index of NOT NULL columns; empty without either.
    pub(super) key: Vec<String>,
    /// The other unique indexes, for people.
    pub(super) unique: Vec<String>,
    /// The estimated number of rows; negative if PostgreSQL does not know.
    pub(super) rows: f64,
    /// Its rows are read with those of another table, or the other way round.
    pub(super) is_inherited: bool,
    pub(super) foreign_keys: Vec<ForeignKey>,
}

/// A column of the source.
#[derive(Debug, Clone, Default)]
pub(super) struct SourceColumn {
    pub(super) name: String,
    /// The type, and for a domain the type below it.
    pub(super) kind: String,
    pub(super) is_composite: bool,
    pub(super) is_required: bool,
    /// PostgreSQL computes it from other columns.
    pub(super) is_computed: bool,
    /// PostgreSQL's statistics have negative values.
    pub(super) has_negative: bool,
    pub(super) labels: Vec<String>,
}

impl SourceTable {
    pub(super) fn column(&self, name: &str) -> Option<&SourceColumn> {
        self.columns.iter().find(|column| column.name == name)
    }

    /// The key, if it is one column.
    pub(super) fn only_key(&self) -> Option<&str> {
        if let [key] = self.key.as_slice() { Some(key) } else { None }
    }

    fn is_required(&self, name: &str) -> bool {
        self.column(name).is_some_and(|column| column.is_required)
    }
}

/// Reads the tables of a schema, by name. Partitions belong to their table.
pub(super) async fn read(client: &Client, schema: &str) -> Result<Vec<SourceTable>, Failure> {
    let sql = format!(
        "WITH RECURSIVE {BASE_TYPES}
        SELECT c.relname::text, c.reltuples::float8, a.attname::text, format_type(t.oid, NULL), t.typtype = 'c', a.attnotnull,
            ARRAY(SELECT enumlabel::text FROM pg_enum WHERE enumtypid = t.oid ORDER BY enumsortorder),
            coalesce(s.histogram_bounds::text LIKE '{{-%', false) OR coalesce(s.most_common_vals::text ~ '[{{,]-', false),
            a.attgenerated <> ''
        FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
        JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped
        JOIN base ON base.type = a.atttypid AND base.under = 0 JOIN pg_type t ON t.oid = base.plain
        LEFT JOIN pg_stats s ON s.schemaname = n.nspname AND s.tablename = c.relname AND s.attname = a.attname
             AND NOT s.inherited
        WHERE n.nspname = $1 AND c.relkind IN ('r', 'p') AND NOT c.relispartition
        ORDER BY c.relname, a.attnum"
    );
    let mut tables: Vec<SourceTable> = Vec::new();
    for row in client.query(&sql, &[&schema]).await.map_err(source_failure)? {
        let name: String = row.get(0);
        let column = SourceColumn {
            name: row.get(2),
            kind: row.get(3),
            is_composite: row.get(4),
            is_required: row.get(5),
            labels: row.get(6),
            has_negative: row.get(7),
            is_computed: row.get(8),
        };
        match tables.last_mut().filter(|table| table.name == name) {
            Some(table) => table.columns.push(column),
            None => {
                tables.push(SourceTable { name, rows: row.get(1), columns: vec![column], ..SourceTable::default() })
            }
        }
    }
    // A restored dump has no statistics yet.
    for table in tables.iter_mut().filter(|table| table.rows < 0.0) {
        let name = format!("{}.{}", quoted(schema), quoted(&table.name));
        let sql = format!("SELECT count(*)::float8 FROM (SELECT FROM {name} LIMIT {ROWS_COUNTED_MAX}) AS counted");
        table.rows = client.query_one(&sql, &[]).await.map_err(source_failure)?.get(0);
    }
    // A deferrable index cannot identify a row during a cutover.
    let sql = "SELECT c.relname::text, own.relname::text, i.indisprimary,
            ARRAY(SELECT (SELECT attname::text FROM pg_attribute WHERE attrelid = c.oid AND attnum = i.indkey[k - 1])
                  FROM generate_series(1, i.indnkeyatts) AS k ORDER BY k),
            ARRAY(SELECT pg_get_indexdef(own.oid, k, true) FROM generate_series(1, i.indnkeyatts) AS k ORDER BY k),
            pg_get_expr(i.indpred, c.oid)
        FROM pg_index i JOIN pg_class c ON c.oid = i.indrelid JOIN pg_class own ON own.oid = i.indexrelid
        JOIN pg_namespace n ON n.oid = c.relnamespace
        WHERE n.nspname = $1 AND i.indisunique AND i.indimmediate AND i.indisvalid AND NOT c.relispartition
        ORDER BY c.relname, i.indisprimary DESC, own.relname";
    for row in client.query(sql, &[&schema]).await.map_err(source_failure)? {
        let name: String = row.get(0);
        let Some(table) = tables.iter_mut().find(|table| table.name == name) else { continue };
        let (columns, parts, condition): (Vec<Option<String>>, Vec<String>, Option<String>) =
            (row.get(3), row.get(4), row.get(5));
        let plain: Option<Vec<String>> = columns.into_iter().collect::<Option<_>>().filter(|_| condition.is_none());
        match plain {
            Some(columns) if table.key.is_empty() && columns.iter().all(|name| table.is_required(name)) => {
                table.key = columns;
            }
            // Rows with different keys differ in such an index, too.
            Some(columns) if !table.key.is_empty() && table.key.iter().all(|key| columns.contains(key)) => {}
            _ => table.unique.push(format!("{} ({})", row.get::<_, &str>(1), parts.join(", "))),
        }
    }
    for (parent, heir) in heirs(client, schema).await? {
        tables
            .iter_mut()
            .filter(|table| [&parent, &heir].contains(&&table.name))
            .for_each(|table| table.is_inherited = true);
    }
    for found in foreign_keys(client, schema).await? {
        if let Some(table) = tables.iter_mut().find(|table| table.name == found.table && found.refers_to != found.table)
        {
            table.foreign_keys.push(found);
        }
    }
    Ok(tables)
}
