//! The rules that the simulation can leave out, to see that it finds the miscounts. Without the
//! feature `sim` each of them holds.

use std::collections::BTreeMap;

use jiff::Timestamp;

use crate::batch::Contributions;
use crate::checkpoint::{FirstSeen, SequenceNumber, ShardHash};
use crate::contribution::Change;
use crate::declaration::Rollup;
use crate::distinct::holding::{Holding, SHARDS_MAX};
use crate::shard::{Checkpoint, CommitError, Shard};
use crate::table::Table;

#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Rules {}

impl Rules {
    /// The contributions of a change.
    pub(crate) fn contributions<T>(self, rollup: &Rollup<T>, change: Change<T>) -> Contributions {
        rollup.contributions(&change)
    }

    /// Whether a changed declaration is refused.
    pub(crate) fn guards_declaration(self) -> bool {
        true
    }

    /// Whether the stream of another table is refused.
    pub(crate) fn guards_tables(self) -> bool {
        true
    }

    /// Whether a recount refuses to judge when it may have read the wrong items.
    #[cfg(feature = "recount")]
    pub(crate) fn guards_recounts(self) -> bool {
        true
    }

    /// Folds the shards of a holding whose checkpoint has passed what they have applied.
    pub(crate) fn fold(self, holding: &mut Holding, passed: &BTreeMap<ShardHash, SequenceNumber>) {
        holding.fold(passed, self.shards_max());
    }

    /// How many shards a holding has before it is folded.
    pub(crate) fn shards_max(self) -> usize {
        SHARDS_MAX
    }

    /// The checkpoint with which a chunk's values are recorded.
    pub(crate) fn claimed(self, checkpoint: Option<SequenceNumber>) -> Option<SequenceNumber> {
        checkpoint
    }

    /// Whether the shard has still to count a value that has this first-seen record.
    pub(crate) fn is_open(self, record: FirstSeen, shard: ShardHash, checkpoint: Option<SequenceNumber>) -> bool {
        record.is_uncounted_by(shard, checkpoint)
    }

    /// The checkpoint that a commit starts from, and where the commit moves it.
    pub(crate) async fn start(
        self,
        _: (&Table, &str, &Shard),
        read: Checkpoint,
        to: Option<SequenceNumber>,
        _: Timestamp,
    ) -> Result<(Checkpoint, Option<SequenceNumber>), CommitError> {
        Ok((read, to))
    }

    /// The part of a buffer that a flush has still to add.
    pub(crate) async fn unflushed(self, _: (&Table, &str, &Shard), read: Checkpoint, _: Timestamp) -> Checkpoint {
        read
    }

    /// The shard under which a redrive remembers an item.
    #[cfg(feature = "recount")]
    pub(crate) fn redrive_shard(self, of_item: Shard) -> Shard {
        of_item
    }
}
