//! What takes several crates to test: stores on a real engine, functions in a whole stack, people's ways through all of it. One binary, so that
//! what waits on the clock waits beside the rest, and all of it is linked once.

#![allow(clippy::unwrap_used)]

mod aggregator;
mod architecture;
mod archiver;
mod click_places;
mod clients;
mod deploy;
mod game_api;
mod game_crowds;
mod game_door;
mod game_journey;
mod game_races;
mod game_refusals;
mod game_room;
mod hot_partitions;
mod hot_products;
mod import;
mod journal_histories;
mod journal_journey;
mod journal_order;
mod journeys;
#[cfg(feature = "postgres")]
mod migrate;
#[cfg(feature = "postgres")]
mod migrate_cutover;
#[cfg(feature = "postgres")]
mod migrate_faults;
#[cfg(feature = "postgres")]
mod migrate_folder;
#[cfg(feature = "postgres")]
mod migrate_kill;
mod okusuri_api;
mod okusuri_logs;
mod okusuri_oidc;
mod okusuri_push;
mod okusuri_reminder;
mod okusuri_sign_in;
mod openapi;
mod operator;
mod policies;
mod recount;
mod sample_events;
mod shop_storm;
mod stock_journey;
mod stock_watch;
mod store_activities;
mod store_clicks;
mod store_foreign;
mod store_journal;
mod store_okusuri_sign_in;
mod store_shop;
mod store_stock;
mod watch;
