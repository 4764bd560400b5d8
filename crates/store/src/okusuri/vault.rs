//! What lies in the table and is not to be read there: tokens of other services, encrypted; codes,
//! hashed.
//!
//! All keys are derived from one secret by HKDF, one for each purpose, so that a value for one
//! purpose is invalid for another. Changing the secret loses the values sealed with it: the
//! providers' tokens, which the next sign-in renews, and codes that are not used yet.

use aes_gcm::aead::{Aead, KeyInit, Payload};
use aes_gcm::{Aes256Gcm, Nonce};
use domain::okusuri::Email;
use domain::okusuri::sign_in::Code;
use hkdf::Hkdf;
use hmac::{Hmac, Mac};
use secrecy::{ExposeSecret, SecretString};
use sha2::Sha256;

/// The shortest secret, in bytes: as long as the keys that are made of it.
pub const SECRET_BYTES_MIN: usize = 32;

/// What a sealed text begins with, so that another cipher can come after this one.
const VERSION: u8 = 1;

const NONCE_BYTES: usize = 12;

/// Seals tokens and hashes codes.
#[derive(Clone)]
pub struct Vault {
    cipher: Aes256Gcm,
    nonces: [u8; 32],
    codes: [u8; 32],
}

/// Keys do not get into a log by accident.
impl std::fmt::Debug for Vault {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Vault(...)")
    }
}

/// The error of a key, or of a sealed value.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum VaultError {
    /// Fewer than [`SECRET_BYTES_MIN`] bytes.
    #[error("the secret must have at least {SECRET_BYTES_MIN} bytes")]
    ShortSecret,
    /// Sealed with another secret, for somebody else, as something else, or changed since.
    #[error("what is sealed does not open")]
    Sealed,
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
    pub fn new(secret: &SecretString) -> Result<Self, VaultError> {
        let secret = secret.expose_secret().as_bytes();
        if secret.len() < SECRET_BYTES_MIN {
            return Err(VaultError::ShortSecret);
        }
        let hkdf = Hkdf::<Sha256>::new(None, secret);
        let key = |purpose: &str| {
            let mut key = [0; 32];
            hkdf.expand(format!("tidemark okusuri {purpose}").as_bytes(), &mut key)
                .unwrap_or_else(|_| unreachable!("HKDF makes up to 255 times as much"));
            key
        };
        Ok(Self { cipher: Aes256Gcm::new(&key("seal").into()), nonces: key("nonces"), codes: key("codes") })
    }

    /// Encrypts a token of a login at a provider; it opens for the same user, provider and kind
    /// only.
    ///
    /// The same token comes to the same bytes each time, so that a migration can be repeated:
    /// AES-256-GCM under a nonce that is a keyed hash of all that is sealed. Two different texts
    /// would have to meet in 96 bits for their nonces to be one.
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
    ) -> Result<SecretString, VaultError> {
        self.open(&["token", user_id, provider, kind.as_str()], sealed)
    }

    /// Encrypts the verifier of an attempt to sign in at a provider, for the item that has this
    /// hash in its key.
    pub(super) fn seal_verifier(&self, state_hash: &str, verifier: &str) -> Vec<u8> {
        self.seal(&["verifier", state_hash], verifier)
    }

    pub(super) fn open_verifier(&self, state_hash: &str, sealed: &[u8]) -> Result<SecretString, VaultError> {
        self.open(&["verifier", state_hash], sealed)
    }

    /// The stored hash of a code. It needs the secret, because without it a million tries would
    /// find the code.
    pub(super) fn code_hash(&self, email: &Email, code: &Code) -> Vec<u8> {
        mac(&self.codes, &[email.as_str(), code.as_str()]).finalize().into_bytes().to_vec()
    }

    fn seal(&self, purpose: &[&str], text: &str) -> Vec<u8> {
        let aad = joined(purpose);
        let nonce = mac(&self.nonces, &[purpose, &[text]].concat()).finalize().into_bytes();
        let nonce = &nonce[..NONCE_BYTES];
        let payload = Payload { msg: text.as_bytes(), aad: &aad };
        let sealed = Nonce::try_from(nonce).map(|nonce| self.cipher.encrypt(&nonce, payload));
        let Ok(Ok(sealed)) = sealed else { unreachable!("a text that fits into memory can be encrypted") };
        [&[VERSION], nonce, &sealed].concat()
    }

    fn open(&self, purpose: &[&str], sealed: &[u8]) -> Result<SecretString, VaultError> {
        let rest = sealed.strip_prefix(&[VERSION]).ok_or(VaultError::Sealed)?;
        let (nonce, sealed) = rest.split_at_checked(NONCE_BYTES).ok_or(VaultError::Sealed)?;
        let nonce = Nonce::try_from(nonce).map_err(|_| VaultError::Sealed)?;
        let payload = Payload { msg: sealed, aad: &joined(purpose) };
        let text = self.cipher.decrypt(&nonce, payload).map_err(|_| VaultError::Sealed)?;
        String::from_utf8(text).map(SecretString::from).map_err(|_| VaultError::Sealed)
    }
}

/// Texts one behind the other, each with its length before it: no character can move from one to
/// the next.
fn joined(parts: &[&str]) -> Vec<u8> {
    parts.iter().flat_map(|part| [&(part.len() as u64).to_be_bytes(), part.as_bytes()].concat()).collect()
}

fn mac(key: &[u8; 32], parts: &[&str]) -> Hmac<Sha256> {
    let mac = <Hmac<Sha256> as hmac::KeyInit>::new_from_slice(key);
    let mac = mac.unwrap_or_else(|_| unreachable!("HMAC takes keys of any length"));
    mac.chain_update(joined(parts))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    fn vault(secret: &str) -> Vault {
        Vault::new(&SecretString::from(secret)).unwrap()
    }

    const SECRET: &str = "a secret of thirty-two characters";

    #[test]
    fn a_token_opens_for_its_own_user_provider_and_kind_only() {
        let vault = vault(SECRET);
        let sealed = vault.seal_token("ann", "google", TokenKind::Access, "token");
        let open = |user, provider, kind| {
            vault.open_token(user, provider, kind, &sealed).map(|token| token.expose_secret().to_owned())
        };
        assert_eq!(open("ann", "google", TokenKind::Access).as_deref(), Ok("token"));
        assert_eq!(open("bob", "google", TokenKind::Access), Err(VaultError::Sealed));
        assert_eq!(open("ann", "github", TokenKind::Access), Err(VaultError::Sealed));
        assert_eq!(open("anng", "oogle", TokenKind::Access), Err(VaultError::Sealed));
        assert_eq!(open("ann", "google", TokenKind::Refresh), Err(VaultError::Sealed));
        let other = Vault::new(&SecretString::from("another secret of as many characters")).unwrap();
        assert!(other.open_token("ann", "google", TokenKind::Access, &sealed).is_err());
    }

    #[test]
    fn a_token_is_not_to_be_seen_and_any_changed_byte_is_noticed() {
        let vault = vault(SECRET);
        let sealed = vault.seal_token("ann", "google", TokenKind::Access, "token");
        assert_eq!(sealed, vault.seal_token("ann", "google", TokenKind::Access, "token"));
        assert_ne!(sealed[..13], vault.seal_token("ann", "google", TokenKind::Access, "tokem")[..13]);
        assert!(!sealed.windows(5).any(|bytes| bytes == b"token"));
        for index in 0..sealed.len() {
            let mut changed = sealed.clone();
            changed[index] ^= 1;
            assert!(vault.open_token("ann", "google", TokenKind::Access, &changed).is_err(), "{index}");
        }
        for length in 0..sealed.len() {
            assert!(vault.open_token("ann", "google", TokenKind::Access, &sealed[..length]).is_err(), "{length}");
        }
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
        assert_eq!(Vault::new(&SecretString::from("short")).err(), Some(VaultError::ShortSecret));
        assert!(Vault::new(&SecretString::from("x".repeat(32))).is_ok());
    }
}
