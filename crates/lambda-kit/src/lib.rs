//! The edge that all functions share: reading events, replies and problem details, cursors, tokens,
//! configuration, logs and metrics.
//!
//! This crate knows Lambda and HTTP. It knows no rules and no items of any system.

pub mod aws;
pub mod bearer;
pub mod client_address;
pub mod csv_cell;
pub mod cursor;
pub mod env;
pub mod fields;
pub mod http;
pub mod id;
pub mod json_object;
pub mod mail;
pub mod outbound;
pub mod page;
pub mod problem;
pub mod push;
pub mod runtime;
pub mod signed;
pub mod socket;
pub mod statistics;
pub mod stream;
pub mod telemetry;
pub mod ticket;
