//! Deploying and deleting, on an account that two scripts simulate in place of `aws` and `sam`.
//! They keep the stack's state in files, record their calls, and fail on request.

mod account;
mod delete;

use std::process::{Command, Stdio};

use tests::repository;

use account::Account;

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
        // The prefix is the stage's own: with a stack, SAM deletes what lies under its prefix.
        let deploy = "sam deploy --stack-name tidemark-dev --s3-prefix tidemark-dev";
        assert_eq!(sam, [format!("{deploy} --parameter-overrides Stage=dev Architecture=x86_64")]);
        let cargo: Vec<&str> = calls.lines().filter(|call| call.starts_with("cargo ")).collect();
        let packages = "--package click-writer --package stats-reader";
        let build = "lambda build --release --locked --target x86_64-unknown-linux-gnu --lambda-dir .aws-sam/build";
        assert_eq!(cargo, [format!("cargo {build} {packages}")]);
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
    // A parent that is not a domain cannot be verified.
    account.set("verified", "org\n");
    refused(&account.deploy(&[("PARAMETERS", "OkusuriMailFrom=okusuri@mail.example.org")]), "SES has not verified");
    account.set("fails", "get-email-identity");
    refused(&account.deploy(&[("PARAMETERS", "OkusuriMailFrom=okusuri@mail.example.org")]), "it failed");
}

#[test]
fn deploy_warns_an_account_in_the_ses_sandbox() {
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

    // Given parameters override existing ones.
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
    let (well, said, _) = account.deploy(&[]);
    assert!(well && said.contains("Taking back tidemark-shop-dev"), "{said}");
}

#[test]
fn each_function_is_packed_from_the_folder_of_its_binary() {
    let account = Account::new();
    assert!(account.deploy(&[]).0);
    let template = std::fs::read_to_string(account.path(".aws-sam/build/template.yaml")).unwrap();
    let original = std::fs::read_to_string(repository().join("template.yaml")).unwrap();
    let binaries = original.lines().filter_map(|line| line.trim().strip_prefix("BuildProperties: { Binary: "));
    let binaries: Vec<&str> = binaries.map(|line| line.trim_end_matches(" }")).collect();
    assert!(binaries.len() >= 17);
    for binary in binaries {
        let packed = format!("{{ Binary: {binary} }}\n    Properties:\n      CodeUri: {binary}\n");
        // A condition may stand before the metadata.
        assert_eq!(template.matches(&packed).count(), 1, "{binary}");
    }
}

#[test]
fn binaries_that_are_there_are_taken_as_they_are() {
    let account = Account::new();
    let binaries = account.path("target/debug");
    let given = [("BINARIES", binaries.to_str().unwrap())];
    refused(&account.deploy(&given), "There is no click-writer in BINARIES");
    std::fs::create_dir_all(&binaries).unwrap();
    for name in ["click-writer", "stats-reader"] {
        std::fs::write(binaries.join(name), name).unwrap();
    }
    let (well, said, calls) = account.deploy(&given);
    assert!(well && !calls.contains("cargo "), "{said}");
    let bootstrap = std::fs::read_to_string(account.path(".aws-sam/build/stats-reader/bootstrap")).unwrap();
    assert_eq!(bootstrap, "stats-reader");
}

#[test]
fn deploy_warns_an_account_with_low_function_concurrency() {
    let account = Account::new();
    account.set("concurrency", "10");
    let (well, said, _) = account.deploy(&[]);
    assert!(well && said.contains("at most 10 functions at once") && said.contains("L-B99A9384"), "{said}");
    account.set("concurrency", "1000");
    assert!(!account.deploy(&[]).1.contains("L-B99A9384"));
    // Without the right to ask, nothing is held up.
    account.set("fails", "get-account-settings");
    let (well, said, _) = account.deploy(&[]);
    assert!(well && said.contains("it failed"), "{said}");
}

#[test]
fn a_firewall_and_a_budget_need_what_they_stand_on() {
    let account = Account::new();
    refused(&account.deploy(&[("PARAMETERS", "Waf=on")]), "Waf=on needs the CDN and the region us-east-1");
    let there = ("AWS_REGION", "us-east-1");
    refused(&account.deploy(&[("PARAMETERS", "Waf=on Cdn=off"), there]), "Waf=on needs the CDN");
    assert!(account.deploy(&[("PARAMETERS", "Waf=on"), there]).0);
    refused(&account.deploy(&[("PARAMETERS", "MonthlyBudget=20")]), "MonthlyBudget needs AlarmEmail");
    assert!(account.deploy(&[("PARAMETERS", "MonthlyBudget=20 AlarmEmail=you@example.org")]).0);
}

#[test]
fn deploy_without_cdn_access_suggests_turning_it_off() {
    let account = Account::new();
    account.set("fails", "sam deploy");
    account.set("reasons", "Resource creation cancelled\nAccess denied for operation 'Your account must be verified before you can add new CloudFront resources.'");
    let (well, said, _) = account.deploy(&[]);
    assert!(!well && said.contains("PARAMETERS=\"Cdn=off\"") && said.contains("was not deployed"), "{said}");
    account.run("delete", &[], "y\n");
    account.set("reasons", "");
    assert!(!account.deploy(&[]).1.contains("Cdn=off"));
}

#[test]
fn providers_reach_sam_as_the_json_that_they_are() {
    let account = Account::new();
    let url = "OkusuriPublicUrl=https://okusuri.example.org";
    let json = r#"[{"id":"google", "name":"Ann's \"own\"", "scopes":"openid email"}]"#;
    // SAM's parser takes away the outer quotes and one backslash before a space or a quotation
    // mark.
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
        refused(&refusal, "OkusuriProviders is not a JSON array");
    }
    refused(&account.deploy(&[("PARAMETERS", "AlarmEmail")]), "It begins with 'AlarmEmail', which has no name");

    // The page's address is asked for once.
    account.set("parameters", "OkusuriPublicUrl\thttps://okusuri.example.org\n");
    let (well, said, _) = account.deploy(&[("PARAMETERS", &format!("OkusuriProviders={json}"))]);
    assert!(well, "{said}");
    let (well, said, calls) = account.deploy(&[("PARAMETERS", "OkusuriProviders=[] AlarmEmail=")]);
    assert!(well, "{said}");
    assert_eq!(overrides(&calls), "OkusuriProviders=[] AlarmEmail='' Stage=dev Architecture=x86_64");
}

#[test]
fn failed_first_deployment_is_deleted_and_tried_again() {
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
fn failed_page_upload_is_repeated_by_the_next_deployment() {
    let account = Account::new();
    account.set("fails", "s3 sync");
    let (well, said, _) = account.deploy(&[]);
    assert!(!well && said.contains("The functions are deployed, but the page is not"), "{said}");
    account.set("fails", "");
    assert!(account.deploy(&[]).0);
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
