//! Whole games: the rules one by one, as `docs/rules.md` has them for people, and what has to hold in any game whatever.

mod auditor;
mod random;
mod seats;
mod table;
mod turns;
mod typed;
