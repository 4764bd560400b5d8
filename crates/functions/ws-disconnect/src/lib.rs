//! Takes the end of a connection. API Gateway tells it at best; where it does not, a message that
//! cannot be posted does.

use game_room::{GameRoom, Sockets};
use lambda_kit::socket::{SocketEvent, SocketReply};

/// Handles one end.
pub async fn handle<S: Sockets>(room: &GameRoom<S>, event: SocketEvent, now_ms: u64) -> (SocketReply, &'static str) {
    let handled = room.disconnected(event.connection_id(), now_ms).await;
    (SocketReply::new(handled.status), handled.outcome)
}
