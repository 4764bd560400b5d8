//! The events of schedules.

use jiff::Timestamp;
use serde_json::json;
use uuid::Uuid;

use crate::arn;
use crate::random_id::random_id;
use crate::stack::Schedule;

/// The template's `Input`, or the default event of the service.
pub(super) fn of(schedule: &Schedule, time: Timestamp) -> String {
    let arn = &schedule.arn;
    match (&schedule.input, schedule.is_schedulers) {
        (Some(input), true) => with_context(&input.to_string(), arn, time),
        (Some(input), false) => input.to_string(),
        (None, true) => default("aws.scheduler", arn, &json!("{}"), time),
        (None, false) => default("aws.events", arn, &json!({}), time),
    }
}

/// The input with the values of Scheduler's context attributes.
///
/// Source:
/// <https://docs.aws.amazon.com/scheduler/latest/UserGuide/managing-schedule-context-attributes.html>.
fn with_context(input: &str, arn: &str, time: Timestamp) -> String {
    let (time, id) = (format!("{time:.0}"), random_id());
    let attributes = [("schedule-arn", arn), ("scheduled-time", &time), ("execution-id", &id), ("attempt-number", "1")];
    attributes
        .iter()
        .fold(input.to_owned(), |input, (name, value)| input.replace(&format!("<aws.scheduler.{name}>"), value))
}

fn default(source: &str, resource: &str, detail: &serde_json::Value, time: Timestamp) -> String {
    let event = json!({
        "version": "0",
        "id": Uuid::now_v7().to_string(),
        "detail-type": "Scheduled Event",
        "source": source,
        "account": arn::account(),
        "time": format!("{time:.0}"),
        "region": arn::region(),
        "resources": [resource],
        "detail": detail,
    });
    event.to_string()
}

#[cfg(test)]
pub(super) mod tests {
    use serde_json::Value;

    use super::*;

    pub(crate) fn schedule(arn: &str, is_schedulers: bool) -> Schedule {
        Schedule {
            event_id: "Nightly".to_owned(),
            expression: String::new(),
            time_zone: None,
            input: None,
            enabled: true,
            arn: arn.to_owned(),
            is_schedulers,
        }
    }

    fn event(schedule: &Schedule) -> Value {
        let time = "2025-10-02T10:30:00.9Z".parse().expect("a time");
        serde_json::from_str(&of(schedule, time)).expect("JSON")
    }

    #[test]
    fn scheduled_event_is_its_input_or_eventbridges_default() {
        let with_input =
            Schedule { input: Some(json!({"table": "<aws.scheduler.schedule-arn>"})), ..schedule("arn:rule", false) };
        assert_eq!(event(&with_input), json!({"table": "<aws.scheduler.schedule-arn>"}));
        let own = event(&schedule("arn:rule", false));
        assert_eq!((&own["detail-type"], &own["source"]), (&json!("Scheduled Event"), &json!("aws.events")));
        assert_eq!(own["time"], "2025-10-02T10:30:00Z");
        assert_eq!(own["resources"][0], "arn:rule");
    }

    #[test]
    fn schedulers_input_has_the_values_of_context_attributes() {
        let input = json!({
            "arn": "<aws.scheduler.schedule-arn>", "at": "on <aws.scheduler.scheduled-time>",
            "id": "<aws.scheduler.execution-id>", "n": "<aws.scheduler.attempt-number>"
        });
        let mut own = event(&Schedule { input: Some(input), ..schedule("arn:schedule", true) });
        let id = own["id"].take();
        assert!(id.as_str().is_some_and(|id| !id.is_empty() && !id.contains('<')), "{id}");
        let expected = json!({ "arn": "arn:schedule", "at": "on 2025-10-02T10:30:00Z", "id": null, "n": "1" });
        assert_eq!(own, expected);
        let default = event(&schedule("arn:schedule", true));
        assert_eq!((&default["source"], &default["detail"]), (&json!("aws.scheduler"), &json!("{}")));
        assert_eq!(default["resources"], json!(["arn:schedule"]));
    }
}
