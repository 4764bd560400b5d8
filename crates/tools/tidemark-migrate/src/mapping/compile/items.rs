//! Checks the items of a table: keys, conditions, attributes.

use std::collections::{BTreeMap, BTreeSet};

use toml::Spanned;

use super::Compiler;
use crate::mapping::code::{Attribute, Code, Content, Piece, Template};
use crate::mapping::file::{
    AttributeFile, ItemFile, KeyFile, MappingFile, OnConflictFile, OnErrorFile, TableFile, Text,
};
use crate::mapping::items::OnConflict;
use crate::mapping::joined::uses_join;
use crate::mapping::names::{AnyName, Scope};
use crate::mapping::syntax::SyntaxError;
use crate::mapping::table::{ItemSpec, Preference};
use crate::mapping::value::{self, Value};
use crate::reject::Reason;

impl Compiler<'_> {
    pub(super) fn item(
        &mut self,
        file: &MappingFile,
        scope: &Scope<'_>,
        table: &TableFile,
        item: &ItemFile,
        is_own: &impl Fn(&Code) -> bool,
    ) -> ItemSpec {
        let key = self.key(scope, &item.key);
        if key.iter().flat_map(Template::codes).any(|code| uses_join(code, scope.values)) {
            self.error(item.key.span().start, "a key cannot use a join: it would change when another row does");
        }
        let is_own = key.iter().flat_map(Template::codes).any(is_own);
        let is_owners = |name: &str| file.owners.values().any(|owner| owner.table.as_ref() == name);
        let is_of_owner = file.tables.iter().any(|(name, this)| std::ptr::eq(this, table) && is_owners(name.as_ref()));
        let kind = match item.on_conflict {
            Some(OnConflictFile::RejectRow) if is_of_owner && !is_own => {
                let why = "other owners may want this key, and an owner is not rejected for it: set `on_conflict` to \"leave-out\" or \"merge\"";
                self.error(item.key.span().start, why);
                OnConflictFile::LeaveOut
            }
            None if is_of_owner && !is_own => OnConflictFile::LeaveOut,
            given => given.unwrap_or(OnConflictFile::RejectRow),
        };
        let mut attributes: BTreeMap<&String, &Spanned<AttributeFile>> = file.target.attributes.iter().collect();
        attributes.extend(&table.attributes);
        attributes.extend(&item.attributes);
        let attributes = self.attributes(scope, attributes);
        let prefer = item.prefer.iter().map(|text| self.preference(scope, text)).collect();
        let reason = item.reason.clone().map_or(Reason::DUPLICATE, Reason::named);
        let on_conflict = match kind {
            OnConflictFile::RejectRow => OnConflict::RejectRow(reason),
            OnConflictFile::LeaveOut => OnConflict::LeaveOut(reason),
            OnConflictFile::Merge => OnConflict::Merge,
        };
        ItemSpec {
            kind: item.kind.as_ref().clone(),
            key,
            when: item.when.as_ref().map(|text| self.expression(scope, text)),
            is_optional: item.on_error == OnErrorFile::LeaveOut,
            on_conflict,
            prefer,
            attributes,
            is_own,
        }
    }

    fn preference(&mut self, scope: &Scope<'_>, text: &Text) -> Preference {
        let is_least = text.as_ref().starts_with("least ");
        let words = if is_least { "least ".len() } else { 0 };
        let code =
            scope.expression(&text.as_ref()[words..]).map_err(|error| SyntaxError { at: error.at + words, ..error });
        let code = self.taken(text.span(), code).unwrap_or(Code::Constant(Value::Null));
        Preference { code, is_least }
    }

    pub(super) fn key(&mut self, scope: &Scope<'_>, key: &KeyFile) -> [Template; 2] {
        let (partition, sort) = (self.target.partition.clone(), self.target.sort.clone());
        let names = BTreeSet::from([partition.clone(), sort.clone()]);
        if key.as_ref().keys().ne(&names) {
            let names = Vec::from_iter(names).join(" and ");
            self.error(key.span().start, format!("a key has {names}, like `target.key`"));
        }
        [partition, sort].map(|name| match key.as_ref().get(&name) {
            Some(text) => self.template(scope, text.as_ref(), text.span()),
            None => Template(Vec::new()),
        })
    }

    fn attributes(&mut self, scope: &Scope<'_>, all: BTreeMap<&String, &Spanned<AttributeFile>>) -> Vec<Attribute> {
        all.into_iter().filter_map(|(name, attribute)| self.attribute(scope, name, attribute)).collect()
    }

    fn attribute(&mut self, scope: &Scope<'_>, name: &str, attribute: &Spanned<AttributeFile>) -> Option<Attribute> {
        if self.target.made().any(|made| made == name) {
            self.error(attribute.span().start, format!("{name} is made by the tool"));
            return None;
        }
        let constant = |value| Content::Template(Template(vec![Piece::Code(Code::Constant(value))]));
        let of = |content| Attribute { name: name.to_owned(), content, when: None, is_optional: false };
        Some(match attribute.as_ref() {
            AttributeFile::Template(text) => of(Content::Template(self.template(scope, text, attribute.span()))),
            AttributeFile::Bool(truth) => of(constant(Value::Bool(*truth))),
            AttributeFile::Number(number) => of(constant(Value::Number(value::number(number)?))),
            AttributeFile::Detailed(details) => {
                let when = details.when.as_ref().map(|text| self.expression(scope, text));
                let content = match (&details.value, &details.each) {
                    (Some(text), _) => Content::Template(self.template(scope, text.as_ref(), text.span())),
                    (None, Some(join)) => {
                        if !scope.joins.contains(join.as_ref()) {
                            self.error(join.span().start, format!("there is no join {:?}", join.as_ref()));
                        }
                        let inner = Scope { columns: &AnyName, values: &[], ..*scope };
                        let attributes = self.attributes(&inner, details.attributes.iter().collect());
                        Content::Each(join.as_ref().clone(), attributes)
                    }
                    (None, None) => return None,
                };
                let is_optional = details.on_error == OnErrorFile::LeaveOut;
                Attribute { name: name.to_owned(), content, when, is_optional }
            }
        })
    }
}
