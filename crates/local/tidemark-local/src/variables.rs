//! Variables of functions and parameters of templates that files give, in the forms of `sam local`
//! and `cargo lambda`.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde_json::{Map, Value};

use crate::cli::Options;
use crate::stack::Function;

/// The name of SAM's file of settings, beside the template.
const SAM_CONFIG: &str = "samconfig.toml";

/// The commands whose parameters in SAM's settings are read. A later one replaces an earlier one.
/// Those for `sam deploy` are for AWS.
const SAM_COMMANDS: [&str; 2] = ["global", "local_start_api"];

/// Why a file of variables cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum VariablesError {
    /// The file cannot be read.
    #[error("cannot read {}", .path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// The system's error.
        source: std::io::Error,
    },
    /// The file has another form.
    #[error("{}: {reason}", .path.display())]
    Malformed {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        reason: String,
    },
    /// A variable that should be passed on is not set.
    #[error("--pass-env {0}: this variable is not set")]
    NotSet(String),
}

/// Sets the variables of `--env-file`, `--pass-env` and `--env-vars`, in this order.
pub(crate) fn set(options: &Options, functions: &mut [Function]) -> Result<(), VariablesError> {
    let mut for_all = BTreeMap::new();
    for path in &options.env_files {
        let malformed = |reason| VariablesError::Malformed { path: path.clone(), reason };
        let variables = dotenvy::from_path_iter(path).map_err(|error| malformed(error.to_string()))?;
        for variable in variables {
            for_all.extend([variable.map_err(|error| malformed(error.to_string()))?]);
        }
    }
    for name in &options.pass_env {
        let value = std::env::var(name).map_err(|_| VariablesError::NotSet(name.clone()))?;
        for_all.insert(name.clone(), value);
    }
    for function in functions.iter_mut() {
        function.environment.extend(for_all.clone());
    }
    match &options.env_vars {
        Some(path) => set_declared(path, functions),
        None => Ok(()),
    }
}

/// Sets the variables of a file in SAM's form: an object for each function, or `Parameters` for
/// all of them. As there, only variables that the template declares change.
fn set_declared(path: &Path, functions: &mut [Function]) -> Result<(), VariablesError> {
    let malformed = |reason| VariablesError::Malformed { path: path.to_owned(), reason };
    let file: Map<String, Value> = serde_json::from_str(&read(path)?).map_err(|error| malformed(error.to_string()))?;
    for (owner, variables) in &file {
        let variables = variables.as_object().ok_or_else(|| malformed(format!("{owner} is not an object")))?;
        let is_of = |function: &Function| [&function.logical_id, &function.name].contains(&owner);
        let for_all = owner == "Parameters";
        if !for_all && !functions.iter().any(is_of) {
            tracing::warn!("{}: there is no function {owner}", path.display());
        }
        for (name, value) in variables {
            let text = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
            let mut is_declared = false;
            for function in functions.iter_mut().filter(|function| for_all || is_of(function)) {
                if let Some(variable) = function.environment.get_mut(name) {
                    variable.clone_from(&text);
                    is_declared = true;
                }
            }
            if !is_declared {
                tracing::warn!("{}: {owner} has no variable {name} in the template", path.display());
            }
        }
    }
    Ok(())
}

/// The template's parameters: those of SAM's settings beside the template, and those of the command
/// line, which replace them.
pub(crate) fn parameters(options: &Options) -> Result<BTreeMap<String, String>, VariablesError> {
    let path = sam_config(options);
    let mut all = BTreeMap::new();
    if options.config_file.is_some() || path.is_file() {
        let malformed = |reason| VariablesError::Malformed { path: path.clone(), reason };
        let settings: toml::Table = toml::from_str(&read(&path)?).map_err(|error| malformed(error.to_string()))?;
        for command in SAM_COMMANDS {
            let names = [options.config_env.as_str(), command, "parameters", "parameter_overrides"];
            let mut found = settings.get(names[0]);
            for name in &names[1..] {
                found = found.and_then(|value| value.get(name));
            }
            if let Some(found) = found {
                all.extend(overrides(found).ok_or_else(|| {
                    malformed(format!("{} has another form than \"Name=Value Other=Value\"", names.join(".")))
                })?);
            }
        }
    }
    all.extend(options.parameters.iter().cloned());
    Ok(all)
}

fn sam_config(options: &Options) -> PathBuf {
    options.config_file.clone().unwrap_or_else(|| options.template.with_file_name(SAM_CONFIG))
}

/// The template, and the files of its parameters and of the functions' variables.
pub(crate) fn files(options: &Options) -> Vec<PathBuf> {
    let mut files = vec![options.template.clone(), sam_config(options)];
    files.extend(options.env_files.iter().chain(&options.env_vars).cloned());
    files
}

/// `parameter_overrides`: one text or a list of them, each with `Name=Value`, or with
/// `ParameterKey=Name,ParameterValue=Value`.
fn overrides(value: &toml::Value) -> Option<Vec<(String, String)>> {
    let words = match value {
        toml::Value::String(text) => shlex::split(text)?,
        toml::Value::Array(items) => {
            let words = items.iter().map(|item| shlex::split(item.as_str()?));
            words.collect::<Option<Vec<_>>>()?.concat()
        }
        _ => return None,
    };
    let pair = |word: &String| {
        let long = word.strip_prefix("ParameterKey=").and_then(|word| word.split_once(",ParameterValue="));
        let (name, value) = long.or_else(|| word.split_once('='))?;
        Some((name.to_owned(), value.to_owned()))
    };
    words.iter().map(pair).collect()
}

fn read(path: &Path) -> Result<String, VariablesError> {
    std::fs::read_to_string(path).map_err(|source| VariablesError::Unreadable { path: path.to_owned(), source })
}

#[cfg(test)]
mod tests {
    use clap::Parser as _;

    use super::*;

    const TEMPLATE: &str = "
Transform: AWS::Serverless-2016-10-31
Resources:
  Orders:
    Type: AWS::Serverless::Function
    Properties:
      FunctionName: the-orders
      Runtime: provided.al2023
      Handler: bootstrap
      CodeUri: .
      Environment: { Variables: { TABLE: a, SIZE: '1' } }
";

    /// The variables of the function with these files and arguments. `{}` is the folder of the
    /// files.
    fn variables(files: &[(&str, &str)], arguments: &[&str]) -> Result<BTreeMap<String, String>, String> {
        let options = options(files, arguments);
        let template = crate::template::read(TEMPLATE, &BTreeMap::new()).expect("a template");
        let mut functions = template.stack.functions;
        set(&options.1, &mut functions).map_err(|error| error.to_string())?;
        Ok(functions.remove(0).environment)
    }

    fn options(files: &[(&str, &str)], arguments: &[&str]) -> (tempfile::TempDir, Options) {
        let folder = tempfile::tempdir().expect("a folder");
        for (name, text) in files {
            std::fs::write(folder.path().join(name), text).expect("a file");
        }
        let path = folder.path().to_str().expect("text");
        let arguments = arguments.iter().map(|argument| argument.replace("{}", path));
        let options = Options::parse_from(["tidemark-local".to_owned()].into_iter().chain(arguments));
        (folder, options)
    }

    #[test]
    fn env_file_sets_variables_of_all_functions() {
        let file = "# comment\nexport TABLE=\"b c\"\nNEW='1'\n";
        let found = variables(&[("e", file)], &["--env-file", "{}/e"]).expect("valid");
        assert_eq!((found["TABLE"].as_str(), found["NEW"].as_str(), found["SIZE"].as_str()), ("b c", "1", "1"));
        let refusal = variables(&[("e", "not a variable\n")], &["--env-file", "{}/e"]).expect_err("malformed");
        assert!(refusal.contains("/e: "), "{refusal}");
    }

    #[test]
    fn env_vars_replace_declared_variables_of_one_function_or_all() {
        for owner in ["Orders", "the-orders", "Parameters"] {
            let file = format!(r#"{{"{owner}": {{"SIZE": 2, "OTHER": "x"}}, "Missing": {{"SIZE": 3}}}}"#);
            let found = variables(&[("v", &file)], &["--env-vars", "{}/v"]).expect("valid");
            assert_eq!((found["SIZE"].as_str(), found.get("OTHER")), ("2", None), "{owner}");
        }
    }

    #[test]
    fn passed_variable_must_be_set() {
        let path = std::env::var("PATH").expect("a path");
        assert_eq!(variables(&[], &["--pass-env", "PATH"]).expect("valid")["PATH"], path);
        assert!(variables(&[], &["--pass-env", "NO_SUCH_VARIABLE"]).is_err());
    }

    #[test]
    fn parameters_come_from_sams_settings_and_the_command_line() {
        let settings = "
[default.global.parameters]
parameter_overrides = 'Stage=dev Text=\"a b\"'
[default.local_start_api.parameters]
parameter_overrides = ['Stage=local', 'ParameterKey=Long,ParameterValue=x=y']
[default.deploy.parameters]
parameter_overrides = 'Stage=prod'
[other.global.parameters]
parameter_overrides = 1
";
        let files = [(SAM_CONFIG, settings)];
        let (_folder, given) = options(&files, &["--template", "{}/template.yaml", "--parameter", "Text=c"]);
        let all = parameters(&given).expect("valid");
        let expected = [("Long", "x=y"), ("Stage", "local"), ("Text", "c")];
        assert_eq!(all, expected.map(|(name, value)| (name.to_owned(), value.to_owned())).into());
        let (_folder, given) = options(&files, &["--template", "{}/template.yaml", "--config-env", "other"]);
        assert!(parameters(&given).expect_err("malformed").to_string().contains("other.global.parameters"));
        let (_folder, given) = options(&[], &["--config-file", "{}/missing.toml"]);
        assert!(matches!(parameters(&given), Err(VariablesError::Unreadable { .. })));
    }
}
