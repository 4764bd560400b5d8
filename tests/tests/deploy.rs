//! Deploying and deleting, on an account that is played by two scripts in place of `aws` and `sam`: they keep what there is of a stack in files,
//! write down what they are asked, and fail where they are told to.

use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::process::{Command, Output, Stdio};

use tempfile::TempDir;
use tidemark_tests::repository;

/// Answers as AWS would. `stack` holds the stack's status and `parameters` what it was made with, `tables` and `verified` names, `fails` a pattern
/// of calls that fail. Where there is an `no-bucket`, the bucket is gone; where there is a `sandbox`, SES mails only to who is verified.
const AWS: &str = r#"#!/usr/bin/env bash
cd "$(dirname "$0")/../../cloud"; echo "aws $*" >>calls
if [ -s fails ] && [[ "$*" =~ $(cat fails) ]]; then echo "it failed" >&2; exit 1; fi
case "$*" in
    "sts get-caller-identity"*) echo arn:aws:iam::1:user/ann ;;
    "configure get region"*) echo eu-central-1 ;;
    *StackStatus*) cat stack 2>/dev/null || { echo "Stack with id x does not exist" >&2; exit 254; } ;;
    *OutputKey*) echo "$*" | sed "s/.*OutputKey=='\([A-Za-z]*\)'.*/the-\1/" ;;
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
        for file in ["parameters", "tables", "verified"] {
            account.set(file, "");
        }
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

/// What a call to `sam deploy` was given.
fn overrides(calls: &str) -> &str {
    let call = calls.lines().find(|call| call.starts_with("sam deploy")).unwrap();
    call.split_once("--parameter-overrides ").unwrap().1
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
    for verified in ["okusuri@mail.example.org\n", "mail.example.org\n", "example.org\n"] {
        account.set("verified", verified);
        let (well, said, _) = account.deploy(&[("PARAMETERS", "OkusuriMailFrom=okusuri@mail.example.org")]);
        assert!(well && !said.contains("Nobody can sign in") && !said.contains("sandbox"), "{said}");
    }
    // What is above it, and no domain, is nobody's to verify.
    account.set("verified", "org\n");
    refused(&account.deploy(&[("PARAMETERS", "OkusuriMailFrom=okusuri@mail.example.org")]), "SES has not verified");
    account.set("fails", "get-email-identity");
    refused(&account.deploy(&[("PARAMETERS", "OkusuriMailFrom=okusuri@mail.example.org")]), "it failed");
}

#[test]
fn an_account_in_the_sandbox_is_told_whom_it_cannot_mail() {
    let account = Account::new();
    account.set("verified", "example.org\n");
    account.set("sandbox", "");
    let (well, said, _) = account.deploy(&[("PARAMETERS", "OkusuriMailFrom=okusuri@example.org")]);
    assert!(well && said.contains("SES has this account in its sandbox"), "{said}");
    // It is a note; without the right to ask for it nothing is held up.
    account.set("fails", "get-account");
    let (well, said, _) = account.deploy(&[("PARAMETERS", "OkusuriMailFrom=okusuri@example.org")]);
    assert!(well && said.contains("it failed") && !said.contains("sandbox"), "{said}");
}

#[test]
fn what_is_not_given_stays_as_the_stack_has_it() {
    let account = Account::new();
    account.set("stack", "UPDATE_COMPLETE");
    account.set(
        "parameters",
        "Architecture\tarm64\nOkusuriMailFrom\tokusuri@example.org\nOkusuriProviders\t****\nAlarmEmail\t\n",
    );
    let plain = [("ARCHITECTURE", "")];
    refused(&account.deploy(&plain), "SES has not verified okusuri@example.org");

    account.set("verified", "example.org\n");
    let (well, said, calls) = account.deploy(&plain);
    assert!(well && !said.contains("Nobody can sign in"), "{said}");
    assert_eq!(overrides(&calls), "Stage=dev Architecture=arm64");

    account.set("parameters", "Architecture\tx86_64\nOkusuriMailFrom\tokusuri@example.com\n");
    let (well, said, calls) = account.deploy(&plain);
    // The template's address is nobody's.
    assert!(well && said.contains("Nobody can sign in"), "{said}");
    assert_eq!(overrides(&calls), "Stage=dev Architecture=x86_64");

    // What is given goes before what there is.
    let (well, said, calls) =
        account.deploy(&[("ARCHITECTURE", "arm64"), ("PARAMETERS", "OkusuriMailFrom=a@example.org")]);
    assert!(well && !said.contains("Nobody can sign in"), "{said}");
    assert_eq!(overrides(&calls), "OkusuriMailFrom=a@example.org Stage=dev Architecture=arm64");
}

#[test]
fn without_a_stack_the_functions_run_on_arm() {
    let account = Account::new();
    let (well, said, calls) = account.deploy(&[("ARCHITECTURE", "")]);
    assert!(well, "{said}");
    assert_eq!(overrides(&calls), "Stage=dev Architecture=arm64");
}

#[test]
fn make_names_no_architecture_that_nobody_gave() {
    for (given, passed) in [(None, "[]\n"), (Some("ARCHITECTURE=x86_64"), "[x86_64]\n")] {
        let mut process = Command::new("make")
            .args(["--no-print-directory", "-f", "Makefile", "-f", "-", "passed"])
            .args(given)
            .current_dir(repository())
            .env_remove("ARCHITECTURE")
            .env_remove("MAKEFLAGS")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let rule = b"passed:\n\t@echo \"[$$ARCHITECTURE]\"\n";
        std::io::Write::write_all(&mut process.stdin.take().unwrap(), rule).unwrap();
        assert_eq!(String::from_utf8(process.wait_with_output().unwrap().stdout).unwrap(), passed);
    }
}

#[test]
fn a_stack_that_is_only_in_review_is_none() {
    let account = Account::new();
    account.set("stack", "REVIEW_IN_PROGRESS");
    account.set("tables", "tidemark-shop-dev\n");
    refused(&account.deploy(&[]), "tables of one that was deleted are still there");
    account.set("tables", "");
    let (well, said, _) = account.deploy(&[]);
    assert!(well, "{said}");
}

#[test]
fn providers_reach_sam_as_the_json_that_they_are() {
    let account = Account::new();
    let url = "OkusuriPublicUrl=https://okusuri.example.org";
    let json = r#"[{"id":"google", "name":"Ann's \"own\"", "scopes":"openid email"}]"#;
    // SAM's parser takes away the outer quotes and one backslash before a space or a quotation mark.
    let sent = r#"OkusuriProviders='[{"id":"google", "name":"Ann\'s \\"own\\"", "scopes":"openid email"}]'"#;
    for written in [format!("OkusuriProviders={json} {url}"), format!("{url}\nOkusuriProviders='{json}'")] {
        let (well, said, calls) = account.deploy(&[("PARAMETERS", &written)]);
        assert!(well, "{said}");
        assert!(overrides(&calls).contains(sent) && overrides(&calls).contains(url), "{calls}");
    }

    refused(
        &account.deploy(&[("PARAMETERS", &format!("OkusuriProviders={json}"))]),
        "OkusuriProviders needs OkusuriPublicUrl",
    );
    for mangled in ["[{id:google}]", r#"[{"id":"google""#, r#"{"id":"google"}"#] {
        let refusal = account.deploy(&[("PARAMETERS", &format!("OkusuriProviders={mangled} {url}"))]);
        refused(&refusal, "OkusuriProviders is not a list in JSON");
    }
    refused(&account.deploy(&[("PARAMETERS", "AlarmEmail")]), "begins with a name, not with 'AlarmEmail'");

    // The page's address is asked for once.
    account.set("parameters", "OkusuriPublicUrl\thttps://okusuri.example.org\n");
    let (well, said, _) = account.deploy(&[("PARAMETERS", &format!("OkusuriProviders={json}"))]);
    assert!(well, "{said}");
    let (well, said, calls) = account.deploy(&[("PARAMETERS", "OkusuriProviders=[] AlarmEmail=")]);
    assert!(well, "{said}");
    assert_eq!(overrides(&calls), "OkusuriProviders=[] AlarmEmail='' Stage=dev Architecture=x86_64");
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

#[test]
fn a_question_that_aws_does_not_answer_is_not_taken_for_a_table_that_is_gone() {
    let account = Account::new();
    account.set("fails", "describe-table");
    refused(&account.deploy(&[]), "it failed");
    account.set("fails", "");
    assert!(account.deploy(&[]).0);

    account.set("fails", "describe-table");
    let (well, said, _) = account.run("delete", &[("DATA", "delete")], "dev\n");
    assert!(!well && said.contains("it failed"), "{said}");
    assert_eq!(account.get("tables").lines().count(), 5);
    account.set("fails", "");
    assert!(account.run("delete", &[("DATA", "delete")], "dev\n").0);
    assert_eq!(account.get("tables"), "");
}

#[test]
fn a_stack_whose_bucket_is_gone_is_deleted_all_the_same() {
    let account = Account::new();
    assert!(account.deploy(&[]).0);
    account.set("stack", "DELETE_FAILED");
    account.set("no-bucket", "");
    // Only a bucket that is not there is passed over.
    account.set("fails", "head-bucket");
    let (well, said, calls) = account.run("delete", &[], "y\n");
    assert!(!well && said.contains("it failed") && !calls.contains("sam delete"), "{said}");
    account.set("fails", "");
    let (well, said, calls) = account.run("delete", &[], "y\n");
    assert!(well && calls.contains("sam delete") && !calls.contains("s3 rm"), "{said}");
}

/// macOS has bash 3.2 for good, and no sha512sum.
#[test]
fn the_scripts_run_on_the_bash_of_macos() {
    for entry in std::fs::read_dir(repository().join("scripts")).unwrap() {
        let path = entry.unwrap().path();
        let text = std::fs::read_to_string(&path).unwrap();
        for (line, code) in text.lines().enumerate().filter(|(_, line)| !line.trim_start().starts_with('#')) {
            for newer in ["mapfile", "readarray", "declare -A", "local -A", ",,}", "^^}", "sha512sum --"] {
                assert!(!code.contains(newer), "{}:{}: {newer}", path.display(), line + 1);
            }
        }
    }
}
