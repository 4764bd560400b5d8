//! Rejects requests from pages of other sites: a browser lets any site send requests to this
//! machine.
//!
//! Sources: <https://fetch.spec.whatwg.org/#origin-header>,
//! <https://www.w3.org/TR/fetch-metadata/>.

use http::header::{HOST, ORIGIN};
use http::uri::{Authority, Uri};
use http::{HeaderMap, HeaderValue};

/// Whether to accept a request: it names this machine as its host, and no page of another site sent
/// it.
///
/// A foreign `Host` means DNS rebinding: a site's name resolves to this machine. Programs send no
/// `Origin`. A page sends its own origin, which equals the server's address only for the server's
/// pages. For a simple `GET`, a browser sends no `Origin`; then `Sec-Fetch-Site` tells whether
/// another site sent it.
pub fn admits(uri: &Uri, headers: &HeaderMap) -> bool {
    let names = || headers.get_all(HOST).iter().map(HeaderValue::as_bytes).chain(uri.authority().map(bytes));
    let own = |origin: &HeaderValue| names().any(|name| is_origin_of(origin.as_bytes(), name));
    headers.get_all(ORIGIN).iter().all(own) && !sent_by_another_site(headers) && names().all(is_loopback)
}

fn bytes(authority: &Authority) -> &[u8] {
    authority.as_str().as_bytes()
}

fn is_origin_of(origin: &[u8], host: &[u8]) -> bool {
    origin.strip_prefix(b"http://").is_some_and(|authority| authority.eq_ignore_ascii_case(host))
}

/// A person may still follow a link from another site: the answer is shown to the person, and the
/// other site cannot read it.
fn sent_by_another_site(headers: &HeaderMap) -> bool {
    let is = |name: &str, value: &str| headers.get(name).is_some_and(|found| found == value);
    let follows_a_link = is("sec-fetch-mode", "navigate") && is("sec-fetch-dest", "document");
    let same_site = is("sec-fetch-site", "same-origin") || is("sec-fetch-site", "none");
    headers.contains_key("sec-fetch-site") && !same_site && !follows_a_link
}

/// Whether `host[:port]` is `localhost` or a loopback address.
fn is_loopback(authority: &[u8]) -> bool {
    let Ok(authority) = Authority::try_from(authority) else { return false };
    let name = authority.host();
    let address = name.trim_start_matches('[').trim_end_matches(']').parse::<std::net::IpAddr>();
    let has_user = authority.as_str().contains('@');
    !has_user && (name.eq_ignore_ascii_case("localhost") || address.is_ok_and(|address| address.is_loopback()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn admitted(headers: &[(&'static str, &'static str)]) -> bool {
        let headers = headers.iter().map(|(name, value)| (name.parse().unwrap(), HeaderValue::from_static(value)));
        admits(&Uri::from_static("/"), &headers.collect())
    }

    #[test]
    fn only_names_of_this_machine_are_accepted() {
        for host in ["localhost", "localhost:3000", "LocalHost:3000", "127.0.0.1:3000", "127.1.2.3", "[::1]:3000"] {
            assert!(admitted(&[("host", host)]), "{host}");
        }
        for host in [
            "evil.example",
            "evil.example//127.0.0.1",
            "evil.example@127.0.0.1",
            "localhost.evil.example:3000",
            "127.0.0.1.evil.example",
            "10.0.0.1:3000",
            "",
        ] {
            assert!(!admitted(&[("host", host)]), "{host}");
        }
        assert!(!admits(&Uri::from_static("http://evil.example/"), &HeaderMap::new()));
    }

    #[test]
    fn browser_request_needs_the_servers_origin_and_program_none() {
        assert!(admitted(&[("host", "127.0.0.1:3000")]));
        assert!(admitted(&[("host", "127.0.0.1:3000"), ("origin", "http://127.0.0.1:3000")]));
        for origin in [
            "http://evil.example",
            "http://evil.example//127.0.0.1:3000",
            "http://127.0.0.1:8080",
            "http://localhost:3000",
            "https://127.0.0.1:3000",
            "null",
            "",
        ] {
            assert!(!admitted(&[("host", "127.0.0.1:3000"), ("origin", origin)]), "{origin}");
        }
        let two = [("host", "127.0.0.1:3000"), ("origin", "http://127.0.0.1:3000"), ("origin", "http://evil.example")];
        let mut headers = HeaderMap::new();
        for (name, value) in two {
            headers.append(name, HeaderValue::from_static(value));
        }
        assert!(!admits(&Uri::from_static("/"), &headers));
    }

    #[test]
    fn another_site_may_only_link_to_a_page() {
        let asks = |site, mode, dest| {
            admitted(&[
                ("host", "localhost:3000"),
                ("sec-fetch-site", site),
                ("sec-fetch-mode", mode),
                ("sec-fetch-dest", dest),
            ])
        };
        assert!(asks("same-origin", "cors", "empty"));
        assert!(asks("none", "navigate", "document"));
        assert!(asks("cross-site", "navigate", "document"));
        assert!(!asks("cross-site", "no-cors", "empty"));
        assert!(!asks("same-site", "no-cors", "image"));
        assert!(!asks("cross-site", "navigate", "iframe"));
    }
}
