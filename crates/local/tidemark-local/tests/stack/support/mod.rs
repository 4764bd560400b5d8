//! A stack of one test function and one table, started in this process or as the real binary.

pub(crate) mod sockets;

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use aws_sdk_dynamodb::types::AttributeValue;
use clap::Parser;
use serde_json::Value;
use tempfile::TempDir;
use tidemark_local::cli::Options;
use tidemark_local::dynamodb::{Identity, client};
use tidemark_local::start_error::StartError;
use tidemark_local::startup::RunningStack;

/// Long, because the machine may be busy with other tests; a passing test never waits so long.
pub(crate) const PATIENCE: Duration = Duration::from_secs(60);

/// A folder with a template, the test function's recording and the data.
pub(crate) struct Stage {
    pub folder: TempDir,
}

impl Stage {
    /// The template: a table `things`, and a test function with these properties and events.
    pub(crate) fn new(properties: &str, events: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let recording = folder.path().join("recording.jsonl");
        let template = TEMPLATE
            .replace("RECORDING_PATH", recording.to_str().unwrap())
            .replace("      PROPERTIES\n", &indent(properties, 6))
            .replace("        EVENTS\n", &indent(events, 8));
        std::fs::write(folder.path().join("template.yaml"), template).unwrap();
        Self { folder }
    }

    /// A test function that listens to the table's stream, with these settings of the mapping.
    pub(crate) fn streaming(settings: &str) -> Self {
        let event = "Change:\n  Type: DynamoDB\n  Properties:\n    Stream: !GetAtt Table.StreamArn\n    StartingPosition: TRIM_HORIZON\n";
        Self::new("", &format!("{event}{}", indent(settings, 4)))
    }

    /// Adds resources to the end of the template.
    pub(crate) fn add_resources(&self, resources: &str) {
        let path = self.path("template.yaml");
        let template = std::fs::read_to_string(&path).unwrap();
        std::fs::write(&path, format!("{}\n{resources}", template.trim_end())).unwrap();
    }

    /// Replaces a part of the template, which has to be there.
    pub(crate) fn replace(&self, part: &str, with: &str) {
        let path = self.path("template.yaml");
        let template = std::fs::read_to_string(&path).unwrap();
        assert!(template.contains(part), "the template has no {part:?}");
        std::fs::write(&path, template.replace(part, with)).unwrap();
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    pub(crate) fn arguments(&self) -> Vec<String> {
        let path = |name: &str| self.path(name).to_str().unwrap().to_owned();
        let test_functions = test_functions().to_str().unwrap().to_owned();
        ["--port=0", "--dynamodb-port=0", "--s3-port=0", "--no-build"]
            .map(str::to_owned)
            .into_iter()
            .chain([format!("--template={}", path("template.yaml")), format!("--data-dir={}", path("data"))])
            .chain([format!("--bin-dir={test_functions}"), "--web-dir=pages".to_owned()])
            .collect()
    }

    pub(crate) async fn try_start(&self, more: &[&str]) -> Result<RunningStack, StartError> {
        let given = |argument: &String| more.iter().any(|flag| flag.split('=').next() == argument.split('=').next());
        let own = self.arguments().into_iter().filter(|argument| !given(argument));
        let arguments = ["tidemark-local".to_owned()].into_iter().chain(own);
        let options = Options::parse_from(arguments.chain(more.iter().map(|flag| (*flag).to_owned())));
        RunningStack::start(&options).await
    }

    /// The error text of a failed start.
    pub(crate) async fn refusal(&self) -> String {
        format!("{:#}", anyhow::Error::from(self.try_start(&[]).await.unwrap_err()))
    }

    pub(crate) async fn start(&self) -> RunningStack {
        self.try_start(&[]).await.unwrap()
    }

    /// Lets the functions go on that wait for it.
    pub(crate) fn open_gate(&self) {
        std::fs::write(self.path("recording.gate"), "").unwrap();
    }

    /// The stream events that the test function has seen.
    pub(crate) fn recording(&self) -> Vec<Value> {
        let text = std::fs::read_to_string(self.path("recording.jsonl")).unwrap_or_default();
        // The function may be writing the last line.
        let whole = text.rfind('\n').map_or("", |end| &text[..end]);
        whole.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }

    /// The `n` of each record that the test function has seen, in order, batch by batch.
    pub(crate) fn seen(&self) -> Vec<Vec<u64>> {
        let number = |record: &Value| record["dynamodb"]["NewImage"]["n"]["N"].as_str().unwrap().parse().unwrap();
        let numbers = |event: &Value| event["Records"].as_array().unwrap().iter().map(number).collect();
        self.recording().iter().map(numbers).collect()
    }

    /// Waits until the test function's recording fulfils `wanted`.
    pub(crate) async fn until(&self, what: &str, wanted: impl Fn(&Self) -> bool) {
        until(what, || wanted(self)).await;
    }

    /// Waits until all shards that are read have settled their records and moved their checkpoints.
    pub(crate) async fn until_caught_up(&self, running: &RunningStack) {
        let mapping = &running.admin.mappings.get().unwrap()[0];
        let caught_up = |_: &Self| {
            let shards = mapping.progress.shards();
            !shards.is_empty() && shards.values().all(|shard| shard.caught_up)
        };
        self.until("catching up", caught_up).await;
    }

    /// Waits until each of these numbers was seen at least once.
    pub(crate) async fn until_seen(&self, numbers: impl Iterator<Item = u64> + Clone) {
        let all = |stage: &Self| {
            let seen = stage.seen().concat();
            numbers.clone().all(|number| seen.contains(&number))
        };
        self.until("seeing all records", all).await;
    }
}

/// Waits until `wanted` is true.
pub(crate) async fn until(what: &str, wanted: impl Fn() -> bool) {
    let start = Instant::now();
    while !wanted() {
        assert!(start.elapsed() < PATIENCE, "{what} did not happen");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

/// Puts an item with this number, and these further attributes.
pub(crate) async fn put(dynamodb: &str, number: u64, attributes: &[&str]) {
    let client = client(dynamodb, &Identity::local());
    let mut request = client.put_item().table_name("things").item("pk", AttributeValue::S(format!("item-{number}")));
    request = request.item("n", AttributeValue::N(number.to_string()));
    for attribute in attributes {
        request = request.item(*attribute, AttributeValue::Bool(true));
    }
    request.send().await.unwrap();
}

/// The folder of this package's examples, which include the test function.
pub(crate) fn test_functions() -> PathBuf {
    let test = std::env::current_exe().unwrap();
    test.parent().and_then(Path::parent).unwrap().join("examples")
}

fn indent(text: &str, spaces: usize) -> String {
    text.lines().map(|line| format!("{}{line}\n", " ".repeat(spaces))).collect()
}

/// A load balancer before the test function, for [`Stage::add_resources`].
pub(crate) const BALANCER: &str =
    "  Balancer: { Type: AWS::ElasticLoadBalancingV2::LoadBalancer, Properties: { Scheme: internal } }
  Group:
    Type: AWS::ElasticLoadBalancingV2::TargetGroup
    Properties: { TargetType: lambda, Targets: [{ Id: !GetAtt TestFunction.Arn }] }
  Listener:
    Type: AWS::ElasticLoadBalancingV2::Listener
    Properties:
      LoadBalancerArn: !Ref Balancer
      Port: 80
      Protocol: HTTP
      DefaultActions: [{ Type: forward, TargetGroupArn: !Ref Group }]";

const TEMPLATE: &str = r#"
AWSTemplateFormatVersion: "2010-09-09"
Transform: AWS::Serverless-2016-10-31
Globals:
  HttpApi:
    CorsConfiguration:
      AllowOrigins: ["https://page.example"]
      AllowMethods: [GET, POST]
Resources:
  Table:
    Type: AWS::DynamoDB::Table
    Properties:
      TableName: things
      BillingMode: PAY_PER_REQUEST
      AttributeDefinitions: [{ AttributeName: pk, AttributeType: S }]
      KeySchema: [{ AttributeName: pk, KeyType: HASH }]
      StreamSpecification: { StreamViewType: NEW_AND_OLD_IMAGES }
      TimeToLiveSpecification: { AttributeName: expiresAt, Enabled: true }
      PointInTimeRecoverySpecification: { PointInTimeRecoveryEnabled: true }
  Failures:
    Type: AWS::SQS::Queue
    Properties: { QueueName: failures }
  TestFunction:
    Type: AWS::Serverless::Function
    Metadata:
      BuildMethod: rust-cargolambda
      BuildProperties: { Binary: test_function }
    Properties:
      FunctionName: the-test_function
      CodeUri: .
      Handler: bootstrap
      Runtime: provided.al2023
      MemorySize: 128
      Timeout: 29
      Policies: AdministratorAccess
      PROPERTIES
      Environment:
        Variables:
          RECORDING: "RECORDING_PATH"
          GREETING: !Sub "hello from ${AWS::Region}"
      Events:
        Get: { Type: HttpApi, Properties: { Method: GET, Path: "/things/{id}" } }
        Post: { Type: HttpApi, Properties: { Method: POST, Path: /things } }
        EVENTS
"#;
