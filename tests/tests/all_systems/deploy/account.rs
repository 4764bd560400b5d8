//! The account: scripts in place of `aws`, `sam` and cargo-lambda.

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use tempfile::TempDir;
use tests::repository;

/// Answers like AWS, from files. `stack` has the stack's status, `parameters` its parameters,
/// `tables`, `secrets` and `verified` have names, `fails` a pattern of calls that fail, `operators`
/// the users with the operator's policy, `reasons` the answers of CloudFront, and `concurrency` the
/// quota of concurrent functions. With `no-bucket` the bucket does not exist; with `sandbox` SES
/// mails only to verified addresses.
const AWS: &str = r#"#!/usr/bin/env bash
cd "$(dirname "$0")/../../cloud"; echo "aws $*" >>calls
if [ -s fails ] && [[ "$*" =~ $(cat fails) ]]; then echo "it failed" >&2; exit 1; fi
case "$*" in
    "sts get-caller-identity"*) echo arn:aws:iam::1:user/ann ;;
    "configure get region"*) echo eu-central-1 ;;
    *StackStatus*) cat stack 2>/dev/null || { echo "Stack with id x does not exist" >&2; exit 254; } ;;
    *OutputKey*)
        for key in WebBucketName WebDistributionId WebUrl ApiUrl StaffTokenSecretArn OperatorTokenSecretArn HealthTokenSecretArn OperatorPolicyArn; do
            printf '%s\tthe-%s\n' "$key" "$key"
        done ;;
    *Parameters*) cat parameters ;;
    "sesv2 get-account"*) if [ -e sandbox ]; then echo False; else echo True; fi ;;
    "sesv2 get-email-identity"*)
        grep -qx "$4" verified || { echo "An error occurred (NotFoundException): there is no $4" >&2; exit 254; }
        echo True ;;
    "dynamodb describe-table"*)
        grep -qx "$4" tables || { echo "An error occurred (ResourceNotFoundException): there is no $4" >&2; exit 254; }
        echo ACTIVE ;;
    "s3api head-bucket"*) [ ! -e no-bucket ] || { echo "An error occurred (404): Not Found" >&2; exit 254; } ;;
    "s3 rm"*) [ ! -e no-bucket ] || { echo "An error occurred (NoSuchBucket)" >&2; exit 1; } ;;
    "dynamodb delete-table"*) sed -i.old "/^$4\$/d" tables ;;
    "secretsmanager describe-secret"*)
        grep -qx "$4" secrets || { echo "An error occurred (ResourceNotFoundException): there is no $4" >&2; exit 254; }
        echo "arn:aws:secretsmanager:eu-central-1:1:secret:$4-abcdef" ;;
    "secretsmanager delete-secret"*) sed -i.old "\\|^$4\$|d" secrets ;;
    "cloudformation create-change-set"*IMPORT*) cp ../.aws-sam/build/kept.yaml kept ;;
    "cloudformation wait stack-import-complete"*) echo IMPORT_COMPLETE >stack ;;
    "cloudformation describe-stack-events"*) cat reasons ;;
    "lambda get-account-settings"*) cat concurrency ;;
    "iam list-entities-for-policy"*User*) cat operators ;;
    "iam list-entities-for-policy"*) ;;
    "iam detach-user-policy"*) : >operators ;;
esac
"#;

const SAM: &str = r#"#!/usr/bin/env bash
cd "$(dirname "$0")/../../cloud"; echo "sam $*" >>calls
case "$1" in
    deploy)
        if [ -s fails ] && [[ "sam $*" =~ $(cat fails) ]]; then [ -e stack ] || echo ROLLBACK_COMPLETE >stack; exit 1; fi
        echo CREATE_COMPLETE >stack
        for name in clicks game shop journal okusuri; do echo "tidemark-$name-dev"; done >tables
        for name in okusuri vapid; do echo "tidemark/dev/$name-key"; done >secrets ;;
    delete) [ ! -s operators ] || { echo "Cannot delete a policy attached to entities." >&2; exit 1; }; rm stack ;;
esac
"#;

/// Makes a binary of each package that it is asked for.
const CARGO_LAMBDA: &str = r#"#!/usr/bin/env bash
echo "cargo $*" >>"$(dirname "$0")/../../cloud/calls"
while [ $# -gt 0 ]; do
    case "$1" in --lambda-dir) folder=$2 ;; --package) mkdir -p "$folder/$2"; echo built >"$folder/$2/bootstrap" ;; esac
    shift
done
"#;

/// Copies a script in a process of its own. If this process wrote it, a child of another test could
/// still hold it open for writing, and then the kernel does not run it ("Text file busy").
fn copy(from: &Path, to: &Path) {
    assert!(Command::new("cp").arg("-p").args([from, to]).status().unwrap().success());
}

/// A checkout with an account of its own.
pub(super) struct Account(TempDir);

impl Account {
    pub(super) fn new() -> Self {
        let account = Self(tempfile::tempdir().unwrap());
        let functions = ["crates/functions/clicks/click-writer", "crates/functions/clicks/stats-reader"];
        for folder in ["scripts", ".tools/bin", "cloud", "web/dist/assets"].into_iter().chain(functions) {
            std::fs::create_dir_all(account.path(folder)).unwrap();
        }
        for file in ["template.yaml", "scripts/common.sh", "scripts/aws.sh", "scripts/deploy", "scripts/delete"] {
            copy(&repository().join(file), &account.path(file));
        }
        account.script(".tools/bin/aws", AWS);
        account.script(".tools/bin/sam", SAM);
        account.script(".tools/bin/cargo-lambda", CARGO_LAMBDA);
        // What these two install or ask for is this machine's matter.
        account.script("scripts/tools", "#!/bin/sh\n");
        account.script("scripts/requires", "#!/bin/sh\n");
        account.set("../Makefile", "page:\n\t@echo the page is built\n");
        for file in ["parameters", "tables", "secrets", "verified", "operators", "reasons"] {
            account.set(file, "");
        }
        account.set("concurrency", "1000");
        account
    }

    pub(super) fn path(&self, path: &str) -> PathBuf {
        self.0.path().join(path)
    }

    fn script(&self, path: &str, text: &str) {
        let written = self.path("cloud/script");
        std::fs::write(&written, text).unwrap();
        std::fs::set_permissions(&written, PermissionsExt::from_mode(0o755)).unwrap();
        copy(&written, &self.path(path));
    }

    /// Something in the cloud.
    pub(super) fn set(&self, name: &str, text: &str) {
        std::fs::write(self.path("cloud").join(name), text).unwrap();
    }

    pub(super) fn get(&self, name: &str) -> String {
        std::fs::read_to_string(self.path("cloud").join(name)).unwrap_or_default()
    }

    /// Runs a script with these variables and this answer to its question. Returns whether it
    /// succeeded, its output, and its calls.
    pub(super) fn run(&self, script: &str, variables: &[(&str, &str)], answer: &str) -> (bool, String, String) {
        self.set("calls", "");
        let mut process = Command::new(self.path("scripts").join(script))
            .env_remove("AWS_REGION")
            .env_remove("AWS_DEFAULT_REGION")
            .env_remove("BINARIES")
            .envs([("STAGE", "dev"), ("STACK", "tidemark-dev"), ("ARCHITECTURE", "x86_64")])
            .envs(variables.iter().copied())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut input = process.stdin.take().unwrap();
        std::io::Write::write_all(&mut input, answer.as_bytes()).unwrap();
        drop(input);
        let Output { status, stdout, stderr } = process.wait_with_output().unwrap();
        let said = format!("{}{}", String::from_utf8(stdout).unwrap(), String::from_utf8(stderr).unwrap());
        (status.success(), said, self.get("calls"))
    }

    pub(super) fn deploy(&self, variables: &[(&str, &str)]) -> (bool, String, String) {
        self.run("deploy", variables, "")
    }
}
