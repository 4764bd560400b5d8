//! Tests of the engine over the wire.

#![allow(clippy::unwrap_used)]

mod authorizer;
mod common;
mod encoding;
mod expressions;
mod faults;
mod indexes;
mod legacy_conditions;
mod nesting;
mod stream_settings;
mod streams;
mod table_settings;
mod update_item;
