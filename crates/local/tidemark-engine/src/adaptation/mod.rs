//! Fills gaps of the emulator that need more than a check: changes a request before it goes to the
//! emulator, or the reply.

pub(crate) mod index_projection;
pub(crate) mod table_state;
pub(crate) mod update_item;

use bytes::Bytes;
use serde_json::{Map, Value, json};

use self::update_item::UpdatePlan;
use crate::validation::{Checked, Path, project};

/// What the proxy does with one call besides forwarding it.
#[derive(Debug, Clone, Default)]
pub(crate) enum Adaptation {
    #[default]
    None,
    Update(UpdatePlan),
    /// Removes the keys that the emulator adds to the projections of `TransactGetItems`.
    Gets(Vec<Option<Vec<Path>>>),
    /// Keeps items with keys of a wrong type out of the indexes that an `UpdateTable` creates.
    NewIndexes(Map<String, Value>),
    /// Reduces the items of a query or scan, which the emulator returns whole.
    Items(Vec<Path>),
}

impl Adaptation {
    /// The adaptation of a request that passed the checks.
    pub(crate) fn of(operation: &str, checked: Checked) -> Self {
        match operation {
            "UpdateItem" => UpdatePlan::of(checked).map_or(Self::None, Self::Update),
            "TransactGetItems" if checked.gets.iter().any(Option::is_some) => Self::Gets(checked.gets),
            _ => Self::None,
        }
    }

    /// The reply for the caller.
    pub(crate) fn reply(&self, body: Bytes) -> Bytes {
        let Ok(mut reply) = serde_json::from_slice::<Value>(&body) else { return body };
        match self {
            Self::Gets(gets) => {
                let answers = reply.get_mut("Responses").and_then(Value::as_array_mut).into_iter().flatten();
                for (answer, paths) in answers.zip(gets) {
                    let (Some(paths), Some(Value::Object(item))) = (paths, answer.get_mut("Item")) else { continue };
                    item.retain(|name, _| paths.iter().any(|path| path.attribute() == name));
                    if item.is_empty() {
                        *answer = json!({});
                    }
                }
            }
            Self::Items(paths) => {
                for item in reply.get_mut("Items").and_then(Value::as_array_mut).into_iter().flatten() {
                    *item = item.as_object().map(|members| project(members, paths)).unwrap_or_default().into();
                }
            }
            Self::None | Self::Update(_) | Self::NewIndexes(_) => return body,
        }
        Bytes::from(reply.to_string())
    }
}
