//! Records the grants that a function needed, and the calls that were refused.

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;

use super::{Matched, Request};
use crate::stack::{Role, Statement, Test};

/// Maximum number of different refused calls that are kept.
const DENIED_MAX: usize = 100;

/// The usage record of one function.
#[derive(Debug)]
pub(super) struct PolicyUsage {
    /// For each statement: how often each of its entries was needed.
    statements: Vec<Needed>,
    denied: BTreeSet<DeniedCall>,
}

#[derive(Debug)]
struct Needed {
    actions: Vec<u64>,
    resources: Vec<u64>,
    /// By condition, then by value.
    patterns: Vec<Vec<u64>>,
}

/// A refused call.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct DeniedCall {
    /// `dynamodb:PutItem`.
    pub action: String,
    /// The ARN.
    pub resource: String,
    /// The values of its condition keys.
    pub context: BTreeMap<&'static str, Vec<String>>,
}

/// The usage record of one function, as the admin route returns it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct FunctionPolicyUsage {
    /// The binary's name.
    pub function: String,
    /// The role's logical id.
    pub role: String,
    /// The refused calls.
    pub denied: Vec<DeniedCall>,
    /// The use of each statement.
    pub statements: Vec<StatementUsage>,
}

/// A statement. Each count is the number of calls that would have been refused without the entry.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct StatementUsage {
    /// The name of its policy.
    pub policy: String,
    /// Its line in the template.
    pub line: usize,
    /// By action.
    pub actions: BTreeMap<String, u64>,
    /// By resource.
    pub resources: BTreeMap<String, u64>,
    /// By the values of conditions; values of negated conditions are not counted.
    pub patterns: BTreeMap<String, u64>,
}

impl PolicyUsage {
    /// A record without any usage.
    pub(super) fn of(role: &Role) -> Self {
        let needed = |statement: &Statement| Needed {
            actions: vec![0; statement.actions.len()],
            resources: vec![0; statement.resources.len()],
            patterns: statement.conditions.iter().map(|condition| vec![0; condition.values.len()]).collect(),
        };
        Self { statements: role.statements.iter().map(needed).collect(), denied: BTreeSet::new() }
    }

    /// Records a call that these statements allow. If two allow it, neither was needed.
    pub(super) fn allowed(&mut self, by: &[(usize, Matched)]) {
        let [(index, matched)] = by else { return };
        let Some(needed) = self.statements.get_mut(*index) else { return };
        only(&mut needed.actions, &matched.actions);
        only(&mut needed.resources, &matched.resources);
        for (condition, values) in &matched.patterns {
            if let Some(counts) = needed.patterns.get_mut(*condition) {
                only(counts, values);
            }
        }
    }

    /// Records a refused call.
    pub(super) fn denied(&mut self, request: &Request) {
        let Request { action, resource, context } = request.clone();
        let call = DeniedCall { action, resource, context };
        if self.denied.len() < DENIED_MAX {
            self.denied.insert(call);
        }
    }

    /// The counts with the names of their entries.
    pub(super) fn report(&self, function: &str, role: &Role) -> FunctionPolicyUsage {
        let statements = role.statements.iter().zip(&self.statements).map(|(statement, needed)| {
            let patterns = statement.conditions.iter().zip(&needed.patterns);
            let asked = patterns.filter(|(condition, _)| matches!(condition.test, Test::Equals | Test::Like));
            StatementUsage {
                policy: statement.policy.clone(),
                line: statement.line,
                actions: named(&statement.actions, &needed.actions).collect(),
                resources: named(&statement.resources, &needed.resources).collect(),
                patterns: asked.flat_map(|(condition, counts)| named(&condition.values, counts)).collect(),
            }
        });
        let (function, role) = (function.to_owned(), role.logical_id.clone());
        FunctionPolicyUsage {
            function,
            role,
            denied: self.denied.iter().cloned().collect(),
            statements: statements.collect(),
        }
    }
}

/// Counts the only matching entry; if several matched, none was needed.
fn only(counts: &mut [u64], matched: &[usize]) {
    if let [index] = matched
        && let Some(count) = counts.get_mut(*index)
    {
        *count += 1;
    }
}

fn named<'a>(names: &'a [String], counts: &'a [u64]) -> impl Iterator<Item = (String, u64)> + 'a {
    names.iter().cloned().zip(counts.iter().copied())
}
