//! Takes every message of a connection. What becomes of it is the game room's matter; this is how
//! it gets there from API Gateway.

use game_room::{GameRoom, Sockets};
use lambda_kit::socket::{SocketEvent, SocketReply};

/// Handles one message. Answers are sent through the sockets; the returned status is for the
/// metrics of API Gateway.
pub async fn handle<S: Sockets>(room: &GameRoom<S>, event: SocketEvent, now_ms: u64) -> (SocketReply, &'static str) {
    let handled = room.message(event.connection_id(), event.text().unwrap_or_default(), now_ms).await;
    (SocketReply::new(handled.status), handled.outcome)
}
