//! Reminders of doses: users in several time zones, browsers that fail, runs that come twice and die.
//!
//! A history is one number, its seed, and takes some hours under a virtual clock, often around a
//! change of clocks. The reminder function runs each minute, while users take, skip and snooze their
//! doses. Requests and replies are lost and late, old answers come from the index, and push services
//! refuse messages. Then a check that shares no rule with the function looks at each message.

mod oracle;
mod push;
mod user;
mod weakness;
mod world;

use std::cell::RefCell;
use std::rc::Rc;
use std::time::Duration;

use aws_sdk_sesv2::config::retry::RetryConfig;
use aws_sdk_sesv2::config::{BehaviorVersion, Region, StalledStreamProtectionConfig};
use fastrand::Rng;
use lambda_kit::mail::Mailer;
use lambda_kit::outbound::Outbound;
use lambda_kit::push::{Push, VapidKey};
use okusuri_reminder::{ReminderService, handle};
use secrecy::SecretString;
use tokio::task::spawn_local;
use tokio::time::sleep;

pub use weakness::ReminderWeakness;

use crate::history::HistoryOutcome;
use crate::simulate;
use crate::table::Database;
use crate::wire::Wire;
use world::World;

/// How long a history is.
const MINUTES: u64 = 4 * 60;

/// When Lambda ends a run.
const TIME_LIMIT: Duration = Duration::from_secs(120);

/// How many times pending work is polled before a history counts as stuck.
const LOOKS_MAX: usize = 10_000;

/// An instance of the function.
struct Instance {
    wire: Wire<World>,
    service: ReminderService,
}

/// Plays one history against an empty database, with the rules as they are or with one of them
/// weakened.
pub fn play_reminders(
    seed: u64,
    weakness: Option<ReminderWeakness>,
    database: Box<dyn Database>,
    is_traced: bool,
) -> anyhow::Result<HistoryOutcome> {
    simulate(seed, async move {
        let world = World::new(Rng::with_seed(seed), weakness, database, is_traced)?;
        let users = user::set_up(&world).await?;
        for user in 0..users {
            spawn_local(user::live(world.clone(), user));
        }
        let idle = Rc::new(RefCell::new(Vec::new()));
        for _ in 0..MINUTES {
            let delays_ms = world.with(|state| {
                let history = &mut state.history;
                let near_ms = if history.rng.bool() { 60 } else { 2_500 };
                let second = history.strikes("run twice").then(|| history.rng.u64(1..near_ms));
                let first = (!history.strikes("run left out")).then_some(0);
                let delays_ms: Vec<u64> = first.into_iter().chain(second).collect();
                history.under_way += delays_ms.len();
                delays_ms
            });
            for delay_ms in delays_ms {
                spawn_local(run(world.clone(), idle.clone(), delay_ms));
            }
            sleep(Duration::from_secs(60)).await;
        }
        world.with(|state| state.history.is_stormy = false);
        for _ in 0..LOOKS_MAX {
            if world.with(|state| state.history.under_way == 0) {
                return Ok(world.with(|state| {
                    oracle::judge(state);
                    state.history.outcome(seed)
                }));
            }
            sleep(Duration::from_millis(100)).await;
        }
        anyhow::bail!("something stays on its way")
    })
}

/// One run, by an instance that is idle or by a new one.
async fn run(world: World, idle: Rc<RefCell<Vec<Instance>>>, delay_ms: u64) {
    sleep(Duration::from_millis(delay_ms)).await;
    let now = world.with(|state| state.begin_run());
    // A run that would find nothing is not played, but for one of ten.
    let is_played = world.with(|state| state.is_any_due().unwrap_or(true) || state.history.rng.u8(..10) == 0);
    let waiting = idle.borrow_mut().pop();
    if let Some(instance) = waiting.or_else(|| instance(&world)).filter(|_| is_played) {
        instance.wire.begin(now.as_millisecond().unsigned_abs());
        let report = instance.wire.unless_killed(handle(&instance.service, now), TIME_LIMIT).await;
        let is_clean =
            matches!(&report, Some(Ok(report)) if report.failed + report.unreadable == 0 && !report.has_more);
        world.with(|state| {
            state.history.note(|| format!("run of {now}: {report:?}"));
            state.end_run(now, is_clean);
        });
        if report.is_some() {
            idle.borrow_mut().push(instance);
        }
    } else {
        world.with(|state| state.history.note(|| format!("run of {now}: not played, for nothing is due")));
    }
    world.with(|state| state.history.under_way -= 1);
}

/// A new instance; `None` only if its key is no key.
fn instance(world: &World) -> Option<Instance> {
    let wire = Wire::new(world.clone());
    let mails = aws_sdk_sesv2::Config::builder()
        .behavior_version(BehaviorVersion::latest())
        .region(Region::from_static("us-east-1"))
        .allow_no_auth()
        .endpoint_url("http://mail")
        .retry_config(RetryConfig::standard())
        .http_client(wire.clone())
        .stalled_stream_protection(StalledStreamProtectionConfig::disabled());
    let mailer = Mailer::new(aws_sdk_sesv2::Client::from_conf(mails.build()), "okusuri@example.com");
    let browsers = wire.clone();
    let outbound = Outbound::simulated(move |request| Box::pin(push::push(browsers.clone(), request)));
    let key = VapidKey::new(&SecretString::from("0".repeat(64)), "mailto:operator@example.com").ok()?;
    let service = ReminderService::new(&wire.table(), Push::new(outbound, key), mailer);
    Some(Instance { wire, service })
}
