//! Writing a row without replacing its item: attributes that another version of the service knows
//! survive.

use std::collections::{BTreeMap, HashMap};

use aws_sdk_dynamodb::error::BuildError;
use aws_sdk_dynamodb::operation::update_item::UpdateItemError;
use aws_sdk_dynamodb::operation::update_item::builders::UpdateItemFluentBuilder;
use aws_sdk_dynamodb::types::{AttributeValue, ReturnValuesOnConditionCheckFailure, Update};

use super::keys::{Item, PARTITION_KEY, SORT_KEY, TYPE_SORT, n};
use super::rows::{Row, item};
use store_base::unless_condition_failed;
use store_base::{StoreError, Table};

/// Values for a condition or an update, by their name without the colon.
pub(super) type Values = Vec<(&'static str, AttributeValue)>;

/// An update that makes an item what a row says, but for the time of its creation if it is there
/// already: sets each attribute of the row, and takes away those of [`Row::OPTIONAL`] that the row
/// does not have.
#[derive(Debug, Clone)]
pub(super) struct Upsert {
    key: Item,
    update: String,
    condition: Option<String>,
    // In the order of their names, so that the same change is the same request.
    names: BTreeMap<String, String>,
    values: BTreeMap<String, AttributeValue>,
}

impl Upsert {
    pub(super) fn new<R: Row>(row: &R) -> Result<Self, StoreError> {
        let is_key = |name: &str| name == PARTITION_KEY || name == SORT_KEY;
        let (key, attributes): (Item, Item) = item(row)?.into_iter().partition(|(name, _)| is_key(name));
        let (mut names, mut values) = (BTreeMap::new(), BTreeMap::new());
        let (mut sets, mut removes) = (Vec::new(), Vec::new());
        for (index, name) in R::OPTIONAL.iter().filter(|name| !attributes.contains_key(**name)).enumerate() {
            let placeholder = format!("#r{index}");
            removes.push(placeholder.clone());
            names.insert(placeholder, (*name).to_owned());
        }
        for (index, (name, value)) in attributes.into_iter().collect::<BTreeMap<_, _>>().into_iter().enumerate() {
            let (placeholder, placed) = (format!("#n{index}"), format!(":v{index}"));
            sets.push(match name.as_str() {
                "CreatedAt" | TYPE_SORT => format!("{placeholder} = if_not_exists({placeholder}, {placed})"),
                _ => format!("{placeholder} = {placed}"),
            });
            names.insert(placeholder, name);
            values.insert(placed, value);
        }
        let mut update = format!("SET {}", sets.join(", "));
        if !removes.is_empty() {
            update.push_str(&format!(" REMOVE {}", removes.join(", ")));
        }
        Ok(Self { key, update, condition: None, names, values })
    }

    /// Only on this condition. `#Name` in it stands for the attribute `Name`, where that is a word
    /// of DynamoDB's own.
    pub(super) fn when(mut self, condition: &str, values: Values) -> Self {
        self.names.extend(names(condition).into_iter().flatten());
        self.values.extend(named(values).into_iter().flatten());
        self.condition = Some(condition.to_owned());
        self
    }

    /// As a request of its own.
    pub(super) fn request(self, table: &Table) -> UpdateItemFluentBuilder {
        let request = table.update_item(self.key).update_expression(self.update);
        let request = request.set_condition_expression(self.condition);
        let request = request.set_expression_attribute_names(Some(self.names.into_iter().collect()));
        request.set_expression_attribute_values(Some(self.values.into_iter().collect()))
    }

    /// Sends it: whether its condition held, and so it was written.
    pub(super) async fn send(self, table: &Table) -> Result<bool, StoreError> {
        Ok(unless_condition_failed(self.request(table).send().await)?.is_some())
    }

    /// The same for a row whose attribute `name` is `id`, a random number of this write. The answer
    /// of the SDK's first attempt may be lost, and the second attempt fails on the condition. Then
    /// the item has this number, and the row was written.
    pub(super) async fn send_with_id(self, table: &Table, name: &str, id: Option<u32>) -> Result<bool, StoreError> {
        let request = self.request(table);
        let request = request.return_values_on_condition_check_failure(ReturnValuesOnConditionCheckFailure::AllOld);
        match request.send().await {
            Ok(_) => Ok(true),
            Err(error) => match error.as_service_error() {
                Some(UpdateItemError::ConditionalCheckFailedException(refused)) => {
                    let held = refused.item().and_then(|held| held.get(name));
                    Ok(held.is_some() && held == id.map(n).as_ref())
                }
                _ => Err(error.into()),
            },
        }
    }

    /// As a part of a transaction.
    pub(super) fn action(self, table: &Table) -> Result<Update, BuildError> {
        let update = table.update(self.key).update_expression(self.update);
        let update = update.set_condition_expression(self.condition);
        let update = update.set_expression_attribute_names(Some(self.names.into_iter().collect()));
        update.set_expression_attribute_values(Some(self.values.into_iter().collect())).build()
    }
}

/// The values behind the placeholders of an expression.
pub(super) fn named(values: Values) -> Option<Item> {
    // DynamoDB refuses a map of values that is empty.
    (!values.is_empty()).then(|| values.into_iter().map(|(name, value)| (format!(":{name}"), value)).collect())
}

/// The names behind the placeholders of an expression.
pub(super) fn names(expression: &str) -> Option<HashMap<String, String>> {
    let words = expression.split(|char: char| char != '#' && !char.is_ascii_alphanumeric());
    let names: HashMap<_, _> =
        words.filter_map(|word| Some((word.to_owned(), word.strip_prefix('#')?.to_owned()))).collect();
    (!names.is_empty()).then_some(names)
}
