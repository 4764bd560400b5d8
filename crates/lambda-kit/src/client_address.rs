//! The address of the client that sent a request, also when the CDN passed the request on.
//!
//! API Gateway reports the address at the other end of the connection. Behind the CDN that is a
//! CloudFront edge, which appends the client's address to `x-forwarded-for`. Anybody can send that
//! header straight to the API. So it is trusted only together with the key that the template gives
//! to the CDN and to the functions.

use std::net::{IpAddr, Ipv6Addr};

use http::{HeaderMap, HeaderName};
use subtle::ConstantTimeEq;

/// The header in which the CDN sends its key.
pub const CDN_KEY_HEADER: HeaderName = HeaderName::from_static("x-tidemark-cdn-key");

/// The key that the CDN adds to each request.
#[derive(Clone)]
pub struct Cdn(Option<String>);

impl Cdn {
    /// The CDN whose key is in the variable `CDN_KEY`. Without the variable there is no CDN, and
    /// clients connect directly.
    pub fn from_env() -> Self {
        Self::new(&std::env::var("CDN_KEY").unwrap_or_default())
    }

    /// The CDN with this key; an empty key means that there is no CDN.
    pub(crate) fn new(key: &str) -> Self {
        Self(Some(key).filter(|key| !key.is_empty()).map(str::to_owned))
    }

    /// The client's address; `peer` is the other end of the connection. Removes the key from
    /// `headers`, because the handler may log them.
    pub fn client(&self, headers: &mut HeaderMap, peer: Option<&str>) -> Option<String> {
        let shown = headers.remove(CDN_KEY_HEADER);
        let is_cdn =
            matches!((&self.0, shown), (Some(key), Some(shown)) if shown.as_bytes().ct_eq(key.as_bytes()).into());
        let passed_on = || {
            let lines = headers.get_all("x-forwarded-for").iter().filter_map(|line| line.to_str().ok());
            let mut addresses: Vec<&str> = lines.flat_map(|line| line.split(',')).map(str::trim).collect();
            // API Gateway appends the edge's own address after the client's.
            addresses.pop_if(|last| Some(*last) == peer);
            // The client may have written any address further left, so only the last one counts.
            addresses.pop()?.parse::<IpAddr>().ok().map(|address| address.to_string())
        };
        if is_cdn { passed_on() } else { None }.or_else(|| peer.map(str::to_owned))
    }
}

/// The client behind an address, for rate limits. An IPv6 client is its /64 network, because one
/// client has all addresses of that network. `None` if the text is not an address.
pub fn rate_limit_address(address: &str) -> Option<IpAddr> {
    Some(match address.parse::<IpAddr>().ok()?.to_canonical() {
        IpAddr::V6(address) => {
            let [a, b, c, d, ..] = address.segments();
            IpAddr::V6(Ipv6Addr::new(a, b, c, d, 0, 0, 0, 0))
        }
        address => address,
    })
}

#[cfg(test)]
mod tests {
    use http::HeaderValue;

    use super::*;

    const EDGE: &str = "64.252.70.1";

    fn client(key: Option<&str>, shown: Option<&'static str>, forwarded: &[&'static str]) -> Option<String> {
        let mut headers = HeaderMap::new();
        headers.extend(shown.map(|shown| (CDN_KEY_HEADER, HeaderValue::from_static(shown))));
        for line in forwarded {
            headers.append("x-forwarded-for", HeaderValue::from_static(line));
        }
        let client = Cdn::new(key.unwrap_or_default()).client(&mut headers, Some(EDGE));
        assert!(!headers.contains_key(CDN_KEY_HEADER), "the key reaches the handler");
        client
    }

    #[test]
    fn the_cdn_names_its_client() {
        for forwarded in ["203.0.113.7, 64.252.70.1", "203.0.113.7", "198.51.100.1, 203.0.113.7, 64.252.70.1"] {
            assert_eq!(client(Some("k"), Some("k"), &[forwarded]).as_deref(), Some("203.0.113.7"), "{forwarded}");
        }
        assert_eq!(client(Some("k"), Some("k"), &["198.51.100.1", "2001:db8::1"]).as_deref(), Some("2001:db8::1"));
    }

    #[test]
    fn a_request_without_the_cdns_key_cannot_name_another_client() {
        let forged = ["203.0.113.7, 64.252.70.1"];
        for (key, shown) in
            [(Some("k"), None), (Some("k"), Some("x")), (Some("k"), Some("")), (None, Some("k")), (None, Some(""))]
        {
            assert_eq!(client(key, shown, &forged).as_deref(), Some(EDGE), "{key:?} {shown:?}");
        }
        // A value that is not an address is ignored.
        for forwarded in [&[][..], &["unknown, 64.252.70.1"], &[""]] {
            assert_eq!(client(Some("k"), Some("k"), forwarded).as_deref(), Some(EDGE), "{forwarded:?}");
        }
    }
}
