//! Histories of the example `voice-of-customer`.

use fastrand::Rng;
use rollup::Aggregator;
use rollup::sim::{Outcome, SimError, Simulation};
use serde_json::{Value, json};
use voice_of_customer::feedback;

/// Plays one history of the example.
pub fn play_feedback(seed: u64, is_traced: bool) -> Result<Outcome, SimError> {
    let customers = Rng::with_seed(seed).u16(1..80);
    let aggregator = |table| {
        let rollup = feedback().unwrap_or_else(|error| unreachable!("the declaration: {error}"));
        Aggregator::new(rollup, table)
    };
    let simulation = Simulation::of(aggregator, move |rng| {
        let customer = rng.u16(..customers);
        feedback_of(rng, customer)
    });
    let simulation = if is_traced { simulation.traced() } else { simulation };
    simulation.play([seed])
}

/// What a customer says. The labels have 31 values.
pub fn feedback_of(rng: &mut Rng, customer: u16) -> Value {
    let mut label = |name: &str, values: u8| format!("{name}-{}", rng.u8(..values));
    let (sentiment, category, product) = (label("sentiment", 3), label("category", 5), label("product", 6));
    let (source, persona) = (label("source", 4), label("persona", 4));
    let (urgency, problem) = (label("urgency", 3), label("problem", 6));
    json!({
        "givenAt": format!("2025-10-0{}T10:30:00Z", rng.u8(2..4)),
        "customerId": format!("customer-{customer}"),
        "score": rng.i64(-100..=100),
        "sentiment": sentiment, "category": category, "product": product, "source": source,
        "persona": persona, "urgency": urgency, "problem": problem,
    })
}
