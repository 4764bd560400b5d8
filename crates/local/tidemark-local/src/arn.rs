//! The account id, the region, and the ARNs of the local stack.

/// The account id in every ARN of the local stack.
pub(crate) const ACCOUNT: &str = "000000000000";

/// The region of the local stack, and the default when the environment names none.
pub(crate) const REGION: &str = "us-east-1";

/// The beginning of ARNs of a global service: `arn:aws:iam::000000000000`.
#[must_use]
pub(crate) fn of_account(service: &str) -> String {
    format!("arn:aws:{service}::{ACCOUNT}")
}

/// The beginning of ARNs of a regional service: `arn:aws:ses:us-east-1:000000000000`.
#[must_use]
pub(crate) fn of_region(service: &str) -> String {
    format!("arn:aws:{service}:{REGION}:{ACCOUNT}")
}

/// Converts the ARN of a stream to this account and region, as roles name it. Another engine puts
/// its own region and account into ARNs.
#[must_use]
pub(crate) fn of_here(arn: &str) -> String {
    let mut parts = arn.splitn(6, ':').skip(2);
    match (parts.next(), parts.nth(2)) {
        (Some(service), Some(resource)) => format!("{}:{resource}", of_region(service)),
        _ => arn.to_owned(),
    }
}

/// A function's ARN.
#[must_use]
pub(crate) fn function(name: &str) -> String {
    format!("{}:function:{name}", of_region("lambda"))
}

/// The ARN of the rule behind a function's schedule.
#[must_use]
pub(crate) fn rule(function: &str, event: &str) -> String {
    format!("{}:rule/{function}-{event}", of_region("events"))
}

/// The domain name of a function URL in Lambda's form.
#[must_use]
pub(crate) fn function_url_domain(function: &str) -> String {
    format!("{}.lambda-url.{REGION}.on.aws", function.to_ascii_lowercase())
}

/// The domain name of an API in API Gateway's form.
#[must_use]
pub(crate) fn api_domain(api: &str) -> String {
    format!("{api}.execute-api.{REGION}.amazonaws.com")
}

/// The name of the Kinesis stream with this ARN, or with that of one of its consumers.
pub(crate) fn kinesis_stream_name(arn: &str) -> &str {
    let resource = arn.split_once(":stream/").map_or(arn, |(_, resource)| resource);
    resource.split('/').next().unwrap_or(resource)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stream_arn_gets_the_stacks_account_and_region() {
        let other = "arn:aws:dynamodb:ddblocal:000000000001:table/clicks/stream/2026-11-22T12:55:18.253";
        let own = "arn:aws:dynamodb:us-east-1:000000000000:table/clicks/stream/2026-11-22T12:55:18.253";
        assert_eq!([of_here(other), of_here(own)], [own, own]);
    }
}
