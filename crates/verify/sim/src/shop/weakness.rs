//! The rules of a change, each weakened in one place, to prove that the simulation would notice.
//!
//! The store's code has no switches for this. Its requests are rewritten on their way to the table,
//! so all the rest of it is as it is in production.

use clap::ValueEnum;
use jiff::Timestamp;
use serde_json::{Value, json};

use super::world::PRODUCTS;

/// Which rule is weakened.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Weakness {
    /// A change is made on the stock that was read, as the original design's lock has it, and not
    /// on the version: stock may go and come back meanwhile.
    LockOnValue,
    /// A change is made on the version alone, which a client of the original design does not know.
    LockOnVersion,
    /// A change is written without a check for changes since the decision.
    NoLock,
    /// Nothing remembers requests and orders.
    NoIdempotencyMarkers,
    /// Nothing remembers refusals.
    RefusalsForgotten,
    /// The ledger's row is written after the transaction and not in it.
    RowsOutsideTransaction,
    /// Nothing remembers that an expired reservation's goods were given back.
    ExpiryForgotten,
    /// An order is written product by product and not in one transaction.
    OrdersInParts,
    /// Each line of an order expires by itself.
    LinesExpireAlone,
}

/// The requests in place of one, one after the other.
pub(super) fn weaken(weakness: Option<Weakness>, operation: String, mut transaction: Value) -> Vec<(String, Value)> {
    let Some(weakness) = weakness.filter(|_| operation == "TransactWriteItems") else {
        return vec![(operation, transaction)];
    };
    if weakness == Weakness::RefusalsForgotten && transaction["TransactItems"][0]["Put"]["Item"]["Refused"].is_object()
    {
        return Vec::new();
    }
    let mut after = Vec::new();
    let actions = transaction["TransactItems"].as_array_mut();
    for actions in actions.into_iter() {
        match weakness {
            Weakness::LockOnValue => actions.iter_mut().for_each(|action| relock(action, &["Stock"])),
            Weakness::LockOnVersion => actions.iter_mut().for_each(|action| relock(action, &["Version"])),
            Weakness::NoLock => actions.iter_mut().for_each(|action| relock(action, &[])),
            Weakness::RefusalsForgotten => {}
            Weakness::OrdersInParts => {
                let is_order = actions.iter().any(|action| partition(action).starts_with("ORDER#"));
                let last = format!("PRODUCT#{}", PRODUCTS[1]);
                let (first, rest) =
                    std::mem::take(actions).into_iter().partition(|action| !is_order || partition(action) != last);
                *actions = first;
                let rest: Vec<Value> = rest;
                if !rest.is_empty() {
                    after.push(("TransactWriteItems".to_owned(), json!({ "TransactItems": rest })));
                }
            }
            Weakness::LinesExpireAlone => {
                for item in actions.iter_mut().filter_map(|action| action.pointer_mut("/Put/Item")) {
                    let ends = item["ExpiresAt"]["S"].as_str().and_then(|at| at.parse::<Timestamp>().ok());
                    if let (Some(ends), true) = (ends, item["State"]["S"] == "OPEN") {
                        item["ttl"] = json!({ "N": (ends.as_second() + 1).to_string() });
                    }
                }
            }
            Weakness::NoIdempotencyMarkers => actions.retain(|action| {
                let sort = sort(action);
                !sort.starts_with("REQUEST#") && !sort.starts_with("ORDER#") || sort.starts_with("REQUEST#expire#")
            }),
            Weakness::ExpiryForgotten => actions.retain(|action| !sort(action).starts_with("REQUEST#expire#")),
            Weakness::RowsOutsideTransaction => actions.retain(|action| {
                let is_row = sort(action).starts_with("PRICE#") || sort(action).starts_with("INVLOG#");
                if is_row {
                    after.push(("PutItem".to_owned(), action["Put"].clone()));
                }
                !is_row
            }),
        }
    }
    let mut requests = vec![(operation, transaction)];
    requests.extend(after);
    requests
}

fn partition(action: &Value) -> &str {
    let put = action["Put"]["Item"]["PK"]["S"].as_str();
    put.or_else(|| action["Update"]["Key"]["PK"]["S"].as_str()).unwrap_or_default()
}

fn sort(action: &Value) -> String {
    action["Put"]["Item"]["SK"]["S"].as_str().unwrap_or_default().to_owned()
}

/// Keeps only the conditions on these attributes in the update of the product.
fn relock(action: &mut Value, kept: &[&str]) {
    const LOCKS: [(&str, &str, &str); 3] =
        [("Version", "#Version", ":read"), ("Stock", "#Stock", ":stock"), ("Price", "#Price", ":price")];
    let update = &mut action["Update"];
    if !update.is_object() {
        return;
    }
    let mut condition = "attribute_exists(PK)".to_owned();
    for (attribute, name, value) in LOCKS {
        if kept.contains(&attribute) {
            condition.push_str(&format!(" AND {name} = {value}"));
            continue;
        }
        for names in update["ExpressionAttributeNames"].as_object_mut().into_iter() {
            names.remove(name);
        }
        for values in update["ExpressionAttributeValues"].as_object_mut().into_iter() {
            values.remove(value);
        }
    }
    update["ConditionExpression"] = json!(condition);
}
