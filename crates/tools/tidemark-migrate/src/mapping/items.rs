//! Turns a row into items, without regard to conflicts with other rows.

use std::sync::Arc;

use aws_sdk_dynamodb::types::AttributeValue;
use jiff::Timestamp;
use jiff::tz::TimeZone;

use super::Mapping;
use super::code::{Code, Template};
use super::evaluate::{Evaluation, Parameters, World};
use super::table::{ItemSpec, Preference, Table};
use super::value::Value;
use crate::Failure;
use crate::command::Product;
use crate::item::{AS_OF, Attributes, ITEM_BYTES_MAX, Item, Key, RUN, VERSION, bytes, text};
use crate::reject::{Reason, Reject};
use crate::row::{Cell, Columns, Row};

/// [The most bytes of a partition key, and of a sort
/// key](https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/Constraints.html#limits-partition-sort-keys).
const KEY_BYTES_MAX: [usize; 2] = [2_048, 1_024];

/// What happens if another item with the same key has a greater rank.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum OnConflict {
    /// The whole row is rejected.
    RejectRow(Reason),
    /// Only this item is left out, and reported.
    LeaveOut(Reason),
    /// Nothing is reported, because both items mean the same.
    Merge,
}

impl OnConflict {
    /// Whether the row is rejected that does not get the key.
    pub(crate) fn rejects_row(&self) -> bool {
        matches!(self, Self::RejectRow(_))
    }
}

/// The items of a row.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct RowItems {
    /// The items.
    pub items: Vec<Item>,
    /// Parts of the row that are in no item, and why.
    pub left_out: Vec<Reject>,
}

/// The own row of an owner.
#[derive(Debug, Clone)]
pub struct OwnerRow {
    row: Row,
    /// Why the owner is not migrated.
    rejected: Option<Reject>,
}

impl OwnerRow {
    pub(crate) fn is_migrated(&self) -> bool {
        self.rejected.is_none()
    }
}

impl World {
    /// The items of a row; no `owner` if the owner has no row. Rules about the owner apply: the rows of an owner who is not migrated
    /// are rejected.
    pub fn items(&self, row: &Row, owner: Option<&OwnerRow>) -> Result<RowItems, Reject> {
        let table = &row.table;
        if table.owner.is_some() && !self.is_owners(row) {
            self.check_owner(row, owner)?;
        }
        self.own_items(row, owner.map(|owner| &owner.row))
    }

    /// An owner by the owner's own row.
    pub fn owner(&self, row: &Row) -> OwnerRow {
        OwnerRow { row: row.clone(), rejected: self.own_items(row, Some(row)).err() }
    }

    /// Whether the row is that of an owner.
    pub fn is_owners(&self, row: &Row) -> bool {
        let owner = row.table.owner.as_ref();
        owner.is_some_and(|owner| self.mapping.owners[owner.kind].table == row.table.name && owner.through.is_none())
    }

    /// Whether the table has a row for each owner.
    pub(crate) fn is_owners_table(&self, table: &Table) -> bool {
        self.mapping.owners.iter().any(|owner| owner.table == table.name)
    }

    /// Whether a reason of a table needs no review.
    pub fn is_expected(&self, table: &str, reason: &str) -> bool {
        let rules = self.mapping.table(table).map(|table| table.reject.as_slice()).unwrap_or_default();
        rules.iter().chain(self.owner_rules()).any(|rule| rule.is_expected && rule.reason.as_str() == reason)
    }

    /// Whether a rule with this reason depends on the owner's own row, not on the row alone.
    pub(crate) fn is_about_owner(&self, table: &Table, reason: &Reason) -> bool {
        let mut is_about_owner = *reason == Reason::ORPHAN;
        for rule in table.reject.iter().filter(|rule| rule.reason == *reason) {
            rule.when.each(&mut |code| is_about_owner |= matches!(code, Code::OfOwner(_)));
        }
        is_about_owner
    }

    fn owner_rules(&self) -> impl Iterator<Item = &super::table::RejectRule> {
        let tables = self.mapping.owners.iter().filter_map(|owner| self.mapping.table(&owner.table));
        tables.flat_map(|table| &table.reject)
    }

    /// Rejects the row of an owner who is missing or not migrated.
    fn check_owner(&self, row: &Row, owner: Option<&OwnerRow>) -> Result<(), Reject> {
        let id = match &row.owner {
            Some(id) => id,
            None => return Err(Reject::decided(Reason::MISSING_VALUE, "it belongs to nobody")),
        };
        let Some(owner) = owner else {
            return Err(Reject::decided(Reason::ORPHAN, format!("there is no {id}")));
        };
        match &owner.rejected {
            None => Ok(()),
            Some(reject) if self.is_expected(&owner.row.table.name, reject.reason.as_str()) => {
                let detail = format!("its owner {id} is not migrated: {}", reject.detail);
                Err(Reject { detail, ..reject.clone() })
            }
            Some(Reject { reason, is_decided, .. }) => {
                let orphan = Reject::because(Reason::ORPHAN, format!("its owner {id} was rejected: {reason}"));
                Err(Reject { is_decided: *is_decided, ..orphan })
            }
        }
    }

    fn evaluation<'e>(&'e self, row: &'e Row, owner: Option<&'e Row>) -> Evaluation<'e> {
        let mut evaluation = Evaluation::of_table(self, &row.table, &row.columns);
        evaluation.owner = row.owner.as_deref();
        evaluation.of_owner = owner.map(|owner| (&*owner.table, &owner.columns));
        evaluation
    }

    fn own_items(&self, row: &Row, owner: Option<&Row>) -> Result<RowItems, Reject> {
        let table = &row.table;
        let evaluation = self.evaluation(row, owner);
        for rule in &table.reject {
            if evaluation.truth(&rule.when)? {
                return Err(Reject::decided(rule.reason.clone(), "a rule of the mapping"));
            }
        }
        let version = match table.version.as_ref().map(|code| evaluation.value(code)).transpose()? {
            None | Some(Value::Null) => self.as_of.as_microsecond(),
            Some(Value::Instant(at)) => at.as_microsecond(),
            Some(Value::Number(number)) => number.parse().map_err(|_| not_a_version("this number"))?,
            Some(other) => return Err(not_a_version(other.kind())),
        };
        let mut items: Vec<Item> = Vec::new();
        for spec in &table.items {
            match self.item(&evaluation, spec, version, row) {
                Ok(item) => items.extend(item),
                Err(reject) if spec.is_optional => evaluation.leave_out(reject),
                Err(reject) => return Err(reject),
            }
        }
        let needs = items.iter().filter(|item| !item.is_own && item.on_conflict.rejects_row());
        let needs: Vec<_> = needs.map(|item| item.key.clone()).collect();
        items.iter_mut().for_each(|item| item.needs.clone_from(&needs));
        Ok(RowItems { items, left_out: evaluation.left_out.into_inner() })
    }

    fn item(
        &self,
        evaluation: &Evaluation<'_>,
        spec: &ItemSpec,
        version: i64,
        row: &Row,
    ) -> Result<Option<Item>, Reject> {
        evaluation.begin(&spec.kind);
        if let Some(when) = &spec.when
            && !evaluation.truth(when)?
        {
            return Ok(None);
        }
        let target = &self.mapping.target;
        let key = self.key(evaluation, &spec.key)?;
        let mut attributes = evaluation.attributes(&spec.attributes)?;
        attributes.extend(key.attributes(target));
        attributes.insert(target.kind.clone(), AttributeValue::S(spec.kind.clone()));
        if let Some(owner) = evaluation.owner {
            attributes.insert(target.owner.clone(), AttributeValue::S(owner.to_owned()));
        }
        if let Some(updated_at) = target.updated_at.as_ref().and_then(|name| attributes.get(name)).cloned() {
            attributes.insert(AS_OF.to_owned(), updated_at);
        }
        attributes.insert(VERSION.to_owned(), AttributeValue::N(version.to_string()));
        attributes.insert(RUN.to_owned(), AttributeValue::S(self.run.clone()));
        let bytes = bytes(&attributes);
        if bytes > ITEM_BYTES_MAX {
            return Err(Reject::because(Reason::TOO_LARGE, format!("{} of {bytes} bytes", spec.kind)));
        }
        // The owner's own row decides about all others, so it loses no key to one of them.
        let mut rank = vec![u8::from(self.is_owners(row))];
        rank.extend(preferences(evaluation, &spec.prefer, version)?);
        // So that two rows of equal rank are ordered in the same way everywhere.
        rank.extend(row.hash().to_be_bytes());
        let (kind, is_own, on_conflict) = (spec.kind.clone(), spec.is_own, spec.on_conflict.clone());
        Ok(Some(Item { key, kind, version, attributes, rank, on_conflict, is_own, needs: Vec::new() }))
    }

    /// The keys of all items that the row may have, whatever its other columns are. `owner` is the
    /// owner's own row.
    pub(crate) fn keys(&self, row: &Row, owner: Option<&Row>) -> Vec<(Key, bool)> {
        self.keys_by_place(row, owner).into_iter().map(|(place, key)| (key, row.table.items[place].is_own)).collect()
    }

    /// The same with the place of each item among those of the table.
    pub(crate) fn keys_by_place(&self, row: &Row, owner: Option<&Row>) -> Vec<(usize, Key)> {
        let evaluation = self.evaluation(row, owner);
        let keys = row.table.items.iter().enumerate().filter_map(|(place, spec)| {
            evaluation.begin(&spec.kind);
            Some((place, self.key(&evaluation, &spec.key).ok()?))
        });
        keys.collect()
    }

    /// What the rows of an owner depend on, of the owner's own row: whether it is migrated, and the
    /// values that other tables use. `None` for other rows.
    pub(crate) fn owner_facts(&self, row: Option<&Row>) -> Option<Vec<Value>> {
        let row = row.filter(|row| self.is_owners(row))?;
        self.own_items(row, Some(row)).ok()?;
        let evaluation = self.evaluation(row, None);
        let kind = row.table.owner.as_ref()?.kind;
        let codes = self.mapping.tables.iter().filter(|table| table.owner.as_ref().is_some_and(|of| of.kind == kind));
        let facts = codes.flat_map(|table| table.of_owner()).map(|code| evaluation.value(code).unwrap_or(Value::Null));
        Some(facts.collect())
    }

    /// The partitions that hold only items of this owner.
    pub(crate) fn partitions(&self, owner: &str) -> Vec<String> {
        let row = Columns::new();
        let kinds = self.mapping.owners.iter().filter(|kind| owner.starts_with(&kind.prefix));
        let partitions = kinds.flat_map(|kind| &kind.partitions).filter_map(|template| {
            let mut evaluation = Evaluation::new(self, &[], &row);
            evaluation.owner = Some(owner);
            evaluation.template(template).ok()?.text()
        });
        partitions.collect()
    }

    /// A mapping without a run, to evaluate expressions over items.
    pub(crate) fn of_items(mapping: Arc<Mapping>, product: &Product) -> Result<Self, Failure> {
        let parameters = Parameters::default();
        Ok(Self::new(mapping, product.extension(&parameters)?, ("", Timestamp::UNIX_EPOCH), TimeZone::UTC, parameters))
    }

    /// The key that templates over an item's attributes give; `None` if there is none.
    pub(crate) fn key_of_attributes(&self, templates: &[Template; 2], item: &Attributes) -> Option<Key> {
        let cell = |value: &AttributeValue| match value {
            AttributeValue::S(text) => Some(Cell::Text(text.clone())),
            AttributeValue::N(number) => Some(Cell::Number(number.clone())),
            AttributeValue::Bool(truth) => Some(Cell::Bool(*truth)),
            _ => None,
        };
        let row = item.iter().filter_map(|(name, value)| Some((name.clone(), cell(value)?))).collect();
        let mut evaluation = Evaluation::new(self, &[], &row);
        evaluation.owner = item.get(&self.mapping.target.owner).and_then(|owner| owner.as_s().ok()).map(String::as_str);
        self.key(&evaluation, templates).ok()
    }

    /// The keys of the markers that lead to an item.
    pub(crate) fn markers_of(&self, item: &Attributes) -> Vec<Key> {
        let kind = text(item, &self.mapping.target.kind);
        let markers = self.mapping.markers.iter().filter(|marker| marker.of == kind);
        markers.filter_map(|marker| self.key_of_attributes(&marker.key, item)).collect()
    }

    /// The keys of the items to which a marker leads.
    pub(crate) fn leads_to(&self, marker: &Attributes) -> Vec<Key> {
        let kind = text(marker, &self.mapping.target.kind);
        let declared = self.mapping.markers.iter().filter(|declared| declared.marker == kind);
        declared.filter_map(|declared| self.key_of_attributes(&declared.leads_to, marker)).collect()
    }

    /// The key that the templates give.
    pub(crate) fn key(&self, evaluation: &Evaluation<'_>, templates: &[Template; 2]) -> Result<Key, Reject> {
        let invalid = |why: String| Reject::because(Reason::INVALID_ID, why);
        let mut parts = [String::new(), String::new()];
        for (n, template) in templates.iter().enumerate() {
            let value = evaluation.template(template)?;
            if value == Value::Null {
                return Err(Reject::because(Reason::MISSING_VALUE, "a part of the key is null"));
            }
            let text = value.text().ok_or_else(|| invalid(format!("{} cannot be a key", value.kind())))?;
            if text.is_empty() || text.len() > KEY_BYTES_MAX[n] {
                return Err(invalid(format!("a key of {} bytes", text.len())));
            }
            parts[n] = text;
        }
        let [partition, sort] = parts;
        Ok(Key { partition, sort })
    }
}

fn not_a_version(what: &str) -> Reject {
    Reject::because(Reason::INVALID_VALUE, format!("{what} is no time of a change"))
}

/// The preferences in bytes that are ordered as their values are; without preferences the version.
fn preferences(evaluation: &Evaluation<'_>, prefer: &[Preference], version: i64) -> Result<Vec<u8>, Reject> {
    let mut rank = Vec::new();
    if prefer.is_empty() {
        push_number(&mut rank, version.into());
    }
    for Preference { code, is_least } in prefer {
        let begin = rank.len();
        push(&mut rank, evaluation, code)?;
        if *is_least {
            rank[begin..].iter_mut().for_each(|byte| *byte = !*byte);
        }
    }
    Ok(rank)
}

fn push(rank: &mut Vec<u8>, evaluation: &Evaluation<'_>, code: &Code) -> Result<(), Reject> {
    match evaluation.value(code)? {
        // Smaller than every number.
        Value::Null => push_number(rank, i128::MIN),
        Value::Bool(truth) => push_number(rank, truth.into()),
        Value::Instant(at) => push_number(rank, at.as_nanosecond()),
        Value::Number(number) => match number.parse() {
            Ok(number) => push_number(rank, number),
            Err(_) => return Err(Reject::because(Reason::INVALID_VALUE, "a preference is not a whole number")),
        },
        other => match other.text() {
            Some(text) => {
                rank.extend(text.replace('\0', " ").as_bytes());
                rank.push(0);
            }
            None => return Err(Reject::because(Reason::INVALID_VALUE, format!("{} has no order", other.kind()))),
        },
    }
    Ok(())
}

fn push_number(rank: &mut Vec<u8>, number: i128) {
    // With the sign flipped, the bytes are ordered as the numbers are.
    rank.extend((number.cast_unsigned() ^ (1 << 127)).to_be_bytes());
}
