//! Tests of the local stack: each starts one with the test function, in this process or as the real
//! binary.

#![allow(clippy::unwrap_used)]

mod apis;
mod authorizers;
mod aws_domains;
mod buckets;
mod build;
mod connections_api;
mod foreign_templates;
mod functions;
mod guard;
mod http_api;
mod kinesis;
mod load_balancer;
mod mail;
mod messaging;
mod metrics;
mod process;
mod queues;
mod ssm;
mod streams;
mod support;
mod watch;
mod web_adapter;
mod websocket_api;
