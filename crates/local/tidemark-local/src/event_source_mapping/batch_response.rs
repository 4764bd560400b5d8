//! Interprets a function's response to a batch.
//!
//! Source: <https://docs.aws.amazon.com/lambda/latest/dg/services-ddb-batchfailurereporting.html>.

use serde_json::{Map, Value};

use super::retry::InvocationOutcome;

/// A parsed response of a function.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct BatchResponse {
    /// The outcome for the records.
    pub outcome: InvocationOutcome,
    /// The state of a tumbling window, if the response carries one.
    pub state: Option<Map<String, Value>>,
}

/// Parses the result of an invocation with the records of these sequence numbers. The first of them
/// is at position `first` of the batch. `reports_failures` is `ReportBatchItemFailures`; `windowed`
/// is true for a mapping with a tumbling window.
pub(super) fn read(
    body: &[u8],
    first: usize,
    sequence_numbers: &[&str],
    reports_failures: bool,
    windowed: bool,
) -> BatchResponse {
    let body: Value = serde_json::from_slice(body).unwrap_or_default();
    let state = body.get("state").and_then(Value::as_object).cloned();
    if windowed && state.is_none() {
        tracing::warn!(
            "the response of a function with a tumbling window must contain `state`: the invocation counts as failed"
        );
        return BatchResponse { outcome: InvocationOutcome::Failed, state };
    }
    let failures = body.get("batchItemFailures").and_then(Value::as_array).filter(|_| reports_failures);
    let Some(failures) = failures.filter(|failures| !failures.is_empty()) else {
        return BatchResponse { outcome: InvocationOutcome::Succeeded, state };
    };
    let position = |failure: &Value| {
        let id = failure.get("itemIdentifier")?.as_str()?;
        sequence_numbers.iter().position(|sequence_number| *sequence_number == id)
    };
    // The lowest reported record is the checkpoint. An identifier that is empty, null or unknown
    // fails the whole batch.
    let lowest = failures.iter().map(position).try_fold(usize::MAX, |lowest, position| Some(lowest.min(position?)));
    let outcome = lowest.map_or(InvocationOutcome::Failed, |lowest| InvocationOutcome::FailedFrom(first + lowest));
    BatchResponse { outcome, state }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn outcome(body: &str) -> InvocationOutcome {
        read(body.as_bytes(), 10, &["a", "b", "c"], true, false).outcome
    }

    #[test]
    fn a_response_without_failures_is_a_success() {
        for body in ["", "null", "{}", "\"done\"", r#"{"batchItemFailures": []}"#, r#"{"batchItemFailures": null}"#] {
            assert_eq!(outcome(body), InvocationOutcome::Succeeded, "{body}");
        }
    }

    #[test]
    fn the_lowest_reported_record_is_where_the_retry_begins() {
        let body = r#"{"batchItemFailures": [{"itemIdentifier": "c"}, {"itemIdentifier": "b"}]}"#;
        assert_eq!(outcome(body), InvocationOutcome::FailedFrom(11));
    }

    #[test]
    fn an_identifier_that_names_no_record_fails_the_whole_batch() {
        for failure in
            [r#"{"itemIdentifier": ""}"#, r#"{"itemIdentifier": null}"#, r#"{"itemIdentifier": "x"}"#, r#"{"id": "a"}"#]
        {
            let body = format!(r#"{{"batchItemFailures": [{{"itemIdentifier": "b"}}, {failure}]}}"#);
            assert_eq!(outcome(&body), InvocationOutcome::Failed, "{body}");
        }
    }

    #[test]
    fn failures_are_ignored_without_report_batch_item_failures() {
        let body = br#"{"batchItemFailures": [{"itemIdentifier": "a"}]}"#;
        assert_eq!(read(body, 0, &["a"], false, false).outcome, InvocationOutcome::Succeeded);
    }

    #[test]
    fn a_response_in_a_tumbling_window_must_contain_state() {
        assert_eq!(read(b"{}", 0, &["a"], true, true).outcome, InvocationOutcome::Failed);
        let answer = read(br#"{"state": {"sum": "3"}}"#, 0, &["a"], true, true);
        assert_eq!(answer.outcome, InvocationOutcome::Succeeded);
        assert_eq!(answer.state.and_then(|state| state.get("sum").cloned()), Some(Value::from("3")));
    }
}
