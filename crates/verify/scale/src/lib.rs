//! How far the suite goes: loads played against AWS's limits, with the costs that the bench has measured on the real code.
//!
//! It is a model and runs none of the functions: what it knows of them is in [`Measured`], and what it assumes in [`limits`]. `docs/capacity.md` says
//! what that is worth.

pub mod abuse_cost;
mod bucket;
pub mod clicks;
pub mod cost;
pub mod games;
pub mod limit_steps;
pub mod limits;
mod measured;
pub mod price;
pub mod tables;

pub use measured::{Game, Measured};
