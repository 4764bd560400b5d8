//! What the names of tables and columns say.

use heck::{ToSnakeCase, ToUpperCamelCase};

/// A name in lower case, without separators.
pub(super) fn folded(name: &str) -> String {
    name.chars().filter(|c| c.is_alphanumeric()).flat_map(char::to_lowercase).collect()
}

/// The last word of a table's name without its plural, in the case of the name.
pub(super) fn singular(name: &str) -> String {
    let lower = name.to_lowercase();
    let without = |end: usize, with: &str| format!("{}{with}", &name[..name.len() - end]);
    match () {
        () if lower.len() != name.len() || lower.len() < 4 => name.to_owned(),
        () if lower.ends_with("people") => without(4, "rson"),
        () if lower.ends_with("ies") => without(3, "y"),
        () if ["sses", "xes", "ches", "shes"].iter().any(|end| lower.ends_with(end)) => without(2, ""),
        () if ["ss", "us", "is"].iter().any(|end| lower.ends_with(end)) || !lower.ends_with('s') => name.to_owned(),
        () => without(1, ""),
    }
}

/// `order_line` for the table `OrderLines`.
pub(super) fn snake(name: &str) -> String {
    let joined = singular(name).to_snake_case();
    if joined.is_empty() { "item".to_owned() } else { joined }
}

/// `CreatedAt` for the column `created_at`.
pub(super) fn pascal(name: &str) -> String {
    let joined = name.to_upper_camel_case();
    if joined.is_empty() { "Value".to_owned() } else { joined }
}

/// A name that expressions can use without quotes.
pub(super) fn plain(name: &str) -> String {
    let is_plain = name.chars().all(|c| c.is_alphanumeric() || c == '_')
        && name.starts_with(|c: char| c.is_alphabetic() || c == '_')
        && !["true", "false", "null", "not"].contains(&name);
    if is_plain { name.to_owned() } else { format!("column_{}", name.to_snake_case()) }
}

/// A text as a TOML string, which is written as one of JSON.
pub(super) fn quoted(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

/// A name as a key of TOML.
pub(super) fn key(name: &str) -> String {
    let is_bare = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    if !name.is_empty() && name.chars().all(is_bare) { name.to_owned() } else { quoted(name) }
}

fn is_named(table: &str, names: &[&str]) -> bool {
    singular(table).to_snake_case().rsplit('_').next().is_some_and(|last| names.contains(&last))
}

/// A customer of the whole application, to whom people belong.
pub(super) fn is_tenant(table: &str) -> bool {
    is_named(table, &["tenant", "organization", "organisation", "org", "workspace", "company", "team"])
}

/// A person who uses the application.
pub(super) fn is_person(table: &str) -> bool {
    let people = ["user", "customer", "member", "person", "patient", "client", "student", "player", "subscriber"];
    is_named(table, &people) && !table.to_snake_case().contains('_')
}

/// Tables in which tools note which changes of the schema were made.
pub(super) fn is_tools_own(table: &str) -> bool {
    let names = "schemamigrations migrations prismamigrations flywayschemahistory knexmigrations knexmigrationslock
        djangomigrations alembicversion efmigrationshistory databasechangelog databasechangeloglock drizzlemigrations
        sequelizemeta arinternalmetadata sqlxmigrations goosedbversion refineryschemahistory dieselschemamigrations
        gorpmigrations typeormmetadata spatialrefsys";
    names.split_whitespace().any(|name| name == folded(table))
}

/// A column whose value nobody should see in a report.
pub(super) fn looks_secret(column: &str) -> bool {
    let parts =
        ["password", "passwd", "passphrase", "secret", "token", "apikey", "privatekey", "credential", "cvv", "ssn"];
    parts.iter().any(|part| folded(column).contains(part))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_tables_and_columns_become_types_and_attributes() {
        for (table, expected) in [
            ("orders", "order"),
            ("OrderLines", "order_line"),
            ("categories", "category"),
            ("addresses", "address"),
            ("boxes", "box"),
            ("status", "status"),
            ("user", "user"),
            ("people", "person"),
            ("odd name!", "odd_name"),
            ("Größen", "größen"),
        ] {
            assert_eq!(snake(table), expected, "{table}");
        }
        for (column, expected) in [("created_at", "CreatedAt"), ("emailVerified", "EmailVerified"), ("URL", "Url")] {
            assert_eq!(pascal(column), expected, "{column}");
        }
        assert_eq!(
            ["plain", "two words", "not", "2nd"].map(plain),
            ["plain", "column_two_words", "column_not", "column_2nd"]
        );
    }
}
