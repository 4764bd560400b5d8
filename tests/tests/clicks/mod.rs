//! Clicks: the writer, the stream functions, recounts and repairs.

mod aggregator;
mod hot_partitions;
mod journeys;
mod operator;
mod recount;
mod store;
mod watch;
mod writer;
