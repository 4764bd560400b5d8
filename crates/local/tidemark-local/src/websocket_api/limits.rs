//! API Gateway's limits of a WebSocket connection. Each can be set, so that tests need not wait for
//! the real ones.

use std::time::Duration;

use clap::Args;

/// The limits of a connection.
///
/// Source:
/// <https://docs.aws.amazon.com/apigateway/latest/developerguide/apigateway-execution-service-websocket-limits-table.html>.
#[derive(Debug, Clone, Args)]
pub struct ConnectionLimits {
    /// Maximum size of a client's frame, bytes.
    #[arg(id = "ws-frame-bytes", long, env = "TIDEMARK_WS_FRAME_BYTES", default_value_t = 32 * 1024)]
    pub frame_bytes_max: usize,

    /// Maximum size of a message in either direction, bytes.
    #[arg(id = "ws-message-bytes", long, env = "TIDEMARK_WS_MESSAGE_BYTES", default_value_t = 128 * 1024)]
    pub message_bytes_max: usize,

    /// Seconds without a message in either direction after which a connection is closed.
    #[arg(id = "ws-idle-timeout", long, env = "TIDEMARK_WS_IDLE_TIMEOUT", default_value = "600", value_parser = seconds)]
    pub idle_max: Duration,

    /// Seconds after which a connection is closed, even if it is in use.
    #[arg(id = "ws-connection-duration", long, env = "TIDEMARK_WS_CONNECTION_DURATION", default_value = "7200", value_parser = seconds)]
    pub age_max: Duration,

    /// Seconds that a client may take to read a message before its connection is cut.
    #[arg(id = "ws-write-timeout", long, env = "TIDEMARK_WS_WRITE_TIMEOUT", default_value = "10", value_parser = seconds)]
    pub write_max: Duration,
}

fn seconds(argument: &str) -> Result<Duration, String> {
    let seconds = argument.parse().map_err(|_| "expected seconds".to_owned())?;
    Duration::try_from_secs_f64(seconds).map_err(|error| error.to_string())
}
