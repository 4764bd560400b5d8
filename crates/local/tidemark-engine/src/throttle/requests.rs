//! The items that a request writes or reads, for the throttle.

use dynoxide::{Database, Item};
use serde_json::{Map, Value, json};

use super::buckets::Partition;
use super::table_schema::TableSchema;
use super::{Charge, TRANSACTION_FACTOR, read_units, write_units};

/// A write of one item.
#[derive(Debug)]
pub(crate) struct Write {
    pub(super) schema: TableSchema,
    key: Item,
    old: Option<Item>,
    new: After,
    factor: f64,
}

/// The item after a write.
#[derive(Debug)]
enum After {
    /// Known from the request; `None` for a deletion.
    Known(Option<Item>),
    /// Must be read after the write.
    Updated,
}

impl Write {
    /// The write of a `PutItem`, `UpdateItem` or `DeleteItem`.
    pub(super) fn of_request(tables: &Database, operation: &str, request: &Value) -> Option<Self> {
        Self::new(tables, operation.strip_suffix("Item")?, request, 1.0)
    }

    /// The write of one action of `TransactWriteItems`.
    pub(super) fn of_action(tables: &Database, action: &Value) -> Option<Self> {
        let (name, request) = action.as_object()?.iter().next()?;
        Self::new(tables, name, request, TRANSACTION_FACTOR)
    }

    fn new(tables: &Database, action: &str, request: &Value, factor: f64) -> Option<Self> {
        let schema = TableSchema::of(tables, request["TableName"].as_str()?)?;
        let (key, after) = match action {
            "Put" => {
                let item = item_of(&request["Item"])?;
                (schema.key_of(&item), After::Known(Some(item)))
            }
            "Delete" => (item_of(&request["Key"])?, After::Known(None)),
            _ => (item_of(&request["Key"])?, After::Updated),
        };
        let old = get(tables, &schema.table, &key);
        Some(Self { schema, key, old, new: after, factor })
    }

    /// The partitions that are known before the write.
    pub(super) fn partitions(&self) -> Vec<Partition> {
        let new = if let After::Known(new) = &self.new { new.as_ref() } else { None };
        let items = self.old.iter().chain(new);
        self.schema
            .partition(&self.key)
            .into_iter()
            .chain(items.flat_map(|item| self.schema.index_partitions(item)))
            .collect()
    }

    /// The cost of each touched partition.
    pub(super) fn costs(self, tables: &Database) -> Vec<(Partition, f64)> {
        let new = match self.new {
            After::Known(new) => new,
            After::Updated => get(tables, &self.schema.table, &self.key),
        };
        let units = self.old.iter().chain(&new).map(write_units).fold(1.0, f64::max);
        let mut costs = self.schema.index_costs(self.old.as_ref(), new.as_ref());
        costs.extend(self.schema.partition(&self.key).map(|partition| (partition, units * self.factor)));
        costs
    }
}

/// A read of one item.
#[derive(Debug)]
pub(crate) struct Read {
    pub(super) schema: TableSchema,
    key: Item,
    partition: Partition,
    consistent: bool,
    factor: f64,
}

impl Read {
    /// The read of a `GetItem`, or of a transaction's `Get`: that is consistent and costs `factor`
    /// times as much.
    pub(super) fn of_request(tables: &Database, request: &Value, factor: f64) -> Option<Self> {
        let table = request["TableName"].as_str()?;
        let consistent = factor > 1.0 || request["ConsistentRead"] == true;
        Self::new(tables, table, &request["Key"], consistent, factor)
    }

    fn new(tables: &Database, table: &str, key: &Value, consistent: bool, factor: f64) -> Option<Self> {
        let schema = TableSchema::of(tables, table)?;
        let key = item_of(key)?;
        let partition = schema.partition(&key)?;
        Some(Self { schema, key, partition, consistent, factor })
    }

    /// The partition that it reads.
    pub(super) fn partition(&self) -> Partition {
        self.partition.clone()
    }

    /// The cost of the read.
    pub(super) fn cost(&self, tables: &Database) -> f64 {
        read_units(get(tables, &self.schema.table, &self.key).as_ref(), self.consistent) * self.factor
    }
}

/// The entries of a batch.
#[derive(Debug)]
pub(super) struct Batch {
    pub(super) parts: Vec<BatchEntry>,
}

/// One write or key of a batch.
#[derive(Debug)]
pub(super) struct BatchEntry {
    table: String,
    request: Value,
    /// `None` for an invalid entry; the emulator then reports the error.
    pub(super) charge: Option<Charge>,
    pub(super) refused: bool,
}

impl Batch {
    /// The entries of a `BatchWriteItem` (`writing`) or `BatchGetItem`.
    pub(super) fn parse(tables: &Database, writing: bool, request: &Value) -> Self {
        let mut parts = Vec::new();
        for (table, requests) in request["RequestItems"].as_object().into_iter().flatten() {
            let list = if writing { requests } else { &requests["Keys"] };
            for part in list.as_array().into_iter().flatten() {
                let name = table;
                let charge = if writing {
                    batch_write(tables, name, part).map(Charge::Write)
                } else {
                    let consistent = requests["ConsistentRead"] == true;
                    Read::new(tables, name, part, consistent, 1.0).map(Charge::Read)
                };
                parts.push(BatchEntry { table: table.clone(), request: part.clone(), charge, refused: false });
            }
        }
        Self { parts }
    }

    /// Splits `RequestItems` into the admitted and the refused entries.
    pub(super) fn split(self, items: &Value) -> (Value, Value) {
        let (mut kept, mut refused) = (Map::new(), Map::new());
        for part in self.parts {
            let side = if part.refused { &mut refused } else { &mut kept };
            let original = &items[&part.table];
            let entry = side.entry(part.table).or_insert_with(|| {
                let mut entry = original.clone();
                *list_of(&mut entry) = json!([]);
                entry
            });
            if let Some(list) = list_of(entry).as_array_mut() {
                list.push(part.request);
            }
        }
        (kept.into(), refused.into())
    }
}

/// The list of writes, or the list of keys beside a table's other parameters.
fn list_of(entry: &mut Value) -> &mut Value {
    if entry.is_object() { &mut entry["Keys"] } else { entry }
}

fn batch_write(tables: &Database, table: &str, part: &Value) -> Option<Write> {
    let (kind, request) = part.as_object()?.iter().next()?;
    let mut request = request.clone();
    request["TableName"] = table.into();
    Write::new(tables, kind.strip_suffix("Request")?, &request, 1.0)
}

/// The partition that a `Query` reads, if its key condition has the usual form `name = :value`.
pub(super) fn queried(tables: &Database, request: &Value) -> Option<(Partition, TableSchema)> {
    let schema = TableSchema::of(tables, request["TableName"].as_str()?)?;
    let key = serde_json::from_value(queried_key(&schema, request)?.clone()).ok()?;
    Some((schema.partition_of(request["IndexName"].as_str(), &key), schema))
}

/// The value of the partition key in a `Query`, for conditions of the same form.
pub(crate) fn queried_key<'a>(schema: &TableSchema, request: &'a Value) -> Option<&'a Value> {
    let attribute = schema.partition_key(request["IndexName"].as_str())?;
    let condition = request["KeyConditionExpression"].as_str()?.replace('=', " = ");
    let words: Vec<&str> =
        condition.split(|c: char| c.is_whitespace() || "()".contains(c)).filter(|word| !word.is_empty()).collect();
    words.windows(3).find_map(|words| {
        let name = request["ExpressionAttributeNames"][words[0]].as_str().unwrap_or(words[0]);
        (name == attribute && words[1] == "=").then(|| &request["ExpressionAttributeValues"][words[2]])
    })
}

fn item_of(value: &Value) -> Option<Item> {
    serde_json::from_value(value.clone()).ok()
}

fn get(tables: &Database, table: &str, key: &Item) -> Option<Item> {
    let request = json!({ "TableName": table, "Key": key, "ConsistentRead": true });
    tables.get_item(serde_json::from_value(request).ok()?).ok()?.item
}
