//! The rows of a product's ledgers: prices and movements of stock.

use std::fmt;
use std::str::FromStr;

use uuid::Uuid;

use crate::Moment;

/// Which row: its moment, and an id for rows of one moment. Shown as `2024-01-15T10:30:00.123000000Z~<uuid>`; of two rows of one ledger, the
/// later one is the greater, and so is its text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RowId {
    /// When it happened.
    pub at: Moment,
    /// A UUIDv7.
    pub id: Uuid,
}

/// A text that is no [`RowId`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("expected the id of a row, as 2024-01-15T10:30:00.123000000Z~018d0c1e-8b7b-7000-8000-000000000000")]
pub struct RowIdError;

impl RowId {
    /// The row that follows the newest one of a ledger. Clocks of two instances differ, and the ledger's order is still the order in which things
    /// happened: the row's moment is now, or a nanosecond after the newest row's where that is not earlier.
    pub fn following(newest: Option<Moment>, now: Moment, id: Uuid) -> Self {
        // At the end of time there is no next nanosecond, and ids alone tell rows apart.
        let earliest = newest.map(|newest| newest.next().unwrap_or(newest));
        Self { at: earliest.map_or(now, |earliest| earliest.max(now)), id }
    }
}

impl fmt::Display for RowId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}~{}", self.at, self.id)
    }
}

impl FromStr for RowId {
    type Err = RowIdError;

    fn from_str(text: &str) -> Result<Self, RowIdError> {
        let (at, id) = text.split_once('~').ok_or(RowIdError)?;
        let row =
            Self { at: Moment::parse(at).map_err(|_| RowIdError)?, id: Uuid::parse_str(id).map_err(|_| RowIdError)? };
        // Only as it is printed: a row has one id.
        (row.to_string() == text).then_some(row).ok_or(RowIdError)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn moment(text: &str) -> Moment {
        Moment::parse(text).expect("a moment")
    }

    #[test]
    fn a_row_comes_after_the_newest_one_whatever_the_clock_says() {
        let (early, late) = (moment("2024-01-15T10:30:00Z"), moment("2024-01-15T10:30:01Z"));
        let at = |newest, now| RowId::following(newest, now, Uuid::nil()).at.to_string();
        assert_eq!(at(None, early), "2024-01-15T10:30:00.000000000Z");
        assert_eq!(at(Some(early), late), "2024-01-15T10:30:01.000000000Z");
        assert_eq!(at(Some(late), early), "2024-01-15T10:30:01.000000001Z");
        assert_eq!(at(Some(late), late), "2024-01-15T10:30:01.000000001Z");
    }

    #[test]
    fn a_rows_id_is_read_back_as_it_is_shown_and_in_no_other_spelling() {
        let row = RowId { at: moment("2024-01-15T10:30:00.5Z"), id: Uuid::from_u128(7) };
        assert_eq!(row.to_string().parse(), Ok(row));
        let id = Uuid::from_u128(7);
        for text in [
            "",
            "2024-01-15T10:30:00.500000000Z",
            &format!("2024-01-15T10:30:00.5Z~{id}"),
            &format!("2024-01-15T10:30:00.500000000Z~{}", id.simple()),
            &format!("2024-01-15T10:30:00.500000000Z#{id}"),
        ] {
            assert_eq!(text.parse::<RowId>(), Err(RowIdError), "{text:?}");
        }
    }
}
