//! What the tests of the migration share: a PostgreSQL with old data, programs that write while it
//! moves, and the tool.

pub mod foreign;
pub mod foreign_traffic;
pub mod migration;
pub mod okusuri_source;

pub use migration::{Migration, okusuri_logs, okusuri_row};
pub use postgres_server::Postgres;
