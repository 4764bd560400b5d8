//! Deleting a stage, and the resources that stay.

use super::account::Account;
use super::refused;

#[test]
fn deleting_asks_first_keeps_the_tables_and_says_which() {
    let account = Account::new();
    assert!(account.deploy(&[]).0);
    let (well, said, calls) = account.run("delete", &[], "\n");
    assert!(!well && said.contains("Nothing was deleted") && !calls.contains("sam delete"), "{said}");
    let (well, said, calls) = account.run("delete", &[], "y\n");
    for kept in [
        "Kept:    tidemark-okusuri-dev",
        "Kept:    tidemark/dev/vapid-key",
        "DATA=delete",
        "aws-sam-cli-managed-default",
    ] {
        assert!(well && said.contains(kept), "{said}");
    }
    // CloudFormation deletes no bucket that is not empty.
    assert!(calls.find("s3 rm s3://the-WebBucketName").unwrap() < calls.find("sam delete").unwrap(), "{calls}");
    assert_eq!(account.get("tables").lines().count(), 5);
}

#[test]
fn what_was_kept_is_taken_back() {
    let account = Account::new();
    assert!(account.deploy(&[]).0);
    assert!(account.run("delete", &[], "y\n").0);
    // Somebody has deleted one by hand: it is made anew.
    account.set("tables", &account.get("tables").replace("tidemark-game-dev\n", ""));
    let (well, said, calls) = account.deploy(&[]);
    assert!(well && said.contains("Taking back tidemark-clicks-dev"), "{said}");
    let import = calls.lines().find(|call| call.contains("create-change-set")).unwrap();
    assert!(import.contains("--change-set-type IMPORT"), "{import}");
    let (_, listed) = import.split_once("--resources-to-import ").unwrap();
    let listed = listed.split_once(" --output").unwrap().0;
    let listed: Vec<serde_json::Value> = serde_json::from_str(listed).unwrap();
    let of = |id: &str| listed.iter().find(|resource| resource["LogicalResourceId"] == id);
    assert_eq!((listed.len(), of("GameTable")), (6, None));
    assert_eq!(of("ShopTable").unwrap()["ResourceIdentifier"]["TableName"], "tidemark-shop-dev");
    let arn = "arn:aws:secretsmanager:eu-central-1:1:secret:tidemark/dev/okusuri-key-abcdef";
    assert_eq!(of("OkusuriKeySecret").unwrap()["ResourceIdentifier"]["Id"], arn);
    assert_eq!(of("OkusuriKeySecret").unwrap()["ResourceType"], "AWS::SecretsManager::Secret");
    // Each as the template has it, by its plain name, and nothing else.
    let (template, kept) = (std::fs::read_to_string(account.path("template.yaml")).unwrap(), account.get("kept"));
    assert!(
        kept.contains("\n      TableName: tidemark-clicks-dev\n")
            && kept.contains("\n      Name: tidemark/dev/vapid-key\n")
    );
    assert!(!kept.contains("!Sub") && !kept.contains("GameTable") && !kept.contains("Function"), "{kept}");
    assert_eq!(kept.matches("\n    DeletionPolicy: RetainExceptOnCreate\n").count(), 6);
    let named = |line: &&str| line.starts_with("      TableName: ") || line.starts_with("      Name: ");
    for line in kept.lines().skip(2).filter(|line| !named(line)) {
        assert!(template.contains(&format!("{line}\n")), "{line}");
    }
    assert!(calls.find("execute-change-set").unwrap() < calls.find("sam deploy").unwrap(), "{calls}");

    account.set("stack", "");
    assert!(account.run("delete", &[], "y\n").0);
    account.set("fails", "create-change-set");
    let (well, said, calls) = account.deploy(&[]);
    assert!(!well && said.contains("did not take back") && !calls.contains("sam deploy"), "{said}");
}

#[test]
fn people_with_the_operators_policy_do_not_block_the_deletion() {
    let account = Account::new();
    assert!(account.deploy(&[]).0);
    account.set("operators", "ann\tbob");
    let (well, said, calls) = account.run("delete", &[], "y\n");
    assert!(well && said.contains("Detached from User bob"), "{said}");
    for name in ["ann", "bob"] {
        let call = format!("iam detach-user-policy --policy-arn the-OperatorPolicyArn --user-name {name}");
        assert!(calls.contains(&call), "{calls}");
    }
}

#[test]
fn data_is_deleted_only_after_typing_the_stages_name() {
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
    assert_eq!((account.get("tables").as_str(), account.get("secrets").as_str()), ("tidemark-clicks-x-dev\n", ""));
    account.set("tables", "");
    assert!(account.deploy(&[]).0);
}

#[test]
fn unanswered_aws_call_does_not_count_as_missing_table() {
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
fn stack_whose_bucket_is_gone_is_still_deleted() {
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
