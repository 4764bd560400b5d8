//! Statistics of feedback for each day, exact over edits and deletions; expired feedback still
//! counts.
use jiff::Timestamp;
use rollup::{DeclarationError, Group, Rollup, Window, average, count, distinct};
use serde::{Deserialize, Serialize};

/// What a customer has said. The score is from -100 to 100.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Feedback {
    given_at: Timestamp,
    customer_id: String,
    score: i64,
    sentiment: String,
    category: String,
    product: String,
    source: String,
    persona: String,
    urgency: String,
    problem: String,
}

/// A counter for each value of seven dimensions, the average score and the number of customers.
pub fn feedback() -> Result<Rollup<Feedback>, DeclarationError> {
    let daily = |name| Group::new(name).window("day", Window::Day, |item: &Feedback| item.given_at);
    let by = |name, value: fn(&Feedback) -> &String| {
        let group = daily(name).attribute(name, move |item: &Feedback| value(item).clone());
        group.key(format!("STAT#{name}#{{day}}"), format!("{{{name}}}")).measures(["items"])
    };
    Rollup::builder("feedback")
        .measure("items", count())
        .measure("score", average(|item: &Feedback| item.score))
        .measure("customers", distinct(|item: &Feedback| item.customer_id.clone()))
        .group(daily("day").key("STAT#DAILY", "{day}"))
        .group(by("sentiment", |item| &item.sentiment))
        .group(by("category", |item| &item.category))
        .group(by("product", |item| &item.product))
        .group(by("source", |item| &item.source))
        .group(by("persona", |item| &item.persona))
        .group(by("urgency", |item| &item.urgency))
        .group(by("problem", |item| &item.problem))
        .build()
}
