//! Ids that the server generates.

use std::sync::{Mutex, PoisonError};

use jiff::Timestamp;
use uuid::{ContextV7, Uuid};

/// The time of the last id, and the counter that keeps the ids of one millisecond in order.
struct Kept {
    at: Timestamp,
    context: ContextV7,
}

static KEPT: Mutex<Kept> = Mutex::new(Kept { at: Timestamp::UNIX_EPOCH, context: ContextV7::new() });

/// A UUIDv7 of this moment, greater than all earlier ids of this instance unless the clock went
/// back. [`Uuid::now_v7`] would stay ahead in that case: after a clock that jumped forward and
/// back, an instance would generate ids of the future for as long as it lives.
pub fn new_id() -> Uuid {
    let mut kept = KEPT.lock().unwrap_or_else(PoisonError::into_inner);
    kept.next(Timestamp::now())
}

impl Kept {
    fn next(&mut self, now: Timestamp) -> Uuid {
        if now < self.at {
            self.context = ContextV7::new();
        }
        self.at = now;
        let seconds = u64::try_from(now.as_second()).unwrap_or_default();
        let nanoseconds = u32::try_from(now.subsec_nanosecond()).unwrap_or_default();
        Uuid::new_v7(uuid::Timestamp::from_unix(&self.context, seconds, nanoseconds))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(id: Uuid) -> u64 {
        id.as_u64_pair().0 >> 16
    }

    #[test]
    fn new_ids_follow_a_clock_that_stepped_back() {
        let mut kept = Kept { at: Timestamp::UNIX_EPOCH, context: ContextV7::new() };
        for time in ["2035-10-02T10:30:00Z", "2025-10-02T10:30:00.123Z", "2025-10-02T10:30:00.124Z"] {
            let now: Timestamp = time.parse().expect("a time");
            assert_eq!(i64::try_from(at(kept.next(now))), Ok(now.as_millisecond()), "{time}");
        }
    }

    #[test]
    fn ids_of_one_millisecond_sort_in_creation_order() {
        let mut kept = Kept { at: Timestamp::UNIX_EPOCH, context: ContextV7::new() };
        let now: Timestamp = "2025-10-02T10:30:00Z".parse().expect("a time");
        let ids: Vec<_> = (0..1_000).map(|_| kept.next(now)).collect();
        assert!(ids.is_sorted_by(|one, other| one < other));
        assert!(new_id() < new_id());
    }
}
