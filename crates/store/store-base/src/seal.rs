//! Encrypts values of items, so that the table alone does not reveal them.
//!
//! A sealed value is the byte 1, a nonce of 12 bytes, and the ciphertext of AES-256-GCM with its
//! tag of 16 bytes. The associated data are the parts of the context, each after its length in
//! eight bytes (big-endian).
//!
//! The same value in the same context is sealed to the same bytes each time, so a migration can be
//! repeated: the nonce is a keyed hash (HMAC-SHA256) of the context and the value. Under one key,
//! two different inputs get one nonce only if their hashes agree in 96 bits, which is as unlikely
//! as for random nonces. Equal inputs have equal ciphertexts, so the context contains an id.

use aes_gcm::aead::{Aead, KeyInit, Payload};
use aes_gcm::{Aes256Gcm, Nonce};
use hkdf::Hkdf;
use hmac::{Hmac, Mac};
use secrecy::{ExposeSecret, SecretString};
use sha2::Sha256;

/// The shortest secret, in bytes: as long as the keys that are made of it.
pub const SECRET_BYTES_MIN: usize = 32;

/// The first byte of a sealed value, so that another cipher can come after this one.
const VERSION: u8 = 1;

const NONCE_BYTES: usize = 12;

/// Seals values under a secret.
#[derive(Clone)]
pub struct Seal {
    cipher: Aes256Gcm,
    nonces: [u8; 32],
}

/// Keys do not get into a log by accident.
impl std::fmt::Debug for Seal {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Seal(...)")
    }
}

/// The error of a secret, or of a sealed value.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum SealError {
    /// Fewer than [`SECRET_BYTES_MIN`] bytes.
    #[error("the secret must have at least {SECRET_BYTES_MIN} bytes")]
    ShortSecret,
    /// Sealed with another secret or in another context, or changed since.
    #[error("the sealed value cannot be opened")]
    Sealed,
}

/// A key for one purpose, made of the secret by HKDF, so that a value for one purpose is not valid
/// for another.
///
/// # Errors
/// `ShortSecret`
pub fn derived_key(secret: &SecretString, info: &str) -> Result<[u8; 32], SealError> {
    let secret = secret.expose_secret().as_bytes();
    if secret.len() < SECRET_BYTES_MIN {
        return Err(SealError::ShortSecret);
    }
    let mut key = [0; 32];
    Hkdf::<Sha256>::new(None, secret)
        .expand(info.as_bytes(), &mut key)
        .unwrap_or_else(|_| unreachable!("HKDF makes up to 255 times as much"));
    Ok(key)
}

impl Seal {
    /// A seal under a secret. Applications with one secret and different names have different keys.
    ///
    /// # Errors
    /// `ShortSecret`
    pub fn new(secret: &SecretString, application: &str) -> Result<Self, SealError> {
        let key = |purpose: &str| derived_key(secret, &format!("{application} {purpose}"));
        Ok(Self { cipher: Aes256Gcm::new(&key("seal")?.into()), nonces: key("nonces")? })
    }

    /// Encrypts a value. It can be opened in the same context only.
    pub fn seal(&self, context: &[&str], value: &[u8]) -> Vec<u8> {
        let context: Vec<_> = context.iter().map(|part| part.as_bytes()).collect();
        let nonce = mac(&self.nonces, &[&*context, &[value]].concat()).finalize().into_bytes();
        let nonce = &nonce[..NONCE_BYTES];
        let payload = Payload { msg: value, aad: &joined(&context) };
        let sealed = Nonce::try_from(nonce).map(|nonce| self.cipher.encrypt(&nonce, payload));
        let Ok(Ok(sealed)) = sealed else { unreachable!("a value that fits into memory can be encrypted") };
        [&[VERSION], nonce, &sealed].concat()
    }

    /// The value in what [`Seal::seal`] made.
    ///
    /// # Errors
    /// `Sealed`
    pub fn open(&self, context: &[&str], sealed: &[u8]) -> Result<Vec<u8>, SealError> {
        let context: Vec<_> = context.iter().map(|part| part.as_bytes()).collect();
        let rest = sealed.strip_prefix(&[VERSION]).ok_or(SealError::Sealed)?;
        let (nonce, sealed) = rest.split_at_checked(NONCE_BYTES).ok_or(SealError::Sealed)?;
        let nonce = Nonce::try_from(nonce).map_err(|_| SealError::Sealed)?;
        let payload = Payload { msg: sealed, aad: &joined(&context) };
        self.cipher.decrypt(&nonce, payload).map_err(|_| SealError::Sealed)
    }
}

/// Parts one after the other, each after its length: no byte can move from one to the next.
fn joined(parts: &[&[u8]]) -> Vec<u8> {
    parts.iter().flat_map(|part| [&(part.len() as u64).to_be_bytes(), *part].concat()).collect()
}

/// A keyed hash of parts, none of which can flow into its neighbour.
pub fn mac(key: &[u8; 32], parts: &[&[u8]]) -> Hmac<Sha256> {
    let mac = <Hmac<Sha256> as hmac::KeyInit>::new_from_slice(key);
    let mac = mac.unwrap_or_else(|_| unreachable!("HMAC takes keys of any length"));
    mac.chain_update(joined(parts))
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECRET: &str = "a secret of thirty-two characters";

    fn seal(secret: &str) -> Seal {
        Seal::new(&SecretString::from(secret), "tidemark migrate").unwrap()
    }

    /// The program in docs/mapping.md, in Python with `cryptography`, made these bytes.
    #[test]
    fn the_format_is_the_documented_one() {
        let bytes = |hex: &str| -> Vec<u8> {
            (0..hex.len()).step_by(2).map(|n| u8::from_str_radix(&hex[n..n + 2], 16).unwrap()).collect()
        };
        for (context, value, expected) in [
            (
                vec!["CUSTOMER#7", "Password"],
                "open sesame 🌊".as_bytes(),
                "014f18dfa75b7fdb79ed5615eb03f188fc6e8ded43c7b9c39be15d36e8c429744cd33cb62992b0813eaea9285b",
            ),
            (vec![], b"\x00\xff", "01e572badb503b4a8b1857c987f7aede368b1197781c06ab03805a2e7c1a45"),
        ] {
            let sealed = seal(SECRET).seal(&context, value);
            assert_eq!(sealed, bytes(expected));
            assert_eq!(seal(SECRET).open(&context, &sealed).unwrap(), value);
        }
    }

    #[test]
    fn a_changed_byte_or_context_is_noticed() {
        let context = ["CUSTOMER#7", "Password"];
        let sealed = seal(SECRET).seal(&context, b"open sesame");
        assert!(!sealed.windows(6).any(|bytes| bytes == b"sesame"));
        let cannot_open =
            |context: &[&str], sealed: &[u8]| seal(SECRET).open(context, sealed) == Err(SealError::Sealed);
        for index in 0..sealed.len() {
            let mut changed = sealed.clone();
            changed[index] ^= 1;
            assert!(cannot_open(&context, &changed), "{index}");
            assert!(cannot_open(&context, &sealed[..index]), "{index}");
        }
        assert!(cannot_open(&["CUSTOMER#8", "Password"], &sealed) && cannot_open(&["CUSTOMER#7P", "assword"], &sealed));
        assert!(seal("another secret of as many characters").open(&context, &sealed).is_err());
        assert!(Seal::new(&SecretString::from("x".repeat(31)), "").is_err());
    }

    #[test]
    fn another_value_has_another_nonce() {
        let nonce = |context: &[&str], value: &[u8]| seal(SECRET).seal(context, value)[..13].to_vec();
        assert_eq!(nonce(&["a"], b"b"), nonce(&["a"], b"b"));
        for (context, value) in [(&["a"][..], &b"c"[..]), (&["b"], b"b"), (&[], b"ab"), (&["a", "b"], b"")] {
            assert_ne!(nonce(&["a"], b"b"), nonce(context, value));
        }
    }
}
