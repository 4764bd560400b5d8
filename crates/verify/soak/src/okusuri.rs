//! The medication log: users sign in with a mailed code, log days, change and delete earlier logs,
//! and record doses. Afterwards each streak must follow from the logs, and the logs must match the
//! answers.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use anyhow::{Context as _, Result};
use aws_sdk_dynamodb::types::AttributeValue;
use domain::UserId;
use domain::okusuri::{Log, Regimen, Summary};
use fastrand::Rng;
use jiff::civil::Date;
use jiff::{Span, Timestamp};
use okusuri_store::{LogRange, Logs};
use reqwest::Method;
use serde_json::{Value, json};
use store_base::Direction;
use tests::browser::Browser;
use tests::{Database, Stack};

use crate::check::Check;
use crate::world::{RequestOutcome, Tries, World};

const SYSTEM: &str = "okusuri";
/// What a user does before the next one comes.
const ACTIONS_MAX: u32 = 60;
/// How far back they log.
const DAYS: i32 = 45;
/// How often a user wants to sign in before they go away.
const SIGN_INS_MAX: u32 = 3;

/// Whether a day may have a log, and of which kind: `None` is none, `Some` whether it says
/// bleeding. More than one where an answer was lost.
type States = BTreeSet<Option<bool>>;

/// The acknowledged writes of a user.
#[derive(Debug, Clone, Default)]
struct Diary {
    days: BTreeMap<Date, States>,
    /// Doses, by date, time and medicine, and whether one is surely, or surely not, recorded.
    doses: BTreeMap<String, Option<bool>>,
}

/// All signed-in users.
#[derive(Debug, Default)]
pub(crate) struct Okusuri {
    diaries: Mutex<BTreeMap<String, Diary>>,
}

impl Okusuri {
    /// A user after the other, until the traffic ends.
    pub(crate) async fn drive(&self, world: &World, mut rng: Rng, place: usize) {
        for number in 0.. {
            if !world.goes_on() {
                return;
            }
            let email = format!("soak-{place}-{number}@example.com");
            let Some((mut browser, user)) = sign_in(world, &mut rng, &email).await else { continue };
            let diary = live(world, &mut rng, &mut browser).await;
            self.diaries.lock().unwrap_or_else(PoisonError::into_inner).insert(user, diary);
        }
    }

    /// Compares the stored items of each user with the answers, and each summary with the logs.
    pub(crate) async fn check(&self, stack: &Stack) -> Result<Vec<Check>> {
        let diaries = self.diaries.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let mut logged = Check::of("the logs of each user are those that were answered");
        let mut streaks = Check::of("the streak of each user is the one of the logs");
        let mut taken = Check::of("the doses of each user are those that were answered");
        let logs = Logs::new(&stack.table(Database::OKUSURI));
        for (user, diary) in &diaries {
            let id = UserId::new(user)?;
            let rows = logs.page(&id, LogRange::default(), Direction::Asc, 1_000, None).await?.items;
            let found: BTreeMap<_, _> = rows.iter().map(|row| (row.date, row.has_bleeding)).collect();
            for (date, states) in &diary.days {
                let found = found.get(date).copied();
                logged.expect(states.contains(&found), || format!("{user} {date}: {found:?}, not {states:?}"));
            }
            for date in found.keys().filter(|date| !diary.days.contains_key(date)) {
                logged.mistake(format!("{user} {date}: nobody has logged it"));
            }
            let regimen = regimen(stack, user).await?;
            let log = |(date, has_bleeding): (&Date, &bool)| Log { date: *date, has_bleeding: *has_bleeding };
            let counted = found.iter().map(log).filter_map(|log| log.counted(true, regimen));
            let expected = Summary::of(counted, regimen);
            let summary = logs.under(regimen).summary(&id).await?;
            streaks.expect(summary == expected, || format!("{user}: {summary:?}, not {expected:?}"));
            let doses = doses(stack, user).await?;
            for (dose, is_there) in &diary.doses {
                let found = doses.contains(dose);
                taken.expect(is_there.is_none_or(|is_there| is_there == found), || {
                    format!("{user} {dose}: there: {found}, answered: {is_there:?}")
                });
            }
        }
        Ok(vec![logged, streaks, taken])
    }
}

/// The regimen that a user has chosen, or was given.
async fn regimen(stack: &Stack, user: &str) -> Result<Regimen> {
    let profile = stack.dynamodb().get_item().table_name(Database::OKUSURI).consistent_read(true);
    let profile = profile.key("PK", AttributeValue::S(format!("USER#{user}")));
    let profile = profile.key("SK", AttributeValue::S("PROFILE".to_owned())).send().await?;
    let text = profile.item().and_then(|item| item.get("Regimen")?.as_s().ok());
    Ok(text.context("no regimen")?.parse()?)
}

/// The doses in a user's partition, as `DOSE#<date>#<time>#<medicine>`.
async fn doses(stack: &Stack, user: &str) -> Result<BTreeSet<String>> {
    let query = stack.dynamodb().query().table_name(Database::OKUSURI).consistent_read(true);
    let query = query.key_condition_expression("PK = :pk AND begins_with(SK, :dose)");
    let query = query.expression_attribute_values(":pk", AttributeValue::S(format!("USER#{user}")));
    let query = query.expression_attribute_values(":dose", AttributeValue::S("DOSE#".to_owned()));
    let items: Vec<_> = query.into_paginator().items().send().collect::<Result<_, _>>().await?;
    let keys = items.into_iter().filter_map(|item| item.get("SK")?.as_s().ok().cloned());
    Ok(keys.collect())
}

/// A user comes in by a code; `None` when they give up.
async fn sign_in(world: &World, rng: &mut Rng, email: &str) -> Option<(Browser, String)> {
    let mut browser = Browser::new(world.url()).ok()?;
    for _ in 0..SIGN_INS_MAX {
        // An answer may be lost and the code be on its way.
        let _ = browser.post("/okusuri/api/sign-in/email", &json!({ "email": email })).await;
        let code = world.with(async |stack| stack.mailed_code(email).await).await;
        if let Ok(Ok(code)) = code {
            let body = json!({ "email": email, "code": code, "timeZone": "Asia/Tokyo" });
            if let Ok(page) = browser.post("/okusuri/api/sign-in/email/verify", &body).await
                && page.status.is_success()
            {
                world.note(SYSTEM, &RequestOutcome::Done(Value::Null));
                return Some((browser, page.json()["id"].as_str()?.to_owned()));
            }
        }
        tokio::time::sleep(Duration::from_millis(rng.u64(50..500))).await;
    }
    world.note(SYSTEM, &RequestOutcome::Unknown);
    None
}

/// What a user does once they are in.
async fn live(world: &World, rng: &mut Rng, browser: &mut Browser) -> Diary {
    let mut diary = Diary::default();
    // Yesterday in Tokyo has begun wherever the clock stands.
    let Ok(today) = Timestamp::now().in_tz("Asia/Tokyo").map(|now| now.date()) else { return diary };
    let medicine = medicine(world, rng, browser, today).await;
    for _ in 0..ACTIONS_MAX {
        if !world.goes_on() {
            break;
        }
        let date = today.saturating_sub(Span::new().days(rng.i32(0..DAYS)));
        match (rng.u8(..8), &medicine) {
            (0 | 1, Some(medicine)) => dose(world, rng, browser, &mut diary, (date, medicine)).await,
            (2, _) => delete(world, rng, browser, &mut diary, date).await,
            (3, _) => choose(world, rng, browser, date).await,
            _ => log(world, rng, browser, &mut diary, date).await,
        }
    }
    diary
}

async fn medicine(world: &World, rng: &mut Rng, browser: &mut Browser, today: Date) -> Option<String> {
    let from = today.saturating_sub(Span::new().days(DAYS));
    let body = json!({"name": "Iron", "dose": "1", "times": ["08:00"], "from": from.to_string()});
    let outcome = send(world, rng, browser, Method::POST, "/okusuri/api/medicines", &body).await;
    let RequestOutcome::Done(medicine) = outcome else { return None };
    medicine["id"].as_str().map(str::to_owned)
}

async fn log(world: &World, rng: &mut Rng, browser: &mut Browser, diary: &mut Diary, date: Date) {
    // Of a day whose answer was lost, the request may still be on its way: it is left alone.
    if diary.days.get(&date).is_some_and(|states| states.len() > 1) {
        return;
    }
    let has_bleeding = rng.u8(..4) == 0;
    let body = json!({ "hasBleeding": has_bleeding });
    let outcome = send(world, rng, browser, Method::PUT, &format!("/okusuri/api/logs/{date}"), &body).await;
    diary.now(date, Some(has_bleeding), &outcome);
}

async fn choose(world: &World, rng: &mut Rng, browser: &mut Browser, start: Date) {
    let regimen = match rng.u8(..4) {
        0 => json!({ "kind": "medicines" }),
        1 => json!({ "kind": "continuous" }),
        _ => json!({ "kind": "cycle", "activeDays": 3, "restDays": 2, "startOn": start.to_string() }),
    };
    let body = json!({ "regimen": regimen });
    send(world, rng, browser, Method::PUT, "/okusuri/api/me", &body).await;
}

async fn delete(world: &World, rng: &mut Rng, browser: &mut Browser, diary: &mut Diary, date: Date) {
    if diary.days.get(&date).is_none_or(|states| states.len() > 1 || states.contains(&None)) {
        return;
    }
    let outcome = send(world, rng, browser, Method::DELETE, &format!("/okusuri/api/logs/{date}"), &Value::Null).await;
    diary.now(date, None, &outcome);
}

async fn dose(world: &World, rng: &mut Rng, browser: &mut Browser, diary: &mut Diary, (date, medicine): (Date, &str)) {
    let name = format!("DOSE#{date}#08:00#{medicine}");
    let was = diary.doses.get(&name).copied();
    let (method, body, is_there) = match was {
        Some(None) => return,
        Some(Some(true)) if rng.u8(..3) == 0 => (Method::DELETE, Value::Null, false),
        _ => (Method::PUT, json!({"state": (["taken", "skipped"][rng.usize(..2)])}), true),
    };
    let path = format!("/okusuri/api/doses/{date}/08:00/{medicine}");
    match send(world, rng, browser, method, &path, &body).await {
        RequestOutcome::Done(_) => {
            diary.doses.insert(name, Some(is_there));
        }
        // As with a log.
        RequestOutcome::Refused(problem) if !is_there && problem.ends_with("not-found") => {
            diary.doses.insert(name, Some(false));
        }
        RequestOutcome::Refused(_) => {}
        RequestOutcome::Unknown if was == Some(Some(is_there)) => {}
        RequestOutcome::Unknown => {
            diary.doses.insert(name, None);
        }
    }
}

impl Diary {
    /// A day was, or was to be, made so.
    fn now(&mut self, date: Date, state: Option<bool>, outcome: &RequestOutcome) {
        let states = self.days.entry(date).or_insert_with(|| States::from([None]));
        match outcome {
            RequestOutcome::Done(_) => *states = States::from([state]),
            // A function that lost its transaction's reply decides again, and finds the item that
            // it deleted itself missing. The answer is still true.
            RequestOutcome::Refused(problem) if state.is_none() && problem.ends_with("not-found") => {
                *states = States::from([None])
            }
            RequestOutcome::Refused(_) => {}
            RequestOutcome::Unknown => {
                states.insert(state);
            }
        }
    }
}

async fn send(
    world: &World,
    rng: &mut Rng,
    browser: &mut Browser,
    method: Method,
    path: &str,
    body: &Value,
) -> RequestOutcome {
    let mut tries = Tries::of_somebody(rng);
    let outcome = loop {
        let sent = (!body.is_null()).then(|| ("application/json", body.to_string().into_bytes()));
        let step = match browser.send(method.clone(), path, sent).await {
            Ok(page) => tries.on_response(page.status.as_u16(), page.json()),
            Err(error) => tries.failed(never_left(&error)),
        };
        if let Some(outcome) = step {
            break outcome;
        }
        if world.is_over() {
            break tries.given_up();
        }
        world.count(SYSTEM, |tally| tally.repeated += 1);
        tokio::time::sleep(Duration::from_millis(rng.u64(10..200))).await;
    };
    world.note(SYSTEM, &outcome);
    outcome
}

/// Whether the connection was never made.
fn never_left(error: &anyhow::Error) -> bool {
    error.downcast_ref::<reqwest::Error>().is_some_and(reqwest::Error::is_connect)
}
