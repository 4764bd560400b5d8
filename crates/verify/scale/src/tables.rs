//! The tables of `docs/capacity.md`.

use std::fmt::Write as _;

use crate::cost::Cost;
use crate::limit_steps::{self, LimitStep, SustainedLoad, number};
use crate::limits::MONTH_S;
use crate::measured::Measured;

const RATES: [f64; 3] = [1_000.0, 100_000.0, 1_000_000.0];
const GAMES: [u32; 5] = [1, 10, 100, 1_000, 10_000];

/// Between these lines of `docs/capacity.md` a table stands.
pub fn markers(name: &str) -> (String, String) {
    (format!("<!-- table: {name} -->\n"), format!("<!-- end: {name} -->\n"))
}

/// Every table, by name.
pub fn all(measured: &Measured) -> Vec<(&'static str, String)> {
    let loads: Vec<(f64, SustainedLoad)> = RATES.map(|rate| (rate, limit_steps::clicks(rate, measured))).into();
    let games: Vec<_> = GAMES.map(|count| (count, limit_steps::games(count, measured))).into();
    let mut limits = String::from("| clicks a second | is reached | from, a second | cure |\n|---|---|---|---|\n");
    for (rate, SustainedLoad { steps, .. }) in &loads {
        rows(&mut limits, &number(*rate), steps);
    }
    let mut click = String::from(
        "| clicks a second | clicks a batch | write units | read units | invocations | instances at once | shards |\n|---|---|---|---|---|---|---|\n",
    );
    let mut money = String::from(
        "| clicks a second | API | functions | reads and writes | a month's clicks stored | logs | a month | a million clicks |\n|---|---|---|---|---|---|---|---|\n",
    );
    for (rate, SustainedLoad { setting, outcome, .. }) in &loads {
        let cost = Cost::of(*rate, setting, outcome, measured);
        let stacks = f64::from(setting.stacks);
        let _ = writeln!(
            click,
            "| {} | {} | {:.3} | {:.3} | {:.3} | {} | {} |",
            number(*rate),
            number(cost.batch),
            cost.write_units,
            cost.read_units,
            cost.invocations,
            number(f64::from(outcome.instances_max) * stacks),
            number(stacks * setting.warm_units / 1_000.0),
        );
        let dollars = cost.dollars.map(|dollars| format!("${}", number(dollars))).join(" | ");
        let of_a_million = cost.total() / (rate * MONTH_S) * 1e6;
        let _ = writeln!(money, "| {} | {dollars} | ${} | ${of_a_million:.2} |", number(*rate), number(cost.total()));
    }
    let mut game_limits = String::from("| games at once | is reached | from | cure |\n|---|---|---|---|\n");
    let mut game_load = String::from(
        "| games at once | messages in a second | and posts | instances | write units a second | an hour | a month, day and night |\n|---|---|---|---|---|---|---|\n",
    );
    for (count, (steps, outcome)) in &games {
        rows(&mut game_limits, &number(f64::from(*count)), steps);
        let an_hour = f64::from(*count) * measured.game.dollars / measured.game.minutes * 60.0;
        let _ = writeln!(
            game_load,
            "| {} | {} | {} | {} | {} | ${an_hour:.2} | ${} |",
            number(f64::from(*count)),
            number(outcome.messages_in_max.ceil()),
            number(outcome.messages_max.ceil()),
            number(outcome.instances_max.ceil()),
            number(outcome.write_units_max.ceil()),
            number(an_hour * MONTH_S / 3_600.0),
        );
    }
    vec![
        ("limits", limits),
        ("click", click),
        ("money", money),
        ("game limits", game_limits),
        ("games", game_load),
        ("public", crate::public::table()),
        ("attack", crate::abuse_cost::table()),
    ]
}

fn rows(table: &mut String, load: &str, steps: &[LimitStep]) {
    if steps.is_empty() {
        let _ = writeln!(table, "| {load} | nothing | | |");
    }
    for (index, LimitStep { limit, from, cure }) in steps.iter().enumerate() {
        let load = if index == 0 { load } else { "" };
        let _ = writeln!(table, "| {load} | {limit} | {} | {cure} |", number(two_digits(*from)));
    }
}

/// More than two digits would promise too much.
fn two_digits(value: f64) -> f64 {
    let unit = 10_f64.powf(value.max(1.0).log10().floor() - 1.0).max(1.0);
    (value / unit).round() * unit
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_docs_have_the_tables_that_are_simulated() {
        let docs = include_str!("../../../../docs/capacity.md");
        for (name, table) in all(&Measured::read().expect("the bench's figures")) {
            let (begin, end) = markers(name);
            assert!(docs.contains(&format!("{begin}{table}{end}")), "cargo run -p scale -- --write; now:\n{table}");
        }
    }
}
