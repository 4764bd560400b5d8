//! OpenID providers: where one is sent to, and what is believed of what comes back
//! ([OpenID Connect Core](https://openid.net/specs/openid-connect-core-1_0.html), 3.1).

use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;
use std::time::{Duration, Instant};

use domain::okusuri::Email;
use jiff::{SignedDuration, Timestamp};
use lambda_kit::outbound::{Limits, Outbound, OutboundError};
use openidconnect::core::{
    CoreAuthenticationFlow, CoreClient, CoreJwsSigningAlgorithm as Algorithm, CoreProviderMetadata, CoreUserInfoClaims,
};
use openidconnect::{
    AccessTokenHash, AuthorizationCode, ClaimsVerificationError, ClientId, ClientSecret, CsrfToken, DiscoveryError,
    HttpRequest, HttpResponse, IssuerUrl, Nonce, OAuth2TokenResponse, PkceCodeChallenge, PkceCodeVerifier, RedirectUrl,
    RequestTokenError, Scope, SignatureVerificationError, TokenResponse,
};
use secrecy::{ExposeSecret, SecretString};
use serde::Deserialize;
use store::okusuri::Login;
use tokio::sync::Mutex;

use crate::me::NAME_CHARS_MAX;

/// How long what a provider says of itself is believed without asking again. Keys that are new are asked for at once.
const METADATA_LIFETIME: Duration = Duration::from_secs(60 * 60);

/// How often at most a provider is asked for new keys, whatever key an ID token names.
const METADATA_REFRESH_MIN: Duration = Duration::from_secs(60);

/// What one request to a provider may take. A sign-in makes up to four, within the 29 seconds of API Gateway.
const LIMITS: Limits = Limits { time: Duration::from_secs(6), body_bytes_max: 512 * 1024 };

/// The longest `sub` there is.
const SUBJECT_BYTES_MAX: usize = 255;

/// How an ID token may be signed: by a key that only the provider has. Not with the client's secret, which both have, and never not at all.
const ALGORITHMS: [Algorithm; 7] = [
    Algorithm::RsaSsaPkcs1V15Sha256,
    Algorithm::RsaSsaPkcs1V15Sha384,
    Algorithm::RsaSsaPkcs1V15Sha512,
    Algorithm::RsaSsaPssSha256,
    Algorithm::EcdsaP256Sha256,
    Algorithm::EcdsaP384Sha384,
    Algorithm::EdDsa,
];

/// A provider as the environment names it.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct Provider {
    /// What it is called in addresses and keys: lower-case letters, digits and `-`.
    pub id: String,
    /// What it is called on the page.
    pub name: String,
    /// Where its configuration is found: `https://accounts.example.com`.
    pub issuer: String,
    /// Who this service is there.
    pub client_id: String,
    /// Its proof, unless PKCE alone is.
    pub client_secret: Option<SecretString>,
    /// What is asked for beside `openid`: `email` and `profile` unless set.
    #[serde(default = "scopes")]
    pub scopes: Vec<String>,
}

fn scopes() -> Vec<String> {
    ["email", "profile"].map(str::to_owned).to_vec()
}

impl Provider {
    /// Providers out of a JSON array; none when something is wrong with one of them.
    pub fn list(text: &str) -> Option<Vec<Self>> {
        let providers: Vec<Self> = serde_json::from_str(text).ok()?;
        let ids: HashSet<_> = providers.iter().map(|provider| &provider.id).collect();
        let is_id = |id: &str| {
            (1..=32).contains(&id.len()) && id.bytes().all(|b| matches!(b, b'a'..=b'z' | b'0'..=b'9' | b'-'))
        };
        let is_fine = |provider: &Self| is_id(&provider.id) && IssuerUrl::new(provider.issuer.clone()).is_ok();
        (ids.len() == providers.len() && providers.iter().all(is_fine)).then_some(providers)
    }
}

/// Why nobody comes in by a provider.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ProviderError {
    /// It does not answer, or says of itself what cannot be.
    #[error("the provider cannot be reached: {0}")]
    Unavailable(String),
    /// Its answer proves nothing.
    #[error("the provider's answer is not valid: {0}")]
    Invalid(String),
}

/// Where the browser goes, and what has to be remembered of it.
#[derive(Debug)]
pub(crate) struct AuthorizationRequest {
    pub(crate) url: String,
    pub(crate) nonce: String,
    pub(crate) verifier: SecretString,
}

/// Somebody who is known to the provider.
#[derive(Debug)]
pub(crate) struct VerifiedLogin {
    pub(crate) login: Login,
    pub(crate) name: Option<String>,
}

/// The providers, and what they last said of themselves: once for each instance of the function and hour.
#[derive(Debug, Clone)]
pub(crate) struct Providers {
    list: Arc<[Provider]>,
    outbound: Outbound,
    metadata: Arc<Mutex<BTreeMap<String, (Instant, CoreProviderMetadata)>>>,
}

impl Providers {
    pub(crate) fn new(list: Vec<Provider>, outbound: Outbound) -> Self {
        Self { list: list.into(), outbound, metadata: Arc::default() }
    }

    pub(crate) fn list(&self) -> &[Provider] {
        &self.list
    }

    pub(crate) fn find(&self, id: &str) -> Option<&Provider> {
        self.list.iter().find(|provider| provider.id == id)
    }

    /// Where to send the browser, which is to come back to `redirect` with `state`.
    pub(crate) async fn authorization_request(
        &self,
        provider: &Provider,
        redirect: RedirectUrl,
        state: String,
    ) -> Result<AuthorizationRequest, ProviderError> {
        let metadata = self.metadata(provider, METADATA_LIFETIME).await?;
        let (challenge, verifier) = PkceCodeChallenge::new_random_sha256();
        let client = client(metadata, provider).set_redirect_uri(redirect);
        let flow = CoreAuthenticationFlow::AuthorizationCode;
        let mut request = client.authorize_url(flow, || CsrfToken::new(state), Nonce::new_random);
        for scope in &provider.scopes {
            request = request.add_scope(Scope::new(scope.clone()));
        }
        let (url, _, nonce) = request.set_pkce_challenge(challenge).url();
        let verifier = SecretString::from(verifier.secret().as_str());
        Ok(AuthorizationRequest { url: url.into(), nonce: nonce.secret().clone(), verifier })
    }

    /// Who came back with `code`. What is believed: an ID token of this issuer for this client with this attempt's nonce, not expired, signed by one of
    /// the issuer's keys.
    pub(crate) async fn verify_callback(
        &self,
        provider: &Provider,
        redirect: RedirectUrl,
        code: String,
        nonce: String,
        verifier: &SecretString,
        now: Timestamp,
    ) -> Result<VerifiedLogin, ProviderError> {
        let http = self.http();
        let metadata = self.metadata(provider, METADATA_LIFETIME).await?;
        let known = client(metadata, provider).set_redirect_uri(redirect);
        let request = known.exchange_code(AuthorizationCode::new(code)).map_err(unavailable)?;
        let verifier = PkceCodeVerifier::new(verifier.expose_secret().to_owned());
        let tokens = request.set_pkce_verifier(verifier).request_async(&http).await.map_err(|error| match error {
            RequestTokenError::Request(error) => unavailable(error),
            RequestTokenError::ServerResponse(_) => ProviderError::Invalid("it refuses the code".to_owned()),
            RequestTokenError::Parse(error, _) => ProviderError::Invalid(error.to_string()),
            RequestTokenError::Other(error) => ProviderError::Invalid(error),
        })?;
        let id_token = tokens.id_token().ok_or_else(|| ProviderError::Invalid("no ID token".to_owned()))?;
        let (nonce, mut known) = (Nonce::new(nonce), known);
        let mut is_refreshed = false;
        loop {
            let id_verifier = known.id_token_verifier().set_allowed_algs(ALGORITHMS);
            match id_token.claims(&id_verifier, &nonce) {
                Ok(claims) => {
                    // The access token has to be the one that the ID token was made with.
                    if let Some(expected) = claims.access_token_hash() {
                        let algorithm = id_token.signing_alg().map_err(invalid)?;
                        let key = id_token.signing_key(&id_verifier).map_err(invalid)?;
                        let found =
                            AccessTokenHash::from_token(tokens.access_token(), algorithm, key).map_err(invalid)?;
                        if found != *expected {
                            return Err(ProviderError::Invalid("another access token".to_owned()));
                        }
                    }
                    let mut email = claims.email().map(|email| email.to_string());
                    let mut is_verified = claims.email_verified() == Some(true);
                    let mut name = claims.name().and_then(|name| name.get(None)).map(|name| name.to_string());
                    // Many say more of the user only when they are asked with the access token. The answer has to be of the same subject.
                    if email.is_none() && known.user_info_url().is_some() {
                        let subject = Some(claims.subject().clone());
                        let asked = known.user_info(tokens.access_token().clone(), subject).map_err(unavailable)?;
                        let user: CoreUserInfoClaims =
                            asked.request_async(&http).await.map_err(|error| match error {
                                openidconnect::UserInfoError::Request(error) => unavailable(error),
                                error => invalid(error),
                            })?;
                        email = user.email().map(|email| email.to_string());
                        is_verified = user.email_verified() == Some(true);
                        name = name.or_else(|| Some(user.name()?.get(None)?.to_string()));
                    }
                    // OpenID Connect Core 1.0, section 2.
                    if claims.subject().is_empty() || claims.subject().len() > SUBJECT_BYTES_MAX {
                        return Err(ProviderError::Invalid("the subject is empty or too long".to_owned()));
                    }
                    let plain =
                        |name: String| name.chars().filter(|char| !char.is_control()).take(NAME_CHARS_MAX).collect();
                    let name = name.map(plain);
                    let secret = |text: &str| Some(SecretString::from(text));
                    let lifetime = tokens.expires_in().and_then(|lifetime| SignedDuration::try_from(lifetime).ok());
                    let scopes = tokens.scopes().map(|scopes| scopes.iter().map(|scope| scope.as_str()));
                    let login = Login {
                        provider: provider.id.clone(),
                        subject: claims.subject().to_string(),
                        verified_email: email.filter(|_| is_verified).and_then(|email| Email::new(&email).ok()),
                        access_token: secret(tokens.access_token().secret()),
                        refresh_token: tokens.refresh_token().and_then(|token| secret(token.secret())),
                        id_token: secret(&id_token.to_string()),
                        access_token_expires_at: lifetime.and_then(|lifetime| now.checked_add(lifetime).ok()),
                        scope: scopes.map(|scopes| scopes.collect::<Vec<_>>().join(" ")),
                    };
                    return Ok(VerifiedLogin { login, name });
                }
                // The provider may have new keys since it was asked.
                Err(ClaimsVerificationError::SignatureVerification(SignatureVerificationError::NoMatchingKey))
                    if !is_refreshed =>
                {
                    is_refreshed = true;
                    drop(id_verifier);
                    let metadata = self.metadata(provider, METADATA_REFRESH_MIN).await?;
                    known = client(metadata, provider);
                }
                Err(error) => return Err(invalid(error)),
            }
        }
    }

    /// What a provider says of itself, not older than `age`.
    async fn metadata(&self, provider: &Provider, age: Duration) -> Result<CoreProviderMetadata, ProviderError> {
        let mut known = self.metadata.lock().await;
        if let Some((at, metadata)) = known.get(&provider.id)
            && at.elapsed() < age
        {
            return Ok(metadata.clone());
        }
        let issuer = IssuerUrl::new(provider.issuer.clone()).map_err(unavailable)?;
        // The issuer in the answer has to be this one.
        let found = CoreProviderMetadata::discover_async(issuer, &self.http()).await.map_err(|error| match error {
            DiscoveryError::Request(error) => unavailable(error),
            error => unavailable(error),
        })?;
        known.insert(provider.id.clone(), (Instant::now(), found.clone()));
        Ok(found)
    }

    /// The client of the library's, over requests that go to public addresses alone, follow nothing and end in time.
    fn http(&self) -> impl Fn(HttpRequest) -> HttpFuture + use<> {
        let outbound = self.outbound.clone();
        move |request| {
            let outbound = outbound.clone();
            Box::pin(async move {
                let answer = outbound.send(request.map(Into::into), LIMITS).await?;
                Ok(answer.map(Into::into))
            })
        }
    }
}

type HttpFuture = std::pin::Pin<Box<dyn Future<Output = Result<HttpResponse, OutboundError>> + Send>>;

fn unavailable(error: impl std::fmt::Display) -> ProviderError {
    ProviderError::Unavailable(error.to_string())
}

fn invalid(error: impl std::fmt::Display) -> ProviderError {
    ProviderError::Invalid(error.to_string())
}

type Known = CoreClient<
    openidconnect::EndpointSet,
    openidconnect::EndpointNotSet,
    openidconnect::EndpointNotSet,
    openidconnect::EndpointNotSet,
    openidconnect::EndpointMaybeSet,
    openidconnect::EndpointMaybeSet,
>;

fn client(metadata: CoreProviderMetadata, provider: &Provider) -> Known {
    let secret = provider.client_secret.as_ref().map(|secret| ClientSecret::new(secret.expose_secret().to_owned()));
    CoreClient::from_provider_metadata(metadata, ClientId::new(provider.client_id.clone()), secret)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn providers_are_named_in_the_environment_or_refused_there() {
        let one = r#"{"id":"google","name":"Google","issuer":"https://accounts.google.com","clientId":"c","clientSecret":"s"}"#;
        let providers = Provider::list(&format!("[{one}]")).unwrap_or_default();
        assert_eq!((providers.len(), &*providers[0].id, providers[0].scopes.len()), (1, "google", 2));
        assert!(!format!("{providers:?}").contains("\"s\""));
        assert!(Provider::list("[]").is_some_and(|providers| providers.is_empty()));
        for text in [
            "",
            "{}",
            "[{}]",
            &format!("[{one},{one}]"),
            &one.replace("google\"", "goo#gle\""),
            &format!("[{}]", one.replace("\"id\":\"google\"", "\"id\":\"a#b\"")),
            &format!("[{}]", one.replace("https://accounts", "accounts")),
            &format!("[{}]", one.replace("clientId", "client")),
        ] {
            assert!(Provider::list(text).is_none(), "{text}");
        }
    }
}
