//! CloudWatch's embedded metric format, as functions write it into their logs.
//!
//! Source:
//! <https://docs.aws.amazon.com/AmazonCloudWatch/latest/monitoring/CloudWatch_Embedded_Metric_Format_Specification.html>.

use serde_json::Value;

/// Maximum number of values of one metric in a line.
const VALUES_MAX: usize = 100;

/// The metrics of a line, each with its values; none if the line has another format.
pub(super) fn read(line: &str) -> Vec<(String, Vec<f64>)> {
    let Ok(line) = serde_json::from_str::<Value>(line) else { return Vec::new() };
    let Some(directives) = line["_aws"]["CloudWatchMetrics"].as_array() else { return Vec::new() };
    let metrics = directives.iter().filter_map(|directive| directive["Metrics"].as_array()).flatten();
    metrics
        .filter_map(|metric| metric["Name"].as_str())
        .map(|name| (name.to_owned(), values(&line[name])))
        .filter(|(_, values)| !values.is_empty())
        .collect()
}

/// A number, a list of numbers, or numbers with a count for each.
fn values(member: &Value) -> Vec<f64> {
    match (member, member["Values"].as_array(), member["Counts"].as_array()) {
        (Value::Number(number), ..) => number.as_f64().into_iter().collect(),
        (Value::Array(list), ..) => list.iter().filter_map(Value::as_f64).take(VALUES_MAX).collect(),
        (_, Some(values), Some(counts)) => values
            .iter()
            .zip(counts)
            .filter_map(|(value, count)| Some((value.as_f64()?, count.as_f64()? as usize)))
            .flat_map(|(value, count)| std::iter::repeat_n(value, count.min(VALUES_MAX)))
            .take(VALUES_MAX)
            .collect(),
        _ => Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn metrics_of_each_form_are_read() {
        let line = r#"{"_aws":{"Timestamp":1,"CloudWatchMetrics":[{"Namespace":"Tidemark","Dimensions":[["FunctionName"]],
            "Metrics":[{"Name":"ClicksCounted"},{"Name":"CountingLagMs","Unit":"Milliseconds"},{"Name":"Both"},{"Name":"Missing"}]}]},
            "FunctionName":"f","ClicksCounted":3,"CountingLagMs":{"Values":[1.5,9],"Counts":[2,1]},"Both":[1,2],"Else":7}"#;
        assert_eq!(
            read(line),
            [
                ("ClicksCounted".to_owned(), vec![3.0]),
                ("CountingLagMs".to_owned(), vec![1.5, 1.5, 9.0]),
                ("Both".to_owned(), vec![1.0, 2.0])
            ]
        );
    }

    #[test]
    fn a_line_of_another_format_has_no_metrics() {
        for line in ["", "{", "{}", r#"{"_aws":1}"#, r#"{"_aws":{"CloudWatchMetrics":[{"Metrics":[{}, 1]}]}}"#] {
            assert_eq!(read(line), [], "{line}");
        }
    }

    #[test]
    fn the_number_of_values_in_a_line_is_limited() {
        let line =
            r#"{"_aws":{"CloudWatchMetrics":[{"Metrics":[{"Name":"N"}]}]},"N":{"Values":[1,2],"Counts":[1e18,5]}}"#;
        assert_eq!(read(line)[0].1.len(), VALUES_MAX);
    }
}
