//! Runs a SAM template on one machine, without Docker or AWS: tables, functions, HTTP and WebSocket
//! APIs, stream mappings and schedules.
//!
//! [`template`] reads the template into a [`stack::Stack`], and [`startup::RunningStack`] starts
//! its parts. A request goes from `http_api` to `functions`, a message from `websocket_api` to
//! `functions`, and a record from the table through `event_source_mapping` to `functions`.
//! Functions are unmodified binaries: the stack does not depend on their code.

mod actions;
mod admin_routes;
mod api_addresses;
#[cfg(feature = "archives")]
mod archives;
mod arn;
#[cfg(feature = "aws-domains")]
mod aws_domains;
pub mod banner;
#[cfg(feature = "buckets")]
mod buckets;
pub mod build;
pub mod cdk;
pub mod cli;
pub mod clock;
mod dynamic_references;
pub mod dynamodb;
pub mod event_source_mapping;
mod event_stream;
mod eventbridge;
pub mod faults;
pub mod findings;
mod function_api;
pub mod functions;
mod guard;
mod http_api;
mod invoke_api;
mod json_protocol;
#[cfg(feature = "kinesis")]
mod kinesis;
pub mod left_out;
mod listen;
mod local_commands;
pub mod mail;
mod messaging;
mod metrics;
#[cfg(feature = "models")]
mod models;
mod other_services;
mod page;
mod policies;
mod private_files;
mod problem;
mod query_protocol;
mod queue_delivery;
pub(crate) mod queues;
mod random_id;
pub mod reload;
mod rest_protocol;
mod routing;
mod schedules;
pub mod secret_value;
pub mod secrets;
mod settle;
mod sns;
mod ssm;
pub mod stack;
pub mod start_error;
pub mod startup;
pub mod tables;
pub mod template;
pub mod test_command;
pub mod testing;
mod usual_handler;
mod variables;
mod waiting_items;
#[cfg(feature = "watch")]
mod watch;
mod websocket_api;

pub use testing::Stack;

#[cfg(not(feature = "archives"))]
use left_out::archives;
#[cfg(not(feature = "aws-domains"))]
use left_out::aws_domains;
#[cfg(not(feature = "buckets"))]
use left_out::buckets;
#[cfg(not(feature = "kinesis"))]
use left_out::kinesis;
#[cfg(not(feature = "models"))]
use left_out::models;
#[cfg(not(feature = "watch"))]
use left_out::watch;
