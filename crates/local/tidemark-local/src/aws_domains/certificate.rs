//! A certificate authority for one run, and a certificate for AWS's domain names.

use std::sync::Arc;

use rcgen::{BasicConstraints, CertificateParams, DnType, IsCa, Issuer, KeyPair, KeyUsagePurpose};
use tokio_rustls::rustls::ServerConfig;
use tokio_rustls::rustls::crypto::ring;
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer, PrivatePkcs8KeyDer};

use crate::arn;

/// The certificates of one run. The authority's key is dropped after its only use.
pub(super) struct Certificates {
    /// The authority's certificate, which functions trust.
    pub(super) authority_pem: String,
    server: CertificateDer<'static>,
    key: PrivatePkcs8KeyDer<'static>,
}

/// Makes new certificates.
pub(super) fn make() -> Result<Certificates, rcgen::Error> {
    let mut authority = CertificateParams::new(Vec::<String>::new())?;
    authority.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    authority.key_usages = vec![KeyUsagePurpose::KeyCertSign];
    authority.distinguished_name.push(DnType::CommonName, "tidemark-local, for one run");
    let authority_key = KeyPair::generate()?;
    let authority_pem = authority.self_signed(&authority_key)?.pem();
    let issuer = Issuer::new(authority, authority_key);
    // A star stands for one label; a bucket has a label of its own.
    let region = arn::region();
    let names =
        ["*.amazonaws.com".to_owned(), format!("*.{region}.amazonaws.com"), format!("*.s3.{region}.amazonaws.com")];
    let key = KeyPair::generate()?;
    let server = CertificateParams::new(names)?.signed_by(&key, &issuer)?;
    Ok(Certificates { authority_pem, server: server.der().clone(), key: key.serialize_der().into() })
}

impl Certificates {
    /// The settings of the HTTPS server.
    pub(super) fn server(self) -> Result<Arc<ServerConfig>, tokio_rustls::rustls::Error> {
        let config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()));
        let config = config.with_safe_default_protocol_versions()?.with_no_client_auth();
        config.with_single_cert(vec![self.server], PrivateKeyDer::Pkcs8(self.key)).map(Arc::new)
    }
}
