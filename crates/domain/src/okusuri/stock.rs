//! The units that are left of a medicine, such as tablets, and the day on which they run out.

use jiff::Span;
use jiff::civil::Date;

use super::{Dose, DoseState, Plan};

/// The most units of a stock, of a pack, and of a dose.
pub const UNITS_MAX: u32 = 10_000;

/// The longest warning, in days.
pub const WARN_DAYS_MAX: u32 = 90;

/// The warning of a stock that names none, in days.
pub const WARN_DAYS_DEFAULT: u32 = 7;

/// The stock of a medicine.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stock {
    /// The units that are left. Doses that are taken of an empty pack leave 0.
    pub left: u32,
    /// The units of a dose.
    pub per_dose: u32,
    /// The units of a new pack.
    pub pack_size: u32,
    /// How many days before it runs out it is low.
    pub warn_days: u32,
    /// The number of packs that were added. The next pack has the next number, so that a pack that is
    /// told twice counts once.
    pub packs: u32,
}

/// A user's change of a stock.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StockChange {
    /// What is left. `None` keeps the number; a stock that is new begins with a full pack.
    pub left: Option<u32>,
    /// As in [`Stock`].
    pub per_dose: u32,
    /// As in [`Stock`].
    pub pack_size: u32,
    /// As in [`Stock`].
    pub warn_days: u32,
}

impl StockChange {
    /// The stock after the change.
    pub fn of(self, known: Option<Stock>) -> Result<Stock, StockError> {
        let Self { left, per_dose, pack_size, warn_days } = self;
        let left = left.or(known.map(|known| known.left)).unwrap_or(pack_size);
        let packs = known.map_or(0, |known| known.packs);
        let stock = Stock { left, per_dose, pack_size, warn_days, packs };
        let is_amount = |units: u32| (1..=UNITS_MAX).contains(&units);
        let is_good = left <= UNITS_MAX && is_amount(per_dose) && is_amount(pack_size) && warn_days <= WARN_DAYS_MAX;
        if is_good { Ok(stock) } else { Err(StockError::Bounds) }
    }
}

/// Why a stock is refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum StockError {
    /// A member is out of its bounds.
    #[error(
        "`stock` needs `left` up to {UNITS_MAX}, `perDose` and `packSize` from 1 to {UNITS_MAX}, \
         and `warnDays` up to {WARN_DAYS_MAX}"
    )]
    Bounds,
    /// The pack is not the next one.
    #[error("the next pack is number {next}")]
    OtherPack {
        /// The number of the next pack.
        next: u32,
    },
}

/// How long a stock lasts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Supply {
    /// The day of the last full dose. `None` without a full dose, for a medicine as needed, and when the
    /// medicine ends before.
    pub runs_out_on: Option<Date>,
    /// Whether a pack is to be bought.
    pub is_low: bool,
}

impl Stock {
    /// Takes a dose out, and returns its units: fewer than a dose if no more are left.
    pub fn take(&mut self) -> u32 {
        let units = self.per_dose.min(self.left);
        self.left -= units;
        units
    }

    /// Puts units back that were not taken after all.
    pub fn put_back(&mut self, units: u32) {
        self.left = self.left.saturating_add(units).min(UNITS_MAX);
    }

    /// Adds the pack with this number. A pack that has been added is not added again.
    pub fn add_pack(&mut self, number: u32) -> Result<(), StockError> {
        let next = self.packs.saturating_add(1);
        if number == 0 || number > next {
            return Err(StockError::OtherPack { next });
        }
        if number == next {
            self.packs = number;
            self.put_back(self.pack_size);
        }
        Ok(())
    }
}

impl Plan {
    /// How long a stock lasts from `today` on, if each planned dose that is not recorded yet is taken.
    /// `of_today` are the doses of today. A dose as needed is expected once a day.
    pub fn supply(&self, stock: &Stock, of_today: &[Dose], today: Date) -> Supply {
        let full = stock.left / stock.per_dose.max(1);
        if self.is_as_needed() {
            let has_ended = self.until().is_some_and(|until| until < today);
            return Supply { runs_out_on: None, is_low: !has_ended && full <= stock.warn_days };
        }
        let is_open = |dose: &&Dose| !matches!(dose.state, DoseState::Taken | DoseState::Skipped);
        let open = u32::try_from(of_today.iter().filter(is_open).count()).unwrap_or(u32::MAX);
        // The day of the first dose that is not a full one.
        let short_on = if full < open { Some(today) } else { self.day_of_dose(full - open, today) };
        if short_on.is_none_or(|day| self.until().is_some_and(|until| until < day)) {
            return Supply { runs_out_on: None, is_low: false };
        }
        let runs_out_on = match full.checked_sub(1) {
            None => None,
            Some(last) if last < open => Some(today),
            Some(last) => self.day_of_dose(last - open, today),
        };
        let days_left = |day: Date| today.until(day).map_or(0, |span| span.get_days());
        let is_low = runs_out_on.is_none_or(|day| i64::from(days_left(day)) <= i64::from(stock.warn_days));
        Supply { runs_out_on, is_low }
    }

    /// The day of the planned dose with this index after today, the first being 0.
    fn day_of_dose(&self, index: u32, today: Date) -> Option<Date> {
        let first = self.from().max(today.tomorrow().ok()?);
        let days = i64::from(index) / i64::try_from(self.times().len()).ok()?.max(1);
        first.checked_add(Span::new().try_days(days).ok()?).ok()
    }
}

#[cfg(test)]
mod tests {
    use jiff::ToSpan as _;
    use jiff::civil::{Time, date};
    use jiff::tz::TimeZone;

    use super::*;
    use crate::okusuri::DoseRecord;

    const TODAY: Date = date(2026, 11, 22);

    fn stock(left: u32, per_dose: u32) -> Stock {
        StockChange { left: Some(left), per_dose, pack_size: 28, warn_days: 7 }.of(None).unwrap()
    }

    fn hours(count: i8) -> Vec<Time> {
        (0..count).map(|hour| Time::constant(hour + 8, 0, 0, 0)).collect()
    }

    #[test]
    fn a_stock_never_falls_below_zero_and_gets_units_back() {
        let mut three = stock(3, 2);
        assert_eq!([three.take(), three.take(), three.take()], [2, 1, 0]);
        assert_eq!(three.left, 0);
        three.put_back(1);
        assert_eq!(three.left, 1);
        three.put_back(u32::MAX);
        assert_eq!(three.left, UNITS_MAX);
    }

    #[test]
    fn a_pack_counts_once_and_in_its_order() {
        let mut one = stock(1, 1);
        for (number, expected) in [(1, Ok(29)), (1, Ok(29)), (3, Err(2)), (0, Err(2)), (2, Ok(57)), (1, Ok(57))] {
            let added = one.add_pack(number).map(|()| one.left);
            assert_eq!(added, expected.map_err(|next| StockError::OtherPack { next }), "pack {number}");
        }
    }

    #[test]
    fn a_change_keeps_what_is_left_and_refuses_other_bounds() {
        let change = StockChange { left: None, per_dose: 2, pack_size: 30, warn_days: 3 };
        assert_eq!(change.of(None).unwrap().left, 30);
        let known = Stock { packs: 4, ..stock(5, 1) };
        let changed = change.of(Some(known)).unwrap();
        assert_eq!((changed.left, changed.packs, changed.per_dose), (5, 4, 2));
        for bad in [
            StockChange { left: Some(UNITS_MAX + 1), ..change },
            StockChange { per_dose: 0, ..change },
            StockChange { pack_size: 0, ..change },
            StockChange { pack_size: UNITS_MAX + 1, ..change },
            StockChange { warn_days: WARN_DAYS_MAX + 1, ..change },
        ] {
            assert_eq!(bad.of(Some(known)), Err(StockError::Bounds), "{bad:?}");
        }
    }

    #[test]
    fn a_stock_runs_out_with_the_last_full_dose() {
        let plan = Plan::new(hours(2), date(2026, 1, 1), None).unwrap();
        let now = TODAY.at(12, 0, 0, 0).to_zoned(TimeZone::UTC).unwrap().timestamp();
        let supply = |left, recorded: &[(Time, DoseRecord)]| {
            let doses = plan.doses(TODAY, recorded, &TimeZone::UTC, now);
            let Supply { runs_out_on, is_low } = plan.supply(&stock(left, 2), &doses, TODAY);
            (runs_out_on.map(|day| day.to_string()), is_low)
        };
        let on = |day: &str| Some(format!("2026-{day}"));
        assert_eq!(supply(1, &[]), (None, true));
        assert_eq!([supply(2, &[]), supply(5, &[])], [(on("11-22"), true), (on("11-22"), true)]);
        assert_eq!(supply(6, &[]), (on("11-23"), true));
        let taken = [(hours(1)[0], DoseRecord::Taken)];
        assert_eq!([supply(2, &taken), supply(4, &taken)], [(on("11-22"), true), (on("11-23"), true)]);
        assert_eq!([supply(32, &[]), supply(34, &[])], [(on("11-29"), true), (on("11-30"), false)]);
    }

    #[test]
    fn a_stock_as_needed_is_low_by_doses() {
        let low = |left, until| {
            let plan = Plan::new(Vec::new(), date(2026, 1, 1), until).unwrap();
            plan.supply(&stock(left, 2), &[], TODAY)
        };
        assert_eq!(low(15, None), Supply { runs_out_on: None, is_low: true });
        assert!(!low(16, None).is_low);
        assert!(low(0, Some(TODAY)).is_low && !low(0, TODAY.yesterday().ok()).is_low);
    }

    /// Takes each planned dose, day by day, until one is not full.
    #[test]
    fn supply_equals_that_of_taking_each_dose() {
        for seed in 0..400 {
            let mut random = fastrand::Rng::with_seed(seed);
            let from = TODAY + random.i64(-4..6).days();
            let until = random.bool().then(|| from + random.i64(0..12).days());
            let plan = Plan::new(hours(random.i8(1..4)), from, until).unwrap();
            let now = TODAY.at(random.i8(0..24), 0, 0, 0).to_zoned(TimeZone::UTC).unwrap().timestamp();
            let record = |time: &Time| match random.u8(0..4) {
                0 => Some((*time, DoseRecord::Taken)),
                1 => Some((*time, DoseRecord::Skipped)),
                _ => None,
            };
            let recorded: Vec<_> = plan.times().iter().filter_map(record).collect();
            let mut stock = stock(random.u32(0..20), random.u32(1..4));
            stock.warn_days = random.u32(0..9);
            let of_today = plan.doses(TODAY, &recorded, &TimeZone::UTC, now);
            let supply = plan.supply(&stock, &of_today, TODAY);

            let (mut left, mut last, mut is_short) = (stock, None, false);
            'days: for day in TODAY.series(1.day()).take(60) {
                let doses = if day == TODAY { of_today.clone() } else { plan.doses(day, &[], &TimeZone::UTC, now) };
                let is_open = |dose: &&Dose| !matches!(dose.state, DoseState::Taken | DoseState::Skipped);
                for _ in doses.iter().filter(is_open) {
                    if left.take() < stock.per_dose {
                        is_short = true;
                        break 'days;
                    }
                    last = Some(day);
                }
            }
            let near = last.is_none_or(|last| last <= TODAY + i64::from(stock.warn_days).days());
            let expected = Supply { runs_out_on: last.filter(|_| is_short), is_low: is_short && near };
            assert_eq!(supply, expected, "seed {seed}: {plan:?} {stock:?}");
        }
    }
}
