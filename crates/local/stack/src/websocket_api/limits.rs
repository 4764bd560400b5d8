//! API Gateway's limits of a WebSocket connection, each settable, so that nobody has to wait for them.

use std::time::Duration;

use clap::Args;

/// The limits.
///
/// Source: <https://docs.aws.amazon.com/apigateway/latest/developerguide/apigateway-execution-service-websocket-limits-table.html>.
#[derive(Debug, Clone, Args)]
pub struct ConnectionLimits {
    /// Largest frame that a client may send, bytes.
    #[arg(id = "ws-frame-bytes", long, env = "TIDEMARK_WS_FRAME_BYTES", default_value_t = 32 * 1024)]
    pub frame_bytes_max: usize,

    /// Largest message in either direction, bytes.
    #[arg(id = "ws-message-bytes", long, env = "TIDEMARK_WS_MESSAGE_BYTES", default_value_t = 128 * 1024)]
    pub message_bytes_max: usize,

    /// Seconds without a message in either direction, after which a connection is closed.
    #[arg(id = "ws-idle-timeout", long, env = "TIDEMARK_WS_IDLE_TIMEOUT", default_value = "600", value_parser = seconds)]
    pub idle_max: Duration,

    /// Seconds after which a connection is closed, idle or not.
    #[arg(id = "ws-connection-duration", long, env = "TIDEMARK_WS_CONNECTION_DURATION", default_value = "7200", value_parser = seconds)]
    pub age_max: Duration,

    /// Seconds that a client may take to read what is sent to it; then its connection is cut.
    #[arg(id = "ws-write-timeout", long, env = "TIDEMARK_WS_WRITE_TIMEOUT", default_value = "10", value_parser = seconds)]
    pub write_max: Duration,
}

fn seconds(argument: &str) -> Result<Duration, String> {
    let seconds = argument.parse().map_err(|_| "expected seconds".to_owned())?;
    Duration::try_from_secs_f64(seconds).map_err(|error| error.to_string())
}
