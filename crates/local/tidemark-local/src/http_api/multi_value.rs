//! Headers and query parameters with all their values, as events of payload format 1.0 have them.

use std::collections::BTreeMap;
use std::net::IpAddr;

use axum::extract::ConnectInfo;
use axum::http::request::Parts;
use tidemark_engine::listener::Client;

use super::added_headers::added;

/// Names with their values, in the order of arrival.
pub(crate) type Multiple = BTreeMap<String, Vec<String>>;

/// Headers with their names as the client spelled them.
fn headers(parts: &Parts) -> Multiple {
    let client = parts.extensions.get::<ConnectInfo<Client>>();
    let mut multiple = Multiple::new();
    for (name, value) in &parts.headers {
        let name = client.map_or_else(|| name.as_str().to_owned(), |client| client.0.spelling(name.as_str()));
        multiple.entry(name).or_default().push(String::from_utf8_lossy(value.as_bytes()).into_owned());
    }
    multiple
}

/// All values of each header, with the gateway's own headers.
pub(crate) fn all_headers(parts: &Parts, source_ip: IpAddr) -> Multiple {
    let mut all = headers(parts);
    for (name, value) in added(parts, source_ip) {
        all.retain(|other, _| !other.eq_ignore_ascii_case(name));
        all.insert(name.to_owned(), vec![value]);
    }
    all
}

/// Decoded query parameters.
pub(crate) fn query_parameters(query: &str) -> Multiple {
    let mut multiple = Multiple::new();
    for (name, value) in form_urlencoded::parse(query.as_bytes()).into_owned() {
        multiple.entry(name).or_default().push(value);
    }
    multiple
}

/// The last value of each name.
pub(crate) fn last(multiple: &Multiple) -> BTreeMap<&str, &str> {
    multiple.iter().filter_map(|(name, values)| Some((name.as_str(), values.last()?.as_str()))).collect()
}
