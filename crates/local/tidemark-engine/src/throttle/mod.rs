//! Injected throttling: a token bucket per partition key, with DynamoDB's limits.
//!
//! As in DynamoDB, a request is admitted if no bucket that it touches is empty; its actual cost is
//! charged afterwards. A write touches its partition in the table and in each index, so a hot index
//! partition throttles the table's writes (back-pressure). PartiQL and scans are not throttled. A
//! failed condition costs nothing.

mod buckets;
mod clock;
mod requests;
mod table_schema;

use bytes::Bytes;
use dynoxide::types::{read_capacity_units_with_consistency, write_capacity_units};
use dynoxide::{Database, Item};
use serde_json::{Value, json};

use self::buckets::{Buckets, Partition, UnitKind};
pub use self::clock::ThrottleClock;
pub(crate) use self::requests::queried_key;
use self::requests::{Read, Write};
pub(crate) use self::table_schema::TableSchema;
use crate::api::ApiError;
use crate::arn;
use crate::call::Call;

/// The factor on the cost of a transaction's reads and writes.
const TRANSACTION_FACTOR: f64 = 2.0;

/// The buckets of one database.
#[derive(Debug, Default)]
pub(crate) struct Throttle {
    pub(crate) clock: ThrottleClock,
    buckets: Buckets,
}

/// An admitted call.
#[derive(Debug)]
pub(crate) struct AdmittedCall {
    /// The call, without the refused entries of a batch.
    pub(crate) call: Call,
    /// The charges to make if it succeeds.
    pub(crate) charges: Vec<Charge>,
    /// The changes to make to its reply.
    pub(crate) reply_edit: ReplyEdit,
    /// The number of refused entries of a batch.
    pub(crate) refused: usize,
}

/// A cost that is known only after the call.
#[derive(Debug)]
pub(crate) enum Charge {
    Write(Write),
    Read(Read),
    /// The reply contains the cost of a query.
    Query(Partition),
}

/// Changes to a reply.
#[derive(Debug, Default)]
pub(crate) struct ReplyEdit {
    /// The reply's member for unprocessed entries, and the refused entries of a batch.
    unprocessed: Option<(&'static str, Value)>,
    /// Removes the consumed capacity, which the caller did not request.
    without_capacity: bool,
}

impl ReplyEdit {
    /// The reply for the caller.
    pub(crate) fn apply(self, body: Bytes) -> Bytes {
        if self.unprocessed.is_none() && !self.without_capacity {
            return body;
        }
        let Ok(mut reply) = serde_json::from_slice::<Value>(&body) else { return body };
        if let Some((member, unprocessed)) = self.unprocessed {
            reply[member] = unprocessed;
        }
        if let Some(members) = reply.as_object_mut().filter(|_| self.without_capacity) {
            members.remove("ConsumedCapacity");
        }
        Bytes::from(reply.to_string())
    }
}

impl Throttle {
    /// Admits a call, admits the allowed entries of a batch, or refuses it. Blocks on SQLite.
    pub(crate) fn admit(&self, tables: &Database, call: Call, region: &str) -> Result<AdmittedCall, ApiError> {
        let Ok(request) = serde_json::from_slice::<Value>(&call.body) else { return Ok(admitted(call, Vec::new())) };
        match call.operation.as_str() {
            operation @ ("PutItem" | "UpdateItem" | "DeleteItem") => {
                let Some(write) = Write::of_request(tables, operation, &request) else {
                    return Ok(admitted(call, Vec::new()));
                };
                self.check(UnitKind::Write, &write.partitions(), &write.schema, region)?;
                Ok(admitted(call, vec![Charge::Write(write)]))
            }
            "GetItem" => {
                let Some(read) = Read::of_request(tables, &request, 1.0) else { return Ok(admitted(call, Vec::new())) };
                self.check(UnitKind::Read, &[read.partition()], &read.schema, region)?;
                Ok(admitted(call, vec![Charge::Read(read)]))
            }
            "Query" => self.admit_query(tables, call, request, region),
            "TransactWriteItems" | "TransactGetItems" => self.admit_transaction(tables, call, &request),
            "BatchWriteItem" | "BatchGetItem" => self.admit_batch(tables, call, request, region),
            _ => Ok(admitted(call, Vec::new())),
        }
    }

    /// Charges the cost of a call that succeeded with `reply`. Blocks on SQLite.
    pub(crate) fn charge(&self, tables: &Database, charges: Vec<Charge>, reply: &[u8]) {
        let now = self.clock.now();
        for charge in charges {
            match charge {
                Charge::Write(write) => {
                    for (partition, units) in write.costs(tables) {
                        self.buckets.take(UnitKind::Write, partition, units, now);
                    }
                }
                Charge::Read(read) => self.buckets.take(UnitKind::Read, read.partition(), read.cost(tables), now),
                Charge::Query(partition) => {
                    let reply: Value = serde_json::from_slice(reply).unwrap_or_default();
                    let units = reply["ConsumedCapacity"]["CapacityUnits"].as_f64().unwrap_or_default();
                    self.buckets.take(UnitKind::Read, partition, units, now);
                }
            }
        }
    }

    fn admit_query(
        &self,
        tables: &Database,
        mut call: Call,
        mut request: Value,
        region: &str,
    ) -> Result<AdmittedCall, ApiError> {
        let Some((partition, schema)) = requests::queried(tables, &request) else {
            return Ok(admitted(call, Vec::new()));
        };
        self.check(UnitKind::Read, std::slice::from_ref(&partition), &schema, region)?;
        let asked = request.get("ReturnConsumedCapacity").and_then(Value::as_str).unwrap_or("NONE") != "NONE";
        if !asked {
            request["ReturnConsumedCapacity"] = "TOTAL".into();
            call.body = Bytes::from(request.to_string());
        }
        let reply_edit = ReplyEdit { unprocessed: None, without_capacity: !asked };
        Ok(AdmittedCall { reply_edit, ..admitted(call, vec![Charge::Query(partition)]) })
    }

    fn admit_transaction(&self, tables: &Database, call: Call, request: &Value) -> Result<AdmittedCall, ApiError> {
        let actions = request["TransactItems"].as_array().map(Vec::as_slice).unwrap_or_default();
        let mut charges = Vec::with_capacity(actions.len());
        let mut reasons = vec![None; actions.len()];
        let now = self.clock.now();
        for (index, action) in actions.iter().enumerate() {
            let refused = if let Some(get) = action.get("Get") {
                let Some(read) = Read::of_request(tables, get, TRANSACTION_FACTOR) else { continue };
                let refused = self.buckets.empty(UnitKind::Read, &[read.partition()], now).is_some();
                charges.push(Charge::Read(read));
                refused
            } else {
                let Some(write) = Write::of_action(tables, action) else { continue };
                let refused = self.buckets.empty(UnitKind::Write, &write.partitions(), now).is_some();
                charges.push(Charge::Write(write));
                refused
            };
            if refused {
                reasons[index] =
                    Some(("ThrottlingError", "Throughput exceeds the current capacity of your table or index."));
            }
        }
        if reasons.iter().any(Option::is_some) {
            Err(ApiError::transaction_cancelled(&reasons))
        } else {
            Ok(admitted(call, charges))
        }
    }

    fn admit_batch(
        &self,
        tables: &Database,
        mut call: Call,
        mut request: Value,
        region: &str,
    ) -> Result<AdmittedCall, ApiError> {
        let writing = call.operation == "BatchWriteItem";
        let mut batch = requests::Batch::parse(tables, writing, &request);
        let (mut charges, mut refusal, mut refused, mut left) = (Vec::new(), None, 0, 0);
        for part in &mut batch.parts {
            let (kind, partitions, schema) = match &part.charge {
                Some(Charge::Write(write)) => (UnitKind::Write, write.partitions(), &write.schema),
                Some(Charge::Read(read)) => (UnitKind::Read, vec![read.partition()], &read.schema),
                _ => {
                    left += 1;
                    continue;
                }
            };
            match self.check(kind, &partitions, schema, region) {
                Ok(()) => {
                    left += 1;
                    charges.extend(part.charge.take());
                }
                Err(error) => {
                    part.refused = true;
                    refused += 1;
                    refusal = Some(error);
                }
            }
        }
        match refusal {
            None => Ok(admitted(call, charges)),
            // When no entry of a batch can be processed, AWS answers with the exception itself.
            Some(error) if left == 0 => Err(error),
            Some(_) => {
                let (kept, unprocessed) = batch.split(&request["RequestItems"]);
                request["RequestItems"] = kept;
                call.body = Bytes::from(request.to_string());
                let member = if writing { "UnprocessedItems" } else { "UnprocessedKeys" };
                let reply_edit = ReplyEdit { unprocessed: Some((member, unprocessed)), without_capacity: false };
                Ok(AdmittedCall { call, charges, reply_edit, refused })
            }
        }
    }

    fn check(
        &self,
        kind: UnitKind,
        partitions: &[Partition],
        schema: &TableSchema,
        region: &str,
    ) -> Result<(), ApiError> {
        let Some(empty) = self.buckets.empty(kind, partitions, self.clock.now()) else { return Ok(()) };
        let name = if schema.on_demand { "ThrottlingException" } else { "ProvisionedThroughputExceededException" };
        let (place, resource) = match &empty.index {
            Some(index) => ("Index", arn::index(region, &empty.table, index)),
            None => ("Table", arn::table(region, &empty.table)),
        };
        let reason = format!("{place}{kind:?}KeyRangeThroughputExceeded");
        let message = "Throughput exceeds the current capacity of your table or index. DynamoDB limits one partition key \
                       to 1,000 write units and 3,000 read units a second.";
        Err(ApiError::new(name, message).with("ThrottlingReasons", json!([{ "reason": reason, "resource": resource }])))
    }
}

fn admitted(call: Call, charges: Vec<Charge>) -> AdmittedCall {
    AdmittedCall { call, charges, reply_edit: ReplyEdit::default(), refused: 0 }
}

/// Write units of an item of this size, rounded up to whole kilobytes.
fn write_units(item: &Item) -> f64 {
    write_capacity_units(dynoxide::types::item_size(item))
}

/// Read units of an item, or of a read that finds no item.
fn read_units(item: Option<&Item>, consistent: bool) -> f64 {
    read_capacity_units_with_consistency(item.map_or(0, dynoxide::types::item_size), consistent)
}
