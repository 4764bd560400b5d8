//! Reservations: goods promised to an order until it is paid, given up, or too late.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use super::{OrderId, Quantity};
use crate::{Moment, MomentError};

/// Goods promised to an order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reservation {
    /// To which.
    pub order_id: OrderId,
    /// How many.
    pub quantity: Quantity,
    /// Since when.
    pub created_at: Moment,
    /// The first moment at which the promise holds no longer.
    pub expires_at: Moment,
    /// Where it stands.
    pub state: ReservationState,
}

/// Where a reservation stands. It leaves [`ReservationState::Open`] once, and no other state.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReservationState {
    /// The goods are kept for the order.
    Open,
    /// It is over: what became of the goods, and when.
    Settled(Settlement, Moment),
}

/// What became of the goods.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Settlement {
    /// They went to the order.
    Committed,
    /// The order gave them up.
    Released,
    /// Nothing was heard in time.
    Expired,
}

/// A text that names no state.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("expected OPEN, COMMITTED, RELEASED or EXPIRED")]
pub struct ReservationStateError;

/// How long goods are kept: 1 second to a day.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HoldTime(u32);

/// A number of seconds that nothing is kept for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("must be a whole number of seconds from 1 to {max}", max = HoldTime::SECONDS_MAX)]
pub struct HoldTimeError;

/// Why a reservation cannot end so.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum SettleError {
    /// It has ended in another way.
    #[error("it is {0} since {1}")]
    Settled(Settlement, Moment),
    /// Its time is over, whether or not anybody has given the goods back yet.
    #[error("it was good until {0}")]
    Expired(Moment),
}

/// What settling comes to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SettleOutcome {
    /// It ends now, in this way.
    Now(Settlement),
    /// It had ended so before: nothing is left to do.
    Before,
}

impl Reservation {
    /// A new one.
    ///
    /// # Errors
    /// At the end of time.
    pub fn new(order_id: OrderId, quantity: Quantity, hold_time: HoldTime, now: Moment) -> Result<Self, MomentError> {
        let expires_at = now.timestamp().checked_add(hold_time.duration()).map_err(|_| MomentError::OutOfRange)?;
        let expires_at = Moment::new(expires_at)?;
        Ok(Self { order_id, quantity, created_at: now, expires_at, state: ReservationState::Open })
    }

    /// Whether somebody who asks for so many for so long asks for this one.
    pub fn is_for(&self, quantity: Quantity, hold_time: HoldTime) -> bool {
        let held = self.expires_at.timestamp().duration_since(self.created_at.timestamp());
        self.quantity == quantity && held.unsigned_abs() == hold_time.duration()
    }

    /// Whether its time is over and the goods are still kept.
    pub fn is_overdue(&self, now: Moment) -> bool {
        self.state == ReservationState::Open && now >= self.expires_at
    }

    /// The goods go to the order.
    ///
    /// # Errors
    /// [`SettleError`]. What is overdue is refused before anybody has cleaned it up as well as after.
    pub fn commit(&self, now: Moment) -> Result<SettleOutcome, SettleError> {
        match self.state {
            ReservationState::Open if self.is_overdue(now) => Err(SettleError::Expired(self.expires_at)),
            ReservationState::Open => Ok(SettleOutcome::Now(Settlement::Committed)),
            ReservationState::Settled(Settlement::Committed, _) => Ok(SettleOutcome::Before),
            ReservationState::Settled(Settlement::Expired, _) => Err(SettleError::Expired(self.expires_at)),
            ReservationState::Settled(other, at) => Err(SettleError::Settled(other, at)),
        }
    }

    /// The order gives the goods up. Of one that is overdue that is nothing new: it expires.
    ///
    /// # Errors
    /// [`SettleError::Settled`] when the goods have gone.
    pub fn release(&self, now: Moment) -> Result<SettleOutcome, SettleError> {
        match self.state {
            ReservationState::Open if self.is_overdue(now) => Ok(SettleOutcome::Now(Settlement::Expired)),
            ReservationState::Open => Ok(SettleOutcome::Now(Settlement::Released)),
            ReservationState::Settled(Settlement::Committed, at) => {
                Err(SettleError::Settled(Settlement::Committed, at))
            }
            ReservationState::Settled(Settlement::Released | Settlement::Expired, _) => Ok(SettleOutcome::Before),
        }
    }
}

impl HoldTime {
    /// A day.
    pub const SECONDS_MAX: u32 = 24 * 60 * 60;

    /// Checks the bounds.
    pub fn new(seconds: i64) -> Result<Self, HoldTimeError> {
        let seconds = u32::try_from(seconds).ok().filter(|seconds| (1..=Self::SECONDS_MAX).contains(seconds));
        seconds.map(Self).ok_or(HoldTimeError)
    }

    /// The same as a duration.
    pub fn duration(self) -> Duration {
        Duration::from_secs(u64::from(self.0))
    }
}

impl Default for HoldTime {
    /// A quarter of an hour.
    fn default() -> Self {
        Self(15 * 60)
    }
}

impl Settlement {
    /// As it is spelled in a row, and by clients.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Committed => "COMMITTED",
            Self::Released => "RELEASED",
            Self::Expired => "EXPIRED",
        }
    }
}

impl fmt::Display for Settlement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl FromStr for Settlement {
    type Err = ReservationStateError;

    fn from_str(text: &str) -> Result<Self, ReservationStateError> {
        let all = [Self::Committed, Self::Released, Self::Expired];
        all.into_iter().find(|settlement| settlement.as_str() == text).ok_or(ReservationStateError)
    }
}

impl ReservationState {
    /// As it is spelled in a row, and by clients.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Open => "OPEN",
            Self::Settled(settlement, _) => settlement.as_str(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn moment(text: &str) -> Moment {
        Moment::parse(text).expect("a moment")
    }

    fn quantity(number: i64) -> Quantity {
        Quantity::new(number).expect("a quantity")
    }

    fn reservation(state: ReservationState) -> Reservation {
        let order_id = OrderId::new("o-1").expect("an order");
        let created_at = moment("2024-01-15T10:00:00Z");
        let new = Reservation::new(order_id, quantity(2), HoldTime::default(), created_at).expect("a reservation");
        Reservation { state, ..new }
    }

    #[test]
    fn a_reservation_ends_when_its_time_is_over_and_knows_who_asks_for_it_again() {
        let open = reservation(ReservationState::Open);
        assert_eq!(open.expires_at, moment("2024-01-15T10:15:00Z"));
        assert!(open.is_for(quantity(2), HoldTime::default()) && !open.is_for(quantity(3), HoldTime::default()));
        assert!(!open.is_for(quantity(2), HoldTime::new(901).expect("a time")));
    }

    #[test]
    fn a_promise_holds_to_the_nanosecond_before_its_end() {
        let open = reservation(ReservationState::Open);
        let (last, end) = (moment("2024-01-15T10:14:59.999999999Z"), open.expires_at);
        assert_eq!(open.commit(last), Ok(SettleOutcome::Now(Settlement::Committed)));
        assert_eq!(open.release(last), Ok(SettleOutcome::Now(Settlement::Released)));
        assert_eq!(open.commit(end), Err(SettleError::Expired(end)));
        assert_eq!(open.release(end), Ok(SettleOutcome::Now(Settlement::Expired)));
        assert!(open.is_overdue(end) && !open.is_overdue(last));
    }

    #[test]
    fn what_has_ended_ends_in_no_other_way() {
        let (at, late) = (moment("2024-01-15T10:05:00Z"), moment("2024-01-16T00:00:00Z"));
        let settled = |settlement| reservation(ReservationState::Settled(settlement, at));
        let end = reservation(ReservationState::Open).expires_at;
        let (committed, released, expired) =
            (settled(Settlement::Committed), settled(Settlement::Released), settled(Settlement::Expired));
        for now in [at, late] {
            assert_eq!(committed.commit(now), Ok(SettleOutcome::Before));
            assert_eq!(committed.release(now), Err(SettleError::Settled(Settlement::Committed, at)));
            assert_eq!(released.release(now), Ok(SettleOutcome::Before));
            assert_eq!(released.commit(now), Err(SettleError::Settled(Settlement::Released, at)));
            assert_eq!(expired.commit(now), Err(SettleError::Expired(end)));
            assert_eq!(expired.release(now), Ok(SettleOutcome::Before));
            assert!(!committed.is_overdue(now) && !released.is_overdue(now) && !expired.is_overdue(now));
        }
    }

    #[test]
    fn whether_somebody_has_cleaned_up_makes_no_difference_to_an_order_that_comes_too_late() {
        let now = moment("2024-01-15T10:15:00Z");
        let (before, after) = (
            reservation(ReservationState::Open),
            reservation(ReservationState::Settled(Settlement::Expired, moment("2024-01-15T10:16:00Z"))),
        );
        assert_eq!(before.commit(now), after.commit(now));
        assert!(before.release(now).is_ok() && after.release(now).is_ok());
    }

    #[test]
    fn goods_are_kept_for_a_second_to_a_day_and_for_a_quarter_of_an_hour_unless_told() {
        assert_eq!(HoldTime::default().duration(), Duration::from_secs(900));
        assert_eq!(HoldTime::new(86_400).map(HoldTime::duration), Ok(Duration::from_secs(86_400)));
        for seconds in [i64::MIN, -1, 0, 86_401, i64::MAX] {
            assert_eq!(HoldTime::new(seconds), Err(HoldTimeError), "{seconds}");
        }
    }

    #[test]
    fn a_state_has_one_spelling() {
        for text in ["COMMITTED", "RELEASED", "EXPIRED"] {
            assert_eq!(text.parse::<Settlement>().map(Settlement::as_str), Ok(text));
        }
        assert_eq!("OPEN".parse::<Settlement>(), Err(ReservationStateError));
    }
}
