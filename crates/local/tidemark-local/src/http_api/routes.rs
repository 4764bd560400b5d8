//! Route selection of an HTTP API.
//!
//! Source:
//! <https://docs.aws.amazon.com/apigateway/latest/developerguide/http-api-develop-routes.html>. A
//! full match has priority over a greedy one, a more specific path over a less specific one, and a
//! method over `ANY`; `$default` is last.

use std::collections::BTreeMap;

use percent_encoding::percent_decode_str;

/// The routes of all HTTP APIs of a stack, each with a target `T`.
#[derive(Debug)]
pub(crate) struct Routes<T> {
    routes: Vec<Route<T>>,
    default: Option<T>,
}

#[derive(Debug)]
struct Route<T> {
    key: String,
    method: Option<String>,
    segments: Vec<Segment>,
    target: T,
}

/// In the order of their priority.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Segment {
    Literal(String),
    Parameter(String),
    Greedy(String),
}

/// The route that matches a request.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Match<'a, T> {
    /// The route key, as in the template.
    pub route_key: &'a str,
    /// Path parameters, decoded.
    pub path_parameters: BTreeMap<String, String>,
    /// The target of the route.
    pub target: &'a T,
}

/// A route that cannot be served.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RouteError {
    /// The key is neither `METHOD /path` nor `$default`.
    #[error("`{0}` is not a route key: expected `METHOD /path`, `ANY /path` or `$default`")]
    Malformed(String),
    /// Two routes have the same key.
    #[error("two routes have the key `{0}`")]
    Duplicate(String),
}

/// The key of the route for requests that match no other route.
pub(crate) const DEFAULT: &str = "$default";

impl<T> Routes<T> {
    /// Sorts the routes by priority.
    ///
    /// # Errors
    /// [`RouteError`] for the first key that is malformed or appears twice.
    pub(crate) fn new(routes: impl IntoIterator<Item = (String, T)>) -> Result<Self, RouteError> {
        let mut ordered: Vec<Route<T>> = Vec::new();
        let mut default = None;
        for (key, target) in routes {
            if key == DEFAULT {
                if default.replace(target).is_some() {
                    return Err(RouteError::Duplicate(key));
                }
                continue;
            }
            let route = parse(key, target)?;
            if ordered.iter().any(|other| other.key == route.key) {
                return Err(RouteError::Duplicate(route.key));
            }
            ordered.push(route);
        }
        ordered.sort_by_key(|route| {
            let ranks: Vec<u8> = route.segments.iter().map(Segment::rank).collect();
            (ranks.contains(&2), ranks, route.method.is_none())
        });
        Ok(Self { routes: ordered, default })
    }

    /// The route for a request, without `$default`. `path` is as sent, percent-encoded.
    pub(crate) fn find(&self, method: &str, path: &str) -> Option<Match<'_, T>> {
        let segments: Vec<String> = path.strip_prefix('/').unwrap_or(path).split('/').map(decode).collect();
        self.routes.iter().find_map(|route| {
            if route.method.as_ref().is_some_and(|wanted| wanted != method) {
                return None;
            }
            let path_parameters = bind(&route.segments, &segments)?;
            Some(Match { route_key: &route.key, path_parameters, target: &route.target })
        })
    }

    /// `$default`.
    pub(crate) fn default_route(&self) -> Option<Match<'_, T>> {
        self.default.as_ref().map(|target| Match { route_key: DEFAULT, path_parameters: BTreeMap::new(), target })
    }
}

impl Segment {
    fn rank(&self) -> u8 {
        match self {
            Self::Literal(_) => 0,
            Self::Parameter(_) => 1,
            Self::Greedy(_) => 2,
        }
    }
}

/// Percent-decodes a segment of a path.
pub(crate) fn decode(part: &str) -> String {
    percent_decode_str(part).decode_utf8_lossy().into_owned()
}

fn parse<T>(key: String, target: T) -> Result<Route<T>, RouteError> {
    let Some((method, path)) = key.split_once(' ') else { return Err(RouteError::Malformed(key)) };
    let Some(path) = path.strip_prefix('/') else { return Err(RouteError::Malformed(key)) };
    let parameter = |segment: &str| segment.strip_prefix('{')?.strip_suffix('}').map(str::to_owned);
    let segments = path.split('/').map(|segment| match parameter(segment) {
        Some(name) => match name.strip_suffix('+') {
            Some(name) => Segment::Greedy(name.to_owned()),
            None => Segment::Parameter(name),
        },
        None => Segment::Literal(segment.to_owned()),
    });
    let (segments, method): (Vec<_>, _) = (segments.collect(), (method != "ANY").then(|| method.to_owned()));
    // A greedy variable takes the rest of the path, so no segment may follow it.
    let greedy_inside = segments.iter().rev().skip(1).any(|segment| matches!(segment, Segment::Greedy(_)));
    if greedy_inside || method.as_deref() == Some("") {
        return Err(RouteError::Malformed(key));
    }
    Ok(Route { key, method, segments, target })
}

fn bind(pattern: &[Segment], segments: &[String]) -> Option<BTreeMap<String, String>> {
    let mut parameters = BTreeMap::new();
    for (at, part) in pattern.iter().enumerate() {
        let segment = segments.get(at)?;
        match part {
            Segment::Literal(literal) if literal == segment => {}
            Segment::Parameter(name) if !segment.is_empty() => {
                parameters.insert(name.clone(), segment.clone());
            }
            Segment::Greedy(name) if !segments[at..].concat().is_empty() => {
                parameters.insert(name.clone(), segments[at..].join("/"));
                return Some(parameters);
            }
            _ => return None,
        }
    }
    (pattern.len() == segments.len()).then_some(parameters)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn routes(keys: &[&str]) -> Routes<()> {
        Routes::new(keys.iter().map(|key| ((*key).to_owned(), ()))).expect("valid routes")
    }

    #[test]
    fn the_most_specific_route_wins() {
        let routes = routes(&[
            "ANY /{proxy+}",
            "GET /pets/{proxy+}",
            "GET /pets/dog/{id}",
            "GET /pets/dog/1",
            "ANY /pets/dog/1",
            "GET /{kind}/{name}/{id}",
            "$default",
        ]);
        let cases = [
            ("GET", "/pets/dog/1", "GET /pets/dog/1"),
            ("PUT", "/pets/dog/1", "ANY /pets/dog/1"),
            ("GET", "/pets/dog/2", "GET /pets/dog/{id}"),
            ("GET", "/pets/cat/2", "GET /{kind}/{name}/{id}"),
            ("GET", "/pets/cat", "GET /pets/{proxy+}"),
            ("POST", "/test/5", "ANY /{proxy+}"),
        ];
        for (method, path, expected) in cases {
            assert_eq!(routes.find(method, path).map(|found| found.route_key), Some(expected), "{method} {path}");
        }
    }

    #[test]
    fn a_route_of_another_method_or_length_does_not_match() {
        let routes = routes(&["GET /stats/{day}", "GET /"]);
        for (method, path) in
            [("POST", "/stats/x"), ("GET", "/stats"), ("GET", "/stats/"), ("GET", "/stats/x/y"), ("GET", "/a")]
        {
            assert_eq!(routes.find(method, path), None, "{method} {path}");
        }
        assert!(routes.find("GET", "/").is_some());
    }

    #[test]
    fn path_parameters_are_decoded_and_greedy_ones_keep_their_slashes() {
        let routes = routes(&["GET /users/{userId}/clicks", "GET /files/{path+}"]);
        let found = routes.find("GET", "/users/%E8%89%AF%20a%2Fb/clicks").expect("a route");
        assert_eq!(found.path_parameters["userId"], "良 a/b");
        let found = routes.find("GET", "/files/a/b%20c").expect("a route");
        assert_eq!(found.path_parameters["path"], "a/b c");
        assert_eq!(routes.find("GET", "/files/"), None);
    }

    #[test]
    fn the_default_route_matches_last() {
        assert_eq!(routes(&["$default"]).find("GET", "/x"), None);
        assert_eq!(routes(&["$default"]).default_route().map(|found| found.route_key), Some("$default"));
        assert!(routes(&[]).default_route().is_none());
    }

    #[test]
    fn malformed_and_repeated_keys_are_rejected() {
        let refused = |keys: &[&str]| Routes::new(keys.iter().map(|key| ((*key).to_owned(), ()))).err();
        assert!(matches!(refused(&["GET"]), Some(RouteError::Malformed(_))));
        assert!(matches!(refused(&["GET x"]), Some(RouteError::Malformed(_))));
        assert!(matches!(refused(&["GET /{a+}/b"]), Some(RouteError::Malformed(_))));
        assert!(matches!(refused(&["GET /a", "GET /a"]), Some(RouteError::Duplicate(_))));
        assert!(matches!(refused(&["$default", "$default"]), Some(RouteError::Duplicate(_))));
    }
}
