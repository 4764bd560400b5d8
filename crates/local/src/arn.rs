//! The account that this machine plays, and the names of what it runs.

/// The account id in every ARN of the local stack.
pub const ACCOUNT: &str = "000000000000";

/// The region when the environment names none.
pub const REGION: &str = "us-east-1";

/// A function's ARN.
#[must_use]
pub fn function(name: &str) -> String {
    format!("arn:aws:lambda:{REGION}:{ACCOUNT}:function:{name}")
}

/// The ARN of the rule behind a function's schedule.
#[must_use]
pub fn rule(function: &str, event: &str) -> String {
    format!("arn:aws:events:{REGION}:{ACCOUNT}:rule/{function}-{event}")
}

/// The domain of a WebSocket API, as API Gateway names it.
#[must_use]
pub fn socket_domain(api: &str) -> String {
    format!("{api}.execute-api.{REGION}.amazonaws.com")
}
