//! Headers and query parameters with all their values, as events of payload format 1.0 have them.

use std::collections::BTreeMap;

use axum::http::HeaderMap;

/// Names with their values, in the order of arrival.
pub(crate) type Multiple = BTreeMap<String, Vec<String>>;

/// Headers with each word capitalised, as most clients send them; the original capitals are not
/// known here.
pub(crate) fn headers(headers: &HeaderMap) -> Multiple {
    let mut multiple = Multiple::new();
    for (name, value) in headers {
        let name = name.as_str().split('-').map(capitalised).collect::<Vec<_>>().join("-");
        multiple.entry(name).or_default().push(String::from_utf8_lossy(value.as_bytes()).into_owned());
    }
    multiple
}

fn capitalised(word: &str) -> String {
    if word == "websocket" {
        return "WebSocket".to_owned();
    }
    let mut word = word.to_owned();
    if let Some(first) = word.get_mut(..1) {
        first.make_ascii_uppercase();
    }
    word
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
