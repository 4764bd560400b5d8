//! `GET /okusuri/api/sign-in/providers`, `GET /okusuri/api/sign-in/oauth/{provider}` and its
//! callback.

use std::time::Duration;

use lambda_kit::http::{Cookie, Reply, Request, invalid_parameter};
use lambda_kit::problem::Problem;
use okusuri_store::{LinkOutcome, LoginError, OAUTH_ATTEMPT_LIFETIME, OauthAttempt, SignInError};
use openidconnect::RedirectUrl;
use serde_json::{Value, json};
use subtle::ConstantTimeEq;

use super::provider::ProviderError;
use super::time_zone;
use crate::Okusuri;
use crate::problems::{NOT_SIGNED_IN, PROVIDER_NOT_FOUND, store_problem};
use crate::session::{self, cookie, is_same_site_page};

/// The cookies that bind an attempt to the browser that began it; see [`session::cookie_name`].
/// Without them, an attacker could send a victim the callback address of the attacker's own
/// attempt, and the victim would be signed in as the attacker.
const COOKIES: [&str; 2] = ["__Host-tidemark-okusuri-oauth", "tidemark-okusuri-oauth"];

/// The path of the routes, and of the cookie over plain http.
const PATH: &str = "/okusuri/api/sign-in/oauth";

/// The page; a user may be sent back only to paths below it.
const PAGE: &str = "/okusuri/";

/// The longest return page, code or state that is accepted.
const TEXT_BYTES_MAX: usize = 2_048;

/// The error that the page reads from `#error=<this>`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum OauthRefusal {
    /// The user or the provider refused.
    Declined,
    /// The attempt is unknown in this browser: too old, already used, or begun in another browser.
    UnknownAttempt,
    /// The provider's answer is not valid.
    InvalidAnswer,
    /// The provider does not answer.
    Unavailable,
    /// The address belongs to another user.
    NotLinked,
    /// The login belongs to another user.
    Taken,
    /// Linking a login needs a signed-in user, and the same session as at the beginning.
    NotSignedIn,
}

impl OauthRefusal {
    fn as_str(self) -> &'static str {
        match self {
            Self::Declined => "sign-in-declined",
            Self::UnknownAttempt => "sign-in-expired",
            Self::InvalidAnswer => "provider-answer-invalid",
            Self::Unavailable => "provider-unavailable",
            Self::NotLinked => "account-not-linked",
            Self::Taken => "account-taken",
            Self::NotSignedIn => "not-signed-in",
        }
    }
}

/// Why a callback did not succeed.
enum CallbackFailure {
    Refused(OauthRefusal),
    Problem(Problem),
}

impl From<OauthRefusal> for CallbackFailure {
    fn from(refused: OauthRefusal) -> Self {
        Self::Refused(refused)
    }
}

impl From<Problem> for CallbackFailure {
    fn from(problem: Problem) -> Self {
        Self::Problem(problem)
    }
}

impl From<ProviderError> for CallbackFailure {
    fn from(error: ProviderError) -> Self {
        match error {
            ProviderError::Unavailable(_) => {
                tracing::error!(%error);
                OauthRefusal::Unavailable
            }
            ProviderError::Invalid(_) => {
                tracing::warn!(%error);
                OauthRefusal::InvalidAnswer
            }
        }
        .into()
    }
}

/// The providers that the page offers.
pub(crate) fn providers(okusuri: &Okusuri) -> Reply {
    let items: Vec<Value> =
        okusuri.providers.list().iter().map(|provider| json!({ "id": provider.id, "name": provider.name })).collect();
    Reply::json(200, &json!({ "items": items }))
}

/// Redirects the browser to a provider.
pub(crate) async fn start_oauth(okusuri: &Okusuri, request: &Request) -> Result<Reply, Problem> {
    let provider = okusuri.providers.find(request.path_parameter("provider")).ok_or(PROVIDER_NOT_FOUND)?;
    let return_to = request.query("returnTo").map(checked_return_page).transpose()?;
    let time_zone = request.query("timeZone").and_then(time_zone).map(|(_, name)| name);
    let state = okusuri.random_text();
    let link_to = match request.query("link") {
        None => None,
        // A link on another site or in a mail must not link a login to the user.
        Some(_) if !is_same_site_page(request, okusuri.public_url.as_deref()) => {
            return Ok(error_redirect(okusuri, request, OauthRefusal::NotSignedIn));
        }
        Some(_) => match okusuri.user(request).await {
            Ok(signed_in) => Some(OauthAttempt::link_to(&state, &signed_in.session.session_id)),
            Err(problem) if problem == NOT_SIGNED_IN => {
                return Ok(error_redirect(okusuri, request, OauthRefusal::NotSignedIn));
            }
            Err(problem) => return Err(problem),
        },
    };
    let redirect = redirect_url(okusuri, request, &provider.id)?;
    let authorization = match okusuri.providers.authorization_request(provider, redirect, state.clone()).await {
        Ok(authorization) => authorization,
        Err(error) => {
            tracing::error!(%error);
            return Ok(error_redirect(okusuri, request, OauthRefusal::Unavailable));
        }
    };
    let (nonce, verifier) = (authorization.nonce, authorization.verifier);
    let attempt = OauthAttempt { provider: provider.id.clone(), nonce, verifier, return_to, time_zone, link_to };
    okusuri.attempts.begin(&state, attempt, (okusuri.now)()).await.map_err(store_problem)?;
    Ok(Reply::redirect(&authorization.url).cookie(&attempt_cookie(request, &state)))
}

/// Signs in, or links, the user who returns from a provider.
pub(crate) async fn oauth_callback(okusuri: &Okusuri, request: &Request) -> Result<Reply, Problem> {
    let gone = Cookie { max_age: Duration::ZERO, ..attempt_cookie(request, "") };
    match finish_sign_in(okusuri, request).await {
        Ok(reply) => Ok(reply.cookie(&gone)),
        Err(CallbackFailure::Refused(why)) => Ok(error_redirect(okusuri, request, why).cookie(&gone)),
        Err(CallbackFailure::Problem(problem)) => Err(problem),
    }
}

async fn finish_sign_in(okusuri: &Okusuri, request: &Request) -> Result<Reply, CallbackFailure> {
    let provider = okusuri.providers.find(request.path_parameter("provider")).ok_or(PROVIDER_NOT_FOUND)?;
    let short = |name| request.query(name).filter(|text| text.len() <= TEXT_BYTES_MAX);
    let state = short("state").ok_or(OauthRefusal::UnknownAttempt)?;
    let is_this_browsers = request
        .cookie(session::cookie_name(request, COOKIES))
        .is_some_and(|cookie| cookie.as_bytes().ct_eq(state.as_bytes()).into());
    if !is_this_browsers {
        return Err(OauthRefusal::UnknownAttempt.into());
    }
    let now = (okusuri.now)();
    let attempt =
        okusuri.attempts.take(state, now).await.map_err(store_problem)?.ok_or(OauthRefusal::UnknownAttempt)?;
    // Refuses the answer of another provider, and an answer that names another issuer (RFC 9207).
    let is_other_issuer = request.query("iss").is_some_and(|issuer| issuer != provider.issuer);
    if attempt.provider != provider.id || is_other_issuer {
        return Err(OauthRefusal::InvalidAnswer.into());
    }
    if request.query("error").is_some() {
        return Err(OauthRefusal::Declined.into());
    }
    let code = short("code").ok_or(OauthRefusal::InvalidAnswer)?.to_owned();
    let redirect = redirect_url(okusuri, request, &provider.id)?;
    let OauthAttempt { nonce, verifier, return_to, time_zone, link_to, .. } = attempt;
    let verified = okusuri.providers.verify_callback(provider, redirect, code, nonce, &verifier, now).await?;
    let page = format!("{}{}", origin(okusuri, request), return_to.as_deref().unwrap_or(PAGE));
    if let Some(link_to) = link_to {
        let signed_in = match okusuri.user(request).await {
            Ok(signed_in) if OauthAttempt::link_to(state, &signed_in.session.session_id) == link_to => signed_in,
            Ok(_) => return Err(OauthRefusal::NotSignedIn.into()),
            Err(problem) if problem == NOT_SIGNED_IN => return Err(OauthRefusal::NotSignedIn.into()),
            Err(problem) => return Err(problem.into()),
        };
        let linked = okusuri
            .sign_ins
            .link(&signed_in.user, &verified.login, &okusuri.vault, now)
            .await
            .map_err(store_problem)?;
        return match linked {
            LinkOutcome::Yes => Ok(Reply::redirect(&page)),
            LinkOutcome::Taken => Err(OauthRefusal::Taken.into()),
            LinkOutcome::NoUser => Err(OauthRefusal::NotSignedIn.into()),
        };
    }
    let new = okusuri.new_user(verified.name, time_zone.as_deref())?;
    let (token, session) = okusuri.new_session(request);
    match okusuri.sign_ins.with_login(&verified.login, &okusuri.vault, &new, &session, now).await {
        Ok(_) => Ok(Reply::redirect(&page).cookie(&cookie(request, &token))),
        Err(LoginError::NotLinked) => Err(OauthRefusal::NotLinked.into()),
        Err(LoginError::SignIn(SignInError::Deleting(user_id))) => {
            // Finishes the earlier deletion first; the next attempt creates a new user.
            okusuri.finish_deleting(&user_id).await?;
            Err(OauthRefusal::UnknownAttempt.into())
        }
        Err(LoginError::SignIn(error)) => Err(super::email::sign_in_problem(error).into()),
    }
}

fn attempt_cookie<'a>(request: &Request, state: &'a str) -> Cookie<'a> {
    let max_age = Duration::try_from(OAUTH_ATTEMPT_LIFETIME).unwrap_or_default();
    session::named_cookie(request, COOKIES, PATH, state, max_age)
}

/// Redirects to the page, which shows the error. Browsers do not send a fragment to a server.
fn error_redirect(okusuri: &Okusuri, request: &Request, why: OauthRefusal) -> Reply {
    Reply::redirect(&format!("{}{PAGE}#error={}", origin(okusuri, request), why.as_str()))
}

/// The public address of the page, such as `https://example.com`.
fn origin(okusuri: &Okusuri, request: &Request) -> String {
    let scheme = if request.is_https() { "https" } else { "http" };
    let of_host = || format!("{scheme}://{}", request.header("host").unwrap_or_default());
    okusuri.public_url.clone().unwrap_or_else(of_host)
}

fn redirect_url(okusuri: &Okusuri, request: &Request, provider: &str) -> Result<RedirectUrl, Problem> {
    let url = format!("{}{PATH}/{provider}/callback", origin(okusuri, request));
    RedirectUrl::new(url).map_err(|error| invalid_parameter("host", error))
}

/// The page to return to: a path below [`PAGE`] that no browser could take for another site.
fn checked_return_page(text: &str) -> Result<String, Problem> {
    let is_plain = |char: char| char.is_ascii_graphic() && !"\\\"<>^`{|}".contains(char);
    let is_ours = text.starts_with(PAGE) && !text.contains("//") && !text.contains("..");
    if is_ours && text.len() <= TEXT_BYTES_MAX && text.chars().all(is_plain) {
        Ok(text.to_owned())
    } else {
        Err(invalid_parameter("returnTo", format!("expected a path below `{PAGE}`")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_our_own_pages_are_return_pages() {
        for text in ["/okusuri/", "/okusuri/?a=b#settings", "/okusuri/index.html"] {
            assert_eq!(checked_return_page(text).as_deref(), Ok(text));
        }
        for text in [
            "",
            "/",
            "/game/",
            "//evil.example/okusuri/",
            "https://evil.example/okusuri/",
            "/okusuri/../game/",
            "/okusuri//evil",
            "/okusuri/\r\nset-cookie: a=b",
            "/okusuri/\\evil",
            "okusuri/",
            "/okusurix",
        ] {
            assert_eq!(
                checked_return_page(text).map_err(|problem| problem.name()),
                Err("invalid-parameter"),
                "{text:?}"
            );
        }
    }
}
