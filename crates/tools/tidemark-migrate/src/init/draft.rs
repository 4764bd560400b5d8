//! Writes the draft of a mapping.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;

use super::catalog::SourceTable;
use super::columns::{ColumnDraft, by_name, columns_of, is_left_behind, unused, why_left_behind};
use super::placement::{Place, Places};
use super::words::{key, pascal, quoted, snake};

/// Begins a line of the draft that asks for a decision.
pub(super) const QUESTION: &str = "# ? ";

pub(super) struct Draft<'d> {
    schema: &'d str,
    tables: &'d [SourceTable],
    places: &'d Places,
    /// The types of the tables' items, which are also the beginnings of their keys.
    types: BTreeMap<&'d str, String>,
    /// Attributes that no column may have.
    reserved: BTreeSet<String>,
    type_attribute: String,
    owner_attribute: String,
}

fn comment(text: &mut String, begin: &str, words: &str) {
    let mut line = begin.to_owned();
    for word in words.split(' ') {
        if line.len() + word.len() > 100 && line.len() > begin.len() {
            let _ = writeln!(text, "{}", line.trim_end());
            // A question is set off from the lines that belong to it.
            (if begin == QUESTION { "#   " } else { begin }).clone_into(&mut line);
        }
        line.push_str(word);
        line.push(' ');
    }
    let _ = writeln!(text, "{}", line.trim_end());
}

fn ask(text: &mut String, question: &str) {
    comment(text, QUESTION, question);
}

impl<'d> Draft<'d> {
    pub(super) fn new(schema: &'d str, tables: &'d [SourceTable], places: &'d Places) -> Self {
        let mut used = BTreeSet::new();
        let types = tables.iter().map(|table| (&*table.name, unused(&mut used, &snake(&table.name)))).collect();
        let columns = tables.iter().flat_map(|table| &table.columns);
        let mut taken: BTreeSet<String> = columns.map(|column| pascal(&column.name)).collect();
        let mut attribute = |names: [&str; 2]| {
            let free = names.into_iter().find(|name| !taken.contains(*name)).unwrap_or(names[1]);
            unused(&mut taken, free)
        };
        let (type_attribute, owner_attribute) = (attribute(["Type", "ItemType"]), attribute(["Owner", "ItemOwner"]));
        let own = ["PK", "SK", "MigratedVersion", "MigratedUpdatedAt", "MigratedBy"];
        let reserved = own.into_iter().map(str::to_owned).chain([type_attribute.clone(), owner_attribute.clone()]);
        Self { schema, tables, places, types, reserved: reserved.collect(), type_attribute, owner_attribute }
    }

    /// The tables whose rows are owners.
    pub(super) fn owners(&self) -> Vec<&'d SourceTable> {
        self.tables.iter().filter(|table| self.places.get(&table.name) == Some(&Place::Owner)).collect()
    }

    pub(super) fn text(&self) -> String {
        let mut text = self.head();
        for owner in self.owners() {
            let of_owner = self.tables.iter().filter(
                |table| matches!(self.places.get(&table.name), Some(Place::Owned { owner: of, .. }) if *of == owner.name),
            );
            for table in [owner].into_iter().chain(of_owner) {
                self.write_table(&mut text, table);
            }
        }
        let left_out = self.places.iter().filter_map(|(name, place)| Some((name, place.left_out()?)));
        let left_out: Vec<_> = left_out.collect();
        if !left_out.is_empty() {
            text.push_str("\n# Tables that are not migrated:\n");
            for (name, why) in left_out {
                ask(&mut text, &format!("{name}: {why}."));
            }
        }
        text
    }

    fn head(&self) -> String {
        let mut text = String::new();
        let schema = &self.schema;
        comment(
            &mut text,
            "# ",
            &format!(
                "A draft of a mapping of the schema {schema:?}, made by `tidemark-migrate init`. It can be used as it \
                 is. Lines that begin with \"# ?\" ask for a decision. docs/mapping.md describes every entry."
            ),
        );
        text.push_str("#\n");
        comment(
            &mut text,
            "# ",
            "All rows of one owner move together, and are stored in one partition. A value that DynamoDB cannot store \
             is left out and reported; without `on_error`, its whole row would be rejected.",
        );
        let columns = || self.tables.iter().flat_map(|table| &table.columns);
        if columns().any(|column| column.kind == "timestamp without time zone") {
            comment(
                &mut text,
                "# ",
                "Some times have no zone. The option --source-zone says in which zone they were written.",
            );
        }
        let Self { type_attribute, owner_attribute, .. } = self;
        let _ = write!(
            text,
            "\n[target]\nkey = [\"PK\", \"SK\"]\ntype = \"{type_attribute}\"\nowner = \"{owner_attribute}\"\n"
        );
        for owner in self.owners() {
            let kind = &self.types[&*owner.name];
            let _ = write!(
                text,
                "\n[owners.{}]\ntable = {}\nprefix = {}\npartitions = [\"{{$owner}}\"]\n",
                key(kind),
                quoted(&owner.name),
                quoted(&prefix(kind))
            );
        }
        text
    }

    fn write_table(&self, text: &mut String, table: &SourceTable) {
        let (name, place) = (&table.name, &self.places[&table.name]);
        let columns = columns_of(table, &self.reserved);
        let by_name = by_name(&columns);
        let section = key(name);
        let _ = writeln!(text, "\n[tables.{section}]");
        let keys: Vec<_> = table.key.iter().filter_map(|column| by_name.get(column.as_str()).copied()).collect();
        let names: Vec<_> = keys.iter().map(|column| quoted(&column.name)).collect();
        if names != ["\"id\""] {
            let _ = writeln!(text, "key = [{}]", names.join(", "));
        }
        self.write_owner(text, table, place, &by_name);
        for (entry, names) in [
            (
                "ignore",
                table
                    .columns
                    .iter()
                    .filter(|column| is_left_behind(column))
                    .map(|column| quoted(&column.name))
                    .collect::<Vec<_>>(),
            ),
            ("secret", columns.iter().filter(|column| column.is_secret).map(|column| quoted(&column.name)).collect()),
        ] {
            if !names.is_empty() {
                let _ = writeln!(text, "{entry} = [{}]", names.join(", "));
            }
        }
        for column in &table.columns {
            if let Some(why) = why_left_behind(column) {
                ask(text, &format!("{} is left behind: {why}.", column.name));
            }
        }
        write_columns(text, &section, &columns);
        let kind = &self.types[&**name];
        let owner_column = match place {
            Place::Owned { column, through: None, .. } => Some(column),
            _ => None,
        };
        let in_sort: Vec<_> = if *place == Place::Owner { Vec::new() } else { keys };
        let in_sort: Vec<_> = in_sort.into_iter().filter(|column| Some(&column.column.name) != owner_column).collect();
        let last = in_sort.len().saturating_sub(1);
        let parts = in_sort.iter().enumerate().map(|(n, column)| format!("#{}", column.in_key(n == last)));
        let sort = format!("{}{}", kind.to_uppercase(), parts.collect::<String>());
        let _ = write!(
            text,
            "\n[[tables.{section}.items]]\ntype = {}\nkey = {{ PK = \"{{$owner}}\", SK = \"{sort}\" }}\n\n[tables.{section}.items.attributes]\n",
            quoted(kind)
        );
        for column in &columns {
            let _ = writeln!(text, "{} = {}", key(&column.attribute), column.value());
        }
        for ColumnDraft { column, attribute, .. } in columns.iter().filter(|draft| draft.column.is_computed) {
            let name = &column.name;
            let why = format!("PostgreSQL computes {name}. After the move, nobody does");
            ask(text, &format!("{why}: let the new application write {attribute}, or list {name} in `ignore`."));
        }
        for index in &table.unique {
            ask(
                text,
                &format!(
                    "To keep the unique index {index}, or to find a {kind} by its value, add an item whose key has the \
                     value."
                ),
            );
        }
    }

    fn write_owner(
        &self,
        text: &mut String,
        table: &SourceTable,
        place: &Place,
        columns: &BTreeMap<&str, &ColumnDraft<'_>>,
    ) {
        let name = |column: &str| quoted(columns.get(column).map_or(column, |column| &column.name));
        let Place::Owned { owner, column, through, is_guess } = place else {
            let key = table.key.first().map(String::as_str).unwrap_or_default();
            let _ =
                writeln!(text, "owner = {{ kind = {}, column = {} }}", quoted(&self.types[&*table.name]), name(key));
            let has_others =
                self.places.values().any(|place| matches!(place, Place::Owned { owner, .. } if *owner == table.name));
            if !has_others {
                ask(
                    text,
                    "These rows belong to no other row, and no other row belongs to them. Is each an owner of its own?",
                );
            }
            return;
        };
        let through_entry = through.iter().map(|parent| format!(", through = {}", quoted(parent))).collect::<String>();
        let kind = quoted(&self.types[&**owner]);
        let _ = writeln!(text, "owner = {{ kind = {kind}, column = {}{through_entry} }}", name(column));
        let parent = through.as_ref().unwrap_or(owner);
        if *is_guess {
            ask(text, &format!("Does {column} name a row of {parent}? There is no foreign key."));
        }
        if table.column(column).is_some_and(|column| !column.is_required) {
            ask(text, &format!("{column} may be null. Such a row belongs to nobody, and is rejected (missing-value)."));
        }
        let others = table.foreign_keys.iter().filter(|other| other.refers_to != *parent);
        for other in others.filter(|other| self.places.get(&other.refers_to) == Some(&Place::Owner)) {
            let (other_column, other) = (&other.columns[0].0, &other.refers_to);
            let kind = &self.types[&**other];
            ask(
                text,
                &format!(
                    "A row also refers to {other} by {other_column}. To find the rows of one {kind}, add a second item \
                     with a key like PK = \"{}_OF_{}#{{{other_column}}}\".",
                    self.types[&*table.name].to_uppercase(),
                    kind.to_uppercase()
                ),
            );
        }
    }
}

/// The beginning of an owner's id, and so of the owner's partition.
fn prefix(kind: &str) -> String {
    format!("{}#", kind.to_uppercase())
}

fn write_columns(text: &mut String, section: &str, columns: &[ColumnDraft<'_>]) {
    let _ = writeln!(text, "\n[tables.{section}.columns]");
    for ColumnDraft { column, name, kind, .. } in columns {
        let kind = if *name == column.name {
            quoted(kind)
        } else {
            format!("{{ type = {}, names = [{}] }}", quoted(kind), quoted(&column.name))
        };
        let labels: Vec<_> = column.labels.iter().map(|label| format!("{label:?}")).collect();
        let labels = if labels.is_empty() { String::new() } else { format!(" # {}", labels.join(", ")) };
        let _ = writeln!(text, "{} = {kind}{labels}", key(name));
    }
}
