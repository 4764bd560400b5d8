//! Deploying and deleting, on an account that is played by two scripts in place of `aws` and `sam`: they keep what there is of a stack in files,
//! write down what they are asked, and fail where they are told to.

use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::process::{Command, Output, Stdio};

use tempfile::TempDir;
use tidemark_tests::repository;

/// Answers as AWS would. `stack` holds the stack's status, `tables` and `verified` names, `fails` a pattern of calls that fail.
const AWS: &str = r#"#!/usr/bin/env bash
cd "$(dirname "$0")/../../cloud"; echo "aws $*" >>calls
if [ -s fails ] && [[ "$*" =~ $(cat fails) ]]; then echo "it failed" >&2; exit 1; fi
case "$*" in
    "sts get-caller-identity"*) echo arn:aws:iam::1:user/ann ;;
    "configure get region"*) echo eu-central-1 ;;
    *StackStatus*) cat stack 2>/dev/null || { echo "Stack with id x does not exist" >&2; exit 254; } ;;
    *OutputKey*) echo "$*" | sed "s/.*OutputKey=='\([A-Za-z]*\)'.*/the-\1/" ;;
    "sesv2 get-email-identity"*) grep -qx "$4" verified && echo True ;;
    "dynamodb describe-table"*) grep -qx "$4" tables ;;
    "dynamodb delete-table"*) sed -i.old "/^$4\$/d" tables ;;
esac
"#;

const SAM: &str = r#"#!/usr/bin/env bash
cd "$(dirname "$0")/../../cloud"; echo "sam $*" >>calls
case "$1" in
    deploy)
        if [ -s fails ] && [[ "sam $*" =~ $(cat fails) ]]; then [ -e stack ] || echo ROLLBACK_COMPLETE >stack; exit 1; fi
        echo CREATE_COMPLETE >stack
        for name in clicks game shop journal okusuri; do echo "tidemark-$name-dev"; done >tables ;;
    delete) rm stack ;;
esac
"#;

/// A checkout with an account of its own.
struct Account(TempDir);

impl Account {
    fn new() -> Self {
        let account = Self(tempfile::tempdir().unwrap());
        for folder in ["scripts", ".tools/bin", "cloud", "web/dist/assets"] {
            std::fs::create_dir_all(account.path(folder)).unwrap();
        }
        for file in ["template.yaml", "scripts/common.sh", "scripts/aws.sh", "scripts/deploy", "scripts/delete"] {
            std::fs::copy(repository().join(file), account.path(file)).unwrap();
        }
        account.script(".tools/bin/aws", AWS);
        account.script(".tools/bin/sam", SAM);
        // What these two install or ask for is this machine's matter.
        account.script("scripts/tools", "#!/bin/sh\n");
        account.script("scripts/requires", "#!/bin/sh\n");
        account.set("../Makefile", "page:\n\t@echo the page is built\n");
        account.set("tables", "");
        account.set("verified", "");
        account
    }

    fn path(&self, path: &str) -> PathBuf {
        self.0.path().join(path)
    }

    fn script(&self, path: &str, text: &str) {
        std::fs::write(self.path(path), text).unwrap();
        std::fs::set_permissions(self.path(path), PermissionsExt::from_mode(0o755)).unwrap();
    }

    /// Something in the cloud.
    fn set(&self, name: &str, text: &str) {
        std::fs::write(self.path("cloud").join(name), text).unwrap();
    }

    fn get(&self, name: &str) -> String {
        std::fs::read_to_string(self.path("cloud").join(name)).unwrap_or_default()
    }

    /// Runs a script with these variables and this answer to its question: whether it went well, what it said, and what was called.
    fn run(&self, script: &str, variables: &[(&str, &str)], answer: &str) -> (bool, String, String) {
        self.set("calls", "");
        let mut process = Command::new(self.path("scripts").join(script))
            .envs([("STAGE", "dev"), ("STACK", "tidemark-dev"), ("ARCHITECTURE", "x86_64")])
            .envs(variables.iter().copied())
            .env_remove("AWS_REGION")
            .env_remove("AWS_DEFAULT_REGION")
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

    fn deploy(&self, variables: &[(&str, &str)]) -> (bool, String, String) {
        self.run("deploy", variables, "")
    }
}

/// That a deployment is refused with these words before anything was built.
fn refused(outcome: &(bool, String, String), words: &str) {
    let (well, said, calls) = outcome;
    assert!(!well && said.contains(words), "{said}");
    assert!(!calls.contains("sam "), "{calls}");
}

#[test]
fn from_nothing_to_running_and_once_more() {
    let account = Account::new();
    for _ in 0..2 {
        let (well, said, calls) = account.deploy(&[]);
        assert!(well, "{said}");
        assert!(said.contains("The page:  the-WebUrl"), "{said}");
        let sam: Vec<&str> = calls.lines().filter(|call| call.starts_with("sam ")).collect();
        let parameters = "--parameter-overrides Stage=dev Architecture=x86_64";
        assert_eq!(
            sam,
            [&format!("sam build {parameters}"), &format!("sam deploy --stack-name tidemark-dev {parameters}")]
        );
        assert!(calls.contains("s3 sync web/dist s3://the-WebBucketName --only-show-errors --delete"), "{calls}");
        assert!(calls.contains("create-invalidation --distribution-id the-WebDistributionId"), "{calls}");
        // The one thing that a new account lacks is said last, and stops nothing.
        assert!(said.contains("Nobody can sign in to Okusuri by mail yet"), "{said}");
    }
}

#[test]
fn what_is_missing_is_said_before_anything_is_built() {
    let account = Account::new();
    refused(&account.deploy(&[("STAGE", "local")]), "belongs to this machine");
    refused(&account.deploy(&[("STAGE", "Dev_1")]), "STAGE is 1 to 16 small letters");
    refused(&account.deploy(&[("ARCHITECTURE", "arm")]), "ARCHITECTURE is arm64 or x86_64");
    let from = ("PARAMETERS", "ClickDateShards=4 OkusuriMailFrom=okusuri@example.org");
    refused(&account.deploy(&[from]), "SES has not verified okusuri@example.org (OkusuriMailFrom) in eu-central-1");
    account.set("fails", "get-caller-identity");
    refused(&account.deploy(&[]), "AWS does not know you");
    account.set("fails", "configure get region");
    refused(&account.deploy(&[]), "Which region?");
    account.set("fails", "describe-stacks");
    refused(&account.deploy(&[]), "CloudFormation does not say how the stack tidemark-dev is: it failed");
    account.set("fails", "");
    account.set("stack", "UPDATE_IN_PROGRESS");
    refused(&account.deploy(&[]), "still at work");
}

#[test]
fn a_verified_domain_is_as_good_as_a_verified_address() {
    let account = Account::new();
    for verified in ["okusuri@example.org\n", "example.org\n"] {
        account.set("verified", verified);
        let (well, said, _) = account.deploy(&[("PARAMETERS", "OkusuriMailFrom=okusuri@example.org")]);
        assert!(well && !said.contains("Nobody can sign in"), "{said}");
    }
}

#[test]
fn a_first_deployment_that_fails_is_cleared_away_and_tried_again() {
    let account = Account::new();
    account.set("fails", "sam deploy");
    let (well, said, calls) = account.deploy(&[]);
    assert!(!well && said.contains("was not deployed"), "{said}");
    assert!(!calls.contains("s3 sync"), "{calls}");

    account.set("fails", "");
    refused(&account.deploy(&[]), "make delete STAGE=dev");
    let (well, said, _) = account.run("delete", &[], "y\n");
    assert!(well, "{said}");
    assert!(account.deploy(&[]).0);
}

#[test]
fn a_page_that_was_not_uploaded_is_uploaded_the_next_time() {
    let account = Account::new();
    account.set("fails", "s3 sync");
    let (well, said, _) = account.deploy(&[]);
    assert!(!well && said.contains("The functions are deployed, the page is not"), "{said}");
    account.set("fails", "");
    assert!(account.deploy(&[]).0);
}

#[test]
fn deleting_asks_first_keeps_the_tables_and_says_which() {
    let account = Account::new();
    assert!(account.deploy(&[]).0);
    let (well, said, calls) = account.run("delete", &[], "\n");
    assert!(!well && said.contains("Nothing was deleted") && !calls.contains("sam delete"), "{said}");
    let (well, said, calls) = account.run("delete", &[], "y\n");
    assert!(well && said.contains("Kept:    tidemark-okusuri-dev") && said.contains("DATA=delete"), "{said}");
    // CloudFormation deletes no bucket that is not empty.
    assert!(calls.find("s3 rm s3://the-WebBucketName").unwrap() < calls.find("sam delete").unwrap(), "{calls}");
    assert_eq!(account.get("tables").lines().count(), 5);
    refused(&account.deploy(&[]), "tables of one that was deleted are still there");
}

#[test]
fn data_goes_only_by_the_stages_name_also_after_its_stack() {
    let account = Account::new();
    assert!(account.deploy(&[]).0);
    let data = [("DATA", "delete")];
    let (well, said, _) = account.run("delete", &data, "y\n");
    assert!(!well && said.contains("Nothing was deleted"), "{said}");
    assert_eq!(account.get("tables").lines().count(), 5);

    assert!(account.run("delete", &[], "y\n").0);
    // Another stage's table, whose name ends the same way.
    account.set("tables", &format!("{}tidemark-clicks-x-dev\n", account.get("tables")));
    let (well, said, _) = account.run("delete", &data, "dev\n");
    assert!(
        well && said.contains("There is no stack tidemark-dev (any more).")
            && said.contains("Deleted: tidemark-clicks-dev"),
        "{said}"
    );
    assert_eq!(account.get("tables"), "tidemark-clicks-x-dev\n");
    account.set("tables", "");
    assert!(account.deploy(&[]).0);
}
