//! The buckets of a template: an S3 on this machine, and notifications of its changes.
//!
//! The crate `s3s` is the server: it reads requests, verifies signatures and writes answers. Buckets
//! have a port of their own, because their paths are object keys. SDKs address a bucket at an IP
//! address in path style.

mod access;
mod body;
mod cors;
mod notifications;
mod storage;

use std::net::{Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use axum::Router;
use axum::body::Body;
use axum::extract::{Request, State};
use axum::http::{HeaderMap, Response, StatusCode, header};
use axum::response::IntoResponse;
use s3s::service::{S3Service, S3ServiceBuilder};
use s3s::{S3Error, S3ErrorCode};
use tempfile::TempDir;
use tidemark_engine::guard;
use tidemark_engine::listener::Listener;
use tokio::net::TcpListener;

use self::access::{LocalAccess, LocalKeys};
use self::body::Upload;
use self::cors::PageRequest;
use self::notifications::Notifier;
use self::storage::Storage;
use crate::actions;
use crate::eventbridge::Buses;
use crate::policies::Policies;
use crate::private_files;
use crate::stack::Bucket;
use crate::start_error::StartError;

/// The folder of the buckets in the data folder.
const FOLDER: &str = "s3";

/// The folder in which older versions stored each object under the path that its key names.
const OLD_FOLDER: &str = "buckets";

/// The buckets of a stack.
#[derive(Debug)]
pub(crate) struct Buckets {
    folder: PathBuf,
    listener: TcpListener,
    /// Removed with the stack if it keeps no data.
    temporary: Option<TempDir>,
}

/// Why buckets cannot be served.
#[derive(Debug, thiserror::Error)]
pub enum BucketsError {
    /// A folder or a port cannot be used.
    #[error("cannot serve the buckets")]
    Io(#[from] std::io::Error),
    /// The storage does not start.
    #[error("cannot serve the buckets: {0}")]
    Storage(String),
}

/// The state of the handler.
struct Served {
    service: S3Service,
    storage: Storage,
}

impl Buckets {
    /// Creates the folder of the buckets and opens their port; `None` if the template has none.
    pub(crate) async fn open(buckets: &[Bucket], port: u16, data: Option<&Path>) -> Result<Option<Self>, StartError> {
        if buckets.is_empty() {
            return Ok(None);
        }
        let temporary = if data.is_none() { Some(TempDir::new().map_err(BucketsError::Io)?) } else { None };
        let folder = match (&temporary, data) {
            (Some(temporary), _) => temporary.path().to_owned(),
            (None, data) => data.unwrap_or(Path::new(".")).join(FOLDER),
        };
        private_files::folder(&folder).map_err(BucketsError::Io)?;
        if let Some(data) = data {
            warn_of_old_objects(&data.join(OLD_FOLDER), buckets);
        }
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, port)).await;
        let listener = listener.map_err(|source| StartError::S3Port { port, source })?;
        Ok(Some(Self { folder, listener, temporary }))
    }

    /// The endpoint: `http://127.0.0.1:4572`.
    pub(crate) fn url(&self) -> Result<String, BucketsError> {
        Ok(self.listener.local_addr().map(|address: SocketAddr| format!("http://{address}"))?)
    }

    /// Serves until the returned future is dropped.
    pub(crate) fn serve(
        self,
        buckets: &[Bucket],
        policies: &Arc<Policies>,
        buses: &Arc<Buses>,
    ) -> Result<impl Future<Output = ()> + Send + 'static, BucketsError> {
        let storage = Storage::open(&self.folder, buckets, Notifier::new(buckets, buses));
        let storage = storage.map_err(|error| BucketsError::Storage(format!("{error:?}")))?;
        let mut service = S3ServiceBuilder::new(storage.clone());
        service.set_auth(LocalKeys);
        service.set_access(LocalAccess(Arc::clone(policies)));
        let served = Served { service: service.build(), storage };
        let router = Router::new().fallback(handle).with_state(Arc::new(served));
        let (listener, temporary) = (self.listener, self.temporary);
        Ok(async move {
            let _kept = temporary;
            if let Err(error) = axum::serve(Listener::new(listener), router).await {
                tracing::error!("the server of the buckets ended: {error}");
            }
        })
    }
}

/// Warns of objects that an older version stored: this one does not read them.
fn warn_of_old_objects(old: &Path, buckets: &[Bucket]) {
    for bucket in buckets {
        let folder = old.join(&bucket.name);
        if std::fs::read_dir(&folder).is_ok_and(|mut files| files.next().is_some()) {
            let (folder, name) = (folder.display(), &bucket.name);
            tracing::warn!(
                "the objects in {folder} are of an older version and are not in the bucket: upload them with `aws s3 sync {folder} s3://{name}`, then remove the folder"
            );
        }
    }
}

async fn handle(State(served): State<Arc<Served>>, request: Request) -> Response<Body> {
    let (parts, body) = request.into_parts();
    // A page of another origin needs a rule of the bucket. Requests for a foreign host come from a
    // page that lies about its own.
    let hosts = parts.headers.get_all(header::HOST).iter().cloned().map(|host| (header::HOST, host));
    let to_this_machine = guard::admits(&parts.uri, &HeaderMap::from_iter(hosts));
    let page = PageRequest::of(&parts);
    let is_preflight = page.as_ref().is_some_and(|page| page.is_preflight);
    let allowed = match page {
        Some(page) => {
            let bucket = parts.uri.path().trim_start_matches('/').split('/').next().unwrap_or_default();
            page.allowed_by(served.storage.cors_rules(bucket).await)
        }
        None => None,
    };
    let upload = Upload::new(&parts.headers, body);
    let mut response = if !to_this_machine || (allowed.is_none() && !guard::admits(&parts.uri, &parts.headers)) {
        let refusal = if is_preflight { cors::refusal() } else { foreign_page() };
        error(refusal)
    } else if is_preflight {
        if allowed.is_some() { StatusCode::OK.into_response() } else { error(cors::refusal()) }
    } else {
        answer(&served.service, Request::from_parts(parts, Body::new(upload.clone()))).await
    };
    upload.read_rest().await;
    if let Some(allowed) = allowed {
        allowed.add_headers(response.headers_mut());
    }
    response
}

async fn answer(service: &S3Service, request: Request) -> Response<Body> {
    // The service would take a query that it does not know for none, and delete or put an object.
    let (method, uri) = (request.method().as_str(), request.uri());
    let action = actions::S3.action_of_s3(method, uri.path(), uri.query().unwrap_or_default());
    if let Some(sentence) = action.and_then(|action| actions::S3.refusal(action)) {
        return self::error(S3Error::with_message(S3ErrorCode::NotImplemented, sentence));
    }
    match service.call(request.map(s3s::Body::http_body_unsync)).await {
        // It has no body, and the server's crate gives it one.
        Ok(response) if response.status() == StatusCode::NOT_MODIFIED => response.map(|_| Body::empty()),
        Ok(response) => response.map(Body::new),
        Err(error) => {
            tracing::error!("a request to a bucket failed: {error:?}");
            self::error(S3Error::new(S3ErrorCode::InternalError))
        }
    }
}

fn foreign_page() -> S3Error {
    let message = "Only programs on this machine may call this, at localhost or 127.0.0.1, and pages that a CORS rule of the bucket allows.";
    S3Error::with_message(S3ErrorCode::AccessDenied, message)
}

fn error(error: S3Error) -> Response<Body> {
    match error.to_http_response() {
        Ok(response) => response.map(Body::new),
        Err(_) => StatusCode::INTERNAL_SERVER_ERROR.into_response(),
    }
}
