//! Dynamic references in functions' variables: `{{resolve:ssm:NAME}}` and
//! `{{resolve:secretsmanager:ID:SecretString:KEY}}`, with the values of this stack.
//!
//! Source: <https://docs.aws.amazon.com/AWSCloudFormation/latest/UserGuide/dynamic-references.html>.

use serde_json::Value;

use crate::secrets::Secrets;
use crate::stack::{Function, SsmParameter};

const BEGIN: &str = "{{resolve:";
const END: &str = "}}";

/// The number of parts of a secret's ARN.
const ARN_PARTS: usize = 7;

/// Replaces the references in the variables of all functions. One that names nothing in this stack
/// stays as it is, with a warning.
pub(crate) fn replace(functions: &mut [Function], parameters: &[SsmParameter], secrets: &Secrets) {
    for function in functions {
        let name = function.logical_id.clone();
        for (variable, text) in &mut function.environment {
            *text = replaced(text, |reference| {
                let value = value(reference, parameters, secrets);
                if value.is_none() {
                    tracing::warn!(
                        "{name}: the variable {variable} refers to {reference}, which is not in this stack: \
                         the function gets the reference as text (--env-vars sets a value)"
                    );
                }
                value
            });
        }
    }
}

/// The text with the value of each reference that has one.
fn replaced(text: &str, value: impl Fn(&str) -> Option<String>) -> String {
    let (mut done, mut rest) = (String::new(), text);
    while let Some((before, from)) = rest.split_once(BEGIN) {
        let Some((reference, after)) = from.split_once(END) else { break };
        done.push_str(before);
        done.push_str(&value(reference).unwrap_or_else(|| format!("{BEGIN}{reference}{END}")));
        rest = after;
    }
    done + rest
}

fn value(reference: &str, parameters: &[SsmParameter], secrets: &Secrets) -> Option<String> {
    let (service, id) = reference.split_once(':')?;
    if service != "secretsmanager" {
        let (name, version) = id.rsplit_once(':').unwrap_or((id, "1"));
        let found = parameters.iter().find(|parameter| parameter.name == name);
        return found.filter(|_| service.starts_with("ssm") && version == "1").map(|found| found.value.clone());
    }
    let parts: Vec<&str> = id.split(':').collect();
    let (id, rest) = parts.split_at_checked(if id.starts_with("arn:") { ARN_PARTS } else { 1 })?;
    let secret = secrets.value(&id.join(":"))?;
    match (rest.first().copied().unwrap_or("SecretString"), rest.get(1).copied().unwrap_or_default()) {
        ("SecretString" | "", "") => Some(secret.to_owned()),
        ("SecretString" | "", key) => {
            let members: Value = serde_json::from_str(secret).ok()?;
            let member = members.get(key)?;
            Some(member.as_str().map_or_else(|| member.to_string(), str::to_owned))
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn references_become_values_of_the_stack() {
        let template = r#"
Transform: AWS::Serverless-2016-10-31
Resources:
  Limit: { Type: AWS::SSM::Parameter, Properties: { Name: /app/limit, Type: String, Value: '7' } }
  Key: { Type: AWS::SecretsManager::Secret, Properties: { Name: app/key, SecretString: '{"user": "me", "port": 5}' } }
  Fn:
    Type: AWS::Serverless::Function
    Properties:
      Runtime: provided.al2023
      Handler: bootstrap
      CodeUri: .
      Environment:
        Variables:
          LIMIT: 'at {{resolve:ssm:/app/limit}}/{{resolve:ssm:/app/limit:1}}'
          SECURE: '{{resolve:ssm-secure:/app/limit}}'
          WHOLE: '{{resolve:secretsmanager:app/key}}'
          USER: !Sub '{{resolve:secretsmanager:${Key}:SecretString:user::}}'
          PORT: '{{resolve:secretsmanager:app/key:SecretString:port}}'
          OTHER: '{{resolve:ssm:/elsewhere}} {{resolve:ssm:/app/limit:2}} {{resolve:'
"#;
        let mut stack = crate::template::read(template, &Default::default()).expect("a template").stack;
        let secrets = Secrets::open(&stack.secrets, None, &[]).expect("opened");
        replace(&mut stack.functions, &stack.ssm_parameters, &secrets);
        let variables: Vec<_> =
            stack.functions[0].environment.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
        assert_eq!(
            variables,
            [
                ("LIMIT", "at 7/7"),
                ("OTHER", "{{resolve:ssm:/elsewhere}} {{resolve:ssm:/app/limit:2}} {{resolve:"),
                ("PORT", "5"),
                ("SECURE", "7"),
                ("USER", "me"),
                ("WHOLE", r#"{"user": "me", "port": 5}"#),
            ]
        );
    }
}
