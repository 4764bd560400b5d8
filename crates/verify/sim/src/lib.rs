//! The simulation: random histories with faults, played to their end, against a check that shares
//! no code with what it checks.
//!
//! A history is one number, its seed. It runs on one thread under a virtual clock: the real code,
//! the real SDK and the real engine, joined by a wire that takes time and fails. A seed decides all
//! of it, so a history that fails can be played again.
//!
//! Clicks and random declarations of rollups run on [`rollup::sim`]. The drawing game, the shop
//! and the reminders of doses have worlds of their own.

mod baselines;
mod clicks;
mod feedback;
mod game;
mod history;
mod reminders;
mod rollups;
mod shop;
mod shop_statistics;
mod table;
mod wire;

pub use baselines::Baseline;
pub use clicks::{Implementation, play_clicks};
pub use feedback::{feedback_of, play_feedback};
pub use game::{play_game, play_leave};
pub use history::{Counts, HistoryOutcome};
pub use reminders::{ReminderWeakness, play_reminders};
pub use rollups::{play_hazard, play_rollup};
pub use shop::{Weakness, play_shop};
pub use shop_statistics::play_activities;
pub use table::{Database, Embedded};

/// Runs a history on one thread under a virtual clock.
fn simulate<T>(seed: u64, history: impl Future<Output = anyhow::Result<T>>) -> anyhow::Result<T> {
    // Backoffs, their jitter and ids come from the thread's generator.
    fastrand::seed(seed);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build()?;
    runtime.block_on(tokio::task::LocalSet::new().run_until(history))
}
