//! Reminders: the users' settings, and the users who are due.

use aws_sdk_dynamodb::types::AttributeValue;
use domain::UserId;
use domain::okusuri::{REMINDER_LATE_MAX, REMINDER_TIME_DEFAULT, local_date, next_due};
use jiff::Timestamp;
use jiff::civil::{Date, Time};
use jiff::tz::TimeZone;

use super::doses::Doses;
use super::keys::{
    self, DOSE_REMINDER, DUE_AT, DUE_INDEX, DUE_PARTITION, INDEX_SHARDS, Item, Key, PARTITION_KEY, PROFILE, REMINDER,
    SORT_KEY, s,
};
use super::rows::{DueRow, MedicationLog, Reminder, User, read};
use super::transaction::{Transaction, WriteError};
use super::upsert::Upsert;
use store_base::unless_condition_failed;
use store_base::{StoreError, Table};

/// Hours of a day, each with its partitions in the index.
const HOURS: i8 = 24;

/// How many hours late a due reminder may still be sent.
const HOURS_BACK: i8 = 2;

/// Every so many minutes, a run also looks at reminders that are too late to be sent.
const LATE_EVERY_MINUTES: i8 = 10;

/// Keys of one page of the index. One has about 150 bytes.
const PAGE: i32 = 500;

/// How often a change of settings is tried again that another change got ahead of.
pub(super) const CHANGES_MAX: usize = 5;

/// A change of a reminder; `None` members stay.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ReminderChange {
    /// On or off.
    pub is_enabled: Option<bool>,
    /// The time of day.
    pub time: Option<Time>,
}

/// A part of the index: the reminders that are due in one hour of a day, of one shard.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DuePartition(String);

impl DuePartition {
    /// The partitions that a run processes at `now`, in their order: first those with reminders that
    /// can still be sent, oldest first; then, in one run of ten, older ones.
    pub fn of_run(now: Timestamp) -> impl Iterator<Item = Self> {
        let now = now.to_zoned(TimeZone::UTC);
        let first = now.hour() - HOURS_BACK;
        let count = if now.minute() % LATE_EVERY_MINUTES == 0 { HOURS } else { HOURS_BACK + 1 };
        let hours = (first..first + count).map(|hour| hour.rem_euclid(HOURS));
        hours.flat_map(|hour| (0..INDEX_SHARDS).map(move |shard| Self(keys::due_partition_of(hour, shard))))
    }
}

/// The kinds of reminders. Each has its own row, and so its own time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReminderKind {
    /// Of a day that is not logged.
    Day,
    /// Of doses.
    Doses,
}

impl ReminderKind {
    fn sort(self) -> &'static str {
        match self {
            Self::Day => REMINDER,
            Self::Doses => DOSE_REMINDER,
        }
    }

    fn of(item: &Item) -> Option<Self> {
        let sort = item.get(SORT_KEY)?.as_s().ok()?;
        [Self::Day, Self::Doses].into_iter().find(|kind| kind.sort() == sort)
    }
}

/// Reminders that are due, and where to go on.
#[derive(Debug, Clone)]
pub struct Due {
    /// The reminders. The index is eventually consistent, so one that was just handled may still be
    /// among them.
    pub reminders: Vec<(UserId, ReminderKind)>,
    /// Where the next page begins; `None` after the last.
    pub next: Option<DueNext>,
}

/// Where a page of the index ends.
#[derive(Debug, Clone)]
pub struct DueNext(Item);

/// The reminders of a table. Changing one is `GetItem` and `TransactWriteItems`; working through
/// those that are due is `Query` of the index, `BatchGetItem` and `UpdateItem`.
#[derive(Debug, Clone)]
pub struct Reminders {
    pub(super) table: Table,
    pub(super) doses: Doses,
}

impl Reminders {
    /// The reminders in `table`.
    pub fn new(table: &Table) -> Self {
        Self { table: table.clone(), doses: Doses::new(table) }
    }

    /// A user's reminder, as of the last write.
    pub async fn get<R: DueRow>(&self, user: &UserId) -> Result<Option<R>, StoreError> {
        let key = Key::new(keys::user(user), R::SORT);
        let request = self.table.get_item(key.item());
        request.consistent_read(true).send().await?.item.map(read).transpose()
    }

    /// Changes a user's reminder, in the user's zone, and works out when it is due next.
    ///
    /// # Errors
    /// [`StoreError::Busy`] when somebody else was faster five times; [`WriteError::NoUser`] when
    /// the user was deleted meanwhile: then nothing is kept.
    pub async fn change(
        &self,
        user: &UserId,
        change: ReminderChange,
        zone: &TimeZone,
        now: Timestamp,
    ) -> Result<Reminder, WriteError> {
        for _ in 0..CHANGES_MAX {
            let before: Option<Reminder> = self.get(user).await?;
            let row = changed(user, before.as_ref(), change, zone, now);
            if self.replace(user, before.as_ref(), &row).await? {
                return Ok(row);
            }
        }
        Err(StoreError::Busy("a reminder is being changed from several sides".to_owned()).into())
    }

    /// Moves a user's reminder to another time zone. A user without a reminder gets none.
    ///
    /// # Errors
    /// As [`change`](Self::change).
    pub async fn follow(&self, user: &UserId, zone: &TimeZone, now: Timestamp) -> Result<(), WriteError> {
        if self.get::<Reminder>(user).await?.is_some() {
            self.change(user, ReminderChange::default(), zone, now).await?;
        }
        Ok(())
    }

    /// Whether `row` has taken the place of `before`.
    pub(super) async fn replace<R: DueRow>(
        &self,
        user: &UserId,
        before: Option<&R>,
        row: &R,
    ) -> Result<bool, WriteError> {
        let row = Upsert::new(row)?;
        // Stops two changes, or a change and a reminder that is just given, from each being worked
        // out on the other's past.
        let row = match before {
            None => row.when("attribute_not_exists(PK)", Vec::new()),
            Some(before) => row.when("UpdatedAt = :before", vec![("before", s(before.updated_at().to_string()))]),
        };
        Transaction::of_user(&self.table, user)?.change(row)?.write_of_user().await
    }

    /// A page of the reminders that are due in a partition of the index at `now`, longest due first.
    pub async fn due(&self, part: &DuePartition, now: Timestamp, from: Option<DueNext>) -> Result<Due, StoreError> {
        let page = self.table.query().index_name(DUE_INDEX).limit(PAGE);
        let page = page.key_condition_expression("#Part = :Part AND #DueAt <= :Now");
        let page = page.expression_attribute_names("#Part", DUE_PARTITION).expression_attribute_names("#DueAt", DUE_AT);
        let page = page.expression_attribute_values(":Part", s(part.0.clone()));
        let page = page.expression_attribute_values(":Now", s(whole_second(now).to_string()));
        let page = page.set_exclusive_start_key(from.map(|from| from.0)).send().await?;
        let mut reminders = Vec::new();
        for item in page.items.unwrap_or_default() {
            let partition = item.get(PARTITION_KEY).and_then(|value| value.as_s().ok());
            // An item that is not a user's was written by a foreign client, and must not stop the
            // reminders.
            let user = partition.and_then(|partition| UserId::new(partition.strip_prefix("USER#")?).ok());
            reminders.extend(user.zip(ReminderKind::of(&item)));
        }
        Ok(Due { reminders, next: page.last_evaluated_key.map(DueNext) })
    }

    /// A user's reminder and profile, as of the last write.
    pub async fn with_profile<R: DueRow>(&self, user: &UserId) -> Result<(Option<R>, Option<User>), StoreError> {
        let keys = [R::SORT, PROFILE].map(|sort| Key::new(keys::user(user), sort).item());
        let (mut reminder, mut profile) = (None, None);
        for item in self.table.batch_get(keys.to_vec(), true).await? {
            if item.get(SORT_KEY).and_then(|sort| sort.as_s().ok()).is_some_and(|sort| sort == R::SORT) {
                reminder = Some(read(item)?);
            } else {
                profile = Some(read(item)?);
            }
        }
        Ok((reminder, profile))
    }

    /// Moves a due reminder on, to `next`, and notes the day that it is given for, if it is.
    /// `false` when somebody else has already done so, or the user has changed it: then it is not
    /// given here.
    ///
    /// A crash after this write loses that day's reminder. That is better than sending it twice.
    pub async fn claim(
        &self,
        due: &Reminder,
        given_for: Option<Date>,
        next: Option<Timestamp>,
        zone: &str,
        now: Timestamp,
    ) -> Result<bool, StoreError> {
        let user = UserId::new(due.user_id.as_str()).map_err(StoreError::unreadable)?;
        let row = Reminder {
            due_partition: next.map(|next| keys::due_partition(next, &user)),
            due_at: next,
            last_reminded_on: given_for.or(due.last_reminded_on),
            time_zone: zone.to_owned(),
            claim_id: Some(fastrand::u32(..)),
            updated_at: now,
            ..due.clone()
        };
        self.take(due, &row).await
    }

    /// Whether a due reminder became what `row` says, whose claim has a new number.
    pub(super) async fn take<R: DueRow>(&self, due: &R, row: &R) -> Result<bool, StoreError> {
        let due_at = due.due_at().map(|at| s(at.to_string())).unwrap_or(AttributeValue::Null(true));
        // Stops two runs at once from both giving it, and a run from giving what its user has just
        // switched off or put off: each of them changes when it is due, or when it was changed. It
        // is gone when its user is: then nothing is written.
        let claim = Upsert::new(row)?.when(
            "DueAt = :due AND UpdatedAt = :before",
            vec![("due", due_at), ("before", s(due.updated_at().to_string()))],
        );
        claim.send_with_id(&self.table, "ClaimId", row.claim_id()).await
    }

    /// Takes a reminder out of the index that cannot be worked with, so that it does not come up in
    /// every run. Its user brings it back by changing it.
    pub async fn remove_from_due_index(&self, user: &UserId, kind: ReminderKind) -> Result<(), StoreError> {
        let key = Key::new(keys::user(user), kind.sort()).item();
        let request = self.table.update_item(key);
        let request = request.update_expression("REMOVE #Part").expression_attribute_names("#Part", DUE_PARTITION);
        // Stops a reminder that is gone with its user from coming back empty.
        let request = request.condition_expression("attribute_exists(#Part)");
        unless_condition_failed(request.send().await).map(drop)
    }

    /// Whether a user's day is logged as one with the medication, as of the last write.
    pub async fn is_taken(&self, user: &UserId, date: Date) -> Result<bool, StoreError> {
        let key = Key::new(keys::user(user), keys::medication(date)).item();
        let request = self.table.get_item(key).consistent_read(true);
        Ok(request.send().await?.item.map(read::<MedicationLog>).transpose()?.is_some_and(|log| log.is_taken))
    }
}

fn changed(
    user: &UserId,
    before: Option<&Reminder>,
    change: ReminderChange,
    zone: &TimeZone,
    now: Timestamp,
) -> Reminder {
    let is_enabled = change.is_enabled.or(before.map(|before| before.is_enabled)).unwrap_or(false);
    let time = change.time.or(before.map(|before| before.time)).unwrap_or(REMINDER_TIME_DEFAULT);
    let last = before.and_then(|before| before.last_reminded_on);
    let is_given = |due_at: Timestamp| last.is_some_and(|last| local_date(due_at, zone) <= last);
    let zone_name = zone.iana_name().unwrap_or("UTC");
    // The next run gives a reminder that is due. A change of something else must not lose it.
    let is_same = |before: &&Reminder| before.is_enabled && before.time == time && before.time_zone == zone_name;
    let is_due = |due_at: &Timestamp| *due_at <= now && now.duration_since(*due_at) <= REMINDER_LATE_MAX;
    let due = before.filter(is_same).and_then(|before| before.due_at).filter(is_due);
    let due_at = is_enabled.then(|| due.or_else(|| next_due(time, zone, whole_second(now)))).flatten();
    // Who puts it off in the evening has had the day's reminder: the next one is tomorrow's.
    let due_at = due_at.and_then(|due_at| if is_given(due_at) { next_due(time, zone, due_at) } else { Some(due_at) });
    Reminder {
        user_id: user.to_string(),
        is_enabled,
        time,
        time_zone: zone_name.to_owned(),
        due_partition: due_at.map(|due_at| keys::due_partition(due_at, user)),
        due_at,
        last_reminded_on: last,
        claim_id: before.and_then(|before| before.claim_id),
        created_at: before.map_or(now, |before| before.created_at),
        updated_at: now,
    }
}

/// Due times are whole seconds, so that their texts are sorted as they are.
fn whole_second(at: Timestamp) -> Timestamp {
    Timestamp::from_second(at.as_second()).unwrap_or(at)
}
