//! A program of the CDK runs from `cdk.out`: its template, its manifest and its assets.

use crate::support::{Stage, test_functions};
use clap::{Parser as _, ValueEnum as _};
use reqwest::{Client, Method, StatusCode};
use serde_json::{Value, json};
use tidemark_local::cdk::CdkError;
use tidemark_local::cli::Options;
use tidemark_local::startup::RunningStack;
use tidemark_local::template::ProblemCode;
use tidemark_local::testing::{Stack, TestError};

const MANIFEST: &str = r#"{
  "version": "48.0.0",
  "artifacts": {
    "Pets.assets": { "type": "cdk:asset-manifest", "properties": { "file": "Pets.assets.json" } },
    "Pets": { "type": "aws:cloudformation:stack", "properties": { "templateFile": "Pets.template.json" } },
    "Tree": { "type": "cdk:tree", "properties": { "file": "tree.json" } }
  }
}"#;

/// As `cdk synth` writes a `RestApi` with a preflight, a model, a validator and an authorizer.
const TEMPLATE: &str = include_str!("support/Pets.template.json");

/// A `cdk.out` folder whose asset is the test function.
fn cdk_out() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    let asset = folder.path().join("asset.1234");
    std::fs::create_dir(&asset).unwrap();
    std::os::unix::fs::symlink(test_functions().join("test_function"), asset.join("bootstrap")).unwrap();
    std::fs::write(folder.path().join("manifest.json"), MANIFEST).unwrap();
    std::fs::write(folder.path().join("Pets.template.json"), TEMPLATE).unwrap();
    folder
}

fn options(folder: &std::path::Path) -> Options {
    let template = format!("--template={}", folder.display());
    let arguments = ["tidemark-local", "--port=0", "--dynamodb-port=0", "--s3-port=0", "--in-memory", &template];
    Options::parse_from(arguments)
}

#[tokio::test]
async fn rest_api_of_the_cdk_runs_from_its_folder() {
    let folder = cdk_out();
    let mut options = options(folder.path());
    options.find_template().unwrap();
    let running = RunningStack::start(&options).await.unwrap();
    let api = running.admin.addresses.apis[0].url.clone();
    let send = |method: Method, path: &str, token: &str, body: &'static str| {
        let request = Client::new().request(method, format!("{api}{path}")).header("content-type", "application/json");
        let request = request.header("X-Token", token).body(body);
        async move { request.send().await.unwrap() }
    };
    let preflight = send(Method::OPTIONS, "/pets", "", "").await;
    assert_eq!(
        (preflight.status(), &preflight.headers()["access-control-allow-origin"]),
        (StatusCode::NO_CONTENT, &"*".parse().unwrap())
    );
    let invalid = send(Method::POST, "/pets?kind=dog", "", "{}").await;
    assert_eq!(
        (invalid.status(), invalid.json::<Value>().await.unwrap()),
        (StatusCode::BAD_REQUEST, json!({ "message": "Invalid request body" }))
    );
    assert_eq!(send(Method::POST, "/pets", "", r#"{"name":"Rex"}"#).await.status(), StatusCode::BAD_REQUEST);
    let made = send(Method::POST, "/pets?kind=dog&do=answer", "", r#"{"name":"Rex"}"#).await;
    assert_eq!(made.status(), StatusCode::IM_A_TEAPOT);
    let refused = Client::new().get(format!("{api}/pets/7")).send().await.unwrap();
    assert_eq!(
        (refused.status(), &refused.headers()["x-why"]),
        (StatusCode::IM_A_TEAPOT, &"no token".parse().unwrap())
    );
    let shown: Value = send(Method::GET, "/pets/7?do=show", "abc", "").await.json().await.unwrap();
    assert_eq!(
        (&shown["pathParameters"]["id"], &shown["requestContext"]["stage"]),
        (&json!("7"), &json!("dev")),
        "{shown}"
    );
}

#[cfg(feature = "archives")]
#[tokio::test]
async fn asset_that_is_an_archive_runs_like_a_folder() {
    let folder = cdk_out();
    let template = folder.path().join("Pets.template.json");
    std::fs::write(&template, TEMPLATE.replace("asset.1234", "asset.1234.zip")).unwrap();
    let pack = |name: &str| {
        let mut archive = zip::ZipWriter::new(std::fs::File::create(folder.path().join("asset.1234.zip")).unwrap());
        let options = zip::write::SimpleFileOptions::default().unix_permissions(0o755);
        archive.start_file(name, options.compression_method(zip::CompressionMethod::Stored)).unwrap();
        std::io::copy(&mut std::fs::File::open(test_functions().join("test_function")).unwrap(), &mut archive).unwrap();
        archive.finish().unwrap();
    };
    pack("bootstrap");
    let data = format!("--data-dir={}", folder.path().join("data").display());
    let mut options = Options::parse_from(["tidemark-local", "--port=0", "--dynamodb-port=0", "--s3-port=0", &data]);
    options.template = folder.path().to_owned();
    options.find_template().unwrap();
    let unpacked = folder.path().join("data/code");
    for _ in 0..2 {
        let running = RunningStack::start(&options).await.unwrap();
        let url = format!("{}/2015-03-31/functions/Fn9270CBC0/invocations", running.admin.addresses.http);
        let answer = Client::new().post(url).body("{\"n\":1}").send().await.unwrap().text().await.unwrap();
        assert_eq!(answer, "{\"n\":1}");
        running.stop().await;
        assert_eq!(std::fs::read_dir(&unpacked).unwrap().count(), 1, "only the code that runs");
        // The next start finds code that no function uses.
        std::fs::create_dir(unpacked.join("older")).unwrap();
    }
    let stack = Stack::template(folder.path()).start().await.unwrap();
    assert_eq!(stack.invoke("Fn9270CBC0", json!({ "n": 2 })).await.unwrap(), json!({ "n": 2 }));
    stack.stop().await;
    pack("main");
    let error = format!("{:#}", anyhow::Error::from(RunningStack::start(&options).await.unwrap_err()));
    let (named, reason) = (error.contains("asset.1234.zip"), error.contains("no file `bootstrap`"));
    assert!(error.starts_with("Fn9270CBC0: ") && named && reason, "{error}");
}

#[tokio::test]
async fn test_library_finds_the_template_in_a_cdk_folder() {
    let folder = cdk_out();
    let stack = Stack::template(folder.path()).start().await.unwrap();
    assert_eq!(stack.invoke("Fn9270CBC0", json!({ "n": 1 })).await.unwrap(), json!({ "n": 1 }));
    stack.stop().await;
    std::fs::remove_file(folder.path().join("manifest.json")).unwrap();
    let error = Stack::template(folder.path()).start().await.unwrap_err();
    assert!(matches!(error, TestError::Cdk(CdkError::Manifest(..))), "{error}");
}

#[test]
fn folder_without_exactly_one_stack_is_refused_by_name() {
    let folder = cdk_out();
    let manifest = folder.path().join("manifest.json");
    let second = r#""More": { "type": "aws:cloudformation:stack", "properties": { "templateFile": "More.template.json" } }, "Tree""#;
    std::fs::write(&manifest, MANIFEST.replace("\"Tree\"", second)).unwrap();
    let error = options(folder.path()).find_template().unwrap_err();
    assert!(matches!(&error, CdkError::Stacks(_, stacks) if stacks.len() == 2), "{error}");
    std::fs::write(&manifest, "[").unwrap();
    assert!(matches!(options(folder.path()).find_template(), Err(CdkError::Invalid(..))));
    std::fs::remove_file(&manifest).unwrap();
    assert!(matches!(options(folder.path()).find_template(), Err(CdkError::Manifest(..))));
}

#[tokio::test]
async fn check_gives_findings_that_programs_read() {
    let stage = Stage::new("Architecture: [arm64]", "");
    let check = |more: &'static str| {
        let template = format!("--template={}", stage.path("template.yaml").display());
        let output = std::process::Command::new(env!("CARGO_BIN_EXE_tidemark-local"))
            .args(["--check", "--format=json", &template])
            .args(more.split_whitespace())
            .output();
        let output = output.unwrap();
        (output.status.success(), serde_json::from_slice::<Value>(&output.stdout).unwrap())
    };
    let (is_good, findings) = check("");
    assert_eq!((is_good, findings.as_array().unwrap().len()), (false, 1), "{findings}");
    let finding = &findings[0];
    assert_eq!(
        (&finding["severity"], &finding["code"], &finding["line"]),
        (&json!("error"), &json!("unknown-property"), &json!(36)),
        "{finding}"
    );
    assert!(finding["message"].as_str().unwrap().ends_with("the most similar one is Architectures"), "{finding}");
    assert!(finding["file"].as_str().unwrap().ends_with("template.yaml") && finding["column"].is_u64(), "{finding}");
    stage.replace("Architecture:", "ProvisionedConcurrencyConfig:");
    let (is_good, findings) = check("");
    assert_eq!(
        (is_good, &findings[0]["severity"], &findings[0]["code"]),
        (true, &json!("warning"), &json!("no-effect")),
        "{findings}"
    );
    assert_eq!(check("--strict").1[0]["severity"], "error");
    let (is_good, findings) = check("--parameter Nobody=1");
    assert_eq!((is_good, &findings[0]["code"]), (false, &json!("unknown-name")), "{findings}");
    // An error by --strict is the same finding.
    for (part, code) in [
        ("Layers: ['arn:x']", "left-out"),
        ("KmsKeyArn: x", "no-effect"),
        ("Timeout: 1000", "invalid"),
        ("Role: !Ref No", "unknown-name"),
    ] {
        let before = std::fs::read_to_string(stage.path("template.yaml")).unwrap();
        stage.replace("      Timeout: 29\n", &format!("      {part}\n"));
        let findings = check("--strict").1;
        let codes: Vec<_> = findings.as_array().unwrap().iter().map(|finding| &finding["code"]).collect();
        assert!(codes.contains(&&json!(code)), "{part}: {findings}");
        std::fs::write(stage.path("template.yaml"), before).unwrap();
    }
}

#[test]
fn finding_codes_are_those_of_the_documentation() {
    let docs = include_str!("../../../../../docs/any-template.md");
    let rows = docs.lines().skip_while(|line| !line.starts_with("| code |")).skip(2);
    let rows = rows.map_while(|line| line.strip_prefix("| `")?.split('`').next());
    let codes = ProblemCode::value_variants().iter().map(|code| json!(code));
    assert_eq!(rows.map(|code| json!(code)).collect::<Vec<_>>(), codes.collect::<Vec<_>>());
}
