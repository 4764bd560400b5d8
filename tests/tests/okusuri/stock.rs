//! Doses as needed and stocks on the real engine: each dose is counted once, by several devices and
//! with lost answers.

use std::collections::BTreeMap;

use domain::UserId;
use domain::okusuri::{DAY_DOSES_MAX, DOSES_MAX, DoseRecord, Plan, StockChange};
use jiff::Timestamp;
use jiff::civil::{Date, Time, date};
use jiff::tz::TimeZone;
use okusuri_store::rows::{Dose, DoseMark, Medicine, Stock};
use okusuri_store::{DoseKey, Doses, MedicineDraft, MedicineError, Medicines, WriteError};
use tests::Database;
use tests::okusuri::{medicine, put, user};
use tidemark_engine::{Chance, EngineFaults};

const DAY: Date = date(2026, 11, 22);

fn now() -> Timestamp {
    "2026-11-22T12:00:00Z".parse().unwrap()
}

/// A user's iron, of which 40 are left.
#[derive(Clone)]
struct Iron {
    ann: UserId,
    medicines: Medicines,
    doses: Doses,
    id: String,
}

impl Iron {
    async fn new(db: &Database, times: &[&str]) -> Self {
        let ann = user(&db.client, "ann", "UTC").await.unwrap();
        let times: Vec<Time> = times.iter().map(|time| time.parse().unwrap()).collect();
        let stock = Stock { left: 40, per_dose: 2, pack_size: 28, warn_days: 7, packs: 0 };
        let row = Medicine { stock: Some(stock), ..medicine(&ann, &times, "2026-11-01").unwrap() };
        put(&db.client, &row).await.unwrap();
        let table = db.table(Database::OKUSURI);
        Self { ann, medicines: Medicines::new(&table), doses: Doses::new(&table), id: row.medicine_id }
    }

    async fn mark(&self, time: Time, record: DoseRecord) -> Result<bool, MedicineError> {
        let marked = self.doses.mark(&self.ann, &self.key(time), (record, None), &TimeZone::UTC, now()).await?;
        Ok(marked.is_new)
    }

    async fn unmark(&self, time: Time) -> Result<bool, WriteError> {
        self.doses.unmark(&self.ann, &self.key(time)).await
    }

    fn key(&self, time: Time) -> DoseKey {
        DoseKey { date: DAY, time, medicine_id: self.id.clone() }
    }

    async fn stock(&self) -> Stock {
        self.medicines.all(&self.ann).await.unwrap()[0].stock.unwrap()
    }

    async fn per_dose(&self, per_dose: u32) -> Result<(), MedicineError> {
        let known = self.medicines.all(&self.ann).await?.remove(0);
        let draft = MedicineDraft {
            name: domain::ShortText::new("Iron").unwrap(),
            dose: domain::ShortText::new("some").unwrap(),
            plan: Plan::new(known.times, known.from, known.until).unwrap(),
            stock: Some(StockChange { left: None, per_dose, pack_size: 28, warn_days: 7 }),
        };
        self.medicines.change(&self.ann, &self.id, &draft, now()).await.map(drop)
    }

    /// The user's next step, until it has an answer.
    async fn step(&self, random: &mut fastrand::Rng) {
        let time = minute(random.i8(0..4));
        let record = match random.u8(0..4) {
            0 => DoseRecord::Skipped,
            1 => DoseRecord::Snoozed { until: now() },
            _ => DoseRecord::Taken,
        };
        let kind = random.u8(0..10);
        let pack = self.stock().await.packs + random.u32(0..2);
        for _ in 0..50 {
            let answer = match kind {
                0 => self.medicines.add_pack(&self.ann, &self.id, pack.max(1), now()).await.map(drop),
                1 => self.per_dose(u32::from(time.minute().unsigned_abs()) + 1).await,
                2..5 => self.unmark(time).await.map(drop).map_err(MedicineError::from),
                _ => self.mark(time, record).await.map(drop),
            };
            match answer {
                Err(MedicineError::Write(_)) => {}
                Ok(()) => return,
                Err(why) => panic!("{why}"),
            }
        }
        panic!("fifty answers were lost");
    }

    async fn rows(&self, db: &Database) -> Vec<Dose> {
        let request = db.client.query().table_name(Database::OKUSURI).consistent_read(true);
        let request = request.key_condition_expression("PK = :user AND begins_with(SK, :dose)");
        let values = [(":user", format!("USER#{}", self.ann)), (":dose", "DOSE#".to_owned())];
        let values = values.map(|(name, value)| (name.to_owned(), aws_sdk_dynamodb::types::AttributeValue::S(value)));
        let answer = request.set_expression_attribute_values(Some(values.into())).send().await.unwrap();
        answer.items().iter().map(|item| okusuri_store::rows::read(item.clone()).unwrap()).collect()
    }

    /// What is left is what was there, and the packs, without what the doses took.
    async fn check(&self, db: &Database) {
        let (stock, rows) = (self.stock().await, self.rows(db).await);
        let taken: u32 = rows.iter().filter_map(|row| row.units).sum();
        assert_eq!(stock.left + taken, 40 + stock.packs * 28, "{rows:?}");
        assert!(rows.iter().all(|row| row.units.is_some() == (row.state == DoseMark::Taken)), "{rows:?}");
    }
}

fn minute(minute: i8) -> Time {
    Time::constant(8, minute, 0, 0)
}

#[tokio::test]
async fn stock_equals_packs_minus_doses_after_concurrent_changes() {
    let db = Database::start().await.unwrap();
    let iron = Iron::new(&db, &["08:00", "20:00"]).await;
    // A sixth of all writes is done, and its answer is lost.
    let fail_after = BTreeMap::from([("TransactWriteItems".to_owned(), Chance { next: 0, probability: 0.15 })]);
    db.engine().faults().set(EngineFaults { fail_after, ..EngineFaults::default() });
    for round in 0..tests::load(6, 20) {
        let devices = (0..3).map(|device| {
            let iron = iron.clone();
            tokio::spawn(async move {
                let mut random = fastrand::Rng::with_seed(round * 10 + device);
                for _ in 0..4 {
                    iron.step(&mut random).await;
                }
            })
        });
        futures::future::try_join_all(devices).await.unwrap();
        iron.check(&db).await;
    }
}

#[tokio::test]
async fn a_repeated_dose_or_pack_counts_once() {
    let db = Database::start().await.unwrap();
    let iron = Iron::new(&db, &["08:00"]).await;
    // The first of many lost answers is the one of a write that was done.
    db.lose_answers("TransactWriteItems", 20);
    iron.mark(minute(0), DoseRecord::Taken).await.unwrap_err();
    assert_eq!(iron.stock().await.left, 38);
    db.lose_answers("TransactWriteItems", 0);
    assert!(!iron.mark(minute(0), DoseRecord::Taken).await.unwrap());
    assert_eq!(iron.stock().await.left, 38);
    // A later change of the dose puts back what was taken.
    iron.per_dose(5).await.unwrap();
    db.lose_answers("TransactWriteItems", 20);
    iron.unmark(minute(0)).await.unwrap_err();
    db.lose_answers("TransactWriteItems", 0);
    assert!(!iron.unmark(minute(0)).await.unwrap());
    assert_eq!(iron.stock().await.left, 40);
    db.lose_answers("TransactWriteItems", 20);
    iron.medicines.add_pack(&iron.ann, &iron.id, 1, now()).await.unwrap_err();
    db.lose_answers("TransactWriteItems", 0);
    let added = iron.medicines.add_pack(&iron.ann, &iron.id, 1, now()).await.unwrap();
    assert_eq!(added.stock.map(|stock| (stock.left, stock.packs)), Some((68, 1)));
    assert!(iron.mark(minute(0), DoseRecord::Skipped).await.unwrap());
    assert_eq!(iron.stock().await.left, 68);
    iron.check(&db).await;
}

#[tokio::test]
async fn doses_of_deleted_medicines_count_for_their_day() {
    let db = Database::start().await.unwrap();
    let iron = Iron::new(&db, &[]).await;
    assert!(iron.mark(minute(0), DoseRecord::Taken).await.unwrap());
    let own = iron.rows(&db).await.remove(0);
    for n in 2..DAY_DOSES_MAX {
        put(&db.client, &Dose { medicine_id: format!("deleted-{n:04}"), ..own.clone() }).await.unwrap();
    }
    assert!(iron.mark(minute(1), DoseRecord::Taken).await.unwrap());
    assert!(matches!(iron.mark(minute(2), DoseRecord::Taken).await, Err(MedicineError::TooManyDoses)));
    // One that is there already can be corrected.
    assert!(!iron.mark(minute(1), DoseRecord::Taken).await.unwrap());
}

#[tokio::test]
async fn a_day_has_at_most_24_doses_as_needed() {
    let db = Database::start().await.unwrap();
    let iron = Iron::new(&db, &[]).await;
    let free = 3;
    let max = i8::try_from(DOSES_MAX).unwrap();
    for time in (0..max - free).map(minute) {
        assert!(iron.mark(time, DoseRecord::Taken).await.unwrap());
    }
    // Several devices at once, for the last places.
    let devices = (0..free + 3).map(|device| {
        let iron = iron.clone();
        async move {
            for _ in 0..50 {
                match iron.mark(minute(30 + device), DoseRecord::Taken).await {
                    Ok(_) => return true,
                    Err(MedicineError::TooManyDoses) => return false,
                    Err(MedicineError::Write(WriteError::Conflict)) => {}
                    Err(why) => panic!("{why}"),
                }
            }
            panic!("others were faster fifty times");
        }
    });
    let recorded = futures::future::join_all(devices).await;
    assert_eq!(recorded.iter().filter(|is_recorded| **is_recorded).count(), 3);
    assert_eq!(iron.rows(&db).await.len(), DOSES_MAX);
    // One that is there already can be corrected, and one that is removed makes place.
    assert!(!iron.mark(minute(0), DoseRecord::Taken).await.unwrap());
    assert!(iron.unmark(minute(0)).await.unwrap());
    assert!(iron.mark(minute(59), DoseRecord::Taken).await.unwrap());
    iron.check(&db).await;
}

#[tokio::test]
async fn a_medicine_of_an_earlier_release_is_counted() {
    let db = Database::start().await.unwrap();
    let iron = Iron::new(&db, &["08:00"]).await;
    let key = [("PK", format!("USER#{}", iron.ann)), ("SK", format!("MEDICINE#{}", iron.id))];
    let key = key.map(|(name, value)| (name.to_owned(), aws_sdk_dynamodb::types::AttributeValue::S(value)));
    let update = db.client.update_item().table_name(Database::OKUSURI).set_key(Some(key.into()));
    update.update_expression("REMOVE Version").send().await.unwrap();
    assert!(iron.mark(minute(0), DoseRecord::Taken).await.unwrap());
    assert!(iron.unmark(minute(0)).await.unwrap());
    assert_eq!(iron.stock().await.left, 40);
    assert_eq!(iron.medicines.all(&iron.ann).await.unwrap()[0].version, 2);
}
