//! Each function beside the same on Node.js: cold start, warm invocations, memory.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Instant;

use anyhow::{Context, Result, ensure};
use serde_json::{Value, json};
use tidemark_local::dynamodb::Identity;
use tidemark_local::functions::{Endpoints, Functions, binary_in};
use tidemark_local::startup::RunningStack;

use crate::report::{Better, Row, median};
use crate::{Effort, Folders, NODE, events, repository, stack};

const SECTION: &str = "Each function beside the same on Node.js with the SDK v3";

const FUNCTIONS: [&str; 3] = ["click-writer", "stats-aggregator", "stats-reader"];

/// Records of each batch that the aggregator gets, and their users. After the first batch nobody is
/// new.
const RECORDS: usize = 100;
const USERS: usize = 50;

const COLD_TIMES_MIN: f64 = 12.0;
const WARM_MS_MAX: f64 = 0.2;
const MEMORY_MIB_MAX: f64 = 12.0;

/// The functions of one folder, and the events that they get.
struct Side<'a> {
    name: &'static str,
    folder: &'a Path,
    stack: &'a RunningStack,
    /// Counts events, so that no click and no batch comes twice.
    events: u64,
}

/// One measurement of each kind for one function.
#[derive(Debug, Default)]
struct Measured {
    cold_ms: Vec<f64>,
    warm_ms: Vec<f64>,
    memory_mib: Vec<f64>,
}

/// Three rows for each function.
pub(crate) async fn rows(folders: &Folders, effort: Effort) -> Result<Vec<Row>> {
    let template = without_mapping(&folders.work)?;
    let stack = stack::start(&template, &folders.functions).await?;
    // The instances that it has warmed up are not those that are measured, and look like them.
    stack.admin.functions.stop().await;
    let mut rows = Vec::new();
    for function in FUNCTIONS {
        let mut own = Side { name: "rust", folder: &folders.functions, stack: &stack, events: 0 };
        let mut node = Side { name: "node", folder: &folders.node, stack: &stack, events: 0 };
        let (mut ours, mut theirs) = (Measured::default(), Measured::default());
        for _ in 0..effort.colds {
            ours.cold_ms.push(own.cold_ms(function).await?);
            theirs.cold_ms.push(node.cold_ms(function).await?);
        }
        let (own_warm, node_warm) = (own.functions(), node.functions());
        // The first rounds compile and fill caches, which is Node's good right.
        for round in 0..effort.warm_up + effort.rounds {
            let (a, b) = (
                own.warm_ms(&own_warm, function, effort.invocations).await?,
                node.warm_ms(&node_warm, function, effort.invocations).await?,
            );
            if round >= effort.warm_up {
                ours.warm_ms.push(a);
                theirs.warm_ms.push(b);
            }
        }
        for (side, measured) in [(&own, &mut ours), (&node, &mut theirs)] {
            measured.memory_mib.extend(memory_mib(&side.binary(function)));
        }
        own_warm.stop().await;
        node_warm.stop().await;
        rows.extend(rows_of(function, &ours, &theirs, (effort.warm_up + effort.rounds) * effort.invocations));
    }
    stack.stop().await;
    Ok(rows)
}

fn rows_of(function: &str, own: &Measured, node: &Measured, invocations: usize) -> Vec<Row> {
    let row = |what: String, unit, of: fn(&Measured) -> &Vec<f64>| {
        Row::median(SECTION, format!("{function}: {what}"), unit, of(own)).beside_runs(
            Better::Lower,
            NODE,
            of(own),
            of(node),
        )
    };
    let mut rows = vec![
        row("cold, from spawn to first answer".to_owned(), "ms", |measured| &measured.cold_ms)
            .at_least_times(COLD_TIMES_MIN),
        row("warm, p50".to_owned(), "ms", |measured| &measured.warm_ms).at_most(WARM_MS_MAX),
    ];
    if function == "click-writer" {
        rows[0] = rows[0].clone().pictured("Cold start of click-writer, ms", "Tidemark");
    }
    if function == "stats-aggregator" {
        rows[1] = rows[1].clone().pictured("A batch of 100 clicks, warm, ms", "Tidemark");
    }
    // Systems without /proc do not tell.
    if !own.memory_mib.is_empty() && !node.memory_mib.is_empty() {
        let what = format!("memory after {invocations} invocations");
        let memory = row(what, "MiB", |measured| &measured.memory_mib).at_most(MEMORY_MIB_MAX);
        rows.push(if function == "click-writer" {
            memory.pictured("Memory of click-writer, MiB", "Tidemark")
        } else {
            memory
        });
    }
    rows
}

impl Side<'_> {
    fn binary(&self, function: &str) -> PathBuf {
        self.folder.join(function)
    }

    /// The functions of this side, none of them started, on the tables of the stack.
    fn functions(&self) -> Arc<Functions> {
        let addresses = &self.stack.admin.addresses;
        let endpoints = Endpoints::of_stack(&addresses.http, &addresses.dynamodb, Identity::local());
        let binary = |function: &tidemark_local::stack::Function| binary_in(self.folder, function);
        let admin = &self.stack.admin;
        Functions::new(&self.stack.stack.functions, binary, endpoints, &admin.faults, &admin.metrics)
    }

    /// From the start of a process to its first answer.
    async fn cold_ms(&mut self, function: &str) -> Result<f64> {
        let functions = self.functions();
        let event = self.event(function);
        let ms = invoke_ms(&functions, function, event).await?;
        functions.stop().await;
        Ok(ms)
    }

    /// The median of some invocations of one warm instance.
    async fn warm_ms(&mut self, functions: &Functions, function: &str, invocations: usize) -> Result<f64> {
        let mut all_ms = Vec::with_capacity(invocations);
        for _ in 0..invocations {
            let event = self.event(function);
            all_ms.push(invoke_ms(functions, function, event).await?);
        }
        Ok(median(&all_ms))
    }

    fn event(&mut self, function: &str) -> String {
        self.events += 1;
        let Self { name, events, .. } = *self;
        match function {
            "click-writer" => {
                let body = json!({ "userId": format!("{name}-{events}") }).to_string();
                events::request("POST /clicks", "/clicks", json!({}), Some(body))
            }
            "stats-aggregator" => {
                let users = (0..RECORDS).map(|record| format!("{name}-visitor-{}", record % USERS));
                events::batch(events::STREAM, &format!("shardId-{name}"), events * RECORDS as u64, users)
            }
            _ => {
                let path = format!("/stats/daily/{}", events::DAY);
                events::request("GET /stats/daily/{date}", &path, json!({ "date": events::DAY }), None)
            }
        }
    }
}

async fn invoke_ms(functions: &Functions, function: &str, event: String) -> Result<f64> {
    let pool = functions.get(function).with_context(|| format!("no function {function}"))?;
    let start = Instant::now();
    let invocation = pool.invoke(event.into()).await?;
    let ms = start.elapsed().as_secs_f64() * 1_000.0;
    let answer = invocation.outcome.map_err(|error| anyhow::anyhow!("{function} failed: {error:?}"))?;
    let answer: Value = serde_json::from_slice(&answer)?;
    let well = matches!(answer["statusCode"].as_u64(), Some(200 | 201))
        || answer["batchItemFailures"].as_array().is_some_and(Vec::is_empty);
    ensure!(well, "{function} answered {answer}");
    Ok(ms)
}

/// Resident memory of the one process of ours that runs this file.
fn memory_mib(binary: &Path) -> Option<f64> {
    let parent = format!("PPid:\t{}", std::process::id());
    for process in std::fs::read_dir("/proc").ok()?.flatten() {
        let read = |file| std::fs::read_to_string(process.path().join(file)).unwrap_or_default();
        let status = read("status");
        let runs = read("cmdline").split('\0').any(|argument| Path::new(argument) == binary);
        if runs && status.lines().any(|line| line == parent) {
            let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
            let kib: f64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
            return Some(kib / 1_024.0);
        }
    }
    None
}

/// The template with the mappings on streams switched off: a writer must not wake an aggregator up
/// meanwhile.
fn without_mapping(work: &Path) -> Result<PathBuf> {
    const SETTING: &str = "            BatchSize: 1000\n";
    let template = std::fs::read_to_string(repository().join("template.yaml"))?;
    ensure!(template.contains(SETTING), "the template's mappings do not look as they did");
    let path = work.join("template.yaml");
    std::fs::write(&path, template.replace(SETTING, &format!("{SETTING}            Enabled: false\n")))?;
    Ok(path)
}
