//! Tests of all systems together: architecture, API document, roles, deployment, expiry, import.

mod architecture;
mod aws_tools;
mod demo;
mod deploy;
mod expiry;
mod full_disk;
mod import;
mod openapi;
mod policies;
mod promises;
mod public_costs;
mod sample_events;
