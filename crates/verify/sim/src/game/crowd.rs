//! More people come to look on than there are places, all at once and in the middle of the storm.

use std::time::Duration;

use domain::game::{GameId, SPECTATORS_MAX};
use game_store::{Connections, NewConnection, Role};
use serde_json::json;
use tokio::time::sleep;

use super::net::{end, send};
use super::wire::Wire;
use super::world::{Socket, World, name, player};

/// The seats of the bots end long before.
const FIRST: u8 = 100;

/// Lets them come, each over a connection of their own; some go again.
pub(super) fn look_on(world: &World, game_id: GameId) {
    let last = FIRST + u8::try_from(SPECTATORS_MAX + 10).unwrap_or(u8::MAX - FIRST);
    for seat in FIRST..last {
        let world = world.clone();
        tokio::task::spawn_local(async move {
            sleep(Duration::from_millis(world.with(|state| state.history.rng.u64(5_000..9_000)))).await;
            let connection_id = format!("looks-on-{seat}");
            let (Ok(name), now_ms) = (name(seat), world.with(|state| state.now_ms())) else { return };
            let connections = Connections::new(&Wire::new(world.clone()).table());
            let (player_id, role) = (player(seat), Role::Spectator);
            let new = NewConnection { connection_id: &connection_id, player_id, game_id, role, name: &name };
            if connections.connect(&new, now_ms).await.is_err() {
                return;
            }
            let socket = Socket { seat, is_open: true, inbox: Vec::new() };
            world.with(|state| state.sockets.insert(connection_id.clone(), socket));
            send(&world, &connection_id, json!({"action": "hello", "protocol": 1}).to_string());
            let stays_ms = world.with(|state| state.history.rng.u64(10_000..30_000));
            sleep(Duration::from_millis(stays_ms)).await;
            // All go in the end: the storm is long, and each message that they get takes its time.
            end(&world, &connection_id);
        });
    }
}
