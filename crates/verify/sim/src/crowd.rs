//! Who clicks: visitors through the suite's own writer, foreign clients that write as they like,
//! and some that write nonsense.

use std::time::Duration;

use domain::UserId;
use domain::clicks::{Click, ClickCount, ClickTime};
use fastrand::Rng;
use jiff::Span;
use jiff::civil::{Date, date};
use serde_json::{Value, json};
use store::clicks::{ClickWriter, DateShards, PutClick};
use tokio::time::sleep;

use crate::faults::Fault;
use crate::table::TABLE;
use crate::wire::Wire;
use crate::world::{Sim, World};

/// How often the writer looks for a free millisecond, and how often it repeats a put that failed.
const PROBES_MAX: u16 = 8;
const TRIES_MAX: usize = 5;

/// Days that foreign clients like.
const FAMOUS_DAYS: [Date; 4] = [date(1, 1, 1), date(2024, 2, 29), date(2025, 12, 31), date(9999, 12, 31)];

/// How many days an import holds. One transaction holds less than a hundred.
const IMPORT_DAYS: std::ops::Range<i64> = 100..500;

/// How many click once more at the end.
const ENCORES: usize = 20;

/// What kind of crowd a history has.
pub(crate) struct Crowd {
    sim: Sim,
    writer: ClickWriter,
    clicks: usize,
    users: usize,
    /// How many days clicks may lie from now, in foreign items and late clicks.
    days_apart: i64,
    /// Before which click a foreign client writes the clicks of many months at once.
    import: Option<usize>,
    /// The largest pause between clicks.
    pause_ms_max: u64,
    /// The last foreign item, to be touched again.
    last_foreign: Option<Value>,
}

impl Crowd {
    /// Few clicks or many, of few users or many, on a few days or on hundreds.
    pub(crate) fn new(sim: &Sim) -> Self {
        let client = Wire::immortal(sim.clone()).client();
        sim.with(|world| {
            let rng = &mut world.rng;
            let shards = DateShards::new(rng.u8(1..=4)).unwrap_or_default();
            let clicks = rng.usize(1..80);
            Self {
                sim: sim.clone(),
                writer: ClickWriter::new(&store::Table::new(client, TABLE), shards, None),
                clicks,
                users: if rng.bool() { rng.usize(1..8) } else { rng.usize(8..80) },
                days_apart: rng.i64(1..60),
                import: (rng.u8(..4) == 0).then(|| rng.usize(1..=clicks)),
                pause_ms_max: rng.u64(2..200),
                last_foreign: None,
            }
        })
    }

    /// Clicks until everybody has had enough.
    pub(crate) async fn run(mut self) -> anyhow::Result<()> {
        for id in 1..=self.clicks {
            let pause_ms_max = self.pause_ms_max;
            let (pause_ms, is_foreign, is_poison) = self.sim.with(|world| {
                let is_poison = world.strikes(Fault::Poison);
                (world.rng.u64(1..=pause_ms_max), world.rng.u8(..3) == 0, is_poison)
            });
            sleep(Duration::from_millis(pause_ms)).await;
            if self.import == Some(id) {
                self.import()?;
            }
            if is_poison {
                self.put_poison(id)?;
            } else if is_foreign {
                self.put_foreign(id)?;
            } else {
                self.click(id).await?;
            }
        }
        Ok(())
    }

    /// A click through the writer: at the server's time, or late, or a little early.
    async fn click(&self, id: usize) -> anyhow::Result<()> {
        let (users, days_apart) = (self.users, self.days_apart);
        let (user, time, count) = self.sim.with(|world| {
            let now = world.now();
            let rng = &mut world.rng;
            let late_ms = match rng.u8(..8) {
                0 => rng.i64(0..days_apart * 86_400_000),
                1 => rng.i64(-60_000..60_000),
                _ => 0,
            };
            let count = if rng.u8(..4) == 0 { rng.u32(1..=ClickCount::MAX) } else { 1 };
            (user(rng, users), now.as_millisecond() - late_ms, count)
        });
        let mut click = Click {
            user_id: UserId::new(&user)?,
            time: ClickTime::from_millisecond(time)?,
            count: ClickCount::new(count)?,
        };
        let click_id = format!("click-{id}");
        let mut failures = 0;
        for _ in 0..PROBES_MAX {
            match self.writer.put(&click, &click_id).await {
                Ok(PutClick::Held(stored)) if stored.click_id.as_deref() != Some(&click_id) => {
                    click.time = click.time.plus(1)?;
                }
                Ok(_) => return Ok(()),
                Err(_) if failures < TRIES_MAX => failures += 1,
                // Stored or not: the table knows.
                Err(_) => return Ok(()),
            }
        }
        Ok(())
    }

    /// A click as a foreign client puts it, or the last of those with another attribute, which is
    /// no new click.
    fn put_foreign(&mut self, id: usize) -> anyhow::Result<()> {
        let (users, days_apart) = (self.users, self.days_apart);
        self.sim.with(|world| {
            if let Some(mut item) = self.last_foreign.take().filter(|_| world.rng.u8(..4) == 0) {
                item["note"] = json!({"S": "seen"});
                return world.table.put(&item);
            }
            let today = world.today();
            let rng = &mut world.rng;
            let user = match rng.u8(..12) {
                0 => "x".repeat(2_048),
                1 => "a#b \"c\" \\ 訪客".to_owned(),
                _ => user(rng, users),
            };
            let mut item = item(&user, day(rng, today, days_apart), id);
            match rng.u8(..4) {
                0 => {}
                1 => item["clickCount"] = json!({"N": rng.u32(1..).to_string()}),
                _ => item["clickCount"] = json!({"N": "1"}),
            }
            self.last_foreign = Some(item.clone());
            world.table.put(&item)
        })
    }

    /// Months of one user, in a row and so in one shard: more days than a transaction holds.
    fn import(&self) -> anyhow::Result<()> {
        let users = self.users;
        self.sim.with(|world| {
            let (user, today) = (user(&mut world.rng, users), world.today());
            let days = world.rng.i64(IMPORT_DAYS);
            world.trace(|| format!("{user} imports {days} days"));
            (1..=days).try_for_each(|ago| world.table.put(&item(&user, today.saturating_sub(Span::new().days(ago)), 0)))
        })
    }

    /// Something that calls itself a click and is none.
    fn put_poison(&self, id: usize) -> anyhow::Result<()> {
        let (users, days_apart) = (self.users, self.days_apart);
        self.sim.with(|world| {
            let today = world.today();
            let rng = &mut world.rng;
            let user = user(rng, users);
            let mut item = item(&user, day(rng, today, days_apart), id);
            let mended = item.clone();
            let kind = rng.u8(..7);
            match kind {
                0 => item["clickCount"] = json!({"S": "1"}),
                1 => item["clickCount"] = json!({"N": "0"}),
                2 => item["clickCount"] = json!({"N": "1.5"}),
                3 => item["dateKey"] = json!({"S": "DATE#1987-06-05"}),
                4 => item["recordSort"] = json!({"S": format!("CLICK#{id}#{user}")}),
                5 => item = item_at(&user, "2025-02-30", id),
                _ => item = item_at("STAT#DAILY", "2025-10-02", id),
            }
            let text = |name: &str| item[name]["S"].as_str().unwrap_or_default().to_owned();
            world.stream.expect_poison(text("userId"), text("createDateTime"));
            // A broken key cannot be repaired.
            if kind < 5 {
                world.mendable.push(mended);
            }
            world.table.put(&item)
        })
    }
}

/// After all repairs, some visitors click again on the same day. None of them may be counted again
/// as unique.
pub(crate) fn encore(world: &mut World) -> anyhow::Result<()> {
    let text = |item: &Value, name: &str| item[name]["S"].as_str().unwrap_or_default().to_owned();
    let mut clicks = world.table.items()?;
    clicks.retain(|item| {
        let is_click = text(item, "recordSort").starts_with("CLICK#");
        is_click && !world.stream.is_poison(&text(item, "userId"), &text(item, "createDateTime"))
    });
    for n in 0..ENCORES.min(clicks.len()) {
        let click = &clicks[world.rng.usize(..clicks.len())];
        let (user, time) = (text(click, "userId"), text(click, "createDateTime"));
        // No crowd comes to so many clicks.
        world.table.put(&item_at(&user, &time[..10], 900_000 + n))?;
    }
    Ok(())
}

fn user(rng: &mut Rng, users: usize) -> String {
    match rng.usize(..users) {
        0 => "訪客 \"0\"".to_owned(),
        number => format!("user-{number}"),
    }
}

/// Today, a day near by, or a famous one.
fn day(rng: &mut Rng, today: Date, days_apart: i64) -> Date {
    match rng.u8(..10) {
        0 => FAMOUS_DAYS[rng.usize(..FAMOUS_DAYS.len())],
        1..=4 => today,
        _ => today.saturating_add(Span::new().days(rng.i64(-days_apart..=days_apart))),
    }
}

fn item(user: &str, day: Date, id: usize) -> Value {
    item_at(user, &day.to_string(), id)
}

/// Microseconds that nobody else has, so that no foreign click is put over another.
fn item_at(user: &str, day: &str, id: usize) -> Value {
    let time = format!("{day}T12:00:00.{id:06}Z");
    json!({
        "userId": {"S": user},
        "createDateTime": {"S": time},
        "dateKey": {"S": format!("DATE#{day}")},
        "recordSort": {"S": format!("CLICK#{time}#{user}")},
    })
}
