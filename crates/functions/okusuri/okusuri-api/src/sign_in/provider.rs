//! OpenID providers: their configuration, and the request that sends the browser to them ([OpenID
//! Connect Core](https://openid.net/specs/openid-connect-core-1_0.html), 3.1).

use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;
use std::time::{Duration, Instant};

use lambda_kit::outbound::{Limits, Outbound, OutboundError};
use okusuri_store::Login;
use openidconnect::core::{CoreAuthenticationFlow, CoreClient, CoreProviderMetadata};
use openidconnect::{
    ClientId, ClientSecret, CsrfToken, DiscoveryError, HttpRequest, HttpResponse, IssuerUrl, Nonce, PkceCodeChallenge,
    RedirectUrl, Scope,
};
use secrecy::{ExposeSecret, SecretString};
use serde::Deserialize;
use tokio::sync::Mutex;

/// How long what a provider says of itself is believed without asking again. Keys that are new are
/// asked for at once.
pub(super) const METADATA_LIFETIME: Duration = Duration::from_secs(60 * 60);

/// How often at most a provider is asked for new keys, whatever key an ID token names.
pub(super) const METADATA_REFRESH_MIN: Duration = Duration::from_secs(60);

/// The limits of one request to a provider. A sign-in makes up to four, within the 29 seconds of
/// API Gateway.
const LIMITS: Limits = Limits { time: Duration::from_secs(6), body_bytes_max: 512 * 1024 };

/// A provider as the environment names it.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct Provider {
    /// Its id in addresses and keys: lower-case letters, digits and `-`.
    pub id: String,
    /// Its name on the page.
    pub name: String,
    /// Where its configuration is found: `https://accounts.example.com`.
    pub issuer: String,
    /// Who this service is there.
    pub client_id: String,
    /// Its proof, unless PKCE alone is.
    pub client_secret: Option<SecretString>,
    /// The scopes besides `openid`: `email` and `profile` unless set.
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

/// The address for the browser, and the values to store until it comes back.
#[derive(Debug)]
pub(crate) struct AuthorizationRequest {
    pub(crate) url: String,
    pub(crate) nonce: String,
    pub(crate) verifier: SecretString,
}

/// A user that the provider has verified.
#[derive(Debug)]
pub(crate) struct VerifiedLogin {
    pub(crate) login: Login,
    pub(crate) name: Option<String>,
}

/// The providers, with their metadata. An instance of the function reads it once an hour.
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

    /// What a provider says of itself, not older than `age`.
    pub(super) async fn metadata(
        &self,
        provider: &Provider,
        age: Duration,
    ) -> Result<CoreProviderMetadata, ProviderError> {
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

    /// The client of the library's, over requests that go to public addresses alone, follow nothing
    /// and end in time.
    pub(super) fn http(&self) -> impl Fn(HttpRequest) -> HttpFuture + use<> {
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

pub(super) type HttpFuture = std::pin::Pin<Box<dyn Future<Output = Result<HttpResponse, OutboundError>> + Send>>;

pub(super) fn unavailable(error: impl std::fmt::Display) -> ProviderError {
    ProviderError::Unavailable(error.to_string())
}

pub(super) fn invalid(error: impl std::fmt::Display) -> ProviderError {
    ProviderError::Invalid(error.to_string())
}

/// The library's client of a provider whose configuration is known.
pub(super) type OpenIdClient = CoreClient<
    openidconnect::EndpointSet,
    openidconnect::EndpointNotSet,
    openidconnect::EndpointNotSet,
    openidconnect::EndpointNotSet,
    openidconnect::EndpointMaybeSet,
    openidconnect::EndpointMaybeSet,
>;

pub(super) fn client(metadata: CoreProviderMetadata, provider: &Provider) -> OpenIdClient {
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
