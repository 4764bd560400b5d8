//! Medicines of a user, of which there are few.

use aws_sdk_dynamodb::types::ReturnValue;
use domain::ShortText;
use domain::UserId;
use domain::okusuri::{DOSES_MAX, FORMER_TIMES_MAX, MEDICINES_MAX, Plan, StockChange, StockError};
use jiff::{SignedDuration, Timestamp};
use uuid::Uuid;

use super::keys::{self, Key, MEDICINE_PREFIX, n, s};
use super::rows::{Former, Medicine, read};
use super::transaction::{Transaction, WriteError};
use super::upsert::Upsert;
use store_base::Retry;
use store_base::{StoreError, Table};

/// Within this time, the same medicine again is a repeated request.
const REPEATED_WITHIN: SignedDuration = SignedDuration::from_mins(10);

/// Why a medicine is not kept.
#[derive(Debug, thiserror::Error)]
pub enum MedicineError {
    /// The user has as many as there may be.
    #[error("a user has at most {MEDICINES_MAX} medicines")]
    TooMany,
    /// There is none with this id.
    #[error("there is no such medicine")]
    NotFound,
    /// A medicine that has no times is only taken.
    #[error("a dose as needed is only taken")]
    AsNeeded,
    /// The medicine has as many records on the day as there may be.
    #[error("a medicine has at most {DOSES_MAX} records a day")]
    TooManyDoses,
    /// What is left of the medicine is not counted.
    #[error("the medicine has no stock")]
    NoStock,
    /// The stock cannot be changed so.
    #[error(transparent)]
    Stock(#[from] StockError),
    /// Anything else.
    #[error(transparent)]
    Write(#[from] WriteError),
}

impl From<StoreError> for MedicineError {
    fn from(error: StoreError) -> Self {
        Self::Write(error.into())
    }
}

/// A medicine as the user describes it.
#[derive(Debug, Clone)]
pub struct MedicineDraft {
    /// Its name.
    pub name: ShortText,
    /// How much of it, in words.
    pub dose: ShortText,
    /// When it is taken.
    pub plan: Plan,
    /// The stock, if it is to be counted.
    pub stock: Option<StockChange>,
}

/// The medicines in a table. Reading is `Query` and `GetItem`; a change is a `TransactWriteItems`
/// of an update and a condition check, or `DeleteItem`.
#[derive(Debug, Clone)]
pub struct Medicines {
    table: Table,
}

impl Medicines {
    /// The medicines in `table`.
    pub fn new(table: &Table) -> Self {
        Self { table: table.clone() }
    }

    /// All medicines of a user, the oldest first.
    pub async fn all(&self, user: &UserId) -> Result<Vec<Medicine>, StoreError> {
        let request = self.table.query().consistent_read(true);
        let request = request.key_condition_expression("PK = :user AND begins_with(SK, :prefix)");
        let request = request.expression_attribute_values(":user", s(keys::user(user)));
        // As many as there may be, and some that came at the same moment, are far less than a page
        // of 1 MB.
        let answer = request.expression_attribute_values(":prefix", s(MEDICINE_PREFIX)).send().await?;
        let mut medicines: Vec<Medicine> =
            answer.items.unwrap_or_default().into_iter().map(read).collect::<Result<_, _>>()?;
        medicines.sort_by(|a, b| (a.created_at, &a.medicine_id).cmp(&(b.created_at, &b.medicine_id)));
        Ok(medicines)
    }

    pub(super) async fn get(&self, user: &UserId, id: &str) -> Result<Option<Medicine>, StoreError> {
        let request = self.table.get_item(Key::new(keys::user(user), keys::medicine(id)).item());
        request.consistent_read(true).send().await?.item.map(read).transpose()
    }

    /// Adds a medicine. The same medicine again within ten minutes adds nothing, unless the first
    /// one or a record of its doses has changed: the request is repeated, because its answer was
    /// lost or the reminders could not follow. Two requests at the same moment add two.
    pub async fn add(
        &self,
        user: &UserId,
        id: Uuid,
        draft: &MedicineDraft,
        now: Timestamp,
    ) -> Result<Medicine, MedicineError> {
        let known = self.all(user).await?;
        let row = Medicine {
            user_id: user.to_string(),
            medicine_id: id.to_string(),
            name: String::new(),
            dose: String::new(),
            times: draft.plan.times().to_vec(),
            from: draft.plan.from(),
            until: None,
            former: Vec::new(),
            stock: None,
            version: 0,
            created_at: now,
            updated_at: now,
        };
        let row = described(row, draft, now)?;
        if let Some(added) = known.iter().find(|known| is_repeated(known, &row)) {
            return Ok(added.clone());
        }
        if known.len() >= MEDICINES_MAX {
            return Err(MedicineError::TooMany);
        }
        let mut retry = Retry::new();
        // The condition stops nothing but an id that was made twice.
        while !Transaction::of_user(&self.table, user)?.put_new(&row)?.try_of_user().await? {
            if !retry.wait().await {
                return Err(WriteError::Conflict.into());
            }
        }
        Ok(row)
    }

    /// Changes a medicine. The records of its doses stay.
    pub async fn change(
        &self,
        user: &UserId,
        id: &str,
        draft: &MedicineDraft,
        now: Timestamp,
    ) -> Result<Medicine, MedicineError> {
        self.update(user, id, |known| described(known, draft, now)).await
    }

    /// Adds a pack to the stock, unless the pack with this number has been added.
    pub async fn add_pack(
        &self,
        user: &UserId,
        id: &str,
        number: u32,
        now: Timestamp,
    ) -> Result<Medicine, MedicineError> {
        let change = |known: Medicine| {
            let mut stock: domain::okusuri::Stock = known.stock.ok_or(MedicineError::NoStock)?.into();
            stock.add_pack(number)?;
            Ok(Medicine { stock: Some(stock.into()), updated_at: now, ..known })
        };
        self.update(user, id, change).await
    }

    async fn update(
        &self,
        user: &UserId,
        id: &str,
        change: impl Fn(Medicine) -> Result<Medicine, MedicineError>,
    ) -> Result<Medicine, MedicineError> {
        let mut retry = Retry::new();
        loop {
            let known = self.get(user, id).await?.ok_or(MedicineError::NotFound)?;
            let row = change(known)?;
            if self.replace(user, &row)?.try_of_user().await? {
                return Ok(row);
            }
            if !retry.wait().await {
                return Err(WriteError::Conflict.into());
            }
        }
    }

    /// A transaction that writes a medicine over the one that was read with the version of `row`.
    pub(super) fn replace(&self, user: &UserId, row: &Medicine) -> Result<Transaction<'_>, StoreError> {
        // Stops a stock from being computed from a record or a number that has changed since, and a
        // medicine from coming back that was deleted meanwhile.
        let next = Upsert::new(&Medicine { version: row.version + 1, ..row.clone() })?.when(
            match row.version {
                // The medicines of earlier releases have none.
                0 => "attribute_exists(PK) AND (attribute_not_exists(#Version) OR #Version = :read)",
                _ => "#Version = :read",
            },
            vec![("read", n(row.version))],
        );
        Transaction::of_user(&self.table, user)?.change(next)
    }

    /// Deletes a medicine; `false` if there is none. The records of its doses stay, but no longer
    /// count.
    pub async fn delete(&self, user: &UserId, id: &str) -> Result<bool, StoreError> {
        let key = Key::new(keys::user(user), keys::medicine(id)).item();
        let request = self.table.delete_item(key);
        Ok(request.return_values(ReturnValue::AllOld).send().await?.attributes.is_some())
    }
}

/// Whether `row` says what the user has added shortly before and not changed since.
fn is_repeated(known: &Medicine, row: &Medicine) -> bool {
    let Medicine { medicine_id, created_at, updated_at, .. } = known.clone();
    row.created_at.duration_since(created_at) < REPEATED_WITHIN
        && *known == Medicine { medicine_id, created_at, updated_at, ..row.clone() }
}

/// The medicine as the draft describes it.
fn described(known: Medicine, draft: &MedicineDraft, now: Timestamp) -> Result<Medicine, MedicineError> {
    let MedicineDraft { name, dose, plan, stock } = draft;
    let mut former = known.former;
    if known.times != plan.times() {
        former.push(Former { times: known.times, until: now });
        former.drain(..former.len().saturating_sub(FORMER_TIMES_MAX));
    }
    let before = known.stock.map(Into::into);
    let stock = stock.map(|stock| stock.of(before)).transpose()?;
    Ok(Medicine {
        name: name.to_string(),
        dose: dose.to_string(),
        times: plan.times().to_vec(),
        from: plan.from(),
        until: plan.until(),
        former,
        stock: stock.map(Into::into),
        updated_at: now,
        ..known
    })
}
