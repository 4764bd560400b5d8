//! The command line. Each flag is also an environment variable, so that `make run` can set it.

use std::net::Ipv4Addr;
use std::path::PathBuf;

use clap::Parser;

use crate::websocket_api::ConnectionLimits;

/// Runs template.yaml on this machine: tables, functions, HTTP and WebSocket API, stream mappings and schedules, without Docker or AWS.
#[derive(Debug, Clone, Parser)]
#[command(name = "tidemark-local", version)]
pub struct Options {
    /// Address to serve the HTTP API, the page and the WebSocket API on; 0.0.0.0 lets others on the network in.
    #[arg(long, env = "TIDEMARK_HOST", default_value_t = Ipv4Addr::LOCALHOST)]
    pub host: Ipv4Addr,

    /// Port of the HTTP API, the page, the WebSocket API and the Invoke API; 0 takes a free one.
    #[arg(long, env = "TIDEMARK_PORT", default_value_t = 3000)]
    pub port: u16,

    /// Port of DynamoDB and its streams; 0 takes a free one.
    #[arg(long, env = "TIDEMARK_DYNAMODB_PORT", default_value_t = 8000)]
    pub dynamodb_port: u16,

    /// Folder of the tables, checkpoints, secrets and failed batches.
    #[arg(long, env = "TIDEMARK_DATA_DIR", default_value = ".local")]
    pub data_dir: PathBuf,

    /// Keep nothing.
    #[arg(long, env = "TIDEMARK_IN_MEMORY", value_parser = clap::builder::FalseyValueParser::new())]
    pub in_memory: bool,

    /// URL of another DynamoDB (DynamoDB Local, ScyllaDB Alternator, the real service) instead of the embedded one.
    #[arg(long, env = "TIDEMARK_DYNAMODB_URL", value_name = "URL")]
    pub dynamodb_url: Option<String>,

    /// The staff's token, for shop and journal; made and printed when absent.
    #[arg(long, env = "TIDEMARK_STAFF_TOKEN", hide_env_values = true)]
    pub staff_token: Option<String>,
    /// The operator's token, for people's clicks; made and printed when absent.
    #[arg(long, env = "TIDEMARK_OPERATOR_TOKEN", hide_env_values = true)]
    pub operator_token: Option<String>,
    /// The token of the health administration, for Okusuri; made and printed when absent.
    #[arg(long, env = "TIDEMARK_HEALTH_TOKEN", hide_env_values = true)]
    pub health_token: Option<String>,

    /// Addresses that are not public and that functions may call all the same, as 127.0.0.1:9443, separated by commas: a push
    /// service or an OpenID provider on this machine.
    #[arg(long, env = "TIDEMARK_OUTBOUND_ALLOW", value_name = "ADDRESSES")]
    pub outbound_allow: Option<String>,

    /// The template to run.
    #[arg(long, env = "TIDEMARK_TEMPLATE", default_value = "template.yaml")]
    pub template: PathBuf,

    /// A parameter of the template.
    #[arg(long = "parameter", value_name = "NAME=VALUE", value_parser = name_and_value)]
    pub parameters: Vec<(String, String)>,

    /// Folder of static pages, relative to the template; served where no route but `$default` matches.
    #[arg(long, env = "TIDEMARK_WEB_DIR", default_value = "web/dist")]
    pub web_dir: PathBuf,

    /// Do not build the functions: take their binaries as they are.
    #[arg(long, env = "TIDEMARK_NO_BUILD", value_parser = clap::builder::FalseyValueParser::new())]
    pub no_build: bool,

    /// Folder of the functions' binaries with --no-build; by default the one of this binary.
    #[arg(long, env = "TIDEMARK_BIN_DIR", requires = "no_build")]
    pub bin_dir: Option<PathBuf>,

    /// Cargo's profile for the functions; by default the one of this binary.
    #[arg(long, env = "TIDEMARK_PROFILE", default_value = if cfg!(debug_assertions) { "dev" } else { "release" })]
    pub profile: String,

    /// Shards that the stream of a new table begins with.
    #[arg(long, env = "TIDEMARK_STREAM_SHARDS", default_value_t = 1)]
    pub stream_shards: u16,

    /// ConnectionLimits of a WebSocket connection.
    #[command(flatten)]
    pub sockets: ConnectionLimits,
}

fn name_and_value(argument: &str) -> Result<(String, String), String> {
    let (name, value) = argument.split_once('=').ok_or("expected NAME=VALUE")?;
    Ok((name.to_owned(), value.to_owned()))
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    #[test]
    fn the_command_line_is_consistent() {
        Options::command().debug_assert();
    }

    #[test]
    fn parameters_are_names_and_values() {
        let options =
            Options::try_parse_from(["tidemark-local", "--parameter", "Stage=dev", "--port", "0"]).expect("valid");
        assert_eq!(options.parameters, [("Stage".to_owned(), "dev".to_owned())]);
        assert!(Options::try_parse_from(["tidemark-local", "--parameter", "Stage"]).is_err());
    }
}
