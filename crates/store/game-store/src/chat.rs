//! The chat of a game.

use domain::game::{GameId, Line, LineId, LineKind, PlayerId, PlayerName, SystemText, Talk, TurnId};
use serde::{Deserialize, Serialize};

use super::keys::{
    ARCHIVE_TTL_S, CHAT_PREFIX, CHAT_PREFIX_END, Item, PARTITION_KEY, SORT_KEY, TTL, chat, expires, game, key, n,
};
use super::rows::player_id;
use store_base::Page;
use store_base::RowReader;
use store_base::{StoreError, Table};

/// A chat line as it is stored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredLine {
    /// The line.
    pub line: Line,
    /// If set, only the players who solved this turn, and its drawer, may read the line.
    pub solvers_of: Option<TurnId>,
}

/// Where a page ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ChatPosition(String);

#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct ChatRow {
    id: String,
    game_id: String,
    player_id: String,
    player_name: String,
    content: String,
    #[serde(rename = "type")]
    kind: ChatLineKind,
    created_at: u64,
    #[serde(default, skip_serializing_if = "is_false")]
    is_guess: bool,
    #[serde(default, skip_serializing_if = "is_false")]
    is_correct: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    round_number: Option<u8>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    turn_number: Option<u8>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    audience: Option<AudienceRow>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    turn_id: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
enum ChatLineKind {
    Normal,
    System,
    Guess,
    Correct,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
enum AudienceRow {
    /// Who knows the answer of `turnId`.
    Solvers,
}

fn is_false(value: &bool) -> bool {
    !value
}

const SYSTEM_TEXTS: [(SystemText, &str); 5] = [
    (SystemText::Joined, "joined"),
    (SystemText::Left, "left"),
    (SystemText::Kicked, "kicked"),
    (SystemText::Skipped, "skipped"),
    (SystemText::Host, "host"),
];

/// Keeps and reads the chat. Its requests are `PutItem` and `Query`.
#[derive(Debug, Clone)]
pub struct Chat {
    table: Table,
}

impl Chat {
    /// The chat in `table`.
    pub fn new(table: &Table) -> Self {
        Self { table: table.clone() }
    }

    /// Stores a line. Stored again, it is the same one: its key is made of its time and id.
    pub async fn put(&self, game_id: GameId, line: &StoredLine) -> Result<(), StoreError> {
        self.table.put_item(line.item(game_id)?).send().await?;
        Ok(())
    }

    /// A page of lines, newest first, after an earlier page. The caller filters the lines by
    /// audience.
    pub async fn page(
        &self,
        game_id: GameId,
        limit: u16,
        after: Option<&ChatPosition>,
    ) -> Result<Page<StoredLine, ChatPosition>, StoreError> {
        let lines = self.table.query_between([PARTITION_KEY, SORT_KEY], game(game_id), CHAT_PREFIX, CHAT_PREFIX_END);
        let answer = lines
            .scan_index_forward(false)
            .limit(i32::from(limit))
            .set_exclusive_start_key(after.map(|ChatPosition(sort)| key(game(game_id), sort)))
            .send()
            .await?;
        let last = answer.last_evaluated_key.as_ref().and_then(|key| key.get(SORT_KEY)?.as_s().ok());
        let next = last.map(|sort| ChatPosition(sort.clone()));
        let mut reader = RowReader::new([PARTITION_KEY, SORT_KEY]);
        let lines = answer.items.unwrap_or_default().into_iter().filter_map(|item| reader.read(item, StoredLine::read));
        Ok(Page { items: lines.collect(), next, skipped: reader.skipped() })
    }
}

impl StoredLine {
    fn item(&self, game_id: GameId) -> Result<Item, StoreError> {
        let line = &self.line;
        let (kind, content) = match &line.kind {
            LineKind::Talk(talk) => (ChatLineKind::Normal, talk.as_str()),
            LineKind::Guess(talk) => (ChatLineKind::Guess, talk.as_str()),
            LineKind::Correct => (ChatLineKind::Correct, ""),
            LineKind::System(text) => (
                ChatLineKind::System,
                SYSTEM_TEXTS.iter().find(|(other, _)| other == text).map_or("", |(_, name)| *name),
            ),
        };
        let row = ChatRow {
            id: line.id.to_string(),
            game_id: game_id.to_string(),
            player_id: line.player.to_string(),
            player_name: line.name.to_string(),
            content: content.to_owned(),
            kind,
            created_at: line.at_ms,
            is_guess: matches!(kind, ChatLineKind::Guess | ChatLineKind::Correct),
            is_correct: kind == ChatLineKind::Correct,
            round_number: line.turn.map(TurnId::round),
            turn_number: line.turn.map(TurnId::number),
            audience: self.solvers_of.map(|_| AudienceRow::Solvers),
            turn_id: self.solvers_of.map(|turn| turn.to_string()),
        };
        let mut item: Item = serde_dynamo::to_item(row).map_err(StoreError::unreadable)?;
        item.extend(key(game(game_id), chat(line.at_ms, line.id)));
        item.insert(TTL.to_owned(), n(expires(line.at_ms, ARCHIVE_TTL_S)));
        Ok(item)
    }

    fn read(item: Item) -> Result<Self, StoreError> {
        let row: ChatRow = serde_dynamo::from_item(item).map_err(StoreError::unreadable)?;
        let talk = || Talk::new(&row.content).map_err(StoreError::unreadable);
        let kind = match row.kind {
            ChatLineKind::Normal => LineKind::Talk(talk()?),
            ChatLineKind::Guess => LineKind::Guess(talk()?),
            ChatLineKind::Correct => LineKind::Correct,
            ChatLineKind::System => {
                let text = SYSTEM_TEXTS.iter().find(|(_, name)| *name == row.content);
                let (text, _) = text.ok_or_else(|| StoreError::unreadable("a system's line with an unknown text"))?;
                LineKind::System(*text)
            }
        };
        let turn = row.round_number.zip(row.turn_number);
        let turn = turn.map(|(round, turn)| TurnId::new(round, turn).map_err(StoreError::unreadable)).transpose()?;
        let id: LineId = row.id.parse().map_err(StoreError::unreadable)?;
        let player: PlayerId = player_id(&row.player_id)?;
        let name = PlayerName::new(&row.player_name).map_err(StoreError::unreadable)?;
        let solvers_of = match (row.audience, row.turn_id) {
            (Some(AudienceRow::Solvers), Some(turn)) => Some(turn.parse().map_err(StoreError::unreadable)?),
            (None, _) => None,
            (Some(_), None) => return Err(StoreError::unreadable("a line for those in the know of no turn")),
        };
        Ok(Self { line: Line { id, player, name, kind, at_ms: row.created_at, turn }, solvers_of })
    }
}
