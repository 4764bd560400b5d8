//! Serves AWS's own domain names to functions, for SDKs that do not read `AWS_ENDPOINT_URL`.
//!
//! The Rust SDK reads this variable since its release of 2024-03-26. An older one calls
//! `https://dynamodb.us-east-1.amazonaws.com`. If a function's binary has such an SDK, or with
//! `--aws-domains`, the stack serves HTTPS with a certificate of its own authority, which exists
//! only during this run. The functions' processes trust it through `SSL_CERT_FILE`. A small library
//! in `LD_PRELOAD` sends their connections to `*.amazonaws.com` there. Other processes on the
//! machine are not affected.
//!
//! Source: <https://github.com/awslabs/aws-sdk-rust/releases/tag/release-2024-03-26>.

mod certificate;
mod proxy;

use std::collections::BTreeMap;
use std::net::Ipv4Addr;
use std::path::{Path, PathBuf};

use tempfile::TempDir;
use tokio::net::TcpListener;
use tokio::process::Command;
use tokio_util::sync::{CancellationToken, DropGuard};

use self::proxy::Services;
use crate::functions::Endpoints;

/// The source of the library.
const REDIRECT: &str = include_str!("redirect.c");

/// AWS's domain names, served for functions until this is dropped.
#[derive(Debug)]
pub(crate) struct AwsDomains {
    folder: TempDir,
    library: PathBuf,
    bundle: PathBuf,
    _stop_on_drop: DropGuard,
}

/// Why the domain names cannot be served.
#[derive(Debug, thiserror::Error)]
pub enum AwsDomainsError {
    /// A file or a port cannot be used.
    #[error("cannot serve AWS's domain names")]
    Io(#[from] std::io::Error),
    /// The certificates cannot be made.
    #[error("cannot make a certificate for AWS's domain names")]
    Certificate(#[from] rcgen::Error),
    /// The certificates cannot be used.
    #[error("cannot use the certificate for AWS's domain names")]
    Tls(#[from] tokio_rustls::rustls::Error),
    /// The library does not compile.
    #[error("AWS's domain names need Linux and a C compiler (`cc`): {0}")]
    Compiler(String),
}

impl AwsDomains {
    /// Starts to serve the domain names of the services at `endpoints`.
    pub(crate) async fn start(endpoints: &Endpoints) -> Result<Self, AwsDomainsError> {
        let folder = tempfile::Builder::new().prefix("tidemark-local-").tempdir()?;
        let certificates = certificate::make()?;
        let bundle = folder.path().join("certificates.pem");
        std::fs::write(&bundle, with_own_roots(&certificates.authority_pem)?)?;
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await?;
        let library = compile(folder.path(), listener.local_addr()?.port()).await?;
        let stop = CancellationToken::new();
        let serving = proxy::serve(listener, certificates.server()?, Services::new(endpoints), stop.clone());
        tokio::spawn(stop.clone().run_until_cancelled_owned(serving));
        Ok(Self { folder, library, bundle, _stop_on_drop: stop.drop_guard() })
    }

    /// The variables of functions' processes.
    pub(crate) fn variables(&self) -> BTreeMap<String, String> {
        debug_assert!(self.library.starts_with(self.folder.path()), "the files live as long as their folder");
        let text = |path: &Path| path.to_string_lossy().into_owned();
        [("LD_PRELOAD", text(&self.library)), ("SSL_CERT_FILE", text(&self.bundle))]
            .map(|(name, value)| (name.to_owned(), value))
            .into()
    }
}

/// The system's root certificates and the own authority.
fn with_own_roots(authority: &str) -> std::io::Result<String> {
    let system = openssl_probe::probe().cert_file.map(std::fs::read_to_string).transpose()?.unwrap_or_default();
    Ok(format!("{}\n{authority}", system.trim_end()))
}

async fn compile(folder: &Path, port: u16) -> Result<PathBuf, AwsDomainsError> {
    if !cfg!(target_os = "linux") {
        return Err(AwsDomainsError::Compiler("this is another system".to_owned()));
    }
    let (source, library) = (folder.join("redirect.c"), folder.join("redirect.so"));
    std::fs::write(&source, REDIRECT)?;
    let compiler = std::env::var_os("CC").filter(|name| !name.is_empty()).unwrap_or_else(|| "cc".into());
    let mut command = Command::new(compiler);
    command.args(["-shared", "-fPIC", "-O1", "-o"]).args([&library, &source]);
    command.args([format!("-DSTACK_PORT={port}"), "-ldl".to_owned()]);
    let output = command.output().await.map_err(|error| AwsDomainsError::Compiler(error.to_string()))?;
    if output.status.success() {
        return Ok(library);
    }
    Err(AwsDomainsError::Compiler(String::from_utf8_lossy(&output.stderr).trim().to_owned()))
}
