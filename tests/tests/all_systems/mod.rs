//! Tests of all systems together: architecture, API document, roles, deployment, import.

mod architecture;
mod aws_tools;
mod deploy;
mod import;
mod openapi;
mod policies;
mod sample_events;
