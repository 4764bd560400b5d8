//! Tests of whole games: each rule of `docs/rules.md`, and invariants that hold in every game.

mod auditor;
mod languages;
mod random;
mod seats;
mod table;
mod turns;
mod typed;
