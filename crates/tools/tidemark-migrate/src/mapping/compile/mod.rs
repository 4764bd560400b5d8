//! Checks a mapping file as a whole: names, conversions, keys.

mod items;

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use std::sync::Arc;

use sha2::{Digest, Sha256};

use super::code::{Code, Conversion, Template};
use super::evaluate::Signature;
use super::file::{ColumnFile, KeyFile, MappingFile, MarkerFile, ParameterKind, TableFile, Text};
use super::names::{AnyName, Scope};
use super::syntax::SyntaxError;
use super::table::{Column, ColumnType, Join, Owner, RejectRule, Table, TableOwner};
use super::value::Value;
use super::{Mapping, MappingError, MappingErrors, Marker, Target};
use crate::reject::Reason;

/// Collects errors, so that all of them are shown at once.
struct Compiler<'t> {
    text: &'t str,
    errors: Vec<(usize, String)>,
    conversions: &'t [Signature],
    parameters: Vec<(String, ParameterKind)>,
    target: Target,
    owners: Vec<Owner>,
}

pub(super) fn compile(text: &str, conversions: &[Signature]) -> Result<Mapping, MappingErrors> {
    let file: MappingFile = toml::from_str(text).map_err(|error| {
        let at = error.span().map_or(0, |span| span.start);
        MappingErrors(vec![placed(text, at, error.message().to_owned())])
    })?;
    let mut compiler = Compiler {
        text,
        errors: Vec::new(),
        conversions,
        parameters: file.parameters.iter().map(|(name, of)| (name.as_ref().clone(), of.kind)).collect(),
        target: Target {
            partition: file.target.key.first().map(|name| name.as_ref().clone()).unwrap_or_default(),
            sort: file.target.key.get(1).map(|name| name.as_ref().clone()).unwrap_or_default(),
            kind: file.target.kind.clone(),
            owner: file.target.owner.clone(),
            updated_at: file.target.updated_at.clone(),
            ttl: file.target.ttl.clone(),
        },
        owners: Vec::new(),
    };
    if file.target.key.len() != 2 {
        compiler.error(0, "`target.key` names the partition key and the sort key");
    }
    let mapping = compiler.mapping(&file);
    if compiler.errors.is_empty() {
        return Ok(mapping);
    }
    compiler.errors.sort();
    Err(MappingErrors(compiler.errors.into_iter().map(|(at, why)| placed(text, at, why)).collect()))
}

/// An error at an offset in bytes.
fn placed(text: &str, at: usize, why: String) -> MappingError {
    let before = text.get(..at).unwrap_or(text);
    let start = before.rfind('\n').map_or(0, |end| end + 1);
    MappingError { line: before.matches('\n').count() + 1, column: before[start..].chars().count() + 1, why }
}

impl Compiler<'_> {
    fn error(&mut self, at: usize, why: impl Into<String>) {
        self.errors.push((at, why.into()));
    }

    /// Records the error of a text in the file.
    fn taken<T>(&mut self, span: Range<usize>, result: Result<T, SyntaxError>) -> Option<T> {
        result
            .map_err(|SyntaxError { at, why }| {
                let quotes = if self.text[span.start..].starts_with(r#"""""#) { 3 } else { 1 };
                self.error((span.start + quotes + at).min(span.end), why);
            })
            .ok()
    }

    fn expression(&mut self, scope: &Scope<'_>, text: &Text) -> Code {
        self.taken(text.span(), scope.expression(text.as_ref())).unwrap_or(Code::Constant(Value::Null))
    }

    fn template(&mut self, scope: &Scope<'_>, text: &str, span: Range<usize>) -> Template {
        self.taken(span, scope.template(text)).unwrap_or(Template(Vec::new()))
    }

    fn mapping(&mut self, file: &MappingFile) -> Mapping {
        let parameters = file.parameters.iter().map(|(name, of)| (name.as_ref().clone(), of.clone())).collect();
        for (name, owner) in &file.owners {
            if !file.tables.contains_key(owner.table.as_ref().as_str()) {
                self.error(owner.table.span().start, format!("there is no table {:?}", owner.table.as_ref()));
            }
            if file.owners.len() > 1 && owner.prefix.is_empty() {
                self.error(name.span().start, "with several kinds of owners, each needs a `prefix` of its own");
            }
            let (name, table, prefix) = (name.as_ref().clone(), owner.table.as_ref().clone(), owner.prefix.clone());
            self.owners.push(Owner { name, table, prefix, partitions: Vec::new() });
        }
        for (one, other) in self.owners.clone().iter().flat_map(|one| file.owners.keys().map(move |other| (one, other)))
        {
            let prefix = &file.owners[other].prefix;
            if one.name != *other.as_ref() && !prefix.is_empty() && one.prefix.starts_with(prefix.as_str()) {
                self.error(other.span().start, format!("the prefix of {:?} begins with this one", one.name));
            }
        }
        // Tables of owners come first: other tables use their values.
        let is_owners = |name: &str| file.owners.values().any(|owner| owner.table.as_ref() == name);
        let mut names: Vec<_> = file.tables.iter().collect();
        names.sort_by_key(|(name, _)| (!is_owners(name.as_ref()), name.span().start));
        let mut tables: Vec<Arc<Table>> = Vec::new();
        for (name, table) in names {
            let compiled = self.table(file, name, table, &tables);
            tables.push(Arc::new(compiled));
        }
        self.owner_partitions(file, &tables);
        let markers = file.markers.iter().map(|marker| self.marker(marker, &tables)).collect();
        let digest = Sha256::digest(self.text.as_bytes());
        Mapping {
            target: self.target.clone(),
            parameters,
            owners: self.owners.clone(),
            tables,
            markers,
            digest: crate::hex(&digest),
        }
    }

    fn owner_partitions(&mut self, file: &MappingFile, tables: &[Arc<Table>]) {
        for (place, owner) in file.owners.values().enumerate() {
            let Some(table) = tables.iter().find(|table| table.name == self.owners[place].table) else { continue };
            let parameters = self.parameters.clone();
            let scope = Scope { values: &table.values, ..Scope::new(&table.columns, &parameters, self.conversions) };
            let partitions = owner.partitions.iter();
            self.owners[place].partitions =
                partitions.map(|text| self.template(&scope, text.as_ref(), text.span())).collect();
        }
    }

    fn columns(&mut self, table: &TableFile) -> BTreeMap<String, Column> {
        let mut columns = BTreeMap::new();
        for (name, column) in &table.columns {
            let (kind, names) = match column.as_ref() {
                ColumnFile::Type(kind) => (kind, Vec::new()),
                ColumnFile::Detailed(details) => (&details.kind, details.names.clone()),
            };
            let (plain, is_optional) = kind.strip_suffix('?').map_or((kind.as_str(), false), |kind| (kind, true));
            let kind = ColumnType::named(plain).unwrap_or_else(|| {
                let names = ColumnType::NAMED.map(|(name, _)| name).join(", ");
                let why = format!("{plain:?} is not a type: use {names}, with a ? if the column need not exist");
                self.error(column.span().start, why);
                ColumnType::Any
            });
            let names = if names.is_empty() { vec![name.as_ref().clone()] } else { names };
            columns.insert(name.as_ref().clone(), Column { names, kind, is_optional });
        }
        columns
    }

    fn table(&mut self, file: &MappingFile, name: &Text, table: &TableFile, known: &[Arc<Table>]) -> Table {
        let columns = self.columns(table);
        let check = |compiler: &mut Self, column: &Text| {
            if !columns.contains_key(column.as_ref()) {
                compiler.error(
                    column.span().start.max(name.span().start),
                    format!("there is no column {:?}", column.as_ref()),
                );
            }
        };
        table.key.iter().chain(&table.secret).for_each(|column| check(self, column));
        let owner = table.owner.as_ref().and_then(|owner| {
            check(self, &owner.column);
            if let Some(parent) = &owner.through
                && file
                    .tables
                    .get(parent.as_ref().as_str())
                    .is_none_or(|parent| parent.owner.is_none() || parent.key.len() != 1)
            {
                let why = format!("there is no table {:?} with an owner and a key of one column", parent.as_ref());
                self.error(parent.span().start, why);
            }
            let kind = self.owners.iter().position(|kind| kind.name == *owner.kind.as_ref());
            if kind.is_none() {
                self.error(owner.kind.span().start, format!("there is no owner {:?}", owner.kind.as_ref()));
            }
            let through = owner.through.as_ref().map(|parent| parent.as_ref().clone());
            let prefix = self.owners[kind?].prefix.clone();
            Some(TableOwner { kind: kind?, column: owner.column.as_ref().clone(), through, prefix })
        });
        if table.owner.is_none() && !table.items.is_empty() {
            self.error(name.span().start, "a table with items needs an `owner`: rows of one owner move together");
        }
        let joins = self.joins(file, table, &columns);
        let of_owner = owner.as_ref().and_then(|owner| {
            let kind = &self.owners[owner.kind];
            known.iter().find(|table| table.name == kind.table).cloned()
        });
        let parameters = self.parameters.clone();
        let join_names: Vec<_> = joins.iter().map(|join| join.name.clone()).collect();
        let base = Scope::new(&columns, &parameters, self.conversions);
        let base = Scope { joins: &join_names, has_owner: owner.is_some(), ..base };
        let owner_scope =
            of_owner.as_ref().map(|table| Scope { columns: &table.columns, values: &table.values, ..base });
        let base = Scope { of_owner: owner_scope.as_ref(), ..base };
        // In the order of the file, because a value may use those before it.
        let mut values: Vec<(String, Code)> = Vec::new();
        let mut in_order: Vec<_> = table.values.iter().collect();
        in_order.sort_by_key(|(name, _)| name.span().start);
        for (value, text) in in_order {
            if columns.contains_key(value.as_ref()) {
                self.error(value.span().start, format!("{:?} is also the name of a column", value.as_ref()));
            }
            let code = self.expression(&Scope { values: &values, ..base }, text);
            values.push((value.as_ref().clone(), code));
        }
        let scope = Scope { values: &values, ..base };
        let reject = table.reject.iter().map(|rule| RejectRule {
            reason: Reason::named(rule.reason.clone()),
            when: self.expression(&scope, &rule.when),
            is_expected: rule.expected,
        });
        let reject = reject.collect();
        let version = table.version.as_ref().map(|text| self.expression(&scope, text));
        let is_own = |code: &Code| owner.as_ref().is_some_and(|owner| names_owner(code, owner, &columns, &values));
        let items = table.items.iter().map(|item| self.item(file, &scope, table, item, &is_own));
        let items = items.collect();
        let secret = table.secret.iter().filter_map(|column| columns.get(column.as_ref()));
        Table {
            name: name.as_ref().clone(),
            index: known.len(),
            key: table.key.iter().map(|column| column.as_ref().clone()).collect(),
            secret: secret.flat_map(|column| column.names.clone()).collect(),
            owner,
            ignored: table.ignore.clone(),
            joins,
            values,
            reject,
            version,
            items,
            columns,
        }
    }

    fn joins(&mut self, file: &MappingFile, table: &TableFile, columns: &BTreeMap<String, Column>) -> Vec<Join> {
        let mut joins = Vec::new();
        for (name, join) in &table.joins {
            // The joined rows would take the column's place in the row.
            if columns.values().any(|column| column.names.contains(name.as_ref())) {
                self.error(name.span().start, format!("{:?} is also the name of a column", name.as_ref()));
            }
            let Some(other) = file.tables.get(join.table.as_ref().as_str()) else {
                self.error(join.table.span().start, format!("there is no table {:?}", join.table.as_ref()));
                continue;
            };
            for column in
                join.on.keys().chain(&join.order).filter(|column| !other.columns.contains_key(column.as_ref().as_str()))
            {
                self.error(
                    column.span().start,
                    format!("{:?} has no column {:?}", join.table.as_ref(), column.as_ref()),
                );
            }
            for column in join.on.values().filter(|column| !columns.contains_key(column.as_ref())) {
                self.error(column.span().start, format!("there is no column {:?}", column.as_ref()));
            }
            if other.owner.is_none() {
                let why = "rows that belong to nobody are not captured, so a join needs a table with an `owner`";
                self.error(join.table.span().start, why);
            }
            if file.owners.values().any(|owner| std::ptr::eq(table, &file.tables[owner.table.as_ref().as_str()])) {
                let why = "the rows of owners have no joins: another row would decide about all rows of the owner";
                self.error(name.span().start, why);
            }
            let text = |text: &Text| text.as_ref().clone();
            joins.push(Join {
                name: text(name),
                table: text(&join.table),
                on: join.on.iter().map(|(other, own)| (text(other), text(own))).collect(),
                order: join.order.iter().map(text).collect(),
                is_one: join.one,
            });
        }
        joins
    }

    fn marker(&mut self, marker: &MarkerFile, tables: &[Arc<Table>]) -> Marker {
        let parameters = self.parameters.clone();
        let scope = Scope::new(&AnyName, &parameters, self.conversions);
        let (key, leads_to) = (self.key(&scope, &marker.key), self.key(&scope, &marker.leads_to));
        self.check_attributes(marker.of.as_ref(), (&marker.key, &key), tables);
        self.check_attributes(marker.marker.as_ref(), (&marker.leads_to, &leads_to), tables);
        Marker {
            marker: marker.marker.as_ref().clone(),
            of: marker.of.as_ref().clone(),
            key,
            leads_to,
            is_contested: marker.contested,
        }
    }

    /// Refuses a key with an attribute that no item of the type has: every check would report each
    /// marker. An extension may make the items of a type that the mapping does not have.
    fn check_attributes(&mut self, kind: &str, (file, key): (&KeyFile, &[Template; 2]), tables: &[Arc<Table>]) {
        let items: Vec<_> = tables.iter().flat_map(|table| &table.items).filter(|item| item.kind == kind).collect();
        if items.is_empty() {
            return;
        }
        let mut known: BTreeSet<&String> = self.target.made().collect();
        known.extend(items.iter().flat_map(|item| &item.attributes).map(|attribute| &attribute.name));
        let mut missing = BTreeSet::new();
        for code in key.iter().flat_map(Template::codes) {
            code.each(&mut |code| {
                if let Code::Column(names) = code {
                    missing.extend(names.iter().filter(|name| !known.contains(name)).cloned());
                }
            });
        }
        for name in missing {
            self.error(file.span().start, format!("no item of the type {kind:?} has the attribute {name:?}"));
        }
    }
}

/// Whether an expression is the owner's id, perhaps after a check.
fn names_owner(code: &Code, owner: &TableOwner, columns: &BTreeMap<String, Column>, values: &[(String, Code)]) -> bool {
    let of = |code: &Code| names_owner(code, owner, columns, values);
    match code {
        Code::Owner => true,
        Code::Column(names) => {
            owner.through.is_none() && columns.get(&owner.column).is_some_and(|column| column.names == *names)
        }
        Code::Named(place) => values.get(*place).is_some_and(|(_, code)| of(code)),
        Code::Convert(Conversion::Required(_) | Conversion::OrReject(_), inner, _) => of(inner),
        Code::Convert(Conversion::Builtin(builtin), inner, _) => {
            matches!(builtin.name, "key_part" | "text") && of(inner)
        }
        _ => false,
    }
}
