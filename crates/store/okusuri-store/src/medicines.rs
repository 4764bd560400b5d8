//! Medicines of a user, of which there are few.

use aws_sdk_dynamodb::types::ReturnValue;
use domain::ShortText;
use domain::UserId;
use domain::okusuri::{FORMER_TIMES_MAX, MEDICINES_MAX, Plan};
use jiff::Timestamp;
use uuid::Uuid;

use super::keys::{self, Key, MEDICINE_PREFIX, s};
use super::rows::{Former, Medicine, read};
use super::transaction::{Transaction, WriteError};
use super::upsert::Upsert;
use store_base::Retry;
use store_base::{StoreError, Table, TransactionOutcome};

/// Why a medicine is not kept.
#[derive(Debug, thiserror::Error)]
pub enum MedicineError {
    /// The user has as many as there may be.
    #[error("a user has at most {MEDICINES_MAX} medicines")]
    TooMany,
    /// There is none with this id.
    #[error("there is no such medicine")]
    NotFound,
    /// Anything else.
    #[error(transparent)]
    Write(#[from] WriteError),
}

impl From<StoreError> for MedicineError {
    fn from(error: StoreError) -> Self {
        Self::Write(error.into())
    }
}

/// The medicines in a table. Reading is `Query`; a change is a `TransactWriteItems` of an update
/// and a condition check, or `DeleteItem`.
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

    /// Adds a medicine.
    pub async fn add(
        &self,
        user: &UserId,
        id: Uuid,
        (name, dose): (&ShortText, &ShortText),
        plan: &Plan,
        now: Timestamp,
    ) -> Result<Medicine, MedicineError> {
        if self.all(user).await?.len() >= MEDICINES_MAX {
            return Err(MedicineError::TooMany);
        }
        let row = row(user, &id.to_string(), (name, dose), plan, Vec::new(), [now, now]);
        // Stops nothing but an id that was made twice.
        self.write(user, &row, "attribute_not_exists(PK)").await?;
        Ok(row)
    }

    /// Changes a medicine. The records of its doses stay.
    pub async fn change(
        &self,
        user: &UserId,
        id: &str,
        (name, dose): (&ShortText, &ShortText),
        plan: &Plan,
        now: Timestamp,
    ) -> Result<Medicine, MedicineError> {
        let known =
            self.all(user).await?.into_iter().find(|known| known.medicine_id == id).ok_or(MedicineError::NotFound)?;
        let mut former = known.former;
        if known.times != plan.times() {
            former.push(Former { times: known.times, until: now });
            former.drain(..former.len().saturating_sub(FORMER_TIMES_MAX));
        }
        let row = row(user, id, (name, dose), plan, former, [known.created_at, now]);
        // Stops a medicine from coming back that was deleted meanwhile.
        self.write(user, &row, "attribute_exists(PK)").await?;
        Ok(row)
    }

    /// Deletes a medicine; `false` if there is none. The records of its doses stay, but no longer
    /// count.
    pub async fn delete(&self, user: &UserId, id: &str) -> Result<bool, StoreError> {
        let key = Key::new(keys::user(user), keys::medicine(id)).item();
        let request = self.table.delete_item(key);
        Ok(request.return_values(ReturnValue::AllOld).send().await?.attributes.is_some())
    }

    async fn write(&self, user: &UserId, row: &Medicine, condition: &str) -> Result<(), MedicineError> {
        let mut retry = Retry::new();
        loop {
            let row = Upsert::new(row)?.when(condition, Vec::new());
            match Transaction::of_user(&self.table, user)?.change(row)?.send().await? {
                TransactionOutcome::Written => return Ok(()),
                TransactionOutcome::ConditionFailed { action: 0, .. } => return Err(WriteError::NoUser.into()),
                TransactionOutcome::ConditionFailed { .. } => return Err(MedicineError::NotFound),
                TransactionOutcome::Conflict if retry.wait().await => {}
                TransactionOutcome::Conflict => return Err(WriteError::Conflict.into()),
            }
        }
    }
}

fn row(
    user: &UserId,
    id: &str,
    (name, dose): (&ShortText, &ShortText),
    plan: &Plan,
    former: Vec<Former>,
    [created_at, updated_at]: [Timestamp; 2],
) -> Medicine {
    Medicine {
        user_id: user.to_string(),
        medicine_id: id.to_owned(),
        name: name.to_string(),
        dose: dose.to_string(),
        times: plan.times().to_vec(),
        from: plan.from(),
        until: plan.until(),
        former,
        created_at,
        updated_at,
    }
}
