//! The command line. Each flag is also an environment variable, so that `make run` can set it.

use std::ffi::OsString;
use std::net::Ipv4Addr;
use std::path::{Path, PathBuf};

use clap::Parser;

use crate::cdk::{self, CdkError};
use crate::websocket_api::ConnectionLimits;

/// Runs a SAM template on this machine, without Docker or AWS.
#[derive(Debug, Parser)]
#[command(name = "tidemark-local", version, args_conflicts_with_subcommands = true)]
pub struct CommandLine {
    /// What to do instead of running until Ctrl-C.
    #[command(subcommand)]
    pub command: Option<Command>,
    /// The flags.
    #[command(flatten)]
    pub options: Options,
}

/// What to do instead of running until Ctrl-C.
#[derive(Debug, clap::Subcommand)]
pub enum Command {
    /// Starts a stack in memory on free ports, runs a command with its addresses in the environment,
    /// and ends with the command's status.
    Test {
        /// The flags.
        #[command(flatten)]
        options: Box<Options>,
        /// The command and its arguments, after `--`.
        #[arg(last = true, required = true)]
        command: Vec<OsString>,
    },
}

/// The flags.
#[derive(Debug, Clone, Parser)]
#[command(name = "tidemark-local", version)]
pub struct Options {
    /// Address of the HTTP API, the page and the WebSocket API; 0.0.0.0 lets other machines on the
    /// network connect.
    #[arg(long, env = "TIDEMARK_HOST", default_value_t = Ipv4Addr::LOCALHOST)]
    pub host: Ipv4Addr,

    /// Port of the HTTP API, the page, the WebSocket API and the Invoke API; 0 picks a free port.
    #[arg(long, env = "TIDEMARK_PORT", default_value_t = 3000)]
    pub port: u16,

    /// Port of DynamoDB and its streams; 0 picks a free port.
    #[arg(long, env = "TIDEMARK_DYNAMODB_PORT", default_value_t = 8000)]
    pub dynamodb_port: u16,

    /// Port of the buckets; 0 picks a free port.
    #[arg(long, env = "TIDEMARK_S3_PORT", default_value_t = 4572)]
    pub s3_port: u16,

    /// Folder of the tables, buckets, checkpoints, secrets and failed batches.
    #[arg(long, env = "TIDEMARK_DATA_DIR", default_value = ".local")]
    pub data_dir: PathBuf,

    /// Keep no data after the stack stops.
    #[arg(long, env = "TIDEMARK_IN_MEMORY", value_parser = clap::builder::FalseyValueParser::new())]
    pub in_memory: bool,

    /// URL of another DynamoDB (DynamoDB Local, ScyllaDB Alternator, the real service) instead of
    /// the embedded one.
    #[arg(long, env = "TIDEMARK_DYNAMODB_URL", value_name = "URL")]
    pub dynamodb_url: Option<String>,

    /// Staff token, for the shop and the journal; generated and printed if absent.
    #[arg(long, env = "TIDEMARK_STAFF_TOKEN", hide_env_values = true)]
    pub staff_token: Option<String>,
    /// Operator token, for users' clicks; generated and printed if absent.
    #[arg(long, env = "TIDEMARK_OPERATOR_TOKEN", hide_env_values = true)]
    pub operator_token: Option<String>,
    /// Token of the health administration, for Okusuri; generated and printed if absent.
    #[arg(long, env = "TIDEMARK_HEALTH_TOKEN", hide_env_values = true)]
    pub health_token: Option<String>,

    /// Non-public addresses that functions may call, for example 127.0.0.1:9443 for a push service
    /// or an OpenID provider on this machine; separated by commas.
    #[arg(long, env = "TIDEMARK_OUTBOUND_ALLOW", value_name = "ADDRESSES")]
    pub outbound_allow: Option<String>,

    /// Serve AWS's own domain names to the functions, for an AWS SDK that does not read
    /// `AWS_ENDPOINT_URL`; by default only if a binary has a Rust SDK of before March 2024. Needs
    /// Linux and `cc`.
    #[arg(long, env = "TIDEMARK_AWS_DOMAINS", value_parser = clap::builder::FalseyValueParser::new())]
    pub aws_domains: bool,

    /// URL of an emulator, such as MiniStack or moto, for the AWS services that this stack does not
    /// have. Without it, functions get an error that names the service.
    #[arg(long, env = "TIDEMARK_AWS_ENDPOINT", value_name = "URL")]
    pub aws_endpoint: Option<String>,

    /// The template to run, or a `cdk.out` folder of the CDK.
    #[arg(long, env = "TIDEMARK_TEMPLATE", default_value = "template.yaml")]
    pub template: PathBuf,

    /// `AWS::Region`: the region in ARNs, events and variables.
    #[arg(long, env = "TIDEMARK_REGION", default_value = "us-east-1", value_parser = region)]
    pub region: String,

    /// `AWS::AccountId`: the account in ARNs, events and variables.
    #[arg(long, env = "TIDEMARK_ACCOUNT", default_value = "000000000000", value_parser = account)]
    pub account: String,

    /// `AWS::StackName`: the beginning of the names of resources that the template does not name.
    #[arg(long, env = "TIDEMARK_STACK_NAME", default_value = "tidemark-local", value_parser = stack_name)]
    pub stack_name: String,

    /// Only read the template: exit with 0 if it would run, and list the parts that have no effect
    /// here; exit with 1 and list the refusals otherwise.
    #[arg(long)]
    pub check: bool,

    /// The form of what `--check` prints. `json` is a list of findings with file, line, column,
    /// severity, code and message.
    #[arg(long, value_enum, default_value_t = CheckFormat::Text, requires = "check")]
    pub format: CheckFormat,

    /// Print the least `Policies` that the functions needed in the last run with this data folder,
    /// and exit.
    #[arg(long)]
    pub suggest_policies: bool,

    /// Refuse a template with a part that has no effect here.
    #[arg(long, env = "TIDEMARK_STRICT", value_parser = clap::builder::FalseyValueParser::new())]
    pub strict: bool,

    /// A parameter of the template, NAME=VALUE.
    #[arg(long = "parameter", value_name = "NAME=VALUE", value_parser = name_and_value)]
    pub parameters: Vec<(String, String)>,

    /// SAM's file of settings, whose `parameter_overrides` for `global` and `local_start_api` are
    /// read; `samconfig.toml` beside the template by default.
    #[arg(long, env = "TIDEMARK_CONFIG_FILE", value_name = "FILE")]
    pub config_file: Option<PathBuf>,

    /// The environment in SAM's file of settings.
    #[arg(long, env = "TIDEMARK_CONFIG_ENV", value_name = "NAME", default_value = "default")]
    pub config_env: String,

    /// A file of variables for all functions, `NAME=VALUE` a line.
    #[arg(long = "env-file", value_name = "FILE")]
    pub env_files: Vec<PathBuf>,

    /// A JSON file as of `sam local`, with an object of variables for each function; only variables
    /// that the template declares change.
    #[arg(long, env = "TIDEMARK_ENV_VARS", value_name = "FILE")]
    pub env_vars: Option<PathBuf>,

    /// A variable of this process that all functions get.
    #[arg(long = "pass-env", value_name = "NAME")]
    pub pass_env: Vec<String>,

    /// Folder of static pages, relative to the template; served if no route other than `$default`
    /// matches.
    #[arg(long, env = "TIDEMARK_WEB_DIR", default_value = "web/dist")]
    pub web_dir: PathBuf,

    /// Do not build the functions: use the existing binaries.
    #[arg(long, env = "TIDEMARK_NO_BUILD", value_parser = clap::builder::FalseyValueParser::new())]
    pub no_build: bool,

    /// Rebuild functions when their sources change, and replace their instances. Start the stack again
    /// when the template changes.
    #[arg(long, env = "TIDEMARK_WATCH", conflicts_with = "no_build", value_parser = clap::builder::FalseyValueParser::new())]
    pub watch: bool,

    /// Start one instance of this function, which waits for a debugger. Nothing that waits for the
    /// function times out.
    #[arg(long, env = "TIDEMARK_DEBUG", value_name = "FUNCTION")]
    pub debug: Option<String>,

    /// Folder of the functions' binaries with --no-build; by default the folder of this binary.
    #[arg(long, env = "TIDEMARK_BIN_DIR", requires = "no_build")]
    pub bin_dir: Option<PathBuf>,

    /// Cargo profile for building the functions; `release` is slower to build.
    #[arg(long, env = "TIDEMARK_PROFILE", default_value = "dev")]
    pub profile: String,

    /// Number of shards of a new table's stream.
    #[arg(long, env = "TIDEMARK_STREAM_SHARDS", default_value_t = 1)]
    pub stream_shards: u16,

    /// Limits of a WebSocket connection.
    #[command(flatten)]
    pub sockets: ConnectionLimits,

    /// Build the functions once in this process.
    #[arg(skip)]
    pub build_once: bool,
}

/// The form of what `--check` prints.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum CheckFormat {
    /// For people.
    Text,
    /// For programs.
    Json,
}

impl Options {
    /// The flags of a stack in a test. Variables of the environment count for the others.
    pub(crate) fn for_tests() -> Result<Self, String> {
        Ok(Self::try_parse_from(["tidemark-local"]).map_err(|error| error.to_string())?.in_a_test())
    }

    /// In memory, on free ports of this machine.
    pub fn in_a_test(self) -> Self {
        let host = Ipv4Addr::LOCALHOST;
        Self { host, port: 0, dynamodb_port: 0, s3_port: 0, in_memory: true, ..self }
    }

    /// Uses `template.yml` if there is no `template.yaml` and no other template is named, and the
    /// stack's template in an output folder of the CDK.
    ///
    /// # Errors
    /// [`CdkError`] if the folder has not exactly one stack.
    pub fn find_template(&mut self) -> Result<(), CdkError> {
        let other = Path::new("template.yml");
        if self.template == Path::new("template.yaml") && !self.template.exists() && other.is_file() {
            self.template = other.to_owned();
        }
        if self.template.is_dir() {
            self.template = cdk::template_in(&self.template)?;
        }
        Ok(())
    }
}

fn name_and_value(argument: &str) -> Result<(String, String), String> {
    let (name, value) = argument.split_once('=').ok_or("expected NAME=VALUE")?;
    Ok((name.to_owned(), value.to_owned()))
}

fn region(argument: &str) -> Result<String, String> {
    let is_valid =
        (1..=32).contains(&argument.len()) && argument.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-');
    if is_valid { Ok(argument.to_owned()) } else { Err("expected a region such as eu-central-1".to_owned()) }
}

fn account(argument: &str) -> Result<String, String> {
    let is_valid = argument.len() == 12 && argument.bytes().all(|byte| byte.is_ascii_digit());
    if is_valid { Ok(argument.to_owned()) } else { Err("expected twelve digits".to_owned()) }
}

fn stack_name(argument: &str) -> Result<String, String> {
    let is_valid = (1..=128).contains(&argument.len())
        && argument.starts_with(|c: char| c.is_ascii_alphabetic())
        && argument.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-');
    if is_valid { Ok(argument.to_owned()) } else { Err("expected letters, digits and hyphens".to_owned()) }
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    #[test]
    fn the_command_line_is_consistent() {
        CommandLine::command().debug_assert();
    }

    #[test]
    fn parameters_are_names_and_values() {
        let options =
            Options::try_parse_from(["tidemark-local", "--parameter", "Stage=dev", "--port", "0"]).expect("valid");
        assert_eq!(options.parameters, [("Stage".to_owned(), "dev".to_owned())]);
        assert!(Options::try_parse_from(["tidemark-local", "--parameter", "Stage"]).is_err());
    }
}
