//! The client of the players' WebSockets.

use std::future::Future;

use aws_config::SdkConfig;
use aws_sdk_apigatewaymanagement::Client;
use aws_sdk_apigatewaymanagement::config::retry::RetryConfig;
use aws_sdk_apigatewaymanagement::config::{Builder, StalledStreamProtectionConfig};
use aws_sdk_apigatewaymanagement::error::{DisplayErrorContext, SdkError};
use aws_sdk_apigatewaymanagement::operation::delete_connection::DeleteConnectionError;
use aws_sdk_apigatewaymanagement::operation::post_to_connection::PostToConnectionError;
use aws_sdk_apigatewaymanagement::primitives::Blob;
use bytes::Bytes;

/// Why a message did not reach a connection.
#[derive(Debug, thiserror::Error)]
pub enum PostError {
    /// The connection has ended and does not return under this id.
    #[error("the connection is gone")]
    Gone,
    /// The message failed this time.
    #[error("the message could not be posted: {0}")]
    Failed(String),
}

/// Sends to connections and closes them. There is one method for each action of the [management
/// API](https://docs.aws.amazon.com/apigateway/latest/developerguide/apigateway-how-to-call-websocket-api-connections.html)
/// that the functions are allowed to use.
pub trait Sockets: Send + Sync {
    /// Sends one message, `PostToConnection`.
    fn post(&self, connection_id: &str, message: Bytes) -> impl Future<Output = Result<(), PostError>> + Send;

    /// Closes a connection, `DeleteConnection`.
    fn close(&self, connection_id: &str) -> impl Future<Output = Result<(), PostError>> + Send;
}

/// The sockets of an API Gateway WebSocket API.
#[derive(Debug, Clone)]
pub struct ApiGateway(Client);

impl ApiGateway {
    /// The API at the address in the SDK's variable `AWS_ENDPOINT_URL_APIGATEWAYMANAGEMENTAPI`.
    pub fn new(config: &SdkConfig) -> Self {
        let config = Builder::from(config)
            .retry_config(RetryConfig::standard().with_max_attempts(2))
            .stalled_stream_protection(StalledStreamProtectionConfig::disabled());
        Self(Client::from_conf(config.build()))
    }

    /// Opens the HTTPS connection to the API in advance by closing a connection id that does not
    /// exist. So the first message does not wait for the handshake. The answer of the API is
    /// ignored.
    pub async fn connect(&self) {
        if let Err(error) = self.close("AAAAAAAAAAAAAAA=").await {
            tracing::debug!(%error, "opened");
        }
    }
}

impl Sockets for ApiGateway {
    async fn post(&self, connection_id: &str, message: Bytes) -> Result<(), PostError> {
        let request = self.0.post_to_connection().connection_id(connection_id).data(Blob::new(message));
        request.send().await.map(drop).map_err(|error| match error.as_service_error() {
            Some(PostToConnectionError::GoneException(_)) => PostError::Gone,
            _ => failed(&error),
        })
    }

    async fn close(&self, connection_id: &str) -> Result<(), PostError> {
        let request = self.0.delete_connection().connection_id(connection_id);
        request.send().await.map(drop).map_err(|error| match error.as_service_error() {
            Some(DeleteConnectionError::GoneException(_)) => PostError::Gone,
            _ => failed(&error),
        })
    }
}

fn failed<E, R>(error: &SdkError<E, R>) -> PostError
where
    E: std::error::Error + 'static,
    R: std::fmt::Debug,
{
    PostError::Failed(DisplayErrorContext(error).to_string())
}
