//! Secrets: the values of the template, and those that are generated.

use crate::support::Stage;
use reqwest::Client;
use serde_json::{Value, json};

const SECRETS: &str = r#"
  Given: { Type: AWS::SecretsManager::Secret, Properties: { Name: given, SecretString: '{"user":"ann","port":5432}' } }
  Made:
    Type: AWS::SecretsManager::Secret
    Properties:
      Name: made
      GenerateSecretString:
        SecretStringTemplate: '{"user":"ann"}'
        GenerateStringKey: password
        PasswordLength: 200
        ExcludeCharacters: "abc"
        ExcludePunctuation: true
        IncludeSpace: true
"#;

#[tokio::test]
async fn secrets_have_the_form_that_the_template_gives_them() {
    let stage = Stage::new("", "");
    stage.add_resources(SECRETS.trim_matches('\n'));
    // A value of a time when the template had no form for it.
    std::fs::create_dir_all(stage.path("data/secrets")).unwrap();
    std::fs::write(stage.path("data/secrets/Made"), "a-random-string-of-an-older-template").unwrap();
    let mut passwords = Vec::new();
    for _ in 0..2 {
        let running = stage.start().await;
        let url = format!("{}/_local/secretsmanager", running.admin.addresses.http);
        let get = async |name: &str| {
            let request = Client::new().post(&url).header("x-amz-target", "secretsmanager.GetSecretValue");
            let answer = request.body(json!({ "SecretId": name }).to_string()).send().await.unwrap();
            answer.json::<Value>().await.unwrap()
        };
        assert_eq!(get("given").await["SecretString"], r#"{"user":"ann","port":5432}"#);
        let made = get("made").await["SecretString"].as_str().unwrap().to_owned();
        let made: Value = serde_json::from_str(&made).unwrap();
        let password = made["password"].as_str().unwrap().to_owned();
        assert_eq!((&made["user"], password.len()), (&json!("ann"), 200));
        let is_allowed = |c: char| c == ' ' || c.is_ascii_alphanumeric() && !"abc".contains(c);
        assert!(password.chars().all(is_allowed) && password.contains(' '), "{password}");
        passwords.push(password);
        assert_eq!(get("nobody").await["__type"], "ResourceNotFoundException");
        running.stop().await;
    }
    assert_eq!(passwords[0], passwords[1]);
}
