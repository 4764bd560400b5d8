//! Reads `docs/openapi.yaml`, and finds the schema of an answer.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::fs::read_to_string;
use std::rc::Rc;

use jsonschema::Validator;
use serde_json::{Value, json};
use tests::repository;

pub(crate) const JSON: &str = "application/json";
pub(crate) const PROBLEM: &str = "application/problem+json";

/// One documented answer: route key, status, media type.
pub(crate) type Answered = (String, u16, String);

/// The document.
pub(crate) struct Document {
    pub(crate) root: Value,
    /// By their schemas. To build one takes as long as a request.
    validators: RefCell<BTreeMap<String, Rc<Validator>>>,
}

impl Document {
    /// As it stands in the repository.
    pub(crate) fn read() -> Self {
        let text = read_to_string(repository().join("docs/openapi.yaml")).unwrap();
        Self { root: serde_saphyr::from_str(&text).unwrap(), validators: RefCell::default() }
    }

    /// With the schema of every object closed, so that a member that the document does not name is
    /// noticed. Clients are not asked to look so closely.
    pub(crate) fn closed() -> Self {
        let mut document = Self::read();
        close(&mut document.root);
        document
    }

    /// What a `$ref` points to; other values are themselves.
    pub(crate) fn resolve<'a>(&'a self, value: &'a Value) -> &'a Value {
        match value["$ref"].as_str() {
            Some(target) => self.root.pointer(target.trim_start_matches('#')).unwrap_or_else(|| panic!("no {target}")),
            None => value,
        }
    }

    /// The operations by API Gateway's route key.
    pub(crate) fn operations(&self) -> BTreeMap<String, &Value> {
        let paths = self.root["paths"].as_object().unwrap().iter();
        let operations = paths.flat_map(|(path, item)| {
            let item = item.as_object().unwrap().iter();
            item.map(move |(method, operation)| match method.as_str() {
                "x-amazon-apigateway-any-method" => (path.trim_start_matches('/').to_owned(), operation),
                _ => (format!("{} {path}", method.to_uppercase()), operation),
            })
        });
        operations.collect()
    }

    /// The parameters of an operation.
    pub(crate) fn parameters<'a>(&'a self, operation: &'a Value) -> impl Iterator<Item = &'a Value> {
        operation["parameters"].as_array().into_iter().flatten().map(|parameter| self.resolve(parameter))
    }

    /// The answer of an operation with some status.
    pub(crate) fn response<'a>(&'a self, operation: &'a Value, status: u16) -> &'a Value {
        self.resolve(&operation["responses"][status.to_string()])
    }

    /// Each documented answer, and the schema of its body.
    pub(crate) fn answers(&self) -> BTreeMap<Answered, &Value> {
        let mut answers = BTreeMap::new();
        for (route, operation) in self.operations() {
            for status in operation["responses"].as_object().unwrap().keys() {
                let status = status.parse().unwrap();
                let response = self.response(operation, status);
                for (media, content) in response["content"].as_object().into_iter().flatten() {
                    answers.insert((route.clone(), status, media.clone()), &content["schema"]);
                }
                if response["content"].is_null() {
                    // Without a body there is no media type, and nothing that a schema could say.
                    answers.insert((route.clone(), status, String::new()), &response["content"]);
                }
            }
        }
        answers
    }

    /// A validator of one of the document's schemas.
    pub(crate) fn validator(&self, schema: &Value) -> Rc<Validator> {
        let build = || {
            let mut schema = schema.clone();
            // Where the references of the schema lead to.
            schema["components"] = self.root["components"].clone();
            Rc::new(jsonschema::draft202012::options().should_validate_formats(true).build(&schema).unwrap())
        };
        Rc::clone(self.validators.borrow_mut().entry(schema.to_string()).or_insert_with(build))
    }

    /// What an answer is called here, once it is found to be as it is documented.
    pub(crate) fn check(&self, route: &str, status: u16, content_type: &str, body: &Value) -> Answered {
        let media = content_type.split(';').next().unwrap().to_owned();
        let answered = (route.to_owned(), status, media);
        let answers = self.answers();
        let schema = answers.get(&answered).unwrap_or_else(|| panic!("{answered:?} is not documented: {body}"));
        let errors: Vec<_> = self.validator(schema).iter_errors(body).map(|error| error.to_string()).collect();
        assert!(errors.is_empty(), "{answered:?}: {body}: {errors:?}");
        answered
    }
}

fn close(schema: &mut Value) {
    match schema {
        Value::Object(members) => {
            members.values_mut().for_each(close);
            if members.get("properties").is_some_and(Value::is_object) {
                members.insert("unevaluatedProperties".to_owned(), json!(false));
            }
        }
        Value::Array(items) => items.iter_mut().for_each(close),
        _ => {}
    }
}
