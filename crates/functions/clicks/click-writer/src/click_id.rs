//! The id of a click: a UUIDv7, whose first 48 bits are the click's time.

use std::fmt;

use domain::clicks::ClickTime;
use jiff::Timestamp;
use lambda_kit::problem::{IDEMPOTENCY_KEY_TIME, INTERNAL, INVALID_IDEMPOTENCY_KEY, Problem};
use uuid::{Builder, Uuid, Variant};

/// The header that carries the id.
pub const IDEMPOTENCY_KEY: &str = "idempotency-key";

/// The header identifies one click, so it cannot identify a batch.
pub(crate) const KEY_IN_BATCH: Problem = Problem::new(
    400,
    "idempotency-key-in-batch",
    "The Idempotency-Key header is for a single click: in a batch, give each click its own `idempotencyKey`",
);

/// A UUIDv7 and the time in it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ClickId {
    id: Uuid,
    time: ClickTime,
}

impl ClickId {
    /// Parses a client's key. Its time becomes the click's time.
    pub(crate) fn parse(key: &str) -> Result<Self, Problem> {
        let id = Uuid::try_parse(key).map_err(|_| INVALID_IDEMPOTENCY_KEY.detail("must be a UUIDv7"))?;
        Self::new(id).ok_or_else(|| INVALID_IDEMPOTENCY_KEY.detail("must be a UUID of version 7"))
    }

    /// Generates an id with the clock's time. `step` keeps the clicks of one request apart.
    pub(crate) fn generate(now: Timestamp, step: u16, random_id: Uuid) -> Result<Self, Problem> {
        let time = ClickTime::from_millisecond(now.as_millisecond()).and_then(|time| time.plus(step)).ok();
        let millisecond = time.and_then(|time| u64::try_from(time.as_millisecond()).ok()).ok_or(INTERNAL)?;
        let mut random = [0; 10];
        random.copy_from_slice(&random_id.as_bytes()[6..]);
        Self::new(Builder::from_unix_timestamp_millis(millisecond, &random).into_uuid()).ok_or(INTERNAL)
    }

    /// Whether a click of that time may still be stored. A repetition of a stored click gets the
    /// same answer at any later time.
    pub(crate) fn check_time(self, now: Timestamp) -> Result<(), Problem> {
        let why = "its time is more than 5 minutes ahead of the server's, or more than 24 hours behind it";
        if self.time.is_accepted_at(now) { Ok(()) } else { Err(IDEMPOTENCY_KEY_TIME.detail(why)) }
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
        let id = ClickId::parse(key).and_then(|id| id.check_time(now).map(|()| id));
        id.map(|id| id.time().to_string()).map_err(|problem| problem.name())
    }

    fn key_at(time: &str) -> String {
        let time: Timestamp = time.parse().expect("a time");
        uuid::Builder::from_unix_timestamp_millis(time.as_millisecond() as u64, &[7; 10]).into_uuid().to_string()
    }

    #[test]
    fn click_time_is_the_time_of_its_idempotency_key() {
        assert_eq!(outcome(&key_at("2025-10-02T10:29:59.123Z")), Ok("2025-10-02T10:29:59.123Z".into()));
    }

    #[test]
    fn generated_click_ids_follow_a_clock_that_stepped_back() {
        let at = |time: &str, step| {
            let id = ClickId::generate(time.parse().expect("a time"), step, lambda_kit::id::new_id()).expect("an id");
            assert_eq!(ClickId::parse(&id.to_string()), Ok(id));
            id.time().to_string()
        };
        assert_eq!(at("2035-10-02T10:30:00Z", 0), "2035-10-02T10:30:00.000Z");
        assert_eq!(at("2025-10-02T10:30:00Z", 0), "2025-10-02T10:30:00.000Z");
        assert_eq!(at("2025-10-02T10:30:00Z", 24), "2025-10-02T10:30:00.024Z");
    }

    #[test]
    fn a_key_of_another_time_is_refused() {
        assert_eq!(outcome(&key_at("2025-10-01T10:29:59.999Z")), Err("idempotency-key-time"));
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
