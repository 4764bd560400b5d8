//! Reminders of doses: the users' settings, the doses that ask, and the claim of a time.

use domain::UserId;
use domain::okusuri::{DOSE_MESSAGES_MAX, Language, utc_day_end};
use jiff::Timestamp;
use jiff::civil::{Date, Time};
use jiff::tz::TimeZone;

use super::keys;
use super::reminders::{CHANGES_MAX, Reminders};
use super::rows::DoseReminder;
use super::transaction::WriteError;
use store_base::StoreError;

/// A change of the reminders of doses; `None` members stay.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct DoseReminderChange {
    /// On or off.
    pub is_enabled: Option<bool>,
    /// Whether a mail is sent when no browser takes a message.
    pub is_mailed: Option<bool>,
    /// The language of the mail.
    pub language: Option<Language>,
}

/// A dose to remind of.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DueDose {
    /// The name of its medicine.
    pub name: String,
    /// Its day.
    pub date: Date,
    /// The time that it goes by.
    pub time: Time,
    /// Whether a new pack of the medicine is to be bought.
    pub is_low: bool,
}

/// What a user's doses ask for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DoseAsks {
    /// The doses to remind of now, earliest first.
    pub due: Vec<DueDose>,
    /// The first time that is not handled.
    pub first: Option<Timestamp>,
    /// The first time after now.
    pub next: Option<Timestamp>,
}

impl Reminders {
    /// What a user's doses ask for at `now`, if all times until `after` are handled; by the medicines
    /// and records as of the last write.
    pub async fn asks(
        &self,
        user: &UserId,
        zone: &TimeZone,
        after: Timestamp,
        now: Timestamp,
    ) -> Result<DoseAsks, StoreError> {
        let mut doses = self.doses.asking(user, zone, now).await?;
        doses.sort_by_key(|(due, _)| (due.date, due.time));
        let first = |after| doses.iter().filter_map(|(_, dose)| dose.next_ask(after)).min();
        let (first, next) = (first(after), first(now.max(after)));
        let due = doses.into_iter().filter(|(_, dose)| dose.asks_at(after, now)).map(|(due, _)| due);
        Ok(DoseAsks { due: due.collect(), first, next })
    }

    /// Changes the reminders of a user's doses, and works out when the next one is due.
    ///
    /// # Errors
    /// As [`Reminders::change`].
    pub async fn change_doses(
        &self,
        user: &UserId,
        change: DoseReminderChange,
        zone: &TimeZone,
        now: Timestamp,
    ) -> Result<DoseReminder, WriteError> {
        for _ in 0..CHANGES_MAX {
            let before: Option<DoseReminder> = self.get(user).await?;
            let mut row = before.clone().unwrap_or_else(|| DoseReminder {
                user_id: user.to_string(),
                is_enabled: false,
                enabled_at: now,
                is_mailed: true,
                language: Language::default().as_str().to_owned(),
                due_partition: None,
                due_at: None,
                handled_until: now,
                sent_on: None,
                sent: 0,
                claim_id: None,
                created_at: now,
                updated_at: now,
            });
            if change.is_enabled == Some(true) && !row.is_enabled {
                // What asked while they were off is not sent. The bound of today's messages stays.
                (row.enabled_at, row.handled_until) = (now, now.max(row.handled_until));
            }
            row.is_enabled = change.is_enabled.unwrap_or(row.is_enabled);
            row.is_mailed = change.is_mailed.unwrap_or(row.is_mailed);
            row.language = change.language.map_or(row.language, |language| language.as_str().to_owned());
            // Read after the reminder: of two changes at once, the one that is written last has seen
            // both.
            row.due_at = match row.is_enabled {
                true => self.asks(user, zone, row.handled_until, now).await?.first,
                false => None,
            };
            row.due_partition = row.due_at.map(|due_at| keys::due_partition(due_at, user));
            row.updated_at = now;
            if self.replace(user, before.as_ref(), &row).await? {
                return Ok(row);
            }
        }
        Err(StoreError::Busy("the reminders of doses are being changed from several sides".to_owned()).into())
    }

    /// Works out again when the next dose asks, after a change of medicines, of a snooze or of the
    /// time zone. A user without reminders of doses gets none.
    ///
    /// # Errors
    /// As [`Reminders::change`]. The change before it stays, so the caller repeats both.
    pub async fn follow_doses(&self, user: &UserId, zone: &TimeZone, now: Timestamp) -> Result<(), WriteError> {
        if self.get::<DoseReminder>(user).await?.is_some_and(|row| row.is_enabled) {
            self.change_doses(user, DoseReminderChange::default(), zone, now).await?;
        }
        Ok(())
    }

    /// Claims all times until `now`. `None` when somebody else has claimed them or the user has
    /// changed the reminders; otherwise whether a message may be sent.
    ///
    /// A crash after this write loses the message, which is better than sending it twice.
    pub async fn claim_doses(
        &self,
        due: &DoseReminder,
        asks: &DoseAsks,
        now: Timestamp,
    ) -> Result<Option<bool>, StoreError> {
        let user = UserId::new(due.user_id.as_str()).map_err(StoreError::unreadable)?;
        let today = TimeZone::UTC.to_datetime(now).date();
        let sent = if due.sent_on == Some(today) { due.sent } else { 0 };
        let is_sent = !asks.due.is_empty() && sent < DOSE_MESSAGES_MAX;
        let claim_id = Some(fastrand::u32(..));
        let mut row = DoseReminder { handled_until: now, due_at: asks.next, claim_id, updated_at: now, ..due.clone() };
        if is_sent {
            (row.sent_on, row.sent) = (Some(today), sent + 1);
        } else if !asks.due.is_empty() {
            // Nothing more is sent today, so nothing more is looked at today.
            row.handled_until = utc_day_end(now);
            row.due_at = asks.next.map(|next| next.max(row.handled_until));
        }
        row.due_partition = row.due_at.map(|due_at| keys::due_partition(due_at, &user));
        Ok(self.take(due, &row).await?.then_some(is_sent))
    }
}
