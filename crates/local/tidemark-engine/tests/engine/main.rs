//! Tests of the engine over the wire.

#![allow(clippy::unwrap_used)]

mod authorizer;
mod common;
mod faults;
mod nesting;
mod streams;
