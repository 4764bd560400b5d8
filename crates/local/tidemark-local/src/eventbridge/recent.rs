//! The newest events of all buses, for a person who looks for an event.

use std::collections::VecDeque;

use serde::Serialize;
use serde_json::{Value, json};

use crate::stack::{Rule, Target};

/// Maximum number of events that are kept.
const KEPT_MAX: usize = 100;

/// Maximum size of all kept events together; an event may have a size of 1 MiB.
const KEPT_BYTES_MAX: usize = 8 * 1024 * 1024;

/// The newest events, the newest last.
#[derive(Debug, Default)]
pub(super) struct RecentEvents {
    events: VecDeque<RecentEvent>,
    bytes: usize,
    /// How many came so far.
    pub(super) count: u64,
}

/// An event with the rules that it matched.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct RecentEvent {
    bus: String,
    /// Whether the bus exists; otherwise the event was dropped.
    bus_exists: bool,
    rules: Vec<MatchedRule>,
    event: Value,
    #[serde(skip)]
    bytes: usize,
}

/// A rule that matched an event.
#[derive(Debug, Serialize)]
pub(super) struct MatchedRule {
    name: String,
    targets: Vec<String>,
}

impl MatchedRule {
    pub(super) fn of(rule: &Rule) -> Self {
        let name = |target: &Target| match target {
            Target::Function(name) | Target::Queue(name) | Target::Topic(name) | Target::Bus(name) => name.clone(),
        };
        Self { name: rule.name.clone(), targets: rule.targets.iter().map(|target| name(&target.target)).collect() }
    }
}

impl RecentEvent {
    pub(super) fn new(bus: &str, bus_exists: bool, event: Value, rules: Vec<MatchedRule>) -> Self {
        let bytes = event.to_string().len();
        Self { bus: bus.to_owned(), bus_exists, rules, event, bytes }
    }
}

impl RecentEvents {
    /// Keeps an event and removes the oldest ones above the limits.
    pub(super) fn keep(&mut self, event: RecentEvent) {
        self.bytes += event.bytes;
        self.count += 1;
        self.events.push_back(event);
        while self.events.len() > KEPT_MAX || self.bytes > KEPT_BYTES_MAX {
            let Some(oldest) = self.events.pop_front() else { break };
            self.bytes -= oldest.bytes;
        }
    }

    /// All kept events, the newest first.
    pub(super) fn newest_first(&self) -> Value {
        json!({ "items": self.events.iter().rev().collect::<Vec<_>>() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_newest_events_are_kept_within_both_limits() {
        let mut recent = RecentEvents::default();
        for number in 0..KEPT_MAX + 1 {
            recent.keep(RecentEvent::new("default", true, json!({ "n": number }), Vec::new()));
        }
        let kept = recent.newest_first();
        assert_eq!(kept["items"].as_array().map(Vec::len), Some(KEPT_MAX));
        assert_eq!(kept["items"][0]["event"]["n"], KEPT_MAX);
        let large = || json!({ "text": "x".repeat(KEPT_BYTES_MAX / 2) });
        recent.keep(RecentEvent::new("default", true, large(), Vec::new()));
        recent.keep(RecentEvent::new("default", true, large(), Vec::new()));
        assert_eq!(recent.events.len(), 1);
        assert_eq!(recent.bytes, recent.events[0].bytes);
    }
}
