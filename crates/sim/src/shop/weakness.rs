//! The rules of a change, each weakened in one place, to prove that the simulation would notice.
//!
//! The store's code has no switches for this. Its requests are rewritten on their way to the table, so all the rest of it is as it is in production.

use clap::ValueEnum;
use serde_json::{Value, json};

/// Which rule is weakened.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Weakness {
    /// A change is made on the stock that was read, as the seed's lock has it, and not on the version: stock may go and come back meanwhile.
    LockOnValue,
    /// A change is made whatever has happened since it was decided.
    NoLock,
    /// Nothing remembers requests and orders.
    NoMarkers,
    /// The ledger's row is written after the transaction and not in it.
    RowsApart,
    /// Nothing remembers that an expired reservation's goods were given back.
    ExpiryUnmarked,
}

/// What goes over the wire instead of a transaction, one after the other. `read` is the product as its decision has seen it.
pub(super) fn weaken(weakness: Weakness, mut transaction: Value, read: &Value) -> Vec<(String, Value)> {
    let mut after = Vec::new();
    let actions = transaction["TransactItems"].as_array_mut();
    for actions in actions.into_iter() {
        match weakness {
            Weakness::LockOnValue => {
                let condition = "attribute_exists(PK) AND #Lock = :read";
                actions.iter_mut().for_each(|action| relock(action, condition, Some(&read["Stock"])));
            }
            Weakness::NoLock => {
                actions.iter_mut().for_each(|action| relock(action, "attribute_exists(PK)", None));
            }
            Weakness::NoMarkers => actions.retain(|action| {
                let sort = sort(action);
                !sort.starts_with("REQUEST#") && !sort.starts_with("ORDER#") || sort.starts_with("REQUEST#expire#")
            }),
            Weakness::ExpiryUnmarked => actions.retain(|action| !sort(action).starts_with("REQUEST#expire#")),
            Weakness::RowsApart => actions.retain(|action| {
                let is_row = sort(action).starts_with("PRICE#") || sort(action).starts_with("INVLOG#");
                if is_row {
                    after.push(("PutItem".to_owned(), action["Put"].clone()));
                }
                !is_row
            }),
        }
    }
    let mut requests = vec![("TransactWriteItems".to_owned(), transaction)];
    requests.extend(after);
    requests
}

fn sort(action: &Value) -> String {
    action["Put"]["Item"]["SK"]["S"].as_str().unwrap_or_default().to_owned()
}

/// Puts another condition on the product's update.
fn relock(action: &mut Value, condition: &str, value: Option<&Value>) {
    let update = &mut action["Update"];
    if !update.is_object() {
        return;
    }
    update["ConditionExpression"] = json!(condition);
    let names = update["ExpressionAttributeNames"].as_object_mut();
    for names in names.into_iter() {
        names.remove("#Version");
        if value.is_some() {
            names.insert("#Lock".to_owned(), json!("Stock"));
        }
    }
    for values in update["ExpressionAttributeValues"].as_object_mut().into_iter() {
        values.remove(":read");
        if let Some(value) = value {
            values.insert(":read".to_owned(), value.clone());
        }
    }
}
