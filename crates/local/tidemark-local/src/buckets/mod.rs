//! The buckets of a template: an S3 on the file system, and notifications of its changes.
//!
//! The server is the crate `s3s`, the storage `s3s-fs`. Buckets have a port of their own, because
//! their paths are object keys. SDKs address a bucket at an IP address in path style.

mod access;
mod notifications;

use std::net::{Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use axum::Router;
use axum::body::Body;
use axum::extract::{Request, State};
use axum::http::{Response, StatusCode};
use axum::response::IntoResponse;
use s3s::service::{S3Service, S3ServiceBuilder};
use s3s_fs::FileSystem;
use tempfile::TempDir;
use tokio::net::TcpListener;

use self::access::{LocalAccess, LocalKeys};
use self::notifications::{Change, Notifier};
use crate::eventbridge::Buses;
use crate::policies::Policies;
use crate::private_files;
use crate::stack::Bucket;

/// The folder of the buckets in the data folder.
const FOLDER: &str = "buckets";

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
    notifier: Notifier,
}

impl Buckets {
    /// Creates the folders of the buckets and opens their port; `None` if the template has none.
    ///
    /// # Errors
    /// [`BucketsError`].
    pub(crate) async fn open(buckets: &[Bucket], data: Option<&Path>) -> Result<Option<Self>, BucketsError> {
        if buckets.is_empty() {
            return Ok(None);
        }
        let temporary = if data.is_none() { Some(TempDir::new()?) } else { None };
        let folder = match (&temporary, data) {
            (Some(temporary), _) => temporary.path().to_owned(),
            (None, data) => data.unwrap_or(Path::new(".")).join(FOLDER),
        };
        for bucket in buckets {
            private_files::folder(&folder.join(&bucket.name))?;
        }
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await?;
        Ok(Some(Self { folder, listener, temporary }))
    }

    /// The endpoint: `http://127.0.0.1:34567`.
    ///
    /// # Errors
    /// When the system does not tell the port.
    pub(crate) fn url(&self) -> Result<String, BucketsError> {
        Ok(self.listener.local_addr().map(|address: SocketAddr| format!("http://{address}"))?)
    }

    /// Serves until the returned future is dropped.
    ///
    /// # Errors
    /// [`BucketsError::Storage`].
    pub(crate) fn serve(
        self,
        buckets: &[Bucket],
        policies: &Arc<Policies>,
        buses: &Arc<Buses>,
    ) -> Result<impl Future<Output = ()> + Send + 'static, BucketsError> {
        let storage = FileSystem::new(&self.folder).map_err(|error| BucketsError::Storage(format!("{error:?}")))?;
        let mut service = S3ServiceBuilder::new(storage);
        service.set_auth(LocalKeys);
        service.set_access(LocalAccess(Arc::clone(policies)));
        let notifier = Notifier::new(buckets, buses);
        let router = Router::new().fallback(handle).with_state(Arc::new(Served { service: service.build(), notifier }));
        let (listener, temporary) = (self.listener, self.temporary);
        Ok(async move {
            let _kept = temporary;
            if let Err(error) = axum::serve(listener, crate::guard::own_pages_only(router)).await {
                tracing::error!("the server of the buckets ended: {error}");
            }
        })
    }
}

async fn handle(State(served): State<Arc<Served>>, request: Request) -> Response<Body> {
    let change = Change::of(&request);
    let request = request.map(s3s::Body::http_body_unsync);
    match served.service.call(request).await {
        Ok(response) => {
            if let Some(change) = change.filter(|_| response.status().is_success()) {
                served.notifier.notify(&change, response.headers());
            }
            response.map(Body::new)
        }
        Err(error) => {
            tracing::error!("a request to a bucket failed: {error:?}");
            StatusCode::INTERNAL_SERVER_ERROR.into_response()
        }
    }
}
