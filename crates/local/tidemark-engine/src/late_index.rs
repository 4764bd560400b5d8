//! Keeps items with keys of a wrong type out of an index that is added to an existing table.

use rusqlite::{Connection, Transaction, TransactionBehavior};
use serde_json::{Map, Value};

/// Removes such items from the indexes that an `UpdateTable` has created, and makes SQLite ignore
/// later ones. The index's table belongs to the emulator; deleting the index deletes the trigger.
pub(crate) fn exclude_misfits(connection: &Connection, request: &Map<String, Value>) -> rusqlite::Result<()> {
    let table = crate::arn::table_name(request.get("TableName").and_then(Value::as_str).unwrap_or_default());
    let kind = |name: &Value| {
        let definitions = request.get("AttributeDefinitions")?.as_array()?;
        definitions.iter().find(|definition| definition["AttributeName"] == *name)?["AttributeType"].as_str()
    };
    for update in request.get("GlobalSecondaryIndexUpdates").and_then(Value::as_array).into_iter().flatten() {
        let create = &update["Create"];
        let Some(index) = create["IndexName"].as_str() else { continue };
        let keys = create["KeySchema"].as_array().into_iter().flatten().map(|element| &element["AttributeName"]);
        let fits: Vec<String> = keys.filter_map(|name| Some(fit(name.as_str()?, kind(name)?))).collect();
        // SQLite's paths have no escape for a quotation mark.
        if fits.is_empty() || create["KeySchema"].to_string().contains(r#"\""#) {
            continue;
        }
        let fits = fits.join(" AND ");
        let place = quoted(&format!("{table}::gsi::{index}"));
        let trigger = quoted(&format!("{table}::gsi::{index}::types"));
        let transaction = Transaction::new_unchecked(connection, TransactionBehavior::Immediate)?;
        transaction.execute_batch(&format!(
            "CREATE TRIGGER {trigger} BEFORE INSERT ON {place} WHEN NOT ({}) BEGIN SELECT RAISE(IGNORE); END;
             DELETE FROM {place} WHERE NOT ({fits});",
            fits.replace("item_json", "NEW.item_json")
        ))?;
        transaction.commit()?;
    }
    Ok(())
}

/// The SQL condition that an item has a key of this type. An empty key is not allowed.
fn fit(name: &str, kind: &str) -> String {
    let path = format!("$.\"{}\".{kind}", name.replace('\'', "''"));
    format!("COALESCE(json_extract(item_json, '{path}'), '') <> ''")
}

fn quoted(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
}
