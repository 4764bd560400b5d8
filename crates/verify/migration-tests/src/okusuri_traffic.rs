//! Live traffic of Okusuri during a migration: seeded writers that are killed in the middle of a
//! write, and an oracle of their answers.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use fastrand::Rng;
use serde_json::json;
use tidemark_migrate::cutover::{Reader, Sides, WriteError, Writer};
use tidemark_migrate::row::{Cell, Row};
use tokio_postgres::Client;

use crate::migration::{okusuri_logs, okusuri_row};
use crate::traffic::{Pace, Programs};

/// How long a test waits for the writers.
const PATIENCE: Duration = Duration::from_secs(60);

/// The ids of rows made here begin there.
const FIRST_ID: i64 = 1_000_000;

/// The possible states of one row.
#[derive(Debug, Clone, Default)]
struct KnownRow {
    /// The last acknowledged state: the row, or none if it was deleted or never created.
    answered: Option<Row>,
    /// The unanswered writes since then.
    maybe: Vec<Option<Row>>,
}

/// What the writers were told, by table and id.
#[derive(Debug, Default)]
pub struct Oracle {
    rows: BTreeMap<(String, String), KnownRow>,
    /// The time of the newest row: later ones are newer.
    tick: i64,
    /// Writes that were answered.
    pub answered: u64,
    /// Writes that were killed, or not answered.
    pub unanswered: u64,
    /// Users between two sides for longer than a writer has patience.
    pub moving: u64,
    /// The number of reads that were compared with the answers.
    pub reads: u64,
}

/// The traffic.
#[derive(Debug)]
pub struct Traffic(Programs<Oracle>);

impl Traffic {
    /// Starts a writer for each user; some kill themselves now and then. Each has sides of its own,
    /// and goes on where the oracle was.
    pub fn start(seed: u64, users: &[String], sides: Vec<Sides>, so_far: &Oracle) -> Self {
        let writers = users.iter().zip(sides).enumerate().map(|(n, (user, sides))| {
            let writer = LiveWriter {
                number: i64::try_from(n).unwrap_or_default(),
                user: user.clone(),
                writer: Writer::new(sides.clone()),
                reader: Reader::new(sides),
                random: Rng::with_seed(seed * 1_000 + n as u64),
                tick: so_far.tick,
                oracle: Oracle { rows: so_far.of_user(user), ..Oracle::default() },
            };
            |pace| writer.run(pace)
        });
        Self(Programs::start(writers))
    }

    /// Waits until so many more writes are answered.
    ///
    /// # Errors
    /// When the writers are stuck.
    pub async fn more(&mut self, writes: u64) -> Result<()> {
        self.0.more(writes, PATIENCE).await
    }

    /// Stops the writers, each after its write.
    ///
    /// # Errors
    /// What a writer has seen that cannot be.
    pub async fn stop(self) -> Result<Oracle> {
        let mut all = Oracle::default();
        for one in self.0.stop().await? {
            all.answered += one.answered;
            all.unanswered += one.unanswered;
            all.moving += one.moving;
            all.reads += one.reads;
            all.tick = all.tick.max(one.tick);
            all.rows.extend(one.rows);
        }
        Ok(all)
    }
}

struct LiveWriter {
    number: i64,
    user: String,
    writer: Writer,
    reader: Reader,
    random: Rng,
    tick: i64,
    oracle: Oracle,
}

fn time(tick: i64) -> String {
    let at = jiff::civil::date(2030, 1, 1).at(0, 0, 0, 0).saturating_add(jiff::Span::new().seconds(tick));
    at.to_string()
}

/// The key of a row in the oracle.
fn key(row: &Row) -> (String, String) {
    (row.table.name.clone(), row.id())
}

impl LiveWriter {
    async fn run(mut self, pace: Arc<Pace>) -> Result<Oracle> {
        let created = self.profile();
        while pace.goes_on().await {
            // A new user must exist before the user's other rows.
            let is_known = self.oracle.rows.get(&key(&created)).is_some_and(|told| told.answered.is_some());
            let (row, is_gone) = if is_known { self.any() } else { (created.clone(), false) };
            if self.write(row, is_gone).await? {
                pace.answered();
            }
            if self.random.u8(..4) == 0 {
                self.read().await?;
            }
        }
        Ok(Oracle { tick: self.tick, ..self.oracle })
    }

    /// Writes, or dies doing so.
    async fn write(&mut self, row: Row, is_gone: bool) -> Result<bool> {
        let patience = if self.random.u8(..4) == 0 { self.random.u64(..8_000) } else { 60_000_000 };
        let write = async { if is_gone { self.writer.delete(&row).await } else { self.writer.put(&row).await } };
        let result = tokio::time::timeout(Duration::from_micros(patience), write).await;
        let told = self.oracle.rows.entry(key(&row)).or_default();
        let now = (!is_gone).then_some(row);
        match result {
            Ok(Ok(_)) => {
                *told = KnownRow { answered: now, maybe: Vec::new() };
                self.oracle.answered += 1;
                return Ok(true);
            }
            Ok(Err(WriteError::Moving(_))) => self.oracle.moving += 1,
            Ok(Err(error @ (WriteError::Taken(_) | WriteError::Refused(_)))) => return Err(error.into()),
            Ok(Err(WriteError::Failed(failure))) => return Err(failure.into()),
            // Killed: that leaves it open.
            Err(_) => {
                told.maybe.push(now);
                self.oracle.unanswered += 1;
            }
        }
        Ok(false)
    }

    /// Acknowledged writes are readable, from either side.
    async fn read(&mut self) -> Result<()> {
        let logs = okusuri_logs(&self.reader, &self.user).await?;
        for day in 0..3 {
            let id = (FIRST_ID + self.number * 100 + day).to_string();
            let Some(told) = self.oracle.rows.get(&("medication_logs".to_owned(), id)) else { continue };
            if !told.maybe.is_empty() {
                continue;
            }
            let answered = told.answered.as_ref().and_then(|row| match row.columns["has_bleeding"] {
                Cell::Bool(flag) => Some(flag),
                _ => None,
            });
            let date = format!("2029-05-{:02}", day + 10);
            let read = logs.get(&date).copied();
            ensure!(read == answered, "user {}: {date} was answered {answered:?} and read {read:?}", self.user);
            self.oracle.reads += 1;
        }
        Ok(())
    }

    fn profile(&mut self) -> Row {
        self.tick += 1;
        // Every few changes another address.
        let email = format!("live-{}-{}@example.com", self.number, self.tick / 4);
        okusuri_row(
            "user",
            &json!({
                "id": self.user, "name": format!("live {} 🌊", self.tick), "email": email, "emailVerified": true,
                "image": null, "createdAt": time(0), "updatedAt": time(self.tick), "deletedAt": null,
            }),
        )
    }

    fn any(&mut self) -> (Row, bool) {
        self.tick += 1;
        let (tick, n) = (self.tick, self.random.i64(0..3));
        let id = FIRST_ID + self.number * 100 + n;
        let with_zone = |tick| time(tick) + "+00:00";
        let row = match self.random.u8(..10) {
            0..=4 => okusuri_row(
                "medication_logs",
                &json!({
                    "id": id, "user_id": self.user, "has_bleeding": self.random.bool(),
                    "created_at": format!("2029-05-{:02}T03:00:00+00:00", n + 10),
                    "updated_at": with_zone(tick), "deleted_at": null,
                }),
            ),
            5..=6 => okusuri_row(
                "session",
                &json!({
                    "id": format!("live-session-{id}"), "expiresAt": "2099-01-01T00:00:00",
                    "token": format!("token-{id}"), "createdAt": time(0), "updatedAt": time(tick),
                    "ipAddress": null, "userAgent": format!("agent {tick}"), "userId": self.user,
                }),
            ),
            7..=8 => {
                let subscription = format!(
                    r#"{{"endpoint":"https://push.example.com/{}/{}","keys":{{"p256dh":"B","auth":"t"}}}}"#,
                    self.number,
                    self.random.u8(..3)
                );
                let platform = ["web", "ios", "web"][usize::try_from(n).unwrap_or_default()];
                okusuri_row(
                    "notification_settings",
                    &json!({
                        "id": id, "user_id": self.user, "platform": platform, "is_enabled": self.random.bool(),
                        "subscription": subscription, "created_at": with_zone(0), "updated_at": with_zone(tick),
                        "deleted_at": null,
                    }),
                )
            }
            _ => return (self.profile(), false),
        };
        (row, self.random.u8(..3) == 0)
    }
}

impl std::fmt::Display for Oracle {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { answered, unanswered, moving, reads, .. } = self;
        write!(f, "{answered} writes answered, {unanswered} not, {moving} refused while moving, {reads} reads compared")
    }
}

impl Oracle {
    /// Checks that PostgreSQL has exactly the acknowledged rows, or the unanswered writes after
    /// them, and no other rows of the writers.
    ///
    /// # Errors
    /// Naming the row that is lost, doubled or changed.
    pub async fn verify(&self, client: &Client) -> Result<()> {
        let mut found = BTreeMap::new();
        for (table, filter) in [
            ("user", "email LIKE 'live-%'".to_owned()),
            ("session", "id LIKE 'live-session-%'".to_owned()),
            ("medication_logs", format!("id >= {FIRST_ID}")),
            ("notification_settings", format!("id >= {FIRST_ID}")),
        ] {
            let sql = format!("SELECT to_jsonb(t)::text FROM \"{table}\" t WHERE {filter}");
            for row in client.query(&sql, &[]).await? {
                let row = okusuri_row(table, &serde_json::from_str(row.get(0)).context("a row")?);
                ensure!(found.insert(key(&row), row.clone()).is_none(), "{row:?} is there twice");
            }
        }
        for (key, told) in &self.rows {
            let row = found.remove(key);
            let is_known = row == told.answered || told.maybe.contains(&row);
            let columns = |row: &Option<Row>| row.as_ref().map(|row| row.columns.clone());
            let (found, answered) = (columns(&row), columns(&told.answered));
            ensure!(is_known, "{key:?} is {found:?}, and was answered {answered:?}, and perhaps {:?}", told.maybe);
        }
        ensure!(found.is_empty(), "nobody has written {found:?}");
        Ok(())
    }

    fn of_user(&self, user: &str) -> BTreeMap<(String, String), KnownRow> {
        let is_theirs = |told: &KnownRow| {
            let rows = told.answered.iter().chain(told.maybe.iter().flatten());
            rows.clone().next().is_some_and(|row| row.owner.as_deref() == Some(user))
        };
        self.rows.iter().filter(|(_, told)| is_theirs(told)).map(|(key, told)| (key.clone(), told.clone())).collect()
    }

    /// How many rows it knows.
    pub fn len(&self) -> usize {
        self.rows.len()
    }

    /// Whether nobody wrote.
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }
}
