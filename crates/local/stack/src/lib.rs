//! Runs a SAM template on one machine: tables, functions, HTTP and WebSocket APIs, stream mappings and schedules, with no Docker or AWS.
//!
//! The way through the code: [`template`] reads the template into a [`stack::Stack`], and [`startup::RunningStack`] brings its
//! parts up. A request goes from [`http_api`] to [`functions`], a message from [`websocket_api`] to [`functions`], a record from
//! the table through [`event_source_mapping`] to [`functions`]. Functions are unmodified binaries: nothing here knows what they do.

pub mod admin_routes;
pub mod arn;
pub mod banner;
pub mod build;
pub mod cli;
pub mod dynamodb;
pub mod event_source_mapping;
pub mod faults;
pub mod functions;
pub mod guard;
pub mod http_api;
pub mod invoke_api;
pub mod listen;
pub mod mail;
pub mod metrics;
pub mod policies;
mod private_files;
pub mod schedules;
pub mod secrets;
pub mod stack;
pub mod start_error;
pub mod startup;
pub mod tables;
pub mod template;
mod waiting_items;
pub mod websocket_api;
