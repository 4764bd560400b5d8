//! How long a worker waits after a page without records.

use std::time::Duration;

use tokio::sync::watch;
use tokio::time::{sleep, timeout};

/// Pause after the first empty page, and after a write: records that are written together are read together.
const PAUSE_MIN: Duration = Duration::from_millis(20);

/// The longest pause while a batch or a window waits for its time.
const PENDING_PAUSE_MAX: Duration = Duration::from_millis(200);

/// The longest pause at rest where the engine does not tell of writes. Each pause is half as long again as the one before.
const IDLE_PAUSE_MAX: Duration = Duration::from_secs(1);

/// The longest pause at rest where it does: it may miss a write whose client hung up.
const NOTIFIED_PAUSE_MAX: Duration = Duration::from_secs(5);

/// The pace of one worker.
#[derive(Debug)]
pub(super) struct PollInterval {
    writes: Option<watch::Receiver<()>>,
    pause: Duration,
}

impl PollInterval {
    /// `writes` changes when there may be records, where the engine tells.
    pub(super) fn new(writes: Option<watch::Receiver<()>>) -> Self {
        Self { writes, pause: PAUSE_MIN }
    }

    /// The worker asks now: what is written from here on is news.
    pub(super) fn poll_started(&mut self) {
        if let Some(writes) = &mut self.writes {
            writes.mark_unchanged();
        }
    }

    /// The worker has found records.
    pub(super) fn records_found(&mut self) {
        self.pause = PAUSE_MIN;
    }

    /// Waits until it is worth asking again. `waiting`: something that was read waits for its time.
    pub(super) async fn wait(&mut self, waiting: bool) {
        match &mut self.writes {
            Some(writes) if !waiting => {
                match timeout(NOTIFIED_PAUSE_MAX, writes.changed()).await {
                    Ok(Ok(())) => sleep(PAUSE_MIN).await,
                    // The engine is gone, and the stack is about to stop.
                    Ok(Err(_)) => self.writes = None,
                    Err(_) => {}
                }
            }
            _ => {
                let pause_max = if waiting { PENDING_PAUSE_MAX } else { IDLE_PAUSE_MAX };
                sleep(self.pause.min(pause_max)).await;
                self.pause = (self.pause * 3 / 2).min(pause_max);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use tokio::time::Instant;

    use super::*;

    async fn rests(pace: &mut PollInterval, waiting: bool) -> Duration {
        let start = Instant::now();
        pace.wait(waiting).await;
        start.elapsed()
    }

    #[tokio::test(start_paused = true)]
    async fn where_writes_are_told_the_next_look_is_at_the_write() {
        let (tell, told) = watch::channel(());
        let mut pace = PollInterval::new(Some(told));
        pace.poll_started();
        assert_eq!(rests(&mut pace, false).await, NOTIFIED_PAUSE_MAX, "nothing is written");
        pace.poll_started();
        tell.send_replace(());
        assert_eq!(rests(&mut pace, false).await, PAUSE_MIN, "a write during the look is not missed");
        pace.poll_started();
        assert!(rests(&mut pace, true).await <= PENDING_PAUSE_MAX, "a batch does not wait for a write");
    }

    #[tokio::test(start_paused = true)]
    async fn elsewhere_the_pauses_grow_to_a_second_and_begin_anew_with_a_record() {
        let mut pace = PollInterval::new(None);
        assert_eq!(rests(&mut pace, false).await, PAUSE_MIN);
        for _ in 0..12 {
            pace.wait(false).await;
        }
        assert_eq!(rests(&mut pace, false).await, IDLE_PAUSE_MAX);
        pace.records_found();
        assert_eq!(rests(&mut pace, false).await, PAUSE_MIN);
    }
}
