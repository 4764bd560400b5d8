//! Tests of mappings of a small shop: two kinds of owners, lines that are gathered into their
//! order, and owners that only the parent knows.

use std::collections::BTreeMap;
use std::sync::Arc;

use aws_sdk_dynamodb::types::AttributeValue;
use jiff::tz::TimeZone;

use super::related::Similar;
use super::*;
use crate::item::{Item, Key, read_line};
use crate::row::Row;

const SHOP: &str = r##"
[target]
key = ["PK", "SK"]
owner = "Owner"
updated_at = "Changed"
ttl = "TTL"

[parameters.zone]
kind = "zone"
about = "The zone of the shop."

[owners.customer]
table = "customers"
prefix = "customer/"
partitions = ["CUSTOMER#{$owner}"]

[owners.product]
table = "products"
prefix = "product/"

[tables.customers]
owner = { kind = "customer", column = "id" }
secret = ["phone"]
[tables.customers.columns]
id = "integer"
name = { type = "text", names = ["full_name", "name"] }
city = "text?"
phone = "text"
blocked = "boolean"
[[tables.customers.reject]]
reason = "blocked"
when = "blocked"
expected = true
[[tables.customers.items]]
type = "customer"
key = { PK = "CUSTOMER#{$owner}", SK = "PROFILE" }
attributes = { Name = "{name | trim}", City = "{city}", Phone = "{phone}" }

[tables.products]
owner = { kind = "product", column = "id" }
columns = { id = "key", price = "number" }
[[tables.products.items]]
type = "product"
key = { PK = "PRODUCT#{id}", SK = "PRODUCT" }
attributes = { Price = "{price}", Half = 0.5, IsOnSale = true }

[tables.orders]
owner = { kind = "customer", column = "customer_id" }
version = "placed"
[tables.orders.columns]
id = "integer"
customer_id = "integer"
placed_at = "time"
state = "text"
note = "json"
[tables.orders.joins.lines]
table = "order_lines"
on = { order_id = "id" }
order = ["line_no"]
[tables.orders.values]
placed = "placed_at | required | instant"
day = "placed | date($zone)"
[[tables.orders.items]]
type = "order"
key = { PK = "CUSTOMER#{$owner}", SK = "ORDER#{day}#{id | pad(8)}" }
when = "state not in ('draft', 'deleted')"
[tables.orders.items.attributes]
State = "{state | map('new', 'OPEN', 'paid', 'PAID')}"
Changed = "{placed}"
Customer = "{$owner.name}"
Gift = { value = "{note | get('/gift')}", on_error = "leave-out" }
Lines = { each = "lines", attributes = { Product = "{product_id | text}", Quantity = "{quantity}" } }

[tables.order_lines]
key = ["order_id", "line_no"]
owner = { kind = "customer", column = "order_id", through = "orders" }
columns = { order_id = "integer", line_no = "integer", product_id = "key", quantity = "integer" }

[[markers]]
marker = "phone"
of = "customer"
key = { PK = "PHONE#{Phone}", SK = "PHONE" }
leads_to = { PK = "CUSTOMER#{Owner}", SK = "PROFILE" }

[parameters.key]
kind = "secret"
about = "The key."
optional = true
"##;

fn world() -> World {
    let mapping = Arc::new(Mapping::read(SHOP, &[]).unwrap());
    let texts = [("zone".to_owned(), "Asia/Tokyo".to_owned())].into();
    let as_of = "2026-01-01T00:00:00Z".parse().unwrap();
    World::new(mapping, None, ("run", as_of), TimeZone::UTC, Parameters { texts, ..Parameters::default() })
}

fn row(world: &World, table: &str, json: &str) -> Row {
    world.mapping.row(table, json).unwrap()
}

/// The items of a row, as lines of JSON, and what is left out.
fn items(world: &World, row: &Row, owner: Option<&Row>) -> Result<(Vec<Item>, Vec<String>), String> {
    let owner = owner.map(|owner| world.owner(owner));
    let made = world.items(row, owner.as_ref()).map_err(|reject| reject.reason.to_string())?;
    Ok((made.items, made.left_out.into_iter().map(|reject| reject.reason.to_string()).collect()))
}

const ANN: &str = r#"{"id":7,"full_name":" Ann ","phone":"1","blocked":false}"#;

#[test]
fn order_and_its_lines_become_one_customer_item() {
    let world = world();
    let ann = row(&world, "customers", ANN);
    let order = r#"{"id":12,"customer_id":7,"placed_at":"2025-03-01T15:00:00","state":"paid","note":{"gift":true},
        "lines":[{"order_id":12,"line_no":1,"product_id":"p1","quantity":2},{"order_id":12,"line_no":2,"product_id":"p2","quantity":1}]}"#;
    let order = row(&world, "orders", order);
    let (made, left_out) = items(&world, &order, Some(&ann)).unwrap();
    let expected = r#"{"PK":{"S":"CUSTOMER#customer/7"},"SK":{"S":"ORDER#2025-03-02#00000012"},"Type":{"S":"order"},"Owner":{"S":"customer/7"},
        "State":{"S":"PAID"},"Changed":{"S":"2025-03-01T15:00:00Z"},"Customer":{"S":" Ann "},"Gift":{"BOOL":true},
        "Lines":{"L":[{"M":{"Product":{"S":"p1"},"Quantity":{"N":"2"}}},{"M":{"Product":{"S":"p2"},"Quantity":{"N":"1"}}}]},
        "MigratedUpdatedAt":{"S":"2025-03-01T15:00:00Z"},"MigratedVersion":{"N":"1740841200000000"},"MigratedBy":{"S":"run"}}"#;
    assert_eq!(made[0].attributes, read_line(expected).unwrap());
    assert_eq!(read_line(&made[0].line()).unwrap(), made[0].attributes);
    assert!(made[0].is_own && left_out.is_empty());
    assert_eq!(world.keys(&order, Some(&ann)), [(made[0].key.clone(), true)]);
    assert_eq!(world.partitions("customer/7"), ["CUSTOMER#customer/7"]);
}

#[test]
fn padded_whole_number_keys_are_told_apart() {
    let world = world();
    assert!(world.mapping.table("orders").unwrap().similar().is_empty());
}

#[test]
fn a_key_says_which_rows_may_have_it() {
    let world = world();
    let with_key = |sort: &str| {
        let key = Key { partition: "CUSTOMER#customer/7".to_owned(), sort: sort.to_owned() };
        world.mapping.table("orders").unwrap().with_key(0, &key)
    };
    let placed = (Similar::Near("placed_at".to_owned()), "2025-03-02".to_owned());
    let id = (Similar::Text("id".to_owned()), "00000012".to_owned());
    assert_eq!(with_key("ORDER#2025-03-02#00000012"), Some(vec![placed, id]));
    // The day or the number may have the third `#`, and the key of a profile is no order's.
    assert_eq!(with_key("ORDER#2025-03-02#1#2"), Some(vec![]));
    assert_eq!(with_key("PROFILE"), None);
}

#[test]
fn owners_own_row_keeps_its_key_against_later_rows() {
    let world = world();
    let ann = row(&world, "customers", ANN);
    let order = r#"{"id":1,"customer_id":7,"placed_at":"2030-01-01T00:00:00","state":"new"}"#;
    let [of_ann, of_order] =
        [&ann, &row(&world, "orders", order)].map(|row| items(&world, row, Some(&ann)).unwrap().0.remove(0));
    assert!(of_ann.version < of_order.version && of_ann.rank > of_order.rank);
}

#[test]
fn mapping_leaves_out_or_rejects_a_row_as_configured() {
    let world = world();
    let ann = row(&world, "customers", ANN);
    let order = |more: &str| row(&world, "orders", &format!(r#"{{"id":1,"customer_id":7,{more}}}"#));
    let at = r#""placed_at":"2025-03-01T15:00:00""#;
    let of = |more: &str| items(&world, &order(more), Some(&ann)).map(|(items, left_out)| (items.len(), left_out));
    assert_eq!(of(&format!(r#"{at},"state":"draft""#)), Ok((0, vec![])));
    assert_eq!(of(&format!(r#"{at},"state":"odd""#)), Err("unknown-value".to_owned()));
    assert_eq!(of(r#""placed_at":null,"state":"new""#), Err("missing-value".to_owned()));
    assert_eq!(of(&format!(r#"{at},"state":"new","note":"{{""#)), Ok((1, vec!["unreadable-json".to_owned()])));
    let paid = order(&format!(r#"{at},"state":"paid""#));
    assert_eq!(items(&world, &paid, None), Err("orphan".to_owned()));
    let blocked = row(&world, "customers", &ANN.replace("false", "true"));
    assert_eq!(items(&world, &paid, Some(&blocked)), Err("blocked".to_owned()));
    assert!(world.is_expected("customers", "blocked") && !world.is_expected("orders", "duplicate"));
    let facts = |row: &Row| world.owner_facts(Some(row));
    assert_eq!(facts(&blocked), None);
    assert_ne!(facts(&ann), facts(&row(&world, "customers", &ANN.replace(" Ann ", "Bo"))));
    assert_eq!(facts(&ann), facts(&row(&world, "customers", &ANN.replace("\"1\"", "\"2\""))));
}

#[test]
fn ids_of_two_kinds_of_owners_differ() {
    let world = world();
    let owner = |table: &str, json: &str| row(&world, table, json).owner;
    assert_eq!(owner("customers", ANN), Some("customer/7".to_owned()));
    assert_eq!(owner("products", r#"{"id":"7","price":1.50}"#), Some("product/7".to_owned()));
    assert_eq!(owner("order_lines", r#"{"order_id":1,"line_no":2,"$owner":"7"}"#), Some("customer/7".to_owned()));
    assert_eq!(row(&world, "order_lines", r#"{"order_id":1,"line_no":2}"#).id(), "1/2");
    let product = row(&world, "products", r#"{"id":"7","price":1234567890123456789.10}"#);
    let (made, _) = items(&world, &product, Some(&product)).unwrap();
    let numbers: BTreeMap<_, _> = made[0]
        .attributes
        .iter()
        .filter_map(|(name, value)| Some((name.as_str(), value.as_n().ok()?.as_str())))
        .collect();
    assert_eq!((numbers["Price"], numbers["Half"]), ("1234567890123456789.1", "0.5"));
    assert_eq!(world.mapping.kind_of("product/7"), Some(1));
}

#[test]
fn every_error_of_a_file_is_shown_with_its_place() {
    let errors = |from: &str, to: &str| {
        assert!(SHOP.contains(from), "{from}");
        Mapping::read(&SHOP.replacen(from, to, 1), &[]).unwrap_err().to_string()
    };
    for (from, to, expected) in [
        (
            "{name | trim}",
            "{nam | trim}",
            "line 37, column 25: there is no column and no value \"nam\" before this one",
        ),
        ("{name | trim}", "{name | trin}", "line 37, column 32: there is no conversion \"trin\""),
        ("name | trim", "$key", "line 37, column 25: $key is a secret, which only an extension reads"),
        ("name | trim", "name | encrypt($key)", "line 37, column 32: `encrypt` is gone"),
        ("pad(8)", "pad", "line 65, column 59: `pad` takes another number of arguments than 0"),
        ("$zone", "$zones", "line 62, column 22: there is no parameter \"zones\""),
        (
            "day = \"placed | date($zone)\"",
            "day = \"placed > placed_at\"",
            "line 62, column 8: an instant is compared with a text; convert one of them",
        ),
        (
            "kind = \"product\", column",
            "kind = \"products\", column",
            "line 40, column 18: there is no owner \"products\"",
        ),
        (
            "PHONE#{Phone}",
            "PHONE#{Mobile}",
            "line 82, column 7: no item of the type \"customer\" has the attribute \"Mobile\"",
        ),
        ("price = \"number\"", "price = \"decimal\"", "line 41, column 33: \"decimal\" is not a type"),
        ("SK = \"PRODUCT\"", "Sort = \"PRODUCT\"", "line 44, column 7: a key has PK and SK, like `target.key`"),
        (
            "prefix = \"product/\"",
            "",
            "line 17, column 9: with several kinds of owners, each needs a `prefix` of its own",
        ),
        ("each = \"lines\"", "each = \"line\"", "line 72, column 18: there is no join \"line\""),
        (
            "order = [\"line_no\"]",
            "order = [\"number\"]",
            "line 59, column 10: \"order_lines\" has no column \"number\"",
        ),
        ("joins.lines]", "joins.state]", "line 56, column 22: \"state\" is also the name of a column"),
        ("through = \"orders\"", "through = \"order\"", "there is no table \"order\" with an owner"),
        ("owner = \"Owner\"", "owners = \"Owner\"", "line 4, column 1: unknown field `owners`"),
        (
            "CUSTOMER#{$owner}\", SK = \"PROFILE",
            "CITY#{city}\", SK = \"PROFILE\" }\non_conflict = \"reject-row\" #",
            "line 36, column 7: other owners may want this key",
        ),
        ("City = \"{city}\"", "Type = \"{city}\"", "line 37, column 47: Type is made by the tool"),
    ] {
        let found = errors(from, to);
        assert!(
            found.starts_with(expected) || (expected.starts_with("there") && found.contains(expected)),
            "{to}: {found}"
        );
    }
    let several = Mapping::read(&SHOP.replace("| trim", "| trin").replace("$zone", "$zones"), &[]).unwrap_err();
    assert_eq!(several.0.len(), 2);
}

#[test]
fn joined_json_string_stays_a_string() {
    let mapping = SHOP.replace("{product_id | text}", "{product_id | json}");
    let mut world = world();
    world.mapping = Arc::new(Mapping::read(&mapping, &[]).unwrap());
    world.json_columns = [("order_lines".to_owned(), ["product_id".to_owned()].into())].into();
    let order = r#"{"id":12,"customer_id":7,"placed_at":"2025-03-01T15:00:00","state":"paid","note":null,
        "lines":[{"order_id":12,"line_no":1,"product_id":"5","quantity":2}]}"#;
    let ann = row(&world, "customers", ANN);
    let (made, _) = items(&world, &row(&world, "orders", order), Some(&ann)).unwrap();
    let AttributeValue::L(lines) = &made[0].attributes["Lines"] else { panic!("{made:?}") };
    assert_eq!(lines[0].as_m().unwrap()["Product"], AttributeValue::S("5".to_owned()));
}

#[test]
fn documented_value_for_infinity_is_an_instant() {
    let page = include_str!("../../../../../docs/mapping.md");
    let at = page.find("infinity('").unwrap();
    let example = &page[at..at + page[at..].find('`').unwrap()];
    let mapping = SHOP.replace("placed_at | required | instant", &format!("placed_at | {example} | instant"));
    let mut world = world();
    world.mapping = Arc::new(Mapping::read(&mapping, &[]).unwrap());
    for (time, instant) in [("infinity", "9999-12-30T00:00:00Z"), ("-infinity", "0001-01-01T00:00:00Z")] {
        let row = row(&world, "orders", &format!(r#"{{"placed_at": "{time}"}}"#));
        let evaluation = evaluate::Evaluation::of_table(&world, &row.table, &row.columns);
        let placed = evaluation.value(&code::Code::Named(0)).unwrap();
        assert_eq!(placed, value::Value::Instant(instant.parse().unwrap()));
    }
}

fn any() -> names::Scope<'static> {
    names::Scope::new(&names::AnyName, &[], &[])
}

#[test]
fn operators_bind_as_in_sql() {
    let (world, row) = (world(), serde_json::from_str(r#"{"a":1,"b":null,"c":"y'z","n":-3,"odd name":"x"}"#).unwrap());
    let evaluation = evaluate::Evaluation::new(&world, &[], &row);
    for (text, expected) in [
        ("'XY' | lower | length", "2"),
        ("a ?? b | pad(3)", "1"),
        ("(b ?? a) | pad(3)", "001"),
        ("not a = 2 or b is null and c in ('x')", "true"),
        ("not a = 1 or b is null and c in ('x', 'y''z')", "true"),
        ("a = 1 and not (n > -3) and c not in ('x') and b is not null", "false"),
        ("\"odd name\" <> 'y'", "true"),
        ("b = null", "false"),
    ] {
        let value = evaluation.value(&any().expression(text).unwrap()).unwrap();
        assert_eq!(value.text().unwrap(), expected, "{text}");
    }
    for (text, expected) in [("ORDER#{a | pad(4)}#{{x}}", "ORDER#0001#{x}"), ("{b | default('}')}", "}"), ("", "")] {
        assert_eq!(evaluation.template(&any().template(text).unwrap()).unwrap().text().unwrap(), expected, "{text}");
    }
}

#[test]
fn an_error_of_syntax_has_its_place() {
    for (text, at, why) in [
        ("a = ", 4, "expected a column or a value here"),
        ("a b", 2, "unexpected \"b\""),
        ("a | 'x'", 4, "expected a name here"),
        ("a is 3", 5, "expected \"null\" here"),
        ("'x", 0, "' is not closed"),
        ("a ; b", 2, "unexpected character ';'"),
        ("f | g(1", 7, "expected \")\" here"),
        (&"(".repeat(100), 32, "too many parentheses"),
    ] {
        let found = any().expression(text).unwrap_err();
        assert_eq!((found.at, &*found.why), (at, why), "{text}");
    }
    assert_eq!(any().template("A#{b").unwrap_err().at, 2);
    assert_eq!(any().template("é#{b c}").unwrap_err().at, 6);
}
