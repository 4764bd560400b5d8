//! The account id, the region, and the ARNs of the local stack.

use std::sync::{LazyLock, OnceLock};

/// Where the stacks of this process pretend to be. All of them share it: names and ARNs are made in
/// many places, from the template to the events.
static PLACE: OnceLock<Place> = OnceLock::new();

/// The place of a process that has not chosen one.
static HOME: LazyLock<Place> = LazyLock::new(|| Place {
    region: "us-east-1".to_owned(),
    account: ENGINES_ACCOUNT.to_owned(),
    stack_name: "tidemark-local".to_owned(),
});

/// The account id in every ARN of the embedded engine.
const ENGINES_ACCOUNT: &str = "000000000000";

/// A region, an account and the name of a stack.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Place {
    pub(crate) region: String,
    pub(crate) account: String,
    pub(crate) stack_name: String,
}

/// Another stack of this process is elsewhere.
#[derive(Debug, thiserror::Error)]
#[error("all stacks of a process share region, account and stack name: {0} {1} {2}")]
pub struct PlaceError(String, String, String);

/// Chooses the place of this process. Reading a template before the first choice means the default.
pub(crate) fn choose(place: Place) -> Result<(), PlaceError> {
    let chosen = PLACE.get_or_init(|| place.clone()).clone();
    if chosen == place { Ok(()) } else { Err(PlaceError(chosen.region, chosen.account, chosen.stack_name)) }
}

fn place() -> &'static Place {
    PLACE.get().unwrap_or(&HOME)
}

/// The region of the stack, and the default when the environment names none.
pub(crate) fn region() -> &'static str {
    &place().region
}

/// The account id in every ARN of the stack.
pub(crate) fn account() -> &'static str {
    &place().account
}

/// `AWS::StackName`, and the beginning of made-up names.
pub(crate) fn stack_name() -> &'static str {
    &place().stack_name
}

/// `AWS::StackId`.
pub(crate) fn stack_id() -> String {
    format!("{}:stack/{}/00000000-0000-0000-0000-000000000000", of_region("cloudformation"), stack_name())
}

/// The beginning of ARNs of a global service: `arn:aws:iam::000000000000`.
pub(crate) fn of_account(service: &str) -> String {
    format!("arn:aws:{service}::{}", account())
}

/// The beginning of ARNs of a regional service: `arn:aws:ses:us-east-1:000000000000`.
pub(crate) fn of_region(service: &str) -> String {
    format!("arn:aws:{service}:{}:{}", region(), account())
}

/// The embedded engine's ARN of a table, with the stack's account.
pub(crate) fn of_engine(arn: &str) -> String {
    if account() == ENGINES_ACCOUNT {
        return arn.to_owned();
    }
    arn.replacen(&format!(":{ENGINES_ACCOUNT}:"), &format!(":{}:", account()), 1)
}

/// Converts the ARN of a stream to this account and region, as roles name it. Another engine puts
/// its own region and account into ARNs.
pub(crate) fn of_here(arn: &str) -> String {
    let mut parts = arn.splitn(6, ':').skip(2);
    match (parts.next(), parts.nth(2)) {
        (Some(service), Some(resource)) => format!("{}:{resource}", of_region(service)),
        _ => arn.to_owned(),
    }
}

/// A function's ARN.
pub(crate) fn function(name: &str) -> String {
    format!("{}:function:{name}", of_region("lambda"))
}

/// The ARN of a rule of the default bus.
pub(crate) fn rule(name: &str) -> String {
    format!("{}:rule/{name}", of_region("events"))
}

/// The domain name of a function URL in Lambda's form.
pub(crate) fn function_url_domain(function: &str) -> String {
    format!("{}.lambda-url.{}.on.aws", function.to_ascii_lowercase(), region())
}

/// The domain name of an API in API Gateway's form.
pub(crate) fn api_domain(api: &str) -> String {
    format!("{api}.execute-api.{}.amazonaws.com", region())
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
    fn stacks_of_a_process_share_their_place() {
        assert!(choose(HOME.clone()).is_ok() && choose(HOME.clone()).is_ok());
        let elsewhere = choose(Place { region: "eu-central-1".to_owned(), ..HOME.clone() });
        let error = elsewhere.map_err(|error| error.to_string());
        let expected =
            "all stacks of a process share region, account and stack name: us-east-1 000000000000 tidemark-local";
        assert_eq!(error, Err(expected.to_owned()));
    }

    #[test]
    fn stream_arn_gets_the_stacks_account_and_region() {
        let other = "arn:aws:dynamodb:ddblocal:000000000001:table/clicks/stream/2026-11-22T12:55:18.253";
        let own = "arn:aws:dynamodb:us-east-1:000000000000:table/clicks/stream/2026-11-22T12:55:18.253";
        assert_eq!([of_here(other), of_here(own)], [own, own]);
    }
}
