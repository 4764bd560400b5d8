//! One request to the engine.

use axum::body::Bytes;
use axum::http::{HeaderMap, Method, Uri};

use crate::adaptation::Adaptation;

/// A request to the table API or the streams API, with its whole body.
#[derive(Debug, Clone)]
pub(crate) struct Call {
    /// Such as `PutItem`; empty if the request names none.
    pub(crate) operation: String,
    pub(crate) method: Method,
    pub(crate) uri: Uri,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Bytes,
    pub(crate) adaptation: Adaptation,
}
