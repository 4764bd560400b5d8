//! TLS between the tool and PostgreSQL, with a certificate authority of the operator's own.

use std::path::{Path, PathBuf};

use migration_tests::Postgres;
use rcgen::{BasicConstraints, CertificateParams, DnType, ExtendedKeyUsagePurpose, IsCa, Issuer, KeyPair};
use tidemark_migrate::FailureKind;
use tidemark_migrate::source::{Server, connect};

/// A certificate authority, whose certificate is in a file.
struct Authority {
    issuer: Issuer<'static, KeyPair>,
    file: PathBuf,
}

impl Authority {
    fn new(folder: &Path, name: &str) -> Self {
        let key = KeyPair::generate().unwrap();
        let mut params = CertificateParams::default();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        params.distinguished_name.push(DnType::CommonName, name);
        let file = folder.join(format!("{name}.pem"));
        std::fs::write(&file, params.self_signed(&key).unwrap().pem()).unwrap();
        Self { issuer: Issuer::new(params, key), file }
    }

    /// A certificate for a name, and its key.
    fn issue(&self, name: &str, usage: ExtendedKeyUsagePurpose) -> (String, String) {
        let mut params = CertificateParams::new(vec![name.to_owned()]).unwrap();
        params.distinguished_name.push(DnType::CommonName, name);
        params.extended_key_usages = vec![usage];
        let key = KeyPair::generate().unwrap();
        (params.signed_by(&key, &self.issuer).unwrap().pem(), key.serialize_pem())
    }
}

async fn reached(source: String) -> Result<(), tidemark_migrate::Failure> {
    let client = connect(&Server { source, schema: "public".to_owned() }).await?;
    let sql = "SELECT ssl FROM pg_stat_ssl WHERE pid = pg_backend_pid()";
    assert!(client.query_one(sql, &[]).await.unwrap().get::<_, bool>(0));
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn an_own_authority_is_verified_as_libpq_does() {
    let folder = tempfile::tempdir().unwrap();
    let (own, other) = (Authority::new(folder.path(), "own"), Authority::new(folder.path(), "other"));
    let mut postgres = Postgres::start().await.unwrap();
    let (certificate, key) = own.issue("localhost", ExtendedKeyUsagePurpose::ServerAuth);
    let port = postgres.use_tls(&certificate, &key, &own.file).await.unwrap();
    let ca = |authority: &Authority| authority.file.display().to_string();
    let url = |host: &str, options: String| format!("postgres://okusuri@{host}:{port}/okusuri?{options}");
    let words = |host: &str, options: &str| format!("host={host} port={port} user=okusuri dbname=okusuri {options}");

    for accepted in [
        url("localhost", format!("sslmode=verify-full&sslrootcert={}", ca(&own))),
        words("localhost", &format!("sslmode=verify-full sslrootcert='{}'", ca(&own))),
        // The certificate has another name, which these modes do not compare.
        url("127.0.0.1", format!("sslmode=verify-ca&sslrootcert={}", ca(&own))),
        url("127.0.0.1", format!("sslmode=require&sslrootcert={}", ca(&own))),
        // Without a demand for TLS, nothing is verified.
        url("127.0.0.1", "sslmode=prefer".to_owned()),
        words("localhost", ""),
    ] {
        let reached = reached(accepted.clone()).await;
        assert!(reached.is_ok(), "{accepted}: {reached:?}");
    }
    for refused in [
        url("127.0.0.1", format!("sslmode=verify-full&sslrootcert={}", ca(&own))),
        url("localhost", format!("sslmode=verify-full&sslrootcert={}", ca(&other))),
        url("localhost", format!("sslmode=verify-ca&sslrootcert={}", ca(&other))),
        url("localhost", "sslmode=verify-full&sslrootcert=system".to_owned()),
        url("localhost", "sslmode=require".to_owned()),
    ] {
        let failure = reached(refused.clone()).await.unwrap_err();
        assert_eq!(failure.kind, FailureKind::SourceUnreachable, "{refused}: {failure}");
        assert!(failure.detail.contains("certificate"), "{failure}");
    }
    for unusable in ["sslmode=verify", "sslmode=verify-full&sslrootcert=/nowhere.pem", "sslcert=/nowhere.pem"] {
        let failure = reached(url("localhost", unusable.to_owned())).await.unwrap_err();
        assert_eq!(failure.kind, FailureKind::Options, "{failure}");
    }

    // A role that needs a certificate.
    let client = postgres.client().await.unwrap();
    client.batch_execute("CREATE ROLE guarded LOGIN").await.unwrap();
    let guarded =
        url("localhost", format!("sslmode=verify-full&sslrootcert={}", ca(&own))).replace("okusuri@", "guarded@");
    let failure = reached(guarded.clone()).await.unwrap_err();
    assert_eq!(failure.kind, FailureKind::SourceUnreachable, "{failure}");
    let (certificate, key) = own.issue("guarded", ExtendedKeyUsagePurpose::ClientAuth);
    let paths = [("guarded.crt", certificate), ("guarded.key", key)].map(|(name, text)| {
        let path = folder.path().join(name);
        std::fs::write(&path, text).unwrap();
        path.display().to_string()
    });
    reached(format!("{guarded}&sslcert={}&sslkey={}", paths[0], paths[1])).await.unwrap();
}
