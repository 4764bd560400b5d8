//! The addresses of a template's APIs on this machine.

use std::net::{Ipv4Addr, SocketAddr};

use serde::Serialize;

use crate::arn;
use crate::stack::{ApiKind, Function, HttpApi, Stack};

/// The address of an API.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ApiAddress {
    /// Its logical id.
    pub name: String,
    /// Its kind.
    pub kind: ApiKind,
    /// `http://127.0.0.1:3001`, with the stage of a REST API.
    pub url: String,
}

/// The address of each API: the first on the stack's own port.
pub(crate) fn of_stack(stack: &Stack, port: u16, others: impl Iterator<Item = u16>) -> Vec<ApiAddress> {
    let address = |(api, port): (&HttpApi, u16)| {
        let stage = if api.kind == ApiKind::Rest { format!("/{}", api.stage) } else { String::new() };
        let url = format!("http://{}{stage}", SocketAddr::from((Ipv4Addr::LOCALHOST, port)));
        ApiAddress { name: api.logical_id.clone(), kind: api.kind, url }
    };
    stack.http_apis.iter().zip(std::iter::once(port).chain(others)).map(address).collect()
}

/// The functions, with the addresses of the template's APIs on AWS replaced by those on this
/// machine.
pub(crate) fn at_home(functions: &[Function], apis: &[ApiAddress]) -> Vec<Function> {
    let mut functions = functions.to_vec();
    for value in functions.iter_mut().flat_map(|function| function.environment.values_mut()) {
        for api in apis {
            let domain = match api.kind {
                ApiKind::FunctionUrl => arn::function_url_domain(api.name.strip_suffix("Url").unwrap_or(&api.name)),
                ApiKind::Http | ApiKind::Rest | ApiKind::LoadBalancer => arn::api_domain(&api.name),
            };
            let here = api.url.split('/').take(3).collect::<Vec<_>>().join("/");
            *value = value.replace(&format!("https://{domain}"), &here);
        }
    }
    functions
}
