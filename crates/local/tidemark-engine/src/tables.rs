//! Table descriptions: converts the emulator's ARNs and stream labels to AWS's form.

use serde_json::Value;

use crate::arn;

/// Whether the operation's reply contains a table description.
pub(crate) fn describes_a_table(operation: &str) -> bool {
    matches!(operation, "CreateTable" | "DescribeTable" | "UpdateTable" | "DeleteTable")
}

/// The reply `body` with the caller's region and AWS's stream labels.
pub(crate) fn in_region(body: &[u8], region: &str) -> Option<String> {
    let mut answer: Value = serde_json::from_slice(body).ok()?;
    for member in ["Table", "TableDescription"] {
        let Some(description) = answer.get_mut(member) else { continue };
        let label = description["LatestStreamLabel"].as_str().and_then(arn::stream_label);
        let table = description["TableName"].as_str().unwrap_or_default().to_owned();
        if let Some(label) = label {
            description["LatestStreamArn"] = arn::stream(region, &table, &label).into();
            description["LatestStreamLabel"] = label.into();
        }
    }
    let emulators = format!(":{}:{}:", dynoxide::streams::LOCAL_REGION, arn::ACCOUNT);
    Some(answer.to_string().replace(&emulators, &format!(":{region}:{}:", arn::ACCOUNT)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn table_description_has_the_callers_region_and_stream_label() {
        let body = r#"{"Table":{"TableName":"t-1","TableArn":"arn:aws:dynamodb:dynoxide:000000000000:table/t-1",
            "LatestStreamLabel":"1759401000.000250000"}}"#;
        let answer: Value =
            in_region(body.as_bytes(), "eu-west-1").and_then(|text| text.parse().ok()).unwrap_or_default();
        assert_eq!(answer["Table"]["TableArn"], "arn:aws:dynamodb:eu-west-1:000000000000:table/t-1");
        assert_eq!(
            answer["Table"]["LatestStreamArn"],
            "arn:aws:dynamodb:eu-west-1:000000000000:table/t-1/stream/2025-10-02T10:30:00.000"
        );
    }
}
