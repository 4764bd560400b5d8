//! The drawing game: rooms, sockets, archives.

mod api;
mod archiver;
mod connect;
mod crowds;
mod journey;
mod races;
mod refusals;
mod room;
