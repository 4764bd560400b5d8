//! Fixed windows of time: hours, days, ISO weeks, months and years of one time zone.

use jiff::civil::{Date, DateTime};
use jiff::tz::{AmbiguousOffset, TimeZone};

/// The length of a window.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Window {
    /// An hour of the clock, `2025-10-02T09`. A clock that is set back repeats an hour; both count
    /// in the same window. An hour that a clock skips has no window.
    Hour,
    /// A day, `2025-10-02`.
    Day,
    /// A week from Monday to Sunday (ISO 8601), `2025-W40`. Its year may differ from the day's.
    Week,
    /// A month, `2025-10`.
    Month,
    /// A year, `2025`.
    Year,
}

impl Window {
    /// The label of the window that contains `at`. Labels of years 0 to 9999 sort by time.
    pub fn label(self, at: DateTime) -> String {
        match self {
            Self::Hour => format!("{}T{:02}", at.date(), at.hour()),
            _ => self.label_of(at.date()),
        }
    }

    /// The label of the window that contains a day; for [`Window::Hour`] its first hour.
    pub fn label_of(self, date: Date) -> String {
        match self {
            Self::Hour => format!("{date}T00"),
            Self::Day => date.to_string(),
            Self::Week => {
                let week = date.iso_week_date();
                format!("{:04}-W{:02}", week.year(), week.week())
            }
            Self::Month => format!("{:04}-{:02}", date.year(), date.month()),
            Self::Year => format!("{:04}", date.year()),
        }
    }

    /// Whether a text has the form of a label.
    pub(crate) fn is_label(self, text: &str) -> bool {
        let form: &[u8] = match self {
            Self::Hour => b"dddd-dd-ddTdd",
            Self::Day => b"dddd-dd-dd",
            Self::Week => b"dddd-Wdd",
            Self::Month => b"dddd-dd",
            Self::Year => b"dddd",
        };
        let fits = |(byte, form): (u8, &u8)| if *form == b'd' { byte.is_ascii_digit() } else { byte == *form };
        text.len() == form.len() && text.bytes().zip(form).all(fits)
    }

    /// The label of the last window that begins on a day.
    pub(crate) fn last_label_of(self, date: Date) -> String {
        if self == Self::Hour { format!("{date}T23") } else { self.label_of(date) }
    }

    /// The labels of the windows from one day to another, both included, in their order.
    pub(crate) fn labels(self, from: Date, to: Date) -> Vec<String> {
        let days = std::iter::successors(Some(from), |day| day.tomorrow().ok()).take_while(|day| *day <= to);
        let mut labels: Vec<String> = match self {
            Self::Hour => days.flat_map(|day| (0..24).map(move |hour| format!("{day}T{hour:02}"))).collect(),
            _ => days.map(|day| self.label_of(day)).collect(),
        };
        labels.dedup();
        labels
    }

    /// Whether the clocks of a zone skip the window: an hour, when they are set forward.
    pub(crate) fn is_skipped(self, label: &str, zone: &TimeZone) -> bool {
        let is_gap = |minute: &str| {
            let time = format!("{label}:{minute}").parse::<DateTime>();
            let offset = |time| zone.to_ambiguous_timestamp(time).offset();
            time.is_ok_and(|time| matches!(offset(time), AmbiguousOffset::Gap { .. }))
        };
        self == Self::Hour && is_gap("00") && is_gap("59")
    }

    /// Splits a label into the bucket whose first-seen entries share one item, and the entry's slot
    /// in it. A day and its month share a bucket. So one item has at most 53 entries.
    pub(crate) fn bucket(self, label: &str) -> (&str, &str) {
        let at = match self {
            // `2025-10-02` and `T09`
            Self::Hour => 10,
            // `2025-10` and `-02`
            Self::Day => 7,
            // `2025` and `-W40`
            Self::Week => 4,
            Self::Month | Self::Year => label.len(),
        };
        label.split_at_checked(at).unwrap_or((label, ""))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use jiff::{Timestamp, ToSpan};

    const ALL: [Window; 5] = [Window::Hour, Window::Day, Window::Week, Window::Month, Window::Year];

    fn labels(at: &str, zone: &TimeZone) -> Vec<String> {
        let at: Timestamp = at.parse().expect("a time");
        ALL.map(|window| window.label(zone.to_datetime(at))).to_vec()
    }

    #[test]
    fn a_moment_has_one_window_of_each_length() {
        let utc = labels("2025-10-02T09:59:59.999Z", &TimeZone::UTC);
        assert_eq!(utc, ["2025-10-02T09", "2025-10-02", "2025-W40", "2025-10", "2025"]);
    }

    #[test]
    fn clocks_that_are_set_forward_skip_an_hour() {
        let skipped = |zone: &str, day: &str| {
            let zone = TimeZone::get(zone).expect("a time zone");
            let hours = (0..24).map(|hour| format!("{day}T{hour:02}"));
            hours.filter(|hour| Window::Hour.is_skipped(hour, &zone)).collect::<Vec<_>>()
        };
        assert_eq!(skipped("America/New_York", "2026-03-08"), ["2026-03-08T02"]);
        assert_eq!(skipped("America/New_York", "2026-11-01"), [""; 0]);
        assert_eq!(skipped("Australia/Lord_Howe", "2026-10-04"), [""; 0], "it skips half an hour");
    }

    #[test]
    fn the_time_zone_decides_the_window() {
        let tokyo = TimeZone::get("Asia/Tokyo").expect("a time zone");
        let labels = labels("2024-12-31T15:00:00Z", &tokyo);
        assert_eq!(labels, ["2025-01-01T00", "2025-01-01", "2025-W01", "2025-01", "2025"]);
    }

    #[test]
    fn days_around_new_year_belong_to_iso_weeks() {
        for (day, week) in [("2024-12-30", "2025-W01"), ("2027-01-03", "2026-W53"), ("2026-01-01", "2026-W01")] {
            assert_eq!(Window::Week.label_of(day.parse().expect("a day")), week, "{day}");
        }
    }

    #[test]
    fn labels_sort_by_time() {
        let zone = TimeZone::get("America/New_York").expect("a time zone");
        let first: Timestamp = "2023-12-25T03:00:00Z".parse().expect("a time");
        for window in ALL {
            let moments = (0..24 * 400).map(|hour| first + hour.hours());
            let labels: Vec<_> = moments.map(|at| window.label(zone.to_datetime(at))).collect();
            assert!(labels.is_sorted(), "{window:?}");
            assert!(labels.iter().all(|label| window.is_label(label)), "{window:?}");
            assert!(ALL.iter().all(|other| *other == window || !other.is_label(&labels[0])), "{window:?}");
        }
    }

    #[test]
    fn a_day_shares_its_bucket_with_its_month() {
        assert_eq!(Window::Hour.bucket("2025-10-02T09"), ("2025-10-02", "T09"));
        assert_eq!(Window::Day.bucket("2025-10-02"), ("2025-10", "-02"));
        assert_eq!(Window::Week.bucket("2025-W40"), ("2025", "-W40"));
        assert_eq!(Window::Month.bucket("2025-10"), ("2025-10", ""));
        assert_eq!(Window::Year.bucket("2025"), ("2025", ""));
    }
}
