//! Tests that need several crates: stores on a real engine, functions in a whole stack, journeys
//! through all of it. A folder for each system. One binary, so that tests that wait for the clock
//! wait beside the others, and everything is linked once.

#![allow(clippy::unwrap_used)]

mod all_systems;
mod clicks;
mod game;
mod journal;
mod okusuri;
mod shop;
