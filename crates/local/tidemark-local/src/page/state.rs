//! The parts of the running stack with their numbers, for the page's list.

use std::sync::{Arc, PoisonError};

use serde_json::{Value, json};

use super::Shown;
use crate::arn::kinesis_stream_name;
use crate::eventbridge::DEFAULT_BUS;
use crate::functions::Pool;
use crate::stack::{Endpoint, Function, Rule, Stack, StreamRef, Table, Target};

/// All parts of the stack. It has no content of events, messages or items.
pub(super) fn of(shown: &Shown) -> Value {
    let Shown { admin, stack, due, .. } = shown;
    let due = due.lock().unwrap_or_else(PoisonError::into_inner).clone();
    let function = |pool: &Arc<Pool>| {
        let ((invocations, errors), [binary, name]) = (pool.counts(), pool.names());
        let Function { logical_id, memory_size_mib, timeout, .. } = pool.function();
        json!({
            "id": logical_id,
            "name": name,
            "binary": binary,
            "memoryMib": memory_size_mib,
            "timeoutS": timeout.as_secs(),
            "invocations": invocations,
            "errors": errors,
            "lastError": pool.last_error(),
            "busy": pool.busy_instances(),
            "idle": pool.idle_instances(),
            "changes": pool.changes(),
        })
    };
    let schedules = stack.functions.iter().flat_map(|function| {
        function.schedules.iter().map(|schedule| {
            json!({
                "function": function.logical_id,
                "name": schedule.event_id,
                "expression": schedule.expression,
                "timeZone": schedule.time_zone,
                "enabled": schedule.enabled,
                "nextAt": due.get(&(function.logical_id.clone(), schedule.event_id.clone())),
            })
        })
    });
    json!({
        "isUp": admin.mappings.get().is_some(),
        "addresses": admin.addresses,
        "apis": apis(shown),
        "functions": admin.functions.all().iter().map(function).collect::<Vec<_>>(),
        "queues": admin.queues.counts(),
        "tables": stack.tables.iter().map(table).collect::<Vec<_>>(),
        "mappings": mappings(shown),
        "schedules": schedules.collect::<Vec<_>>(),
        "buses": buses(stack),
        "topics": topics(stack),
        "buckets": stack.buckets.iter().map(|bucket| &bucket.name).collect::<Vec<_>>(),
        "mails": admin.mails.summary(),
        "events": admin.buses.count(),
    })
}

/// Each API with its address, and the function of each route.
fn apis(shown: &Shown) -> Vec<Value> {
    let (stack, addresses) = (&shown.stack, &shown.admin.addresses);
    let mut apis = Vec::new();
    for address in &addresses.apis {
        let mut routes = Vec::new();
        for function in &stack.functions {
            let own = function.routes.iter().filter(|route| route.api == address.name);
            routes.extend(own.map(|route| json!({ "key": route.route_key, "function": function.logical_id })));
        }
        let fixed = stack.http_apis.iter().filter(|api| api.logical_id == address.name);
        let fixed = fixed.flat_map(|api| &api.fixed_routes);
        routes.extend(fixed.map(|(route, _)| json!({ "key": route.route_key, "function": null })));
        apis.push(json!({ "name": address.name, "kind": address.kind, "url": address.url, "routes": routes }));
    }
    if let (Some(api), Some(url)) = (&stack.web_socket_api, &addresses.sockets) {
        let route = api.routes.iter().map(|route| json!({ "key": route.route_key, "function": route.function }));
        let connections = shown.admin.sockets.as_ref().map(|sockets| sockets.count());
        apis.push(json!({
            "name": api.logical_id,
            "kind": "webSocket",
            "url": url,
            "routes": route.collect::<Vec<_>>(),
            "connections": connections,
        }));
    }
    apis
}

/// The event source mappings of streams and queues.
fn mappings(shown: &Shown) -> Vec<Value> {
    let running = || shown.admin.mappings.get().into_iter().flatten();
    let mut all = Vec::new();
    for function in &shown.stack.functions {
        for mapping in &function.stream_mappings {
            let source = match &mapping.stream {
                StreamRef::Table(id) => {
                    let table = shown.stack.tables.iter().find(|table| table.logical_id == *id);
                    format!("stream of {}", table.map_or(id.as_str(), |table| table.name.as_str()))
                }
                StreamRef::Kinesis(arn) => format!("Kinesis {}", kinesis_stream_name(arn)),
            };
            let name = format!("{}-{}", function.logical_id, mapping.event_id);
            let found = running().find(|running| running.name == name);
            let shards = found.map(|found| found.progress.shards());
            let shards = || shards.iter().flat_map(|shards| shards.values());
            let failures = found.and_then(|found| found.failure_queue());
            all.push(json!({
                "function": function.logical_id,
                "name": mapping.event_id,
                "source": source,
                "batchSize": mapping.batch_size,
                "enabled": mapping.enabled,
                "shards": shards().count(),
                "waitingRecords": shards().map(|shard| shard.waiting_records).sum::<usize>(),
                "iteratorAgeMs": shards().map(|shard| shard.iterator_age_ms).max(),
                "isCaughtUp": shards().all(|shard| shard.caught_up),
                "lostAt": found.and_then(|found| found.progress.lost_at()),
                "failureQueue": failures.map(|(name, messages)| json!({ "name": name, "messages": messages })),
            }));
        }
        all.extend(function.queue_mappings.iter().map(|mapping| {
            let queue = mapping.queue.rsplit(':').next();
            json!({
                "function": function.logical_id,
                "name": mapping.event_id,
                "source": format!("queue {}", queue.unwrap_or_default()),
                "queue": queue,
                "batchSize": mapping.batch_size,
                "enabled": mapping.enabled,
            })
        }));
    }
    all
}

fn table(table: &Table) -> Value {
    let definition = &table.create_table;
    let indexes = ["GlobalSecondaryIndexes", "LocalSecondaryIndexes"];
    let indexes = indexes.iter().filter_map(|kind| definition[kind].as_array()).flatten();
    let index = |index: &Value| json!({ "name": index["IndexName"], "keys": names(index) });
    json!({
        "id": table.logical_id,
        "name": table.name,
        "keys": names(definition),
        "indexes": indexes.map(index).collect::<Vec<_>>(),
        "ttl": table.ttl_attribute,
        "stream": definition["StreamSpecification"]["StreamViewType"],
    })
}

/// The partition key and the sort key of a table or of one of its indexes.
pub(super) fn keys<'a>(create_table: &'a Value, index: Option<&str>) -> Option<Vec<&'a str>> {
    let Some(index) = index else { return Some(names(create_table)) };
    let kinds = ["GlobalSecondaryIndexes", "LocalSecondaryIndexes"];
    let mut indexes = kinds.iter().filter_map(|kind| create_table[kind].as_array()).flatten();
    indexes.find(|found| found["IndexName"] == index).map(names)
}

/// The partition key first, whatever the order of the template.
fn names(of: &Value) -> Vec<&str> {
    let keys = of["KeySchema"].as_array().into_iter().flatten();
    let mut keys: Vec<_> =
        keys.filter_map(|key| Some((key["KeyType"].as_str()?, key["AttributeName"].as_str()?))).collect();
    // `HASH` is before `RANGE`.
    keys.sort_unstable_by_key(|(kind, _)| *kind);
    keys.into_iter().map(|(_, name)| name).collect()
}

/// Each bus with its rules.
fn buses(stack: &Stack) -> Vec<Value> {
    let messaging = &stack.messaging;
    let mut names: Vec<&str> = vec![DEFAULT_BUS];
    let named = messaging.buses.iter().chain(messaging.rules.iter().map(|rule| &rule.bus));
    named.for_each(|name| {
        if !names.contains(&name.as_str()) {
            names.push(name)
        }
    });
    let rule = |rule: &Rule| {
        let targets = rule.targets.iter().map(|target| receiver(&target.target));
        json!({
            "name": rule.name,
            "enabled": rule.enabled,
            "pattern": rule.pattern,
            "targets": targets.collect::<Vec<_>>(),
        })
    };
    let bus = |name: &str| {
        let rules = messaging.rules.iter().filter(|rule| rule.bus == name && rule.pattern.is_some());
        json!({ "name": name, "rules": rules.map(rule).collect::<Vec<_>>() })
    };
    names.into_iter().map(bus).collect()
}

/// Each topic with its subscriptions.
fn topics(stack: &Stack) -> Vec<Value> {
    let messaging = &stack.messaging;
    let topic = |arn: &str| {
        let own = messaging.subscriptions.iter().filter(|subscription| subscription.topic == arn);
        let endpoints = own.map(|subscription| match &subscription.endpoint {
            Endpoint::Function(id) => json!({ "function": id }),
            Endpoint::Queue(arn) => json!({ "queue": name(arn) }),
            Endpoint::Mail(address) => json!({ "mail": address }),
        });
        json!({ "name": name(arn), "targets": endpoints.collect::<Vec<_>>() })
    };
    messaging.topics.iter().map(|of| topic(&of.arn)).collect()
}

fn receiver(target: &Target) -> Value {
    match target {
        Target::Function(id) => json!({ "function": id }),
        Target::Queue(arn) => json!({ "queue": name(arn) }),
        Target::Topic(arn) => json!({ "topic": name(arn) }),
        Target::Bus(name) => json!({ "bus": name }),
    }
}

fn name(arn: &str) -> &str {
    arn.rsplit(':').next().unwrap_or(arn)
}
