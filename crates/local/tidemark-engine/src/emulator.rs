//! The emulator's server, on its own thread and runtime. Its handlers block on one mutex and must
//! not block the proxy's runtime.

use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::thread::JoinHandle;
use std::time::Duration;

use tokio::sync::oneshot;

/// Threads that answer requests. They share one mutex; the second parses while the first holds it.
const WORKERS: usize = 2;

/// The stack of each thread. An expression nests up to 300 deep, and for that a parser without
/// optimization needs more than the usual two megabytes.
const STACK_BYTES: usize = 16 << 20;

/// How long the runtime waits for running requests when it stops.
const STOP_GRACE: Duration = Duration::from_secs(2);

/// The running emulator; the default value is a stopped one. Dropping it stops it.
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
            .thread_stack_size(STACK_BYTES)
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

    /// The address that it listens on.
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

/// One of 16 million loopback addresses. The emulator accepts requests of every web page, and only
/// the proxy checks the origin. A hostile page would have to find this address and its port. On a
/// system that has only 127.0.0.1 (macOS), it would have to find the port only.
fn secret_address() -> Ipv4Addr {
    Ipv4Addr::new(127, fastrand::u8(1..255), fastrand::u8(..), fastrand::u8(1..255))
}

async fn serve(
    listener: TcpListener,
    tables: dynoxide::Database,
    stopped: oneshot::Receiver<()>,
) -> Result<(), String> {
    let listener = tokio::net::TcpListener::from_std(listener).map_err(|error| error.to_string())?;
    // A graceful shutdown would wait for the proxy's idle connections, so serving stops at once.
    tokio::select! {
        served = dynoxide::server::serve_with_shutdown(listener, tables, std::future::pending()) => served,
        _ = stopped => Ok(()),
    }
}
