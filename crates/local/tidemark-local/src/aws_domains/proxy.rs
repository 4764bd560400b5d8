//! Passes the requests for AWS's domain names to the stack's endpoints.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use axum::body::Body;
use http::header::HOST;
use http::{HeaderValue, Request, Response, StatusCode, Uri};
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::ServerConfig;
use tokio_util::sync::CancellationToken;

use crate::functions::Endpoints;

/// Maximum number of open connections.
const CONNECTIONS_MAX: usize = 512;

/// Time limit of a handshake, and of the headers of a request.
const HANDSHAKE_MAX: Duration = Duration::from_secs(10);

/// How long to wait after an error of the socket, such as too many open files.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);

/// The endpoint of each service.
#[derive(Debug)]
pub(super) struct Services {
    /// The first label of the domain name, and the address without a slash at the end.
    by_label: Vec<(&'static str, String)>,
    /// The address of all other services.
    others: String,
    client: Client<HttpConnector, Incoming>,
}

impl Services {
    pub(super) fn new(endpoints: &Endpoints) -> Self {
        let by_label = vec![
            ("dynamodb", endpoints.dynamodb.clone()),
            ("streams", endpoints.dynamodb.clone()),
            ("events", endpoints.eventbridge.clone()),
            ("lambda", endpoints.lambda.clone()),
            ("sns", endpoints.sns.clone()),
            ("sqs", endpoints.sqs.clone()),
            ("secretsmanager", endpoints.secrets_manager.clone()),
            ("email", endpoints.ses.clone()),
            ("ssm", endpoints.ssm.clone()),
        ];
        Self {
            by_label,
            others: endpoints.others.clone(),
            client: Client::builder(TokioExecutor::new()).build(HttpConnector::new()),
        }
    }

    /// The address for a domain name: `dynamodb.us-east-1.amazonaws.com`.
    fn address(&self, host: &str) -> &str {
        let label = host.split('.').next().unwrap_or_default();
        let known = self.by_label.iter().find(|(known, _)| *known == label);
        known.map_or(&self.others, |(_, address)| address)
    }

    async fn pass(&self, mut request: Request<Incoming>) -> Response<Body> {
        let host = request.headers().get(HOST).and_then(|host| host.to_str().ok()).unwrap_or_default().to_owned();
        let address = self.address(&host);
        let path = request.uri().path_and_query().map_or("/", |path| path.as_str());
        let Ok(uri) = format!("{address}{path}").parse::<Uri>() else {
            return answer(StatusCode::BAD_REQUEST, "the request's path is invalid".to_owned());
        };
        // The stack's own routes accept only local names.
        if let Some(local) = uri.authority().and_then(|local| HeaderValue::from_str(local.as_str()).ok()) {
            request.headers_mut().insert(HOST, local);
        }
        *request.uri_mut() = uri;
        match self.client.request(request).await {
            Ok(response) => response.map(Body::new),
            Err(error) => answer(StatusCode::BAD_GATEWAY, format!("{address} does not answer: {error}")),
        }
    }
}

fn answer(status: StatusCode, message: String) -> Response<Body> {
    let mut response = Response::new(Body::from(message));
    *response.status_mut() = status;
    response
}

/// Serves until `stop`.
pub(super) async fn serve(listener: TcpListener, tls: Arc<ServerConfig>, services: Services, stop: CancellationToken) {
    let (acceptor, services) = (TlsAcceptor::from(tls), Arc::new(services));
    let permits = Arc::new(Semaphore::new(CONNECTIONS_MAX));
    loop {
        let Ok(permit) = Arc::clone(&permits).acquire_owned().await else { return };
        match listener.accept().await {
            Ok((stream, _)) => {
                let connection = connection(stream, acceptor.clone(), Arc::clone(&services));
                let connection = stop.clone().run_until_cancelled_owned(connection);
                tokio::spawn(async move {
                    connection.await;
                    drop(permit);
                });
            }
            Err(error) => {
                tracing::warn!("a connection to AWS's domain names failed: {error}");
                tokio::time::sleep(ACCEPT_PAUSE).await;
            }
        }
    }
}

async fn connection(stream: TcpStream, acceptor: TlsAcceptor, services: Arc<Services>) {
    // Without TCP_NODELAY, Nagle's algorithm delays each small response by up to 40 ms.
    drop(stream.set_nodelay(true));
    let stream = match tokio::time::timeout(HANDSHAKE_MAX, acceptor.accept(stream)).await {
        Ok(Ok(stream)) => stream,
        Ok(Err(error)) => return tracing::warn!("a TLS handshake for AWS's domain names failed: {error}"),
        Err(_) => return,
    };
    let service = service_fn(|request| {
        let services = Arc::clone(&services);
        async move { Ok::<_, Infallible>(services.pass(request).await) }
    });
    let mut server = hyper::server::conn::http1::Builder::new();
    server.timer(TokioTimer::new()).header_read_timeout(HANDSHAKE_MAX);
    // A client that closes an idle connection is not an error.
    drop(server.serve_connection(TokioIo::new(stream), service).await);
}
