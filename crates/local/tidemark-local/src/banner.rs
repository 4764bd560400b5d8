//! The text that the stack prints when it is up: functions and addresses. The last line begins with
//! `ready`.

use std::path::Path;

use crate::arn::kinesis_stream_name;
use crate::page;
use crate::secrets::TokenSource;
use crate::stack::{ApiKind, Endpoint, Function, RuleTarget, Stack, StreamRef, Target};
use crate::startup::RunningStack;
use crate::template::{Template, TemplateProblem};

/// The start-up text of a stack.
pub fn text(running: &RunningStack) -> String {
    let addresses = &running.admin.addresses;
    let mut lines = ignored(&running.template.ignored);
    lines.extend(functions(&running.stack));
    lines.push(String::new());
    lines.push(format!("page and API  {}/", addresses.http));
    if let Some(network) = &addresses.network {
        lines.push(format!("              {network}/  (for others on the network)"));
    }
    // A stranger's template has no page and no `make`.
    if running.pages.is_none() && Path::new("Makefile").is_file() && Path::new("web").is_dir() {
        lines.push("              (no page: the folder of --web-dir is missing; build it with `make page`)".to_owned());
    }
    // The first API is on the stack's own address.
    for api in addresses.apis.iter().filter(|api| api.url != addresses.http) {
        lines.push(format!("{:13} {}/  ({})", kind_name(api.kind), api.url, api.name));
    }
    if let Some(sockets) = &addresses.sockets {
        lines.push(format!("WebSocket API {sockets}"));
    }
    if let Some(s3) = &addresses.s3 {
        lines.push(format!("buckets       {s3}  (any S3 client with the secret key `local`; path style)"));
    }
    if !cfg!(feature = "buckets") && !running.stack.buckets.is_empty() {
        lines.push("buckets       not served: this build leaves S3 out (`--features buckets`)".to_owned());
    }
    lines.push(format!("look inside   {}{}  (functions, queues, tables, events, mail)", addresses.http, page::PATH));
    lines.push(format!("health        {}/_local/health", addresses.http));
    if running.serves_aws_domains() {
        lines.push("AWS domains   *.amazonaws.com leads here, for the functions only".to_owned());
    }
    lines.push(format!("DynamoDB      {}  (any AWS client; any region and credentials)", addresses.dynamodb));
    lines.push(match &running.admin.data {
        Some(data) => format!("data          {}", data.display()),
        None => "data          in memory only (--in-memory)".to_owned(),
    });
    lines.extend(running.secrets.tokens().iter().map(|(flag, from)| {
        let name = flag.replace('-', " ");
        match from {
            TokenSource::Generated(token) => format!("{name:14}  {token}  (generated now)"),
            TokenSource::FromFile(path) => format!("{name:14}  in {}", path.display()),
            TokenSource::Given => format!("{name:14}  set by flag or environment"),
        }
    }));
    lines.push(String::new());
    lines.push(format!("ready  {}/", addresses.http));
    lines.join("\n")
}

/// The answer of `--check` for a template that would run.
pub fn checked(template: &Template) -> String {
    let count = template.stack.functions.len();
    let mut lines = ignored(&template.ignored);
    lines.push(format!(
        "The template runs on this machine, with {count} function{}.",
        if count == 1 { "" } else { "s" }
    ));
    lines.join("\n")
}

/// One line for each part that has no effect here.
fn ignored(parts: &[TemplateProblem]) -> Vec<String> {
    let lines = parts.iter().map(|part| format!("  {part}"));
    let title = (!parts.is_empty()).then(|| "Parts of the template without effect on this machine:".to_owned());
    title.into_iter().chain(lines).collect()
}

fn functions(stack: &Stack) -> Vec<String> {
    let mut lines = Vec::new();
    for function in &stack.functions {
        let Function { memory_size_mib, timeout, .. } = function;
        let (name, id) = (function.short_name(), &function.logical_id);
        let timeout = if function.is_debugged { "--debug".to_owned() } else { format!("{} s", timeout.as_secs()) };
        lines.push(format!("{name}  ({id}, {memory_size_mib} MB, {timeout})"));
        lines.extend(function.routes.iter().map(|route| format!("  {}", route.route_key)));
        let sockets = stack.web_socket_api.iter().flat_map(|api| &api.routes);
        let sockets = sockets.filter(|route| route.function == function.logical_id);
        lines.extend(sockets.map(|route| format!("  WebSocket {}", route.route_key)));
        for mapping in &function.stream_mappings {
            let stream = match &mapping.stream {
                StreamRef::Table(id) => {
                    let table = stack.tables.iter().find(|table| table.logical_id == *id);
                    format!("stream of {}", table.map_or(id.as_str(), |table| table.name.as_str()))
                }
                StreamRef::Kinesis(arn) => format!("Kinesis stream {}", kinesis_stream_name(arn)),
            };
            lines.push(format!(
                "  {stream}, up to {} records per batch{}",
                mapping.batch_size,
                suffix(mapping.enabled)
            ));
        }
        for mapping in &function.queue_mappings {
            let queue = mapping.queue.rsplit(':').next().unwrap_or_default();
            let size = mapping.batch_size;
            lines.push(format!("  queue {queue}, up to {size} messages per batch{}", suffix(mapping.enabled)));
        }
        lines.extend(messages(stack, &function.logical_id));
        let schedules = function.schedules.iter();
        lines.extend(schedules.map(|schedule| format!("  {}{}", schedule.expression, suffix(schedule.enabled))));
    }
    lines
}

/// The rules and topics whose events and messages a function receives.
fn messages(stack: &Stack, function: &str) -> Vec<String> {
    let is_target = |target: &RuleTarget| matches!(&target.target, Target::Function(id) if id == function);
    let rules =
        stack.messaging.rules.iter().filter(|rule| rule.pattern.is_some() && rule.targets.iter().any(is_target));
    let rules = rules.map(|rule| format!("  events of {} by {}{}", rule.bus, rule.name, suffix(rule.enabled)));
    let is_own = |endpoint: &Endpoint| matches!(endpoint, Endpoint::Function(id) if id == function);
    let topics = stack.messaging.subscriptions.iter().filter(|subscription| is_own(&subscription.endpoint));
    let topics = topics.map(|subscription| format!("  messages of {}", subscription.topic));
    rules.chain(topics).collect()
}

fn kind_name(kind: ApiKind) -> &'static str {
    match kind {
        ApiKind::Http => "HTTP API",
        ApiKind::Rest => "REST API",
        ApiKind::FunctionUrl => "function URL",
        ApiKind::LoadBalancer => "load balancer",
    }
}

fn suffix(enabled: bool) -> &'static str {
    if enabled { "" } else { " (disabled)" }
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;
    use std::time::Duration;

    use super::*;
    use crate::eventbridge::input::TargetInput;
    use crate::stack::{PayloadFormat, Route, Rule, Schedule, WebSocketApi, WebSocketRoute};

    #[test]
    fn each_function_is_listed_with_its_routes_and_triggers() {
        let function = Function {
            logical_id: "F".to_owned(),
            name: "f".to_owned(),
            code_uri: PathBuf::new(),
            is_built: false,
            handler: "bootstrap".to_owned(),
            binary: Some("stats-reader".to_owned()),
            environment: std::collections::BTreeMap::new(),
            memory_size_mib: 256,
            timeout: Duration::from_secs(10),
            layers: Vec::new(),
            alias: None,
            reserved_concurrency: None,
            role: None,
            routes: vec![Route::new("ServerlessHttpApi", "GET /stats/total", PayloadFormat::V2)],
            stream_mappings: Vec::new(),
            queue_mappings: Vec::new(),
            schedules: vec![Schedule {
                event_id: "S".to_owned(),
                expression: "rate(1 hour)".to_owned(),
                time_zone: None,
                input: None,
                enabled: false,
                arn: String::new(),
                is_schedulers: false,
            }],
            is_debugged: false,
        };
        let route = |route_key: &str, function: &str| WebSocketRoute {
            route_key: route_key.to_owned(),
            function: function.to_owned(),
            timeout: Duration::from_secs(29),
            responds: false,
            throttle: None,
            authorizer: None,
        };
        let sockets = WebSocketApi {
            logical_id: "Sockets".to_owned(),
            selection: vec!["action".to_owned()],
            stage: "local".to_owned(),
            throttle: None,
            routes: vec![route("$connect", "F"), route("$default", "G")],
        };
        let target = RuleTarget { target: Target::Function("F".to_owned()), input: TargetInput::Event, group: None };
        let rule = Rule {
            name: "paid".to_owned(),
            bus: "orders".to_owned(),
            pattern: Some(serde_json::json!({ "source": ["shop"] })),
            schedule: None,
            targets: vec![target],
            enabled: true,
        };
        let mut stack = Stack { functions: vec![function], web_socket_api: Some(sockets), ..Stack::default() };
        stack.messaging.rules.push(rule);
        assert_eq!(
            functions(&stack),
            [
                "stats-reader  (F, 256 MB, 10 s)",
                "  GET /stats/total",
                "  WebSocket $connect",
                "  events of orders by paid",
                "  rate(1 hour) (disabled)"
            ]
        );
    }
}
