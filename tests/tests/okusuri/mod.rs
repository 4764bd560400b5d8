//! Okusuri: users, logs, medicines, reminders.

mod api;
mod journey;
mod logs;
mod oidc;
mod push;
mod reminder;
mod stock;
mod users;
