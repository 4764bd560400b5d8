//! The cost that one client, at one address and without an account, can cause the owner in an hour
//! where a limit bounds it. [`crate::public`] has the cost of each request.

use std::fmt::Write as _;

use crate::limits::{API_REQUESTS_PER_S, MESSAGE_MS, TEMPLATE_API_RATE};
use crate::price;
use crate::public::{MESSAGE_GB, function, http_request};

const HOUR_S: f64 = 3_600.0;

/// As the rules have them: seats, places to look on, what a player and a spectator may say in a
/// second, what a connection may send through one instance.
const SEATS: f64 = 10.0;
const SPECTATORS: f64 = 50.0;
const TALK_PER_S: f64 = 1.0;
const SPECTATOR_TALK_PER_S: f64 = 0.2;
const CONNECTION_PER_S: f64 = 15.0;
/// New games and tickets of one address: at once, and a second.
const GAMES: [f64; 2] = [30.0, 1.0 / 60.0];
const TICKETS: [f64; 2] = [120.0, 1.0];

/// What each way costs, as a table.
pub fn table() -> String {
    let message = |told: f64, writes: f64| {
        let units = writes * price::WRITE_UNIT + 3.0 * price::READ_UNIT;
        (1.0 + told) * price::MESSAGE + function(MESSAGE_GB, MESSAGE_MS as f64 / 1_000.0) + units
    };
    let request = http_request();
    let in_an_hour = |[burst, rate]: [f64; 2]| burst + rate * HOUR_S;
    let listeners = SEATS + SPECTATORS;
    let lines_per_s = SEATS * TALK_PER_S + SPECTATORS * SPECTATOR_TALK_PER_S;
    let flood_per_s = API_REQUESTS_PER_S / listeners;
    let minutes = HOUR_S / 60.0;
    let sockets = listeners * minutes * price::CONNECTION_MINUTE;
    let rows = [
        (
            "games that nobody comes to",
            "30 for an address, and one a minute",
            in_an_hour(GAMES) * (request + 40.0 * price::WRITE_UNIT + price::READ_UNIT),
        ),
        (
            "sockets that stay silent",
            "120 tickets for an address, and one a second; 10 minutes each",
            in_an_hour(TICKETS)
                * (request
                    + 2.0 * (request - price::HTTP_REQUEST)
                    + 4.0 * price::WRITE_UNIT
                    + 8.0 * price::READ_UNIT
                    + 10.0 * price::CONNECTION_MINUTE),
        ),
        (
            "a game of 60 sockets, all of which talk",
            "a line a second for a player, and one in five seconds for a spectator, counted in the table",
            sockets + lines_per_s * HOUR_S * message(listeners, 2.0),
        ),
        (
            "a drawer in it who floods one instance",
            "15 messages a second",
            sockets + CONNECTION_PER_S * HOUR_S * message(listeners - 1.0, 0.0),
        ),
        (
            "a drawer who floods all instances, or many such games",
            "the account's 10,000 requests and callbacks a second",
            sockets + flood_per_s * HOUR_S * message(listeners - 1.0, 0.0),
        ),
        (
            "requests that are all refused",
            "the template's throttle, 2,000 a second",
            TEMPLATE_API_RATE * HOUR_S * (request + price::READ_UNIT),
        ),
    ];
    let mut table = String::from("| attack | bounded by | an hour |\n|---|---|---|\n");
    for (what, bound, dollars) in rows {
        let _ = writeln!(table, "| {what} | {bound} | ${dollars:.2} |");
    }
    table
}
