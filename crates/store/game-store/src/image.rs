//! What the table's stream tells: an item before and after, read with the same rows as a query
//! reads.

use domain::game::{GameId, Room};
use serde::Deserialize;

use super::keys::{CHAT_PREFIX, GAME_PREFIX, META, PARTITION_KEY, SORT_KEY};
use super::rows::MetaRow;
use store_base::StoreError;

/// An item in DynamoDB's JSON.
#[derive(Debug, Clone, Deserialize)]
pub struct GameImage(serde_dynamo::Item);

/// A change of a game in the stream.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum GameChange {
    /// Its room has changed.
    Room {
        /// From this.
        before: Box<Room>,
        /// To this.
        after: Box<Room>,
    },
    /// Somebody said something in it.
    Said(GameId),
}

impl GameChange {
    /// What a record tells; `None` when it is about another kind of item, or the first or the last
    /// of its item.
    ///
    /// # Errors
    /// [`StoreError::Unreadable`] when an item is not what its key promises.
    pub fn of(before: Option<&GameImage>, after: Option<&GameImage>) -> Result<Option<Self>, StoreError> {
        let Some(after) = after else { return Ok(None) };
        match (after.text(SORT_KEY).unwrap_or_default(), before) {
            (META, Some(before)) => {
                let (before, after) = (Box::new(before.room()?), Box::new(after.room()?));
                Ok(Some(Self::Room { before, after }))
            }
            (sort, None) if sort.starts_with(CHAT_PREFIX) => {
                let game = after.text(PARTITION_KEY).and_then(|partition| partition.strip_prefix(GAME_PREFIX));
                let game = game.ok_or_else(|| StoreError::unreadable("a line of no game"))?;
                Ok(Some(Self::Said(game.parse().map_err(StoreError::unreadable)?)))
            }
            _ => Ok(None),
        }
    }
}

impl GameImage {
    fn text(&self, name: &str) -> Option<&str> {
        match self.0.get(name)? {
            serde_dynamo::AttributeValue::S(text) => Some(text),
            _ => None,
        }
    }

    fn room(&self) -> Result<Room, StoreError> {
        let row: MetaRow = serde_dynamo::from_item(self.0.clone()).map_err(StoreError::unreadable)?;
        row.try_into()
    }
}
