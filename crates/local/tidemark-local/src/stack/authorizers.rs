//! Authorizers of APIs.

use std::time::Duration;

/// An authorizer of an API.
#[derive(Debug, Clone, PartialEq)]
pub struct Authorizer {
    /// Its name in the API, or its logical id.
    pub name: String,
    /// Its way to decide.
    pub kind: AuthorizerKind,
}

/// A way to decide about a request.
#[derive(Debug, Clone, PartialEq)]
pub enum AuthorizerKind {
    /// A function decides.
    Lambda(LambdaAuthorizer),
    /// A signed token decides.
    Jwt(JwtAuthorizer),
}

/// An authorizer that is a function.
#[derive(Debug, Clone, PartialEq)]
pub struct LambdaAuthorizer {
    /// The function's logical id.
    pub function: String,
    /// The form of its event.
    pub event: AuthorizerEvent,
    /// Whether it returns `isAuthorized` instead of a policy.
    pub simple_responses: bool,
    /// The parts of a request that identify the client. A request without one of them is refused.
    pub identity: Vec<IdentitySource>,
    /// A regular expression for a whole token.
    pub validation: Option<String>,
    /// How long an answer is used again for the same identity.
    pub ttl: Duration,
}

/// The form of an authorizer's event.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AuthorizerEvent {
    /// `TOKEN` of a REST API.
    Token,
    /// `REQUEST` of a REST API, and format 1.0 of an HTTP API.
    RequestV1,
    /// Format 2.0 of an HTTP API.
    RequestV2,
}

/// A part of a request that identifies a client.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum IdentitySource {
    /// A header.
    Header(String),
    /// A parameter of the query.
    Query(String),
    /// A variable of the stage.
    StageVariable(String),
    /// A path of `requestContext`, such as `identity.sourceIp`.
    Context(String),
}

/// An authorizer that verifies a JSON Web Token.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JwtAuthorizer {
    /// `issuer`: the address below which the keys are found.
    pub issuer: String,
    /// `audience`: one of these must be `aud` or `client_id` of a token.
    pub audience: Vec<String>,
    /// The part of a request with the token.
    pub identity: IdentitySource,
    /// Scopes of routes that list none.
    pub scopes: Vec<String>,
}

/// The authorizer that a route chooses.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum RouteAuthorizer {
    /// The default of its API.
    #[default]
    Default,
    /// None, even if its API has a default.
    None,
    /// The one with this name.
    Named(String),
}
