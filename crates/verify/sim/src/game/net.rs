//! The network between functions and players: messages are lost, come twice, and overtake each
//! other.

use std::time::Duration;

use bytes::Bytes;
use game_room::{PostError, Sockets};
use tokio::time::sleep;

use super::oracle;
use super::world::World;

/// The sockets, from the functions' side.
#[derive(Debug, Clone)]
pub(super) struct Net(pub(super) World);

impl Sockets for Net {
    async fn post(&self, connection_id: &str, message: Bytes) -> Result<(), PostError> {
        let latency = self.0.with(|state| state.history.latency());
        sleep(latency).await;
        // Whether it gets there or not: it was on its way out.
        oracle::look_at(&self.0, connection_id, &message);
        let copies = self.0.with(|state| {
            state.history.count("messages", 1);
            let is_open = state.sockets.get(connection_id).is_some_and(|socket| socket.is_open);
            if !is_open {
                return Err(PostError::Gone);
            }
            if state.history.strikes("post failed") {
                return Err(PostError::Failed("on purpose".to_owned()));
            }
            let copies = state.history.copies("post lost", "post twice");
            state.history.under_way += copies;
            Ok(copies)
        })?;
        for _ in 0..copies {
            let (world, message, connection_id) = (self.0.clone(), message.clone(), connection_id.to_owned());
            tokio::spawn(async move {
                let latency = world.with(|state| state.history.latency());
                sleep(latency).await;
                world.with(|state| {
                    state.history.under_way -= 1;
                    if let Some(socket) = state.sockets.get_mut(&connection_id) {
                        socket.inbox.push(serde_json::from_slice(&message).unwrap_or_default());
                    }
                });
            });
        }
        Ok(())
    }

    async fn close(&self, connection_id: &str) -> Result<(), PostError> {
        self.0.with(|state| {
            if let Some(socket) = state.sockets.get_mut(connection_id) {
                socket.is_open = false;
            }
        });
        Ok(())
    }
}

/// Brings a message of a connection to the functions, as often and as late as the network likes.
pub(super) fn send(world: &World, connection_id: &str, message: String) {
    let copies = world.with(|state| {
        state.history.note(|| format!("{connection_id} sends {message}"));
        let copies = state.history.copies("message lost", "message twice");
        state.history.under_way += copies;
        copies
    });
    for _ in 0..copies {
        let (world, message, connection_id) = (world.clone(), message.clone(), connection_id.to_owned());
        invoke(&world.clone(), async move {
            let room = world.instance();
            let now_ms = world.with(|state| state.now_ms());
            let handled = room.message(&connection_id, &message, now_ms).await;
            world.with(|state| state.history.note(|| format!("{connection_id} {message}: {}", handled.outcome)));
        });
    }
}

/// Tells the functions that a connection has ended, if the gateway does.
pub(super) fn end(world: &World, connection_id: &str) {
    let is_told = world.with(|state| {
        if let Some(socket) = state.sockets.get_mut(connection_id) {
            socket.is_open = false;
        }
        let is_told = !state.history.strikes("end not told");
        state.history.under_way += usize::from(is_told);
        is_told
    });
    if is_told {
        let (world, connection_id) = (world.clone(), connection_id.to_owned());
        invoke(&world.clone(), async move {
            let now_ms = world.with(|state| state.now_ms());
            world.instance().disconnected(&connection_id, now_ms).await;
        });
    }
}

/// Runs an invocation, which may die at any point.
fn invoke(world: &World, work: impl Future<Output = ()> + 'static) {
    let world = world.clone();
    let (latency, life) = world.with(|state| {
        let life = state.history.strikes("instance died").then(|| Duration::from_millis(state.history.rng.u64(1..60)));
        (state.history.latency(), life.unwrap_or(Duration::from_secs(600)))
    });
    tokio::task::spawn_local(async move {
        sleep(latency).await;
        let _ = tokio::time::timeout(life, work).await;
        world.with(|state| state.history.under_way -= 1);
    });
}
