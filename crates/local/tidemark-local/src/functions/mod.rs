//! Functions: unmodified binaries, each instance behind its own Lambda Runtime API.

mod debugger;
pub mod environment;
pub(crate) mod event_invoke;
mod instance;
mod invocation;
mod invoke;
mod log_tail;
mod pool;
mod recent;
mod runtime_api;
mod usage;
mod watchdog;
mod web_adapter;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use bytes::Bytes;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

pub use environment::Endpoints;
pub use instance::{INIT_TIMEOUT, InstanceStartError};
pub use invocation::{FailureKind, FunctionError, FunctionResult, Invocation, InvokeError, ResultStream};
pub use pool::Pool;
pub(crate) use recent::RecentInvocations;
pub use runtime_api::{PAYLOAD_BYTES_MAX, PRELUDE_END_BYTES, WITH_PRELUDE};

use crate::clock::Clock;
use crate::faults::Faults;
use crate::metrics::Metrics;
use crate::stack::Function;
use event_invoke::EventInvokes;
use instance::Launcher;

/// Interval for ending idle instances.
const REAP_INTERVAL: Duration = Duration::from_secs(30);

/// Delays before the two retries of a failed asynchronous invocation.
///
/// Source: <https://docs.aws.amazon.com/lambda/latest/dg/invocation-async-error-handling.html>.
const EVENT_RETRY_DELAYS: [Duration; 2] = [Duration::from_secs(60), Duration::from_secs(120)];

/// All functions of a stack.
#[derive(Debug)]
pub struct Functions {
    pools: Vec<Arc<Pool>>,
    launcher: Arc<Launcher>,
    metrics: Arc<Metrics>,
    event_invokes: Arc<OnceLock<EventInvokes>>,
    tasks: TaskTracker,
    stop: CancellationToken,
}

/// A function that did not start.
#[derive(Debug, thiserror::Error)]
#[error("function {function}")]
pub struct FunctionStartError {
    /// The binary's name.
    pub function: String,
    /// The cause.
    pub source: InstanceStartError,
}

impl Functions {
    /// The functions of a stack, not started yet; `binary` returns the path of a function's binary.
    pub fn new(
        functions: &[Function],
        binary: impl Fn(&Function) -> PathBuf,
        endpoints: Endpoints,
        faults: &Arc<Faults>,
        metrics: &Arc<Metrics>,
    ) -> Arc<Self> {
        let launcher = Arc::new(Launcher::new(endpoints, Arc::clone(metrics), Arc::default()));
        let pool = |function: &Function| {
            Pool::new(function.clone(), binary(function), Arc::clone(&launcher), Arc::clone(faults))
        };
        let functions = Arc::new(Self {
            pools: functions.iter().map(pool).collect(),
            launcher: Arc::clone(&launcher),
            metrics: Arc::clone(metrics),
            event_invokes: Arc::default(),
            tasks: TaskTracker::new(),
            stop: CancellationToken::new(),
        });
        functions.tasks.spawn(functions.stop.clone().run_until_cancelled_owned(reap(functions.pools.clone())));
        functions
    }

    /// Starts one instance of each function.
    ///
    /// # Errors
    /// The first function that does not start, with its output.
    pub async fn warm(&self) -> Result<(), FunctionStartError> {
        let warm = |pool: Arc<Pool>| async move {
            pool.warm()
                .await
                .map_err(|source| FunctionStartError { function: pool.function().short_name().to_owned(), source })
        };
        futures::future::try_join_all(self.pools.iter().map(Arc::clone).map(warm)).await?;
        Ok(())
    }

    /// Starts one instance of each function, and warns of those that do not start. Their first
    /// invocation tries again.
    pub async fn try_warm(&self) {
        let warm = |pool: &Arc<Pool>| {
            let pool = Arc::clone(pool);
            async move {
                if let Err(error) = pool.warm().await {
                    tracing::warn!("function {} does not start: {error}", pool.function().logical_id);
                }
            }
        };
        futures::future::join_all(self.pools.iter().map(warm)).await;
    }

    /// Every function.
    pub fn all(&self) -> &[Arc<Pool>] {
        &self.pools
    }

    /// The metrics of all functions.
    pub fn metrics(&self) -> &Arc<Metrics> {
        &self.metrics
    }

    /// The addresses of the services.
    pub(crate) fn endpoints(&self) -> &Endpoints {
        self.launcher.endpoints()
    }

    /// The stack's clock.
    pub fn clock(&self) -> &Arc<Clock> {
        self.launcher.clock()
    }

    /// The [`environment::portable`] variables of these functions together.
    pub fn environment(&self, pools: &[Arc<Pool>]) -> BTreeMap<String, String> {
        pools.iter().flat_map(|pool| environment::portable(pool.function(), self.launcher.endpoints())).collect()
    }

    /// A function by its binary's name, its own name, its ARN or its logical id. A version or an
    /// alias may follow.
    pub fn get(&self, name: &str) -> Option<&Arc<Pool>> {
        let (name, qualifier) = name_and_qualifier(name);
        let is = |pool: &&Arc<Pool>| pool.names().contains(&name) || pool.function().logical_id == name;
        let is_published = |pool: &&Arc<Pool>| qualifier.is_none_or(|wanted| pool.function().publishes(wanted));
        self.pools.iter().find(is).filter(is_published)
    }

    /// Sets the retries and destinations of asynchronous invocations. Only the first call counts.
    pub(crate) fn set_event_invokes(&self, settings: EventInvokes) {
        drop(self.event_invokes.set(settings));
    }

    /// Invokes a function asynchronously (`InvocationType: Event`), with Lambda's retries.
    pub fn invoke_event(&self, pool: &Arc<Pool>, payload: Bytes) {
        let (pool, settings) = (Arc::clone(pool), Arc::clone(&self.event_invokes));
        let work = self.clock().begin(format!("an asynchronous invocation of {}", pool.function().short_name()));
        let attempts = async move { event_invoke::run(pool, payload, settings.get(), work).await };
        self.tasks.spawn(self.stop.clone().run_until_cancelled_owned(attempts));
    }

    /// Ends all instances and waits for them.
    pub async fn stop(&self) {
        self.stop.cancel();
        self.tasks.close();
        self.tasks.wait().await;
        self.launcher.stop().await;
    }
}

/// The name in a function's name or ARN, and the version or the alias behind it.
pub(crate) fn name_and_qualifier(name: &str) -> (&str, Option<&str>) {
    let name = name.rsplit_once(":function:").map_or(name, |(_, name)| name);
    name.split_once(':').map_or((name, None), |(name, qualifier)| (name, Some(qualifier)))
}

/// The path of a function's binary in a folder.
pub fn binary_in(folder: &Path, function: &Function) -> PathBuf {
    folder.join(function.short_name())
}

async fn reap(pools: Vec<Arc<Pool>>) {
    let mut ticks = tokio::time::interval(REAP_INTERVAL);
    loop {
        ticks.tick().await;
        pools.iter().for_each(|pool| pool.reap());
    }
}
