//! Tests on real sockets. This machine's addresses are not public, so they are reached only if a
//! test allows them.

use std::net::{IpAddr, Ipv4Addr};
use std::sync::atomic::{AtomicUsize, Ordering};

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpListener;

use super::*;

const LIMITS: Limits = Limits { time: Duration::from_secs(10), body_bytes_max: 1_000 };

/// A server on this machine that counts its connections.
struct Server {
    address: SocketAddr,
    connections: Arc<AtomicUsize>,
}

impl Server {
    /// Answers each request with `answer`, byte for byte, and then keeps the connection open.
    async fn answering(answer: String) -> Self {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.expect("a socket");
        let address = listener.local_addr().expect("an address");
        let connections = Arc::new(AtomicUsize::new(0));
        let count = Arc::clone(&connections);
        tokio::spawn(async move {
            while let Ok((mut stream, _)) = listener.accept().await {
                count.fetch_add(1, Ordering::SeqCst);
                let answer = answer.clone();
                tokio::spawn(async move {
                    let mut request = [0; 4_096];
                    while stream.read(&mut request).await.is_ok_and(|read| read > 0) {
                        if stream.write_all(answer.as_bytes()).await.is_err() {
                            break;
                        }
                    }
                });
            }
        });
        Self { address, connections }
    }

    fn url(&self) -> String {
        format!("http://{}/push?a=b", self.address)
    }

    fn connections(&self) -> usize {
        self.connections.load(Ordering::SeqCst)
    }
}

fn to(url: &str) -> Request<Bytes> {
    Request::post(url).body(Bytes::from_static(b"hello")).expect("a request")
}

fn refusal(outcome: Result<Response<Bytes>, OutboundError>) -> Refusal {
    match outcome {
        Err(OutboundError::Refused(refusal)) => refusal,
        other => panic!("{other:?}"),
    }
}

fn answer(body: &str) -> String {
    format!("HTTP/1.1 201 Created\r\nlocation: /m/1\r\ncontent-length: {}\r\n\r\n{body}", body.len())
}

#[tokio::test]
async fn allowed_address_is_reached_without_tls_over_one_connection() {
    let server = Server::answering(answer("made")).await;
    let outbound = Outbound::new(&[server.address]);
    for _ in 0..3 {
        let answer = outbound.send(to(&server.url()), LIMITS).await.expect("an answer");
        assert_eq!((answer.status().as_u16(), &answer.body()[..]), (201, &b"made"[..]));
        assert_eq!(answer.headers()["location"], "/m/1");
    }
    assert_eq!(server.connections(), 1);
}

#[tokio::test]
async fn loopback_is_refused_under_each_name_unless_allowed() {
    let server = Server::answering(answer("inside")).await;
    let other = SocketAddr::from((Ipv4Addr::LOCALHOST, 1));
    let port = server.address.port();
    for host in ["127.0.0.1", "localhost", "[::ffff:127.0.0.1]", "[::1]", "0.0.0.0"] {
        for (outbound, scheme, expected) in [
            (Outbound::new(&[]), "https", Refusal::NotPublic),
            (Outbound::new(&[other]), "https", Refusal::NotPublic),
            (Outbound::new(&[]), "http", Refusal::NotEncrypted),
            (Outbound::new(&[other]), "http", Refusal::NotEncrypted),
        ] {
            let url = format!("{scheme}://{host}:{port}/");
            let refusal = refusal(outbound.send(to(&url), LIMITS).await);
            assert_eq!(refusal, expected, "{url}");
        }
    }
    assert_eq!(server.connections(), 0);
}

#[tokio::test]
async fn dns_rebinding_to_loopback_after_the_check_is_refused() {
    let server = Server::answering(answer("inside")).await;
    let asked = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&asked);
    let guard = ConnectionGuard::with_resolver(&[], move |_| {
        let is_first = count.fetch_add(1, Ordering::SeqCst) == 0;
        let address = if is_first { Ipv4Addr::new(93, 184, 216, 34) } else { Ipv4Addr::LOCALHOST };
        Box::pin(async move { Ok(vec![IpAddr::V4(address)]) })
    });
    let outbound = Outbound::through(guard);
    let url = format!("https://rebind.example:{}/", server.address.port());
    assert_eq!(outbound.check(&url.parse().expect("an address")).await, Ok(()));
    assert_eq!(refusal(outbound.send(to(&url), LIMITS).await), Refusal::NotPublic);
    assert_eq!((asked.load(Ordering::SeqCst), server.connections()), (2, 0));
}

#[tokio::test]
async fn name_with_any_private_address_is_refused() {
    let both = [Ipv4Addr::new(93, 184, 216, 34), Ipv4Addr::new(10, 0, 0, 1)].map(IpAddr::V4);
    let outbound =
        Outbound::through(ConnectionGuard::with_resolver(&[], move |_| Box::pin(async move { Ok(both.to_vec()) })));
    assert_eq!(refusal(outbound.send(to("https://both.example/"), LIMITS).await), Refusal::NotPublic);
}

#[tokio::test]
async fn an_invalid_web_address_is_refused_before_any_lookup() {
    let guard = ConnectionGuard::with_resolver(&[], |name| panic!("{name} was looked up"));
    let outbound = Outbound::through(guard);
    for (url, expected) in [
        ("https://user:secret@example.com/", "an address with a user name or password is not allowed"),
        ("/push", "an absolute address is needed"),
        ("https://127.1/", "the host is neither a name nor an address"),
        ("https://2130706433/", "the host is neither a name nor an address"),
        ("https://0x7f.1/", "the host is neither a name nor an address"),
        ("ftp://example.com/", "only https is allowed"),
        ("http://example.com/", "only https is allowed"),
    ] {
        let refused = outbound.check(&url.parse().expect("an address")).await.expect_err(url);
        assert_eq!(refused.to_string(), expected, "{url}");
    }
}

#[tokio::test]
async fn an_unresolved_name_is_a_transient_error() {
    let guard = ConnectionGuard::with_resolver(&[], |_| Box::pin(async { Ok(Vec::new()) }));
    let error = Outbound::through(guard).send(to("https://nowhere.example/"), LIMITS).await.expect_err("nothing there");
    assert!(matches!(error, OutboundError::Refused(Refusal::Unresolved)), "{error:?}");
    assert!(error.is_transient());
}

#[tokio::test(start_paused = true)]
async fn a_name_server_that_never_answers_is_not_waited_for() {
    let outbound = Outbound::through(ConnectionGuard::with_resolver(&[], |_| Box::pin(std::future::pending())));
    let uri = "https://silent.example/".parse().expect("an address");
    let checked = tokio::time::timeout(Duration::from_secs(60), outbound.check(&uri)).await;
    assert_eq!(checked, Ok(Err(Refusal::Unresolved)));
}

#[tokio::test]
async fn a_redirect_is_an_answer_and_is_not_followed() {
    let inside = Server::answering(answer("inside")).await;
    let location = inside.url();
    let head = format!("HTTP/1.1 307 Temporary Redirect\r\nlocation: {location}\r\ncontent-length: 0\r\n\r\n");
    let server = Server::answering(head).await;
    let outbound = Outbound::new(&[server.address, inside.address]);
    let answer = outbound.send(to(&server.url()), LIMITS).await.expect("an answer");
    assert_eq!(answer.status().as_u16(), 307);
    assert_eq!(inside.connections(), 0);
}

#[tokio::test]
async fn outbound_body_over_the_limit_is_refused_without_content_length() {
    let body = "x".repeat(1_001);
    let chunked = format!("HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n3e9\r\n{body}\r\n0\r\n\r\n");
    for answer in [answer(&body), chunked, "HTTP/1.1 200 OK\r\ncontent-length: 9999999999\r\n\r\nxx".to_owned()] {
        let server = Server::answering(answer).await;
        let outcome = Outbound::new(&[server.address]).send(to(&server.url()), LIMITS).await;
        assert!(matches!(outcome, Err(OutboundError::TooLong(1_000))), "{outcome:?}");
    }
    let server = Server::answering(answer(&body[1..])).await;
    let outcome = Outbound::new(&[server.address]).send(to(&server.url()), LIMITS).await;
    assert_eq!(outcome.expect("just within the limit").body().len(), 1_000);
}

#[tokio::test]
async fn endless_headers_are_an_error() {
    let server = Server::answering(format!("HTTP/1.1 200 OK\r\nx: {}\r\n", "x".repeat(HEADER_BYTES_MAX))).await;
    let outcome = Outbound::new(&[server.address]).send(to(&server.url()), LIMITS).await;
    assert!(matches!(outcome, Err(OutboundError::Failed(_))), "{outcome:?}");
}

#[tokio::test]
async fn a_server_that_keeps_a_request_waiting_is_given_up() {
    let limits = Limits { time: Duration::from_millis(200), ..LIMITS };
    // No bytes at all, a head without its body, and a body that does not end.
    for answer in ["", "HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\n", "HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\nxx"]
    {
        let server = Server::answering(answer.to_owned()).await;
        let error = Outbound::new(&[server.address]).send(to(&server.url()), limits).await.expect_err(answer);
        assert!(matches!(error, OutboundError::TimedOut(_)), "{error:?}");
        assert!(error.is_transient());
    }
}

#[tokio::test]
async fn answer_in_an_unknown_protocol_is_a_failed_exchange() {
    let server = Server::answering("220 mail.example ESMTP\r\n".to_owned()).await;
    let outbound = Outbound::new(&[server.address]);
    for url in [server.url(), server.url().replace("http:", "https:")] {
        let outcome = outbound.send(to(&url), LIMITS).await;
        assert!(matches!(outcome, Err(OutboundError::Failed(_))), "{outcome:?}");
    }
}
