//! The books, looked at by somebody who reads the table's items as they lie there and knows nothing
//! of the store.

use std::collections::BTreeMap;
use std::rc::Rc;

use anyhow::Context;
use jiff::{SignedDuration, Timestamp};
use serde_json::Value;

use super::sweeper::items;
use super::world::Answer;
use super::world::{Call, PRODUCT, PRODUCTS, World, now};
use super::writer::{Asked, COMMIT, COMMIT_ORDER, MOVE, ORDER, PRICE, RELEASE, RELEASE_ORDER, RESERVE, Writer};

/// The window of the lowest price.
const WINDOW: SignedDuration = SignedDuration::from_hours(30 * 24);

/// Judges a history; gives the number of rows in both ledgers.
pub(super) async fn judge(world: &World, writers: &[Rc<Writer>]) -> anyhow::Result<u64> {
    let items = world.with(items)?;
    let rows = |prefix: &str, product: Option<&str>| -> Vec<&Value> {
        let partition = product.map(|product| format!("PRODUCT#{product}"));
        let is_row = |item: &&Value| {
            let is_there = partition.as_deref().is_none_or(|partition| text(item, "PK") == Some(partition));
            is_there && text(item, "SK").is_some_and(|sort| sort.starts_with(prefix))
        };
        let mut rows: Vec<_> = items.iter().filter(is_row).collect();
        rows.sort_by_key(|row| text(row, "SK"));
        rows
    };
    for name in PRODUCTS {
        let product = *rows("METADATA", Some(name)).first().context("a product is gone")?;
        stock(world, product, &rows("INVLOG#", Some(name)), &rows("RESERVATION#", Some(name)));
        if name == PRODUCT {
            price(world, product, &rows("PRICE#", Some(name)));
        }
    }
    let prices = rows("PRICE#", Some(PRODUCT));
    let (movements, reservations) = (rows("INVLOG#", None), rows("RESERVATION#", None));
    whole(world, &reservations);
    for writer in writers {
        for asked in writer.asked.borrow().iter() {
            request(world, asked, &prices, &movements);
        }
        orders(world, &writer.asked.borrow(), &movements, &reservations);
    }
    lowest(world, &prices).await?;
    Ok(u64::try_from(prices.len() + movements.len())?)
}

/// The rows form a chain without a gap, their sum is the stock, and the reserved quantity is the
/// sum of the open reservations.
fn stock(world: &World, product: &Value, movements: &[&Value], reservations: &[&Value]) {
    let is_foreign = world.with(|state| state.replaced.is_some());
    let mut level = 0;
    for row in movements {
        let [before, quantity, after] = ["PreviousStock", "Quantity", "NewStock"].map(|name| number(row, name));
        if (before != level && !is_foreign) || before + quantity != after || after < 0 {
            world.complain(format!("the ledger has a gap after {level}: {row}"));
        }
        level = after;
    }
    let sum: i64 = movements.iter().map(|row| number(row, "Quantity")).sum();
    let stock = number(product, "Stock");
    if sum != stock || (level != sum && !is_foreign) {
        world.complain(format!("the ledger comes to {sum}, and its last row to {level}: {product}"));
    }
    let ends = movements.iter().map(|row| number(row, "NewStock"));
    if !is_one_chain(movements.iter().map(|row| number(row, "PreviousStock")), [0].into_iter().chain(ends), stock) {
        world.complain("two rows of the ledger begin with the same stock".to_owned());
    }
    let open = reservations.iter().filter(|row| text(row, "State") == Some("OPEN"));
    let kept: i64 = open.map(|row| number(row, "Quantity")).sum();
    let reserved = number(product, "Reserved");
    if kept != reserved || (reserved > stock && !is_foreign) {
        world.complain(format!("open reservations keep {kept}: {product}"));
    }
}

/// An order and all its reservations are in the same state.
fn whole(world: &World, reservations: &[&Value]) {
    let mut states: BTreeMap<&str, BTreeMap<&str, &str>> = BTreeMap::new();
    for row in reservations {
        let [partition, order_id, state] = ["PK", "OrderId", "State"].map(|name| text(row, name).unwrap_or_default());
        if partition.starts_with("ORDER#") || row["IsOrderLine"]["BOOL"] == true {
            states.entry(order_id).or_default().insert(partition, state);
        }
    }
    for (order_id, states) in states {
        if states.values().any(|state| Some(state) != states.values().next()) {
            world.complain(format!("{order_id} is half an order: {states:?}"));
        }
    }
}

/// Whether each row starts from the result of another row, and one row ends at the current stock.
/// The order of the rows does not matter, because the clock of a client of the original design
/// orders its rows.
fn is_one_chain(begins: impl Iterator<Item = i64>, ends: impl Iterator<Item = i64>, last: i64) -> bool {
    let mut begins: Vec<_> = begins.chain([last]).collect();
    let mut ends: Vec<_> = ends.collect();
    begins.sort_unstable();
    ends.sort_unstable();
    begins == ends
}

/// Rows chain, and the last one is the product's price; the extremes are theirs.
fn price(world: &World, product: &Value, prices: &[&Value]) {
    let replaced = world.with(|state| state.replaced.clone());
    if let Some(replaced) = replaced {
        let before = |row: &&&Value| match text(row, "SK").and_then(|sort| replaced.get(sort)) {
            Some(price) => Some(*price),
            None => row["PreviousPrice"].is_object().then(|| number(row, "PreviousPrice")),
        };
        let ends = prices.iter().map(|row| number(row, "Price"));
        if !is_one_chain(prices.iter().filter_map(|row| before(&row)), ends, number(product, "Price")) {
            world.complain(format!("a price was changed that nobody had read: {product} {prices:?}"));
        }
        return;
    }
    for pair in prices.windows(2) {
        if number(pair[1], "PreviousPrice") != number(pair[0], "Price")
            || number(pair[1], "Price") == number(pair[0], "Price")
        {
            world.complain(format!("the prices have a gap: {} {}", pair[0], pair[1]));
        }
    }
    let all = prices.iter().map(|row| number(row, "Price"));
    let expected =
        [("Price", all.clone().next_back()), ("LowestPrice", all.clone().min()), ("HighestPrice", all.max())];
    for (name, price) in expected {
        if Some(number(product, name)) != price {
            world.complain(format!("{name} is not {price:?}: {product}"));
        }
    }
}

/// No request took effect twice, and none that was answered with success is missing.
fn request(world: &World, asked: &Asked, prices: &[&Value], movements: &[&Value]) {
    let Asked { call, answers, unheard } = asked;
    if let Some(answer) = answers.iter().find(|(status, _)| *status == 500 || [400, 401].contains(status)) {
        world.complain(format!("{call:?} was answered {answer:?}"));
    }
    let rows = match call.route {
        PRICE => prices,
        MOVE => movements,
        _ => return,
    };
    let mine: Vec<_> = rows.iter().filter(|row| is_of(row, call)).collect();
    if mine.len() > 1 {
        world.complain(format!("{call:?} took effect twice: {mine:?}"));
    }
    let row_of = |body: &Value| {
        let row = if call.route == PRICE { &body["entry"] } else { body };
        row["id"].as_str().and_then(|id| id.split_once('~')).map(|(_, id)| id.to_owned())
    };
    let told: Vec<_> =
        answers.iter().filter(|(status, _)| *status < 300).filter_map(|(_, body)| row_of(body)).collect();
    let sort = |row: &Value| text(row, "SK").and_then(|sort| sort.rsplit_once('#')).map(|(_, id)| id.to_owned());
    for id in &told {
        if mine.iter().all(|row| sort(row).as_ref() != Some(id)) {
            world.complain(format!("{call:?} was told of {id}, and there is {mine:?}"));
        }
    }
    if answers.iter().filter(|(status, _)| *status == 201).count() > 1 {
        world.complain(format!("{call:?} was told twice that it was the first: {answers:?}"));
    }
    // What a key was told stays true, however late another attempt comes.
    let came_to_nothing = |(status, body): &Answer| is_refusal(&(*status, body.clone())) || body["changed"] == false;
    if answers.iter().any(came_to_nothing) && !(mine.is_empty() && told.is_empty()) {
        world.complain(format!("{call:?} was refused, and took effect: {answers:?} {mine:?}"));
    }
    if told.is_empty() && *unheard == 0 && !mine.is_empty() && answers.iter().all(|(status, _)| *status < 500) {
        world.complain(format!("nobody was told that {call:?} took effect: {answers:?} {mine:?}"));
    }
}

/// Whether a rule has refused the request, and not the moment.
fn is_refusal((status, body): &Answer) -> bool {
    *status == 409 && body["type"] != "urn:tidemark:problem:conflict"
}

/// Whether a row is a request's: by its key, or else by its order.
fn is_of(row: &Value, call: &Call) -> bool {
    match &call.key {
        Some(key) => text(row, "RequestId") == Some(key),
        None => {
            let order = call.body.as_ref().and_then(|body| body["orderId"].as_str());
            order.is_some() && text(row, "OrderId") == order
        }
    }
}

/// An order's goods leave once, if it was told so, and not at all if it was told that they came
/// back.
fn orders(world: &World, asked: &[Asked], movements: &[&Value], reservations: &[&Value]) {
    let mut orders: BTreeMap<&str, Vec<&Asked>> = BTreeMap::new();
    for asked in asked {
        if let Some(order_id) = &asked.call.order_id {
            orders.entry(order_id).or_default().push(asked);
        }
    }
    for (order_id, asked) in orders {
        let (reserve, commit, release, lines) = match asked.iter().any(|asked| asked.call.route == ORDER) {
            true => (ORDER, COMMIT_ORDER, RELEASE_ORDER, PRODUCTS.len()),
            false => (RESERVE, COMMIT, RELEASE, 1),
        };
        let of = |route| asked.iter().filter(move |asked| asked.call.route == route);
        let is_told = |route| of(route).any(|asked| asked.answers.iter().any(|(status, _)| *status < 300));
        let may_be =
            |route| of(route).any(|asked| asked.unheard > 0 || asked.answers.iter().any(|(status, _)| *status >= 500));
        let left = movements.iter().filter(|row| text(row, "OrderId") == Some(order_id)).count();
        let (is_committed, is_released) = (is_told(commit), is_told(release));
        if ![0, lines].contains(&left) || (is_committed && left == 0) || (is_released && left > 0) {
            world.complain(format!("goods of {order_id} have left {left} times: {asked:?}"));
        }
        if left > 0 && !is_committed && !may_be(commit) {
            world.complain(format!("goods of {order_id} have left, and nobody was told: {asked:?}"));
        }
        let is_refused = |route| of(route).any(|asked| asked.answers.iter().any(is_refusal));
        let is_kept = reservations.iter().any(|row| text(row, "OrderId") == Some(order_id));
        if is_refused(reserve) && (is_kept || is_told(reserve)) {
            world.complain(format!("goods are kept for {order_id}, which was refused: {asked:?}"));
        }
        // Goods that a client of the original design has taken may be there again when the order
        // asks once more.
        let is_missing = |asked: &&&Asked| asked.answers.iter().any(|(_, body)| body["available"].is_number());
        if is_refused(commit) && left > 0 && of(commit).filter(is_missing).count() == 0 {
            world.complain(format!("goods of {order_id} have left, and it was refused: {asked:?}"));
        }
        if is_committed && !is_told(reserve) && !may_be(reserve) {
            world.complain(format!("{order_id} has what was never reserved: {asked:?}"));
        }
    }
}

/// What the summary says of the last 30 days is what a look at every row says.
async fn lowest(world: &World, prices: &[&Value]) -> anyhow::Result<()> {
    let route = "GET /products/{productId}/prices/summary";
    let call = Call { route, order_id: None, key: None, body: None };
    let (status, body) = world.ask_perfectly(&call).await?;
    if status != 200 {
        world.complain(format!("nobody can sum the prices up any more: {body}"));
        return Ok(());
    }
    if world.with(|state| state.replaced.is_some()) {
        return Ok(());
    }
    let begin = now() - WINDOW;
    let mut in_effect = Vec::new();
    for (index, row) in prices.iter().enumerate() {
        let until: Option<Timestamp> = prices.get(index + 1).map(|next| since(next)).transpose()?;
        if until.is_none_or(|until| until > begin) {
            in_effect.push(number(row, "Price"));
        }
    }
    if body["lowest30Days"]["price"].as_i64() != in_effect.iter().min().copied() {
        world.complain(format!("the lowest of {in_effect:?} is said to be {body}"));
    }
    Ok(())
}

fn since(row: &Value) -> anyhow::Result<Timestamp> {
    text(row, "CreatedAt").context("a row without a time")?.parse().map_err(Into::into)
}

fn text<'a>(item: &'a Value, name: &str) -> Option<&'a str> {
    item[name]["S"].as_str()
}

/// A number; one that is missing is none that any sum would come to.
fn number(item: &Value, name: &str) -> i64 {
    item[name]["N"].as_str().and_then(|number| number.parse().ok()).unwrap_or(i64::MIN / 4)
}
