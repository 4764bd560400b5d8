//! Sockets in memory, with the faults that real ones have.

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bytes::Bytes;
use game_room::{PostError, Sockets};
use serde_json::Value;

/// Records the messages posted to each connection. Clones share the records.
#[derive(Debug, Clone, Default)]
pub struct FakeSockets(Arc<Mutex<State>>);

#[derive(Debug, Default)]
struct State {
    posted: HashMap<String, Vec<Bytes>>,
    closed: HashSet<String>,
    gone: HashSet<String>,
    failing: HashSet<String>,
    stuck: HashSet<String>,
}

impl FakeSockets {
    /// The messages to a connection since the last call, in order.
    pub fn take(&self, connection_id: &str) -> Vec<Value> {
        let messages = self.lock().posted.remove(connection_id).unwrap_or_default();
        messages.iter().map(|message| serde_json::from_slice(message).unwrap_or_default()).collect()
    }

    /// The same, as it was posted.
    pub fn take_raw(&self, connection_id: &str) -> Vec<Bytes> {
        self.lock().posted.remove(connection_id).unwrap_or_default()
    }

    /// The messages to all connections since the last call.
    pub fn take_all(&self) -> Vec<Bytes> {
        std::mem::take(&mut self.lock().posted).into_values().flatten().collect()
    }

    /// Whether the connection was ended from this side.
    pub fn is_closed(&self, connection_id: &str) -> bool {
        self.lock().closed.contains(connection_id)
    }

    /// From now on the connection is gone, as after a browser's crash.
    pub fn lose(&self, connection_id: &str) {
        self.lock().gone.insert(connection_id.to_owned());
    }

    /// From now on posts to the connection fail, or do again not.
    pub fn fail(&self, connection_id: &str, is_failing: bool) {
        if is_failing {
            self.lock().failing.insert(connection_id.to_owned());
        } else {
            self.lock().failing.remove(connection_id);
        }
    }

    /// From now on posts to the connection never come to an end.
    pub fn stick(&self, connection_id: &str) {
        self.lock().stuck.insert(connection_id.to_owned());
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Sockets for FakeSockets {
    async fn post(&self, connection_id: &str, message: Bytes) -> Result<(), PostError> {
        let is_stuck = self.lock().stuck.contains(connection_id);
        if is_stuck {
            std::future::pending::<()>().await;
        }
        let mut state = self.lock();
        if state.gone.contains(connection_id) || state.closed.contains(connection_id) {
            return Err(PostError::Gone);
        }
        if state.failing.contains(connection_id) {
            return Err(PostError::Failed("on purpose".to_owned()));
        }
        state.posted.entry(connection_id.to_owned()).or_default().push(message);
        Ok(())
    }

    async fn close(&self, connection_id: &str) -> Result<(), PostError> {
        self.lock().closed.insert(connection_id.to_owned());
        Ok(())
    }
}
