//! Amazon resource names and regions, and the emulator's own spelling of them.

use http::HeaderMap;

/// The account in every ARN; the emulator's own.
pub(crate) const ACCOUNT: &str = dynoxide::streams::LOCAL_ACCOUNT;

/// The region of a caller that names none.
const DEFAULT_REGION: &str = "us-east-1";

/// The access key id of the caller that has signed: the first part of its credential's scope.
pub(crate) fn caller(headers: &HeaderMap) -> Option<&str> {
    credential(headers)?.split('/').next()
}

/// The region that the caller signed for: the third part of its credential's scope.
pub(crate) fn region(headers: &HeaderMap) -> &str {
    credential(headers)
        .and_then(|scope| scope.split('/').nth(2))
        .filter(|region| is_region(region))
        .unwrap_or(DEFAULT_REGION)
}

fn credential(headers: &HeaderMap) -> Option<&str> {
    let authorization = headers.get(http::header::AUTHORIZATION)?.to_str().ok()?;
    Some(authorization.split_once("Credential=")?.1)
}

fn is_region(name: &str) -> bool {
    !name.is_empty() && name.len() <= 32 && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-')
}

/// The ARN of a table.
pub(crate) fn table(region: &str, table: &str) -> String {
    format!("arn:aws:dynamodb:{region}:{ACCOUNT}:table/{table}")
}

/// The ARN of an index.
pub(crate) fn index(region: &str, table_name: &str, index: &str) -> String {
    format!("{}/index/{index}", table(region, table_name))
}

/// The ARN of a stream; `label` as [`stream_label`] gives it.
pub(crate) fn stream(region: &str, table_name: &str, label: &str) -> String {
    format!("{}/stream/{label}", table(region, table_name))
}

/// Table and label of a stream's ARN, in whatever region.
pub(crate) fn parse_stream(arn: &str) -> Option<(&str, &str)> {
    let resource = arn.strip_prefix("arn:aws:dynamodb:")?.split_once(":table/")?.1;
    resource.split_once("/stream/")
}

/// The table of a `TableName` parameter, which may be the table's ARN.
pub(crate) fn table_name(name_or_arn: &str) -> &str {
    name_or_arn.split_once(":table/").map_or(name_or_arn, |(_, name)| name)
}

/// AWS's spelling of a stream's label, `2025-10-02T10:30:00.000`, from the emulator's, seconds and nanoseconds.
pub(crate) fn stream_label(emulator_label: &str) -> Option<String> {
    let timestamp = jiff::Timestamp::from_microsecond(label_us(emulator_label)?).ok()?;
    Some(timestamp.strftime("%Y-%m-%dT%H:%M:%S.%3f").to_string())
}

/// When a stream was made, microseconds since the epoch, from the emulator's label.
pub(crate) fn label_us(emulator_label: &str) -> Option<i64> {
    let (seconds, nanoseconds) = emulator_label.split_once('.')?;
    let (seconds, nanoseconds) = (seconds.parse::<i64>().ok()?, nanoseconds.parse::<i64>().ok()?);
    seconds.checked_mul(1_000_000)?.checked_add(nanoseconds / 1_000)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_region_is_the_one_that_was_signed_for() {
        let mut headers = HeaderMap::new();
        assert_eq!(region(&headers), "us-east-1");
        let scope = "AWS4-HMAC-SHA256 Credential=local/20251002/eu-north-1/dynamodb/aws4_request, Signature=0";
        headers.insert(http::header::AUTHORIZATION, http::HeaderValue::from_static(scope));
        assert_eq!(region(&headers), "eu-north-1");
        assert_eq!(caller(&headers), Some("local"));
    }

    #[test]
    fn a_stream_is_named_as_aws_names_it() {
        let label = stream_label("1759401000.000250000").unwrap_or_default();
        assert_eq!(label, "2025-10-02T10:30:00.000");
        let arn = stream("us-east-1", "qit-db-local", &label);
        assert_eq!(arn, "arn:aws:dynamodb:us-east-1:000000000000:table/qit-db-local/stream/2025-10-02T10:30:00.000");
        assert_eq!(parse_stream(&arn), Some(("qit-db-local", label.as_str())));
        assert_eq!(table_name("arn:aws:dynamodb:us-east-1:000000000000:table/qit-db-local"), "qit-db-local");
    }
}
