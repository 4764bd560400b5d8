//! Sessions, and the checks that a request was not caused by another site.

use std::time::Duration;

use domain::UserId;
use domain::okusuri::Email;
use jiff::Timestamp;
use jiff::civil::Date;
use jiff::tz::TimeZone;
use lambda_kit::bearer;
use lambda_kit::http::{Cookie, Request};
use lambda_kit::problem::{INTERNAL, Problem};
use okusuri_store::rows::{Session, User};
use okusuri_store::{Logs, NewSession, SESSION_LIFETIME, sha256_hex};
use percent_encoding::percent_decode_str;
use subtle::ConstantTimeEq as _;

use crate::Okusuri;
use crate::problems::{CROSS_SITE_REQUEST, NOT_SIGNED_IN, store_problem};

/// The cookies of a session's token: over https, and over plain http on a development machine.
const COOKIES: [&str; 2] = ["__Host-tidemark-session", "tidemark-session"];

/// The cookies of a device that has signed in to a mailbox, for as long as browsers keep a cookie.
const DEVICE_COOKIES: [&str; 2] = ["__Host-tidemark-device", "tidemark-device"];
const DEVICE_LIFETIME: Duration = Duration::from_secs(400 * 24 * 60 * 60);

/// The cookies of better-auth, which managed the sessions before the migration:
/// `<token>.<signature>`. Another host of the domain can set them. So one counts only for a
/// migrated session, once, and not beside a token of ours.
const BETTER_AUTH_COOKIES: [&str; 2] = ["__Secure-better-auth.session_token", "better-auth.session_token"];

/// The cookies' path: browsers send them to this system and not to other pages of the suite.
pub(crate) const COOKIE_PATH: &str = "/okusuri";

/// The number of characters of a `User-Agent` that are stored.
const USER_AGENT_CHARS_MAX: usize = 200;

/// The longest token that is looked up.
const TOKEN_BYTES_MAX: usize = 512;

/// The length of our tokens; those of better-auth have 32 characters.
const TOKEN_BYTES: usize = 43;

/// The signed-in user.
#[derive(Debug, Clone)]
pub(crate) struct SignedIn {
    pub(crate) id: UserId,
    pub(crate) user: User,
    pub(crate) session: Session,
    pub(crate) time_zone: TimeZone,
}

impl SignedIn {
    /// Today's date in the user's time zone.
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
    /// The signed-in user, found by the request's token.
    pub(crate) async fn user(&self, request: &Request) -> Result<SignedIn, Problem> {
        let token = token(request).ok_or(NOT_SIGNED_IN)?;
        let found = self.sessions.of_token(&token, (self.now)()).await.map_err(store_problem)?;
        let (session, user) = found.ok_or(NOT_SIGNED_IN)?;
        SignedIn::new(session, user)
    }

    /// The same, also while the user's data is being deleted.
    pub(crate) async fn user_even_deleting(&self, request: &Request) -> Result<SignedIn, Problem> {
        let token = token(request).ok_or(NOT_SIGNED_IN)?;
        let found = self.sessions.of_token_even_deleting(&token, (self.now)()).await.map_err(store_problem)?;
        let (session, user) = found.ok_or(NOT_SIGNED_IN)?;
        SignedIn::new(session, user)
    }

    /// The logs under the user's regimen.
    pub(crate) fn logs_of(&self, signed_in: &SignedIn) -> Logs {
        self.logs.under(signed_in.user.regimen.unwrap_or_default())
    }

    /// The user of a migrated session, and the token that replaces the one in better-auth's cookie.
    pub(crate) async fn migrated_user(&self, request: &Request) -> Result<(SignedIn, String), Problem> {
        let former = migrated_token(request).ok_or(NOT_SIGNED_IN)?;
        let found = self.sessions.of_token(&former, (self.now)()).await.map_err(store_problem)?;
        let (session, user) = found.ok_or(NOT_SIGNED_IN)?;
        let token = self.random_text();
        let exchanged = self.sessions.exchange(session, sha256_hex(token.as_bytes()), (self.now)()).await;
        let session = exchanged.map_err(store_problem)?.ok_or(NOT_SIGNED_IN)?;
        Ok((SignedIn::new(session, user)?, token))
    }

    /// A new session for the sender of a request, and its token. Only the token's hash is stored.
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

/// The token of a request: from a script's `Authorization` header or from a browser's cookie.
pub(crate) fn token(request: &Request) -> Option<String> {
    let scripts = request.header("authorization").and_then(bearer::token).map(str::to_owned);
    let ours = || request.cookie(cookie_name(request, COOKIES)).filter(|token| !token.is_empty()).map(str::to_owned);
    scripts.or_else(ours).filter(|token| token.len() <= TOKEN_BYTES_MAX)
}

/// The token in a cookie of better-auth, unless it is one of ours. The signature is not checked,
/// because this service does not know better-auth's key.
fn migrated_token(request: &Request) -> Option<String> {
    let cookie = BETTER_AUTH_COOKIES.iter().find_map(|name| request.cookie(name))?;
    let text = percent_decode_str(cookie).decode_utf8().ok()?;
    let (token, _signature) = text.rsplit_once('.')?;
    let is_migrated = (1..=TOKEN_BYTES_MAX).contains(&token.len()) && token.len() != TOKEN_BYTES;
    is_migrated.then(|| token.to_owned())
}

/// The cookie of a session.
pub(crate) fn cookie<'a>(request: &Request, token: &'a str) -> Cookie<'a> {
    let max_age = Duration::try_from(SESSION_LIFETIME).unwrap_or_default();
    named_cookie(request, COOKIES, COOKIE_PATH, token, max_age)
}

/// Whether the device has signed in to this mailbox before. The cookie opens nothing: such a device
/// is only not locked by the guesses of others.
pub(crate) fn is_known_device(okusuri: &Okusuri, request: &Request, email: &Email) -> bool {
    let mark = okusuri.vault.device_mark(email);
    let cookie = request.cookie(cookie_name(request, DEVICE_COOKIES));
    cookie.is_some_and(|cookie| cookie.as_bytes().ct_eq(mark.as_bytes()).into())
}

/// The cookie of a device that has signed in to a mailbox.
pub(crate) fn device_cookie<'a>(request: &Request, mark: &'a str) -> Cookie<'a> {
    named_cookie(request, DEVICE_COOKIES, COOKIE_PATH, mark, DEVICE_LIFETIME)
}

/// The name of a cookie for this request's scheme. No other host of the domain, and no plain
/// connection, can set a cookie whose name begins with `__Host-` ([RFC
/// 6265bis](https://datatracker.ietf.org/doc/html/draft-ietf-httpbis-rfc6265bis)).
pub(crate) fn cookie_name(request: &Request, [https, http]: [&'static str; 2]) -> &'static str {
    if request.is_https() { https } else { http }
}

/// A cookie under one of two names. The prefix `__Host-` requires the path `/`.
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

/// Expires a session's cookies: ours and those of better-auth.
pub(crate) fn expired_cookies(request: &Request) -> [Cookie<'static>; 3] {
    let [secure, plain] = expired_better_auth_cookies();
    [Cookie { max_age: Duration::ZERO, ..cookie(request, "") }, secure, plain]
}

/// Expires the cookies of better-auth, which have another path than ours.
pub(crate) fn expired_better_auth_cookies() -> [Cookie<'static>; 2] {
    // A browser ignores a change of a `__Secure-` cookie that is not marked as secure.
    BETTER_AUTH_COOKIES.map(|name| {
        let is_secure = name.starts_with("__Secure-");
        Cookie { name, value: "", path: "/", max_age: Duration::ZERO, is_secure }
    })
}

/// Refuses requests that another site may have caused, with the user's cookies attached.
///
/// A form of another site can send a POST, but neither JSON nor CSV. A script of another site needs
/// a preflight for other requests, and is not allowed to send cookies. The browser's own statement
/// about the sender is checked in addition. And `SameSite` keeps browsers from attaching the
/// cookies at all.
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
        // A script without a browser, which has only the cookies that it was given.
        (None, None) => true,
    };
    if is_ours { Ok(()) } else { Err(CROSS_SITE_REQUEST) }
}

/// Whether the browser confirms that a page of this site sent the request. Needed for a GET that
/// changes something. A request without any such header is refused. Over plain http to another
/// machine, browsers send no `Sec-Fetch-Site`; there the page's own address is accepted.
pub(crate) fn is_same_site_page(request: &Request, public_url: Option<&str>) -> bool {
    match request.header("sec-fetch-site") {
        Some(site) => site == "same-origin",
        None => {
            let sender = request.header("origin").or_else(|| request.header("referer"));
            sender.is_some_and(|sender| is_this_host(request, public_url, sender))
        }
    }
}

/// Whether an address belongs to this site: its host is the request's host, or that of the public
/// address.
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
    fn a_token_is_read_from_our_cookie_or_the_header() {
        for (headers, cookies, expected) in [
            (json!({}), &["__Host-tidemark-session=abc"][..], Some("abc")),
            (json!({}), &["tidemark-session=abc"], None),
            (json!({}), &["tidemark-session=evil", "__Host-tidemark-session=abc"], Some("abc")),
            (json!({}), &["__Host-tidemark-session=abc", "__Host-tidemark-session=other"], None),
            (json!({ "x-forwarded-proto": "http" }), &["tidemark-session=abc"], Some("abc")),
            (json!({ "x-forwarded-proto": "http" }), &["tidemark-session=abc", "tidemark-session=other"], None),
            (json!({}), &["better-auth.session_token=abc.x"], None),
            (json!({}), &["__Secure-better-auth.session_token=abc.x"], None),
            (json!({}), &["better-auth.session_token=abc.x", "__Host-tidemark-session=new"], Some("new")),
            (json!({ "authorization": "Bearer abc" }), &["tidemark-session=other"], Some("abc")),
            (json!({ "authorization": "Basic abc" }), &[], None),
            (json!({}), &["session=abc"], None),
        ] {
            assert_eq!(token(&request("GET", headers, cookies)).as_deref(), expected, "{cookies:?}");
        }
        let long = format!("__Host-tidemark-session={}", "x".repeat(513));
        assert_eq!(token(&request("GET", json!({}), &[&long])), None);
    }

    #[test]
    fn the_cookie_of_a_migrated_session_never_holds_our_token() {
        let ours = format!("{}.x", "t".repeat(43));
        for (value, expected) in [
            ("abc.c2ln%3D", Some("abc")),
            ("a.b.c2ln%2B%3D", Some("a.b")),
            (ours.as_str(), None),
            ("abc", None),
            (".x", None),
            ("%ff.x", None),
        ] {
            for name in BETTER_AUTH_COOKIES {
                let request = request("GET", json!({}), &[&format!("{name}={value}")]);
                assert_eq!(migrated_token(&request).as_deref(), expected, "{name}={value}");
            }
        }
    }

    #[test]
    fn same_site_request_comes_from_the_suites_own_page() {
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
    fn a_request_that_another_site_may_have_caused_is_refused() {
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
            // Behind CloudFront, the host is API Gateway's.
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
