//! All instances of one function: reused when warm, replaced after a crash or a timeout, ended when
//! idle.

use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use bytes::Bytes;
use jiff::Timestamp;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, mpsc, oneshot};
use tokio_util::task::AbortOnDropHandle;

use super::instance::{Instance, InstanceStartError, Launcher};
use super::invocation::{FunctionError, FunctionResult, ResultStream, StreamedInvocation};
use super::recent::RecentInvocations;
use super::runtime_api::{Delivery, Reply, StreamedReply, trace_id};
use super::usage::Usage;
use crate::arn;
use crate::clock::{Clock, Work};
use crate::faults::Faults;
use crate::metrics::{Metrics, Subject};
use crate::random_id::random_id;
use crate::stack::Function;

/// Idle instances are ended after this time; Lambda also keeps them for minutes.
const IDLE_MAX: Duration = Duration::from_secs(300);

/// The lowest limit on a function's concurrent instances, for machines with few cores.
const INSTANCES_MAX_FLOOR: usize = 8;

/// The instances of one function.
#[derive(Debug)]
pub struct Pool {
    function: Function,
    arn: Arc<str>,
    /// The binary, and how often it was replaced.
    binary: Mutex<(u64, PathBuf)>,
    launcher: Arc<Launcher>,
    faults: Arc<Faults>,
    /// Idle instances, with the generation of their binary.
    idle: Mutex<Vec<(Instant, u64, Instance)>>,
    pub(super) permits: Arc<Semaphore>,
    instances_max: AtomicUsize,
    subject: Subject,
    invocations: AtomicU64,
    errors: AtomicU64,
    last_error: Mutex<Option<String>>,
    recent: RecentInvocations,
    /// Starts the instance that waits for a debugger.
    held: Mutex<Option<AbortOnDropHandle<()>>>,
}

impl Pool {
    /// A pool without instances.
    pub fn new(function: Function, binary: PathBuf, launcher: Arc<Launcher>, faults: Arc<Faults>) -> Arc<Self> {
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        let own_max = (cores * 4).max(INSTANCES_MAX_FLOOR);
        let instances_max = match function.reserved_concurrency {
            _ if function.is_debugged => 1,
            Some(reserved) => usize::try_from(reserved).unwrap_or(own_max),
            None => own_max,
        };
        Arc::new(Self {
            arn: arn::function(&function.name).into(),
            permits: Arc::new(Semaphore::new(instances_max)),
            instances_max: AtomicUsize::new(instances_max),
            subject: Subject::Function(function.name.clone()),
            idle: Mutex::default(),
            invocations: AtomicU64::new(0),
            errors: AtomicU64::new(0),
            last_error: Mutex::default(),
            recent: RecentInvocations::default(),
            held: Mutex::default(),
            function,
            binary: Mutex::new((0, binary)),
            launcher,
            faults,
        })
    }

    /// The function of this pool.
    pub fn function(&self) -> &Function {
        &self.function
    }

    /// The faults to inject.
    pub fn faults(&self) -> &Faults {
        &self.faults
    }

    /// The names of the binary and of the function; the Invoke API accepts both.
    pub fn names(&self) -> [&str; 2] {
        [self.function.short_name(), &self.function.name]
    }

    /// The number of invocations so far, and the number of failed ones.
    pub fn counts(&self) -> (u64, u64) {
        (self.invocations.load(Ordering::Relaxed), self.errors.load(Ordering::Relaxed))
    }

    /// The message of the newest failure.
    pub fn last_error(&self) -> Option<String> {
        self.last_error.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// The newest invocations.
    pub(crate) fn recent(&self) -> &RecentInvocations {
        &self.recent
    }

    /// How often something changed in its invocations and logs.
    pub(crate) fn changes(&self) -> u64 {
        self.recent.changes() + self.launcher.log(&self.function.name).added()
    }

    /// The number of idle instances.
    pub fn idle_instances(&self) -> usize {
        self.lock_idle().len()
    }

    /// The number of running invocations; each has its own instance.
    pub fn busy_instances(&self) -> usize {
        self.instances_max.load(Ordering::Relaxed).saturating_sub(self.permits.available_permits())
    }

    /// Its subject in the [`metrics`](Self::metrics).
    pub fn subject(&self) -> &Subject {
        &self.subject
    }

    /// The metrics of this function.
    pub fn metrics(&self) -> &Metrics {
        self.launcher.metrics()
    }

    /// The stack's clock.
    pub fn clock(&self) -> &Arc<Clock> {
        self.launcher.clock()
    }

    /// Notes that the function runs.
    pub(super) fn begin(&self) -> Work {
        self.clock().begin(format!("the function {} runs", self.function.short_name()))
    }

    /// What the function printed last, once no more of it comes.
    pub(crate) async fn printed(&self) -> String {
        self.launcher.log(&self.function.name).settled().await
    }

    /// Starts one instance before the first invocation, so that a binary that cannot run is
    /// reported when the stack starts. An instance that waits for a debugger starts later.
    ///
    /// # Errors
    /// [`InstanceStartError`], with the instance's output.
    pub async fn warm(self: &Arc<Self>) -> Result<(), InstanceStartError> {
        if !self.function.is_debugged {
            return self.start_idle().await;
        }
        let pool = Arc::clone(self);
        let start = async move {
            // Invocations wait too, instead of starting a second instance.
            let _permit = pool.permits.acquire().await;
            if let Err(error) = pool.start_idle().await {
                tracing::error!("function {}: {error}", pool.function.logical_id);
            }
        };
        // Ends the one of a replaced binary.
        drop(self.held.lock().unwrap_or_else(PoisonError::into_inner).take());
        let held = AbortOnDropHandle::new(tokio::spawn(start));
        *self.held.lock().unwrap_or_else(PoisonError::into_inner) = Some(held);
        Ok(())
    }

    async fn start_idle(&self) -> Result<(), InstanceStartError> {
        let (instance, generation) = self.start_instance().await?;
        self.keep(instance, generation);
        Ok(())
    }

    /// Uses another binary for new invocations. Running invocations finish in their instances.
    #[cfg_attr(not(feature = "watch"), expect(dead_code, reason = "only the feature `watch` uses it"))]
    pub(crate) fn replace_binary(self: &Arc<Self>, binary: PathBuf) {
        {
            let mut current = self.binary.lock().unwrap_or_else(PoisonError::into_inner);
            *current = (current.0 + 1, binary);
        }
        self.lock_idle().clear();
        let pool = Arc::clone(self);
        tokio::spawn(async move {
            if let Err(error) = pool.warm().await {
                tracing::error!("function {}: {error}", pool.function.logical_id);
            }
        });
    }

    /// Starts an instance of the current binary, and returns the binary's generation.
    async fn start_instance(&self) -> Result<(Instance, u64), InstanceStartError> {
        let (generation, binary) = self.binary();
        let instance = self.launcher.start(&self.function, &binary).await?;
        if instance.has_fixed_port() {
            self.limit_to_one();
        }
        Ok((instance, generation))
    }

    fn binary(&self) -> (u64, PathBuf) {
        self.binary.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Keeps an instance for the next invocation, unless its binary was replaced.
    fn keep(&self, instance: Instance, generation: u64) {
        let mut idle = self.lock_idle();
        if self.binary().0 == generation {
            idle.push((Instant::now(), generation, instance));
        }
    }

    /// Allows one instance: only one server can listen at a fixed port.
    fn limit_to_one(&self) {
        let before = self.instances_max.swap(1, Ordering::Relaxed);
        self.permits.forget_permits(before.saturating_sub(1));
    }

    /// Ends instances that have been idle for too long.
    pub fn reap(&self) {
        self.lock_idle().retain(|(since, _, instance)| since.elapsed() < IDLE_MAX && instance.is_alive());
    }

    /// Runs an invocation, answers the caller, and then reports it.
    pub(super) async fn run(
        &self,
        payload: Bytes,
        wants_log: bool,
        permit: OwnedSemaphorePermit,
        answer: oneshot::Sender<StreamedInvocation>,
    ) {
        let request_id = random_id();
        let mut answer = Some(answer);
        self.recent.begin(&request_id, &payload);
        self.invocations.fetch_add(1, Ordering::Relaxed);
        self.note("Invocations", 1.0);
        let (outcome, usage) = match self.run_instance(&request_id, payload, wants_log, &mut answer).await {
            Ok((outcome, usage)) => (outcome, Some(usage)),
            Err(error) => (Err(error), None),
        };
        if let Err(error) = &outcome {
            self.errors.fetch_add(1, Ordering::Relaxed);
            self.note("Errors", 1.0);
            let body = String::from_utf8_lossy(&error.body);
            tracing::warn!("{} | {:?}: {body}", self.function.logical_id, error.kind);
            *self.last_error.lock().unwrap_or_else(PoisonError::into_inner) = Some(error.message());
        }
        drop(permit);
        self.recent.end(&request_id, &outcome, answer.is_none(), usage.as_ref());
        if let Some(answer) = answer {
            // The caller may have stopped waiting.
            let outcome = outcome.map(FunctionResult::Whole);
            let log = usage.as_ref().and_then(|usage| usage.tail(&self.function, &request_id));
            drop(answer.send(StreamedInvocation { request_id: request_id.clone(), outcome, log }));
        }
        if let Some(mut usage) = usage {
            // The caller goes on first.
            tokio::task::yield_now().await;
            usage.memory.keep();
            self.recent.set_memory(&request_id, usage.memory.max_mib());
            usage.log(&self.function, &request_id);
        }
    }

    /// The outcome of an invocation, and its usage of the instance. An error did not reach one. Takes
    /// the answer if the result is a stream, whose parts go to the caller one by one.
    async fn run_instance(
        &self,
        request_id: &str,
        payload: Bytes,
        wants_log: bool,
        answer: &mut Option<oneshot::Sender<StreamedInvocation>>,
    ) -> Result<(Result<Bytes, FunctionError>, Usage), FunctionError> {
        if self.faults.fails(self.names()) {
            return Err(FunctionError::injected());
        }
        let delay = self.faults.delay(self.names());
        if !delay.is_zero() {
            tokio::time::sleep(delay).await;
        }
        let (mut instance, generation) = match self.take_warm() {
            Some(instance) => instance,
            None => self.start_instance().await.map_err(|error| FunctionError::init(request_id, &error))?,
        };
        if self.faults.kills_before(self.names()) {
            return Err(FunctionError::crash(request_id, "signal: killed"));
        }
        self.faults.delivered(self.names(), &payload);
        let log = instance.begin_log();
        self.recent.set_log(request_id, &log);
        let started = Instant::now();
        let mut reply = self.deliver(&instance, request_id, payload).await;
        let mut failure = None;
        if let Ok(Reply::Stream(streamed)) = reply {
            let (sender, parts) = mpsc::channel(1);
            let (failed, if_failed) = oneshot::channel();
            let StreamedReply { content_type, parts: source } = streamed;
            let outcome = Ok(FunctionResult::Stream(ResultStream { content_type, parts, failure: if_failed }));
            if let Some(answer) = answer.take() {
                drop(answer.send(StreamedInvocation { request_id: request_id.to_owned(), outcome, log: None }));
            }
            reply = self.stream(&instance, request_id, started, source, sender).await;
            failure = Some(failed);
        }
        let (duration, init, memory) = (started.elapsed(), instance.take_init(), instance.memory());
        let printed = if wants_log { Some(log.settled().await) } else { None };
        let mut usage = Usage { duration, init, memory, printed };
        if reply.is_err() {
            usage.memory.keep();
        }
        self.note("Duration", usage.duration.as_secs_f64() * 1e3);
        if let Some(init) = usage.init {
            self.note("InitDuration", init.as_secs_f64() * 1e3);
        }
        let outcome = match reply {
            Err(error) => Err(error),
            Ok(_) if self.faults.kills_after(self.names()) => Err(FunctionError::crash(request_id, "signal: killed")),
            Ok(reply) => {
                self.keep(instance, generation);
                match reply {
                    Reply::Response(body) => Ok(body),
                    // The parts went to the caller.
                    Reply::Stream(_) => Ok(Bytes::new()),
                    Reply::Error(body) => Err(FunctionError::of_handler(body)),
                    Reply::ResponseTooLarge => Err(FunctionError::response_too_large()),
                }
            }
        };
        if let (Some(failure), Err(error)) = (failure, &outcome) {
            drop(failure.send(error.clone()));
        }
        Ok((outcome, usage))
    }

    /// Passes the parts of a result on to the caller, until its end, the end of the process, or the
    /// timeout. A caller who has gone changes nothing for the function.
    async fn stream(
        &self,
        instance: &Instance,
        request_id: &str,
        started: Instant,
        mut source: mpsc::Receiver<Result<Bytes, Bytes>>,
        caller: mpsc::Sender<Bytes>,
    ) -> Result<Reply, FunctionError> {
        let conversation = async {
            while let Some(part) = source.recv().await {
                match part {
                    Ok(part) => drop(caller.send(part).await),
                    Err(body) => return Reply::Error(body),
                }
            }
            Reply::Response(Bytes::new())
        };
        let timeout = self.function.time_limit(self.function.timeout);
        tokio::select! {
            biased;
            reply = conversation => Ok(reply),
            exit = instance.exited() => Err(FunctionError::crash(request_id, &exit)),
            () = tokio::time::sleep(timeout.saturating_sub(started.elapsed())) => {
                Err(FunctionError::timeout(request_id, timeout))
            }
        }
    }

    /// Delivers a request and waits for the response, the end of the process, or the timeout. After
    /// an error the instance cannot be used again; dropping it kills it.
    async fn deliver(&self, instance: &Instance, request_id: &str, payload: Bytes) -> Result<Reply, FunctionError> {
        let timeout = self.function.time_limit(self.function.timeout);
        let (reply, answer) = oneshot::channel();
        let now_ms = Timestamp::now().as_millisecond().unsigned_abs();
        let delivery = Delivery {
            request_id: request_id.to_owned(),
            deadline_ms: now_ms.saturating_add(u64::try_from(timeout.as_millis()).unwrap_or(u64::MAX)),
            function_arn: Arc::clone(&self.arn),
            trace_id: trace_id(),
            payload,
            reply,
        };
        let conversation = async {
            instance.deliver(delivery).await;
            answer.await
        };
        tokio::select! {
            // The response first: if a process responds and then ends, the response counts.
            biased;
            answer = conversation => match answer {
                Ok(reply) => Ok(reply),
                Err(_) => Err(FunctionError::crash(request_id, "no answer to the invocation")),
            },
            exit = instance.exited() => Err(FunctionError::crash(request_id, &exit)),
            () = tokio::time::sleep(timeout) => Err(FunctionError::timeout(request_id, timeout)),
        }
    }

    /// The most recently used instance that is alive. The others grow old and are ended.
    fn take_warm(&self) -> Option<(Instance, u64)> {
        let mut idle = self.lock_idle();
        while let Some((_, generation, instance)) = idle.pop() {
            if instance.is_alive() {
                return Some((instance, generation));
            }
        }
        None
    }

    pub(super) fn note(&self, metric: &str, value: f64) {
        self.metrics().record(&self.subject, metric, value);
    }

    fn lock_idle(&self) -> std::sync::MutexGuard<'_, Vec<(Instant, u64, Instance)>> {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
