//! The actions of AWS's services: each is done, or refused with its name.
//!
//! `scripts/actions` writes the lists.

/// The type of the error for an action that this machine does not have.
pub(crate) const REFUSED: &str = "NotImplemented";

/// A service with its actions. A line of `list` has `done` or `refused`, the name, and of a REST
/// service the method and the path.
#[derive(Debug)]
pub(crate) struct Service {
    title: &'static str,
    list: &'static str,
}

macro_rules! services {
    ($($name:ident: $title:literal, $file:literal;)*) => {
        $(pub(crate) const $name: Service =
            Service { title: $title, list: include_str!(concat!("actions/", $file, ".txt")) };)*
    };
}

services! {
    EVENTS: "EventBridge", "events";
    LAMBDA: "Lambda", "lambda";
    SECRETS_MANAGER: "Secrets Manager", "secretsmanager";
    SES: "SES v2", "sesv2";
    SNS: "SNS", "sns";
    SQS: "SQS", "sqs";
    SSM: "Systems Manager", "ssm";
}

#[cfg(feature = "buckets")]
services! { S3: "S3", "s3"; }

#[cfg(feature = "kinesis")]
services! { KINESIS: "Kinesis", "kinesis"; }

impl Service {
    /// What to say to an action that AWS has and this machine refuses.
    pub(crate) fn refusal(&self, action: &str) -> Option<String> {
        let is_refused =
            |line: &str| line.strip_prefix("refused ").and_then(|rest| rest.split(' ').next()) == Some(action);
        self.list.lines().any(is_refused).then(|| {
            format!("{action} of {} is not implemented on this machine: docs/aws-actions.md lists what is", self.title)
        })
    }

    /// Whether AWS has this action.
    pub(crate) fn has(&self, action: &str) -> bool {
        self.list.lines().any(|line| line.split(' ').nth(1) == Some(action))
    }

    /// What to say to an action that AWS does not have.
    pub(crate) fn unknown(&self, action: &str) -> String {
        format!("{} has no action `{action}`", self.title)
    }

    /// The action of a REST service at a path with its query. Of two, the one that names a part of
    /// the query, or has fewer parameters.
    pub(crate) fn action_at(&self, method: &str, path: &str) -> Option<&'static str> {
        let (path, query) = path.split_once('?').unwrap_or((path, ""));
        let asked: Vec<&str> = path.trim_end_matches('/').split('/').collect();
        let action = |line: &'static str| {
            let mut words = line.split(' ').skip(1);
            let (name, its_method, its_path) = (words.next()?, words.next()?, words.next()?);
            let (its_path, its_query) = its_path.split_once('?').unwrap_or((its_path, ""));
            let its_parts: Vec<&str> = its_path.trim_end_matches('/').split('/').collect();
            let fits = |(its, part): (&&str, &&str)| its.starts_with('{') || its == part;
            let is_it = its_method == method
                && its_parts.len() == asked.len()
                && its_parts.iter().zip(&asked).all(fits)
                && query.contains(its_query);
            is_it.then_some((its_query.is_empty(), its_path.matches('{').count(), name))
        };
        self.list.lines().filter_map(action).min().map(|(_, _, name)| name)
    }
}

#[cfg(feature = "buckets")]
impl Service {
    /// The action that a request to S3 names in its query, such as `GET /bucket?acl`, or by a path
    /// without a bucket.
    pub(crate) fn action_of_s3(&self, method: &str, path: &str, query: &str) -> Option<&'static str> {
        let has = |name: &str| form_urlencoded::parse(query.as_bytes()).any(|(key, _)| key == name);
        let is_object = path.trim_start_matches('/').split_once('/').is_some_and(|(_, key)| !key.is_empty());
        let action = |line: &'static str| {
            let mut words = line.split(' ').skip(1);
            let (name, its_method, its_path) = (words.next()?, words.next()?, words.next()?);
            let (its_path, its_query) = its_path.split_once('?').unwrap_or((its_path, ""));
            let marker = its_query.split(['&', '=']).next()?;
            let fits = match its_path.contains("{Bucket}") {
                true => its_path.contains("{Key") == is_object && has(marker),
                false => its_path == path,
            };
            (its_method == method && fits).then_some(name)
        };
        let mut found = self.list.lines().filter_map(action);
        let first = found.next()?;
        // `Get` and `List` may differ only in `id`, which names one of many.
        Some(found.next().filter(|_| !has("id")).unwrap_or(first))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[cfg(feature = "buckets")]
    #[test]
    fn action_of_s3_is_found_by_its_query() {
        let found = |method: &str, path: &str, query: &str| S3.action_of_s3(method, path, query);
        assert_eq!(found("PUT", "/b/k", "renameObject&x-id=RenameObject"), Some("RenameObject"));
        assert_eq!(found("GET", "/b/", "metrics"), Some("ListBucketMetricsConfigurations"));
        assert_eq!(found("GET", "/b", "metrics&id=1"), Some("GetBucketMetricsConfiguration"));
        assert_eq!((found("GET", "/b/k", "versionId=acl"), found("GET", "/b/acl", "")), (None, None));
    }

    #[test]
    fn action_of_a_rest_service_is_found_by_its_path() {
        let found = |method: &str, path: &str| LAMBDA.action_at(method, path);
        assert_eq!(found("GET", "/2015-03-31/functions/"), Some("ListFunctions"));
        assert_eq!(found("DELETE", "/2015-03-31/functions/f"), Some("DeleteFunction"));
        assert_eq!(found("GET", "/2018-10-31/layers/l/versions/3"), Some("GetLayerVersion"));
        assert_eq!(found("GET", "/2018-10-31/layers?Marker=a"), Some("ListLayers"));
        assert_eq!(found("GET", "/2018-10-31/layers?find=LayerVersion&Arn=a"), Some("GetLayerVersionByArn"));
        assert_eq!((found("PATCH", "/2015-03-31/functions/f"), found("GET", "/")), (None, None));
        assert!(
            LAMBDA.refusal("DeleteFunction").is_some_and(|sentence| sentence.starts_with("DeleteFunction of Lambda"))
        );
        assert_eq!((LAMBDA.refusal("Invoke"), LAMBDA.refusal("Delete")), (None, None));
    }
}
