//! CORS of a bucket: preflights of pages, and the headers of answers to them.
//!
//! Source: <https://docs.aws.amazon.com/AmazonS3/latest/userguide/ManageCorsUsing.html>.

use axum::http::request::Parts;
use axum::http::{HeaderMap, HeaderName, HeaderValue, Method, header};
use s3s::{S3Error, S3ErrorCode};

use crate::stack::CorsRule;

/// What a page of another origin asks for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct PageRequest {
    origin: String,
    method: String,
    /// Of a preflight.
    headers: Vec<String>,
    pub(super) is_preflight: bool,
}

/// A rule that allows a request, with the request.
#[derive(Debug)]
pub(super) struct Allowed {
    rule: CorsRule,
    request: PageRequest,
}

impl PageRequest {
    /// The request of a page; `None` without an origin.
    pub(super) fn of(parts: &Parts) -> Option<Self> {
        let text = |name: HeaderName| parts.headers.get(name).and_then(|value| value.to_str().ok());
        let is_preflight = parts.method == Method::OPTIONS;
        let headers = text(header::ACCESS_CONTROL_REQUEST_HEADERS).unwrap_or_default();
        Some(Self {
            origin: text(header::ORIGIN)?.to_owned(),
            method: match is_preflight {
                true => text(header::ACCESS_CONTROL_REQUEST_METHOD)?.to_owned(),
                false => parts.method.to_string(),
            },
            headers: headers
                .split(',')
                .map(|name| name.trim().to_ascii_lowercase())
                .filter(|name| !name.is_empty())
                .collect(),
            is_preflight,
        })
    }

    /// The first rule that allows this request.
    pub(super) fn allowed_by(self, rules: Vec<CorsRule>) -> Option<Allowed> {
        let allows = |rule: &CorsRule| {
            rule.origins.iter().any(|origin| is_like(origin, &self.origin))
                && rule.methods.contains(&self.method)
                && self
                    .headers
                    .iter()
                    .all(|name| rule.headers.iter().any(|allowed| is_like(&allowed.to_ascii_lowercase(), name)))
        };
        let rule = rules.into_iter().find(allows)?;
        Some(Allowed { rule, request: self })
    }
}

impl Allowed {
    /// Adds the headers that let the page read the answer.
    pub(super) fn add_headers(&self, headers: &mut HeaderMap) {
        let Self { rule, request } = self;
        let any = rule.origins.iter().any(|origin| origin == "*");
        let mut add = |name: HeaderName, value: &str| {
            if let (false, Ok(value)) = (value.is_empty(), HeaderValue::from_str(value)) {
                headers.insert(name, value);
            }
        };
        add(header::ACCESS_CONTROL_ALLOW_ORIGIN, if any { "*" } else { &request.origin });
        add(header::ACCESS_CONTROL_ALLOW_METHODS, &rule.methods.join(", "));
        add(header::ACCESS_CONTROL_ALLOW_HEADERS, &request.headers.join(", "));
        add(header::ACCESS_CONTROL_EXPOSE_HEADERS, &rule.exposed.join(", "));
        add(header::VARY, "Origin, Access-Control-Request-Headers, Access-Control-Request-Method");
        if !any {
            add(header::ACCESS_CONTROL_ALLOW_CREDENTIALS, "true");
        }
        if let Some(seconds) = rule.max_age_s.filter(|_| request.is_preflight) {
            add(header::ACCESS_CONTROL_MAX_AGE, &seconds.to_string());
        }
    }
}

/// The answer to a preflight that no rule allows.
pub(super) fn refusal() -> S3Error {
    let message = "CORSResponse: This CORS request is not allowed. This is usually because the evaluation of Origin, request method / Access-Control-Request-Method or Access-Control-Request-Headers are not whitelisted by the resource's CORS spec.";
    let mut error = S3Error::with_message(S3ErrorCode::Custom("AccessForbidden".into()), message);
    error.set_status_code(axum::http::StatusCode::FORBIDDEN);
    error
}

/// Whether a text is like a pattern with at most one `*`.
fn is_like(pattern: &str, text: &str) -> bool {
    match pattern.split_once('*') {
        None => pattern == text,
        Some((start, end)) => text.strip_prefix(start).is_some_and(|rest| rest.ends_with(end)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rule(origin: &str) -> CorsRule {
        CorsRule {
            origins: vec![origin.to_owned()],
            methods: vec!["PUT".to_owned()],
            headers: vec!["X-Amz-*".to_owned()],
            exposed: vec!["ETag".to_owned()],
            max_age_s: Some(60),
        }
    }

    fn preflight(origin: &str, method: &str, headers: &[&str]) -> PageRequest {
        let headers = headers.iter().map(|name| (*name).to_owned()).collect();
        PageRequest { origin: origin.to_owned(), method: method.to_owned(), headers, is_preflight: true }
    }

    #[test]
    fn a_rule_needs_origin_method_and_each_header() {
        let allowed = |request: PageRequest| request.allowed_by(vec![rule("https://*.example")]).is_some();
        assert!(allowed(preflight("https://a.example", "PUT", &["x-amz-date"])));
        assert!(!allowed(preflight("http://a.example", "PUT", &[])));
        assert!(!allowed(preflight("https://a.example", "GET", &[])));
        assert!(!allowed(preflight("https://a.example", "PUT", &["x-amz-date", "x-other"])));
    }

    #[test]
    fn answer_names_the_origin_unless_any_is_allowed() {
        let headers = |origin: &str| {
            let mut headers = HeaderMap::new();
            let allowed = preflight("https://a.example", "PUT", &[]).allowed_by(vec![rule(origin)]);
            allowed.unwrap_or_else(|| panic!("allowed")).add_headers(&mut headers);
            headers
        };
        assert_eq!(headers("*")["access-control-allow-origin"], "*");
        assert!(!headers("*").contains_key("access-control-allow-credentials"));
        let named = headers("https://a.example");
        assert_eq!(named["access-control-allow-origin"], "https://a.example");
        assert_eq!(
            (&named["access-control-max-age"], &named["access-control-expose-headers"]),
            (&HeaderValue::from_static("60"), &HeaderValue::from_static("ETag"))
        );
    }
}
