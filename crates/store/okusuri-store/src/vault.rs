//! What lies in the table and is not to be read there: tokens of other services, encrypted; codes,
//! hashed.
//!
//! All keys are derived from one secret by HKDF, one for each purpose, so that a value for one
//! purpose is invalid for another. Changing the secret loses the values sealed with it: the
//! providers' tokens, which the next sign-in renews, and codes that are not used yet.

use domain::okusuri::Email;
use domain::okusuri::sign_in::Code;
use hmac::Mac;
use secrecy::SecretString;

use store_base::seal::{Seal, SealError, derived_key, mac};

/// The name of the application in its keys.
const APPLICATION: &str = "tidemark okusuri";

/// Seals tokens and hashes codes.
#[derive(Clone)]
pub struct Vault {
    seal: Seal,
    codes: [u8; 32],
}

/// Keys do not get into a log by accident.
impl std::fmt::Debug for Vault {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Vault(...)")
    }
}

/// Which of the tokens of a login at a provider.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TokenKind {
    /// It opens the provider's API for a short time.
    Access,
    /// It brings new ones.
    Refresh,
    /// It says who the user is.
    Id,
}

impl TokenKind {
    fn as_str(self) -> &'static str {
        match self {
            Self::Access => "access",
            Self::Refresh => "refresh",
            Self::Id => "id",
        }
    }
}

impl Vault {
    /// A vault under a secret.
    pub fn new(secret: &SecretString) -> Result<Self, SealError> {
        let codes = derived_key(secret, &format!("{APPLICATION} codes"))?;
        Ok(Self { seal: Seal::new(secret, APPLICATION)?, codes })
    }

    /// Encrypts a token of a login at a provider; it opens for the same user, provider and kind
    /// only. The same token comes to the same bytes each time.
    pub fn seal_token(&self, user_id: &str, provider: &str, kind: TokenKind, token: &str) -> Vec<u8> {
        self.seal(&["token", user_id, provider, kind.as_str()], token)
    }

    /// The token in what [`Vault::seal_token`] made.
    pub fn open_token(
        &self,
        user_id: &str,
        provider: &str,
        kind: TokenKind,
        sealed: &[u8],
    ) -> Result<SecretString, SealError> {
        self.open(&["token", user_id, provider, kind.as_str()], sealed)
    }

    /// Encrypts the verifier of an attempt to sign in at a provider, for the item that has this
    /// hash in its key.
    pub(super) fn seal_verifier(&self, state_hash: &str, verifier: &str) -> Vec<u8> {
        self.seal(&["verifier", state_hash], verifier)
    }

    pub(super) fn open_verifier(&self, state_hash: &str, sealed: &[u8]) -> Result<SecretString, SealError> {
        self.open(&["verifier", state_hash], sealed)
    }

    /// The stored hash of a code. It needs the secret, because without it a million tries would
    /// find the code.
    pub(super) fn code_hash(&self, email: &Email, code: &Code) -> Vec<u8> {
        mac(&self.codes, &[email.as_str().as_bytes(), code.as_str().as_bytes()]).finalize().into_bytes().to_vec()
    }

    /// The text that proves that a device has signed in to a mailbox.
    pub fn device_mark(&self, email: &Email) -> String {
        let mark = mac(&self.codes, &[b"device", email.mailbox().as_bytes()]).finalize().into_bytes();
        mark.iter().map(|byte| format!("{byte:02x}")).collect()
    }

    fn seal(&self, context: &[&str], text: &str) -> Vec<u8> {
        self.seal.seal(context, text.as_bytes())
    }

    fn open(&self, context: &[&str], sealed: &[u8]) -> Result<SecretString, SealError> {
        let text = String::from_utf8(self.seal.open(context, sealed)?);
        text.map(SecretString::from).map_err(|_| SealError::Sealed)
    }
}

#[cfg(test)]
mod tests {
    use secrecy::ExposeSecret;

    use super::*;

    fn vault(secret: &str) -> Vault {
        Vault::new(&SecretString::from(secret)).unwrap()
    }

    const SECRET: &str = "a secret of thirty-two characters";

    #[test]
    fn sealed_token_opens_only_for_its_user_provider_and_kind() {
        let vault = vault(SECRET);
        let sealed = vault.seal_token("ann", "google", TokenKind::Access, "token");
        let open = |user, provider, kind| {
            vault.open_token(user, provider, kind, &sealed).map(|token| token.expose_secret().to_owned())
        };
        assert_eq!(open("ann", "google", TokenKind::Access).as_deref(), Ok("token"));
        assert_eq!(open("bob", "google", TokenKind::Access), Err(SealError::Sealed));
        assert_eq!(open("ann", "github", TokenKind::Access), Err(SealError::Sealed));
        assert_eq!(open("anng", "oogle", TokenKind::Access), Err(SealError::Sealed));
        assert_eq!(open("ann", "google", TokenKind::Refresh), Err(SealError::Sealed));
        let other = Vault::new(&SecretString::from("another secret of as many characters")).unwrap();
        assert!(other.open_token("ann", "google", TokenKind::Access, &sealed).is_err());
    }

    #[test]
    fn a_code_has_another_hash_for_each_address_and_secret() {
        let (ann, bob) = (Email::new("ann@example.com").unwrap(), Email::new("bob@example.com").unwrap());
        let code = Code::new("123456").unwrap();
        let hash = vault(SECRET).code_hash(&ann, &code);
        assert_eq!(hash, vault(SECRET).code_hash(&ann, &code));
        assert_ne!(hash, vault(SECRET).code_hash(&bob, &code));
        assert_ne!(hash, vault("another secret of as many characters").code_hash(&ann, &code));
    }

    #[test]
    fn a_short_secret_is_refused() {
        assert_eq!(Vault::new(&SecretString::from("short")).err(), Some(SealError::ShortSecret));
        assert!(Vault::new(&SecretString::from("x".repeat(32))).is_ok());
    }
}
