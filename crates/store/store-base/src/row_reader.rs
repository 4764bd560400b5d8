//! Reads lists whose rows other clients may have written. An unreadable row is left out, counted
//! and logged.

use aws_sdk_dynamodb::types::AttributeValue;

use crate::StoreError;
use crate::item::Item;
use crate::series::{Direction, Page, Rows, merge};

/// The metric of the rows that were left out. An alarm watches it.
const ROWS_UNREADABLE: &str = "RowsUnreadable";

/// How many keys one list logs. More would fill the log on each request for a table with many
/// unreadable rows.
const LOGGED_MAX: usize = 5;

/// Reads the rows of one list. Without it, one unreadable row would turn the whole list into an
/// error, on each request.
///
/// Create one for each list, pass each item to [`RowReader::read`], and return the number
/// [`skipped`](RowReader::skipped) to the caller.
///
/// A page continues after its last *item*, readable or not: take `next` from the key of the item or
/// from `LastEvaluatedKey`. A list that is merged from several queries uses [`merge_placed`] for
/// the same reason.
#[derive(Debug)]
pub struct RowReader {
    key_names: [&'static str; 2],
    skipped: usize,
}

/// The position of a row in its list, and the row if it is readable.
pub type Placed<T> = (String, Option<T>);

impl RowReader {
    /// A reader for a table with these key attributes.
    pub fn new(key_names: [&'static str; 2]) -> Self {
        Self { key_names, skipped: 0 }
    }

    /// The row of an item; `None` when it is unreadable.
    pub fn read<T>(&mut self, item: Item, read: impl FnOnce(Item) -> Result<T, StoreError>) -> Option<T> {
        // `read` consumes the item, but its key is needed afterwards.
        let key = self.key_names.map(|name| text(&item, name));
        let error = match read(item) {
            Ok(row) => return Some(row),
            Err(error) => error,
        };
        self.skipped += 1;
        metrics::counter!(ROWS_UNREADABLE).increment(1);
        if self.skipped <= LOGGED_MAX {
            let [partition, sort] = key;
            tracing::error!(partition, sort, %error, "a row cannot be read and is left out of its list");
        }
        None
    }

    /// The row with its position, which is the text of the attribute `place`.
    pub fn read_placed<T>(
        &mut self,
        item: Item,
        place: &str,
        read: impl FnOnce(Item) -> Result<T, StoreError>,
    ) -> Placed<T> {
        (text(&item, place), self.read(item, read))
    }

    /// The number of rows that were left out.
    pub fn skipped(&self) -> usize {
        self.skipped
    }
}

/// Merges the rows of several queries, each sorted by position, into one page of at most `limit`
/// rows. Unreadable rows are left out. The next page continues after the last position, readable or
/// not.
pub fn merge_placed<T, P>(
    queries: Vec<Rows<Placed<T>>>,
    direction: Direction,
    limit: usize,
    position: impl FnOnce(String) -> P,
) -> Page<T, P> {
    let Rows { mut rows, has_more } = merge(queries, direction, limit, |(place, _)| place.clone());
    let next = rows.last_mut().filter(|_| has_more).map(|(place, _)| position(std::mem::take(place)));
    let places = rows.len();
    let items: Vec<_> = rows.into_iter().filter_map(|(_, row)| row).collect();
    Page { next, skipped: places - items.len(), items }
}

/// The text of an attribute. All keys of the suite are texts.
fn text(item: &Item, name: &str) -> String {
    item.get(name).and_then(|value: &AttributeValue| value.as_s().ok()).cloned().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::item::{n, s};

    #[test]
    fn an_unreadable_row_leaves_the_others_in_their_order() {
        let items = ["1", "x", "3"].map(|text| Item::from([("pk".to_owned(), s("list")), ("sk".to_owned(), s(text))]));
        let number = |item: Item| match text(&item, "sk").parse::<u8>() {
            Ok(number) => Ok(number),
            Err(error) => Err(StoreError::unreadable(error)),
        };
        let mut reader = RowReader::new(["pk", "sk"]);
        let placed: Vec<_> = items.into_iter().map(|item| reader.read_placed(item, "sk", number)).collect();
        let expected = [("1", Some(1)), ("x", None), ("3", Some(3))].map(|(place, row)| (place.to_owned(), row));
        assert_eq!(placed, expected);
        assert_eq!(reader.skipped(), 1);
        assert_eq!(text(&Item::from([("pk".to_owned(), n(7))]), "pk"), "");
    }

    #[test]
    fn next_page_continues_after_an_unreadable_row() {
        let query = |rows: &[(&str, Option<u8>)], has_more| {
            let rows = rows.iter().map(|(place, row)| ((*place).to_owned(), *row)).collect();
            Rows { rows, has_more }
        };
        let queries =
            || vec![query(&[("a", Some(1)), ("c", None)], true), query(&[("b", None), ("d", Some(4))], false)];
        let page = |limit| merge_placed(queries(), Direction::Asc, limit, |place| place);
        assert_eq!(page(2), Page { items: vec![1], next: Some("b".to_owned()), skipped: 1 });
        assert_eq!(page(9), Page { items: vec![1], next: Some("c".to_owned()), skipped: 2 });
        let unreadable = vec![query(&[("a", None)], true)];
        let page = merge_placed(unreadable, Direction::Asc, 1, |place| place);
        assert_eq!(page, Page { items: vec![], next: Some("a".to_owned()), skipped: 1 });
    }
}
