//! Schedules: `rate(...)` and `cron(...)` in EventBridge's syntax, and `at(...)` in that of
//! EventBridge Scheduler.
//!
//! Sources:
//! <https://docs.aws.amazon.com/eventbridge/latest/userguide/eb-scheduled-rule-pattern.html>,
//! <https://docs.aws.amazon.com/scheduler/latest/UserGuide/schedule-types.html>.

mod event;

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use croner::Cron;
use croner::parser::{CronParser, Seconds, Year};
use jiff::civil::DateTime;
use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::clock::Work;
use crate::functions::{Functions, Pool};
use crate::stack::Schedule;

/// The times of a schedule.
#[derive(Debug, Clone)]
pub(crate) enum Expression {
    /// At this interval, counted from the start of the stack.
    Rate(SignedDuration),
    /// At these times.
    Cron(Box<Cron>),
    /// Once, at this time of the schedule's time zone.
    At(DateTime),
}

/// An expression that EventBridge would reject.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{expression}` is not a schedule expression: {problem}")]
pub struct ExpressionError {
    /// The expression.
    pub expression: String,
    /// The problem.
    pub problem: String,
}

impl Expression {
    /// The expression of a schedule; `at(2026-11-20T13:00:00)` is one of EventBridge Scheduler only.
    pub(crate) fn of(schedule: &Schedule) -> Result<Self, ExpressionError> {
        let expression = &schedule.expression;
        let at = expression.strip_prefix("at(").and_then(|rest| rest.strip_suffix(')'));
        match at.filter(|_| schedule.is_schedulers) {
            None => Self::parse(expression),
            Some(at) => DateTime::strptime("%Y-%m-%dT%H:%M:%S", at)
                .map(Self::At)
                .map_err(|error| ExpressionError { expression: expression.clone(), problem: error.to_string() }),
        }
    }

    /// Parses `rate(5 minutes)` or `cron(0 3 * * ? *)`.
    pub(crate) fn parse(expression: &str) -> Result<Self, ExpressionError> {
        let wrong = |problem: String| ExpressionError { expression: expression.to_owned(), problem };
        let inside = |name: &str| expression.strip_prefix(name)?.strip_prefix('(')?.strip_suffix(')');
        if let Some(rate) = inside("rate") {
            return parse_rate(rate).map_err(|problem| wrong(problem.to_owned()));
        }
        let Some(cron) = inside("cron") else { return Err(wrong("expected rate(...) or cron(...)".to_owned())) };
        parse_cron(cron).map_err(wrong)
    }

    /// The first time after `now` in a time zone; `None` if there is none.
    pub(crate) fn next_after(&self, now: Timestamp, zone: &TimeZone) -> Option<Timestamp> {
        match self {
            Self::Rate(every) => now.checked_add(*every).ok(),
            Self::At(time) => zone.to_timestamp(*time).ok().filter(|time| *time > now),
            Self::Cron(cron) => {
                let now = zone.to_datetime(now);
                let next: DateTime = cron.find_next_occurrence(&now, false).ok()?;
                zone.to_timestamp(next).ok()
            }
        }
    }
}

fn parse_rate(rate: &str) -> Result<Expression, &'static str> {
    let (value, unit) = rate.trim().split_once(' ').ok_or("a rate has a value and a unit")?;
    let value: u32 =
        value.parse().ok().filter(|value| *value > 0).ok_or("the value of a rate must be a positive number")?;
    // EventBridge also rejects `1 minutes` and `5 minute`.
    let unit_s = match (value, unit.trim()) {
        (1, "minute") | (2.., "minutes") => 60,
        (1, "hour") | (2.., "hours") => 60 * 60,
        (1, "day") | (2.., "days") => 24 * 60 * 60,
        _ => return Err("the unit must be minute, hour or day, in the plural for a value above 1"),
    };
    Ok(Expression::Rate(SignedDuration::from_secs(i64::from(value) * unit_s)))
}

fn parse_cron(cron: &str) -> Result<Expression, String> {
    let fields: Vec<&str> = cron.split_whitespace().collect();
    let [_, _, day_of_month, _, day_of_week, _] = fields.as_slice() else {
        return Err("expected six fields: minutes, hours, day of month, month, day of week, year".to_owned());
    };
    if (*day_of_month == "?") == (*day_of_week == "?") {
        return Err("exactly one of day of month and day of week must be `?`".to_owned());
    }
    let parser = CronParser::builder().seconds(Seconds::Required).year(Year::Required).alternative_weekdays(true);
    let parser = parser.sloppy_ranges(true).build();
    parser.parse(&format!("0 {cron}")).map(|cron| Expression::Cron(Box::new(cron))).map_err(|error| error.to_string())
}

/// When each schedule is due next, by the logical id of its function and its own.
pub(crate) type Due = Arc<Mutex<BTreeMap<(String, String), Timestamp>>>;

/// The running schedules.
#[derive(Debug, Default)]
pub(crate) struct Schedules {
    tasks: TaskTracker,
    stop: CancellationToken,
}

impl Schedules {
    /// Starts every enabled schedule of every function.
    pub(crate) fn start(functions: &Arc<Functions>, due: &Due) -> Result<Self, ExpressionError> {
        let schedules = Self::default();
        for pool in functions.all() {
            for schedule in pool.function().schedules.iter().filter(|schedule| schedule.enabled) {
                let expression = Expression::of(schedule)?;
                let name = format!("the schedule {} of {}", schedule.event_id, pool.function().short_name());
                let work = functions.clock().begin(name);
                let task =
                    run(expression, schedule.clone(), Arc::clone(pool), Arc::clone(functions), Arc::clone(due), work);
                schedules.tasks.spawn(schedules.stop.clone().run_until_cancelled_owned(task));
            }
        }
        schedules.tasks.close();
        Ok(schedules)
    }

    /// Stops all schedules.
    pub(crate) async fn stop(&self) {
        self.stop.cancel();
        self.tasks.wait().await;
    }
}

async fn run(
    expression: Expression,
    schedule: Schedule,
    pool: Arc<Pool>,
    functions: Arc<Functions>,
    noted: Due,
    mut work: Work,
) {
    let clock = functions.clock();
    // The template's reader has checked the zone.
    let zone = schedule.time_zone.as_ref().and_then(|zone| TimeZone::get(zone).ok()).unwrap_or(TimeZone::UTC);
    let mut due = expression.next_after(clock.now(), &zone);
    if due.is_none() {
        tracing::warn!("the schedule {} never invokes its function: its last time is over", schedule.event_id);
    }
    let key = (pool.function().logical_id.clone(), schedule.event_id.clone());
    let note = |due: Option<Timestamp>| {
        let mut noted = noted.lock().unwrap_or_else(PoisonError::into_inner);
        match due {
            Some(due) => drop(noted.insert(key.clone(), due)),
            None => drop(noted.remove(&key)),
        }
    };
    note(due);
    while let Some(time) = due {
        work = work.rest(|| Duration::try_from(time.duration_since(clock.now())).unwrap_or_default()).await;
        functions.invoke_event(&pool, event::of(&schedule, time).into());
        // Invocations that were missed during sleep are skipped.
        let now = clock.now();
        due = expression.next_after(time, &zone).filter(|next| *next > now);
        due = due.or_else(|| expression.next_after(now, &zone));
        note(due);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn expressions_fire_when_eventbridge_would() {
        // 2025-10-02 is a Thursday.
        let cases = [
            ("rate(5 minutes)", "2025-10-02T10:35:30Z"),
            ("rate(1 hour)", "2025-10-02T11:30:30Z"),
            ("cron(0 3 * * ? *)", "2025-10-03T03:00:00Z"),
            ("cron(0/15 * * * ? *)", "2025-10-02T10:45:00Z"),
            ("cron(0 10 ? * MON-FRI *)", "2025-10-03T10:00:00Z"),
            ("cron(0 10 ? * 1 *)", "2025-10-05T10:00:00Z"),
            ("cron(0 10 ? * 2#1 *)", "2025-10-06T10:00:00Z"),
            ("cron(0 10 ? * 6L *)", "2025-10-31T10:00:00Z"),
            ("cron(0 10 L * ? *)", "2025-10-31T10:00:00Z"),
            ("cron(0 10 4W * ? *)", "2025-10-03T10:00:00Z"),
            ("cron(30 10 1 JAN ? 2027)", "2027-01-01T10:30:00Z"),
        ];
        let now = "2025-10-02T10:30:30Z".parse().expect("a time");
        for (expression, expected) in cases {
            let next =
                Expression::parse(expression).expect(expression).next_after(now, &TimeZone::UTC).expect(expression);
            assert_eq!(next.to_string(), expected, "{expression}");
        }
    }

    #[test]
    fn a_schedule_whose_last_year_is_over_never_fires_again() {
        let expression = Expression::parse("cron(0 0 1 1 ? 2020)").expect("valid");
        assert_eq!(expression.next_after("2025-10-02T10:30:00Z".parse().expect("a time"), &TimeZone::UTC), None);
    }

    #[test]
    fn schedule_at_a_time_of_its_zone_fires_once() {
        let zone = TimeZone::get("Europe/Berlin").expect("a zone");
        let mut schedule = event::tests::schedule("arn", true);
        schedule.expression = "at(2026-03-01T13:00:00)".to_owned();
        let at = Expression::of(&schedule).expect("valid");
        let next = |now: &str| at.next_after(now.parse().expect("a time"), &zone).map(|time| time.to_string());
        assert_eq!(next("2025-10-02T10:30:00Z").as_deref(), Some("2026-03-01T12:00:00Z"));
        assert_eq!(next("2026-03-01T12:00:00Z"), None);
        for wrong in ["at(2026-03-01)", "at(2026-02-30T13:00:00)", "at(2026-03-01T13:00:00Z)"] {
            schedule.expression = wrong.to_owned();
            assert!(Expression::of(&schedule).is_err(), "{wrong}");
        }
        // Rules have no such expression.
        schedule = super::event::tests::schedule("arn", false);
        schedule.expression = "at(2026-03-01T13:00:00)".to_owned();
        assert!(Expression::of(&schedule).is_err());
    }

    #[test]
    fn schedule_follows_its_zones_clock_when_summer_time_ends() {
        let zone = TimeZone::get("Europe/Berlin").expect("a zone");
        let daily = Expression::parse("cron(0 3 * * ? *)").expect("valid");
        let next = |now: &str| daily.next_after(now.parse().expect("a time"), &zone).expect("a time").to_string();
        // The night of 26 October 2025.
        assert_eq!(next("2025-10-24T12:00:00Z"), "2025-10-25T01:00:00Z");
        assert_eq!(next("2025-10-25T12:00:00Z"), "2025-10-26T02:00:00Z");
    }

    #[test]
    fn expressions_that_eventbridge_rejects_are_rejected() {
        for expression in [
            "5 minutes",
            "rate(5 minute)",
            "rate(1 minutes)",
            "rate(0 minutes)",
            "rate(5 seconds)",
            "cron(0 3 * * *)",
            "cron(0 3 * * * *)",
            "cron(0 3 ? * ? *)",
            "cron(61 3 * * ? *)",
        ] {
            assert!(Expression::parse(expression).is_err(), "{expression}");
        }
    }
}
