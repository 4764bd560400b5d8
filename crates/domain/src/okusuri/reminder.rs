//! When a user is reminded: each day at one time in the user's time zone, also when its clock
//! changes.

use jiff::civil::{Date, Time, time};
use jiff::tz::{AmbiguousOffset, TimeZone};
use jiff::{SignedDuration, Timestamp, ToSpan as _};

/// The reminder time of a user who has not chosen one.
pub const REMINDER_TIME_DEFAULT: Time = time(22, 0, 0, 0);

/// A reminder that is later than this is dropped: at night it would disturb, and on the next day it
/// would be wrong.
pub const REMINDER_LATE_MAX: SignedDuration = SignedDuration::from_hours(2);

/// The number of days that [`next_due`] checks: the day before, the day itself, and some more,
/// because a time zone may skip a day.
const DAYS_LOOKED_AT: usize = 5;

/// The moment at which a day's reminder is due; `None` for a day that the zone skips.
///
/// Of a time that occurs twice, the first is used. A time that the clock skips becomes the moment
/// after the jump. If that moment is on the next day, it becomes the last minute before the jump.
/// So the reminder of a day is always within that day.
pub fn due_on(date: Date, time: Time, zone: &TimeZone) -> Option<Timestamp> {
    let ambiguous = zone.to_ambiguous_timestamp(date.to_datetime(time));
    let is_within = |at: &Timestamp| local_date(*at, zone) == date;
    match ambiguous.offset() {
        AmbiguousOffset::Unambiguous { .. } | AmbiguousOffset::Fold { .. } => {
            ambiguous.earlier().ok().filter(is_within)
        }
        AmbiguousOffset::Gap { .. } => {
            // With the offset after the jump, the skipped time is before the jump.
            let jump = zone.following(ambiguous.earlier().ok()?).next()?.timestamp();
            let last = jump.checked_sub(1.minute()).ok()?;
            [jump, last].into_iter().find(is_within)
        }
    }
}

/// The first reminder after `after`. `None` at the end of the calendar, in the year 9999.
pub fn next_due(time: Time, zone: &TimeZone, after: Timestamp) -> Option<Timestamp> {
    let first = local_date(after, zone).yesterday().ok()?;
    first.series(1.day()).take(DAYS_LOOKED_AT).filter_map(|date| due_on(date, time, zone)).find(|due| *due > after)
}

/// The date of a moment in a time zone.
pub fn local_date(at: Timestamp, zone: &TimeZone) -> Date {
    zone.to_datetime(at).date()
}

/// The decision about a due reminder.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReminderDecision {
    /// Send it for this day, unless the day is logged.
    Remind(Date),
    /// Do not send it: it is too late, or the day has had its reminder.
    Skip,
}

/// Decides at `now` about a reminder that was due at `due_at`. `last` is the day of the user's last
/// reminder.
///
/// A day that is not after `last` has had its reminder. A user who crosses the date line eastward
/// has the same day twice.
pub fn decide_reminder(due_at: Timestamp, zone: &TimeZone, last: Option<Date>, now: Timestamp) -> ReminderDecision {
    let date = local_date(due_at, zone);
    let is_late = now.duration_since(due_at) > REMINDER_LATE_MAX;
    if is_late || last.is_some_and(|last| date <= last) {
        ReminderDecision::Skip
    } else {
        ReminderDecision::Remind(date)
    }
}

#[cfg(test)]
mod tests {
    use jiff::civil::date;
    use proptest::prelude::*;

    use super::*;

    fn zone(name: &str) -> TimeZone {
        TimeZone::get(name).expect("a zone")
    }

    fn at(text: &str) -> Timestamp {
        text.parse().expect("a time")
    }

    fn next(time: &str, name: &str, after: &str) -> String {
        next_due(time.parse().expect("a time"), &zone(name), at(after)).expect("a moment").to_string()
    }

    #[test]
    fn reminder_is_due_at_local_time_in_all_zones() {
        for (name, after, due) in [
            ("Asia/Tokyo", "2026-11-22T00:00:00Z", "2026-11-22T13:00:00Z"),
            ("Europe/Berlin", "2026-07-01T12:00:00Z", "2026-07-01T20:00:00Z"),
            ("Europe/Berlin", "2026-12-01T12:00:00Z", "2026-12-01T21:00:00Z"),
            ("Australia/Adelaide", "2026-07-01T00:00:00Z", "2026-07-01T12:30:00Z"),
            ("Australia/Adelaide", "2026-12-01T00:00:00Z", "2026-12-01T11:30:00Z"),
            ("Asia/Kathmandu", "2026-07-01T00:00:00Z", "2026-07-01T16:15:00Z"),
            ("Pacific/Chatham", "2026-12-01T00:00:00Z", "2026-12-01T08:15:00Z"),
            ("Pacific/Kiritimati", "2026-07-01T00:00:00Z", "2026-07-01T08:00:00Z"),
            ("Pacific/Pago_Pago", "2026-07-01T00:00:00Z", "2026-07-01T09:00:00Z"),
            ("Etc/GMT+12", "2026-07-01T00:00:00Z", "2026-07-01T10:00:00Z"),
        ] {
            assert_eq!(next("22:00", name, after), due, "{name}");
        }
    }

    #[test]
    fn next_reminder_is_tomorrow_once_todays_moment_is_reached() {
        assert_eq!(next("22:00", "Asia/Tokyo", "2026-11-22T12:59:59Z"), "2026-11-22T13:00:00Z");
        assert_eq!(next("22:00", "Asia/Tokyo", "2026-11-22T13:00:00Z"), "2026-11-23T13:00:00Z");
    }

    #[test]
    fn reminder_keeps_clock_time_on_23_and_25_hour_days() {
        assert_eq!(next("22:00", "America/New_York", "2026-03-08T02:00:00Z"), "2026-03-08T03:00:00Z");
        assert_eq!(next("22:00", "America/New_York", "2026-03-08T03:00:00Z"), "2026-03-09T02:00:00Z");
        assert_eq!(next("22:00", "America/New_York", "2026-11-01T02:00:00Z"), "2026-11-02T03:00:00Z");
        // A clock change of half an hour.
        assert_eq!(next("22:00", "Australia/Lord_Howe", "2026-04-04T11:00:00Z"), "2026-04-05T11:30:00Z");
    }

    #[test]
    fn reminder_in_a_clock_gap_is_due_after_the_jump() {
        // Greenland's clocks went from 22:00 to 23:00 that night.
        assert_eq!(next("22:00", "America/Nuuk", "2023-03-25T12:00:00Z"), "2023-03-26T01:00:00Z");
        assert_eq!(next("22:30", "America/Nuuk", "2023-03-25T12:00:00Z"), "2023-03-26T01:00:00Z");
        assert_eq!(next("02:30", "Europe/Berlin", "2026-03-28T12:00:00Z"), "2026-03-29T01:00:00Z");
        assert_eq!(next("00:15", "America/Sao_Paulo", "2018-11-03T12:00:00Z"), "2018-11-04T03:00:00Z");
    }

    #[test]
    fn clock_jump_past_midnight_keeps_reminder_on_its_own_day() {
        // From 23:00 on Saturday to 00:00 on Sunday.
        assert_eq!(next("23:30", "America/Nuuk", "2024-03-30T12:00:00Z"), "2024-03-31T00:59:00Z");
        assert_eq!(next("23:30", "America/Nuuk", "2024-03-31T00:59:00Z"), "2024-04-01T00:30:00Z");
    }

    #[test]
    fn ten_in_the_evening_that_comes_twice_is_its_first() {
        // Havana repeats an hour after midnight; until 2022, Nuuk repeated the hour before 23:00.
        assert_eq!(next("22:30", "America/Nuuk", "2022-10-29T12:00:00Z"), "2022-10-30T00:30:00Z");
        assert_eq!(next("22:30", "America/Nuuk", "2022-10-30T00:30:00Z"), "2022-10-31T01:30:00Z");
        assert_eq!(next("01:30", "America/New_York", "2026-11-01T00:00:00Z"), "2026-11-01T05:30:00Z");
        assert_eq!(next("01:30", "America/New_York", "2026-11-01T05:30:00Z"), "2026-11-02T06:30:00Z");
    }

    #[test]
    fn a_day_that_a_zone_leaves_out_has_no_reminder() {
        // Samoa crossed the date line and skipped a day.
        assert_eq!(due_on(date(2011, 12, 30), REMINDER_TIME_DEFAULT, &zone("Pacific/Apia")), None);
        assert_eq!(next("22:00", "Pacific/Apia", "2011-12-30T00:00:00Z"), "2011-12-30T08:00:00Z");
        assert_eq!(next("22:00", "Pacific/Apia", "2011-12-30T08:00:00Z"), "2011-12-31T08:00:00Z");
    }

    #[test]
    fn the_end_of_the_calendar_is_an_end() {
        assert_eq!(next_due(REMINDER_TIME_DEFAULT, &TimeZone::UTC, Timestamp::MAX), None);
    }

    #[test]
    fn reminder_is_sent_at_most_two_hours_late() {
        let (due, tokyo) = (at("2026-11-22T13:00:00Z"), zone("Asia/Tokyo"));
        let today = ReminderDecision::Remind(date(2026, 11, 22));
        assert_eq!(decide_reminder(due, &tokyo, None, due), today);
        // After midnight, the reminder is still for the day on which it was due.
        assert_eq!(decide_reminder(due, &tokyo, Some(date(2026, 11, 21)), due + REMINDER_LATE_MAX), today);
        assert_eq!(
            decide_reminder(due, &tokyo, None, due + REMINDER_LATE_MAX + SignedDuration::from_secs(1)),
            ReminderDecision::Skip
        );
    }

    #[test]
    fn day_repeated_across_the_date_line_gets_one_reminder() {
        let tokyo = decide_reminder(at("2026-11-22T13:00:00Z"), &zone("Asia/Tokyo"), None, at("2026-11-22T13:00:00Z"));
        assert_eq!(tokyo, ReminderDecision::Remind(date(2026, 11, 22)));
        let due = at(&next("22:00", "Pacific/Honolulu", "2026-11-22T18:00:00Z"));
        assert_eq!(local_date(due, &zone("Pacific/Honolulu")), date(2026, 11, 22));
        assert_eq!(
            decide_reminder(due, &zone("Pacific/Honolulu"), Some(date(2026, 11, 22)), due),
            ReminderDecision::Skip
        );
    }

    fn zones() -> impl Strategy<Value = TimeZone> {
        let names = [
            "UTC",
            "Asia/Tokyo",
            "Europe/Berlin",
            "America/New_York",
            "America/Nuuk",
            "America/Havana",
            "America/St_Johns",
            "Asia/Kathmandu",
            "Australia/Lord_Howe",
            "Australia/Adelaide",
            "Pacific/Chatham",
            "Pacific/Apia",
            "Africa/Casablanca",
            "Asia/Tehran",
            "America/Sao_Paulo",
            "Antarctica/Troll",
            "Pacific/Kiritimati",
            "Etc/GMT+12",
        ];
        proptest::sample::select(names.to_vec()).prop_map(zone)
    }

    proptest! {
        #[test]
        fn consecutive_reminders_skip_and_repeat_no_day(
            zone in zones(), minutes in 0..24 * 60_i64, start in 0_i64..2_000_000_000, days in 1..400_usize,
        ) {
            let time = Time::midnight() + SignedDuration::from_mins(minutes);
            let mut due = next_due(time, &zone, Timestamp::from_second(start).unwrap()).unwrap();
            prop_assert!(due.as_second() > start && due.as_second() - start <= 50 * 3_600);
            for _ in 0..days {
                let next = next_due(time, &zone, due).unwrap();
                let (today, tomorrow) = (local_date(due, &zone), local_date(next, &zone));
                // The next day, or the one after it where the zone skips a day.
                let left_out = tomorrow.yesterday().unwrap();
                let is_next = left_out == today || due_on(left_out, time, &zone).is_none() && left_out.yesterday().unwrap() == today;
                prop_assert!(is_next, "{today} {tomorrow}");
                let shown = zone.to_datetime(next).time();
                let is_in_a_gap = zone.to_ambiguous_timestamp(tomorrow.to_datetime(time)).is_ambiguous();
                prop_assert!(shown == time || is_in_a_gap, "{shown} on {tomorrow}");
                due = next;
            }
        }

        #[test]
        fn next_due_is_the_same_from_any_earlier_moment(
            zone in zones(), minutes in 0..24 * 60_i64, start in 0_i64..2_000_000_000, share in 0.0..1.0_f64,
        ) {
            let time = Time::midnight() + SignedDuration::from_mins(minutes);
            let start = Timestamp::from_second(start).unwrap();
            let due = next_due(time, &zone, start).unwrap();
            let between = start.as_second() + ((due.as_second() - start.as_second()) as f64 * share) as i64;
            prop_assert_eq!(next_due(time, &zone, Timestamp::from_second(between).unwrap()), Some(due));
        }
    }
}
