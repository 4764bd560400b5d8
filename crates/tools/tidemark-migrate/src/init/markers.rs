//! Unique indexes: DynamoDB has none, so each becomes an item whose key is the unique value.

use super::catalog::{SourceTable, UniqueIndex};
use super::columns::{ColumnDraft, by_name};
use super::placement::Place;
use super::words::joined;

/// A marker of a unique index.
#[derive(Debug)]
pub(super) struct MarkerDraft {
    /// The index, for people.
    pub(super) about: String,
    /// What the type's name says beside the table's.
    pub(super) name: String,
    /// The values of the key, over the columns and over the attributes.
    pub(super) of_columns: String,
    pub(super) of_attributes: String,
    /// The values are unique among the rows of one owner.
    pub(super) is_of_owner: bool,
    /// The condition under which a row has such a value.
    pub(super) when: Option<String>,
    /// PostgreSQL and the mapping may fold a text differently.
    pub(super) is_folded: bool,
    /// Attributes with the hash of a secret, because the marker's key would show the value: the
    /// name and the expression.
    pub(super) hashed: Vec<(String, String)>,
}

/// The marker of an index. The error says what the mapping lacks, for people; `Ok(None)` if the
/// keys of the items are unique already.
pub(super) fn of_index(
    table: &SourceTable,
    place: &Place,
    columns: &[ColumnDraft<'_>],
    index: &UniqueIndex,
) -> Result<Option<MarkerDraft>, String> {
    let parts = index.parts.join(", ");
    let has = |name: &String| index.columns.iter().flatten().any(|column| column == name);
    // The owner's id is the beginning of the key.
    let (is_of_owner, of_partition) = match place {
        Place::Owned { column, through, .. } if has(column) => (true, through.is_none().then_some(column)),
        _ => (false, None),
    };
    if table.key.iter().all(has) {
        return Ok(None);
    }
    if let Some(condition) = &index.condition {
        return Err(format!(
            "The unique index {} ({parts}) is for the rows with {condition}. To keep the values unique, add an item \
             with that condition as `when`",
            index.name
        ));
    }
    let columns = by_name(columns);
    let mut marker = MarkerDraft {
        about: format!("{} ({parts})", index.name),
        name: String::new(),
        of_columns: String::new(),
        of_attributes: String::new(),
        is_of_owner,
        when: None,
        is_folded: false,
        hashed: Vec::new(),
    };
    let (mut names, mut conditions) = (Vec::new(), Vec::new());
    let last = index.parts.len().saturating_sub(1);
    for (n, (name, part)) in index.columns.iter().zip(&index.parts).enumerate() {
        if name.is_some() && name.as_ref() == of_partition {
            continue;
        }
        let inner = part.strip_prefix("lower(").and_then(|rest| rest.strip_suffix(')'));
        // `lower(name)` or `lower((name)::text)`
        let inner = inner.map(|inner| inner.trim_end_matches("::text").trim_matches(['(', ')', '"']).to_owned());
        let is_lower = name.is_none();
        let draft = name.clone().or(inner).and_then(|name| columns.get(name.as_str()).copied());
        let draft = draft.filter(|draft| draft.is_plain()).ok_or_else(|| {
            format!(
                "The unique index {} ({parts}) has no marker: {part} is no text and no whole number. Add an item whose \
                 key is this value, if it has to stay unique",
                index.name
            )
        })?;
        let is_folded = is_lower || draft.column.kind == "citext";
        let (mut of_column, mut of_attribute) = (draft.name.clone(), draft.attribute.clone());
        if is_folded {
            [&mut of_column, &mut of_attribute].into_iter().for_each(|of| of.push_str(" | lower"));
        }
        if draft.is_secret {
            of_column.push_str(" | sha256");
            of_attribute = format!("{}Hash", draft.attribute);
            marker.hashed.push((of_attribute.clone(), of_column.clone()));
        } else if n != last && draft.kind == "text" {
            [&mut of_column, &mut of_attribute].into_iter().for_each(|of| of.push_str(" | key_part"));
        }
        marker.is_folded |= is_folded;
        marker.of_columns.push_str(&format!("#{{{of_column}}}"));
        marker.of_attributes.push_str(&format!("#{{{of_attribute}}}"));
        names.push(joined(&draft.column.name));
        if !draft.column.is_required {
            conditions.push(format!("{} is not null", draft.name));
        }
    }
    if names.is_empty() {
        // The owner has one row at most.
        names.extend(of_partition.map(|column| joined(column)));
    }
    marker.name = names.join("_");
    marker.when = (!conditions.is_empty()).then(|| conditions.join(" and "));
    Ok(Some(marker))
}
