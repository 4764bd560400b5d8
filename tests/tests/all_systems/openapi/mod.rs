//! Compares `docs/openapi.yaml` with the suite in both directions: routes with the template,
//! problems with the code and their table, schemas with the sample events, their recorded answers,
//! and the running stack.

mod document;
mod recorded;
mod walk;

use std::collections::BTreeSet;
use std::fs::read_to_string;
use std::path::Path;

use domain::ShortText;
use domain::UserId;
use domain::calendar::{RANGE_DAYS_MAX, RANGE_MONTHS_MAX};
use domain::clicks::ClickCount;
use domain::game::{CUSTOM_WORDS_MAX, Hiragana, Language, Latin, PlayerName};
use domain::journal::{JournalStream, Message};
use domain::okusuri::{
    Flow, Note, SNOOZE_MINUTES_MAX, SUBSCRIPTIONS_MAX, Symptom, TIMES_MAX, UNITS_MAX, WARN_DAYS_MAX,
};
use domain::shop::{Amount, HoldTime, OrderLines, Quantity, StockLevel};
use lambda_kit::push::ENDPOINT_BYTES_MAX;
use regex_lite::Regex;
use serde_json::{Value, json};
use shop_store::ActivityStatistics;
use tests::repository;

pub(crate) use document::Document;
use document::PROBLEM;
use recorded::{Recorded, recorded, template_routes};

const TYPE_PREFIX: &str = "urn:tidemark:problem:";

/// Sample events that are refused as a whole, while each part is as the schema says.
const REFUSED_BEYOND_SCHEMAS: &[&str] = &[
    "range-upside-down",
    "range-too-long",
    "statistics-range-upside-down",
    "statistics-range-too-long",
    "months-too-many",
    "hours-too-many",
    "weeks-too-many",
    // Depends on the day of the request.
    "dose-mark-snoozed-too-late",
    // The other member allows it or not.
    "log-put-flow-without-bleeding",
    // Not each year has a week 53.
    "week-that-does-not-exist",
    "list-range-empty",
    "list-range-upside-down",
    // A sum over several members.
    "attributes-too-large",
    // A letter that leaves no ink.
    "create-name-that-cannot-be-seen",
    // A schema counts code points, the server counts letters with their marks.
    "create-name-too-long",
    // Enough for a list, and too few for the settings.
    "create-words-too-few",
    "ledger-day-and-range",
    "ledger-range-empty",
    "ledger-range-upside-down",
    "of-user-range-empty",
    "of-user-range-upside-down",
    "of-product-range-too-long",
    "prices-day-and-range",
    "prices-range-empty",
    "prices-range-upside-down",
    "summary-at-a-moment-to-come",
    // Only the table knows that the product is new.
    "put-price-missing",
    // The header or the order may name it.
    "move-key-missing",
    "logs-range-upside-down",
    "medicine-add-until-before-from",
    // A schema does not look into CSV.
    "import-heading-missing",
    // A schema does not know whose network an address lies in.
    "subscription-add-endpoint-private",
];

/// Problems of a single part of a request, which a schema can express too.
const PROBLEMS_OF_SHAPE: &[&str] = &[
    "invalid-body",
    "invalid-user-id",
    "invalid-click-count",
    "invalid-target",
    "invalid-idempotency-key",
    "invalid-parameter",
    "invalid-name",
    "invalid-settings",
    "invalid-words",
    "invalid-role",
    "invalid-entry",
    "invalid-quantity",
    "too-many-activities",
    "invalid-action",
    "invalid-product-id",
    "invalid-attributes",
    "invalid-time",
    "invalid-activity-id",
    "invalid-price",
    "invalid-currency",
    "missing-idempotency-key",
    "invalid-email",
    "invalid-endpoint",
];

/// Every `.rs` file under a folder.
fn sources(folder: &Path, found: &mut String) {
    for entry in folder.read_dir().unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            sources(&path, found);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            found.push_str(&read_to_string(path).unwrap());
        }
    }
}

#[test]
fn each_route_is_documented_and_each_documented_route_is_one() {
    let routes: BTreeSet<_> = template_routes().into_values().flatten().collect();
    assert_eq!(Document::read().operations().into_keys().collect::<BTreeSet<_>>(), routes);
}

#[test]
fn problems_are_the_same_in_openapi_docs_and_code() {
    let mut code = String::new();
    sources(&repository().join("crates/lambda-kit/src"), &mut code);
    sources(&repository().join("crates/functions"), &mut code);
    code += &read_to_string(repository().join("crates/game-room/src/protocol/shared_problem.rs")).unwrap();
    let pairs = |pattern: &str, text: &str| -> Vec<(String, String)> {
        let pattern = Regex::new(pattern).unwrap();
        pattern.captures_iter(text).map(|found| (found["name"].to_owned(), found["status"].to_owned())).collect()
    };
    let in_code = pairs(r#"Problem::new\(\s*(?<status>\d{3}),\s*"(?<name>[a-z-]+)""#, &code);
    assert_eq!(in_code.len(), code.matches("Problem::new(").count(), "a problem is spelled in a way unknown here");
    let in_code = BTreeSet::from_iter(in_code);

    let table = read_to_string(repository().join("docs/problems.md")).unwrap();
    let in_table = BTreeSet::from_iter(pairs(r"(?m)^\| `(?<name>[a-z-]+)` \| (?<status>\d{3}) \|", &table));
    assert_eq!(in_table, in_code, "docs/problems.md, and the code");

    let document = Document::read();
    let mut in_document = BTreeSet::new();
    for ((route, status, media), schema) in document.answers() {
        if media == PROBLEM {
            assert_eq!(schema["properties"]["status"]["const"], status, "{route}");
            let types = schema["properties"]["type"]["enum"].as_array().unwrap().iter();
            let names = types.map(|name| name.as_str().unwrap().strip_prefix(TYPE_PREFIX).unwrap().to_owned());
            in_document.extend(names.map(|name| (name, status.to_string())));
        }
    }
    assert_eq!(in_document, in_code, "docs/openapi.yaml, and the code");
    let of_one_of_several = ["ClickProblem", "ActivityProblem"].into_iter().flat_map(|schema| {
        document.root["components"]["schemas"][schema]["properties"]["type"]["enum"].as_array().unwrap()
    });
    for name in of_one_of_several {
        let name = name.as_str().unwrap().strip_prefix(TYPE_PREFIX).unwrap();
        assert!(in_code.iter().any(|(known, _)| known == name), "{name} is no problem of the code");
    }
}

#[test]
fn a_route_is_secured_where_it_may_refuse_a_token() {
    let document = Document::read();
    for (route, operation) in document.operations() {
        let secured = operation["security"].as_array().is_some_and(|schemes| !schemes.is_empty());
        assert_eq!(secured, operation["responses"]["401"].is_object(), "{route}");
    }
}

#[test]
fn whatever_changes_something_of_okusuri_may_refuse_another_site() {
    for (route, operation) in Document::read().operations() {
        let changes = route.contains(" /okusuri/") && !route.starts_with("GET ");
        assert!(!changes || operation["responses"]["403"].is_object(), "{route}");
    }
}

#[test]
fn the_limits_are_those_of_the_code() {
    let limits = [
        ("schemas/UserId/maxLength", json!(UserId::CHARS_MAX)),
        ("schemas/ClickCount/maximum", json!(ClickCount::MAX)),
        ("schemas/ClickCount/default", json!(ClickCount::default().get())),
        ("schemas/NewClicks/properties/clicks/maxItems", json!(click_writer::CLICKS_MAX)),
        ("schemas/ClickOutcomes/properties/items/maxItems", json!(click_writer::CLICKS_MAX)),
        ("schemas/Days/properties/items/maxItems", json!(RANGE_DAYS_MAX)),
        ("schemas/Months/properties/items/maxItems", json!(RANGE_MONTHS_MAX)),
        ("schemas/ClickPage/properties/items/maxItems", json!(stats_reader::LIMIT_MAX)),
        ("parameters/Limit/schema/maximum", json!(stats_reader::LIMIT_MAX)),
        ("parameters/Limit/schema/default", json!(stats_reader::LIMIT_DEFAULT)),
        ("schemas/Message/maxLength", json!(Message::CHARS_MAX)),
        ("schemas/EntryPage/properties/items/maxItems", json!(journal::LIMIT_MAX)),
        ("parameters/EntriesLimit/schema/maximum", json!(journal::LIMIT_MAX)),
        ("parameters/EntriesLimit/schema/default", json!(journal::LIMIT_DEFAULT)),
        ("parameters/Stream/schema/pattern", json!(format!("^[a-z0-9-]{{1,{}}}$", JournalStream::CHARS_MAX))),
        ("schemas/ActivityOutcomes/properties/items/maxItems", json!(activity_log::ACTIVITIES_MAX)),
        ("schemas/ActivityPage/properties/items/maxItems", json!(activity_log::LIMIT_MAX)),
        ("schemas/ProductDays/properties/items/maxItems", json!(RANGE_DAYS_MAX)),
        ("schemas/TopProducts/properties/items/maxItems", json!(ActivityStatistics::TOP_MAX)),
        ("parameters/ActivitiesLimit/schema/maximum", json!(activity_log::LIMIT_MAX)),
        ("parameters/ActivitiesLimit/schema/default", json!(activity_log::LIMIT_DEFAULT)),
        ("parameters/GamesLimit/schema/maximum", json!(game_store::GAMES_MAX)),
        ("parameters/LinesLimit/schema/maximum", json!(game_api::LINES_MAX)),
        ("schemas/PlayerName/maxLength", json!(PlayerName::CODE_POINTS_MAX)),
        ("schemas/Hiragana/maxLength", json!(Hiragana::CHARS_MAX)),
        ("schemas/Latin/maxLength", json!(Latin::CHARS_MAX)),
        ("schemas/WordLanguage/enum", json!(Language::ALL.map(Language::code))),
        ("schemas/NewGame/properties/words/maxItems", json!(CUSTOM_WORDS_MAX)),
        ("schemas/Quantity/maximum", json!(Quantity::MAX)),
        ("schemas/Price/maximum", json!(Amount::MAX)),
        ("schemas/Stock/maximum", json!(StockLevel::MAX)),
        ("schemas/ShortText/maxLength", json!(ShortText::CHARS_MAX)),
        ("schemas/NewReservation/properties/expiresInSeconds/maximum", json!(HoldTime::SECONDS_MAX)),
        ("schemas/NewReservation/properties/expiresInSeconds/default", json!(HoldTime::default().duration().as_secs())),
        ("schemas/NewOrder/properties/expiresInSeconds/maximum", json!(HoldTime::SECONDS_MAX)),
        ("schemas/NewOrder/properties/expiresInSeconds/default", json!(HoldTime::default().duration().as_secs())),
        ("schemas/NewOrder/properties/lines/maxItems", json!(OrderLines::MAX)),
        ("parameters/RowsLimit/schema/maximum", json!(inventory_log::LIMIT_MAX)),
        ("parameters/RowsLimit/schema/default", json!(inventory_log::LIMIT_DEFAULT)),
        ("schemas/PriceRows/properties/items/maxItems", json!(price_history::LIMIT_MAX)),
        ("schemas/ListedProducts/properties/items/maxItems", json!(price_history::LIMIT_MAX)),
        ("parameters/RowsLimit/schema/default", json!(price_history::LIMIT_DEFAULT)),
        ("schemas/LogNote/maxLength", json!(Note::CHARS_MAX)),
        ("schemas/Medicine/properties/times/maxItems", json!(TIMES_MAX)),
        ("schemas/Units/maximum", json!(UNITS_MAX)),
        ("schemas/MedicineStock/properties/warnDays/maximum", json!(WARN_DAYS_MAX)),
        ("schemas/DoseMark/properties/minutes/maximum", json!(SNOOZE_MINUTES_MAX)),
        ("schemas/NewSubscription/properties/endpoint/maxLength", json!(ENDPOINT_BYTES_MAX)),
        ("schemas/Flow/enum", json!(Flow::NAMES)),
        ("schemas/Symptoms/items/enum", json!(Symptom::NAMES)),
        ("schemas/Symptoms/maxItems", json!(Symptom::NAMES.len())),
        ("schemas/Notifications/properties/subscriptions/maxItems", json!(SUBSCRIPTIONS_MAX)),
        ("schemas/TestedSubscriptions/properties/items/maxItems", json!(SUBSCRIPTIONS_MAX)),
    ];
    let document = Document::read();
    for (limit, expected) in limits {
        assert_eq!(document.root.pointer(&format!("/components/{limit}")), Some(&expected), "{limit}");
    }
}

#[test]
fn openapi_schemas_refuse_exactly_the_malformed_requests() {
    let document = Document::read();
    for event in recorded() {
        let Recorded { case, route, answer, .. } = &event;
        if route == "$default" {
            continue;
        }
        let one_problem = answer["body"]["type"].as_str();
        let items = answer["body"]["items"].as_array().into_iter().flatten();
        let problems = items.filter_map(|item| item["problem"]["type"].as_str()).chain(one_problem);
        // A movement of goods has a `type` too.
        let problems: Vec<_> = problems.filter_map(|name| name.strip_prefix(TYPE_PREFIX)).collect();
        let malformed = problems.iter().any(|name| PROBLEMS_OF_SHAPE.contains(name));
        // OpenAPI cannot say that there are no other parameters.
        let is_beyond = case.ends_with("-parameter-unknown") || REFUSED_BEYOND_SCHEMAS.contains(&case.as_str());
        let expected = !malformed || is_beyond;
        assert_eq!(event.is_taken(&document), expected, "{route}, {case}: {problems:?}");
    }
}

#[test]
fn each_example_is_as_its_schema_says() {
    fn examples<'a>(value: &'a Value, found: &mut Vec<(&'a Value, &'a Value)>) {
        if let Value::Object(members) = value {
            let parameter = members.get("example").map(|example| (&value["schema"], example));
            let media = members.get("examples").and_then(Value::as_object).into_iter().flat_map(|named| named.values());
            let media = media.filter_map(|named| Some((&value["schema"], named.get("value")?)));
            let schema = members.get("examples").and_then(Value::as_array).into_iter().flatten();
            found.extend(parameter.into_iter().chain(media).chain(schema.map(|example| (value, example))));
            members.values().for_each(|member| examples(member, found));
        } else if let Value::Array(items) = value {
            items.iter().for_each(|item| examples(item, found));
        }
    }
    let document = Document::read();
    let mut found = Vec::new();
    examples(&document.root, &mut found);
    assert!(found.len() > 20, "only {} examples were found", found.len());
    for (schema, example) in found {
        assert!(document.validator(schema).is_valid(example), "{example} is not as {schema} says");
    }
}

#[test]
fn each_route_is_served_under_the_pages_address() {
    let template = std::fs::read_to_string(repository().join("template.yaml")).unwrap();
    let (_, behaviors) = template.split_once("CacheBehaviors:\n").unwrap();
    let (behaviors, _) = behaviors.split_once("\n\n").unwrap();
    let behaviors: Vec<_> = behaviors.split("- { PathPattern: ").skip(1).collect();
    for route in template_routes().into_values().flatten() {
        let Some((method, path)) = route.split_once(' ') else { continue };
        // CloudFront takes the first that matches.
        let behavior = behaviors.iter().find(|behavior| {
            let (pattern, _) = behavior.split_once(',').unwrap();
            pattern.strip_suffix('*').map_or(path == pattern, |start| path.starts_with(start))
        });
        let takes = |behavior: &&str| method == "GET" || behavior.contains("AllowedMethods: [GET, HEAD, OPTIONS, PUT,");
        assert!(behavior.is_some_and(takes), "{route}");
    }
}
