//! Tests of the local stack: each starts one with the test function, in this process or as the real
//! binary. A build without a cargo feature leaves out the tests of that part; `make verify` has
//! all.

#![allow(clippy::unwrap_used)]

mod api_kinds;
mod apis;
#[cfg(feature = "jwt")]
mod authorizers;
mod aws_actions;
#[cfg(feature = "aws-domains")]
mod aws_domains;
#[cfg(feature = "buckets")]
mod buckets;
mod build;
#[cfg(feature = "models")]
mod cdk;
mod connections_api;
mod debug;
mod documented;
mod fifo_topics;
#[cfg(all(feature = "buckets", feature = "jwt", feature = "kinesis"))]
mod foreign_templates;
mod functions;
mod guard;
mod http_api;
#[cfg(feature = "kinesis")]
mod kinesis;
mod load_balancer;
mod mail;
mod messaging;
mod metrics;
#[cfg(feature = "models")]
mod openapi;
mod page;
mod process;
mod queue_api;
mod queues;
#[cfg(feature = "watch")]
mod reload;
mod secrets;
mod ssm;
mod streaming;
mod streams;
mod support;
mod testing;
mod usual_handler;
#[cfg(feature = "watch")]
mod watch;
mod web_adapter;
mod websocket_api;
