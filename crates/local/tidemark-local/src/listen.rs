//! Opens the ports: on this machine only, or on the network as well.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, TcpStream, UdpSocket};
use std::time::Duration;

use axum::Router;
use tidemark_engine::listener::{Client, Listener};
use tokio::net::TcpSocket;
use tokio_util::sync::CancellationToken;

use crate::start_error::StartError;

/// Maximum number of connections that wait to be accepted.
const BACKLOG: u32 = 1024;

/// How long to wait for the answer of another program at a port.
const PROBE_MAX: Duration = Duration::from_millis(200);

/// How many ports after the stack's own are tried for further APIs.
const OTHER_PORTS_MAX: u16 = 1_000;

/// The sockets to serve on, and their port. The loopback address is always among them, because the
/// functions call it.
pub(crate) fn bind_all(host: Ipv4Addr, port: u16) -> Result<(Vec<TcpSocket>, u16), StartError> {
    let failed = |host, port| {
        move |source: std::io::Error| match source.kind() {
            std::io::ErrorKind::AddrNotAvailable => StartError::Host { host, source },
            _ => StartError::Port { port, source },
        }
    };
    let first = if host.is_unspecified() { host } else { Ipv4Addr::LOCALHOST };
    let socket = bind(first, port).map_err(failed(first, port))?;
    let port = socket.local_addr().map_err(failed(first, port))?.port();
    let mut sockets = vec![socket];
    if host != first && !host.is_loopback() {
        sockets.push(bind(host, port).map_err(failed(host, port))?);
    }
    Ok((sockets, port))
}

/// Sockets for further APIs, on the next free ports after `port`; on any free ports if that is 0.
/// The ports in `reserved` are for other parts of the stack.
pub(crate) fn bind_others(
    host: Ipv4Addr,
    port: u16,
    count: usize,
    reserved: &[u16],
) -> Result<Vec<(Vec<TcpSocket>, u16)>, StartError> {
    let mut bound = Vec::with_capacity(count);
    let mut next = port;
    while bound.len() < count {
        if port != 0 {
            next = next
                .checked_add(1)
                .filter(|next| next - port < OTHER_PORTS_MAX)
                .ok_or_else(|| StartError::Port { port: next, source: std::io::ErrorKind::AddrInUse.into() })?;
            if reserved.contains(&next) || is_served(next) {
                continue;
            }
        }
        match bind_all(host, next) {
            Ok(sockets) => bound.push(sockets),
            Err(StartError::Port { .. }) if port != 0 => {}
            Err(error) => return Err(error),
        }
    }
    Ok(bound)
}

/// Whether a program of this machine answers at a port. `localhost` may be its IPv6 address, which
/// the IPv4 address does not occupy.
fn is_served(port: u16) -> bool {
    let addresses = [IpAddr::from(Ipv4Addr::LOCALHOST), IpAddr::from(Ipv6Addr::LOCALHOST)];
    addresses.iter().any(|address| TcpStream::connect_timeout(&(*address, port).into(), PROBE_MAX).is_ok())
}

fn bind(host: Ipv4Addr, port: u16) -> std::io::Result<TcpSocket> {
    let socket = TcpSocket::new_v4()?;
    // Otherwise old connections in TIME_WAIT would block the port after a restart.
    socket.set_reuseaddr(true)?;
    socket.bind((host, port).into())?;
    Ok(socket)
}

/// The address by which other machines on the network reach a server on `host`; `None` if they
/// cannot.
pub(crate) fn network_address(host: Ipv4Addr) -> Option<Ipv4Addr> {
    if host.is_loopback() {
        return None;
    }
    if !host.is_unspecified() {
        return Some(host);
    }
    // Connecting a UDP socket selects the outgoing interface and sends nothing. The address is
    // reserved for documentation.
    let outside = UdpSocket::bind((Ipv4Addr::UNSPECIFIED, 0)).ok()?;
    outside.connect((Ipv4Addr::new(192, 0, 2, 1), 9)).ok()?;
    match outside.local_addr().ok()?.ip() {
        std::net::IpAddr::V4(address) => Some(address),
        std::net::IpAddr::V6(_) => None,
    }
}

/// Serves until `stop`.
pub(crate) fn serve(
    socket: TcpSocket,
    router: Router,
    stop: CancellationToken,
) -> std::io::Result<impl Future<Output = ()> + Send + 'static> {
    let listener = Listener::new(socket.listen(BACKLOG)?);
    let service = router.into_make_service_with_connect_info::<Client>();
    Ok(async move {
        let serving = axum::serve(listener, service).with_graceful_shutdown(stop.cancelled_owned());
        if let Err(error) = serving.await {
            tracing::error!("the HTTP server ended: {error}");
        }
    })
}

#[cfg(test)]
mod tests {
    use std::net::TcpListener;

    use super::*;

    #[tokio::test]
    async fn further_api_takes_no_port_in_use_or_reserved() {
        let free = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).and_then(|socket| socket.local_addr());
        let port = free.expect("a port").port().min(60_000);
        // Other tests may take ports meanwhile, so that only the first free ones after `port` are known
        // not to be these.
        let other = TcpListener::bind((Ipv6Addr::LOCALHOST, port + 1));
        let reserved = [port + 2];
        let bound = bind_others(Ipv4Addr::LOCALHOST, port, 1, &reserved).expect("bound");
        assert!(bound[0].1 > port + 2 || (other.is_err() && bound[0].1 == port + 1), "{port}: {}", bound[0].1);
    }
}
