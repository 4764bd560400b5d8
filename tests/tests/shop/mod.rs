//! The shop: products, prices, stock, activities.

mod activities;
mod activity_statistics;
mod activity_statistics_journey;
mod crowd_with_faults;
mod foreign_clients;
mod hot_products;
mod products;
mod stock;
mod stock_journey;
mod stock_watch;
