//! Every request that needs no account, with a bound of what the dearest one costs.
//!
//! `tests/tests/all_systems/public_costs` measures each of them.

use std::fmt::Write as _;

use crate::limits::MESSAGE_MS;
use crate::price;

/// Assumed: requests of one client in a second.
pub const CLIENT_PER_S: f64 = 100.0;

const HOUR_S: f64 = 3_600.0;
/// Memory of `ws-message`, and of the functions of the HTTP API.
pub(crate) const MESSAGE_GB: f64 = 0.5;
const API_GB: f64 = 0.125;
/// Assumed: a request of the HTTP API.
const REQUEST_S: f64 = 0.01;
/// API Gateway bills a request for each 512 KB.
const REQUEST_KB: f64 = 512.0;

/// What a request costs. Stream functions are included.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Cost {
    /// Write units of tables and indexes.
    pub writes: f64,
    /// Read units.
    pub reads: f64,
    /// Messages to sockets, the sender's own included, as API Gateway bills them: one for each 32
    /// KB.
    pub posts: f64,
    /// Kilobytes of the answer and of the posts.
    pub kilobytes: f64,
}

/// A route of the HTTP API, or a message of the game's sockets.
#[derive(Debug, Clone, Copy)]
pub struct PublicRequest {
    /// `GET /stats/total`, `say` or `$connect`.
    pub request: &'static str,
    /// The bound.
    pub most: Cost,
}

impl PublicRequest {
    /// Dollars for an hour of [`CLIENT_PER_S`].
    pub fn dollars_an_hour(&self) -> f64 {
        let Cost { writes, reads, posts, kilobytes } = self.most;
        let gateway = if self.request.contains(' ') {
            http_request() + price::HTTP_REQUEST * (kilobytes / REQUEST_KB).floor()
        } else {
            price::MESSAGE * (1.0 + posts) + function(MESSAGE_GB, MESSAGE_MS as f64 / 1_000.0)
        };
        let units = writes * price::WRITE_UNIT + reads * price::READ_UNIT;
        CLIENT_PER_S * HOUR_S * (gateway + units + kilobytes / 1e6 * price::GB_OUT)
    }
}

/// A small request of the HTTP API, without units.
pub(crate) fn http_request() -> f64 {
    price::HTTP_REQUEST + function(API_GB, REQUEST_S)
}

pub(crate) fn function(gb: f64, seconds: f64) -> f64 {
    price::INVOCATION + gb * seconds * price::GB_SECOND
}

const fn row(request: &'static str, [writes, reads, posts, kilobytes]: [f64; 4]) -> PublicRequest {
    PublicRequest { request, most: Cost { writes, reads, posts, kilobytes } }
}

/// Write units, read units, posts and kilobytes of each. Of the write units of `POST /clicks`, 50
/// are for a second refused write of each click, which only a race with other clients brings about.
pub const PUBLIC: &[PublicRequest] = &[
    row("POST /clicks", [350.0, 650.0, 0.0, 30.0]),
    row("GET /stats/total", [0.0, 0.5, 0.0, 0.1]),
    row("GET /stats/visitors", [0.0, 0.5, 0.0, 0.1]),
    row("GET /stats/daily/{date}", [0.0, 0.5, 0.0, 0.1]),
    row("GET /stats/daily", [0.0, 50.0, 0.0, 25.0]),
    row("GET /stats/hourly", [0.0, 15.0, 0.0, 50.0]),
    row("GET /stats/weekly", [0.0, 3.0, 0.0, 8.0]),
    row("GET /stats/targets", [0.0, 8.0, 0.0, 50.0]),
    row("GET /stats/counter.svg", [0.0, 50.0, 0.0, 1.5]),
    row("GET /stats/monthly/{month}", [0.0, 0.5, 0.0, 0.1]),
    row("GET /stats/monthly", [0.0, 3.0, 0.0, 8.0]),
    row("POST /users/{userId}/activities", [170.0, 20.0, 0.0, 20.0]),
    row("GET /products/{productId}/statistics", [0.0, 15.0, 0.0, 30.0]),
    row("GET /activities/top", [0.0, 1.0, 0.0, 2.0]),
    row("GET /products", [0.0, 40.0, 0.0, 300.0]),
    row("GET /products/{productId}", [0.0, 0.5, 0.0, 0.5]),
    row("GET /products/{productId}/prices", [0.0, 110.0, 0.0, 280.0]),
    row("GET /products/{productId}/prices/{priceId}", [0.0, 0.5, 0.0, 0.5]),
    row("GET /products/{productId}/prices/summary", [0.0, 120.0, 0.0, 0.5]),
    row("GET /journal/{stream}", [0.0, 200.0, 0.0, 20.0]),
    row("POST /okusuri/api/sign-in/email", [5.0, 2.0, 0.0, 0.2]),
    row("POST /okusuri/api/sign-in/email/verify", [20.0, 4.0, 0.0, 0.5]),
    row("GET /okusuri/api/sign-in/providers", [0.0, 0.0, 0.0, 0.1]),
    row("GET /okusuri/api/sign-in/oauth/{provider}", [4.0, 0.0, 0.0, 1.0]),
    row("GET /okusuri/api/sign-in/oauth/{provider}/callback", [35.0, 3.0, 0.0, 3.0]),
    row("POST /okusuri/api/sign-out", [0.0, 1.0, 0.0, 0.0]),
    row("POST /games", [40.0, 2.0, 0.0, 2.0]),
    row("GET /games", [0.0, 30.0, 0.0, 20.0]),
    row("GET /games/{gameId}", [0.0, 4.0, 0.0, 4.0]),
    row("POST /games/{gameId}/players", [12.0, 12.0, 0.0, 5.0]),
    row("GET /games/{gameId}/chat", [0.0, 25.0, 0.0, 160.0]),
    row("GET /games/{gameId}/turns", [0.0, 8.0, 0.0, 20.0]),
    row("GET /games/{gameId}/turns/{turnId}/drawing", [0.0, 120.0, 0.0, 190.0]),
    row("GET /players/{playerId}/games", [0.0, 4.0, 0.0, 15.0]),
    row("$connect", [2.0, 1.0, 0.0, 0.0]),
    row("$disconnect", [6.0, 20.0, 60.0, 200.0]),
    row("hello", [50.0, 32.0, 125.0, 280.0]),
    row("ping", [0.0, 1.0, 1.0, 0.1]),
    row("configure", [5.0, 12.0, 60.0, 180.0]),
    row("ready", [5.0, 12.0, 60.0, 180.0]),
    row("start", [10.0, 12.0, 60.0, 190.0]),
    row("choose", [10.0, 14.0, 60.0, 200.0]),
    row("draw", [0.0, 5.0, 10.0, 60.0]),
    row("save", [15.0, 5.0, 50.0, 1700.0]),
    row("react", [0.0, 5.0, 60.0, 10.0]),
    row("catch-up", [0.0, 120.0, 35.0, 1000.0]),
    row("say", [25.0, 45.0, 60.0, 320.0]),
    row("tick", [85.0, 130.0, 60.0, 190.0]),
    row("skip", [50.0, 50.0, 60.0, 330.0]),
    row("kick", [15.0, 14.0, 60.0, 200.0]),
    row("leave", [16.0, 15.0, 60.0, 200.0]),
    row("rematch", [50.0, 12.0, 125.0, 320.0]),
    row("share", [5.0, 12.0, 60.0, 320.0]),
];

/// The list as a table.
pub(crate) fn table() -> String {
    let mut table = String::from("|request|writes|reads|posts|KB|an hour|\n|---|---|---|---|---|---|\n");
    for public in PUBLIC {
        let (request, Cost { writes, reads, posts, kilobytes }) = (public.request, public.most);
        let dollars = public.dollars_an_hour();
        let _ = writeln!(table, "|`{request}`|{writes}|{reads}|{posts}|{kilobytes}|${dollars:.2}|");
    }
    table
}
