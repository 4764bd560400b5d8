//! The rules of Okusuri, a medication log: valid days, rests, doses, reminders and sign-in.

mod dose_reminder;
mod email;
mod log;
mod log_window;
mod medicine;
mod month;
mod notification;
mod regimen;
mod reminder;
pub mod sign_in;
mod stock;
mod streak;
mod summary;
mod symptom;

pub use dose_reminder::{
    DOSE_ASKS, DOSE_MAIL_DAYS, DOSE_MESSAGES_MAX, DOSE_REPEAT, asking_days, first_asking_day, may_ask, utc_day_end,
};
pub use email::{Email, EmailError};
pub use log::{DateRefusal, FIRST_DATE, Log, Note, NoteError, check_loggable};
pub use log_window::{LogWindow, MissingLogs};
pub use medicine::{
    ClockTimeError, DAY_DOSES_MAX, DOSES_MAX, Dose, DoseRecord, DoseState, FORMER_TIMES_MAX, FormerTimes,
    MEDICINES_MAX, MISSED_AFTER, Plan, PlanError, SNOOZE_MINUTES_MAX, TIMES_MAX, clock_time, parse_clock_time,
    taken_at,
};
pub use month::{ADHERENCE_DAYS, Adherence, Day, DayState, adherence_range, days};
pub use notification::{Language, PUSH_FAILURE_PAUSE, PUSH_FAILURES_MAX, Platform, PlatformError, SUBSCRIPTIONS_MAX};
pub use regimen::{Cycle, Regimen, RegimenError};
pub use reminder::{
    REMINDER_LATE_MAX, REMINDER_TIME_DEFAULT, ReminderDecision, decide_reminder, due_on, local_date, next_due,
};
pub use stock::{Stock, StockChange, StockError, Supply, UNITS_MAX, WARN_DAYS_DEFAULT, WARN_DAYS_MAX};
pub use streak::{BLEEDING_DAYS_MAX, REST_DAYS, StreakState};
pub use summary::{LogChange, PastStreaks, Status, Summary, SummaryError};
pub use symptom::{Flow, FlowError, Symptom, SymptomsError, UnknownName};
