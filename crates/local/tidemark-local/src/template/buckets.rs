//! `AWS::S3::Bucket`, and `S3` events of functions.

use super::intrinsics::Resolver;
use super::problems::ProblemCode;
use super::properties::Properties;
use super::yaml::Node;
use super::{resources, targets};
use crate::stack::{Bucket, BucketNotification, CorsRule, Stack, Target};

/// Reads a bucket.
pub(super) fn read(id: &str, resource: &Node, properties: &Properties<'_>) -> Option<Bucket> {
    properties.raw("BucketName");
    let name = resources::name(properties.resolver, id, resources::BUCKET, resource)?;
    // S3 refuses every request for another name.
    if !is_bucket_name(&name) {
        return properties.wrong(resource, format!("`{name}` is not a valid bucket name"));
    }
    let mut bucket = Bucket {
        logical_id: id.to_owned(),
        name,
        notifications: Vec::new(),
        sends_events: false,
        versioning: properties.map("VersioningConfiguration").and_then(|configuration| versioning(&configuration)),
        cors: properties.map("CorsConfiguration").map(|configuration| cors_rules(&configuration)).unwrap_or_default(),
    };
    if let Some(configuration) = properties.map("NotificationConfiguration") {
        bucket.sends_events = configuration.map("EventBridgeConfiguration").is_some_and(|events| {
            let enabled = events.boolean("EventBridgeEnabled");
            events.finish("AWS::S3::Bucket.NotificationConfiguration.EventBridgeConfiguration");
            enabled.unwrap_or(true)
        });
        for (list, receiver) in
            [("LambdaConfigurations", "Function"), ("QueueConfigurations", "Queue"), ("TopicConfigurations", "Topic")]
        {
            let own = configuration.list(list);
            bucket
                .notifications
                .extend(own.iter().filter_map(|node| notification(id, (list, receiver), properties.resolver, node)));
        }
        configuration.finish("AWS::S3::Bucket.NotificationConfiguration");
    }
    properties.finish("AWS::S3::Bucket");
    Some(bucket)
}

fn versioning(configuration: &Properties<'_>) -> Option<&'static str> {
    let status = configuration.required("Status")?;
    configuration.finish("AWS::S3::Bucket.VersioningConfiguration");
    match &*status {
        "Enabled" => Some("Enabled"),
        "Suspended" => Some("Suspended"),
        _ => configuration.wrong(&configuration.node, format!("Status must be Enabled or Suspended, not {status}")),
    }
}

fn cors_rules(configuration: &Properties<'_>) -> Vec<CorsRule> {
    let read = |node: &Node| {
        let rule = Properties::new(configuration.resolver, node);
        let read = CorsRule {
            origins: rule.texts("AllowedOrigins"),
            methods: rule.texts("AllowedMethods"),
            headers: rule.texts("AllowedHeaders"),
            exposed: rule.texts("ExposedHeaders"),
            max_age_s: rule.count("MaxAge", 0..=i64::from(i32::MAX)),
        };
        rule.finish("AWS::S3::Bucket.CorsConfiguration.CorsRules[]");
        read
    };
    let rules = configuration.list("CorsRules").iter().map(read).collect();
    configuration.finish("AWS::S3::Bucket.CorsConfiguration");
    rules
}

fn notification(
    id: &str,
    (list, receiver): (&str, &str),
    resolver: &Resolver<'_>,
    node: &Node,
) -> Option<BucketNotification> {
    let properties = Properties::new(resolver, node);
    let (event, arn) = (properties.required("Event"), properties.required(receiver));
    let (prefix, suffix) = filter(&properties);
    properties.finish(&format!("AWS::S3::Bucket.NotificationConfiguration.{list}[]"));
    let arn = arn?;
    let Some(target) = targets::target(resolver, &arn) else {
        return properties.refuse(
            ProblemCode::UnknownName,
            node,
            format!("{arn} is not a function, a queue or a topic of this template"),
        );
    };
    Some(BucketNotification { id: id.to_owned(), events: vec![event?], prefix, suffix, target })
}

/// Reads an `S3` event of a function, for the bucket with the returned logical id.
fn read_event(function: &str, id: &str, event: &Properties<'_>) -> Option<(String, BucketNotification)> {
    let node = event.raw("Bucket");
    let bucket = node.and_then(|node| match node.intrinsic() {
        Some(("Ref", target)) => target.as_text().map(str::to_owned),
        _ => None,
    });
    let events = match event.raw("Events") {
        Some(node) if node.items().is_some() => event.texts("Events"),
        Some(_) => event.text("Events").into_iter().collect(),
        None => return event.refuse(ProblemCode::Missing, &event.node, "Events is missing"),
    };
    let (prefix, suffix) = filter(event);
    event.finish("AWS::Serverless::Function.Events{}.S3");
    let known = |bucket: &String| {
        let found = event.resolver.resources.iter().find(|(id, _)| id == bucket);
        found.and_then(|(_, bucket)| bucket.get("Type")).and_then(Node::as_text) == Some(resources::BUCKET)
    };
    let Some(bucket) = bucket.filter(known) else {
        return event.wrong(&event.node, "Bucket must be a reference to a bucket of this template: !Ref Bucket");
    };
    let target = Target::Function(function.to_owned());
    Some((bucket, BucketNotification { id: id.to_owned(), events, prefix, suffix, target }))
}

/// Adds the `S3` events of the functions to their buckets.
pub(super) fn add_events(stack: &mut Stack, resolver: &Resolver<'_>) {
    for (function, resource) in resolver.resources {
        if !stack.functions.iter().any(|known| known.logical_id == *function) {
            continue;
        }
        let events = resource.get("Properties").and_then(|properties| properties.get("Events"));
        for (id, event) in events.map(Node::entries).unwrap_or_default() {
            let Some(own) = event.get("Properties") else { continue };
            if event.get("Type").and_then(Node::as_text) != Some("S3") {
                continue;
            }
            let Some((bucket, notification)) = read_event(function, id, &Properties::new(resolver, own)) else {
                continue;
            };
            if let Some(bucket) = stack.buckets.iter_mut().find(|known| known.logical_id == bucket) {
                bucket.notifications.push(notification);
            }
        }
    }
}

/// The prefix and the suffix of `Filter.S3Key.Rules`.
fn filter(properties: &Properties<'_>) -> (String, String) {
    let (mut prefix, mut suffix) = (String::new(), String::new());
    let key = properties.map("Filter").and_then(|filter| filter.map("S3Key"));
    for rule in key.map(|key| key.list("Rules")).unwrap_or_default() {
        let rule = Properties::new(properties.resolver, &rule);
        let (name, value) = (rule.required("Name"), rule.required("Value").unwrap_or_default());
        match name.as_deref().map(str::to_ascii_lowercase).as_deref() {
            Some("prefix") => prefix = value,
            Some("suffix") => suffix = value,
            Some(other) => {
                rule.resolver.problems.at(&rule.node, format!("Name must be prefix or suffix, not {other}"));
            }
            None => {}
        }
    }
    (prefix, suffix)
}

/// The [rules](https://docs.aws.amazon.com/AmazonS3/latest/userguide/bucketnamingrules.html) for
/// names of buckets.
fn is_bucket_name(name: &str) -> bool {
    let is_outer = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
    (3..=63).contains(&name.len())
        && name.bytes().all(|byte| is_outer(byte) || byte == b'-' || byte == b'.')
        && name.bytes().next().is_some_and(is_outer)
        && name.bytes().last().is_some_and(is_outer)
        && !name.contains("..")
        && name.parse::<std::net::Ipv4Addr>().is_err()
}
