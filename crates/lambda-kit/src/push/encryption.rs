//! Encrypts a message for one browser: the content coding `aes128gcm` ([RFC
//! 8188](https://www.rfc-editor.org/rfc/rfc8188)) with keys for the browser ([RFC
//! 8291](https://www.rfc-editor.org/rfc/rfc8291)).

use aes_gcm::aead::{Aead, KeyInit};
use aes_gcm::{Aes128Gcm, Nonce};
use hkdf::Hkdf;
use p256::ecdh::diffie_hellman;
use p256::elliptic_curve::sec1::ToSec1Point;
use p256::{PublicKey, SecretKey};
use sha2::Sha256;

/// The secret that a browser shares with those who may send to it.
pub(super) type Auth = [u8; 16];

/// The size of a record. A message is one record.
const RECORD_BYTES: u32 = 4_096;

/// The byte after the content of the last record.
const LAST: u8 = 2;

/// Encrypts with a new key of the sender and a new salt.
pub(super) fn encrypt(content: &[u8], browser: &PublicKey, auth: &Auth) -> Result<Vec<u8>, getrandom::Error> {
    let mut salt = [0; 16];
    getrandom::fill(&mut salt)?;
    loop {
        let mut sender = [0; 32];
        getrandom::fill(&mut sender)?;
        // One time in 2^32, the bytes are not a valid key.
        if let Ok(sender) = SecretKey::from_slice(&sender) {
            return Ok(encrypt_with(content, browser, auth, &sender, &salt));
        }
    }
}

pub(super) fn encrypt_with(
    content: &[u8],
    browser: &PublicKey,
    auth: &Auth,
    sender: &SecretKey,
    salt: &[u8; 16],
) -> Vec<u8> {
    let shared = diffie_hellman(sender.to_nonzero_scalar(), browser.as_affine());
    let [browser, sender] = [*browser, sender.public_key()].map(|key| key.to_sec1_point(false));
    let keys: [u8; 32] =
        expand(auth, shared.raw_secret_bytes(), &[b"WebPush: info\0", browser.as_bytes(), sender.as_bytes()]);
    let key: [u8; 16] = expand(salt, &keys, &[b"Content-Encoding: aes128gcm\0"]);
    let nonce: [u8; 12] = expand(salt, &keys, &[b"Content-Encoding: nonce\0"]);
    let sealed = Aes128Gcm::new(&key.into()).encrypt(&Nonce::from(nonce), [content, &[LAST]].concat().as_slice());
    let sealed = sealed.unwrap_or_else(|_| unreachable!("a message is far shorter than the cipher's limit"));
    let sender = sender.as_bytes();
    // An uncompressed point has 65 bytes.
    [salt.as_slice(), &RECORD_BYTES.to_be_bytes(), &[sender.len() as u8], sender, &sealed].concat()
}

fn expand<const N: usize>(salt: &[u8], secret: &[u8], info: &[&[u8]]) -> [u8; N] {
    let mut bytes = [0; N];
    let expanded = Hkdf::<Sha256>::new(Some(salt), secret).expand_multi_info(info, &mut bytes);
    expanded.unwrap_or_else(|_| unreachable!("HKDF gives up to 8,160 bytes"));
    bytes
}
