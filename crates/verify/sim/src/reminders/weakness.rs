//! The rules of a reminder, each weakened in one place, to prove that the simulation would notice.
//! Requests and answers are rewritten on their way, so the code is as it is in production.

use std::time::Duration;

use clap::ValueEnum;
use serde_json::{Value, json};
use tokio::time::sleep;

use super::world::World;
use crate::wire::Behind;

/// How much later than the message a claim is written.
const LATE: Duration = Duration::from_secs(2);

/// Which rule is weakened.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum ReminderWeakness {
    /// A claim is written without its condition.
    ClaimWithoutCondition,
    /// A claim is written after the message.
    ClaimAfterMessage,
    /// A snooze does not move the next reminder.
    SnoozeForgotten,
    /// Nothing counts the messages of a day.
    MessagesUncounted,
    /// Doses are read without their records.
    RecordsIgnored,
    /// A user's doses are due in the time zone of the next user.
    ZoneOfAnother,
    /// A user's messages go to the browsers of the next user.
    BrowsersOfAnother,
}

/// The requests in place of one.
pub(super) fn weaken(world: &World, invocation: u64, operation: String, mut body: Value) -> Vec<(String, Value)> {
    let (weakness, users) = world.with(|state| (state.weakness.filter(|_| state.history.is_stormy), state.users.len()));
    let is_claim = operation == "UpdateItem" && body["ConditionExpression"].to_string().contains("DueAt = :due");
    match weakness {
        Some(ReminderWeakness::ClaimWithoutCondition) if is_claim => {
            for (part, names) in
                [("", vec!["ConditionExpression"]), ("/ExpressionAttributeValues", vec![":due", ":before"])]
            {
                let object = body.pointer_mut(part).and_then(Value::as_object_mut);
                object.into_iter().for_each(|object| object.retain(|name, _| !names.contains(&name.as_str())));
            }
        }
        Some(ReminderWeakness::ClaimAfterMessage) if is_claim => {
            let world = world.clone();
            world.history(|history| history.under_way += 1);
            tokio::task::spawn(async move {
                sleep(LATE).await;
                world.apply(invocation, &operation, &body);
                world.history(|history| history.under_way -= 1);
            });
            return Vec::new();
        }
        Some(ReminderWeakness::MessagesUncounted) if is_claim => {
            let names = body["ExpressionAttributeNames"].as_object();
            let sent = names.into_iter().flatten().find(|(_, name)| *name == "Sent");
            if let Some(value) = sent.map(|(placeholder, _)| placeholder.replace("#n", ":v")) {
                body["ExpressionAttributeValues"][value] = json!({ "N": "0" });
            }
        }
        Some(ReminderWeakness::SnoozeForgotten)
            if operation == "TransactWriteItems"
                && body["TransactItems"][1]["Update"]["Key"]["SK"]["S"] == "REMINDER#DOSES" =>
        {
            return Vec::new();
        }
        Some(ReminderWeakness::BrowsersOfAnother) if operation == "Query" => {
            let values = &mut body["ExpressionAttributeValues"];
            let user = values[":Pk"]["S"].as_str().and_then(|user| user.rsplit('-').next()?.parse::<usize>().ok());
            if let (Some(user), true) = (user, values[":Prefix"]["S"] == "NOTIFICATION#") {
                values[":Pk"] = json!({ "S": format!("USER#user-{}", (user + 1) % users) });
            }
        }
        _ => {}
    }
    vec![(operation, body)]
}
