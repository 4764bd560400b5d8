//! The identity of a click: a UUIDv7, whose first 48 bits are its time.

use std::fmt;

use domain::clicks::ClickTime;
use jiff::Timestamp;
use lambda_kit::problem::{IDEMPOTENCY_KEY_TIME, INTERNAL, INVALID_IDEMPOTENCY_KEY, Problem};
use uuid::{Uuid, Variant};

/// The header that carries it.
pub const IDEMPOTENCY_KEY: &str = "idempotency-key";

/// The header cannot stand for several clicks.
pub(crate) const KEY_IN_BATCH: Problem = Problem::new(
    400,
    "idempotency-key-in-batch",
    "The Idempotency-Key header goes with a single click: give each click of several an `idempotencyKey`",
);

/// A UUIDv7 and the time in it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ClickId {
    id: Uuid,
    time: ClickTime,
}

impl ClickId {
    /// A client's key. Its time is the click's, so it has to be about now.
    pub(crate) fn parse(key: &str, now: Timestamp) -> Result<Self, Problem> {
        let id = Uuid::try_parse(key).map_err(|_| INVALID_IDEMPOTENCY_KEY.detail("must be a UUIDv7"))?;
        let id = Self::new(id).ok_or_else(|| INVALID_IDEMPOTENCY_KEY.detail("must be a UUID of version 7"))?;
        if !id.time.is_near(now) {
            return Err(IDEMPOTENCY_KEY_TIME.detail("its time is more than 5 minutes away from the server's"));
        }
        Ok(id)
    }

    /// An id that the server made.
    pub(crate) fn of_server(id: Uuid) -> Result<Self, Problem> {
        Self::new(id).ok_or(INTERNAL)
    }

    fn new(id: Uuid) -> Option<Self> {
        if id.get_version_num() != 7 || id.get_variant() != Variant::RFC4122 {
            return None;
        }
        let (millisecond, _) = id.as_u64_pair();
        let time = ClickTime::from_millisecond(i64::try_from(millisecond >> 16).ok()?).ok()?;
        Some(Self { id, time })
    }

    pub(crate) fn time(self) -> ClickTime {
        self.time
    }
}

impl fmt::Display for ClickId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.id.fmt(f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn outcome(key: &str) -> Result<String, &'static str> {
        let now = "2025-10-02T10:30:00Z".parse().expect("a time");
        ClickId::parse(key, now).map(|id| id.time().to_string()).map_err(|problem| problem.name())
    }

    fn key_at(time: &str) -> String {
        let time: Timestamp = time.parse().expect("a time");
        uuid::Builder::from_unix_timestamp_millis(time.as_millisecond() as u64, &[7; 10]).into_uuid().to_string()
    }

    #[test]
    fn a_keys_time_is_the_clicks() {
        assert_eq!(outcome(&key_at("2025-10-02T10:29:59.123Z")), Ok("2025-10-02T10:29:59.123Z".into()));
    }

    #[test]
    fn a_key_of_another_time_is_refused() {
        assert_eq!(outcome(&key_at("2025-10-02T10:24:59.999Z")), Err("idempotency-key-time"));
        assert_eq!(outcome(&key_at("2025-10-02T10:35:00.001Z")), Err("idempotency-key-time"));
        assert_eq!(outcome("ffffffff-ffff-7fff-bfff-ffffffffffff"), Err("invalid-idempotency-key"));
    }

    #[test]
    fn only_uuids_of_version_7_are_keys() {
        let v7 = key_at("2025-10-02T10:30:00Z");
        let (v4, other_variant) = (v7.replacen("-7", "-4", 1), format!("{}-0{}", &v7[..18], &v7[20..]));
        for key in ["", "x", &v4, &other_variant, &v7[1..]] {
            assert_eq!(outcome(key), Err("invalid-idempotency-key"), "{key}");
        }
    }
}
