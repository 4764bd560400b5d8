//! The emulator's own server, on a thread and a runtime of its own: its handlers block on one mutex, and must not hold up ours.

use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::thread::JoinHandle;
use std::time::Duration;

use tokio::sync::oneshot;

/// Threads that answer requests. They take turns on one mutex; the second parses while the first holds it.
const WORKERS: usize = 2;

/// How long the runtime waits for a request that is under way when it stops.
const STOP_GRACE: Duration = Duration::from_secs(2);

/// The running emulator; the default is one that has stopped. Dropping it stops it.
#[derive(Debug, Default)]
pub(crate) struct Emulator {
    addr: Option<SocketAddr>,
    stop: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Emulator {
    /// Serves `tables` on a free loopback port.
    pub(crate) fn start(tables: dynoxide::Database) -> Result<Self, std::io::Error> {
        let listener =
            TcpListener::bind((secret_address(), 0)).or_else(|_| TcpListener::bind((Ipv4Addr::LOCALHOST, 0)))?;
        listener.set_nonblocking(true)?;
        let addr = listener.local_addr()?;
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(WORKERS)
            .thread_name("dynoxide")
            .enable_all()
            .build()?;
        let (stop, stopped) = oneshot::channel::<()>();
        let thread = std::thread::Builder::new().name("dynoxide-main".to_owned()).spawn(move || {
            let served = runtime.block_on(serve(listener, tables, stopped));
            if let Err(error) = served {
                tracing::error!(%error, "the emulator stopped serving");
            }
            runtime.shutdown_timeout(STOP_GRACE);
        })?;
        Ok(Self { addr: Some(addr), stop: Some(stop), thread: Some(thread) })
    }

    /// Where it listens.
    pub(crate) fn addr(&self) -> SocketAddr {
        self.addr.unwrap_or_else(|| SocketAddr::from((Ipv4Addr::LOCALHOST, 0)))
    }

    /// Stops it and waits for its thread.
    pub(crate) fn stop(mut self) {
        self.stop.take();
        if self.thread.take().is_some_and(|thread| thread.join().is_err()) {
            tracing::warn!("the emulator's thread panicked");
        }
    }
}

/// One of 16 million loopback addresses. The emulator lets every web page in, and only the proxy is guarded: a page would have to
/// find this address and its port first. Where a system has 127.0.0.1 alone (macOS), only the port is to be found.
fn secret_address() -> Ipv4Addr {
    Ipv4Addr::new(127, fastrand::u8(1..255), fastrand::u8(..), fastrand::u8(1..255))
}

async fn serve(
    listener: TcpListener,
    tables: dynoxide::Database,
    stopped: oneshot::Receiver<()>,
) -> Result<(), String> {
    let listener = tokio::net::TcpListener::from_std(listener).map_err(|error| error.to_string())?;
    // The proxy's idle connections would hold a graceful end open, so the end of the signal is the end of serving.
    tokio::select! {
        served = dynoxide::server::serve_with_shutdown(listener, tables, std::future::pending()) => served,
        _ = stopped => Ok(()),
    }
}
