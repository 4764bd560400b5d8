//! `Schedule` and `ScheduleV2` events.

use jiff::tz::TimeZone;

use super::properties::Properties;
use crate::arn;
use crate::schedules::Expression;
use crate::stack::Schedule;

/// Reads a rule of EventBridge with a schedule, and with this name, if it has no other one.
pub(super) fn read(id: &str, name: &str, event: &Properties<'_>) -> Option<Schedule> {
    let name = event.text("Name").unwrap_or_else(|| name.to_owned());
    read_from("Schedule", id, (arn::rule(&name), false), event, "AWS::Serverless::Function.Events{}.Schedule")
}

/// Reads a schedule of EventBridge Scheduler with this name, if it has no other one.
pub(super) fn read_v2(id: &str, name: &str, event: &Properties<'_>, key: &str) -> Option<Schedule> {
    let name = event.text("Name").unwrap_or_else(|| name.to_owned());
    let group = event.text("GroupName").unwrap_or_else(|| "default".to_owned());
    let arn = format!("{}:schedule/{group}/{name}", arn::of_region("scheduler"));
    read_from("ScheduleExpression", id, (arn, true), event, key)
}

/// Reads a schedule whose expression is in the property `expression`.
fn read_from(
    expression: &str,
    id: &str,
    (arn, is_schedulers): (String, bool),
    event: &Properties<'_>,
    key: &str,
) -> Option<Schedule> {
    let text = event.required(expression);
    let enabled = event.boolean("Enabled");
    let state = event.text("State");
    let input = event.text("Input");
    let time_zone = event.text("ScheduleExpressionTimezone").filter(|zone| zone != "UTC");
    if let Some(zone) = time_zone.as_ref().filter(|zone| TimeZone::get(zone).is_err()) {
        let place = event.raw("ScheduleExpressionTimezone").unwrap_or(&event.node);
        event.resolver.problems.at(place, format!("{zone} is not a time zone"));
    }
    event.finish(key);
    let text = text?;
    let place = event.raw(expression).unwrap_or(&event.node);
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
    let schedule =
        Schedule { event_id: id.to_owned(), expression: text, time_zone, input, enabled, arn, is_schedulers };
    match Expression::of(&schedule) {
        Ok(_) => Some(schedule),
        Err(error) => event.wrong(place, error.to_string()),
    }
}
