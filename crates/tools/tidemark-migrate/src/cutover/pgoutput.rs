//! Reads the messages of PostgreSQL's output plugin `pgoutput`, version 1 of the protocol
//! ([formats](https://www.postgresql.org/docs/current/protocol-logicalrep-message-formats.html)).

use std::collections::HashMap;
use std::sync::Arc;

/// A table, as the server describes it before the first change of each reading.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Relation {
    pub(super) schema: String,
    pub(super) table: String,
    /// The names of the columns, in the order of a row's values.
    pub(super) columns: Vec<String>,
}

/// The values of a row as text; `None` is NULL.
pub(super) type Values = Vec<Option<String>>;

/// A change of a row.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Change {
    pub(super) relation: Arc<Relation>,
    pub(super) before: Option<Values>,
    pub(super) after: Option<Values>,
}

/// Reads the messages of one reading of a slot, in order.
#[derive(Debug)]
pub(super) struct Decoder {
    relations: HashMap<u32, Arc<Relation>>,
    /// The end of the last transaction that was read, as a position in the WAL.
    pub(super) end: u64,
}

impl Decoder {
    /// All transactions that ended before `from` were read earlier.
    pub(super) fn new(from: u64) -> Self {
        Self { relations: HashMap::new(), end: from }
    }

    /// Reads a message. `None` if it is no change.
    pub(super) fn read(&mut self, message: &[u8]) -> Result<Option<Change>, String> {
        let mut message = Message(message);
        match message.byte()? {
            b'C' => {
                let (_flags, _commit, end) = (message.byte()?, message.u64()?, message.u64()?);
                self.end = self.end.max(end);
            }
            b'R' => {
                let id = message.u32()?;
                let (schema, table, _identity) = (message.name()?, message.name()?, message.byte()?);
                let columns = (0..message.u16()?).map(|_| {
                    let (_flags, name, _type, _modifier) =
                        (message.byte()?, message.name()?, message.u32()?, message.u32()?);
                    Ok(name)
                });
                let columns = columns.collect::<Result<_, String>>()?;
                // The server sends it once for each reading of the slot.
                self.relations.insert(id, Arc::new(Relation { schema, table, columns }));
            }
            kind @ (b'I' | b'U' | b'D') => return self.change(kind, message).map(Some),
            b'T' => return Err("a table was emptied with TRUNCATE".to_owned()),
            // The begin of a transaction, types, origins, and messages of the application.
            b'B' | b'Y' | b'O' | b'M' => {}
            kind => return Err(format!("the message {:?} is unknown", char::from(kind))),
        }
        Ok(None)
    }

    fn change(&self, kind: u8, mut message: Message<'_>) -> Result<Change, String> {
        let id = message.u32()?;
        let relation = self.relations.get(&id).cloned().ok_or("a change of a table that was not described")?;
        let Relation { schema, table, columns } = &*relation;
        let before = match kind {
            b'I' => None,
            _ if message.0.first() == Some(&b'O') => {
                message.byte()?;
                Some(message.values(columns.len(), None)?)
            }
            // Items have keys of other columns than the row's key, so the whole row is needed.
            _ => {
                return Err(format!(
                    "a change of {schema}.{table} lacks the row before it: REPLICA IDENTITY is not FULL"
                ));
            }
        };
        let after = match kind {
            b'D' => None,
            _ if message.byte()? == b'N' => Some(message.values(columns.len(), before.as_ref())?),
            _ => return Err(format!("a change of {schema}.{table} lacks the row after it")),
        };
        Ok(Change { relation, before, after })
    }
}

/// The rest of a message.
struct Message<'m>(&'m [u8]);

impl<'m> Message<'m> {
    fn array<const N: usize>(&mut self) -> Result<[u8; N], String> {
        let (first, rest) = self.0.split_first_chunk::<N>().ok_or("a message is too short")?;
        self.0 = rest;
        Ok(*first)
    }

    fn byte(&mut self) -> Result<u8, String> {
        Ok(u8::from_be_bytes(self.array()?))
    }

    fn u16(&mut self) -> Result<u16, String> {
        Ok(u16::from_be_bytes(self.array()?))
    }

    fn u32(&mut self) -> Result<u32, String> {
        Ok(u32::from_be_bytes(self.array()?))
    }

    fn u64(&mut self) -> Result<u64, String> {
        Ok(u64::from_be_bytes(self.array()?))
    }

    fn text(&mut self, length: usize) -> Result<String, String> {
        let (text, rest) = self.0.split_at_checked(length).ok_or("a message is too short")?;
        self.0 = rest;
        String::from_utf8(text.to_vec()).map_err(|_| "a text is not UTF-8".to_owned())
    }

    /// A text that ends with a zero byte.
    fn name(&mut self) -> Result<String, String> {
        let length = self.0.iter().position(|byte| *byte == 0).ok_or("a message is too short")?;
        let name = self.text(length)?;
        self.byte()?;
        Ok(name)
    }

    /// The values of a row. A large value that has not changed stands only in the row before.
    fn values(&mut self, columns: usize, before: Option<&Values>) -> Result<Values, String> {
        let count = usize::from(self.u16()?);
        if count != columns {
            return Err(format!("a row has {count} values, and its table {columns} columns"));
        }
        let value = |place| match self.byte()? {
            b'n' => Ok(None),
            b't' => {
                let length = self.u32()? as usize;
                self.text(length).map(Some)
            }
            b'u' => before
                .and_then(|before| before.get(place).cloned())
                .ok_or_else(|| "a large value is missing".to_owned()),
            kind => Err(format!("a value of the kind {:?} is unknown", char::from(kind))),
        };
        (0..count).map(value).collect()
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    /// The table `t` with the columns `id` and `body`.
    const RELATION: &[u8] =
        b"R\0\0\0\x07public\0t\0f\0\x02\x01id\0\0\0\0\x17\xff\xff\xff\xff\0body\0\0\0\0\x19\xff\xff\xff\xff";
    const UPDATE: &[u8] = b"U\0\0\0\x07O\0\x02t\0\0\0\x011t\0\0\0\x05large\x4e\0\x02t\0\0\0\x012u";

    fn commit(end: u64) -> Vec<u8> {
        [&b"C\0"[..], &[0; 8], &end.to_be_bytes(), &[0; 8]].concat()
    }

    fn texts(values: &[&str]) -> Values {
        values.iter().map(|value| Some((*value).to_owned())).collect()
    }

    #[test]
    fn a_large_value_that_has_not_changed_is_taken_from_the_row_before() {
        let mut decoder = Decoder::new(0);
        assert_eq!(decoder.read(RELATION), Ok(None));
        let change = decoder.read(UPDATE).unwrap().unwrap();
        assert_eq!(
            (&*change.relation.table, &change.relation.columns),
            ("t", &vec!["id".to_owned(), "body".to_owned()])
        );
        assert_eq!(change.before, Some(texts(&["1", "large"])));
        assert_eq!(change.after, Some(texts(&["2", "large"])));
    }

    #[test]
    fn the_end_is_that_of_the_last_transaction() {
        let mut decoder = Decoder::new(100);
        for message in [&b"B"[..], RELATION, UPDATE, &commit(140)] {
            assert_eq!(decoder.end, 100);
            decoder.read(message).unwrap();
        }
        assert_eq!(decoder.end, 140);
    }

    #[test]
    fn a_message_that_is_cut_off_anywhere_is_an_error() {
        let mut decoder = Decoder::new(0);
        decoder.read(RELATION).unwrap();
        for message in [RELATION, UPDATE] {
            for end in 0..message.len() {
                assert!(decoder.read(&message[..end]).is_err(), "{:?}", &message[..end]);
            }
        }
    }

    #[test]
    fn a_change_without_the_whole_row_before_it_and_a_truncate_are_refused() {
        let mut decoder = Decoder::new(0);
        decoder.read(RELATION).unwrap();
        let mut of_key = UPDATE.to_vec();
        of_key[5] = b'K';
        assert!(decoder.read(&of_key).unwrap_err().contains("public.t lacks the row before it"));
        assert!(decoder.read(b"T\0\0\0\x01\0\0\0\0\x07").unwrap_err().contains("TRUNCATE"));
    }
}
