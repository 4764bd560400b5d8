//! Traffic on a database of `foreign`: programs that know nothing of the migration, and the
//! library, change rows, and are killed in the middle of a write. What they were answered is
//! compared with PostgreSQL's rows.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use anyhow::{Context, Result, bail, ensure};
use fastrand::Rng;
use serde_json::value::RawValue;
use serde_json::{Value, json};
use tidemark_migrate::cutover::{Reader, Sides, WriteError, Writer};
use tidemark_migrate::item::Attributes;
use tidemark_migrate::mapping::Mapping;
use tokio::task::JoinHandle;
use tokio_postgres::Client;

/// The number of programs that write at once.
const WRITERS: usize = 4;

/// How long a test waits for the programs.
const PATIENCE: Duration = Duration::from_secs(120);

/// How many writes go on by themselves while nobody waits for more: so a slow phase does not meet a
/// mountain of changes.
const WRITES_AHEAD_MAX: u64 = 40;

const PAUSE: Duration = Duration::from_millis(5);

/// What the programs and the test know of each other.
#[derive(Debug, Default)]
struct Pace {
    stop: AtomicBool,
    answered: AtomicU64,
    goal: AtomicU64,
}

impl Pace {
    /// Waits while the programs are far ahead. False if a program has to end.
    async fn goes_on(&self) -> bool {
        while !self.stop.load(Ordering::Relaxed) {
            if self.answered.load(Ordering::Relaxed) < self.goal.load(Ordering::Relaxed) + WRITES_AHEAD_MAX {
                return true;
            }
            tokio::time::sleep(PAUSE).await;
        }
        false
    }

    /// Counts a write that was answered.
    fn answered(&self) {
        self.answered.fetch_add(1, Ordering::Relaxed);
    }
}

/// How rows of a table are written.
#[derive(Debug, Clone, Copy)]
pub struct Column {
    /// The table.
    pub table: &'static str,
    /// The column that changes.
    pub name: &'static str,
    /// The values that it takes, as JSON; empty for texts that never repeat.
    pub values: &'static [&'static str],
    /// The rows, as a condition over `this`.
    pub rows: &'static str,
    /// The owner's id as an expression, if only the row's parent knows it.
    pub owner: Option<&'static str>,
    /// The type and the attribute of the item that has the value, if the library reads it again.
    pub read: Option<(&'static str, &'static str)>,
    /// Whether the rows are also deleted and inserted again.
    pub is_deleted: bool,
}

/// A row that one program writes.
#[derive(Debug, Clone)]
struct Written {
    column: Column,
    /// The columns of the key.
    keys: Vec<String>,
    /// The whole row, without the columns that are generated, with all digits of its numbers.
    row: BTreeMap<String, Box<RawValue>>,
    /// The column's value that was answered last; `None` if the row was deleted.
    answered: Option<Value>,
    /// The values since then of which nobody knows whether they were written.
    maybe: Vec<Option<Value>>,
}

/// The rows that the programs write, and the answers to them.
#[derive(Debug, Default)]
pub struct Told {
    rows: Vec<Written>,
    /// Writes that were answered.
    pub answered: u64,
    /// Writes that were killed.
    pub killed: u64,
    /// Writes that were refused, because DynamoDB owned the owner or a move was under way.
    pub refused: u64,
}

/// The running programs. They keep a little ahead of the test.
#[derive(Debug)]
pub struct Traffic {
    pace: Arc<Pace>,
    running: Vec<JoinHandle<Result<Told>>>,
}

impl Told {
    /// Chooses so many rows for each column.
    pub async fn choose(client: &Client, columns: &[Column], mapping: &Mapping, rows: i64) -> Result<Self> {
        let mut told = Self::default();
        for (n, column) in columns.iter().enumerate() {
            let table = mapping.table(column.table).context("an unknown table")?;
            // Each column has rows of its own, so that a delete affects no other column.
            let of_table: Vec<_> =
                columns.iter().enumerate().filter(|(_, other)| other.table == column.table).collect();
            let place = of_table.iter().position(|(other, _)| *other == n).unwrap_or_default();
            let owner =
                column.owner.map_or_else(String::new, |owner| format!(" || jsonb_build_object('$owner', {owner})"));
            let sql = format!(
                "SELECT ((to_jsonb(this) - ARRAY(SELECT attname::text FROM pg_attribute
                            WHERE attrelid = '{table}'::regclass AND attgenerated <> '')){owner})::text
                 FROM {table} AS this WHERE {filter} ORDER BY md5(this::text) OFFSET {offset} LIMIT {rows}",
                table = column.table,
                filter = column.rows,
                offset = i64::try_from(place)? * rows,
            );
            for row in client.query(&sql, &[]).await.with_context(|| sql.clone())? {
                let row: BTreeMap<String, Box<RawValue>> = serde_json::from_str(row.get(0))?;
                let answered = row.get(column.name).map(|value| serde_json::from_str(value.get())).transpose()?;
                told.rows.push(Written { column: *column, keys: table.key.clone(), row, answered, maybe: Vec::new() });
            }
        }
        Ok(told)
    }

    /// Adds the counts of earlier answers.
    pub fn after(self, earlier: &Self) -> Self {
        let Self { rows, answered, killed, refused } = self;
        let Self { answered: more, killed: also, refused: too, .. } = earlier;
        Self { rows, answered: answered + more, killed: killed + also, refused: refused + too }
    }

    /// Checks that PostgreSQL has what was answered, or what was written since and not answered.
    pub async fn verify(&self, client: &Client) -> Result<()> {
        for written in &self.rows {
            let Written { column, row, answered, maybe, .. } = written;
            let sql = format!("SELECT to_jsonb(this)::text FROM {0} AS this WHERE {1}", column.table, written.is_row());
            let row = serde_json::to_string(row)?;
            let found = client.query_opt(&sql, &[&row]).await?;
            let found = found.map(|found| serde_json::from_str::<Value>(found.get(0))).transpose()?;
            let found = found.map(|found| found[column.name].clone());
            ensure!(
                found == *answered || maybe.contains(&found),
                "{}.{} is {found:?}, and was answered {answered:?}, and perhaps {maybe:?}: {row}",
                column.table,
                column.name
            );
        }
        Ok(())
    }
}

impl std::fmt::Display for Told {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} writes answered, {} killed, {} refused", self.answered, self.killed, self.refused)
    }
}

impl Written {
    /// The condition for the row, whose JSON is the first parameter.
    fn is_row(&self) -> String {
        let key = |key: &String| {
            format!("this.{key} = (jsonb_populate_record(NULL::{}, $1::text::jsonb)).{key}", self.column.table)
        };
        self.keys.iter().map(key).collect::<Vec<_>>().join(" AND ")
    }

    /// The next state: the column's value, or none if the row is deleted.
    fn next(&self, random: &mut Rng, number: u64) -> Option<Value> {
        let exists = self.answered.is_some() || !self.maybe.is_empty();
        if self.column.is_deleted && exists && random.u8(..6) == 0 {
            return None;
        }
        Some(match self.column.values {
            [] => json!(format!("written {number} 🌊")),
            values => serde_json::from_str(values[random.usize(..values.len())]).unwrap_or_default(),
        })
    }

    /// Whether the row may be missing, so that a write has to give all columns.
    fn may_be_missing(&self) -> bool {
        self.answered.is_none() || self.maybe.contains(&None)
    }

    /// The row with a value of the column, if it is given, and with the columns that are kept.
    fn with(&self, value: Option<&Value>, keep: impl Fn(&String) -> bool) -> Result<String> {
        let mut row: BTreeMap<_, _> = self.row.iter().filter(|(name, _)| keep(name)).collect();
        let (name, value) = (self.column.name.to_owned(), value.map(serde_json::value::to_raw_value).transpose()?);
        row.extend(value.iter().map(|value| (&name, value)));
        Ok(serde_json::to_string(&row)?)
    }

    /// Writes as a program that knows nothing of the migration; false if DynamoDB owns the owner.
    async fn write_directly(&self, client: &Client, next: Option<&Value>) -> Result<bool> {
        let Column { table, name, .. } = self.column;
        let given = "jsonb_populate_record(NULL::TABLE, $1::text::jsonb)".replace("TABLE", table);
        let names: Vec<_> = self.row.keys().filter(|name| *name != "$owner").cloned().collect();
        let names = names.join(", ");
        let sql = match next {
            None => format!("DELETE FROM {table} AS this WHERE {}", self.is_row()),
            Some(_) if self.may_be_missing() => format!(
                "INSERT INTO {table} ({names}) SELECT {names} FROM {given} AS given
                 ON CONFLICT ({}) DO UPDATE SET {name} = EXCLUDED.{name}",
                self.keys.join(", ")
            ),
            Some(_) => format!("UPDATE {table} AS this SET {name} = ({given}).{name} WHERE {}", self.is_row()),
        };
        let row = self.with(next, |_| true)?;
        match client.execute(&sql, &[&row]).await {
            Ok(_) => Ok(true),
            Err(error) if error.code().is_some_and(|code| code.code() == "TM001") => Ok(false),
            Err(error) => Err(error).with_context(|| format!("{sql}: {row}")),
        }
    }

    /// Writes through the library; false if it refuses, or if the owner is between the sides.
    async fn write(&self, writer: &Writer, mapping: &Mapping, next: Option<&Value>) -> Result<bool> {
        // Only the key, the owner and the column, as an application does, unless the row may be
        // new.
        let owner = mapping.table(self.column.table).and_then(|table| table.owner.as_ref());
        let owner = owner.map(|owner| owner.column.as_str()).unwrap_or_default();
        let is_whole = next.is_some() && self.may_be_missing();
        let keep = |name: &String| is_whole || self.keys.contains(name) || name == owner || name == "$owner";
        let row = mapping.row(self.column.table, &self.with(next, keep)?)?;
        let written = if next.is_none() { writer.delete(&row).await } else { writer.put(&row).await };
        match written {
            Ok(_) => Ok(true),
            // The row has a fault for which DynamoDB would not have it.
            Err(WriteError::Moving(_) | WriteError::Refused(_)) => Ok(false),
            Err(error) => Err(error).with_context(|| format!("{next:?} for {row:?}")),
        }
    }
}

impl Written {
    /// Checks that an answered write can be read, whichever side has the owner.
    async fn read(&self, reader: &Reader, mapping: &Mapping, value: &Value) -> Result<()> {
        let Some((kind, attribute)) = self.column.read else { return Ok(()) };
        let row = mapping.row(self.column.table, &self.with(None, |_| true)?)?;
        let items = reader.items(row.owner.as_deref().unwrap_or_default(), kind).await?;
        let has_value = |item: &Attributes| {
            item.get(attribute).and_then(|found| found.as_s().ok()).map(String::as_str) == value.as_str()
        };
        ensure!(items.values().any(has_value), "{row:?} was answered {value}, and read {items:?}");
        Ok(())
    }
}

impl Traffic {
    /// Starts the programs: of the library, each on sides of its own, and as many others.
    pub fn start(seed: u64, told: Told, sides: Vec<Sides>, clients: Vec<Client>, mapping: &Arc<Mapping>) -> Self {
        let mut of_writers: Vec<Vec<Written>> = (0..sides.len() + clients.len()).map(|_| Vec::new()).collect();
        for (n, written) in told.rows.into_iter().enumerate() {
            let writer = n % of_writers.len();
            of_writers[writer].push(written);
        }
        let library = |sides: Sides| Way::Library(Box::new((Writer::new(sides.clone()), Reader::new(sides))));
        let ways = sides.into_iter().map(library);
        let ways = ways.chain(clients.into_iter().map(Way::Sql));
        let pace = Arc::<Pace>::default();
        let running = ways.zip(of_writers).filter(|(_, rows)| !rows.is_empty()).enumerate().map(|(n, (way, rows))| {
            let program = Program {
                way,
                told: Told { rows, ..Told::default() },
                random: Rng::with_seed(seed * 1_000 + n as u64),
                number: (seed * 100 + n as u64) * 1_000_000,
                mapping: Arc::clone(mapping),
            };
            tokio::spawn(program.run(Arc::clone(&pace)))
        });
        Self { running: running.collect(), pace }
    }

    /// The number of programs of each kind.
    pub fn writers() -> usize {
        WRITERS / 2
    }

    /// Waits until so many more writes are answered.
    pub async fn more(&mut self, writes: u64) -> Result<()> {
        let goal = self.pace.answered.load(Ordering::Relaxed) + writes;
        self.pace.goal.store(goal, Ordering::Relaxed);
        for _ in 0..PATIENCE.as_millis() / PAUSE.as_millis() {
            if self.pace.answered.load(Ordering::Relaxed) >= goal {
                return Ok(());
            }
            if let Some(ended) = self.running.iter().position(JoinHandle::is_finished) {
                let why = self.running.swap_remove(ended).await?.err();
                bail!("a program has ended: {why:?}");
            }
            tokio::time::sleep(PAUSE).await;
        }
        bail!("the programs do not get on")
    }

    /// Stops the programs, each after its write, and adds what they were told.
    pub async fn stop(self) -> Result<Told> {
        let mut all = Told::default();
        self.pace.stop.store(true, Ordering::Relaxed);
        for program in self.running {
            let one = program.await??;
            all.rows.extend(one.rows);
            all.answered += one.answered;
            all.killed += one.killed;
            all.refused += one.refused;
        }
        Ok(all)
    }
}

/// How a program writes.
enum Way {
    Library(Box<(Writer, Reader)>),
    Sql(Client),
}

struct Program {
    way: Way,
    told: Told,
    random: Rng,
    number: u64,
    mapping: Arc<Mapping>,
}

impl Program {
    async fn run(mut self, pace: Arc<Pace>) -> Result<Told> {
        while pace.goes_on().await {
            if self.write().await? {
                pace.answered();
            }
        }
        Ok(self.told)
    }

    async fn write(&mut self) -> Result<bool> {
        self.number += 1;
        let place = self.random.usize(..self.told.rows.len());
        let next = self.told.rows[place].next(&mut self.random, self.number);
        let written = &self.told.rows[place];
        let result = match &self.way {
            Way::Sql(client) => Some(written.write_directly(client, next.as_ref()).await?),
            Way::Library(library) => {
                let (writer, reader) = &**library;
                let patience = if self.random.u8(..4) == 0 { self.random.u64(..20_000) } else { 60_000_000 };
                let write = written.write(writer, &self.mapping, next.as_ref());
                let result = tokio::time::timeout(Duration::from_micros(patience), write).await.ok().transpose()?;
                if let (Some(true), Some(value)) = (result, &next) {
                    written.read(reader, &self.mapping, value).await?;
                }
                result
            }
        };
        let written = &mut self.told.rows[place];
        match result {
            Some(true) => {
                (written.answered, written.maybe) = (next, Vec::new());
                self.told.answered += 1;
            }
            Some(false) => {
                self.told.refused += 1;
                tokio::time::sleep(Duration::from_millis(2)).await;
            }
            None => {
                written.maybe.push(next);
                self.told.killed += 1;
            }
        }
        Ok(result == Some(true))
    }
}
