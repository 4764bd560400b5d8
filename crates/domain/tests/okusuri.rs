//! Random histories of a medication log: edits, past days, deletions, and users who change time
//! zones. A simple reference that looks at every day since the first log gives the expected values.

#![allow(clippy::unwrap_used)]

use std::collections::BTreeMap;

use domain::calendar::DateRange;
use domain::okusuri::{
    Adherence, Cycle, Day, DayState, Log, LogChange, LogWindow, MissingLogs, Regimen, Status, Summary, SummaryError,
    adherence_range, check_loggable, days,
};
use jiff::civil::Date;
use jiff::tz::TimeZone;
use jiff::{SignedDuration, Span, Timestamp};
use proptest::prelude::*;

/// Zones with summer time, a skipped day, and both sides of the date line.
const ZONES: [&str; 7] = [
    "Asia/Tokyo",
    "America/New_York",
    "Europe/Berlin",
    "Australia/Lord_Howe",
    "Pacific/Apia",
    "Pacific/Kiritimati",
    "Pacific/Pago_Pago",
];

/// Before Apia skips a day, before clocks go forward in New York, and before they go back in
/// Berlin.
const STARTS: [&str; 3] = ["2011-12-20T10:30:00Z", "2025-03-05T06:59:00Z", "2025-10-20T22:00:00Z"];

#[derive(Debug, Clone)]
enum Step {
    Wait { hours: i64 },
    Move { zone: usize },
    Put { days_back: i64, has_bleeding: bool },
    Delete { days_back: i64 },
    Choose { regimen: Regimen },
}

/// The reference's state of a day.
#[derive(Debug, Clone, Copy, Default)]
struct Known {
    streak: u32,
    bleeding: u8,
    rest_left: u8,
}

#[derive(Debug, Clone)]
struct World {
    regimen: Regimen,
    logs: BTreeMap<Date, bool>,
    now: Timestamp,
    zone: TimeZone,
    summary: Option<Summary>,
    page: usize,
    pages: usize,
}

/// The state of every day from the first log through `last`, computed from the rules alone, without
/// the state machine.
fn walk(logs: &BTreeMap<Date, bool>, regimen: Regimen, last: Date) -> BTreeMap<Date, Known> {
    let mut known = BTreeMap::<Date, Known>::new();
    let Some(first) = logs.keys().next().copied() else { return known };
    let mut rest_until: Option<Date> = None;
    let mut day = first;
    while day <= last {
        let yesterday = known.get(&day.yesterday().unwrap()).copied().unwrap_or_default();
        let today = if let Some(until) = rest_until.filter(|until| day <= *until) {
            Known { rest_left: u8::try_from((until - day).get_days() + 1).unwrap(), ..Known::default() }
        } else if let rest_left @ 1.. = rest_of_cycle(regimen, day) {
            Known { rest_left, ..yesterday }
        } else {
            match logs.get(&day) {
                None => Known::default(),
                Some(has_bleeding) => Known {
                    streak: yesterday.streak + 1,
                    bleeding: if *has_bleeding && regimen == Regimen::Continuous { yesterday.bleeding + 1 } else { 0 },
                    rest_left: 0,
                },
            }
        };
        if today.bleeding == 3 {
            rest_until = Some(plus(day, 4));
        }
        known.insert(day, today);
        day = day.tomorrow().unwrap();
    }
    known
}

/// Whether a cycle rests on a day.
fn is_rest_of_cycle(regimen: Regimen, date: Date) -> bool {
    let Regimen::Cycle(cycle) = regimen else { return false };
    let length = i32::from(cycle.active()) + i32::from(cycle.rest());
    let since = (date - cycle.start()).get_days();
    (since % length + length) % length >= i32::from(cycle.active())
}

/// The days of rest of a cycle from a day on, counted on the calendar.
fn rest_of_cycle(regimen: Regimen, date: Date) -> u8 {
    (0..)
        .take_while(|days| is_rest_of_cycle(regimen, plus(date, i64::from(*days))))
        .last()
        .map_or(0, |last: u8| last + 1)
}

fn plus(date: Date, days: i64) -> Date {
    date.saturating_add(Span::new().days(days))
}

impl World {
    fn today(&self) -> Date {
        self.now.to_zoned(self.zone.clone()).date()
    }

    /// The logs that count.
    fn counted(&self) -> BTreeMap<Date, bool> {
        let is_due = |(date, _): &(&Date, &bool)| !is_rest_of_cycle(self.regimen, **date);
        self.logs.iter().filter(is_due).map(|(date, has_bleeding)| (*date, *has_bleeding)).collect()
    }

    fn expected_status(&self) -> Status {
        let (today, logs) = (self.today(), self.counted());
        let rest = rest_of_cycle(self.regimen, today);
        let Some(last) = logs.keys().next_back().copied() else {
            return Status { is_resting: rest > 0, rest_days_left: rest, ..Status::default() };
        };
        let known = walk(&logs, self.regimen, plus(last.max(today), 1));
        let as_of = last.max(today);
        let at = |day: Date| known.get(&day).copied().unwrap_or_default();
        let logged = logs.contains_key(&as_of);
        // Today is not over. Unless it is logged or a day of rest, yesterday's numbers are shown.
        let shown = if logged || at(as_of).rest_left > 0 { at(as_of) } else { at(as_of.yesterday().unwrap()) };
        let is_continuous = self.regimen == Regimen::Continuous;
        let is_after_rest = shown.rest_left > 0 && !logged && at(as_of).rest_left == 0;
        let shown = if is_after_rest && is_continuous { Known::default() } else { shown };
        let rest_left = if is_continuous { shown.rest_left } else { rest };
        Status {
            streak: shown.streak,
            best_streak: known.values().map(|day| day.streak).max().unwrap(),
            consecutive_bleeding_days: shown.bleeding,
            is_resting: rest_left > 0,
            rest_days_left: if shown.bleeding == 3 { 4 } else { rest_left },
            logged_today: logs.contains_key(&today),
            last_log_on: Some(last),
        }
    }

    fn expected_days(&self, range: DateRange) -> Vec<Day> {
        let (today, logs) = (self.today(), self.counted());
        let known = walk(&logs, self.regimen, range.to());
        let first = logs.keys().next().copied();
        let day = |date| {
            let log = logs.get(&date).copied();
            let is_of_cycle = matches!(self.regimen, Regimen::Cycle(cycle) if cycle.start() <= date);
            let is_rest = known.get(&date).is_some_and(|day| day.rest_left > 0)
                || (is_of_cycle && is_rest_of_cycle(self.regimen, date));
            let state = match log {
                _ if is_rest => DayState::Rest,
                Some(true) => DayState::Bleeding,
                Some(false) => DayState::Taken,
                None if date > today => DayState::Future,
                None if date == today || first.is_none_or(|first| date < first) => DayState::None,
                None => DayState::Missed,
            };
            Day { date, log, state }
        };
        range.days().map(day).collect()
    }

    /// Reads a page of logs, as the store does.
    fn read(&mut self, log_window: &mut LogWindow, missing: MissingLogs, except: Option<Date>) {
        self.pages += 1;
        let log = |(date, has_bleeding): (&Date, &bool)| Log { date: *date, has_bleeding: *has_bleeding };
        let logs = self.counted();
        let others = logs.iter().filter(|(date, _)| Some(**date) != except).map(log);
        let found: Vec<_> = match missing {
            MissingLogs::Earlier => {
                let before = log_window.from().expect("there is something to read");
                let mut found: Vec<_> = others.filter(|log| log.date < before).collect();
                found.reverse();
                found
            }
            MissingLogs::Later => {
                let from = log_window.to().expect("there is something to read");
                others.filter(|log| log.date >= from).collect()
            }
        };
        let page = &found[..found.len().min(self.page)];
        let last = page.last().map(|log| log.date).filter(|_| found.len() > self.page);
        match missing {
            MissingLogs::Earlier => log_window.extend_earlier(page.iter().copied(), last),
            MissingLogs::Later => log_window.extend_later(page.iter().copied(), last),
        }
    }

    fn change(&mut self, change: LogChange) {
        let date = change.date();
        let was = self.counted().get(&date).copied();
        let write = |logs: &mut BTreeMap<Date, bool>| match change {
            LogChange::Put(log) => logs.insert(date, log.has_bleeding),
            LogChange::Delete(_) => logs.remove(&date),
        };
        let is_due = !is_rest_of_cycle(self.regimen, date);
        self.pages = 0;
        if !is_due || (matches!(change, LogChange::Delete(_)) && was.is_none()) {
            // Nothing that counts changes.
            write(&mut self.logs);
            return;
        }
        self.summary = match (self.summary.clone(), change) {
            (summary, LogChange::Put(log)) if summary.as_ref().is_none_or(|summary| date > summary.last_on) => {
                Some(Summary::append(summary, log, self.regimen))
            }
            (summary, _) => {
                let summary = summary.expect("there are logs");
                let mut known = LogWindow::around(date, summary.ends());
                loop {
                    match summary.change(change, was, &known) {
                        Ok(summary) => break summary,
                        Err(SummaryError::Missing(missing)) => self.read(&mut known, missing, Some(date)),
                        Err(SummaryError::Mismatch) => panic!("{summary:?} does not fit {:?}", self.logs),
                    }
                }
            }
        };
        write(&mut self.logs);
    }

    fn summary_of_all(&self) -> Option<Summary> {
        let log = |(date, has_bleeding)| Log { date, has_bleeding };
        Summary::of(self.counted().into_iter().map(log), self.regimen)
    }

    fn step(&mut self, step: &Step) {
        let today = self.today();
        match *step {
            Step::Wait { hours } => self.now += SignedDuration::from_hours(hours),
            Step::Move { zone } => self.zone = TimeZone::get(ZONES[zone]).unwrap(),
            Step::Put { days_back, has_bleeding } => {
                let date = plus(today, -days_back);
                if check_loggable(date, today).is_ok() {
                    self.change(LogChange::Put(Log { date, has_bleeding }));
                }
            }
            Step::Delete { days_back } => self.change(LogChange::Delete(plus(today, -days_back))),
            Step::Choose { regimen } => {
                self.regimen = regimen;
                self.summary = self.summary_of_all();
            }
        }
    }

    fn check(&mut self) {
        assert_eq!(self.summary, self.summary_of_all(), "the summary of all logs");
        let today = self.today();
        let is_logged = self.counted().contains_key(&today);
        let status = Status::of(self.summary.as_ref(), self.regimen, today, is_logged);
        assert_eq!(status, self.expected_status(), "today {today}, {}, {:?}", self.regimen, self.logs);
    }

    fn days(&mut self, range: DateRange) -> Vec<Day> {
        let Some(summary) = self.summary.clone() else {
            return days(range, self.today(), None, self.regimen, &LogWindow::default()).unwrap();
        };
        let mut known = LogWindow::at(range.from(), summary.ends());
        loop {
            match days(range, self.today(), Some(summary.first_on), self.regimen, &known) {
                Ok(days) => return days,
                Err(missing) => self.read(&mut known, missing, None),
            }
        }
    }
}

fn regimens() -> impl Strategy<Value = Regimen> {
    // Also cycles whose rests are long, and starts after all logs.
    let cycle = (prop_oneof![1..4_u16, Just(21)], prop_oneof![1..4_u8, Just(7)], -30..400_i64);
    let cycle = cycle.prop_map(|(active, rest, days)| {
        Regimen::Cycle(Cycle::new(active, rest, plus(jiff::civil::date(2025, 3, 1), days)).unwrap())
    });
    prop_oneof![1 => Just(Regimen::Medicines), 1 => Just(Regimen::Continuous), 2 => cycle]
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    // Mostly consecutive days, with several bleeding days in a row.
    let day = (
        prop_oneof![20 => Just(24_i64), 1 => 0..60_i64],
        prop_oneof![3 => Just(Some(false)), 3 => Just(Some(true)), 1 => Just(None)],
    );
    let run = (day, 1..7_usize).prop_map(|((hours, log), length)| {
        let log = log.map(|has_bleeding| Step::Put { days_back: 0, has_bleeding });
        std::iter::repeat_n([Some(Step::Wait { hours }), log], length).flatten().flatten().collect::<Vec<_>>()
    });
    let back = || prop_oneof![4 => 0..4_i64, 4 => 0..30_i64, 1 => 0..400_i64];
    let one = prop_oneof![
        8 => (back(), any::<bool>()).prop_map(|(days_back, has_bleeding)| Step::Put { days_back, has_bleeding }),
        5 => back().prop_map(|days_back| Step::Delete { days_back }),
        1 => (0..ZONES.len()).prop_map(|zone| Step::Move { zone }),
        1 => regimens().prop_map(|regimen| Step::Choose { regimen }),
    ];
    let steps = prop_oneof![2 => run, 3 => one.prop_map(|step| vec![step])];
    prop::collection::vec(steps, 1..60).prop_map(|steps| steps.concat())
}

fn world(regimen: Regimen, start: usize, zone: usize, page: usize) -> World {
    World {
        regimen,
        logs: BTreeMap::new(),
        now: STARTS[start].parse().unwrap(),
        zone: TimeZone::get(ZONES[zone]).unwrap(),
        summary: None,
        page,
        pages: 0,
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, ..ProptestConfig::default() })]

    #[test]
    fn summary_and_status_are_what_every_day_says(
        regimen in regimens(), steps in steps(), start in 0..STARTS.len(), zone in 0..ZONES.len(), page in 1..6_usize,
    ) {
        let mut world = world(regimen, start, zone, page);
        for step in &steps {
            let newest = world.summary.as_ref().map(|summary| summary.last_on);
            world.step(step);
            world.check();
            if let Step::Put { days_back: 0, .. } = step && newest.is_none_or(|newest| newest < world.today()) {
                prop_assert_eq!(world.pages, 0, "a log after the newest reads no other");
            }
        }
    }

    #[test]
    fn the_calendar_shows_what_every_day_says(
        regimen in regimens(), steps in steps(), start in 0..STARTS.len(), zone in 0..ZONES.len(), page in 1..6_usize, from in -80..10_i64, length in 0..60_i64,
    ) {
        let mut world = world(regimen, start, zone, page);
        steps.iter().for_each(|step| world.step(step));
        let from = plus(world.today(), from);
        let range = DateRange::new(from, plus(from, length)).unwrap();
        prop_assert_eq!(world.days(range), world.expected_days(range));

        let range = adherence_range(world.today());
        let expected = world.expected_days(range);
        let counted = |states: &[DayState]| expected.iter().filter(|day| states.contains(&day.state)).count();
        let taken = [DayState::Taken, DayState::Bleeding];
        let adherence = Adherence::of_days(&world.days(range));
        prop_assert_eq!(adherence.taken as usize, counted(&taken));
        prop_assert_eq!(adherence.due as usize, counted(&taken) + counted(&[DayState::Missed]));
    }
}

/// Logs as a line: `t` taken, `B` bleeding, anything else not logged; the last day is 2026-11-22.
fn history(line: &str) -> World {
    let mut world = world(Regimen::Continuous, 0, 0, 2);
    let last = jiff::civil::date(2026, 11, 22);
    let begin = plus(last, 1 - line.chars().count() as i64);
    for (index, day) in line.chars().enumerate().filter(|(_, day)| "tB".contains(*day)) {
        world.change(LogChange::Put(Log { date: plus(begin, index as i64), has_bleeding: day == 'B' }));
    }
    world.now = "2026-11-22T12:00:00Z".parse().unwrap();
    world
}

#[test]
fn the_streak_of_yesterday_stands_until_today_is_over() {
    let status = |line: &str| {
        let world = history(line);
        let today = world.today();
        let status = Status::of(world.summary.as_ref(), world.regimen, today, false);
        (status.streak, status.consecutive_bleeding_days, status.is_resting, status.rest_days_left)
    };
    assert_eq!(status("ttt."), (3, 0, false, 0));
    assert_eq!(status("ttt.."), (0, 0, false, 0));
    assert_eq!(status("tBB."), (3, 2, false, 0));
    assert_eq!(status("tBBB"), (4, 3, false, 4));
    assert_eq!(status("tBBB."), (0, 0, true, 4));
    assert_eq!(status("tBBB...t"), (0, 0, true, 1));
    assert_eq!(status("tBBB....."), (0, 0, false, 0));
    assert_eq!(status("tBBB....t"), (1, 0, false, 0));
}

#[test]
fn change_in_the_current_streak_reads_one_page() {
    let mut world = history(&"t".repeat(300));
    world.page = 8;
    let today = world.today();
    world.change(LogChange::Put(Log { date: today, has_bleeding: true }));
    assert_eq!(world.pages, 1, "the two days before");
    world.change(LogChange::Delete(today));
    assert_eq!(world.pages, 1);
    world.check();
}

#[test]
fn late_log_joins_streaks_and_reads_few_pages() {
    let mut world = history(&format!("{}.{}{}", "t".repeat(100), ".t".repeat(20), ".tttttttt.tttt"));
    world.page = 8;
    assert_eq!(world.summary.as_ref().unwrap().best_streak(), 100);
    let forgotten = plus(world.today(), -4);
    world.change(LogChange::Put(Log { date: forgotten, has_bleeding: false }));
    world.check();
    assert!(world.pages <= 3, "{} pages of 8", world.pages);
    assert_eq!(world.summary.as_ref().unwrap().streak_state.streak(), 13);
}
