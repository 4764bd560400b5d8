//! Who asks, and whether the page of this site asks for them.

use std::time::Duration;

use domain::UserId;
use jiff::Timestamp;
use jiff::civil::Date;
use jiff::tz::TimeZone;
use lambda_kit::bearer;
use lambda_kit::http::{Cookie, Request};
use lambda_kit::problem::{INTERNAL, Problem};
use percent_encoding::percent_decode_str;
use store::okusuri::rows::{Session, User};
use store::okusuri::{NewSession, SESSION_LIFETIME, sha256_hex};

use crate::Okusuri;
use crate::problems::{CROSS_SITE_REQUEST, NOT_SIGNED_IN, store_problem};

/// The cookie that holds a session's token: over https, and on plain http, which is a laptop's.
const COOKIES: [&str; 2] = ["__Host-tidemark-session", "tidemark-session"];

/// Cookies of better-auth, which kept the sessions before the migration: `<token>.<signature>`.
/// Users who were signed in stay signed in.
const BETTER_AUTH_COOKIES: [&str; 2] = ["__Secure-better-auth.session_token", "better-auth.session_token"];

/// Where cookies are sent: to this system, and to no other page of the suite.
pub(crate) const COOKIE_PATH: &str = "/okusuri";

/// A browser's description of itself beyond this says nothing more.
const USER_AGENT_CHARS_MAX: usize = 200;

/// The longest token that is looked for. Ours have 43 characters.
const TOKEN_BYTES_MAX: usize = 512;

/// The signed-in user.
#[derive(Debug, Clone)]
pub(crate) struct SignedIn {
    pub(crate) id: UserId,
    pub(crate) user: User,
    pub(crate) session: Session,
    pub(crate) time_zone: TimeZone,
}

impl SignedIn {
    /// The user's day of today.
    pub(crate) fn today(&self, now: Timestamp) -> Date {
        now.to_zoned(self.time_zone.clone()).date()
    }

    fn new(session: Session, user: User) -> Result<Self, Problem> {
        let id = UserId::new(user.user_id.as_str()).map_err(|_| INTERNAL)?;
        let time_zone = TimeZone::get(&user.time_zone).unwrap_or(TimeZone::UTC);
        Ok(Self { id, user, session, time_zone })
    }
}

impl Okusuri {
    /// The signed-in user, by the request's session token.
    pub(crate) async fn user(&self, request: &Request) -> Result<SignedIn, Problem> {
        let token = token(request).ok_or(NOT_SIGNED_IN)?;
        let found = self.sessions.of_token(&token, (self.now)()).await.map_err(store_problem)?;
        let (session, user) = found.ok_or(NOT_SIGNED_IN)?;
        SignedIn::new(session, user)
    }

    /// The same, also while everything of the user is being deleted.
    pub(crate) async fn user_even_deleting(&self, request: &Request) -> Result<SignedIn, Problem> {
        let token = token(request).ok_or(NOT_SIGNED_IN)?;
        let found = self.sessions.of_token_even_deleting(&token, (self.now)()).await.map_err(store_problem)?;
        let (session, user) = found.ok_or(NOT_SIGNED_IN)?;
        SignedIn::new(session, user)
    }

    /// A session for the sender of a request, and its token, which nobody else will ever see.
    pub(crate) fn new_session(&self, request: &Request) -> (String, NewSession) {
        let token = self.random_text();
        let user_agent = request.header("user-agent").map(|text| text.chars().take(USER_AGENT_CHARS_MAX).collect());
        let session = NewSession {
            token_hash: sha256_hex(token.as_bytes()),
            session_id: (self.new_id)().to_string(),
            ip_address: request.source_ip().map(str::to_owned),
            user_agent,
        };
        (token, session)
    }
}

/// The token that a request carries: of a script in its header, of a browser in its cookie.
pub(crate) fn token(request: &Request) -> Option<String> {
    let scripts = request.header("authorization").and_then(bearer::token).map(str::to_owned);
    let ours = || request.cookie(cookie_name(request, COOKIES)).filter(|token| !token.is_empty()).map(str::to_owned);
    let before = || BETTER_AUTH_COOKIES.iter().find_map(|name| better_auth_token(request.cookie(name)?));
    scripts.or_else(ours).or_else(before).filter(|token| token.len() <= TOKEN_BYTES_MAX)
}

/// The token in a cookie of better-auth. Its signature is not looked at: that there is a session of
/// the token says more.
fn better_auth_token(cookie: &str) -> Option<String> {
    let text = percent_decode_str(cookie).decode_utf8().ok()?;
    let (token, _signature) = text.rsplit_once('.')?;
    (!token.is_empty()).then(|| token.to_owned())
}

/// The cookie of a session.
pub(crate) fn cookie<'a>(request: &Request, token: &'a str) -> Cookie<'a> {
    let max_age = Duration::try_from(SESSION_LIFETIME).unwrap_or_default();
    named_cookie(request, COOKIES, COOKIE_PATH, token, max_age)
}

/// Which of two names a cookie has here. A browser lets no other host of the domain, and no plain
/// connection, set a cookie whose name begins with `__Host-` ([RFC
/// 6265bis](https://datatracker.ietf.org/doc/html/draft-ietf-httpbis-rfc6265bis)).
pub(crate) fn cookie_name(request: &Request, [https, http]: [&'static str; 2]) -> &'static str {
    if request.is_https() { https } else { http }
}

/// A cookie under one of two names. `__Host-` wants the path `/`.
pub(crate) fn named_cookie<'a>(
    request: &Request,
    names: [&'static str; 2],
    path: &'static str,
    value: &'a str,
    max_age: Duration,
) -> Cookie<'a> {
    let is_secure = request.is_https();
    let path = if is_secure { "/" } else { path };
    Cookie { name: cookie_name(request, names), value, path, max_age, is_secure }
}

/// What takes a session's cookies away: ours, and those of before, which lie at another path.
pub(crate) fn expired_cookies(request: &Request) -> [Cookie<'static>; 3] {
    let none = Cookie { max_age: Duration::ZERO, ..cookie(request, "") };
    let before = BETTER_AUTH_COOKIES.map(|name| Cookie { name, path: "/", ..none });
    // A browser takes no change of a `__Secure-` cookie that is not marked so.
    [none, Cookie { is_secure: true, ..before[0] }, before[1]]
}

/// Refuses what another site may have made the browser send along with the user's cookies.
///
/// A form of another site can send a POST, but neither JSON nor CSV; a script of one needs a
/// preflight for anything else, and gets no permission to send cookies. Both are refused here once
/// more by what the browser says of the sender. Cookies are not sent along in the first place
/// (`SameSite`).
pub(crate) fn refuse_other_sites(request: &Request, public_url: Option<&str>) -> Result<(), Problem> {
    let method = request.method();
    if method == "GET" || method == "HEAD" {
        return Ok(());
    }
    if method == "POST" && !["application/json", "text/csv"].contains(&&*request.media_type()) {
        return Err(
            CROSS_SITE_REQUEST.detail("`content-type` has to be `application/json`, or `text/csv` for an import")
        );
    }
    let is_ours = match (request.header("sec-fetch-site"), request.header("origin")) {
        (Some(site), _) => ["same-origin", "none"].contains(&site),
        (None, Some(origin)) => is_this_host(request, public_url, origin),
        // A script, which has no cookies but those that it was given.
        (None, None) => true,
    };
    if is_ours { Ok(()) } else { Err(CROSS_SITE_REQUEST) }
}

/// Whether the browser says that a page of this site asks: for a GET that changes something. A
/// browser that says nothing at all is not believed; on plain http to another machine none sends
/// `Sec-Fetch-Site`, and there the page's own address has to be enough.
pub(crate) fn is_same_site_page(request: &Request, public_url: Option<&str>) -> bool {
    match request.header("sec-fetch-site") {
        Some(site) => site == "same-origin",
        None => {
            let sender = request.header("origin").or_else(|| request.header("referer"));
            sender.is_some_and(|sender| is_this_host(request, public_url, sender))
        }
    }
}

/// Whether an address is of this site: of the host that the request names, or where people find the
/// page.
fn is_this_host(request: &Request, public_url: Option<&str>, address: &str) -> bool {
    let host_of = |url: &str| url.split_once("://").and_then(|(_, rest)| Some(rest.split('/').next()?.to_owned()));
    let host = host_of(address);
    host.is_some() && (host.as_deref() == request.header("host") || host == public_url.and_then(host_of))
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn request(method: &str, headers: Value, cookies: &[&str]) -> Request {
        let event = json!({
            "headers": headers,
            "cookies": cookies,
            "requestContext": { "http": { "method": method } },
        });
        Request::new(serde_json::from_value(event).unwrap_or_else(|error| panic!("{error}")))
    }

    #[test]
    fn a_token_comes_in_the_cookie_of_today_or_of_before_or_in_the_header() {
        for (headers, cookies, expected) in [
            (json!({}), &["__Host-tidemark-session=abc"][..], Some("abc")),
            (json!({}), &["tidemark-session=abc"], None),
            (json!({}), &["tidemark-session=evil", "__Host-tidemark-session=abc"], Some("abc")),
            (json!({}), &["__Host-tidemark-session=abc", "__Host-tidemark-session=other"], None),
            (json!({ "x-forwarded-proto": "http" }), &["tidemark-session=abc"], Some("abc")),
            (json!({ "x-forwarded-proto": "http" }), &["tidemark-session=abc", "tidemark-session=other"], None),
            (json!({}), &["better-auth.session_token=abc.c2ln%3D"], Some("abc")),
            (json!({}), &["__Secure-better-auth.session_token=a.b.c2ln%2B%3D"], Some("a.b")),
            (json!({}), &["__Host-tidemark-session=", "better-auth.session_token=abc.x"], Some("abc")),
            (json!({}), &["better-auth.session_token=abc.x", "__Host-tidemark-session=new"], Some("new")),
            (json!({ "authorization": "Bearer abc" }), &["tidemark-session=other"], Some("abc")),
            (json!({ "authorization": "Basic abc" }), &[], None),
            (json!({}), &["better-auth.session_token=abc", "better-auth.session_token=.x", "session=abc"], None),
            (json!({}), &["better-auth.session_token=%ff.x"], None),
        ] {
            assert_eq!(token(&request("GET", headers, cookies)).as_deref(), expected, "{cookies:?}");
        }
        let long = format!("__Host-tidemark-session={}", "x".repeat(513));
        assert_eq!(token(&request("GET", json!({}), &[&long])), None);
    }

    #[test]
    fn a_login_is_linked_only_from_the_page() {
        let public = Some("https://okusuri.example");
        for (headers, is_fine) in [
            (json!({ "sec-fetch-site": "same-origin" }), true),
            (json!({ "sec-fetch-site": "same-site" }), false),
            (json!({ "sec-fetch-site": "none" }), false),
            (json!({ "sec-fetch-site": "cross-site", "referer": "https://okusuri.example/" }), false),
            (json!({}), false),
            (json!({ "referer": "https://okusuri.example/okusuri/?view=settings" }), true),
            (json!({ "referer": "http://192.168.0.2:3000/okusuri/", "host": "192.168.0.2:3000" }), true),
            (json!({ "referer": "https://evil.example/okusuri.example/" }), false),
            (json!({ "origin": "https://evil.example", "referer": "https://okusuri.example/" }), false),
        ] {
            assert_eq!(is_same_site_page(&request("GET", headers.clone(), &[]), public), is_fine, "{headers}");
        }
    }

    #[test]
    fn what_another_site_may_have_sent_is_refused() {
        let json = "application/json; charset=utf-8";
        let public = Some("https://okusuri.example/okusuri/");
        for (method, headers, is_fine) in [
            ("GET", json!({ "origin": "https://evil.example" }), true),
            ("POST", json!({ "content-type": json }), true),
            ("POST", json!({ "content-type": "text/csv" }), true),
            ("POST", json!({}), false),
            ("POST", json!({ "content-type": "text/plain" }), false),
            ("POST", json!({ "content-type": "application/x-www-form-urlencoded" }), false),
            ("PUT", json!({}), true),
            ("DELETE", json!({ "origin": "https://evil.example", "host": "a.example" }), false),
            ("DELETE", json!({ "origin": "null", "host": "a.example" }), false),
            ("DELETE", json!({ "origin": "https://a.example.evil", "host": "a.example" }), false),
            ("DELETE", json!({ "origin": "https://a.example", "host": "a.example" }), true),
            ("DELETE", json!({ "origin": "http://localhost:3000", "host": "localhost:3000" }), true),
            // Behind CloudFront the host is API Gateway's.
            ("DELETE", json!({ "origin": "https://okusuri.example", "host": "x.execute-api" }), true),
            ("PUT", json!({ "sec-fetch-site": "same-origin", "origin": "https://b", "host": "x.execute-api" }), true),
            ("PUT", json!({ "sec-fetch-site": "cross-site", "origin": "https://a", "host": "a" }), false),
            ("PUT", json!({ "sec-fetch-site": "same-site" }), false),
        ] {
            let outcome = refuse_other_sites(&request(method, headers.clone(), &[]), public);
            assert_eq!(outcome.is_ok(), is_fine, "{method} {headers}");
        }
    }
}
