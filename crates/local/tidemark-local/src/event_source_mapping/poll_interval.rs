//! The pause of a worker after an empty page.

use std::time::Duration;

use tokio::sync::watch;
use tokio::time::{sleep, timeout};

/// Pause after the first empty page, and after a write, so that records that are written together
/// are read together.
const PAUSE_MIN: Duration = Duration::from_millis(20);

/// The longest pause while a batch or a window waits for its time.
const PENDING_PAUSE_MAX: Duration = Duration::from_millis(200);

/// The longest idle pause if the engine does not notify of writes. Each pause is half as long again
/// as the previous one.
const IDLE_PAUSE_MAX: Duration = Duration::from_secs(1);

/// The longest idle pause if the engine notifies: it may miss a write whose client disconnected.
const NOTIFIED_PAUSE_MAX: Duration = Duration::from_secs(5);

/// The poll interval of one worker.
#[derive(Debug)]
pub(super) struct PollInterval {
    writes: Option<watch::Receiver<()>>,
    wanted: watch::Receiver<u64>,
    pause: Duration,
}

impl PollInterval {
    /// `writes` changes when there may be records; `None` if the engine does not notify. `wanted`
    /// changes when somebody wants a poll now.
    pub(super) fn new(writes: Option<watch::Receiver<()>>, wanted: watch::Receiver<u64>) -> Self {
        Self { writes, wanted, pause: PAUSE_MIN }
    }

    /// Call at the start of each poll: only later writes count as new. Returns the number of the
    /// last poll that somebody wanted.
    pub(super) fn poll_started(&mut self) -> u64 {
        if let Some(writes) = &mut self.writes {
            writes.mark_unchanged();
        }
        *self.wanted.borrow_and_update()
    }

    /// Call after a poll that found records.
    pub(super) fn records_found(&mut self) {
        self.pause = PAUSE_MIN;
    }

    /// Waits until the next poll. `waiting`: buffered records or an open window wait for their
    /// time.
    pub(super) async fn wait(&mut self, waiting: bool) {
        let mut wanted = self.wanted.clone();
        tokio::select! {
            Ok(()) = wanted.changed() => {}
            () = self.pause(waiting) => {}
        }
    }

    async fn pause(&mut self, waiting: bool) {
        match &mut self.writes {
            Some(writes) if !waiting => {
                match timeout(NOTIFIED_PAUSE_MAX, writes.changed()).await {
                    Ok(Ok(())) => sleep(PAUSE_MIN).await,
                    // The engine has stopped, and the stack is about to stop.
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

    async fn pause(interval: &mut PollInterval, waiting: bool) -> Duration {
        let start = Instant::now();
        interval.wait(waiting).await;
        start.elapsed()
    }

    #[tokio::test(start_paused = true)]
    async fn with_notifications_the_next_poll_follows_the_write() {
        let (sender, writes) = watch::channel(());
        let (polls, wanted) = watch::channel(0);
        let mut interval = PollInterval::new(Some(writes), wanted);
        interval.poll_started();
        assert_eq!(pause(&mut interval, false).await, NOTIFIED_PAUSE_MAX, "nothing is written");
        interval.poll_started();
        sender.send_replace(());
        assert_eq!(pause(&mut interval, false).await, PAUSE_MIN, "a write during the poll is not missed");
        interval.poll_started();
        assert!(pause(&mut interval, true).await <= PENDING_PAUSE_MAX, "a batch does not wait for a write");
        polls.send_replace(7);
        assert_eq!((pause(&mut interval, false).await, interval.poll_started()), (Duration::ZERO, 7));
    }

    #[tokio::test(start_paused = true)]
    async fn poll_interval_backs_off_to_a_second_without_notifications() {
        let mut interval = PollInterval::new(None, watch::channel(0).1);
        assert_eq!(pause(&mut interval, false).await, PAUSE_MIN);
        for _ in 0..12 {
            interval.wait(false).await;
        }
        assert_eq!(pause(&mut interval, false).await, IDLE_PAUSE_MAX);
        interval.records_found();
        assert_eq!(pause(&mut interval, false).await, PAUSE_MIN);
    }
}
