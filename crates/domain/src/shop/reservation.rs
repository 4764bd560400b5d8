//! Reservations: stock held for an order until the order commits it, releases it, or the hold
//! expires.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use super::{OrderId, OrderLines, Quantity};
use crate::{Moment, MomentError};

/// Stock held for an order: pieces of one product, or all lines of an [`Order`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reservation<Goods = Quantity> {
    /// The order.
    pub order_id: OrderId,
    /// The number of pieces, or the lines.
    pub goods: Goods,
    /// When the reservation was made.
    pub created_at: Moment,
    /// The first moment at which the reservation is no longer valid.
    pub expires_at: Moment,
    /// The state.
    pub state: ReservationState,
}

/// An order of several lines. They are reserved, committed, released and expire together.
pub type Order = Reservation<OrderLines>;

/// The state of a reservation. It changes at most once, from [`ReservationState::Open`] to
/// [`ReservationState::Settled`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReservationState {
    /// The stock is held for the order.
    Open,
    /// The reservation has ended, in this way and at this time.
    Settled(Settlement, Moment),
}

/// How a reservation ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Settlement {
    /// The stock left with the order.
    Committed,
    /// The order gave the stock back.
    Released,
    /// The hold time ended before the order committed or released the stock.
    Expired,
}

/// The text is not the name of a state.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("expected OPEN, COMMITTED, RELEASED or EXPIRED")]
pub struct ReservationStateError;

/// How long stock is held: 1 second to 1 day.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HoldTime(u32);

/// The number of seconds is out of range.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("must be a whole number of seconds from 1 to {max}", max = HoldTime::SECONDS_MAX)]
pub struct HoldTimeError;

/// Why a reservation cannot be committed or released.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum SettleError {
    /// The reservation has already ended in another way.
    #[error("it is {0} since {1}")]
    Settled(Settlement, Moment),
    /// The hold time is over. This does not depend on whether the stock has been released yet.
    #[error("it was good until {0}")]
    Expired(Moment),
}

/// The result of committing or releasing a reservation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SettleOutcome {
    /// The reservation ends now, in this way.
    Now(Settlement),
    /// The reservation has already ended in this way. Nothing is left to do.
    Before,
}

impl<Goods: PartialEq> Reservation<Goods> {
    /// A new reservation.
    ///
    /// # Errors
    /// The hold time would end after the last supported moment.
    pub fn new(order_id: OrderId, goods: Goods, hold_time: HoldTime, now: Moment) -> Result<Self, MomentError> {
        let expires_at = now.timestamp().checked_add(hold_time.duration()).map_err(|_| MomentError::OutOfRange)?;
        let expires_at = Moment::new(expires_at)?;
        Ok(Self { order_id, goods, created_at: now, expires_at, state: ReservationState::Open })
    }

    /// Whether a request for these goods and this hold time repeats the request that made this
    /// reservation.
    pub fn is_for(&self, goods: &Goods, hold_time: HoldTime) -> bool {
        let held = self.expires_at.timestamp().duration_since(self.created_at.timestamp());
        self.goods == *goods && held.unsigned_abs() == hold_time.duration()
    }

    /// Whether the hold time is over and the stock is still held.
    pub fn is_overdue(&self, now: Moment) -> bool {
        self.state == ReservationState::Open && now >= self.expires_at
    }

    /// Commits the reservation: the stock leaves with the order.
    ///
    /// # Errors
    /// [`SettleError`]. An overdue reservation is refused both before and after its stock is
    /// released.
    pub fn commit(&self, now: Moment) -> Result<SettleOutcome, SettleError> {
        match self.state {
            ReservationState::Open if self.is_overdue(now) => Err(SettleError::Expired(self.expires_at)),
            ReservationState::Open => Ok(SettleOutcome::Now(Settlement::Committed)),
            ReservationState::Settled(Settlement::Committed, _) => Ok(SettleOutcome::Before),
            ReservationState::Settled(Settlement::Expired, _) => Err(SettleError::Expired(self.expires_at)),
            ReservationState::Settled(other, at) => Err(SettleError::Settled(other, at)),
        }
    }

    /// Releases the reservation: the order gives the stock back. An overdue reservation expires
    /// instead.
    ///
    /// # Errors
    /// [`SettleError::Settled`] when the reservation has been committed.
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
    /// One day.
    pub const SECONDS_MAX: u32 = 24 * 60 * 60;

    /// Checks the bounds.
    pub fn new(seconds: i64) -> Result<Self, HoldTimeError> {
        let seconds = u32::try_from(seconds).ok().filter(|seconds| (1..=Self::SECONDS_MAX).contains(seconds));
        seconds.map(Self).ok_or(HoldTimeError)
    }

    /// The hold time as a duration.
    pub fn duration(self) -> Duration {
        Duration::from_secs(u64::from(self.0))
    }
}

impl Default for HoldTime {
    /// 15 minutes.
    fn default() -> Self {
        Self(15 * 60)
    }
}

impl Settlement {
    /// The name in stored rows and in the API.
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
    /// The name in stored rows and in the API.
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
    fn a_reservation_has_an_end_and_recognises_a_repeated_request() {
        let open = reservation(ReservationState::Open);
        assert_eq!(open.expires_at, moment("2024-01-15T10:15:00Z"));
        assert!(open.is_for(&quantity(2), HoldTime::default()) && !open.is_for(&quantity(3), HoldTime::default()));
        assert!(!open.is_for(&quantity(2), HoldTime::new(901).expect("a time")));
    }

    #[test]
    fn a_reservation_is_valid_until_the_nanosecond_before_its_end() {
        let open = reservation(ReservationState::Open);
        let (last, end) = (moment("2024-01-15T10:14:59.999999999Z"), open.expires_at);
        assert_eq!(open.commit(last), Ok(SettleOutcome::Now(Settlement::Committed)));
        assert_eq!(open.release(last), Ok(SettleOutcome::Now(Settlement::Released)));
        assert_eq!(open.commit(end), Err(SettleError::Expired(end)));
        assert_eq!(open.release(end), Ok(SettleOutcome::Now(Settlement::Expired)));
        assert!(open.is_overdue(end) && !open.is_overdue(last));
    }

    #[test]
    fn a_settled_reservation_cannot_be_settled_in_another_way() {
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
    fn late_commit_gets_the_same_answer_after_cleanup() {
        let now = moment("2024-01-15T10:15:00Z");
        let (before, after) = (
            reservation(ReservationState::Open),
            reservation(ReservationState::Settled(Settlement::Expired, moment("2024-01-15T10:16:00Z"))),
        );
        assert_eq!(before.commit(now), after.commit(now));
        assert!(before.release(now).is_ok() && after.release(now).is_ok());
    }

    #[test]
    fn hold_time_has_bounds_and_a_default_of_15_minutes() {
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
