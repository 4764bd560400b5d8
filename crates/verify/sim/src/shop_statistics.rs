//! Random histories of the shop's activities, played with faults against a naive recount.

use fastrand::Rng;
use rollup::sim::{Outcome, SimError, Simulation, Weakness};
use serde_json::{Value, json};

/// Plays one history of activities: rows of products and users, edited, deleted and expired. Some
/// of them cannot be read. With `weakness`, a rule is left out.
pub fn play_activities(seed: u64, weakness: Option<Weakness>, is_traced: bool) -> Result<Outcome, SimError> {
    let mut dice = Rng::with_seed(seed);
    let activities = Activities {
        users: dice.u16(1..40),
        products: dice.u8(1..6),
        ids: dice.u16(1..120),
        poison: dice.f64() / 10.0,
    };
    let aggregator =
        |table| shop_store::activity_aggregator(table).unwrap_or_else(|error| unreachable!("the declaration: {error}"));
    let simulation = Simulation::of(aggregator, move |rng| activities.row(rng)).keys("PK", "SK");
    let simulation = if let Some(weakness) = weakness { simulation.weakened(weakness) } else { simulation };
    let simulation = if is_traced { simulation.traced() } else { simulation };
    simulation.play([seed])
}

/// How many different activities, users and products a history has.
struct Activities {
    users: u16,
    products: u8,
    ids: u16,
    poison: f64,
}

impl Activities {
    /// A row as `activity-log` writes it. The number of an activity gives its key, so that some
    /// rows replace others.
    fn row(&self, rng: &mut Rng) -> Value {
        let number = rng.u16(..self.ids);
        let of = |max: u16| number % max;
        let (product, day) =
            (format!("p-{}", of(self.products.into())), ["2025-12-31", "2026-01-01"][usize::from(number / 7 % 2)]);
        let user = format!("visitor-{}", rng.u16(..self.users));
        let second = format!("{day}T23:{:02}:{:02}", number / 60, number % 60);
        let action = ["view", "view", "view", "buy", "add-to-cart"][rng.usize(..5)];
        let partition = match rng.u8(..8) {
            0 => format!("USER#{user}"),
            _ => format!("PRODUCT#{product}#{day}#{}", of(10)),
        };
        let mut row = json!({
            "PK": partition,
            "SK": format!("ACTIVITY#{second}Z#{:09}#0199a478-bc40-7abc-8def-{number:012x}", 1),
            "EntityType": "ACTIVITY",
            "UserId": user,
            "Action": action,
            "ProductId": product,
            "CreatedAt": format!("{second}.{:09}Z", 1),
        });
        if rng.f64() < self.poison {
            match rng.u8(..5) {
                0 => row["UserId"] = json!(7),
                1 => row["CreatedAt"] = json!("2025-12-31T10:30:00Z"),
                2 => row["ProductId"] = json!("other"),
                3 => row["Action"] = json!(""),
                _ => row["PK"] = json!(format!("PRODUCT#{product}#1987-06-05#1")),
            }
        }
        row
    }
}
