//! The result of a recount, as text and as JSON.

use std::io::Write;

use serde_json::{Value, json};

use super::Outcome;
use super::terminal::{count, count_of};
use crate::amount::Amount;
use crate::recount::{Correction, Difference, Measurement, RepairReport};

/// The result of a recount.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct RecountReport {
    /// The last measurement.
    pub(super) measured: Measurement,
    /// The repair of it; empty unless a repair was requested.
    pub(super) repaired: RepairReport,
    /// Why a requested repair changed nothing.
    pub(super) refused: Option<String>,
}

impl RecountReport {
    /// Whether statistics still differ from their items after the repair.
    pub(super) fn outcome(&self) -> Outcome {
        if self.measured.differences.iter().all(|difference| self.is_repaired(difference)) {
            Outcome::Success
        } else {
            Outcome::Differences
        }
    }

    fn is_repaired(&self, difference: &Difference) -> bool {
        let Difference { partition, sort, attribute, .. } = difference;
        let mut corrections = self.repaired.corrections.iter();
        corrections.any(|correction| {
            (&correction.partition, &correction.sort, &correction.attribute) == (partition, sort, attribute)
                && correction.added.units == -difference.error().units
        })
    }

    /// The output of `--json`.
    pub(super) fn json(&self) -> Value {
        let Self { measured, repaired, refused } = self;
        let differences = measured.differences.iter().map(|difference| {
            let Difference { partition, sort, attribute, stored, recounted, .. } = difference;
            json!({
                "statistic": [partition, sort],
                "attribute": attribute,
                "stored": number(stored),
                "recounted": number(recounted),
            })
        });
        let corrections = repaired.corrections.iter().map(|Correction { partition, sort, attribute, added }| {
            json!({"statistic": [partition, sort], "attribute": attribute, "added": number(added)})
        });
        json!({
            "differences": differences.collect::<Vec<_>>(),
            "numbers": measured.numbers,
            "tooHigh": measured.too_high(),
            "refused": refused,
            "items": measured.items,
            "pending": measured.pending,
            "quarantined": measured.quarantined,
            "unreadable": measured.unreadable,
            "unrecorded": measured.unrecorded,
            "readUnits": measured.progress.read_units,
            "requests": measured.progress.requests,
            "repaired": {"corrections": corrections.collect::<Vec<_>>(), "firstSeenRecords": repaired.recorded},
        })
    }

    /// Whether a statistic remains higher than its items; a repair lowers it only with
    /// `--subtract`.
    fn has_excess(&self) -> bool {
        let too_much = |difference: &&Difference| difference.error().units > 0;
        self.measured.differences.iter().filter(too_much).any(|difference| !self.is_repaired(difference))
    }

    pub(super) fn print(&self, out: &mut impl Write) -> std::io::Result<()> {
        let Measurement { differences, items, pending, quarantined, unreadable, unrecorded, progress, .. } =
            &self.measured;
        for Difference { partition, sort, attribute, stored, recounted, .. } in differences {
            writeln!(out, "{partition} {sort}  {attribute} {stored} stored, {recounted} recounted")?;
        }
        for Correction { partition, sort, attribute, added } in &self.repaired.corrections {
            let sign = if added.units > 0 { "+" } else { "" };
            writeln!(out, "{partition} {sort}  {attribute} {sign}{added} repaired")?;
        }
        writeln!(
            out,
            "{}, {} repaired; {} read, {pending} of them pending, {quarantined} in quarantine, {} unreadable; {} missing, \
             {} written; {:.1} read units, {}",
            count(differences.len() as u64, "difference"),
            self.repaired.corrections.len(),
            count(*items, "item"),
            count(*unreadable, "item"),
            count_of(*unrecorded, "first-seen entry", "first-seen entries"),
            self.repaired.recorded,
            progress.read_units,
            count(progress.requests, "request")
        )?;
        if self.has_excess() {
            writeln!(
                out,
                "If more is stored than recounted, then items have expired or were deleted, which is right, or a value was written by \
                 mistake. Of {} numbers, {high} are too high: if all of them are mistakes, a repair with \
                 `--subtract={high}` corrects them.",
                self.measured.numbers,
                high = self.measured.too_high()
            )?;
        }
        if let Some(refused) = &self.refused {
            writeln!(out, "Nothing was repaired: {refused}.")?;
        }
        if *quarantined > 0 {
            writeln!(out, "`quarantine redrive` counts the records in quarantine that can be read now.")?;
        }
        Ok(())
    }
}

/// A number of a statistic as a JSON number.
fn number(amount: &Amount) -> Value {
    amount.to_string().parse::<serde_json::Number>().map_or(Value::Null, Value::Number)
}
