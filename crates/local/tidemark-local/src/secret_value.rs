//! The values of secrets, as Secrets Manager makes them.

use serde_json::{Map, Value};

/// The kinds of characters, each with the property that leaves it out.
const KINDS: [(&str, &str); 4] = [
    ("ExcludeUppercase", "ABCDEFGHIJKLMNOPQRSTUVWXYZ"),
    ("ExcludeLowercase", "abcdefghijklmnopqrstuvwxyz"),
    ("ExcludeNumbers", "0123456789"),
    ("ExcludePunctuation", "!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~"),
];

/// How often a password is made anew until it has a character of each kind.
const TRIES_MAX: usize = 10_000;

/// Where the value of a secret comes from.
#[derive(Debug, Clone, PartialEq)]
pub enum SecretValue {
    /// `SecretString`: the template has it.
    Given(String),
    /// `GenerateSecretString`.
    Generated(Password),
    /// Neither: the secret has no value.
    Missing,
}

/// How a password is generated, and where it is put.
#[derive(Debug, Clone, PartialEq)]
pub struct Password {
    /// `PasswordLength`, 1 to 4096.
    pub length: usize,
    /// The characters of each kind.
    pub kinds: Vec<String>,
    /// `RequireEachIncludedType`: the password has a character of each kind.
    pub has_each_kind: bool,
    /// `SecretStringTemplate` and `GenerateStringKey`: the object and the member that gets the
    /// password. `None`: the password is the value.
    pub template: Option<(Map<String, Value>, String)>,
}

impl Password {
    /// `excludes` tells of a property whether it is set. `excluded` are single characters that no
    /// password has.
    pub fn kinds(excludes: impl Fn(&str) -> bool, includes_space: bool, excluded: &str) -> Vec<String> {
        let kept = |text: &str| text.chars().filter(|character| !excluded.contains(*character)).collect::<String>();
        let kinds = KINDS.iter().filter(|(property, _)| !excludes(property)).map(|(_, characters)| kept(characters));
        let space = includes_space.then(|| kept(" "));
        kinds.chain(space).filter(|kind| !kind.is_empty()).collect()
    }

    /// Whether a stored value has the form of the template, which may have changed since.
    pub fn fits(&self, value: &str) -> bool {
        let Some((object, key)) = &self.template else { return true };
        let stored: Map<String, Value> = serde_json::from_str(value).unwrap_or_default();
        let is_kept = |(name, value): (&String, &Value)| name == key || stored.get(name) == Some(value);
        stored.get(key).is_some_and(Value::is_string) && object.iter().all(is_kept)
    }

    /// A new value, from the system's random number generator.
    ///
    /// # Errors
    /// When the system provides no random numbers.
    pub fn generate(&self) -> Result<String, getrandom::Error> {
        let characters = self.kinds.concat();
        let has_each = |password: &str| self.kinds.iter().all(|kind| password.contains(|one| kind.contains(one)));
        let mut password = random(&characters, self.length)?;
        for _ in 0..TRIES_MAX {
            if !self.has_each_kind || has_each(&password) {
                break;
            }
            password = random(&characters, self.length)?;
        }
        let Some((object, key)) = &self.template else { return Ok(password) };
        let mut object = object.clone();
        object.insert(key.clone(), Value::String(password));
        Ok(Value::Object(object).to_string())
    }
}

/// A random string of these characters, which are ASCII, each equally likely.
fn random(characters: &str, length: usize) -> Result<String, getrandom::Error> {
    let characters = characters.as_bytes();
    // Bytes above the last whole multiple would make the first characters more likely.
    let fair = usize::from(u8::MAX) + 1 - (usize::from(u8::MAX) + 1) % characters.len().max(1);
    let mut value = String::with_capacity(length);
    while value.len() < length && !characters.is_empty() {
        let mut bytes = [0; 64];
        getrandom::fill(&mut bytes)?;
        let fair_bytes = bytes.iter().map(|byte| usize::from(*byte)).filter(|byte| *byte < fair);
        value.extend(fair_bytes.take(length - value.len()).map(|byte| char::from(characters[byte % characters.len()])));
    }
    Ok(value)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn password(excludes: &[&str], length: usize) -> Password {
        let kinds = Password::kinds(|property| excludes.contains(&property), false, "O0l");
        Password { length, kinds, has_each_kind: true, template: None }
    }

    #[test]
    fn password_has_each_kind_and_no_excluded_character() {
        for _ in 0..200 {
            let value = password(&["ExcludePunctuation"], 4).generate().expect("random numbers");
            assert_eq!(value.len(), 4);
            let has = |kind: fn(&char) -> bool| value.chars().any(|character| kind(&character));
            assert!(
                has(char::is_ascii_uppercase) && has(char::is_ascii_lowercase) && has(char::is_ascii_digit),
                "{value}"
            );
            assert!(
                !value.contains(['O', '0', 'l']) && value.chars().all(|character| character.is_ascii_alphanumeric())
            );
        }
        let value = password(&["ExcludeUppercase", "ExcludeLowercase", "ExcludeNumbers"], 30).generate();
        assert!(value.expect("random numbers").chars().all(|character| character.is_ascii_punctuation()));
    }

    #[test]
    fn password_is_put_into_the_template() {
        let object = serde_json::from_str(r#"{"username": "admin"}"#).expect("an object");
        let template = Some((object, "password".to_owned()));
        let password = Password { template, ..password(&[], 12) };
        let value = password.generate().expect("random numbers");
        let value: Value = serde_json::from_str(&value).expect("JSON");
        assert_eq!(value["username"], "admin");
        assert_eq!(value["password"].as_str().map(str::len), Some(12));
        assert!(password.fits(&value.to_string()));
        for other in
            ["", "random", r#"{"password": "x"}"#, r#"{"username": "admin"}"#, r#"{"username": "b", "password": "x"}"#]
        {
            assert!(!password.fits(other), "{other}");
        }
    }
}
