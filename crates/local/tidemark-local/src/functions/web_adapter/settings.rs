//! The adapter's variables; each also has an old name without `AWS_LWA_`.

use std::collections::BTreeMap;
use std::ops::RangeInclusive;

use axum::http::HeaderMap;
use axum::http::header::AUTHORIZATION;

/// The adapter's default port.
const PORT_DEFAULT: u16 = 8080;

/// What a function's environment says to the adapter.
#[derive(Debug, Clone)]
pub(in crate::functions) struct Settings {
    pub(super) port: u16,
    pub(super) readiness_port: Option<u16>,
    pub(super) readiness_path: String,
    pub(super) readiness_tcp: bool,
    pub(super) healthy: StatusCodes,
    pub(super) base_path: Option<String>,
    pub(super) pass_through_path: String,
    pub(super) async_init: bool,
    pub(super) error_status_codes: StatusCodes,
    pub(super) streams_responses: bool,
    authorization_source: Option<String>,
}

impl Settings {
    /// Reads the variables; wrong ones count as unset, as in the adapter.
    pub(super) fn of(environment: &BTreeMap<String, String>) -> Self {
        let get = |name: &str| {
            let value = environment.get(&format!("AWS_LWA_{name}")).or_else(|| environment.get(name));
            value.map(String::as_str).filter(|value| !value.is_empty())
        };
        let number = |name: &str| get(name).and_then(|value| value.parse().ok());
        let unhealthy: u16 = number("READINESS_CHECK_MIN_UNHEALTHY_STATUS").unwrap_or(500);
        let healthy = get("READINESS_CHECK_HEALTHY_STATUS").map(StatusCodes::parse);
        Self {
            port: number("PORT").unwrap_or(PORT_DEFAULT),
            readiness_port: number("READINESS_CHECK_PORT"),
            readiness_path: get("READINESS_CHECK_PATH").unwrap_or("/").to_owned(),
            readiness_tcp: get("READINESS_CHECK_PROTOCOL").is_some_and(|name| name.eq_ignore_ascii_case("tcp")),
            healthy: healthy.unwrap_or_else(|| StatusCodes(vec![100..=unhealthy.saturating_sub(1)])),
            base_path: get("REMOVE_BASE_PATH").map(str::to_owned),
            pass_through_path: get("PASS_THROUGH_PATH").unwrap_or("/events").to_owned(),
            async_init: get("ASYNC_INIT").is_some_and(|value| value.eq_ignore_ascii_case("true")),
            error_status_codes: get("ERROR_STATUS_CODES").map(StatusCodes::parse).unwrap_or_default(),
            streams_responses: get("INVOKE_MODE").is_some_and(|mode| mode.eq_ignore_ascii_case("response_stream")),
            authorization_source: get("AUTHORIZATION_SOURCE").map(str::to_owned),
        }
    }

    /// Renames the header of `AWS_LWA_AUTHORIZATION_SOURCE` to `authorization`.
    pub(super) fn move_authorization(&self, headers: &mut HeaderMap) {
        let source = self.authorization_source.as_deref();
        if let Some(value) = source.and_then(|name| headers.remove(name)) {
            headers.insert(AUTHORIZATION, value);
        }
    }
}

/// A list of status codes and ranges: `500,502-504`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct StatusCodes(Vec<RangeInclusive<u16>>);

impl StatusCodes {
    fn parse(list: &str) -> Self {
        let range = |part: &str| {
            let (first, last) = part.split_once('-').unwrap_or((part, part));
            Some(first.trim().parse().ok()?..=last.trim().parse().ok()?)
        };
        Self(list.split(',').filter_map(range).collect())
    }

    pub(super) fn contains(&self, status: u16) -> bool {
        self.0.iter().any(|range| range.contains(&status))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn variables_have_an_old_name_and_defaults() {
        let environment = |name: &str, value: &str| BTreeMap::from([(name.to_owned(), value.to_owned())]);
        assert_eq!(Settings::of(&BTreeMap::new()).port, 8080);
        assert_eq!(Settings::of(&environment("AWS_LWA_PORT", "8000")).port, 8000);
        assert_eq!(Settings::of(&environment("PORT", "3000")).port, 3000);
        assert!(Settings::of(&environment("ASYNC_INIT", "true")).async_init);
        let default = Settings::of(&BTreeMap::new());
        assert!(default.healthy.contains(404) && !default.healthy.contains(500));
    }

    #[test]
    fn status_codes_are_single_or_ranges() {
        let codes = StatusCodes::parse("500,502-504, 422");
        assert_eq!([500, 501, 503, 422].map(|code| codes.contains(code)), [true, false, true, true]);
    }
}
