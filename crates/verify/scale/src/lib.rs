//! How far the suite goes: loads played against AWS's limits, with the costs that the bench has
//! measured on the real code.
//!
//! It is a model and runs none of the functions. [`Measured`] has the measurements it uses, and
//! [`limits`] the assumptions. `docs/capacity.md` describes its accuracy.

pub mod abuse_cost;
mod bucket;
pub mod clicks;
pub mod cost;
pub mod games;
pub mod limit_steps;
pub mod limits;
mod measured;
pub mod price;
pub mod public;
pub mod tables;

pub use measured::{Game, Measured};
