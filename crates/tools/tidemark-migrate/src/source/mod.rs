//! The PostgreSQL side: its connection, its schema, and the rows of its tables.

mod connect;
mod schema;
mod select;
mod tls;

pub(crate) use connect::{SETTINGS, check_unchanged, set_formats};
pub use connect::{Server, connect, database_identity, source_failure};
pub(crate) use schema::{
    BASE_TYPES, ForeignKey, ForeignKeyAction, Restricted, foreign_keys, heirs, is_number, json_columns,
};
pub use schema::{FoundColumns, Schema};
pub(crate) use select::{literal, quoted};
