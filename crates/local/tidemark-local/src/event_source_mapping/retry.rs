//! Retries of a failed batch: bisecting, partial batch responses, retry limit, record age.
//!
//! This module does no I/O: it chooses the next step, and the caller reports the outcome. Records
//! are always settled in the shard's order, each exactly once, either by a success or by being
//! discarded.
//!
//! Source: <https://docs.aws.amazon.com/lambda/latest/dg/services-dynamodb-errors.html>.

use std::collections::VecDeque;
use std::ops::Range;
use std::time::Duration;

use crate::stack::StreamMapping;

/// The mapping's settings for retries.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct RetryPolicy {
    /// `BisectBatchOnFunctionError`.
    pub bisect: bool,
    /// `MaximumRetryAttempts`; `None`: no limit.
    pub retry_attempts_max: Option<u32>,
    /// `MaximumRecordAgeInSeconds`; `None`: no limit.
    pub record_age_max: Option<Duration>,
}

/// The delivery of one batch, with its retries.
#[derive(Debug)]
pub(super) struct BatchRun {
    policy: RetryPolicy,
    created_ms: Vec<i64>,
    sub_batches: VecDeque<SubBatch>,
    bisects: u32,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct SubBatch {
    records: Range<usize>,
    failures: u32,
}

/// The next step of a batch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum RetryStep {
    /// Invoke the function with these records.
    Invoke {
        /// Positions in the batch.
        records: Range<usize>,
        /// Failures that count towards the retry limit.
        failures: u32,
    },
    /// Discard these records and notify the on-failure destination.
    Discard {
        /// Positions in the batch.
        records: Range<usize>,
        /// The reason.
        condition: DiscardCondition,
        /// How often they were tried.
        failures: u32,
    },
    /// Every record is settled.
    Done,
}

/// Why records were discarded, as the destination's message names it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize)]
pub(super) enum DiscardCondition {
    /// The function failed more often than the mapping allows.
    RetryAttemptsExhausted,
    /// The records are older than the mapping allows.
    RecordAgeExceeded,
}

/// The outcome of an invocation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum InvocationOutcome {
    /// All its records are settled.
    Succeeded,
    /// The records before this position of the batch are settled.
    FailedFrom(usize),
    /// No record is settled.
    Failed,
    /// The function was not reached; this counts towards the age limit only.
    NotInvoked,
}

impl RetryPolicy {
    /// The policy of a mapping.
    pub(super) fn of(mapping: &StreamMapping) -> Self {
        Self {
            bisect: mapping.bisect_on_error,
            retry_attempts_max: mapping.retry_attempts_max,
            record_age_max: mapping.record_age_max,
        }
    }
}

impl BatchRun {
    /// A batch whose records have these creation times, milliseconds since the epoch.
    pub(super) fn new(created_ms: Vec<i64>, policy: RetryPolicy) -> Self {
        let whole = SubBatch { records: 0..created_ms.len(), failures: 0 };
        let sub_batches = if created_ms.is_empty() { VecDeque::new() } else { VecDeque::from([whole]) };
        Self { policy, created_ms, sub_batches, bisects: 0 }
    }

    /// The next step at the time `now_ms`.
    pub(super) fn next(&self, now_ms: i64) -> RetryStep {
        let Some(SubBatch { records, failures }) = self.sub_batches.front().cloned() else { return RetryStep::Done };
        let expired = self.expired(&records, now_ms);
        if !expired.is_empty() {
            return RetryStep::Discard { records: expired, condition: DiscardCondition::RecordAgeExceeded, failures };
        }
        if self.policy.retry_attempts_max.is_some_and(|retries| failures > retries) {
            return RetryStep::Discard { records, condition: DiscardCondition::RetryAttemptsExhausted, failures };
        }
        RetryStep::Invoke { records, failures }
    }

    /// Reports the outcome of the current invocation.
    pub(super) fn settle(&mut self, outcome: InvocationOutcome) {
        let Some(sub_batch) = self.sub_batches.front_mut() else { return };
        match outcome {
            InvocationOutcome::Succeeded => {
                self.sub_batches.pop_front();
            }
            InvocationOutcome::FailedFrom(first)
                if sub_batch.records.start < first && first < sub_batch.records.end =>
            {
                sub_batch.records.start = first;
                // With bisecting, the batch is split at the reported record, and splitting does not
                // count as a retry. Without it, the remaining records have failed once.
                sub_batch.failures = if self.policy.bisect { sub_batch.failures } else { 1 };
            }
            InvocationOutcome::FailedFrom(_) | InvocationOutcome::Failed => {
                if self.policy.bisect && sub_batch.records.len() > 1 {
                    let middle = sub_batch.records.start + sub_batch.records.len() / 2;
                    let first = SubBatch { records: sub_batch.records.start..middle, failures: sub_batch.failures };
                    sub_batch.records.start = middle;
                    self.sub_batches.push_front(first);
                    self.bisects = self.bisects.saturating_add(1);
                } else {
                    sub_batch.failures = sub_batch.failures.saturating_add(1);
                }
            }
            InvocationOutcome::NotInvoked => {}
        }
    }

    /// Reports that the records of the current [`RetryStep::Discard`] were discarded.
    pub(super) fn discarded(&mut self, records: &Range<usize>) {
        if let Some(sub_batch) = self.sub_batches.front_mut() {
            sub_batch.records.start = records.end;
            if sub_batch.records.is_empty() {
                self.sub_batches.pop_front();
            }
        }
    }

    /// How often the batch was split.
    pub(super) fn bisects(&self) -> u32 {
        self.bisects
    }

    /// The number of settled records from the batch's start: the checkpoint.
    pub(super) fn settled(&self) -> usize {
        self.sub_batches.front().map_or(self.created_ms.len(), |sub_batch| sub_batch.records.start)
    }

    fn expired(&self, records: &Range<usize>, now_ms: i64) -> Range<usize> {
        let Some(age_max) = self.policy.record_age_max else { return records.start..records.start };
        let oldest_ms = now_ms.saturating_sub(i64::try_from(age_max.as_millis()).unwrap_or(i64::MAX));
        let expired = self.created_ms[records.clone()].iter().take_while(|created_ms| **created_ms < oldest_ms).count();
        records.start..records.start + expired
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const UNLIMITED: RetryPolicy = RetryPolicy { bisect: false, retry_attempts_max: None, record_age_max: None };

    fn run(len: usize, policy: RetryPolicy) -> BatchRun {
        BatchRun::new(vec![0; len], policy)
    }

    fn invoke(records: Range<usize>, failures: u32) -> RetryStep {
        RetryStep::Invoke { records, failures }
    }

    #[test]
    fn a_success_settles_the_whole_batch() {
        let mut run = run(3, UNLIMITED);
        assert_eq!(run.next(0), invoke(0..3, 0));
        run.settle(InvocationOutcome::Succeeded);
        assert_eq!((run.settled(), run.next(0)), (3, RetryStep::Done));
    }

    #[test]
    fn failed_batch_is_retried_whole_until_its_retries_are_exhausted() {
        let mut run = run(3, RetryPolicy { retry_attempts_max: Some(1), ..UNLIMITED });
        run.settle(InvocationOutcome::Failed);
        assert_eq!(run.next(0), invoke(0..3, 1));
        run.settle(InvocationOutcome::Failed);
        let condition = DiscardCondition::RetryAttemptsExhausted;
        assert_eq!(run.next(0), RetryStep::Discard { records: 0..3, condition, failures: 2 });
        run.discarded(&(0..3));
        assert_eq!(run.next(0), RetryStep::Done);
    }

    #[test]
    fn a_partial_response_is_retried_from_the_reported_record() {
        let mut run = run(5, UNLIMITED);
        run.settle(InvocationOutcome::FailedFrom(3));
        assert_eq!((run.settled(), run.next(0)), (3, invoke(3..5, 1)));
    }

    #[test]
    fn bisecting_isolates_the_one_bad_record_without_using_retries() {
        let mut run = run(8, RetryPolicy { bisect: true, retry_attempts_max: Some(0), ..UNLIMITED });
        let (mut discarded, mut invocations) = (Vec::new(), 0);
        loop {
            match run.next(0) {
                RetryStep::Invoke { records, .. } => {
                    invocations += 1;
                    run.settle(if records.contains(&5) {
                        InvocationOutcome::Failed
                    } else {
                        InvocationOutcome::Succeeded
                    });
                }
                RetryStep::Discard { records, .. } => {
                    discarded.extend(records.clone());
                    run.discarded(&records);
                }
                RetryStep::Done => break,
            }
        }
        assert_eq!(discarded, [5]);
        assert_eq!(invocations, 7);
    }

    #[test]
    fn an_unreached_function_costs_no_retry() {
        let mut run = run(1, RetryPolicy { retry_attempts_max: Some(0), ..UNLIMITED });
        run.settle(InvocationOutcome::NotInvoked);
        assert_eq!(run.next(0), invoke(0..1, 0));
    }

    #[test]
    fn too_old_records_are_discarded_and_younger_ones_retried() {
        let policy = RetryPolicy { record_age_max: Some(Duration::from_secs(60)), ..UNLIMITED };
        let mut run = BatchRun::new(vec![0, 1_000, 50_000], policy);
        let condition = DiscardCondition::RecordAgeExceeded;
        assert_eq!(run.next(60_000), invoke(0..3, 0));
        assert_eq!(run.next(62_000), RetryStep::Discard { records: 0..2, condition, failures: 0 });
        run.discarded(&(0..2));
        assert_eq!(run.next(62_000), invoke(2..3, 0));
    }

    proptest! {
        /// For any behaviour of the function, each record is settled once, in order, within a
        /// bounded number of steps.
        #[test]
        fn every_record_is_settled_once_and_in_order(
            len in 1_usize..40,
            bisect: bool,
            retries in 0_u32..4,
            answers in proptest::collection::vec((0_u8..4, 0_usize..40), 0..200),
        ) {
            let mut run = run(len, RetryPolicy { bisect, retry_attempts_max: Some(retries), record_age_max: None });
            let mut answers = answers.into_iter();
            let (mut settled, mut steps) = (0, 0);
            loop {
                steps += 1;
                prop_assert!(steps < 2_000, "it does not end");
                match run.next(0) {
                    RetryStep::Invoke { records, failures } => {
                        prop_assert_eq!(records.start, settled);
                        prop_assert!(records.end <= len && failures <= retries);
                        let outcome = match answers.next() {
                            Some((0, _)) => InvocationOutcome::Succeeded,
                            Some((1, at)) => InvocationOutcome::FailedFrom(at),
                            Some((2, _)) => InvocationOutcome::NotInvoked,
                            Some(_) | None => InvocationOutcome::Failed,
                        };
                        run.settle(outcome);
                        let expected = match outcome {
                            InvocationOutcome::Succeeded => records.end,
                            InvocationOutcome::FailedFrom(at) if records.contains(&at) => at,
                            _ => settled,
                        };
                        prop_assert_eq!(run.settled(), expected);
                    }
                    RetryStep::Discard { records, .. } => {
                        prop_assert_eq!(records.start, settled);
                        run.discarded(&records);
                        prop_assert_eq!(run.settled(), records.end);
                    }
                    RetryStep::Done => break,
                }
                settled = run.settled();
            }
            prop_assert_eq!(settled, len);
        }
    }
}
