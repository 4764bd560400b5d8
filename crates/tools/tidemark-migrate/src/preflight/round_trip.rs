//! Proves for each column that its values come back from JSON as they were: the capture, the export
//! and each write carry them as JSON.

use std::collections::BTreeSet;

use tokio_postgres::Client;

use super::Findings;
use crate::mapping::Table;
use crate::source::{Schema, literal, quoted, source_failure};
use crate::{Failure, FailureKind};

/// The most rows of a table that are compared.
const ROWS_MAX: i64 = 100_000;

/// The error code with which the search for a refused row ends.
const REFUSED_ROW: &str = "TM005";

/// The columns whose type, or the type of their elements, has a JSON of its own: an extension's cast
/// makes it. Values of later writes may lose a part in it that no value has now.
const OWN_JSON: &str = "WITH RECURSIVE part (name, type) AS (
    SELECT attname::text, atttypid FROM pg_attribute WHERE attrelid = $1::text::regclass AND attnum > 0
    UNION
    SELECT name, CASE typtype WHEN 'd' THEN typbasetype ELSE typelem END
    FROM part JOIN pg_type ON oid = type WHERE typtype = 'd' OR typelem <> 0
)
SELECT DISTINCT name FROM part JOIN pg_cast ON castsource = type AND casttarget = 'json'::regtype AND castfunc <> 0";

/// Compares the texts of each value before and after, in PostgreSQL. A column whose values do not
/// come back stops the migration, and so does one with a JSON of its own. A column of JSON is only
/// named: a write leaves the columns as they are that it does not give.
pub(super) async fn find(
    client: &Client,
    schema: &Schema,
    table: &Table,
    findings: &mut Findings,
) -> Result<(), Failure> {
    let from = schema.table(&table.name);
    let Some(types) = schema.columns.get(&table.name) else { return Ok(()) };
    let keys: Vec<_> = schema.key_columns(table).iter().map(|key| format!("{}::text", quoted(key))).collect();
    let keys = keys.join(", ");
    let rows = client.query(OWN_JSON, &[&from]).await.map_err(source_failure)?;
    let own_json: BTreeSet<String> = rows.iter().map(|row| row.get(0)).collect();
    for column in schema.mapped_columns(table) {
        let (name, of, kind) = (literal(column), quoted(column), &types[column]);
        let what = format!("{}.{column} ({kind})", table.name);
        if own_json.contains(column) {
            findings.stops.push(format!(
                "{what}: PostgreSQL writes this type as JSON of its own, which may lose a part of a value. List the \
                 column in `ignore`"
            ));
            continue;
        }
        let is_lost = match kind.as_str() {
            // Its text is not kept. What is lost are equal names, and a null that is not NULL.
            "json" => format!(
                "to_jsonb({of}) = 'null' OR (json_typeof({of}) = 'object' AND (SELECT count(*) > count(DISTINCT name)
                     FROM json_object_keys(CASE WHEN json_typeof({of}) = 'object' THEN {of} END) AS name))"
            ),
            _ => format!(
                "(jsonb_populate_record(NULL::{from}, jsonb_build_object({name}, {of}))).{of}::text IS DISTINCT FROM {of}::text"
            ),
        };
        let id = format!("concat_ws('/', {keys})");
        // One value of `json` that `jsonb` refuses would stop the export.
        let limit = if kind == "json" { "ALL".to_owned() } else { ROWS_MAX.to_string() };
        let sql = format!(
            "SELECT count(*), count(*) FILTER (WHERE is_lost), min(id) FILTER (WHERE is_lost)
             FROM (SELECT {is_lost} AS is_lost, {id} AS id FROM {from} LIMIT {limit}) AS this"
        );
        match client.query_one(&sql, &[]).await.map_err(source_failure) {
            Err(failure) if failure.kind == FailureKind::SourceUnreadable => {
                let row = refused_row(client, &from, &is_lost, &id).await?;
                findings.stops.push(format!(
                    "{what}: PostgreSQL does not read its own JSON of a value, such as that of the row {row}: {}. \
                     Correct the value, or list the column in `ignore`",
                    failure.detail
                ));
            }
            counted => {
                let counted = counted?;
                let (rows, lost): (i64, i64) = (counted.get(0), counted.get(1));
                let id = counted.get::<_, Option<String>>(2).unwrap_or_default();
                let found = format!(
                    "{what}: {lost} of {rows} compared values do not come back from JSON as they were, such as that of \
                     the row {id}"
                );
                match (lost, kind.as_str()) {
                    (0, _) => {}
                    (_, "json" | "jsonb") => findings.warnings.push(format!("{found}: equal names, or the JSON null")),
                    _ => findings.stops.push(format!("{found}. Correct the values, or list the column in `ignore`")),
                }
            }
        }
    }
    Ok(())
}

/// The id of the first row for which PostgreSQL refuses an expression: its error does not say.
async fn refused_row(client: &Client, from: &str, expression: &str, id: &str) -> Result<String, Failure> {
    let of_row = "FROM (SELECT tidemark_row.*) AS given";
    let body = format!(
        "DECLARE tidemark_row {from};
         BEGIN
             FOR tidemark_row IN SELECT * FROM {from} LOOP
                 BEGIN
                     PERFORM {expression} {of_row};
                 EXCEPTION WHEN OTHERS THEN
                     RAISE EXCEPTION USING MESSAGE = (SELECT {id} {of_row}), ERRCODE = '{REFUSED_ROW}';
                 END;
             END LOOP;
         END"
    );
    match client.batch_execute(&format!("DO {}", literal(&body))).await {
        Ok(()) => Ok(String::new()),
        Err(error) => match error.as_db_error().filter(|error| error.code().code() == REFUSED_ROW) {
            Some(found) => Ok(found.message().to_owned()),
            None => Err(source_failure(error)),
        },
    }
}
