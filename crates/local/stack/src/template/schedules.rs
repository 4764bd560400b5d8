//! `Schedule` and `ScheduleV2` events.

use super::properties::Properties;
use crate::schedules::Expression;
use crate::stack::Schedule;

/// Properties without effect on one machine.
const CLOUD_ONLY: [&str; 6] = ["DeadLetterConfig", "Description", "KmsKeyArn", "Name", "RetryPolicy", "RoleArn"];

/// Reads a schedule whose expression is in the property `expression`.
pub(super) fn read(id: &str, event: &Properties<'_>, expression: &str) -> Option<Schedule> {
    let text = event.required(expression);
    let enabled = event.boolean("Enabled");
    let state = event.text("State");
    let input = event.text("Input");
    if let Some(zone) = event.text("ScheduleExpressionTimezone").filter(|zone| zone != "UTC") {
        event
            .resolver
            .problems
            .at(&event.node, format!("only schedules in UTC are supported on this machine, not in {zone}"));
    }
    if let Some(window) = event.map("FlexibleTimeWindow") {
        if window.text("Mode").as_deref() != Some("OFF") {
            event
                .resolver
                .problems
                .at(&window.node, "a flexible time window is not supported on this machine: Mode must be OFF");
        }
        window.finish("a flexible time window", &[]);
    }
    event.finish("a schedule", &CLOUD_ONLY);
    let text = text?;
    let place = event.raw(expression).unwrap_or(&event.node);
    if let Err(error) = Expression::parse(&text) {
        return event.wrong(place, error.to_string());
    }
    let enabled = match state.as_deref() {
        None => enabled.unwrap_or(true),
        Some("ENABLED") => true,
        Some("DISABLED") => false,
        Some(other) => return event.wrong(place, format!("State must be ENABLED or DISABLED, not {other}")),
    };
    let input = match input.map(|input| serde_json::from_str(&input)).transpose() {
        Ok(input) => input,
        Err(error) => return event.wrong(&event.node, format!("Input is not JSON: {error}")),
    };
    Some(Schedule { event_id: id.to_owned(), expression: text, input, enabled })
}
