//! `okusuri-migrate`: from PostgreSQL to DynamoDB and back.

#![allow(clippy::unwrap_used)]

mod all_rows;
mod any_schema;
mod backlog;
mod capture;
mod chains;
mod cutover;
mod every_type;
mod faults;
mod folded;
mod foreign;
mod foreign_cutover;
mod inherit;
mod init;
mod joined;
mod odd_schema;
mod operator;
mod owners;
mod refused_json;
mod rehearse;
mod rejected;
mod replica;
mod rights;
mod rollback;
mod run_folder;
mod schema_change;
mod shared_keys;
mod sidecar;
mod stuck;
mod tls;
mod triggers;
mod way_back;
