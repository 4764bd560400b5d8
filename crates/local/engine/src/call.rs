//! One request to the engine.

use axum::body::Bytes;
use axum::http::{HeaderMap, Method, Uri};

/// A request to the table or the streams API, read whole.
#[derive(Debug, Clone)]
pub(crate) struct Call {
    /// `PutItem`; empty when the request names none.
    pub(crate) operation: String,
    pub(crate) method: Method,
    pub(crate) uri: Uri,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Bytes,
}
