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

/// Waits until the template has changed and its functions are built; without `--watch` for ever.
/// `failed` is a template that did not start.
pub async fn changed(running: &RunningStack, options: &Options, failed: Option<Template>) -> Template {
    if !options.watch {
        return std::future::pending().await;
    }
    // At first without a wait: the template may have changed while the stack started.
    let mut known = failed.as_ref();
    let mut is_first = true;
    let mut told = String::new();
    loop {
        let files = match startup::read(options) {
            Ok(template) if known.is_some_and(|failed| difference(failed, &template).is_none()) => template.files,
            Ok(template) => match difference(&running.template, &template) {
                None => {
                    if !is_first {
                        tracing::info!("the template has changed, but nothing that runs here");
                    }
                    Vec::new()
                }
                Some(changes) => {
                    tracing::info!("the template has changed: {changes}");
                    // Before the build, so that no change during it is lost.
                    let (files, packages) = startup::inputs(options, &template);
                    running.watch_refused(&files, &packages);
                    match startup::prepare(options, &template).await {
                        Ok(()) => return template,
                        Err(error) => unchanged(&format!("{:#}", Error::new(error))),
                    }
                    running.template_changed().await;
                    (known, is_first) = (None, false);
                    continue;
                }
            },
            Err(error) => {
                let files = error.files().to_vec();
                let reason = format!("{:#}", Error::new(error));
                if reason != told {
                    unchanged(&reason);
                }
                told = reason;
                files
            }
        };
        if running.watch_refused(&files, &[]) {
            continue;
        }
        running.template_changed().await;
        (known, is_first) = (None, false);
        told.clear();
    }
}

/// Stops the stack, and starts it with a changed template. If that fails, starts it with the template
/// that it had, and returns the other one.
///
/// # Errors
/// [`StartError`] if neither starts.
pub async fn replace(
    running: RunningStack,
    options: &Options,
    template: Template,
) -> Result<(RunningStack, Option<Template>), StartError> {
    let (started, before) = (Instant::now(), running.template.clone());
    running.stop().await;
    match RunningStack::start_with(options, template.clone()).await {
        Ok(running) => {
            // Printing fails if the reader of the first text has gone.
            drop(writeln!(std::io::stdout(), "{}", banner::text(&running)));
            tracing::info!("started again in {:.1} s", started.elapsed().as_secs_f64());
            Ok((running, None))
        }
        Err(error) => {
            tracing::error!("{:#}", Error::new(error));
            tracing::error!("the stack starts again with the template that it had");
            Ok((start_again(options, before).await?, Some(template)))
        }
    }
}

fn unchanged(reason: &str) {
    tracing::error!("{reason}");
    tracing::error!("the stack stays as it was");
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

/// The resources that changed, are new or are gone; `None` if nothing did.
fn difference(before: &Template, after: &Template) -> Option<String> {
    let same_files = before.files == after.files;
    let (before, after) = (parts(&before.stack), parts(&after.stack));
    let named = |title: &str, parts: &BTreeMap<String, String>, is: &dyn Fn(&str, &String) -> bool| {
        let ids: Vec<&str> = parts.keys().map(String::as_str).filter(|id| is(id, &parts[*id])).collect();
        (!ids.is_empty()).then(|| format!("{title} {}", ids.join(", ")))
    };
    let lists = [
        named("changed", &after, &|id, part| before.get(id).is_some_and(|old| old != part)),
        named("new", &after, &|id, _| !before.contains_key(id)),
        named("gone", &before, &|id, _| !after.contains_key(id)),
    ];
    let changes = lists.into_iter().flatten().collect::<Vec<_>>().join("; ");
    (!changes.is_empty() || !same_files).then_some(changes)
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
        commands,
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
    commands.iter().for_each(|(name, part)| add(name, part));
    parts
}
