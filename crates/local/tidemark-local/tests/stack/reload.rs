//! `--watch`: a changed template replaces the stack as a whole.

use std::fs::File;
use std::process::{Command, Stdio};

use aws_sdk_dynamodb::types::AttributeValue;
use serde_json::Value;
use tidemark_local::dynamodb::{Identity, client};

use crate::process::{Stack, test_functions};
use crate::support::{self, Stage, until};

/// The test function as an asset of the CDK, which needs no build.
fn stage() -> Stage {
    let stage = Stage::new("", "");
    let metadata = "      BuildMethod: rust-cargolambda\n      BuildProperties: { Binary: test_function }\n";
    stage.replace(metadata, "      aws:asset:path: asset\n");
    std::fs::create_dir(stage.path("asset")).unwrap();
    let binary = support::test_functions().join("test_function");
    std::os::unix::fs::symlink(binary, stage.path("asset/bootstrap")).unwrap();
    stage
}

/// Starts the real binary, whose log goes to a file.
fn start(stage: &Stage) -> Stack {
    let mut command = Command::new(env!("CARGO_BIN_EXE_tidemark-local"));
    let own = stage.arguments().into_iter().filter(|flag| !flag.starts_with("--no-build") && !flag.contains("bin-dir"));
    command.args(own).arg("--watch").stdin(Stdio::null()).stderr(File::create(stage.path("log")).unwrap());
    Stack::run(&mut command)
}

/// What the function tells of itself; `None` while the stack starts again.
async fn context(stack: &Stack) -> Option<Value> {
    let url = format!("{}/2015-03-31/functions/TestFunction/invocations", stack.http());
    let answer = reqwest::Client::new().post(url).body(r#"{"do":"context"}"#).send().await.ok()?;
    answer.json().await.ok()
}

async fn until_greeting(stack: &Stack, wanted: &str) -> Value {
    let start = std::time::Instant::now();
    loop {
        match context(stack).await {
            Some(context) if context["greeting"] == wanted => return context,
            other => assert!(start.elapsed() < support::PATIENCE, "{wanted} does not come, but {other:?}"),
        }
        tokio::time::sleep(std::time::Duration::from_millis(20)).await;
    }
}

async fn until_logged(stage: &Stage, text: &str) {
    until(text, || std::fs::read_to_string(stage.path("log")).unwrap().contains(text)).await;
}

#[tokio::test]
async fn saved_template_restarts_the_stack_with_its_ports_and_tables() {
    let stage = stage();
    let mut stack = start(&stage);
    let dynamodb = until_greeting(&stack, "hello from us-east-1").await["dynamodb"].as_str().unwrap().to_owned();
    support::put(&dynamodb, 1, &[]).await;
    stage.replace("!Sub \"hello from ${AWS::Region}\"", "!Ref Greeting");
    stage.replace("Resources:\n", "Parameters: { Greeting: { Type: String, Default: bye } }\nResources:\n");
    let context = until_greeting(&stack, "bye").await;
    assert_eq!(context["dynamodb"], *dynamodb);
    until_logged(&stage, "the template has changed: changed TestFunction\n").await;
    let item = client(&dynamodb, &Identity::local()).get_item().table_name("things");
    let item = item.key("pk", AttributeValue::S("item-1".to_owned())).send().await.unwrap();
    assert!(item.item.is_some(), "the table keeps its items");
    // A file beside the template that did not exist before.
    let settings = "[default.global.parameters]\nparameter_overrides = 'Greeting=again'\n";
    std::fs::write(stage.path("samconfig.toml"), settings).unwrap();
    until_greeting(&stack, "again").await;
    stack.signal("-TERM");
    assert!(stack.process.wait().unwrap().success());
    assert_eq!(test_functions(&stage), 0);
}

#[tokio::test]
async fn template_that_cannot_run_leaves_the_stack_as_it_was() {
    let stage = stage();
    let mut stack = start(&stage);
    let pid = until_greeting(&stack, "hello from us-east-1").await["pid"].clone();
    stage.replace("Timeout: 29", "Timeout: 2900");
    until_logged(&stage, "the stack stays as it was").await;
    until_logged(&stage, "template.yaml: the template cannot be run:\n  line 33, column 16: Resources.TestFunction")
        .await;
    assert_eq!(context(&stack).await.unwrap()["pid"], pid);
    // This one is mended in a file that the running template does not name.
    stage.replace(
        "Resources:\n",
        "Resources:\n  More: { Type: AWS::CloudFormation::Stack, Properties: { TemplateURL: more/more.yaml } }\n",
    );
    stage.replace("Timeout: 2900", "Timeout: 28");
    stage.replace("hello from", "hi from");
    until_logged(&stage, "more.yaml cannot be read").await;
    std::fs::create_dir(stage.path("more")).unwrap();
    let refused = "Resources: { Q: { Type: AWS::SQS::Queue, Properties: { QueueNam: q } } }";
    std::fs::write(stage.path("more/more.yaml"), refused).unwrap();
    until_logged(&stage, "QueueName").await;
    std::fs::write(stage.path("more/more.yaml"), refused.replace("Nam:", "Name:")).unwrap();
    until_greeting(&stack, "hi from us-east-1").await;
    stage.replace("hi from", "hello from");
    until_greeting(&stack, "hello from us-east-1").await;
    // This one is valid, but its table exists with another key.
    stage.replace("AttributeType: S", "AttributeType: N");
    until_logged(&stage, "the stack starts again with the template that it had").await;
    until_greeting(&stack, "hello from us-east-1").await;
    stage.replace("AttributeType: N", "AttributeType: S");
    stage.replace("hello from", "bye from");
    until_greeting(&stack, "bye from us-east-1").await;
    stack.signal("-TERM");
    assert!(stack.process.wait().unwrap().success());
    assert_eq!(test_functions(&stage), 0);
}
