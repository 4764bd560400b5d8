//! ARNs and regions, and their conversion from the emulator's form.

use http::HeaderMap;

/// The account id in every ARN; the emulator uses the same.
pub(crate) const ACCOUNT: &str = dynoxide::streams::LOCAL_ACCOUNT;

/// The region when the caller's credential names none.
const DEFAULT_REGION: &str = "us-east-1";

/// The access key id of the caller: the first part of the signature's credential scope.
pub(crate) fn caller(headers: &HeaderMap) -> Option<&str> {
    credential(headers)?.split('/').next()
}

/// The region that the caller signed for: the third part of the credential scope.
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

/// The ARN of a stream; `label` is in the form of [`stream_label`].
pub(crate) fn stream(region: &str, table_name: &str, label: &str) -> String {
    format!("{}/stream/{label}", table(region, table_name))
}

/// Table and label of a stream's ARN; the region is ignored.
pub(crate) fn parse_stream(arn: &str) -> Option<(&str, &str)> {
    let resource = arn.strip_prefix("arn:aws:dynamodb:")?.split_once(":table/")?.1;
    resource.split_once("/stream/")
}

/// The table's name from a `TableName` parameter, which may also be the table's ARN.
pub(crate) fn table_name(name_or_arn: &str) -> &str {
    name_or_arn.split_once(":table/").map_or(name_or_arn, |(_, name)| name)
}

/// Converts the emulator's stream label (`seconds.nanoseconds`) to AWS's form,
/// `2025-10-02T10:30:00.000`.
pub(crate) fn stream_label(emulator_label: &str) -> Option<String> {
    let timestamp = jiff::Timestamp::from_microsecond(label_us(emulator_label)?).ok()?;
    Some(timestamp.strftime("%Y-%m-%dT%H:%M:%S.%3f").to_string())
}

/// The creation time of a stream, from the emulator's label, in microseconds since the epoch.
pub(crate) fn label_us(emulator_label: &str) -> Option<i64> {
    let (seconds, nanoseconds) = emulator_label.split_once('.')?;
    let (seconds, nanoseconds) = (seconds.parse::<i64>().ok()?, nanoseconds.parse::<i64>().ok()?);
    seconds.checked_mul(1_000_000)?.checked_add(nanoseconds / 1_000)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_region_comes_from_the_signature() {
        let mut headers = HeaderMap::new();
        assert_eq!(region(&headers), "us-east-1");
        let scope = "AWS4-HMAC-SHA256 Credential=local/20251002/eu-north-1/dynamodb/aws4_request, Signature=0";
        headers.insert(http::header::AUTHORIZATION, http::HeaderValue::from_static(scope));
        assert_eq!(region(&headers), "eu-north-1");
        assert_eq!(caller(&headers), Some("local"));
    }

    #[test]
    fn a_stream_arn_has_the_form_of_aws() {
        let label = stream_label("1759401000.000250000").unwrap_or_default();
        assert_eq!(label, "2025-10-02T10:30:00.000");
        let arn = stream("us-east-1", "qit-db-local", &label);
        assert_eq!(arn, "arn:aws:dynamodb:us-east-1:000000000000:table/qit-db-local/stream/2025-10-02T10:30:00.000");
        assert_eq!(parse_stream(&arn), Some(("qit-db-local", label.as_str())));
        assert_eq!(table_name("arn:aws:dynamodb:us-east-1:000000000000:table/qit-db-local"), "qit-db-local");
    }
}
