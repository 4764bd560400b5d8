//! What every function shares at its edge: reading events, answering with replies and problem
//! details, cursors, tokens, configuration, logs and metrics.
//!
//! It knows Lambda and HTTP, and nothing of any system's rules or items.

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
pub mod outbound;
pub mod page;
pub mod problem;
pub mod push;
pub mod signed;
pub mod socket;
pub mod stream;
pub mod telemetry;
pub mod ticket;
