//! The rules of Okusuri, a medication log: which days count, when to rest, and when to remind.

mod course;
mod email;
mod log;
mod medicine;
mod month;
mod notification;
mod reminder;
pub mod sign_in;
mod stretch;
mod summary;

pub use course::{BLEEDING_DAYS_MAX, Course, REST_DAYS};
pub use email::{Email, EmailError};
pub use log::{DateRefusal, FIRST_DATE, Log, Note, NoteError, loggable};
pub use medicine::{
    ClockTimeError, Dose, DoseState, FORMER_TIMES_MAX, FormerTimes, MEDICINES_MAX, MISSED_AFTER, Plan, PlanError,
    Recorded, SNOOZE_MINUTES_MAX, TIMES_MAX, clock_time, parse_clock_time,
};
pub use month::{ADHERENCE_DAYS, Adherence, Day, DayState, adherence_range, days};
pub use notification::{FAILURES_MAX, Platform, PlatformError, SUBSCRIPTIONS_MAX};
pub use reminder::{LATE_MAX, TIME_DEFAULT, Turn, due_on, local_date, next_due, turn};
pub use stretch::{Missing, Stretch};
pub use summary::{Change, Runs, Status, Summary, Unresolved};
