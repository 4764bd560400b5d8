//! Passes the messages of connections from API Gateway to the game room.

use game_room::{GameRoom, Sockets};
use lambda_kit::socket::{SocketEvent, SocketReply};

/// Handles one message. Answers are posted to the sockets; the reply is visible only in API
/// Gateway's metrics.
pub async fn handle<S: Sockets>(room: &GameRoom<S>, event: SocketEvent, now_ms: u64) -> (SocketReply, &'static str) {
    let handled = room.message(event.connection_id(), event.text().unwrap_or_default(), now_ms).await;
    (SocketReply::new(handled.status), handled.outcome)
}
