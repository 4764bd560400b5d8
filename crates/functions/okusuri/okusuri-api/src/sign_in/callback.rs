//! Verifies the answer of a provider about the user who comes back from it ([OpenID Connect
//! Core](https://openid.net/specs/openid-connect-core-1_0.html), 3.1.3).

use domain::okusuri::Email;
use jiff::{SignedDuration, Timestamp};
use okusuri_store::Login;
use openidconnect::core::{
    CoreIdToken, CoreIdTokenClaims, CoreJwsSigningAlgorithm as Algorithm, CoreTokenResponse, CoreUserInfoClaims,
};
use openidconnect::{
    AccessToken, AccessTokenHash, AuthorizationCode, ClaimsVerificationError, Nonce, OAuth2TokenResponse,
    PkceCodeVerifier, RedirectUrl, RequestTokenError, SignatureVerificationError, TokenResponse, UserInfoError,
};
use secrecy::{ExposeSecret, SecretString};

use super::provider::{
    METADATA_LIFETIME, METADATA_REFRESH_MIN, OpenIdClient, Provider, ProviderError, Providers, VerifiedLogin, client,
    invalid, unavailable,
};
use crate::me::NAME_CHARS_MAX;

/// The longest `sub` there is.
const SUBJECT_BYTES_MAX: usize = 255;

/// How an ID token may be signed: by a key that only the provider has. Not with the client's
/// secret, which both have, and never not at all.
const ALGORITHMS: [Algorithm; 7] = [
    Algorithm::RsaSsaPkcs1V15Sha256,
    Algorithm::RsaSsaPkcs1V15Sha384,
    Algorithm::RsaSsaPkcs1V15Sha512,
    Algorithm::RsaSsaPssSha256,
    Algorithm::EcdsaP256Sha256,
    Algorithm::EcdsaP384Sha384,
    Algorithm::EdDsa,
];

/// What a provider says of a user.
struct UserClaims {
    verified_email: Option<String>,
    name: Option<String>,
}

impl Providers {
    /// Verifies the user who came back with `code`. Believed is an ID token of this issuer for this
    /// client with this attempt's nonce, not expired, and signed by one of the issuer's keys.
    pub(crate) async fn verify_callback(
        &self,
        provider: &Provider,
        redirect: RedirectUrl,
        code: String,
        nonce: String,
        verifier: &SecretString,
        now: Timestamp,
    ) -> Result<VerifiedLogin, ProviderError> {
        let tokens = self.exchange_code(provider, redirect, code, verifier).await?;
        let id_token = tokens.id_token().ok_or_else(|| ProviderError::Invalid("no ID token".to_owned()))?;
        let (client, claims) = self.verify_id_token(provider, id_token, &Nonce::new(nonce)).await?;
        check_access_token(&client, id_token, &claims, tokens.access_token())?;
        let user = self.user_claims(&client, &claims, tokens.access_token()).await?;
        let name = user.name.map(|name| name.chars().filter(|char| !char.is_control()).take(NAME_CHARS_MAX).collect());
        Ok(VerifiedLogin { login: login(provider, &tokens, id_token, &claims, user.verified_email, now)?, name })
    }

    /// Exchanges the code for tokens.
    async fn exchange_code(
        &self,
        provider: &Provider,
        redirect: RedirectUrl,
        code: String,
        verifier: &SecretString,
    ) -> Result<CoreTokenResponse, ProviderError> {
        let client = client(self.metadata(provider, METADATA_LIFETIME).await?, provider).set_redirect_uri(redirect);
        let request = client.exchange_code(AuthorizationCode::new(code)).map_err(unavailable)?;
        let request = request.set_pkce_verifier(PkceCodeVerifier::new(verifier.expose_secret().to_owned()));
        request.request_async(&self.http()).await.map_err(|error| match error {
            RequestTokenError::Request(error) => unavailable(error),
            RequestTokenError::ServerResponse(_) => ProviderError::Invalid("it refuses the code".to_owned()),
            RequestTokenError::Parse(error, _) => ProviderError::Invalid(error.to_string()),
            RequestTokenError::Other(error) => ProviderError::Invalid(error),
        })
    }

    /// The claims of an ID token, and the client whose keys verified it. The provider may have new
    /// keys: a token with an unknown key is verified once more, with keys that were just read.
    async fn verify_id_token(
        &self,
        provider: &Provider,
        id_token: &CoreIdToken,
        nonce: &Nonce,
    ) -> Result<(OpenIdClient, CoreIdTokenClaims), ProviderError> {
        let known = client(self.metadata(provider, METADATA_LIFETIME).await?, provider);
        let claims = match id_token.claims(&known.id_token_verifier().set_allowed_algs(ALGORITHMS), nonce) {
            Ok(claims) => claims.clone(),
            Err(ClaimsVerificationError::SignatureVerification(SignatureVerificationError::NoMatchingKey)) => {
                let fresh = client(self.metadata(provider, METADATA_REFRESH_MIN).await?, provider);
                let claims = id_token.claims(&fresh.id_token_verifier().set_allowed_algs(ALGORITHMS), nonce);
                let claims = claims.map_err(invalid)?.clone();
                return Ok((fresh, claims));
            }
            Err(error) => return Err(invalid(error)),
        };
        Ok((known, claims))
    }

    /// The user's address and name. Many providers tell them only when they are asked with the
    /// access token; the answer has to be of the same subject.
    async fn user_claims(
        &self,
        client: &OpenIdClient,
        claims: &CoreIdTokenClaims,
        access_token: &AccessToken,
    ) -> Result<UserClaims, ProviderError> {
        let name = claims.name().and_then(|name| name.get(None)).map(|name| name.to_string());
        if claims.email().is_some() || client.user_info_url().is_none() {
            let email = claims.email().filter(|_| claims.email_verified() == Some(true));
            return Ok(UserClaims { verified_email: email.map(|email| email.to_string()), name });
        }
        let request = client.user_info(access_token.clone(), Some(claims.subject().clone())).map_err(unavailable)?;
        let user: CoreUserInfoClaims = request.request_async(&self.http()).await.map_err(|error| match error {
            UserInfoError::Request(error) => unavailable(error),
            error => invalid(error),
        })?;
        let email = user.email().filter(|_| user.email_verified() == Some(true)).map(|email| email.to_string());
        Ok(UserClaims { verified_email: email, name: name.or_else(|| Some(user.name()?.get(None)?.to_string())) })
    }
}

/// Stops an access token from being swapped: it has to be the one that the ID token was made with.
fn check_access_token(
    client: &OpenIdClient,
    id_token: &CoreIdToken,
    claims: &CoreIdTokenClaims,
    access_token: &AccessToken,
) -> Result<(), ProviderError> {
    let Some(expected) = claims.access_token_hash() else { return Ok(()) };
    let verifier = client.id_token_verifier().set_allowed_algs(ALGORITHMS);
    let algorithm = id_token.signing_alg().map_err(invalid)?;
    let key = id_token.signing_key(&verifier).map_err(invalid)?;
    let found = AccessTokenHash::from_token(access_token, algorithm, key).map_err(invalid)?;
    if found == *expected { Ok(()) } else { Err(ProviderError::Invalid("another access token".to_owned())) }
}

/// The login as it is stored.
fn login(
    provider: &Provider,
    tokens: &CoreTokenResponse,
    id_token: &CoreIdToken,
    claims: &CoreIdTokenClaims,
    verified_email: Option<String>,
    now: Timestamp,
) -> Result<Login, ProviderError> {
    // OpenID Connect Core 1.0, section 2.
    if claims.subject().is_empty() || claims.subject().len() > SUBJECT_BYTES_MAX {
        return Err(ProviderError::Invalid("the subject is empty or too long".to_owned()));
    }
    let secret = |text: &str| Some(SecretString::from(text));
    let lifetime = tokens.expires_in().and_then(|lifetime| SignedDuration::try_from(lifetime).ok());
    let scopes = tokens.scopes().map(|scopes| scopes.iter().map(|scope| scope.as_str()));
    Ok(Login {
        provider: provider.id.clone(),
        subject: claims.subject().to_string(),
        verified_email: verified_email.and_then(|email| Email::new(&email).ok()),
        access_token: secret(tokens.access_token().secret()),
        refresh_token: tokens.refresh_token().and_then(|token| secret(token.secret())),
        id_token: secret(&id_token.to_string()),
        access_token_expires_at: lifetime.and_then(|lifetime| now.checked_add(lifetime).ok()),
        scope: scopes.map(|scopes| scopes.collect::<Vec<_>>().join(" ")),
    })
}
