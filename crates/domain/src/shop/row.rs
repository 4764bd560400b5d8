//! The ids of the rows in a product's ledgers: the price history and the stock ledger.

use std::fmt;
use std::str::FromStr;

use uuid::Uuid;

use crate::Moment;

/// The id of a row: its moment, and a UUID that tells rows of the same moment apart. It is printed
/// as `2024-01-15T10:30:00.123000000Z~<uuid>`. Later rows of a ledger have greater ids, as values
/// and as texts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RowId {
    /// The time of the change.
    pub at: Moment,
    /// A UUIDv7.
    pub id: Uuid,
}

/// The text is not a valid [`RowId`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("expected the id of a row, as 2024-01-15T10:30:00.123000000Z~018d0c1e-8b7b-7000-8000-000000000000")]
pub struct RowIdError;

impl RowId {
    /// The id of the row after the newest one of a ledger. Its moment is `now`, but at least one
    /// nanosecond after the newest row. Without this, rows written by instances with different
    /// clocks would not be in the order in which the changes happened.
    pub fn following(newest: Option<Moment>, now: Moment, id: Uuid) -> Self {
        // The last supported moment has no next nanosecond. There, only the UUIDs tell rows apart.
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
        // Accepts only the printed form, so that a row has one id.
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
    fn row_id_follows_the_newest_despite_a_slow_clock() {
        let (early, late) = (moment("2024-01-15T10:30:00Z"), moment("2024-01-15T10:30:01Z"));
        let at = |newest, now| RowId::following(newest, now, Uuid::nil()).at.to_string();
        assert_eq!(at(None, early), "2024-01-15T10:30:00.000000000Z");
        assert_eq!(at(Some(early), late), "2024-01-15T10:30:01.000000000Z");
        assert_eq!(at(Some(late), early), "2024-01-15T10:30:01.000000001Z");
        assert_eq!(at(Some(late), late), "2024-01-15T10:30:01.000000001Z");
    }

    #[test]
    fn row_id_parses_only_its_printed_form() {
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
