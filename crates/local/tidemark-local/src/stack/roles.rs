//! Roles with their statements.

/// A role with the statements of its own and its managed policies.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Role {
    /// The key under `Resources`.
    pub logical_id: String,
    /// `RoleName`, resolved.
    pub name: String,
    /// The ARN, as `GetAtt Arn` returns it.
    pub arn: String,
    /// Its permissions.
    pub statements: Vec<Statement>,
}

/// Whether a statement allows or denies calls.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Effect {
    /// `Allow`.
    Allow,
    /// `Deny`: no other statement can allow the call.
    Deny,
}

/// A statement of a policy.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Statement {
    /// The policy that contains it: `ClickWriterRole: store-clicks`, or a managed policy's logical
    /// id.
    pub policy: String,
    /// Its line in the template.
    pub line: usize,
    /// `Effect`.
    pub effect: Effect,
    /// `Action`, resolved; `*` stands for any text.
    pub actions: Vec<String>,
    /// `Resource`, resolved; `*` stands for any text.
    pub resources: Vec<String>,
    /// `Condition`: all of them must hold.
    pub conditions: Vec<Condition>,
}

/// A condition on one condition key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Condition {
    /// `dynamodb:LeadingKeys`.
    pub key: String,
    /// `ForAllValues:` or `ForAnyValue:`.
    pub quantifier: Option<Quantifier>,
    /// The operator.
    pub test: Test,
    /// The values to compare with.
    pub values: Vec<String>,
}

/// How many of a key's values must pass.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Quantifier {
    /// `ForAllValues`: holds without values too.
    All,
    /// `ForAnyValue`.
    Any,
}

/// A condition's operator.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Test {
    /// `StringEquals`.
    Equals,
    /// `StringNotEquals`.
    NotEquals,
    /// `StringLike`.
    Like,
    /// `StringNotLike`.
    NotLike,
    /// `Null`: `true` requires the key to be absent, `false` to be present.
    Null,
}
