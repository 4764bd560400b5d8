//! The mapping and its parameters on the command line.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

use clap::Args;
use jiff::Timestamp;
use jiff::tz::TimeZone;
use secrecy::{ExposeSecret, SecretString};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use crate::command::Product;
use crate::mapping::{Mapping, ParameterKind, Parameters, World};
use crate::run::hex;
use crate::{Failure, FailureKind};

/// The file with the mapping.
#[derive(Debug, Clone, Args)]
pub(crate) struct MappingFile {
    /// The mapping file (docs/mapping.md), for a program without a mapping of its own.
    #[arg(long, value_name = "FILE")]
    mapping: Option<PathBuf>,
}

/// Facts about the rows that the rows themselves do not state.
#[derive(Debug, Clone, Args)]
pub struct MappingArguments {
    #[command(flatten)]
    file: MappingFile,
    /// The zone of times that were written without one, usually the server's: `UTC`.
    #[arg(long, value_name = "ZONE", value_parser = zone)]
    source_zone: TimeZone,
    /// The value of a parameter of the mapping. May be given several times.
    #[arg(long = "set", value_name = "NAME=VALUE", value_parser = pair)]
    set: Vec<(String, String)>,
    /// The file with a secret of the mapping. May be given several times.
    #[arg(long = "secret", value_name = "NAME=FILE", value_parser = file_pair)]
    secrets: Vec<(String, String)>,
    /// Migrates without an optional parameter of the mapping, and without the values that need it.
    #[arg(long = "without", value_name = "NAME")]
    without: Vec<String>,
}

/// The parameters of a run in a form that can be stored and compared.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct RecordedParameters {
    /// SHA-256 of the mapping.
    pub mapping: String,
    /// The zone of times without an offset.
    pub source_zone: String,
    /// Zones.
    pub texts: BTreeMap<String, String>,
    /// A check value of each secret, which does not reveal it.
    pub secrets: BTreeMap<String, String>,
}

fn zone(name: &str) -> Result<TimeZone, String> {
    let zone = TimeZone::get(name).ok().filter(|zone| zone.iana_name().is_some());
    zone.ok_or_else(|| "expected a name of the IANA time zone database, such as UTC or Asia/Tokyo".to_owned())
}

fn pair(text: &str) -> Result<(String, String), String> {
    let (name, value) = text.split_once('=').ok_or("expected NAME=VALUE")?;
    Ok((name.to_owned(), value.to_owned()))
}

fn file_pair(text: &str) -> Result<(String, String), String> {
    pair(text).map_err(|_| "expected NAME=FILE, a parameter of the mapping and the file with its secret".to_owned())
}

fn option(why: impl std::fmt::Display) -> Failure {
    FailureKind::Options.because(why)
}

impl MappingFile {
    pub(crate) fn read(&self, product: &Product) -> Result<Arc<Mapping>, Failure> {
        let read = |text: &str| Mapping::read(text, product.conversions).map(Arc::new);
        match (&self.mapping, product.mapping) {
            (Some(path), _) => {
                let name = path.display();
                let text = std::fs::read_to_string(path).map_err(|error| option(format!("{name}: {error}")))?;
                read(&text).map_err(|errors| FailureKind::Mapping.because(format!("{name}:\n{errors}")))
            }
            (None, Some(text)) => read(text).map_err(|errors| FailureKind::Mapping.because(errors)),
            (None, None) => Err(option("--mapping FILE is missing; `init` writes a first one for a schema")),
        }
    }
}

impl MappingArguments {
    pub(crate) fn file(&self) -> &MappingFile {
        &self.file
    }

    /// See [`MappingFile::read`].
    pub(crate) fn read(&self, product: &Product) -> Result<Arc<Mapping>, Failure> {
        self.file.read(product)
    }

    /// The mapping with its parameters, for a run whose rows were read at `as_of`.
    pub(crate) fn world(&self, product: &Product, run: &str, as_of: Timestamp) -> Result<World, Failure> {
        let mapping = self.file.read(product)?;
        let parameters = self.parameters(&mapping)?;
        Ok(World::new(mapping, product.extension(&parameters)?, (run, as_of), self.source_zone.clone(), parameters))
    }

    fn parameters(&self, mapping: &Mapping) -> Result<Parameters, Failure> {
        let given = self.set.iter().chain(&self.secrets).map(|(name, _)| name).chain(&self.without);
        for name in given {
            if !mapping.parameters.contains_key(name) {
                return Err(option(format!("the mapping has no parameter {name:?}")));
            }
        }
        let mut parameters = Parameters::default();
        for (name, parameter) in &mapping.parameters {
            let is_secret = parameter.kind == ParameterKind::Secret;
            let given = if is_secret { &self.secrets } else { &self.set };
            let given = given.iter().find(|(known, _)| known == name).map(|(_, value)| value.clone());
            let how = if is_secret { format!("--secret {name}=FILE") } else { format!("--set {name}=VALUE") };
            match given {
                Some(value) if self.without.contains(name) => {
                    return Err(option(format!("{name} is given ({value}) and also left out")));
                }
                Some(path) if is_secret => {
                    let secret = std::fs::read_to_string(&path).map_err(|error| option(format!("{path}: {error}")))?;
                    let secret = SecretString::from(secret.trim_end_matches('\n'));
                    parameters.secrets.insert(name.clone(), secret);
                }
                Some(value) => {
                    zone(&value).map_err(|why| option(format!("{name}={value}: {why}")))?;
                    parameters.texts.insert(name.clone(), value);
                }
                None if parameter.is_optional && self.without.contains(name) => {}
                None => {
                    let or = if parameter.is_optional { format!(", or --without {name}") } else { String::new() };
                    return Err(option(format!("give {how}{or}. {}", parameter.about)));
                }
            }
        }
        Ok(parameters)
    }
}

impl World {
    /// The parameters in a form that can be stored.
    pub(crate) fn recorded(&self) -> RecordedParameters {
        let secrets = self.parameters.secrets.iter().map(|(name, secret)| (name.clone(), check_value(secret)));
        RecordedParameters {
            mapping: self.mapping.digest.clone(),
            source_zone: self.source_zone.iana_name().unwrap_or("UTC").to_owned(),
            texts: self.parameters.texts.clone(),
            secrets: secrets.collect(),
        }
    }

    /// Refuses other parameters than those with which a run's items were made.
    pub(crate) fn check_recorded(&self, made: &RecordedParameters) -> Result<(), Failure> {
        let given = self.recorded();
        let differs = |what: &str| Err(option(format!("the run was transformed with {what}; use the same here")));
        if given.mapping != made.mapping {
            return differs("another mapping");
        }
        if given.source_zone != made.source_zone {
            return differs(&format!("--source-zone {}", made.source_zone));
        }
        for (name, value) in &made.texts {
            if given.texts.get(name) != Some(value) {
                return differs(&format!("--set {name}={value}"));
            }
        }
        for name in self.mapping.parameters.keys() {
            match (given.secrets.get(name), made.secrets.get(name)) {
                (Some(_), None) => return differs(&format!("--without {name}")),
                (None, Some(_)) => return differs(&format!("--secret {name}=FILE")),
                // With another key, the application could not open what was sealed.
                (Some(given), Some(made)) if given != made => return differs(&format!("another secret {name:?}")),
                _ => {}
            }
        }
        Ok(())
    }
}

/// A hash of the secret: equal for equal secrets.
fn check_value(secret: &SecretString) -> String {
    let digest = Sha256::new().chain_update("tidemark-migrate").chain_update(secret.expose_secret()).finalize();
    hex(&digest[..8])
}
