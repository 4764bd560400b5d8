//! The address of the client that sent a request, also when the CDN passed the request on.
//!
//! API Gateway names the other end of the connection. Behind the CDN that is one of CloudFront's
//! edges, which adds the client's address to the end of `x-forwarded-for`. Anybody can send that
//! header straight to the API, so it counts only beside the key that the template gives to the CDN
//! and to the functions.

use std::net::{IpAddr, Ipv6Addr};

use http::{HeaderMap, HeaderName};
use subtle::ConstantTimeEq;

/// The header in which the CDN shows its key.
pub const CDN_KEY_HEADER: HeaderName = HeaderName::from_static("x-tidemark-cdn-key");

/// The key that requests of the CDN carry.
#[derive(Clone)]
pub struct Cdn(Option<String>);

impl Cdn {
    /// The CDN whose key is in the variable `CDN_KEY`. Without the variable there is no CDN, and
    /// each client comes directly.
    pub fn from_env() -> Self {
        Self::new(&std::env::var("CDN_KEY").unwrap_or_default())
    }

    /// The CDN with this key; an empty one stands for no CDN.
    pub(crate) fn new(key: &str) -> Self {
        Self(Some(key).filter(|key| !key.is_empty()).map(str::to_owned))
    }

    /// The client's address, where `peer` is the other end of the connection. Takes the key out of
    /// `headers`, which the handler may log.
    pub fn client(&self, headers: &mut HeaderMap, peer: Option<&str>) -> Option<String> {
        let shown = headers.remove(CDN_KEY_HEADER);
        let is_cdn =
            matches!((&self.0, shown), (Some(key), Some(shown)) if shown.as_bytes().ct_eq(key.as_bytes()).into());
        let passed_on = || {
            let lines = headers.get_all("x-forwarded-for").iter().filter_map(|line| line.to_str().ok());
            let mut addresses: Vec<&str> = lines.flat_map(|line| line.split(',')).map(str::trim).collect();
            // API Gateway adds the edge's own address behind the client's.
            addresses.pop_if(|last| Some(*last) == peer);
            // What stands further left, the client wrote.
            addresses.pop()?.parse::<IpAddr>().ok().map(|address| address.to_string())
        };
        if is_cdn { passed_on() } else { None }.or_else(|| peer.map(str::to_owned))
    }
}

/// The client behind an address, for limits. An IPv6 client is its /64 network, because one client
/// has all of those addresses. `None` when it is no address.
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
    fn nobody_else_does() {
        let forged = ["203.0.113.7, 64.252.70.1"];
        for (key, shown) in
            [(Some("k"), None), (Some("k"), Some("x")), (Some("k"), Some("")), (None, Some("k")), (None, Some(""))]
        {
            assert_eq!(client(key, shown, &forged).as_deref(), Some(EDGE), "{key:?} {shown:?}");
        }
        // A text that is not an address gives no client.
        for forwarded in [&[][..], &["unknown, 64.252.70.1"], &[""]] {
            assert_eq!(client(Some("k"), Some("k"), forwarded).as_deref(), Some(EDGE), "{forwarded:?}");
        }
    }
}
