//! Whole games: the rules of `docs/rules.md` one by one, and invariants that hold in every game.

mod auditor;
mod random;
mod seats;
mod table;
mod turns;
mod typed;
