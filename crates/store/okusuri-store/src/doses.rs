//! The records of doses, and the state of each dose by the medicines' plans.

use std::collections::BTreeMap;

use aws_sdk_dynamodb::types::ReturnValue;
use domain::UserId;
use domain::calendar::DateRange;
use domain::okusuri::{
    DAY_DOSES_MAX, DOSE_MAIL_DAYS, DOSES_MAX, Dose, DoseRecord, FormerTimes, Plan, Stock, Supply, asking_days, due_on,
    first_asking_day, local_date,
};
use jiff::civil::{Date, Time};
use jiff::tz::TimeZone;
use jiff::{Timestamp, ToSpan as _};

use super::dose_reminders::DueDose;
use super::keys::{self, DOSE_PREFIX, Key, PARTITION_KEY, SORT_KEY};
use super::medicines::{MedicineError, Medicines};
use super::rows::{self, DoseMark, Former, Medicine, Row as _, read};
use super::transaction::WriteError;
use store_base::Retry;
use store_base::{StoreError, Table};

/// The most pages of 1 MB that a range of days takes: fifty medicines at eight times for a month
/// are four of them.
const PAGES_MAX: usize = 32;

/// What is recorded for the doses of a medicine on a day, and when it was taken.
type RecordedDoses = BTreeMap<(Date, String), Vec<(Time, DoseRecord, Timestamp)>>;

/// Which dose.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DoseKey {
    /// The day in the user's time zone.
    pub date: Date,
    /// The time that it goes by.
    pub time: Time,
    /// Of what.
    pub medicine_id: String,
}

/// A medicine's doses of a day.
#[derive(Debug, Clone, PartialEq)]
pub struct DayDoses {
    /// Of what.
    pub medicine: Medicine,
    /// The doses, earliest first.
    pub doses: Vec<Dose>,
    /// The times at which recorded doses were taken, by the time that each dose goes by.
    pub taken_at: BTreeMap<Time, Timestamp>,
}

/// The record.
#[derive(Debug, Clone, PartialEq)]
pub struct DoseMarked {
    /// The row.
    pub row: rows::Dose,
    /// Whether nothing had been recorded before.
    pub is_new: bool,
}

/// The doses in a table. Reading is `Query`; a change is a `TransactWriteItems` that moves the
/// medicine's version, or, without a medicine, `DeleteItem`.
#[derive(Debug, Clone)]
pub struct Doses {
    table: Table,
    medicines: Medicines,
}

impl Doses {
    /// The doses in `table`.
    pub fn new(table: &Table) -> Self {
        Self { medicines: Medicines::new(table), table: table.clone() }
    }

    /// Records a dose, replaces an earlier record, and takes a dose out of the stock or puts it back.
    /// A dose that was taken at no known time was taken now; one as needed in its own minute.
    pub async fn mark(
        &self,
        user: &UserId,
        name: &DoseKey,
        (recorded, at): (DoseRecord, Option<Timestamp>),
        zone: &TimeZone,
        now: Timestamp,
    ) -> Result<DoseMarked, MedicineError> {
        let mut retry = Retry::new();
        loop {
            let medicine = self.medicines.get(user, &name.medicine_id).await?.ok_or(MedicineError::NotFound)?;
            // Read after the medicine: a record that changes from here on moves its version.
            let before = self.get(user, name).await?;
            let is_as_needed = before.as_ref().map_or(medicine.times.is_empty(), |before| before.is_as_needed);
            let recorded = match recorded {
                DoseRecord::Taken if is_as_needed => DoseRecord::TakenAsNeeded,
                DoseRecord::Skipped | DoseRecord::Snoozed { .. } if medicine.times.is_empty() => {
                    return Err(MedicineError::AsNeeded);
                }
                recorded => recorded,
            };
            if before.is_none() && self.is_full(user, name).await? {
                return Err(MedicineError::TooManyDoses);
            }
            let minute = || due_on(name.date, name.time, zone).filter(|minute| is_as_needed && *minute < now);
            let at = at.or_else(minute).unwrap_or(now);
            let created_at = before.as_ref().map_or(now, |before| before.created_at);
            let is_new = before.is_none();
            let is_taken = matches!(recorded, DoseRecord::Taken | DoseRecord::TakenAsNeeded);
            let (medicine, units) = counted(medicine, before, is_taken);
            let row = rows::Dose { units, ..row(user, name, (recorded, at), created_at, now) };
            if self.medicines.replace(user, &medicine)?.set(&row)?.try_of_user().await? {
                return Ok(DoseMarked { row, is_new });
            }
            if !retry.wait().await {
                return Err(WriteError::Conflict.into());
            }
        }
    }

    /// Deletes the record of a dose, and puts the dose back into the stock; `false` if there is none.
    pub async fn unmark(&self, user: &UserId, name: &DoseKey) -> Result<bool, WriteError> {
        let mut retry = Retry::new();
        loop {
            let key = key(user, name);
            let Some(medicine) = self.medicines.get(user, &name.medicine_id).await? else {
                let request = self.table.delete_item(key.item()).return_values(ReturnValue::AllOld);
                return Ok(request.send().await.map_err(StoreError::from)?.attributes.is_some());
            };
            let Some(before) = self.get(user, name).await? else { return Ok(false) };
            let (medicine, _) = counted(medicine, Some(before), false);
            if self.medicines.replace(user, &medicine)?.forget(&key)?.try_of_user().await? {
                return Ok(true);
            }
            if !retry.wait().await {
                return Err(WriteError::Conflict);
            }
        }
    }

    /// Whether the medicine, or the user, has as many records on the day as there may be.
    async fn is_full(&self, user: &UserId, name: &DoseKey) -> Result<bool, StoreError> {
        let day = DateRange::new(name.date, name.date).map_err(StoreError::unreadable)?;
        let of_day = self.rows(user, day).await?;
        let of_medicine = of_day.iter().filter(|row| row.medicine_id == name.medicine_id).count();
        Ok(of_medicine >= DOSES_MAX || of_day.len() >= DAY_DOSES_MAX)
    }

    /// All medicines of a user, the oldest first, each with how long its stock lasts, if it has one.
    pub async fn supplies(
        &self,
        user: &UserId,
        zone: &TimeZone,
        now: Timestamp,
    ) -> Result<Vec<(Medicine, Option<Supply>)>, StoreError> {
        let medicines = self.medicines.all(user).await?;
        let today = local_date(now, zone);
        let recorded = match medicines.iter().any(|medicine| medicine.stock.is_some()) {
            true => self.recorded(user, DateRange::new(today, today).map_err(StoreError::unreadable)?).await?,
            false => RecordedDoses::new(),
        };
        let supply = |medicine: Medicine| {
            let supply = supply(&medicine, &plan(&medicine)?, &recorded, (zone, now));
            Ok((medicine, supply))
        };
        medicines.into_iter().map(supply).collect()
    }

    /// The doses of each day of a range that has any, of each medicine, as of `now`.
    pub async fn of_days(
        &self,
        user: &UserId,
        range: DateRange,
        zone: &TimeZone,
        now: Timestamp,
    ) -> Result<BTreeMap<Date, Vec<DayDoses>>, StoreError> {
        let medicines = self.medicines.all(user).await?;
        if medicines.is_empty() {
            return Ok(BTreeMap::new());
        }
        let recorded = self.recorded(user, range).await?;
        let plans = medicines.into_iter().map(|medicine| Ok((plan(&medicine)?, medicine)));
        let plans: Vec<_> = plans.collect::<Result<_, StoreError>>()?;
        let days = range.days().map(|date| {
            let of_day = plans.iter().map(|(plan, medicine)| {
                let doses = plan.doses(date, &records(&recorded, medicine, date), zone, now);
                let of_day = recorded.get(&(date, medicine.medicine_id.clone())).into_iter().flatten();
                let is_taken = |record| matches!(record, DoseRecord::Taken | DoseRecord::TakenAsNeeded);
                let taken = of_day.filter(|(_, record, _)| is_taken(*record));
                let taken_at = taken.map(|(time, _, at)| (*time, *at)).collect();
                DayDoses { medicine: medicine.clone(), doses, taken_at }
            });
            (date, of_day.filter(|of_day| !of_day.doses.is_empty()).collect::<Vec<_>>())
        });
        Ok(days.filter(|(_, of_day)| !of_day.is_empty()).collect())
    }

    /// The doses of the days that may still ask at `now` or later, of each medicine, with whether its
    /// stock is low.
    pub(super) async fn asking(
        &self,
        user: &UserId,
        zone: &TimeZone,
        now: Timestamp,
    ) -> Result<Vec<(DueDose, Dose)>, StoreError> {
        let medicines = self.medicines.all(user).await?;
        let today = local_date(now, zone);
        // A user who moved west may have recorded doses of tomorrow.
        let recorded = match (first_asking_day(today), today.tomorrow()) {
            (Ok(from), Ok(to)) if !medicines.is_empty() => {
                self.recorded(user, DateRange::new(from, to).map_err(StoreError::unreadable)?).await?
            }
            _ => RecordedDoses::new(),
        };
        let mut asking = Vec::new();
        for medicine in medicines {
            let plan = plan(&medicine)?;
            let is_low = supply(&medicine, &plan, &recorded, (zone, now)).is_some_and(|supply| supply.is_low);
            for date in asking_days(medicine.from, zone, now) {
                let doses = plan.doses(date, &records(&recorded, &medicine, date), zone, now);
                let due = |dose: &Dose| DueDose { name: medicine.name.clone(), date, time: dose.time, is_low };
                asking.extend(doses.into_iter().map(|dose| (due(&dose), dose)));
            }
        }
        Ok(asking)
    }

    /// Whether the user has recorded a dose of the last [`DOSE_MAIL_DAYS`].
    pub async fn has_recorded_lately(&self, user: &UserId, today: Date) -> Result<bool, StoreError> {
        let from = today.checked_sub(DOSE_MAIL_DAYS.days()).map_err(StoreError::unreadable)?;
        let range = DateRange::new(from, today).map_err(StoreError::unreadable)?;
        Ok(!self.rows(user, range).await?.is_empty())
    }

    async fn recorded(&self, user: &UserId, range: DateRange) -> Result<RecordedDoses, StoreError> {
        let mut recorded = RecordedDoses::new();
        for row in self.rows(user, range).await? {
            recorded.entry((row.date, row.medicine_id.clone())).or_default().push((
                row.time,
                recorded_of(&row)?,
                row.at,
            ));
        }
        Ok(recorded)
    }

    async fn get(&self, user: &UserId, name: &DoseKey) -> Result<Option<rows::Dose>, StoreError> {
        let request = self.table.get_item(key(user, name).item());
        request.consistent_read(true).send().await?.item.map(read).transpose()
    }

    async fn rows(&self, user: &UserId, range: DateRange) -> Result<Vec<rows::Dose>, StoreError> {
        let mut rows = Vec::new();
        let mut start = None;
        for _ in 0..PAGES_MAX {
            // `~` lies behind the `#` that follows a day.
            let (from, to) = (format!("{DOSE_PREFIX}{}", range.from()), format!("{DOSE_PREFIX}{}~", range.to()));
            let names = [PARTITION_KEY, SORT_KEY];
            let request = self.table.query_between(names, keys::user(user), from, to).consistent_read(true);
            let page = request.set_exclusive_start_key(start).send().await?;
            rows.extend(page.items.unwrap_or_default().into_iter().map(read).collect::<Result<Vec<_>, _>>()?);
            start = page.last_evaluated_key;
            if start.is_none() {
                return Ok(rows);
            }
        }
        Err(StoreError::unreadable(format!("{user} has more than {PAGES_MAX} pages of doses in {range:?}")))
    }
}

/// What is recorded for the doses of a medicine on a day.
fn records(recorded: &RecordedDoses, medicine: &Medicine, date: Date) -> Vec<(Time, DoseRecord)> {
    let of_day = recorded.get(&(date, medicine.medicine_id.clone())).into_iter().flatten();
    of_day.map(|(time, record, _)| (*time, *record)).collect()
}

/// How long the stock of a medicine lasts, if it has one.
fn supply(
    medicine: &Medicine,
    plan: &Plan,
    recorded: &RecordedDoses,
    (zone, now): (&TimeZone, Timestamp),
) -> Option<Supply> {
    let stock = Stock::from(medicine.stock?);
    let today = local_date(now, zone);
    Some(plan.supply(&stock, &plan.doses(today, &records(recorded, medicine, today), zone, now), today))
}

/// The medicine after a record of one of its doses, and the units that the record has taken out of its
/// stock. A dose that stays taken has taken its units already.
fn counted(mut medicine: Medicine, before: Option<rows::Dose>, is_taken: bool) -> (Medicine, Option<u32>) {
    let was_taken = before.as_ref().is_some_and(|before| before.state == DoseMark::Taken);
    let units = before.and_then(|before| before.units);
    if was_taken == is_taken {
        return (medicine, units);
    }
    let mut stock = medicine.stock.map(Stock::from);
    let units = match (&mut stock, is_taken) {
        (Some(stock), true) => Some(stock.take()),
        (Some(stock), false) => {
            stock.put_back(units.unwrap_or(0));
            None
        }
        (None, _) => None,
    };
    medicine.stock = stock.map(Into::into);
    (medicine, units)
}

fn key(user: &UserId, name: &DoseKey) -> Key {
    Key::new(keys::user(user), keys::dose(name.date, name.time, &name.medicine_id))
}

fn row(
    user: &UserId,
    name: &DoseKey,
    (recorded, at): (DoseRecord, Timestamp),
    created_at: Timestamp,
    now: Timestamp,
) -> rows::Dose {
    let (state, snoozed_until) = match recorded {
        DoseRecord::Taken | DoseRecord::TakenAsNeeded => (DoseMark::Taken, None),
        DoseRecord::Skipped => (DoseMark::Skipped, None),
        DoseRecord::Snoozed { until } => (DoseMark::Snoozed, Some(until)),
    };
    rows::Dose {
        user_id: user.to_string(),
        date: name.date,
        time: name.time,
        medicine_id: name.medicine_id.clone(),
        state,
        at,
        snoozed_until,
        units: None,
        is_as_needed: recorded == DoseRecord::TakenAsNeeded,
        created_at,
        updated_at: now,
    }
}

fn recorded_of(row: &rows::Dose) -> Result<DoseRecord, StoreError> {
    Ok(match (row.state, row.snoozed_until) {
        (DoseMark::Taken, _) if row.is_as_needed => DoseRecord::TakenAsNeeded,
        (DoseMark::Taken, _) => DoseRecord::Taken,
        (DoseMark::Skipped, _) => DoseRecord::Skipped,
        (DoseMark::Snoozed, Some(until)) => DoseRecord::Snoozed { until },
        (DoseMark::Snoozed, None) => {
            return Err(StoreError::unreadable(format!("{:?} is put off for ever", row.key())));
        }
    })
}

fn plan(medicine: &Medicine) -> Result<Plan, StoreError> {
    let plan = Plan::new(medicine.times.clone(), medicine.from, medicine.until);
    let former = medicine.former.iter().cloned().map(|Former { times, until }| FormerTimes { times, until });
    let plan = plan.map(|plan| plan.since(medicine.created_at, former.collect()));
    plan.map_err(|why| StoreError::unreadable(format!("{:?}: {why}", medicine.key())))
}
