//! `Schedule` and `ScheduleV2` events.

use croner::parser::{CronParser, Seconds, Year};

use super::properties::Properties;
use crate::stack::Schedule;

/// What has no effect on one machine.
const CLOUD_ONLY: [&str; 6] = ["DeadLetterConfig", "Description", "KmsKeyArn", "Name", "RetryPolicy", "RoleArn"];

/// Reads a schedule whose expression is the property `expression`.
pub(super) fn read(id: &str, event: &Properties<'_>, expression: &str) -> Option<Schedule> {
    let text = event.required(expression);
    let enabled = event.boolean("Enabled");
    let state = event.text("State");
    let input = event.text("Input");
    if let Some(zone) = event.text("ScheduleExpressionTimezone").filter(|zone| zone != "UTC") {
        event.resolver.problems.at(&event.node, format!("schedules run in UTC here, not in {zone}"));
    }
    if let Some(window) = event.map("FlexibleTimeWindow") {
        if window.text("Mode").as_deref() != Some("OFF") {
            event.resolver.problems.at(&window.node, "a flexible time window has no local part: Mode has to be OFF");
        }
        window.finish("a flexible time window", &[]);
    }
    event.finish("a schedule", &CLOUD_ONLY);
    let text = text?;
    let place = event.raw(expression).unwrap_or(&event.node);
    if let Err(message) = check(&text) {
        return event.wrong(place, format!("{text:?} is not a schedule: {message}"));
    }
    let enabled = match state.as_deref() {
        None => enabled.unwrap_or(true),
        Some("ENABLED") => true,
        Some("DISABLED") => false,
        Some(other) => return event.wrong(place, format!("State is ENABLED or DISABLED, not {other}")),
    };
    let input = match input.map(|input| serde_json::from_str(&input)).transpose() {
        Ok(input) => input,
        Err(error) => return event.wrong(&event.node, format!("Input is not JSON: {error}")),
    };
    Some(Schedule { event_id: id.to_owned(), expression: text, input, enabled })
}

fn check(expression: &str) -> Result<(), String> {
    let inner = |name: &str| expression.strip_prefix(name)?.strip_prefix('(')?.strip_suffix(')');
    if let Some(rate) = inner("rate") {
        return check_rate(rate);
    }
    match inner("cron") {
        Some(cron) => check_cron(cron),
        None => Err("it is rate(...) or cron(...)".to_owned()),
    }
}

fn check_rate(rate: &str) -> Result<(), String> {
    let Some((count, unit)) = rate.split_once(' ') else { return Err("a rate is a number and a unit".to_owned()) };
    let count: u32 = count.parse().map_err(|_| "a rate is a whole number of units".to_owned())?;
    match (count, unit) {
        (0, _) => Err("a rate is 1 or more".to_owned()),
        // EventBridge refuses the other number.
        (1, "minute" | "hour" | "day") => Ok(()),
        (2.., "minutes" | "hours" | "days") => Ok(()),
        _ => Err("its unit is minute, hour or day, in the plural for more than one".to_owned()),
    }
}

fn check_cron(cron: &str) -> Result<(), String> {
    let fields: Vec<&str> = cron.split_whitespace().collect();
    if fields.len() != 6 {
        return Err(format!("it has six fields (minute, hour, day, month, weekday, year), not {}", fields.len()));
    }
    // EventBridge wants one of day and weekday left open.
    if (fields[2] == "?") == (fields[4] == "?") {
        return Err("one of its third and fifth fields, and not both, has to be ?".to_owned());
    }
    // The parser takes a year only behind seconds, which EventBridge does not have.
    let parser =
        CronParser::builder().seconds(Seconds::Required).year(Year::Required).alternative_weekdays(true).build();
    parser.parse(&format!("0 {cron}")).map(drop).map_err(|error| error.to_string())
}
