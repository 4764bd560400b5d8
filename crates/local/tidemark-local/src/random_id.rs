//! Random ids of requests, messages and events.

/// A random UUID. It is no secret, so a fast generator is enough.
pub(crate) fn random_id() -> String {
    uuid::Builder::from_random_bytes(fastrand::u128(..).to_ne_bytes()).into_uuid().to_string()
}
