//! `--watch`: starts the stack again when its template has changed.
//!
//! A template that cannot be read or built changes nothing. One that builds replaces the stack as a
//! whole: the stack stops, and the next one begins on the same ports with the same data folder. If it
//! does not start, the stack starts with the template that it had.

use std::collections::BTreeMap;
use std::fmt::Debug;
use std::io::Write as _;
use std::time::{Duration, Instant};

use anyhow::Error;

use crate::banner;
use crate::cli::Options;
use crate::stack::{Messaging, Stack};
use crate::start_error::StartError;
use crate::startup::{self, RunningStack};
use crate::template::Template;

/// How often, and after which wait, a stack starts again while a port is not free yet: the ports of a
/// stack that did not start close a moment later.
const PORT_TRIES_MAX: u32 = 50;
const PORT_WAIT: Duration = Duration::from_millis(100);

/// Names the ports of a running stack in the flags, so that the next one uses them too.
pub fn keep_ports(options: &mut Options, running: &RunningStack) {
    let addresses = &running.admin.addresses;
    let urls = [
        (Some(&addresses.http), &mut options.port),
        (Some(&addresses.dynamodb), &mut options.dynamodb_port),
        (addresses.s3.as_ref(), &mut options.s3_port),
    ];
    for (url, port) in urls {
        if let Some(number) = url.and_then(|url| url.rsplit(':').next()?.parse().ok()) {
            *port = number;
        }
    }
}

/// Starts the stack again if a part of its template has changed.
///
/// # Errors
/// [`StartError`] if neither the new template starts nor the one before.
pub async fn run(mut running: RunningStack, options: &Options) -> Result<RunningStack, StartError> {
    // Again after a start: the template may have changed meanwhile.
    let mut is_first = true;
    loop {
        let template = match startup::read(options) {
            Ok(template) => template,
            Err(error) => return Ok(unchanged(running, error)),
        };
        let changes = changes(&running.template.stack, &template.stack);
        if changes.is_empty() && template.files == running.template.files {
            if is_first {
                tracing::info!("the template has changed, but nothing that runs here");
            }
            return Ok(running);
        }
        tracing::info!("the template has changed: {changes}");
        if let Err(error) = startup::prepare(options, &template).await {
            return Ok(unchanged(running, error));
        }
        let (started, before) = (Instant::now(), running.template.clone());
        running.stop().await;
        running = match RunningStack::start_with(options, template).await {
            Ok(running) => running,
            Err(error) => {
                tracing::error!("{:#}", Error::new(error));
                tracing::error!("the stack starts again with the template that it had");
                return start_again(options, before).await;
            }
        };
        // Printing fails if the reader of the first text has gone.
        drop(writeln!(std::io::stdout(), "{}", banner::text(&running)));
        is_first = false;
        tracing::info!("started again in {:.1} s", started.elapsed().as_secs_f64());
    }
}

fn unchanged(running: RunningStack, error: StartError) -> RunningStack {
    tracing::error!("{:#}", Error::new(error));
    tracing::error!("the stack stays as it was");
    running
}

async fn start_again(options: &Options, template: Template) -> Result<RunningStack, StartError> {
    for _ in 0..PORT_TRIES_MAX {
        match RunningStack::start_with(options, template.clone()).await {
            Err(StartError::Port { .. } | StartError::DynamodbPort { .. }) => tokio::time::sleep(PORT_WAIT).await,
            outcome => return outcome,
        }
    }
    RunningStack::start_with(options, template).await
}

/// The resources that changed, are new or are gone; empty if there are none.
fn changes(before: &Stack, after: &Stack) -> String {
    let (before, after) = (parts(before), parts(after));
    let named = |title: &str, parts: &BTreeMap<String, String>, is: &dyn Fn(&str, &String) -> bool| {
        let ids: Vec<&str> = parts.keys().map(String::as_str).filter(|id| is(id, &parts[*id])).collect();
        (!ids.is_empty()).then(|| format!("{title} {}", ids.join(", ")))
    };
    let lists = [
        named("changed", &after, &|id, part| before.get(id).is_some_and(|old| old != part)),
        named("new", &after, &|id, _| !before.contains_key(id)),
        named("gone", &before, &|id, _| !after.contains_key(id)),
    ];
    lists.into_iter().flatten().collect::<Vec<_>>().join("; ")
}

/// What belongs to each resource, as text. Lines of the template do not count.
fn parts(stack: &Stack) -> BTreeMap<String, String> {
    let mut parts: BTreeMap<String, String> = BTreeMap::new();
    let mut add = |id: &str, part: &dyn Debug| {
        parts.entry(id.to_owned()).or_default().push_str(&format!("{part:?}"));
    };
    let Stack {
        tables,
        functions,
        http_apis,
        web_socket_api,
        secrets,
        ssm_parameters,
        queues,
        kinesis_streams,
        buckets,
        roles,
        messaging: Messaging { buses, rules, topics, subscriptions, event_invokes },
    } = stack;
    tables.iter().for_each(|part| add(&part.logical_id, part));
    functions.iter().for_each(|part| add(&part.logical_id, part));
    http_apis.iter().for_each(|part| add(&part.logical_id, part));
    web_socket_api.iter().for_each(|part| add(&part.logical_id, part));
    secrets.iter().for_each(|part| add(&part.logical_id, part));
    ssm_parameters.iter().for_each(|part| add(&part.name, part));
    queues.iter().for_each(|part| add(&part.logical_id, part));
    kinesis_streams.iter().for_each(|part| add(&part.logical_id, part));
    buckets.iter().for_each(|part| add(&part.logical_id, part));
    for role in roles {
        let mut role = role.clone();
        role.statements.iter_mut().for_each(|statement| statement.line = 0);
        add(&role.logical_id, &role);
    }
    buses.iter().for_each(|part| add(part, part));
    rules.iter().for_each(|part| add(&part.name, part));
    topics.iter().for_each(|part| add(&part.arn, part));
    subscriptions.iter().for_each(|part| add(&part.topic, part));
    event_invokes.iter().for_each(|(id, part)| add(id, part));
    parts
}
