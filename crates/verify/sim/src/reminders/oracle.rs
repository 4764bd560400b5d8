//! Judges the messages of a history by the times of the doses and by the records, which the wire has
//! seen. It knows no rule of the function.

use std::collections::{BTreeMap, BTreeSet};

use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp};

use super::world::{Change, Claim, Dose, Mark, Message, Run, State, User};

const REPEAT: SignedDuration = SignedDuration::from_mins(30);
const ASKS: i32 = 3;
const LATE_MAX: SignedDuration = SignedDuration::from_hours(2);
const A_DAY_MAX: usize = 24;

pub(super) fn judge(state: &mut State) {
    let mut broken = Vec::new();
    let mut counts = Vec::new();
    for (number, user) in state.users.iter().enumerate() {
        let mut by_run: BTreeMap<Timestamp, Vec<&Message>> = BTreeMap::new();
        for message in state.messages.iter().filter(|message| message.user == number) {
            by_run.entry(message.run).or_default().push(message);
        }
        let mut complain = |line: String| broken.push(format!("{}: {line}", user.id));
        let asked = messages(state.begin, user, &by_run, &mut complain);
        counts.push(("messages", by_run.len()));
        counts.extend(times(state, (number, user), &asked, &mut complain).into_iter().map(|what| (what, 1)));
    }
    counts.into_iter().for_each(|(what, number)| state.history.count(what, number as u64));
    state.history.broken.extend(broken);
}

/// The key of a dose, and the run whose message asked for it.
type Asked = BTreeSet<(*const Dose, Timestamp)>;

/// Looks at each message: it comes once on each way, is about the user's own doses alone, and each
/// of them has a time that no message was about.
fn messages(
    begin: Timestamp,
    user: &User,
    by_run: &BTreeMap<Timestamp, Vec<&Message>>,
    complain: &mut impl FnMut(String),
) -> Asked {
    let (mut asked, mut days) = (Asked::new(), BTreeMap::<_, usize>::new());
    let mut last: BTreeMap<*const Dose, Timestamp> = BTreeMap::new();
    for (run, messages) in by_run {
        *days.entry(TimeZone::UTC.to_datetime(*run).date()).or_default() += 1;
        let ways: BTreeSet<_> = messages.iter().map(|message| &message.way).collect();
        if ways.len() < messages.len() {
            complain(format!("the run of {run} sent twice: {messages:?}"));
        }
        for (names, count) in messages.iter().filter_map(|message| message.content.as_ref()) {
            if names.iter().any(|name| !user.names.contains(name)) || *count != messages[0].times.len() {
                complain(format!("a message is about others' doses: {messages:?}"));
            }
        }
        let at = messages.iter().map(|message| message.at).max().unwrap_or(*run);
        for time in messages.iter().flat_map(|message| &message.times).collect::<BTreeSet<_>>() {
            let mut doses = user.doses.iter().filter(|((_, known), _)| known == time).map(|(_, dose)| dose);
            let found = doses.find(|dose| {
                let after = last.get(&std::ptr::from_ref(*dose)).copied().unwrap_or(begin);
                let is_new = |ask: Timestamp| ask > after && ask <= *run && run.duration_since(ask) <= LATE_MAX;
                let changes = dose.changes.iter().enumerate();
                let mut held = changes.filter(|(index, change)| change.at <= at && end(dose, *index) > *run);
                held.any(|(_, change)| asks(dose, change).any(is_new))
            });
            match found.map(std::ptr::from_ref) {
                Some(dose) => {
                    last.insert(dose, *run);
                    asked.insert((dose, *run));
                }
                None => complain(format!("the run of {run} had no reason to ask for {time}")),
            }
        }
    }
    if let Some((day, count)) = days.into_iter().find(|(_, count)| *count > A_DAY_MAX) {
        complain(format!("{day} has {count} messages"));
    }
    asked
}

/// Looks at each time of each dose that was open all the time: what became of it.
fn times(
    state: &State,
    (number, user): (usize, &User),
    asked: &Asked,
    complain: &mut impl FnMut(String),
) -> Vec<&'static str> {
    let mut ends = Vec::new();
    let no_claims = Vec::new();
    let claims = state.claims.get(&number).unwrap_or(&no_claims);
    for dose in user.doses.values() {
        for (index, change) in dose.changes.iter().enumerate() {
            let since = change.told.unwrap_or(Timestamp::MAX).max(state.begin);
            for ask in asks(dose, change).filter(|ask| *ask > since) {
                // The first run that no fault hindered, and no change by the user.
                let is_free = |(run, ended): &(&Timestamp, &Run)| {
                    ended.is_clean && state.changes.range((number, **run)..=(number, ended.end)).next().is_none()
                };
                let Some((free, _)) = state.runs.range(ask..=ask + LATE_MAX).find(is_free) else { continue };
                let ended = state.runs.range(ask..=*free).map(|(_, run)| run.end).max().unwrap_or(*free);
                // Of two runs at once, the later one may have been faster.
                let claim = claims.iter().find(|claim| claim.until >= ask).filter(|claim| claim.run <= ended);
                let claimed = claim.and_then(|claim| state.runs.get(&claim.run)).map_or(ended, |run| run.end);
                if end(dose, index) <= ended.max(claimed) {
                    continue;
                }
                ends.push(match claim {
                    Some(claim) if asked.contains(&(std::ptr::from_ref(dose), claim.run)) => "asked",
                    Some(claim) if claim.until > claim.run && is_day_full(claims, claim) => "over the limit",
                    Some(claim) if state.runs.get(&claim.run).is_none_or(|run| !run.is_clean) => "given up",
                    Some(claim) if !user.is_reachable || state.refused.contains(&(claim.run, number)) => "undelivered",
                    claim => {
                        complain(format!("nobody asked at {ask} for the dose of {}: {claim:?}", dose.due));
                        "lost"
                    }
                });
            }
        }
    }
    ends
}

/// Whether the day of a claim had as many claims before as it may have messages.
fn is_day_full(claims: &[Claim], full: &Claim) -> bool {
    let day = |claim: &Claim| TimeZone::UTC.to_datetime(claim.run).date();
    claims.iter().filter(|claim| claim.run < full.run && day(claim) == day(full)).count() >= A_DAY_MAX
}

/// When a dose asks, as long as nothing changes.
fn asks(dose: &Dose, change: &Change) -> impl Iterator<Item = Timestamp> + use<> {
    let first = match change.mark {
        Mark::Open => Some(dose.due),
        Mark::Snoozed(until) => Some(Timestamp::from_second(until.max(dose.due).as_second()).unwrap_or_default()),
        Mark::Recorded => None,
    };
    first.into_iter().flat_map(|first| (0..ASKS).map(move |number| first + REPEAT * number))
}

/// When a change of a dose was followed by the next one.
fn end(dose: &Dose, index: usize) -> Timestamp {
    dose.changes.get(index + 1).map_or(Timestamp::MAX, |next| next.at)
}
