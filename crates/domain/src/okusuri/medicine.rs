//! Medicines with their times, and the state of each dose.

use jiff::civil::{Date, Time};
use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp};

use super::{Adherence, FIRST_DATE, due_on};

/// The maximum number of medicines of a user.
pub const MEDICINES_MAX: usize = 50;

/// The maximum number of times of a medicine on a day.
pub const TIMES_MAX: usize = 8;

/// The maximum number of records of a medicine's doses on a day: a dose as needed may be recorded
/// at any minute.
pub const DOSES_MAX: usize = 24;

/// The maximum number of records of all doses on a day. It bounds a user's partition: records of
/// deleted medicines stay.
pub const DAY_DOSES_MAX: usize = MEDICINES_MAX * DOSES_MAX;

/// A dose without a record counts as missed after this time.
pub const MISSED_AFTER: SignedDuration = SignedDuration::from_hours(3);

/// The longest snooze, in minutes.
pub const SNOOZE_MINUTES_MAX: u16 = 12 * 60;

/// The text is no time of day.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("expected a time of day as HH:MM")]
pub struct ClockTimeError;

/// Reads a time of day from exactly `HH:MM`.
pub fn parse_clock_time(text: &str) -> Result<Time, ClockTimeError> {
    let number = |digits: &str| {
        let is_plain = digits.len() == 2 && digits.bytes().all(|byte| byte.is_ascii_digit());
        digits.parse().ok().filter(|_| is_plain)
    };
    let (hour, minute) = text.split_once(':').ok_or(ClockTimeError)?;
    let (hour, minute) = number(hour).zip(number(minute)).ok_or(ClockTimeError)?;
    Time::new(hour, minute, 0, 0).map_err(|_| ClockTimeError)
}

/// Formats a time of day as `HH:MM`.
pub fn clock_time(time: Time) -> String {
    format!("{:02}:{:02}", time.hour(), time.minute())
}

/// The schedule of a medicine: some times of each day from the first day to the last, or none for a
/// medicine that is taken as needed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Plan {
    times: Vec<Time>,
    from: Date,
    until: Option<Date>,
    since: Timestamp,
    former: Vec<FormerTimes>,
}

/// The times of a medicine before a change.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FormerTimes {
    /// The times of each day.
    pub times: Vec<Time>,
    /// When they were replaced.
    pub until: Timestamp,
}

/// The number of changes that a medicine keeps. A day before the oldest one shows only its recorded
/// doses, and misses none.
pub const FORMER_TIMES_MAX: usize = 20;

/// Why a plan is refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum PlanError {
    /// More than [`TIMES_MAX`].
    #[error("`times` must be at most {TIMES_MAX} different times")]
    Times,
    /// The plan begins before [`FIRST_DATE`].
    #[error("`from` is before {FIRST_DATE}")]
    TooEarly,
    /// The plan ends before it begins.
    #[error("`until` is before `from`")]
    Reversed,
}

impl Plan {
    /// Sorts the times, drops duplicates, and checks the plan.
    pub fn new(mut times: Vec<Time>, from: Date, until: Option<Date>) -> Result<Self, PlanError> {
        times.sort();
        times.dedup();
        if times.len() > TIMES_MAX {
            return Err(PlanError::Times);
        }
        if from < FIRST_DATE {
            return Err(PlanError::TooEarly);
        }
        if until.is_some_and(|until| until < from) {
            return Err(PlanError::Reversed);
        }
        Ok(Self { times, from, until, since: Timestamp::MIN, former: Vec::new() })
    }

    /// The same plan for a medicine that was added at `since`, with its former times in the order
    /// of their ends. A dose before its time was added does not exist, so it cannot be missed.
    pub fn since(self, since: Timestamp, former: Vec<FormerTimes>) -> Self {
        Self { since, former, ..self }
    }

    /// The times, earliest first.
    pub fn times(&self) -> &[Time] {
        &self.times
    }

    /// Whether its doses have no times. Such a dose is never due.
    pub fn is_as_needed(&self) -> bool {
        self.times.is_empty()
    }

    /// The first day.
    pub fn from(&self) -> Date {
        self.from
    }

    /// The last day, if there is one.
    pub fn until(&self) -> Option<Date> {
        self.until
    }

    fn has(&self, date: Date) -> bool {
        self.from <= date && self.until.is_none_or(|until| date <= until)
    }

    /// The times of a day that were valid on that day, with their due times. A replaced time counts
    /// only if its dose was over before the change, or if a record exists for it (`is_recorded`).
    /// Otherwise the dose moved to the new times.
    fn planned(&self, date: Date, zone: &TimeZone, is_recorded: impl Fn(Time) -> bool) -> Vec<(Time, Timestamp)> {
        if !self.has(date) {
            return Vec::new();
        }
        let (mut since, mut planned) = (self.since, Vec::new());
        for FormerTimes { times, until } in &self.former {
            let counts = |time: Time, due_at: Timestamp| {
                let is_over = until.duration_since(due_at) >= MISSED_AFTER;
                since <= due_at && due_at < *until && (is_over || is_recorded(time))
            };
            let due = times.iter().filter_map(|time| Some((*time, due_on(date, *time, zone)?)));
            planned.extend(due.filter(|(time, due_at)| counts(*time, *due_at)));
            since = *until;
        }
        let due = self.times.iter().filter_map(|time| Some((*time, due_on(date, *time, zone)?)));
        planned.extend(due.filter(|(_, due_at)| since <= *due_at));
        planned
    }

    /// The doses of a day as of `now`, earliest first: those of the plan, and recorded doses at
    /// other times.
    ///
    /// A record at a time that is not in the plan takes the place of a planned dose without a
    /// record. So after a medicine moved to another time, the days before do not show a missed
    /// dose.
    pub fn doses(&self, date: Date, recorded: &[(Time, DoseRecord)], zone: &TimeZone, now: Timestamp) -> Vec<Dose> {
        let record = |time: Time| recorded.iter().find(|(known, _)| *known == time).map(|(_, record)| *record);
        let planned = self.planned(date, zone, |time| record(time).is_some());
        let (known, mut open): (Vec<_>, Vec<_>) = planned.into_iter().partition(|(time, _)| record(*time).is_some());
        let is_elsewhere = |time: &Time| !known.iter().any(|(planned, _)| planned == time);
        let elsewhere: Vec<_> = recorded.iter().filter(|(time, _)| is_elsewhere(time)).collect();
        // A record at a current time that was not valid on that day takes no planned dose's place. Nor
        // does a dose as needed.
        let is_as_needed = |record: &DoseRecord| *record == DoseRecord::TakenAsNeeded;
        let is_moved = |(time, record): &&&(Time, DoseRecord)| !self.times.contains(time) && !is_as_needed(record);
        let moved = elsewhere.iter().filter(is_moved).count();
        open.drain(..moved.min(open.len()));
        let planned = known.into_iter().chain(open).map(|(time, due_at)| Dose::new(time, due_at, record(time), now));
        let elsewhere = elsewhere.into_iter().filter_map(|(time, record)| {
            let dose = Dose::new(*time, due_on(date, *time, zone)?, Some(*record), now);
            Some(Dose { is_as_needed: is_as_needed(record), ..dose })
        });
        let mut doses: Vec<_> = planned.chain(elsewhere).collect();
        doses.sort_by_key(|dose| dose.time);
        doses
    }
}

/// A user's record of a dose.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DoseRecord {
    /// It was taken.
    Taken,
    /// It was taken, and was in no plan.
    TakenAsNeeded,
    /// It was skipped on purpose.
    Skipped,
    /// The user wants to be asked again later.
    Snoozed {
        /// The time to ask again.
        until: Timestamp,
    },
}

/// When a dose of `date` was taken, by the user's word. A time to come becomes now, because the clock
/// of a device may be fast. `None` for a time that is more than a day away from the dose's day.
pub fn taken_at(at: Timestamp, date: Date, zone: &TimeZone, now: Timestamp) -> Option<Timestamp> {
    let at = at.min(now);
    let (from, to) = (date.yesterday().unwrap_or(date), date.tomorrow().unwrap_or(date));
    (from..=to).contains(&zone.to_datetime(at).date()).then_some(at)
}

/// The state of a dose.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum DoseState {
    /// It can be taken, now or later.
    Due,
    /// It was taken.
    Taken,
    /// It was skipped on purpose.
    Skipped,
    /// It was snoozed, and the snooze is not over.
    Snoozed,
    /// It has no final record [`MISSED_AFTER`] its time or its snooze.
    Missed,
}

impl DoseState {
    /// The value in the API.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Due => "due",
            Self::Taken => "taken",
            Self::Skipped => "skipped",
            Self::Snoozed => "snoozed",
            Self::Missed => "missed",
        }
    }
}

/// A dose on a day.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Dose {
    /// The time of day that identifies the dose.
    pub time: Time,
    /// When it is due in the user's time zone.
    pub due_at: Timestamp,
    /// The state.
    pub state: DoseState,
    /// The end of the snooze, if there is one.
    pub snoozed_until: Option<Timestamp>,
    /// Whether it was taken as needed, and so was never due.
    pub is_as_needed: bool,
}

impl Dose {
    fn new(time: Time, due_at: Timestamp, recorded: Option<DoseRecord>, now: Timestamp) -> Self {
        let snoozed_until = match recorded {
            Some(DoseRecord::Snoozed { until }) => Some(until),
            _ => None,
        };
        let dose = Self { time, due_at, state: DoseState::Due, snoozed_until, is_as_needed: false };
        let state = match recorded {
            Some(DoseRecord::Taken | DoseRecord::TakenAsNeeded) => DoseState::Taken,
            Some(DoseRecord::Skipped) => DoseState::Skipped,
            Some(DoseRecord::Snoozed { until }) if now < until => DoseState::Snoozed,
            _ if now.duration_since(dose.asked_at()) >= MISSED_AFTER => DoseState::Missed,
            _ => DoseState::Due,
        };
        Self { state, ..dose }
    }

    /// When the user is asked for it first: at its time, or when its snooze ends.
    pub(super) fn asked_at(&self) -> Timestamp {
        self.snoozed_until.map_or(self.due_at, |until| until.max(self.due_at))
    }
}

impl Adherence {
    /// The adherence of doses: skipped and missed ones were due and not taken. A dose that can
    /// still be taken does not count, and one as needed does not.
    pub fn of_doses<'a>(doses: impl IntoIterator<Item = &'a Dose>) -> Self {
        doses.into_iter().filter(|dose| !dose.is_as_needed).fold(Self::default(), |sum, dose| match dose.state {
            DoseState::Taken => Self { due: sum.due + 1, taken: sum.taken + 1 },
            DoseState::Skipped | DoseState::Missed => Self { due: sum.due + 1, ..sum },
            DoseState::Due | DoseState::Snoozed => sum,
        })
    }

    /// The sum of both.
    pub fn and(self, other: Self) -> Self {
        Self { due: self.due + other.due, taken: self.taken + other.taken }
    }
}

#[cfg(test)]
mod tests {
    use jiff::civil::date;

    use super::*;

    const DAY: Date = date(2026, 11, 22);

    fn times(times: &[&str]) -> Vec<Time> {
        times.iter().map(|time| parse_clock_time(time).unwrap()).collect()
    }

    fn plan(at: &[&str]) -> Plan {
        Plan::new(times(at), DAY, None).unwrap()
    }

    fn tokyo() -> TimeZone {
        TimeZone::get("Asia/Tokyo").unwrap()
    }

    /// The states of the doses of a day, at a local time in Tokyo.
    fn states(plan: &Plan, recorded: &[(&str, DoseRecord)], now: &str) -> Vec<(String, DoseState)> {
        let recorded: Vec<_> = recorded.iter().map(|(time, state)| (parse_clock_time(time).unwrap(), *state)).collect();
        let now = DAY.to_datetime(parse_clock_time(now).unwrap()).to_zoned(tokyo()).unwrap().timestamp();
        let doses = plan.doses(DAY, &recorded, &tokyo(), now);
        doses.into_iter().map(|dose| (clock_time(dose.time), dose.state)).collect()
    }

    fn at(time: &str, state: DoseState) -> (String, DoseState) {
        (time.to_owned(), state)
    }

    #[test]
    fn a_time_of_day_is_two_and_two_digits() {
        assert_eq!(clock_time(parse_clock_time("07:05").unwrap()), "07:05");
        for text in ["7:05", "07:5", "24:00", "07:60", "07:05:00", "0705", "", "+7:05", "０７:05"] {
            assert_eq!(parse_clock_time(text), Err(ClockTimeError), "{text:?}");
        }
    }

    #[test]
    fn plan_has_up_to_eight_sorted_times_and_ordered_days() {
        assert_eq!(plan(&["20:00", "08:00", "20:00"]).times(), times(&["08:00", "20:00"]));
        assert!(Plan::new(Vec::new(), DAY, None).unwrap().is_as_needed());
        let nine: Vec<_> = (0..9).map(|hour| Time::constant(hour, 0, 0, 0)).collect();
        assert_eq!(Plan::new(nine, DAY, None), Err(PlanError::Times));
        assert_eq!(Plan::new(times(&["08:00"]), DAY, DAY.yesterday().ok()), Err(PlanError::Reversed));
        assert_eq!(Plan::new(times(&["08:00"]), date(1899, 12, 31), None), Err(PlanError::TooEarly));
    }

    #[test]
    fn dose_is_missed_after_three_hours_unless_recorded() {
        let plan = plan(&["08:00", "20:00"]);
        let both = |morning, evening| vec![at("08:00", morning), at("20:00", evening)];
        assert_eq!(states(&plan, &[], "10:59"), both(DoseState::Due, DoseState::Due));
        assert_eq!(states(&plan, &[], "11:00"), both(DoseState::Missed, DoseState::Due));
        assert_eq!(states(&plan, &[("08:00", DoseRecord::Taken)], "11:00"), both(DoseState::Taken, DoseState::Due));
        assert_eq!(states(&plan, &[("08:00", DoseRecord::Skipped)], "11:00"), both(DoseState::Skipped, DoseState::Due));
    }

    #[test]
    fn snoozed_dose_is_due_again_and_then_missed() {
        let until = DAY.to_datetime(Time::constant(9, 0, 0, 0)).to_zoned(tokyo()).unwrap().timestamp();
        let state = |now| states(&plan(&["08:00"]), &[("08:00", DoseRecord::Snoozed { until })], now)[0].1;
        assert_eq!(state("08:59"), DoseState::Snoozed);
        assert_eq!(state("09:00"), DoseState::Due);
        assert_eq!(state("11:59"), DoseState::Due);
        assert_eq!(state("12:00"), DoseState::Missed);
    }

    #[test]
    fn moved_plan_keeps_taken_doses_taken() {
        let taken = [("08:00", DoseRecord::Taken)];
        assert_eq!(states(&plan(&["09:00"]), &taken, "23:00"), [at("08:00", DoseState::Taken)]);
        let expected = [at("08:00", DoseState::Taken), at("21:00", DoseState::Due)];
        assert_eq!(states(&plan(&["09:00", "21:00"]), &taken, "23:00"), expected);
    }

    /// A local time of the day in Tokyo.
    fn moment(time: &str) -> Timestamp {
        DAY.to_datetime(parse_clock_time(time).unwrap()).to_zoned(tokyo()).unwrap().timestamp()
    }

    #[test]
    fn a_dose_counts_from_the_moment_that_it_was_added() {
        let added = plan(&["08:00", "20:00"]).since(moment("17:00"), Vec::new());
        assert_eq!(states(&added, &[], "23:00"), [at("20:00", DoseState::Missed)]);
        // A record replaces the missed state.
        let taken = [("08:00", DoseRecord::Taken)];
        let both = [at("08:00", DoseState::Taken), at("20:00", DoseState::Due)];
        assert_eq!(states(&added, &taken, "17:00"), both);
    }

    #[test]
    fn a_day_has_the_times_that_held_then() {
        let changed = |until: &str| {
            let former = FormerTimes { times: times(&["08:00", "12:00"]), until: moment(until) };
            plan(&["07:00", "13:00"]).since(Timestamp::MIN, vec![former])
        };
        // Changed in the afternoon: the past dose stays missed, and the new morning time was never
        // due.
        assert_eq!(
            states(&changed("16:00"), &[], "23:00"),
            [at("08:00", DoseState::Missed), at("12:00", DoseState::Missed)]
        );
        // Changed at noon: the dose that was due moves to its new time.
        let moved = [at("08:00", DoseState::Missed), at("13:00", DoseState::Missed)];
        assert_eq!(states(&changed("12:30"), &[], "23:00"), moved);
        // A dose that was taken stays beside it.
        let taken = [at("08:00", DoseState::Missed), at("12:00", DoseState::Taken), at("13:00", DoseState::Due)];
        assert_eq!(states(&changed("12:30"), &[("12:00", DoseRecord::Taken)], "13:30"), taken);
        // The day before has only the former times.
        let before = Plan::new(times(&["07:00"]), date(2026, 11, 1), None).unwrap();
        let former = FormerTimes { times: times(&["08:00"]), until: moment("16:00") };
        let doses = before.since(Timestamp::MIN, vec![former]).doses(date(2026, 11, 21), &[], &tokyo(), Timestamp::MAX);
        assert_eq!(doses.iter().map(|dose| clock_time(dose.time)).collect::<Vec<_>>(), ["08:00"]);
    }

    #[test]
    fn a_taken_time_is_past_and_near_its_day() {
        let at = |at: &str, now: &str| taken_at(at.parse().unwrap(), DAY, &tokyo(), now.parse().unwrap());
        let (eve, noon) = ("2026-11-20T15:00:00Z", "2026-11-22T03:00:00Z");
        assert_eq!(at(noon, "2026-11-25T00:00:00Z"), noon.parse().ok());
        assert_eq!(at("2026-11-22T04:00:00Z", noon), noon.parse().ok());
        assert_eq!(at(eve, noon), eve.parse().ok());
        assert_eq!(at("2026-11-20T14:59:59Z", noon), None);
        assert_eq!(at("2026-11-23T15:00:00Z", "2026-11-25T00:00:00Z"), None);
    }

    #[test]
    fn a_dose_as_needed_is_never_due_and_replaces_none() {
        let as_needed = plan(&[]);
        let now = Timestamp::MAX;
        let taken =
            [(times(&["09:13"])[0], DoseRecord::TakenAsNeeded), (times(&["03:00"])[0], DoseRecord::TakenAsNeeded)];
        assert_eq!(states(&as_needed, &[], "23:00"), []);
        let doses = as_needed.doses(DAY, &taken, &tokyo(), now);
        let shown: Vec<_> = doses.iter().map(|dose| (clock_time(dose.time), dose.state, dose.is_as_needed)).collect();
        let shown: Vec<_> = shown.iter().map(|(time, state, is)| (time.as_str(), *state, *is)).collect();
        assert_eq!(shown, [("03:00", DoseState::Taken, true), ("09:13", DoseState::Taken, true)]);
        assert_eq!(Adherence::of_doses(&doses), Adherence::default());
        assert!(doses.iter().all(|dose| dose.next_ask(Timestamp::MIN).is_none()));
        // The same doses beside times: before a change from times to none, and after one from none.
        let former = |at: &[&str], until| vec![FormerTimes { times: times(at), until: moment(until) }];
        for plan in [
            as_needed.since(Timestamp::MIN, former(&["08:00", "20:00"], "16:00")),
            plan(&["08:00"]).since(Timestamp::MIN, former(&[], "00:00")),
        ] {
            let doses = plan.doses(DAY, &taken, &tokyo(), now);
            assert_eq!(Adherence::of_doses(&doses), Adherence { due: 1, taken: 0 }, "{doses:?}");
            // A record at a planned time is the one of that dose.
            let morning = [(times(&["08:00"])[0], DoseRecord::TakenAsNeeded)];
            let doses = plan.doses(DAY, &morning, &tokyo(), now);
            assert_eq!(Adherence::of_doses(&doses), Adherence { due: 1, taken: 1 }, "{doses:?}");
        }
    }

    #[test]
    fn days_outside_the_plan_have_only_recorded_doses() {
        let plan = Plan::new(times(&["08:00"]), DAY, Some(DAY)).unwrap();
        let doses = |date, recorded: &[(Time, DoseRecord)]| plan.doses(date, recorded, &tokyo(), Timestamp::MAX).len();
        assert_eq!((doses(date(2026, 11, 21), &[]), doses(DAY, &[]), doses(date(2026, 11, 23), &[])), (0, 1, 0));
        assert_eq!(doses(date(2026, 11, 21), &[(times(&["08:00"])[0], DoseRecord::Taken)]), 1);
    }

    #[test]
    fn dose_is_due_at_clock_jump_or_first_repeated_hour() {
        let zone = TimeZone::get("Europe/Berlin").unwrap();
        let due = |date, time: &str| {
            let plan = Plan::new(times(&[time]), date, None).unwrap();
            plan.doses(date, &[], &zone, Timestamp::UNIX_EPOCH)[0].due_at.to_string()
        };
        assert_eq!(due(date(2026, 3, 29), "02:30"), "2026-03-29T01:00:00Z");
        assert_eq!(due(date(2026, 10, 25), "02:30"), "2026-10-25T00:30:00Z");
        assert_eq!(due(date(2026, 10, 25), "08:00"), "2026-10-25T07:00:00Z");
    }

    #[test]
    fn adherence_counts_doses_that_are_due_by_now() {
        let taken = [("08:00", DoseRecord::Taken), ("09:00", DoseRecord::Skipped)];
        let plan = plan(&["08:00", "09:00", "10:00", "20:00"]);
        let recorded: Vec<_> = taken.iter().map(|(time, state)| (parse_clock_time(time).unwrap(), *state)).collect();
        let noon = DAY.to_datetime(Time::constant(15, 0, 0, 0)).to_zoned(tokyo()).unwrap().timestamp();
        let adherence = Adherence::of_doses(&plan.doses(DAY, &recorded, &tokyo(), noon));
        assert_eq!(adherence, Adherence { due: 3, taken: 1 });
        assert_eq!(Adherence::default().rate(), None);
    }
}
