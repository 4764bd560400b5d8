//! The address of the client that sent a request, also when the CDN passed the request on.
//!
//! API Gateway names the other end of the connection. Behind the CDN that is one of CloudFront's edges, which adds the client's
//! address to the end of `x-forwarded-for`. Anybody can send that header straight to the API, so it counts only beside the key
//! that the template gives to the CDN and to the functions.

use std::net::IpAddr;

use http::{HeaderMap, HeaderName};
use subtle::ConstantTimeEq;

/// The header in which the CDN shows its key.
pub const CDN_KEY_HEADER: HeaderName = HeaderName::from_static("x-tidemark-cdn-key");

/// The key that requests of the CDN carry.
#[derive(Clone)]
pub struct Cdn(Option<String>);

impl Cdn {
    /// The CDN whose key is in the variable `CDN_KEY`. Without the variable there is no CDN, and each client comes directly.
    pub fn from_env() -> Self {
        Self::new(&std::env::var("CDN_KEY").unwrap_or_default())
    }

    /// The CDN with this key; an empty one stands for no CDN.
    pub(crate) fn new(key: &str) -> Self {
        Self(Some(key).filter(|key| !key.is_empty()).map(str::to_owned))
    }

    /// The client's address, where `peer` is the other end of the connection. Takes the key out of `headers`, which the handler
    /// may log.
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

/// What a limit counts an address by: an IPv4 address itself, and of an IPv6 address its network of 64 bits, for one
/// connection commonly has all addresses of such a network.
pub fn network(address: &str) -> String {
    match address.parse() {
        Ok(IpAddr::V6(v6)) if v6.to_ipv4_mapped().is_none() => {
            let [a, b, c, d, ..] = v6.segments();
            format!("{a:x}:{b:x}:{c:x}:{d:x}::/64")
        }
        Ok(IpAddr::V6(v6)) => v6.to_canonical().to_string(),
        _ => address.to_owned(),
    }
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
        // What is no address is nobody's.
        for forwarded in [&[][..], &["unknown, 64.252.70.1"], &[""]] {
            assert_eq!(client(Some("k"), Some("k"), forwarded).as_deref(), Some(EDGE), "{forwarded:?}");
        }
    }

    #[test]
    fn one_connection_is_one_network() {
        for (address, expected) in [
            ("203.0.113.7", "203.0.113.7"),
            ("::ffff:203.0.113.7", "203.0.113.7"),
            ("2001:db8:1:2:3:4:5:6", "2001:db8:1:2::/64"),
            ("2001:db8:1:2::1", "2001:db8:1:2::/64"),
        ] {
            assert_eq!(network(address), expected);
        }
    }
}
