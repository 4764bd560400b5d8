//! An item on its way, and how its file spells it.

use std::collections::{BTreeMap, HashMap};

use aws_sdk_dynamodb::types::AttributeValue;

/// The attribute that says how new the row was that an item was made of: microseconds since 1970 of its last change. What the application writes by itself has none.
pub const VERSION: &str = "MigratedVersion";

/// The attribute with `UpdatedAt` as it was migrated: while both are equal, nobody else has written the item.
pub const AS_OF: &str = "MigratedUpdatedAt";

/// An item on its way.
#[derive(Debug, Clone, PartialEq)]
pub struct Item {
    /// `PK`
    pub partition: String,
    /// `SK`
    pub sort: String,
    /// What [`VERSION`] says.
    pub version: i64,
    /// All attributes, those of the key and of the migration too.
    pub attributes: HashMap<String, AttributeValue>,
}

/// As its file spells it: DynamoDB's JSON, with sorted names.
pub(crate) type Spelled = BTreeMap<String, serde_dynamo::AttributeValue>;
