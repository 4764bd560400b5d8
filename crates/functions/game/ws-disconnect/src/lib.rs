//! Handles the end of a connection. API Gateway reports it on a best-effort basis. If it does not,
//! a message that cannot be posted reveals the end.

use game_room::{GameRoom, Sockets};
use lambda_kit::socket::{SocketEvent, SocketReply};

/// Handles one closed connection.
pub async fn handle<S: Sockets>(room: &GameRoom<S>, event: SocketEvent, now_ms: u64) -> (SocketReply, &'static str) {
    let handled = room.disconnected(event.connection_id(), now_ms).await;
    (SocketReply::new(handled.status), handled.outcome)
}
