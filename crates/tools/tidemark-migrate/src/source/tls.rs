//! TLS for PostgreSQL: `sslmode`, `sslrootcert`, `sslcert` and `sslkey` of the connection string,
//! as libpq means them. They concern PostgreSQL alone; AWS is always verified with the machine's
//! roots.

use std::path::PathBuf;
use std::sync::Arc;

use rustls::client::WebPkiServerVerifier;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::CryptoProvider;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName, UnixTime};
use rustls::{CertificateError, ClientConfig, DigitallySignedStruct, Error, RootCertStore, SignatureScheme};
use tokio_postgres_rustls::MakeRustlsConnect;

use crate::{Failure, FailureKind};

/// The names that `tokio_postgres` does not know, or not with all their values.
const NAMES: [&str; 4] = ["sslmode", "sslrootcert", "sslcert", "sslkey"];

/// What of the server's certificate is verified.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Verification {
    /// Nothing: a server that offers no TLS is accepted, too.
    None,
    /// The certificate authority.
    Authority,
    /// The certificate authority and the host's name.
    Full,
}

/// The options of the connection string that concern TLS.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct TlsOptions {
    mode: Option<String>,
    roots: Option<PathBuf>,
    certificate: Option<PathBuf>,
    key: Option<PathBuf>,
}

fn refused(why: impl std::fmt::Display) -> Failure {
    FailureKind::Options.because(why)
}

impl TlsOptions {
    /// Takes the options out of a connection string. Returns them, and the rest for
    /// `tokio_postgres`, which gets one of the modes that it knows.
    pub(super) fn take(source: &str) -> Result<(Self, String), Failure> {
        let mut options = Self::default();
        let is_url = ["postgres://", "postgresql://"].iter().any(|prefix| source.starts_with(prefix));
        let mut rest = if is_url { options.take_from_url(source)? } else { options.take_from_words(source)? };
        let mode = match options.mode.as_deref() {
            None | Some("prefer" | "allow") => "prefer",
            Some("disable") => "disable",
            Some("require" | "verify-ca" | "verify-full") => "require",
            Some(other) => {
                let why = format!("sslmode={other}: use disable, prefer, require, verify-ca or verify-full");
                return Err(refused(why));
            }
        };
        if options.certificate.is_some() != options.key.is_some() {
            return Err(refused("sslcert and sslkey belong together"));
        }
        let separator = match (is_url, rest.contains('?')) {
            (false, _) => " ",
            (true, false) => "?",
            (true, true) => "&",
        };
        rest.push_str(&format!("{separator}sslmode={mode}"));
        Ok((options, rest))
    }

    fn set(&mut self, name: &str, value: String) {
        match name {
            "sslmode" => self.mode = Some(value),
            "sslrootcert" => self.roots = Some(value.into()),
            "sslcert" => self.certificate = Some(value.into()),
            _ => self.key = Some(value.into()),
        }
    }

    /// `postgres://...?name=value&...`
    fn take_from_url(&mut self, source: &str) -> Result<String, Failure> {
        // A password may contain a question mark.
        let (address, query) = source.rsplit_once('?').unwrap_or((source, ""));
        let mut kept = Vec::new();
        for parameter in query.split('&').filter(|parameter| !parameter.is_empty()) {
            match parameter.split_once('=') {
                Some((name, value)) if NAMES.contains(&name) => {
                    let value = percent_encoding::percent_decode_str(value).decode_utf8();
                    self.set(name, value.map_err(|error| refused(format!("{name}: {error}")))?.into_owned());
                }
                _ => kept.push(parameter),
            }
        }
        let question_mark = if kept.is_empty() { "" } else { "?" };
        Ok(format!("{address}{question_mark}{}", kept.join("&")))
    }

    /// `name=value name='value'`; the other words stay as they are.
    fn take_from_words(&mut self, source: &str) -> Result<String, Failure> {
        let mut kept = String::new();
        let mut rest = source.trim_start();
        while let Some((name, after)) = rest.split_once('=') {
            let (value, length) = value_of(after)?;
            let end = rest.len() - after.len() + length;
            if NAMES.contains(&name.trim()) {
                self.set(name.trim(), value);
            } else {
                kept.push_str(rest.get(..end).unwrap_or_default());
                kept.push(' ');
            }
            rest = rest.get(end..).unwrap_or_default().trim_start();
        }
        // What is no word is refused by `tokio_postgres`.
        kept.push_str(rest);
        Ok(kept)
    }

    fn verification(&self) -> Verification {
        match (self.mode.as_deref(), &self.roots) {
            // libpq would encrypt without verifying. This is stricter, because nobody who asks for
            // TLS means to send the password to anybody.
            (Some("verify-full"), _) | (Some("require"), None) => Verification::Full,
            (Some("verify-ca"), _) | (Some("require"), Some(_)) => Verification::Authority,
            _ => Verification::None,
        }
    }

    /// The roots: those of `sslrootcert`, of libpq's own file, or of this machine.
    fn roots(&self) -> Result<RootCertStore, Failure> {
        let mut roots = RootCertStore::empty();
        let of_libpq = std::env::home_dir().map(|home| home.join(".postgresql/root.crt")).filter(|path| path.exists());
        match self.roots.clone().filter(|path| path.as_os_str() != "system") {
            None if self.roots.is_some() || of_libpq.is_none() || self.mode.as_deref() == Some("require") => {
                roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
            }
            path => {
                let path = path.or(of_libpq).unwrap_or_default();
                let unreadable = |error: &dyn std::fmt::Display| refused(format!("{}: {error}", path.display()));
                let certificates = CertificateDer::pem_file_iter(&path).map_err(|error| unreadable(&error))?;
                for certificate in certificates {
                    let certificate = certificate.map_err(|error| unreadable(&error))?;
                    roots.add(certificate).map_err(|error| unreadable(&error))?;
                }
                if roots.is_empty() {
                    return Err(unreadable(&"the file has no certificate"));
                }
            }
        }
        Ok(roots)
    }

    /// The client side of TLS with these options.
    pub(super) fn connector(&self) -> Result<MakeRustlsConnect, Failure> {
        let failed = |error: Error| FailureKind::SourceUnreachable.because(error);
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let builder = ClientConfig::builder_with_provider(Arc::clone(&provider));
        let builder = builder.with_safe_default_protocol_versions().map_err(failed)?;
        let builder = match self.verification() {
            Verification::Full => builder.with_root_certificates(self.roots()?),
            verification => {
                let authority = match verification {
                    Verification::None => None,
                    _ => {
                        let roots = Arc::new(self.roots()?);
                        let verifier = WebPkiServerVerifier::builder_with_provider(roots, Arc::clone(&provider));
                        Some(verifier.build().map_err(|error| refused(format!("sslrootcert: {error}")))?)
                    }
                };
                let verifier = Arc::new(AnyHost { provider, authority });
                builder.dangerous().with_custom_certificate_verifier(verifier)
            }
        };
        let config = match (&self.certificate, &self.key) {
            (Some(certificate), Some(key)) => {
                let unreadable = |path: &PathBuf| {
                    let path = path.display().to_string();
                    move |error| refused(format!("{path}: {error}"))
                };
                let chain = CertificateDer::pem_file_iter(certificate).and_then(Iterator::collect);
                let key = PrivateKeyDer::from_pem_file(key).map_err(unreadable(key))?;
                let config = builder.with_client_auth_cert(chain.map_err(unreadable(certificate))?, key);
                config.map_err(|error| refused(format!("sslcert: {error}")))?
            }
            _ => builder.with_no_client_auth(),
        };
        Ok(MakeRustlsConnect::new(config))
    }
}

/// A value after `name=`, and its length in the text.
fn value_of(text: &str) -> Result<(String, usize), Failure> {
    let start = text.len() - text.trim_start().len();
    let mut letters = text.char_indices().skip_while(|(at, _)| *at < start).peekable();
    let is_quoted = letters.next_if(|(_, letter)| *letter == '\'').is_some();
    let mut value = String::new();
    while let Some((at, letter)) = letters.next() {
        match letter {
            '\'' if is_quoted => return Ok((value, at + 1)),
            letter if letter.is_whitespace() && !is_quoted => return Ok((value, at)),
            '\\' => value.extend(letters.next().map(|(_, letter)| letter)),
            letter => value.push(letter),
        }
    }
    if is_quoted { Err(refused("a quoted value of the connection string has no end")) } else { Ok((value, text.len())) }
}

/// Accepts a certificate for any host: one of an authority, or any at all. The server must have the
/// certificate's key in both cases.
#[derive(Debug)]
struct AnyHost {
    provider: Arc<CryptoProvider>,
    authority: Option<Arc<WebPkiServerVerifier>>,
}

impl ServerCertVerifier for AnyHost {
    fn verify_server_cert(
        &self,
        certificate: &CertificateDer<'_>,
        chain: &[CertificateDer<'_>],
        host: &ServerName<'_>,
        revocations: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        let Some(authority) = &self.authority else { return Ok(ServerCertVerified::assertion()) };
        match authority.verify_server_cert(certificate, chain, host, revocations, now) {
            // The name is compared last, when everything else is verified.
            Err(Error::InvalidCertificate(
                CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. },
            )) => Ok(ServerCertVerified::assertion()),
            verified => verified,
        }
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        let algorithms = &self.provider.signature_verification_algorithms;
        rustls::crypto::verify_tls12_signature(message, certificate, signature, algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        let algorithms = &self.provider.signature_verification_algorithms;
        rustls::crypto::verify_tls13_signature(message, certificate, signature, algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.provider.signature_verification_algorithms.supported_schemes()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tls_options_are_removed_from_both_connection_string_forms() {
        let expected = TlsOptions {
            mode: Some("verify-full".to_owned()),
            roots: Some("/a b/ca.pem".into()),
            certificate: Some("c".into()),
            key: Some("k".into()),
        };
        for (source, rest) in [
            (
                "postgres://u:p?w@host/db?connect_timeout=3&sslmode=verify-full&sslrootcert=%2Fa%20b/ca.pem&sslcert=c&sslkey=k",
                "postgres://u:p?w@host/db?connect_timeout=3&sslmode=require",
            ),
            (
                "postgres://host/db?sslmode=verify-full&sslrootcert=/a%20b/ca.pem&sslcert=c&sslkey=k",
                "postgres://host/db?sslmode=require",
            ),
            (
                r"host=h sslmode=verify-full password='it\'s = x' sslrootcert='/a b/ca.pem' sslcert = c sslkey=k dbname=d",
                r"host=h password='it\'s = x' dbname=d  sslmode=require",
            ),
        ] {
            let (options, left) = TlsOptions::take(source).unwrap();
            assert_eq!((&options, left.as_str()), (&expected, rest));
            assert!(left.parse::<tokio_postgres::Config>().is_ok(), "{left}");
        }
        for (source, verification) in [
            ("host=h", Verification::None),
            ("postgres://h?", Verification::None),
            ("host=h sslmode=require", Verification::Full),
            ("host=h sslmode=require sslrootcert=ca", Verification::Authority),
            ("host=h sslmode=verify-ca", Verification::Authority),
        ] {
            let (options, left) = TlsOptions::take(source).unwrap();
            assert_eq!(options.verification(), verification, "{source}");
            assert!(left.parse::<tokio_postgres::Config>().is_ok(), "{left}");
        }
        for wrong in ["host=h sslmode=verify", "host=h sslcert=c", "host='h"] {
            assert_eq!(TlsOptions::take(wrong).unwrap_err().kind, FailureKind::Options, "{wrong}");
        }
    }
}
