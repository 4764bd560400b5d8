//! What a history's tasks share: users and their doses, the table, and what was sent.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, PoisonError};

use domain::UserId;
use fastrand::Rng;
use jiff::civil::{Date, Time};
use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};

use super::weakness::{ReminderWeakness, weaken};
use crate::history::History;
use crate::table::{Database, ask, table_request};
use crate::wire::{Behind, ask_noted};

const TABLE: &str = "okusuri";

/// When histories begin. In the first four, clocks change within hours: in Berlin, or in New York.
/// In the last one, a day of UTC ends.
const BEGINS: [&str; 5] = [
    "2026-03-29T00:00:00Z",
    "2026-10-25T00:00:00Z",
    "2026-03-08T05:30:00Z",
    "2026-11-01T04:30:00Z",
    "2026-11-22T21:30:00Z",
];

/// A kind of fault and how likely it may at most be, each time that it could strike.
const FAULTS: [(&str, f64); 14] = [
    ("run left out", 0.1),
    ("run twice", 0.9),
    ("crash before a request", 0.004),
    ("crash after a request", 0.004),
    ("lost request", 0.03),
    ("lost reply", 0.05),
    ("late request", 0.02),
    ("server error", 0.03),
    ("throttling", 0.04),
    ("transaction conflict", 0.15),
    ("old read", 0.1),
    ("message lost", 0.1),
    ("push service busy", 0.2),
    ("push answer lost", 0.1),
];

/// The longest latency of a slow request, and of a usual one.
const LATENCIES_MS: (u64, u64) = (300, 8);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Mark {
    Open,
    Recorded,
    Snoozed(Timestamp),
}

/// What is recorded for a dose from a moment on.
#[derive(Debug, Clone)]
pub(super) struct Change {
    pub(super) at: Timestamp,
    pub(super) mark: Mark,
    /// When the user was told that it is done.
    pub(super) told: Option<Timestamp>,
}

#[derive(Debug)]
pub(super) struct Dose {
    pub(super) medicine_id: String,
    pub(super) due: Timestamp,
    /// At least one: at first it is open.
    pub(super) changes: Vec<Change>,
}

#[derive(Debug)]
pub(super) struct User {
    pub(super) id: UserId,
    pub(super) zone: TimeZone,
    pub(super) names: Vec<String>,
    /// By day and time: two medicines have no time in common.
    pub(super) doses: BTreeMap<(Date, Time), Dose>,
    /// Whether a browser or a mailbox takes messages.
    pub(super) is_reachable: bool,
    /// Whether doses are recorded at all.
    pub(super) is_active: bool,
}

#[derive(Debug, Clone, Copy)]
pub(super) struct Run {
    pub(super) end: Timestamp,
    /// Whether it ended, and failed for nobody, and read no old index.
    pub(super) is_clean: bool,
}

/// A claim of all times until a moment.
#[derive(Debug, Clone, Copy)]
pub(super) struct Claim {
    pub(super) run: Timestamp,
    pub(super) until: Timestamp,
}

/// A message that has arrived.
#[derive(Debug)]
pub(super) struct Message {
    pub(super) user: usize,
    pub(super) run: Timestamp,
    pub(super) at: Timestamp,
    /// The browser, or the mailbox.
    pub(super) way: String,
    pub(super) times: Vec<Time>,
    /// Of a push message, the names of medicines and the number of doses.
    pub(super) content: Option<(Vec<String>, usize)>,
}

pub(super) struct State {
    pub(super) history: History,
    database: Box<dyn Database>,
    pub(super) weakness: Option<ReminderWeakness>,
    pub(super) begin: Timestamp,
    pub(super) users: Vec<User>,
    /// By the moment that each has for now.
    pub(super) runs: BTreeMap<Timestamp, Run>,
    /// Of each user, in the order in which they were written.
    pub(super) claims: BTreeMap<usize, Vec<Claim>>,
    /// When users' own requests changed their reminders.
    pub(super) changes: BTreeSet<(usize, Timestamp)>,
    pub(super) messages: Vec<Message>,
    /// Runs in which a browser did not take the message of a user.
    pub(super) refused: BTreeSet<(Timestamp, usize)>,
}

/// A handle to it. A lock is held for one step and never across an await.
#[derive(Clone)]
pub(super) struct World(Arc<Mutex<State>>);

impl std::fmt::Debug for World {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("World").finish_non_exhaustive()
    }
}

impl World {
    pub(super) fn new(
        rng: Rng,
        weakness: Option<ReminderWeakness>,
        mut database: Box<dyn Database>,
        is_traced: bool,
    ) -> anyhow::Result<Self> {
        let table = table_request(TABLE, &[["DueIndex", "DuePartition", "DueAt", "KEYS_ONLY"]]);
        ask(&mut *database, "CreateTable", &table)?;
        let mut history = History::new(rng, &FAULTS, LATENCIES_MS, is_traced);
        let begin: Timestamp = BEGINS[history.rng.usize(..BEGINS.len())].parse()?;
        Ok(Self(Arc::new(Mutex::new(State {
            begin: begin + SignedDuration::from_secs(history.rng.i64(0..3_600)),
            history,
            database,
            weakness,
            users: Vec::new(),
            runs: BTreeMap::new(),
            claims: BTreeMap::new(),
            changes: BTreeSet::new(),
            messages: Vec::new(),
            refused: BTreeSet::new(),
        }))))
    }

    /// One step.
    pub(super) fn with<T>(&self, step: impl FnOnce(&mut State) -> T) -> T {
        step(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl Behind for World {
    const TABLE: &'static str = TABLE;

    fn history<T>(&self, step: impl FnOnce(&mut History) -> T) -> T {
        self.with(|state| step(&mut state.history))
    }

    fn apply(&self, invocation: u64, operation: &str, body: &Value) -> (u16, Value) {
        self.with(|state| state.apply(moment(invocation), operation, body))
    }

    fn weaken(&self, invocation: u64, operation: String, body: Value) -> Vec<(String, Value)> {
        weaken(self, invocation, operation, body)
    }
}

impl State {
    pub(super) fn now(&self) -> Timestamp {
        self.begin + SignedDuration::try_from(self.history.elapsed()).unwrap_or_default()
    }

    /// Begins a run; no other one has the same moment for now.
    pub(super) fn begin_run(&mut self) -> Timestamp {
        let mut now = self.now();
        while self.runs.contains_key(&now) {
            now += SignedDuration::from_millis(1);
        }
        self.runs.insert(now, Run { end: now, is_clean: true });
        now
    }

    /// Whether a reminder is due.
    pub(super) fn is_any_due(&mut self) -> anyhow::Result<bool> {
        let query = json!({"TableName": TABLE, "IndexName": "DueIndex"});
        let items = ask(&mut *self.database, "Scan", &query)?;
        let now = self.now();
        let due = items["Items"].as_array().into_iter().flatten().filter_map(|item| item["DueAt"]["S"].as_str());
        // As texts, a whole second would come after each of its fractions.
        Ok(due.filter_map(|due| due.parse::<Timestamp>().ok()).any(|due| due <= now))
    }

    pub(super) fn end_run(&mut self, run: Timestamp, is_clean: bool) {
        let end = self.now();
        if let Some(run) = self.runs.get_mut(&run) {
            (run.end, run.is_clean) = (end, run.is_clean && is_clean);
        }
    }

    fn apply(&mut self, run: Timestamp, operation: &str, body: &Value) -> (u16, Value) {
        if operation == "SendEmail" {
            self.take_mail(run, body);
            return (200, json!({ "MessageId": "1" }));
        }
        let (status, mut answer) = ask_noted(&mut *self.database, &mut self.history, operation, body);
        if body["IndexName"] == "DueIndex" {
            let key = body["ExpressionAttributeValues"][":Part"].to_string();
            let old = self.history.eventually(key, (status, answer.to_string().into_bytes())).1;
            let old: Value = serde_json::from_slice(&old).unwrap_or_default();
            if old != answer {
                self.runs.entry(run).and_modify(|run| run.is_clean = false);
                answer = old;
            }
        }
        let now = self.now();
        match operation {
            _ if status != 200 => {}
            "TransactWriteItems" => {
                for action in body["TransactItems"].as_array().into_iter().flatten() {
                    let action = ["Update", "Delete"].into_iter().find_map(|kind| action.get(kind));
                    let Some((user, sort)) = action.and_then(|action| self.key(action)) else { continue };
                    if sort == "REMINDER#DOSES" {
                        self.changes.insert((user, now));
                    } else if let Some(dose) = dose_of(&sort).and_then(|key| self.users[user].doses.get_mut(&key)) {
                        let mark = action.map_or(Mark::Open, mark);
                        if dose.changes.last().is_none_or(|last| last.mark != mark) {
                            dose.changes.push(Change { at: now, mark, told: None });
                        }
                    }
                }
            }
            "UpdateItem" => {
                let until = attribute(body, "HandledUntil").and_then(|until| until.parse().ok());
                if let (Some((user, _)), Some(until)) = (self.key(body), until) {
                    self.claims.entry(user).or_default().push(Claim { run, until });
                }
            }
            _ => self.read_weakly(operation, body, &mut answer),
        }
        (status, answer)
    }

    /// Changes an answer by the rule that is weakened.
    fn read_weakly(&self, operation: &str, body: &Value, answer: &mut Value) {
        let is_of_doses = body["ExpressionAttributeValues"].to_string().contains("\"DOSE#");
        match self.weakness {
            Some(ReminderWeakness::RecordsIgnored) if operation == "Query" && is_of_doses => {
                answer["Items"] = json!([])
            }
            Some(ReminderWeakness::ZoneOfAnother) if operation == "BatchGetItem" => {
                for item in answer["Responses"][TABLE].as_array_mut().into_iter().flatten() {
                    let next = item["PK"]["S"].as_str().and_then(number).map_or(0, |user| user + 1);
                    if item["SK"]["S"] == "PROFILE" {
                        let zone = &self.users[next % self.users.len()].zone;
                        item["TimeZone"]["S"] = json!(zone.iana_name());
                    }
                }
            }
            _ => {}
        }
    }

    /// The user and the sort key of an action.
    fn key(&self, action: &Value) -> Option<(usize, String)> {
        let [user, sort] = ["PK", "SK"].map(|name| action["Key"][name]["S"].as_str());
        let user = user.and_then(number).filter(|user| *user < self.users.len())?;
        Some((user, sort?.to_owned()))
    }

    fn take_mail(&mut self, run: Timestamp, body: &Value) {
        let way = body["Destination"]["ToAddresses"][0].as_str().unwrap_or_default().to_owned();
        let content = &body["Content"]["Simple"];
        let subject = content["Subject"]["Data"].as_str().unwrap_or_default();
        let times = subject.split(|char: char| !char.is_ascii_digit() && char != ':');
        let times = times.filter_map(|time| time.trim_start_matches(':').parse().ok()).collect();
        let text = content.to_string();
        if let Some(name) = self.users.iter().flat_map(|user| &user.names).find(|name| text.contains(*name)) {
            self.history.broken.push(format!("a mail names {name}"));
        }
        if let Some(user) = way.split('@').next().and_then(number) {
            self.messages.push(Message { user, run, at: self.now(), way, times, content: None });
        }
    }
}

/// What stands behind the last `-` of a user's name.
pub(super) fn number(name: &str) -> Option<usize> {
    name.rsplit('-').next()?.parse().ok()
}

pub(super) fn moment(invocation: u64) -> Timestamp {
    Timestamp::from_millisecond(invocation.cast_signed()).unwrap_or_default()
}

fn dose_of(sort: &str) -> Option<(Date, Time)> {
    let mut parts = sort.strip_prefix("DOSE#")?.split('#');
    Some((parts.next()?.parse().ok()?, parts.next()?.parse().ok()?))
}

/// A text that an update sets.
fn attribute<'a>(update: &'a Value, name: &str) -> Option<&'a str> {
    let names = update["ExpressionAttributeNames"].as_object()?;
    let (placeholder, _) = names.iter().find(|(_, named)| *named == name)?;
    update["ExpressionAttributeValues"][placeholder.replace("#n", ":v")]["S"].as_str()
}

fn mark(action: &Value) -> Mark {
    match attribute(action, "State") {
        None => Mark::Open,
        Some("SNOOZED") => {
            let until = attribute(action, "SnoozedUntil").and_then(|until| until.parse().ok());
            Mark::Snoozed(until.unwrap_or_default())
        }
        Some(_) => Mark::Recorded,
    }
}
