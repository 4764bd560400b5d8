//! By how much each statistic is wrong: whoever tampered with it knows, and a recount has to say
//! the same.

use std::collections::{BTreeMap, BTreeSet};

use domain::calendar::YearMonth;
use domain::clicks::{Correction, Period, RecountScope};
use store::clicks::Measurement;

/// Clicks and users too many; negative where they are missing.
pub(crate) type StatError = (i128, i128);

/// For each statistic the errors that it may have: one when all is known, two when nobody knows
/// whether a repair took effect. A statistic that is not here is right.
#[derive(Debug, Default)]
pub(crate) struct StatErrors(BTreeMap<Period, BTreeSet<StatError>>);

impl StatErrors {
    fn of(&self, period: Period) -> BTreeSet<StatError> {
        self.0.get(&period).cloned().unwrap_or_else(|| BTreeSet::from([(0, 0)]))
    }

    /// Somebody has added something.
    pub(crate) fn tamper(&mut self, period: Period, added: StatError) {
        let errors = self.of(period).into_iter().map(|(clicks, users)| (clicks + added.0, users + added.1));
        self.0.insert(period, errors.collect());
    }

    /// Whether a statistic may say too much.
    pub(crate) fn may_be_above(&self, period: Period) -> bool {
        self.of(period).iter().any(|(clicks, users)| *clicks > 0 || *users > 0)
    }

    /// A repair begins, and it is unknown how far it gets.
    pub(crate) fn may_be_repaired(&mut self, scope: RecountScope, lowers: bool) {
        let right = |error: i128| if error < 0 || lowers { 0 } else { error };
        for (_, errors) in self.0.iter_mut().filter(|(period, _)| scope.compares(**period)) {
            let repaired: Vec<_> = errors.iter().map(|(clicks, users)| (right(*clicks), right(*users))).collect();
            errors.extend(repaired);
        }
    }

    /// Records the corrections of a repair. No earlier repair can take effect after it.
    pub(crate) fn repaired(&mut self, scope: RecountScope, measured: &Measurement, corrections: &[Correction]) {
        let mut errors: BTreeMap<Period, StatError> =
            measured.differences.iter().map(|difference| (difference.period, difference.error())).collect();
        for Correction { period, clicks, unique_users } in corrections {
            let error = errors.entry(*period).or_default();
            *error = (error.0 + clicks, error.1 + unique_users);
        }
        self.0.retain(|period, _| !scope.compares(*period));
        self.0.extend(errors.into_iter().map(|(period, error)| (period, BTreeSet::from([error]))));
    }

    /// What a measurement says and should not.
    pub(crate) fn judge(&self, scope: RecountScope, measured: &Measurement) -> Vec<String> {
        let found: BTreeMap<Period, StatError> =
            measured.differences.iter().map(|difference| (difference.period, difference.error())).collect();
        let periods: BTreeSet<_> =
            found.keys().chain(self.0.keys()).filter(|period| scope.compares(**period)).collect();
        let mut wrong = Vec::new();
        for period in periods {
            let (found, possible) = (found.get(period).copied().unwrap_or_default(), self.of(*period));
            if !possible.contains(&found) {
                wrong.push(format!("a recount finds {period} wrong by {found:?}, and it is by {possible:?}"));
            }
        }
        if !measured.unmarked.is_empty() {
            wrong.push(format!("a recount misses the first-seen records of {:?}", measured.unmarked));
        }
        wrong
    }
}

/// A scope that has the statistic.
pub(crate) fn scope_of(period: Period, whole_month: bool) -> RecountScope {
    match period {
        Period::Day(day) if whole_month => RecountScope::Month(YearMonth::of(day)),
        Period::Day(day) => RecountScope::Day(day),
        Period::Month(month) => RecountScope::Month(month),
        Period::Total => RecountScope::All,
    }
}
