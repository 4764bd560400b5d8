//! Live traffic of Okusuri during a migration: seeded writers that are killed in the middle of a
//! write, and an oracle of their answers.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use anyhow::{Context, Result, bail, ensure};
use fastrand::Rng;
use okusuri_migrate::cutover::{Reader, Sides, WriteError, Writer};
use okusuri_migrate::source::{MedicationLog, NotificationSetting, Row, Session, Table, Time, User};
use tokio::task::JoinHandle;
use tokio_postgres::Client;

/// How many writes go on by themselves while nobody waits for more: so a slow phase does not meet a
/// mountain of changes.
const WRITES_AHEAD_MAX: u64 = 40;

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
    rows: BTreeMap<(Table, String), KnownRow>,
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
pub struct Traffic {
    stop: Arc<AtomicBool>,
    answered: Arc<AtomicU64>,
    goal: Arc<AtomicU64>,
    writers: Vec<JoinHandle<Result<Oracle>>>,
}

impl Traffic {
    /// Starts a writer for each user; some kill themselves now and then. Each has sides of its own,
    /// and goes on where the oracle was.
    pub fn start(seed: u64, users: &[String], sides: Vec<Sides>, so_far: &Oracle) -> Self {
        let (stop, answered) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicU64::new(0)));
        let goal = Arc::new(AtomicU64::new(0));
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
            tokio::spawn(writer.run(Arc::clone(&stop), Arc::clone(&answered), Arc::clone(&goal)))
        });
        Self { writers: writers.collect(), stop, answered, goal }
    }

    /// Waits until so many more writes are answered.
    ///
    /// # Errors
    /// When the writers are stuck.
    pub async fn more(&mut self, writes: u64) -> Result<()> {
        let goal = self.answered.load(Ordering::Relaxed) + writes;
        self.goal.store(goal, Ordering::Relaxed);
        for _ in 0..12_000 {
            if self.answered.load(Ordering::Relaxed) >= goal {
                return Ok(());
            }
            if self.writers.iter().any(JoinHandle::is_finished) {
                let ended = self.writers.iter().position(JoinHandle::is_finished).unwrap_or_default();
                let why = self.writers.swap_remove(ended).await?.err();
                bail!("a writer has ended: {why:?}");
            }
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        bail!("the writers are stuck")
    }

    /// Stops the writers, each after its write.
    ///
    /// # Errors
    /// What a writer has seen that cannot be.
    pub async fn stop(self) -> Result<Oracle> {
        self.stop.store(true, Ordering::Relaxed);
        let mut all = Oracle::default();
        for writer in self.writers {
            let one = writer.await??;
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

fn time(tick: i64) -> Option<Time> {
    let at = jiff::civil::date(2030, 1, 1).at(0, 0, 0, 0).saturating_add(jiff::Span::new().seconds(tick));
    Some(Time(at.to_string()))
}

impl LiveWriter {
    async fn run(mut self, stop: Arc<AtomicBool>, answered: Arc<AtomicU64>, goal: Arc<AtomicU64>) -> Result<Oracle> {
        let created = Row::User(self.profile());
        while !stop.load(Ordering::Relaxed) {
            if answered.load(Ordering::Relaxed) >= goal.load(Ordering::Relaxed) + WRITES_AHEAD_MAX {
                tokio::time::sleep(Duration::from_millis(5)).await;
                continue;
            }
            // A new user must exist before the user's other rows.
            let is_known =
                self.oracle.rows.get(&(Table::User, self.user.clone())).is_some_and(|told| told.answered.is_some());
            let (row, is_gone) = if is_known { self.any() } else { (created.clone(), false) };
            if self.write(row, is_gone).await? {
                answered.fetch_add(1, Ordering::Relaxed);
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
        let key = (row.table(), row.id());
        let told = self.oracle.rows.entry(key).or_default();
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
        let logs = self.reader.logs(&self.user).await?;
        for day in 0..3 {
            let id = (FIRST_ID + self.number * 100 + day).to_string();
            let Some(told) = self.oracle.rows.get(&(Table::MedicationLogs, id)) else { continue };
            if !told.maybe.is_empty() {
                continue;
            }
            let answered = told.answered.as_ref().and_then(|row| match row {
                Row::MedicationLog(row) => row.has_bleeding,
                _ => None,
            });
            let date = format!("2029-05-{:02}", day + 10);
            let read = logs.get(&date).copied();
            ensure!(read == answered, "user {}: {date} was answered {answered:?} and read {read:?}", self.user);
            self.oracle.reads += 1;
        }
        Ok(())
    }

    fn profile(&mut self) -> User {
        self.tick += 1;
        User {
            id: self.user.clone(),
            name: Some(format!("live {} 🌊", self.tick)),
            // Every few changes another address.
            email: Some(format!("live-{}-{}@example.com", self.number, self.tick / 4)),
            email_verified: Some(true),
            image: None,
            created_at: time(0),
            updated_at: time(self.tick),
            deleted_at: None,
        }
    }

    fn any(&mut self) -> (Row, bool) {
        self.tick += 1;
        let (tick, n) = (self.tick, self.random.i64(0..3));
        let id = FIRST_ID + self.number * 100 + n;
        let row = match self.random.u8(..10) {
            0..=4 => Row::MedicationLog(MedicationLog {
                id,
                user_id: Some(self.user.clone()),
                has_bleeding: Some(self.random.bool()),
                created_at: Some(Time(format!("2029-05-{:02}T03:00:00+00:00", n + 10))),
                updated_at: time(tick).map(|time| Time(time.0 + "+00:00")),
                // Some are marked as deleted, as the application does, rather than removed.
                deleted_at: None,
            }),
            5..=6 => Row::Session(Session {
                id: format!("live-session-{id}"),
                expires_at: Some(Time("2099-01-01T00:00:00".to_owned())),
                token: Some(format!("token-{id}")),
                created_at: time(0),
                updated_at: time(tick),
                ip_address: None,
                user_agent: Some(format!("agent {tick}")),
                user_id: Some(self.user.clone()),
            }),
            7..=8 => Row::NotificationSetting(NotificationSetting {
                id,
                user_id: Some(self.user.clone()),
                platform: Some(["web", "ios", "web"][usize::try_from(n).unwrap_or_default()].to_owned()),
                is_enabled: Some(self.random.bool()),
                subscription: Some(serde_json::Value::String(format!(
                    r#"{{"endpoint":"https://push.example.com/{}/{}","keys":{{"p256dh":"B","auth":"t"}}}}"#,
                    self.number,
                    self.random.u8(..3)
                ))),
                created_at: time(0).map(|time| Time(time.0 + "+00:00")),
                updated_at: time(tick).map(|time| Time(time.0 + "+00:00")),
                deleted_at: None,
            }),
            _ => return (Row::User(self.profile()), false),
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
            (Table::User, "email LIKE 'live-%'".to_owned()),
            (Table::Session, "id LIKE 'live-session-%'".to_owned()),
            (Table::MedicationLogs, format!("id >= {FIRST_ID}")),
            (Table::NotificationSettings, format!("id >= {FIRST_ID}")),
        ] {
            let sql = format!("SELECT to_jsonb(t)::text FROM \"{}\" t WHERE {filter}", table.name());
            for row in client.query(&sql, &[]).await? {
                let row = Row::read(table, row.get(0)).context("a row")?;
                ensure!(found.insert((table, row.id()), row.clone()).is_none(), "{row:?} is there twice");
            }
        }
        for (key, told) in &self.rows {
            let row = found.remove(key);
            let is_known = row == told.answered || told.maybe.contains(&row);
            ensure!(is_known, "{key:?} is {row:?}, and was answered {:?}, and perhaps {:?}", told.answered, told.maybe);
        }
        ensure!(found.is_empty(), "nobody has written {found:?}");
        Ok(())
    }

    fn of_user(&self, user: &str) -> BTreeMap<(Table, String), KnownRow> {
        let is_theirs = |told: &KnownRow| {
            let rows = told.answered.iter().chain(told.maybe.iter().flatten());
            rows.clone().next().is_some_and(|row| row.user_id() == Some(user))
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
