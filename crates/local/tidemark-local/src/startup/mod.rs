//! Starts a stack in order, and stops it.

mod binaries;
mod data_folder;
mod mappings;

use std::collections::BTreeMap;
use std::io::Write as _;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use aws_sdk_dynamodb::Client;
use tempfile::TempDir;
use tidemark_engine::{Engine, EngineError, Storage};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use self::binaries::{build, folder_of, paths, unpack};
pub(crate) use self::binaries::{inputs, prepare};
use crate::admin_routes::{Addresses, AdminState};
use crate::api_addresses;
use crate::arn;
use crate::aws_domains::AwsDomains;
use crate::buckets::Buckets;
use crate::build::Binaries;
use crate::cli::Options;
use crate::dynamic_references;
use crate::dynamodb::{self, Identity};
use crate::faults::Faults;
use crate::functions::{Endpoints, Functions};
use crate::http_api::HttpApis;
use crate::kinesis::{self, Kinesis};
use crate::left_out;
use crate::listen;
use crate::local_commands;
use crate::messaging;
use crate::metrics::Metrics;
use crate::other_services;
use crate::page;
use crate::policies::Policies;
use crate::private_files;
use crate::queues::{QueueMappings, Queues};
use crate::routing;
use crate::schedules::{Due, Schedules};
use crate::secrets::Secrets;
use crate::ssm::{self, SsmParameters};
use crate::stack::{Function, Stack};
use crate::start_error::StartError;
use crate::tables;
use crate::template::{self, Template};
use crate::usual_handler;
use crate::variables;
use crate::waiting_items::WaitingItems;
use crate::watch::Watch;
use crate::websocket_api::{self, WebSocketServer};

/// How long to wait for running requests when the stack stops.
const STOP_GRACE: Duration = Duration::from_secs(2);

/// Interval for reading the engine's meter.
const METER_INTERVAL: Duration = Duration::from_secs(1);

/// A running stack.
#[derive(Debug)]
pub struct RunningStack {
    /// The template's content.
    pub stack: Arc<Stack>,
    /// The template as it was read.
    pub template: Template,
    /// The state of the admin routes.
    pub admin: Arc<AdminState>,
    /// The stack's secrets.
    pub secrets: Arc<Secrets>,
    /// The folder of static pages, if it exists.
    pub pages: Option<PathBuf>,
    queue_mappings: Option<QueueMappings>,
    schedules: Option<Schedules>,
    engine: Option<Engine>,
    servers: TaskTracker,
    stop_servers: CancellationToken,
    aws_domains: Option<AwsDomains>,
    _lock: Option<std::fs::File>,
    watch: Option<Watch>,
    _unpacked: Option<TempDir>,
}

impl RunningStack {
    /// Reads the template and starts all its parts.
    ///
    /// # Errors
    /// [`StartError`], with a way to fix it.
    pub async fn start(options: &Options) -> Result<Self, StartError> {
        Self::start_with(options, read(options)?).await
    }

    /// Starts all parts of a template that [`read`] has read.
    pub(crate) async fn start_with(options: &Options, template: Template) -> Result<Self, StartError> {
        let mut stack = template.stack.clone();
        let folder = folder_of(options);
        let (data, lock) = data_folder::open(options).await?;
        let data = data.as_deref();

        // The port is bound but not listening yet: a port in use is reported before the build, and
        // no client waits during the build.
        let (listeners, port) = listen::bind_all(options.host, options.port)?;
        let further = stack.http_apis.len().saturating_sub(1);
        // A stack that starts again with a changed template must find the same ports.
        let first = if options.watch { port } else { options.port };
        let others = listen::bind_others(options.host, first, further, &[options.dynamodb_port, options.s3_port])?;
        let apis = api_addresses::of_stack(&stack, port, others.iter().map(|(_, port)| *port));
        let (engine, dynamodb, identity) = start_dynamodb(options, data).await?;
        let policies = Arc::new(Policies::new(&stack));
        if let Some(engine) = &engine {
            engine.set_authorizer(Arc::clone(&policies) as Arc<dyn tidemark_engine::Authorizer>);
        }
        let binaries = build(options, folder, &stack).await?;
        let unpacked = unpack(folder, data, &mut stack)?;
        let paths = paths(options, folder, &stack, binaries.as_ref());

        let here = SocketAddr::from((Ipv4Addr::LOCALHOST, port));
        let http = format!("http://{here}");
        let mut endpoints = Endpoints::of_stack(&http, &dynamodb, identity.clone());
        let buckets = Buckets::open(&stack.buckets, options.s3_port, data).await?;
        endpoints.s3 = buckets.as_ref().map(Buckets::url).transpose()?;
        let s3 = endpoints.s3.clone();
        let kinesis = Kinesis::start(&stack.kinesis_streams).await?;
        endpoints.kinesis = kinesis.as_ref().map(|_| format!("{http}{}", kinesis::PATH));
        if let Some(url) = non_empty(options.aws_endpoint.as_deref()) {
            url.trim_end_matches('/').clone_into(&mut endpoints.others);
        }
        endpoints.outbound_allow = non_empty(options.outbound_allow.as_deref()).map(str::to_owned);
        // With the stage in the path, as on AWS.
        endpoints.connections = stack.web_socket_api.as_ref().map(|api| format!("{http}/{}", api.stage));
        let aws_domains = match options.aws_domains {
            true => Some(AwsDomains::start(&endpoints).await?),
            false => None,
        };
        endpoints.aws_domains = aws_domains.as_ref().map(AwsDomains::variables).unwrap_or_default();
        let faults = Arc::new(Faults::default());
        let binary = |function: &Function| paths.get(&function.logical_id).cloned().unwrap_or_default();
        let metrics = Arc::new(Metrics::default());
        let secrets = Arc::new(Secrets::open(&stack.secrets, data, &tokens(options))?);
        dynamic_references::replace(&mut stack.functions, &stack.ssm_parameters, &secrets);
        let functions =
            Functions::new(&api_addresses::at_home(&stack.functions, &apis), binary, endpoints, &faults, &metrics);
        let pages = Some(folder.join(&options.web_dir)).filter(|pages| pages.is_dir());
        let http_apis = HttpApis::new(&stack.http_apis, &functions, pages.as_deref())?;
        let limits = &options.sockets;
        let sockets = stack.web_socket_api.as_ref();
        let sockets = sockets.map(|api| WebSocketServer::new(api, &functions, limits.clone(), &faults)).transpose()?;
        let addresses = Addresses {
            http,
            network: listen::network_address(options.host).map(|host| format!("http://{host}:{port}")),
            sockets: sockets.as_ref().map(|_| format!("ws://{here}{}", websocket_api::PATH)),
            dynamodb: dynamodb.clone(),
            s3,
            apis,
        };
        let client = dynamodb::client(&dynamodb, &identity);
        let queues = Arc::new(Queues::new(&stack.queues, functions.clock()));
        let stack = Arc::new(stack);
        let (buses, messaging) = messaging::start(&stack, &functions, &queues, &policies);
        let admin = Arc::new(AdminState {
            addresses,
            waiting: WaitingItems::new(client.clone(), &stack.tables),
            sockets,
            data: data.map(Path::to_owned),
            functions: Arc::clone(&functions),
            metrics,
            faults,
            policies: Arc::clone(&policies),
            engine_faults: engine.as_ref().map(|engine| Arc::clone(engine.faults())),
            housekeeper: engine.as_ref().map(Engine::housekeeper),
            queues,
            buses: Arc::clone(&buses),
            mails: Arc::default(),
            mappings: OnceLock::new(),
        });
        let shared: routing::Shared = Arc::new((Arc::clone(&admin), http_apis));
        let streams = kinesis.as_ref().map(|kinesis| kinesis::router(Arc::clone(kinesis), Arc::clone(&policies)));
        let parameters = ssm::router(SsmParameters::new(&stack.ssm_parameters), Arc::clone(&policies));
        let usual = usual_handler::router(client.clone(), Arc::clone(&admin.faults));
        let own = messaging.merge(streams.unwrap_or_default()).merge(parameters).merge(usual);
        let due = Due::default();
        let page = page::router(page::Shown::new(&admin, &stack, client.clone(), &due));
        let commands = local_commands::router(&stack.commands, &dynamodb, &identity);
        let own = own.merge(other_services::router()).merge(page).merge(commands);
        let router = routing::router(&shared, Arc::clone(&secrets), own);
        let (servers, stop_servers) = (TaskTracker::new(), CancellationToken::new());
        // Ends them if a later part does not start.
        let guard = stop_servers.clone().drop_guard();
        for listener in listeners {
            let server = listen::serve(listener, router.clone(), stop_servers.clone());
            servers.spawn(server.map_err(|source| StartError::Port { port, source })?);
        }
        for (index, (sockets, port)) in (1..).zip(others) {
            let router = routing::of_api(&shared, index);
            for socket in sockets {
                let server = listen::serve(socket, router.clone(), stop_servers.clone());
                servers.spawn(server.map_err(|source| StartError::Port { port, source })?);
            }
        }
        if let Some(buckets) = buckets {
            let serving = buckets.serve(&stack.buckets, &policies, &buses)?;
            servers.spawn(stop_servers.clone().run_until_cancelled_owned(serving));
        }
        if let Some(engine) = &engine {
            let metering = meter(engine.meter(), Arc::clone(&admin.metrics));
            servers.spawn(stop_servers.clone().run_until_cancelled_owned(metering));
        }
        servers.close();
        guard.disarm();

        let mut running = Self {
            stack,
            template,
            admin,
            secrets,
            pages,
            queue_mappings: None,
            schedules: None,
            engine,
            servers,
            stop_servers,
            aws_domains,
            _lock: lock,
            watch: None,
            _unpacked: unpacked,
        };
        if let Err(error) = running.begin(options, binaries, &client, kinesis, identity, &due).await {
            running.stop().await;
            return Err(error);
        }
        Ok(running)
    }

    /// Creates the tables, and starts what invokes the functions.
    async fn begin(
        &mut self,
        options: &Options,
        binaries: Option<Binaries>,
        client: &Client,
        kinesis: Option<Arc<Kinesis>>,
        identity: Identity,
        due: &Due,
    ) -> Result<(), StartError> {
        let Self { stack, template, admin, engine, .. } = self;
        let mut table_streams = BTreeMap::new();
        for table in &stack.tables {
            if let Some(stream_arn) = tables::ensure(client, table).await? {
                table_streams.insert(table.logical_id.clone(), stream_arn);
            }
        }
        self.watch = start_functions(options, &template.files, &admin.functions, binaries).await?;
        let streams = mappings::Streams { of_tables: table_streams, kinesis, identity, engine: engine.as_ref() };
        let queue_mappings = QueueMappings::start(&admin.functions, &admin.queues, &admin.policies)
            .map_err(|(mapping, error)| StartError::QueueMapping { mapping, reason: error.to_string() })?;
        self.queue_mappings = Some(queue_mappings);
        self.schedules = Some(Schedules::start(&admin.functions, due)?);
        let mappings = mappings::start(stack, admin, &streams, admin.data.as_deref()).await?;
        // Set once, only here. From now on the health route reports that the stack is up.
        drop(admin.mappings.set(mappings));
        Ok(())
    }

    /// Watches what a template that does not run is read and built from. Returns whether it has to be
    /// read again.
    pub(crate) fn watch_refused(&self, inputs: &[PathBuf], packages: &[PathBuf]) -> bool {
        self.watch.as_ref().is_some_and(|watch| watch.watch_refused(inputs, packages))
    }

    /// Waits for a change of the template or of a file that it names; without `--watch` for ever.
    pub async fn template_changed(&self) {
        match &self.watch {
            Some(watch) => watch.template_changed().await,
            None => std::future::pending().await,
        }
    }

    /// Closes connections, finishes requests, stops every started part, and waits for them.
    pub async fn stop(self) {
        // Stop the connections while the server still runs: a function that handles a `$disconnect`
        // may send messages to others.
        if let Some(sockets) = &self.admin.sockets {
            sockets.stop().await;
        }
        self.stop_servers.cancel();
        for mapping in self.admin.mappings.get().into_iter().flatten() {
            mapping.stop().await;
        }
        if let Some(mappings) = &self.queue_mappings {
            mappings.stop().await;
        }
        if let Some(schedules) = &self.schedules {
            schedules.stop().await;
        }
        drop(tokio::time::timeout(STOP_GRACE, self.servers.wait()).await);
        self.admin.functions.stop().await;
        // A stack that did not start needed no policies.
        if let (Some(data), Some(_)) = (&self.admin.data, self.admin.mappings.get()) {
            let path = data.join(SUGGESTED_POLICIES);
            let written = private_files::empty_file(&path)
                .and_then(|mut file| file.write_all(self.admin.policies.suggested_yaml().as_bytes()));
            if let Err(error) = written {
                tracing::warn!("{} cannot be written: {error}", path.display());
            }
        }
        if let Some(engine) = self.engine {
            engine.shutdown().await;
        }
    }

    /// Whether functions reach the stack at AWS's own domain names.
    pub(crate) fn serves_aws_domains(&self) -> bool {
        self.aws_domains.is_some()
    }

    /// The embedded engine; `None` if the stack runs on another DynamoDB.
    pub fn engine(&self) -> Option<&Engine> {
        self.engine.as_ref()
    }
}

/// Reads the template with the variables of its functions.
pub(crate) fn read(options: &Options) -> Result<Template, StartError> {
    let mut template = read_template(options)?;
    let functions = &mut template.stack.functions;
    variables::set(options, functions)?;
    if let Some(name) = non_empty(options.debug.as_deref()) {
        let known = functions.iter().map(|function| function.logical_id.as_str()).collect::<Vec<_>>().join(", ");
        let is = |function: &&mut Function| {
            [function.logical_id.as_str(), &function.name, function.short_name()].contains(&name)
        };
        let unknown = || StartError::NoFunction { name: name.to_owned(), known };
        functions.iter_mut().find(is).ok_or_else(unknown)?.is_debugged = true;
    }
    Ok(template)
}

/// Reads the template of `--template`. With `--strict`, ignored parts are errors.
///
/// # Errors
/// [`StartError::Template`], [`StartError::InvalidTemplate`], [`StartError::Variables`], and
/// [`StartError::Place`].
pub fn read_template(options: &Options) -> Result<Template, StartError> {
    let Options { region, account, stack_name, .. } = options.clone();
    arn::choose(arn::Place { region, account, stack_name })?;
    let path = options.template.clone();
    let yaml = match std::fs::read_to_string(&path) {
        Ok(yaml) => yaml,
        Err(source) => return Err(StartError::Template { path, source }),
    };
    let parameters = variables::parameters(options)?;
    let read = template::read_in(path.parent(), &yaml, &parameters);
    let read = read.and_then(|template| match options.strict {
        true => template.strict(),
        false => Ok(template),
    });
    let template = read.map_err(|source| StartError::InvalidTemplate { path, source })?;
    left_out::check(&template.stack, options.aws_domains, options.watch)?;
    Ok(template)
}

/// The file in the data folder with the policies that the last run needed.
const SUGGESTED_POLICIES: &str = "policies.yaml";

/// The least policies that the last run with this data folder needed, as YAML.
///
/// # Errors
/// [`StartError::NoRun`] if no run has ended in this folder.
pub fn suggested_policies(options: &Options) -> Result<String, StartError> {
    let path = options.data_dir.join(SUGGESTED_POLICIES);
    std::fs::read_to_string(&path).map_err(|source| StartError::NoRun { path, source })
}

/// Treats an empty option as unset: an environment variable may exist and be empty.
fn non_empty(option: Option<&str>) -> Option<&str> {
    option.filter(|option| !option.is_empty())
}

/// The given tokens, by the names of their flags.
fn tokens(options: &Options) -> Vec<(&'static str, &str)> {
    let Options { staff_token, operator_token, health_token, .. } = options;
    let tokens = [("staff-token", staff_token), ("operator-token", operator_token), ("health-token", health_token)];
    tokens.into_iter().filter_map(|(flag, token)| Some((flag, non_empty(token.as_deref())?))).collect()
}

async fn start_dynamodb(
    options: &Options,
    data: Option<&Path>,
) -> Result<(Option<Engine>, String, Identity), StartError> {
    if let Some(url) = non_empty(options.dynamodb_url.as_deref()) {
        return Ok((None, url.trim_end_matches('/').to_owned(), Identity::from_env()));
    }
    let storage = data.map_or(Storage::Memory, |data| Storage::File(data.join("dynamodb.sqlite")));
    let port = options.dynamodb_port;
    let listen = SocketAddr::from((Ipv4Addr::LOCALHOST, port));
    let engine =
        Engine::start(tidemark_engine::Options { storage, listen, stream_shards: options.stream_shards }).await;
    let engine = engine.map_err(|error| match error {
        EngineError::Listen { source, .. } => StartError::DynamodbPort { port, source },
        other => StartError::Engine(other),
    })?;
    let url = engine.url();
    Ok((Some(engine), url, Identity::local()))
}

/// Starts an instance of each function, and watches the sources with `--watch`. A function of other
/// people may need something that is not here, so that only existing binaries must start.
async fn start_functions(
    options: &Options,
    files: &[PathBuf],
    functions: &Arc<Functions>,
    binaries: Option<Binaries>,
) -> Result<Option<Watch>, StartError> {
    let Some(binaries) = binaries else {
        functions.warm().await?;
        return Ok(None);
    };
    if options.watch {
        // It starts the instances from its copies.
        let inputs = [files, &variables::files(options)].concat();
        match Watch::start(&inputs, &options.profile, functions, binaries).await {
            Ok(watch) => return Ok(Some(watch)),
            Err(error) => tracing::warn!("--watch has no effect: {error}"),
        }
    }
    functions.try_warm().await;
    Ok(None)
}

/// Records the tables' consumption at each interval.
async fn meter(meter: Arc<tidemark_engine::Meter>, metrics: Arc<Metrics>) {
    let mut ticks = tokio::time::interval(METER_INTERVAL);
    loop {
        ticks.tick().await;
        metrics.record_usage(meter.used());
    }
}
