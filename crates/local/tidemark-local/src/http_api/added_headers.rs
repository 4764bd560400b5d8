//! The headers that AWS adds to a request.

use std::net::IpAddr;
use std::time::{SystemTime, UNIX_EPOCH};

use axum::http::header;
use axum::http::request::Parts;

/// Names and values: the client, the port and the scheme of the request, and the id of its trace.
/// They replace headers of the same names.
pub(crate) fn added(parts: &Parts, source_ip: IpAddr) -> [(&'static str, String); 4] {
    let text = |name: &str| parts.headers.get(name).and_then(|value| value.to_str().ok());
    // A client that has passed a proxy comes after the addresses that the proxy told.
    let before = text("x-forwarded-for").map(|addresses| format!("{addresses}, ")).unwrap_or_default();
    let host = text(header::HOST.as_str()).unwrap_or_default();
    let port = host.rsplit_once(':').map_or("80", |(_, port)| port);
    [
        ("X-Amzn-Trace-Id", text("x-amzn-trace-id").map_or_else(trace_root, str::to_owned)),
        ("X-Forwarded-For", format!("{before}{source_ip}")),
        ("X-Forwarded-Port", port.to_owned()),
        ("X-Forwarded-Proto", "http".to_owned()),
    ]
}

/// The root of a new trace, in X-Ray's format.
pub(crate) fn trace_root() -> String {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    format!("Root=1-{:08x}-{:024x}", now.as_secs(), fastrand::u128(..) >> 32)
}
