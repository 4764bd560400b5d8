//! When a user is reminded of a dose: at its time, or when its snooze ends, and then twice more.

use jiff::civil::Date;
use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp, ToSpan as _};

use super::{Dose, DoseState, REMINDER_LATE_MAX};

/// The time between two reminders of a dose that nobody confirms.
pub const DOSE_REPEAT: SignedDuration = SignedDuration::from_mins(30);

/// The number of reminders of a dose. A snooze begins them anew.
pub const DOSE_ASKS: i32 = 3;

/// The most messages about doses to a user on a day of UTC: a medicine with eight times that nobody
/// confirms has as many. It bounds what one user can make the operator pay.
pub const DOSE_MESSAGES_MAX: u32 = 24;

/// A mail needs a dose that the user recorded within this many days, or reminders that were switched
/// on as recently. So an abandoned account gets no mail for ever.
pub const DOSE_MAIL_DAYS: i64 = 7;

/// The days that the next reminder is searched in.
const DAYS_LOOKED_AT: usize = 6;

/// The first day whose doses may ask: a dose of yesterday may be snoozed past midnight.
pub fn first_asking_day(today: Date) -> Result<Date, jiff::Error> {
    today.checked_sub(2.days())
}

/// Whether a dose of this day, not later than today, may still ask.
pub fn may_ask(date: Date, today: Date) -> bool {
    first_asking_day(today).is_ok_and(|first| date >= first)
}

/// The days whose doses may ask after `now`, for a plan that begins on `from`.
pub fn asking_days(from: Date, zone: &TimeZone, now: Timestamp) -> impl Iterator<Item = Date> {
    let today = zone.to_datetime(now).date();
    from.max(first_asking_day(today).unwrap_or(today)).series(1.day()).take(DAYS_LOOKED_AT)
}

impl Dose {
    /// The moments to remind of it, earliest first, in whole seconds. A dose that was taken or
    /// skipped has none.
    fn asks(&self) -> impl Iterator<Item = Timestamp> + use<> {
        let is_open = !matches!(self.state, DoseState::Taken | DoseState::Skipped);
        let first = self.asked_at().as_second();
        let count = if is_open { DOSE_ASKS } else { 0 };
        (0..count).filter_map(move |n| Timestamp::from_second(first + i64::from(n) * DOSE_REPEAT.as_secs()).ok())
    }

    /// The first reminder after `after`.
    pub fn next_ask(&self, after: Timestamp) -> Option<Timestamp> {
        self.asks().find(|ask| *ask > after)
    }

    /// Whether to remind of it at `now`, if all reminders until `after` have been handled. One that is
    /// more than [`REMINDER_LATE_MAX`] late is dropped.
    pub fn asks_at(&self, after: Timestamp, now: Timestamp) -> bool {
        self.asks().any(|ask| ask > after && ask <= now && now.duration_since(ask) <= REMINDER_LATE_MAX)
    }
}

/// The end of the day of UTC: after [`DOSE_MESSAGES_MAX`] messages, the user hears nothing before.
pub fn utc_day_end(now: Timestamp) -> Timestamp {
    const DAY: i64 = 24 * 3_600;
    Timestamp::from_second(now.as_second().div_euclid(DAY) * DAY + DAY - 1).unwrap_or(now)
}

#[cfg(test)]
mod tests {
    use jiff::civil::{date, time};

    use super::*;
    use crate::okusuri::{DoseRecord, Plan};

    fn at(text: &str) -> Timestamp {
        format!("2026-11-22T{text}Z").parse().unwrap()
    }

    fn dose(record: Option<DoseRecord>, now: &str) -> Dose {
        let (day, eight) = (date(2026, 11, 22), time(8, 0, 0, 0));
        let plan = Plan::new(vec![eight], day, None).unwrap();
        let recorded: Vec<_> = record.into_iter().map(|record| (eight, record)).collect();
        plan.doses(day, &recorded, &TimeZone::UTC, at(now))[0]
    }

    fn asks(dose: &Dose) -> Vec<String> {
        dose.asks().map(|ask| ask.strftime("%H:%M:%S").to_string()).collect()
    }

    #[test]
    fn an_open_dose_asks_three_times() {
        assert_eq!(asks(&dose(None, "07:00:00")), ["08:00:00", "08:30:00", "09:00:00"]);
        let until = at("08:25:00.9");
        let snoozed = dose(Some(DoseRecord::Snoozed { until }), "08:10:00");
        assert_eq!(asks(&snoozed), ["08:25:00", "08:55:00", "09:25:00"]);
        for record in [DoseRecord::Taken, DoseRecord::Skipped] {
            assert_eq!(asks(&dose(Some(record), "08:10:00")), [""; 0]);
        }
    }

    #[test]
    fn an_ask_is_due_once_within_two_hours() {
        let open = dose(None, "08:00:00");
        assert!(!open.asks_at(at("07:00:00"), at("07:59:59")));
        assert!(open.asks_at(at("07:59:59"), at("08:00:00")));
        assert!(!open.asks_at(at("08:00:00"), at("08:29:59")));
        assert!(open.asks_at(at("08:00:00"), at("11:00:00")));
        assert!(!open.asks_at(at("08:00:00"), at("11:00:01")));
        assert_eq!(open.next_ask(at("08:00:00")), Some(at("08:30:00")));
        assert_eq!(open.next_ask(at("09:00:00")), None);
    }

    #[test]
    fn days_begin_two_days_ago_or_with_the_plan() {
        let days = |from| asking_days(from, &TimeZone::UTC, at("01:00:00")).collect::<Vec<_>>();
        assert_eq!(days(date(2026, 1, 1))[0], date(2026, 11, 20));
        assert_eq!(days(date(2026, 12, 24))[0], date(2026, 12, 24));
        assert_eq!(days(date(2026, 1, 1)).len(), DAYS_LOOKED_AT);
        assert_eq!(utc_day_end(at("01:00:00")), at("23:59:59"));
    }
}
