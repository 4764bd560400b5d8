//! Parts that a build may leave out, each by a cargo feature, so that it compiles fewer crates.
//!
//! A template or a flag that needs such a part does not start: `check` names the feature. The
//! types below stand in for the parts that are left out; no value of theirs exists.

use crate::stack::{AuthorizerKind, Stack};

/// This build does not have a part that the template or a flag needs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("{needed_by}: this build of tidemark-local leaves that out; build it with `--features {feature}`")]
pub struct LeftOut {
    /// Why it is needed.
    pub needed_by: &'static str,
    /// The cargo feature.
    pub feature: &'static str,
}

/// Refuses what this build cannot run.
pub(crate) fn check(stack: &Stack, aws_domains: bool, watch: bool) -> Result<(), LeftOut> {
    let is_jwt = |authorizer: &crate::stack::Authorizer| matches!(authorizer.kind, AuthorizerKind::Jwt(_));
    let has_jwt = stack.http_apis.iter().any(|api| api.authorizers.iter().any(is_jwt));
    let has_body = |route: &crate::stack::Route| !route.checks.bodies.is_empty();
    let has_models = stack.functions.iter().any(|function| function.routes.iter().any(has_body));
    let has_archive = stack.functions.iter().any(crate::stack::Function::is_archive);
    let notify = stack.buckets.iter().any(|bucket| bucket.sends_events || !bucket.notifications.is_empty());
    let parts = [
        // A bucket alone changes nothing for functions that do not call S3; the banner says that it
        // is not there.
        (notify, cfg!(feature = "buckets"), "a bucket has notifications", "buckets"),
        (!stack.kinesis_streams.is_empty(), cfg!(feature = "kinesis"), "the template has Kinesis streams", "kinesis"),
        (has_models, cfg!(feature = "models"), "an API checks bodies with models", "models"),
        (has_jwt, cfg!(feature = "jwt"), "an API verifies JSON Web Tokens", "jwt"),
        (has_archive, cfg!(feature = "archives"), "the code of a function is a zip archive", "archives"),
        (aws_domains, cfg!(feature = "aws-domains"), "--aws-domains", "aws-domains"),
        (watch, cfg!(feature = "watch"), "--watch", "watch"),
    ];
    let missing = parts.into_iter().find(|(needed, there, ..)| *needed && !there);
    missing.map_or(Ok(()), |(.., needed_by, feature)| Err(LeftOut { needed_by, feature }))
}

#[cfg(not(feature = "archives"))]
pub(crate) mod archives {
    use std::path::{Path, PathBuf};

    use super::LeftOut;
    pub(crate) use super::LeftOut as ArchiveError;

    pub(crate) fn unpack(_: &Path, _: &Path) -> Result<PathBuf, LeftOut> {
        Err(LeftOut { needed_by: "a zip archive", feature: "archives" })
    }
}

#[cfg(not(feature = "buckets"))]
pub(crate) mod buckets {
    use std::path::Path;
    use std::sync::Arc;

    use super::LeftOut;
    use crate::eventbridge::Buses;
    use crate::policies::Policies;
    use crate::stack::Bucket;

    #[derive(Debug)]
    pub(crate) enum Buckets {}

    impl Buckets {
        pub(crate) async fn open(_: &[Bucket], _: u16, _: Option<&Path>) -> Result<Option<Self>, LeftOut> {
            Ok(None)
        }

        pub(crate) fn url(&self) -> Result<String, LeftOut> {
            match *self {}
        }

        pub(crate) fn serve(
            self,
            _: &[Bucket],
            _: &Arc<Policies>,
            _: &Arc<Buses>,
        ) -> Result<std::future::Ready<()>, LeftOut> {
            match self {}
        }
    }
}

#[cfg(not(feature = "kinesis"))]
pub(crate) mod kinesis {
    use std::sync::Arc;

    use axum::Router;

    use super::LeftOut;
    use crate::event_source_mapping::Stream;
    use crate::policies::Policies;
    use crate::stack::{Function, KinesisStream};

    pub(crate) const PATH: &str = "";

    #[derive(Debug)]
    pub(crate) enum Kinesis {}

    impl Kinesis {
        pub(crate) async fn start(_: &[KinesisStream]) -> Result<Option<Arc<Self>>, LeftOut> {
            Ok(None)
        }

        pub(crate) fn stream(self: &Arc<Self>, _: &str, _: &[KinesisStream], _: &Function) -> Option<Stream> {
            match **self {}
        }
    }

    pub(crate) fn router(kinesis: Arc<Kinesis>, _: Arc<Policies>) -> Router {
        match *kinesis {}
    }
}

#[cfg(not(feature = "models"))]
pub(crate) mod models {
    use serde_json::Value;

    use super::LeftOut;

    #[derive(Debug)]
    pub(crate) enum Model {}

    impl Model {
        pub(crate) fn new(_: &Value) -> Result<Self, LeftOut> {
            Err(LeftOut { needed_by: "a model", feature: "models" })
        }

        pub(crate) fn test(&self, _: &[u8]) -> Result<(), String> {
            match *self {}
        }
    }
}

#[cfg(not(feature = "jwt"))]
pub(crate) mod jwt {
    use crate::http_api::authorizers::{AuthorizerRequest, Grant, Refusal};
    use crate::stack::JwtAuthorizer;

    /// It lets nobody in.
    #[derive(Debug)]
    pub(crate) struct JwtVerifier;

    impl JwtVerifier {
        pub(crate) fn new(_: JwtAuthorizer) -> Self {
            Self
        }

        pub(crate) async fn decide(&self, _: AuthorizerRequest<'_>) -> Result<Grant, Refusal> {
            Err(Refusal::Failed)
        }
    }
}

#[cfg(not(feature = "aws-domains"))]
pub(crate) mod aws_domains {
    use std::collections::BTreeMap;

    use super::LeftOut;
    use crate::functions::Endpoints;

    #[derive(Debug)]
    pub(crate) enum AwsDomains {}

    impl AwsDomains {
        pub(crate) async fn start(_: &Endpoints) -> Result<Self, LeftOut> {
            Err(LeftOut { needed_by: "--aws-domains", feature: "aws-domains" })
        }

        pub(crate) fn variables(&self) -> BTreeMap<String, String> {
            match *self {}
        }
    }
}

#[cfg(not(feature = "watch"))]
pub(crate) mod watch {
    use std::path::PathBuf;
    use std::sync::Arc;

    use super::LeftOut;
    use crate::build::Binaries;
    use crate::functions::Functions;

    #[derive(Debug)]
    pub(crate) enum Watch {}

    impl Watch {
        pub(crate) async fn start(_: &[PathBuf], _: &str, _: &Arc<Functions>, _: Binaries) -> Result<Self, LeftOut> {
            Err(LeftOut { needed_by: "--watch", feature: "watch" })
        }

        pub(crate) fn watch_refused(&self, _: &[PathBuf], _: &[PathBuf]) -> bool {
            match *self {}
        }

        pub(crate) async fn template_changed(&self) {
            match *self {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_part_that_is_left_out_is_refused_by_name() {
        let yaml = "Transform: AWS::Serverless-2016-10-31
Resources:
  Photos:
    Type: AWS::S3::Bucket
    Properties: { NotificationConfiguration: { EventBridgeConfiguration: {} } }
";
        let stack = crate::template::read(yaml, &Default::default()).unwrap_or_else(|error| panic!("{error}")).stack;
        let refusal = LeftOut { needed_by: "a bucket has notifications", feature: "buckets" };
        let expected = if cfg!(feature = "buckets") { Ok(()) } else { Err(refusal) };
        assert_eq!(check(&stack, false, false), expected);
        assert_eq!(check(&Stack { buckets: Vec::new(), ..stack }, false, false), Ok(()));
    }
}
