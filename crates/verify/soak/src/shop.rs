//! The shop: prices, goods, reservations and what people do; afterwards the books add up, and hold
//! each request once.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use anyhow::{Result, ensure};
use fastrand::Rng;
use jiff::Timestamp;
use reqwest::Method;
use serde_json::{Value, json};
use tests::shop_records::{ShopRecords, text};
use tests::{Stack, foreign_client};
use uuid::Uuid;

use crate::check::Check;
use crate::world::{Request, RequestOutcome, World};

const SYSTEM: &str = "shop";
const PRODUCTS: [&str; 6] = ["bowl", "cup", "lamp", "plate", SHARED, "vase"];
/// A client of the original design changes its stock as well.
const SHARED: &str = "tray";
const SHOPPERS: u32 = 12;
/// How long goods are kept for those who do not mean it; for the others, longer than any soak
/// lasts.
const SHORT_S: u32 = 2;
/// After this time a short reservation has expired. DynamoDB reads whole seconds.
pub(crate) const SHORT_HOLD_IS_OVER: Duration = Duration::from_secs(SHORT_S as u64 + 2);

/// The request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ShopAction {
    Price,
    Move,
    Reserve,
    Commit,
    Release,
}

/// A change of a product. Its name is the key or the order that it goes by.
#[derive(Debug, Clone)]
struct Change {
    action: ShopAction,
    product: &'static str,
    name: String,
    /// Whether the table may have deleted it since: a reservation that has expired.
    may_be_gone: bool,
    outcome: RequestOutcome,
}

/// Something that somebody did with a product.
#[derive(Debug, Clone)]
struct Activity {
    user: String,
    product: &'static str,
    outcome: RequestOutcome,
}

/// All that was asked for.
#[derive(Debug, Default)]
pub(crate) struct Shop {
    changes: Mutex<Vec<Change>>,
    activities: Mutex<BTreeMap<String, Activity>>,
    /// Changes that the client of the original design has made, by the sort keys of its rows.
    foreign: Mutex<Vec<String>>,
}

impl Shop {
    /// Fills the shelves, before anything breaks.
    pub(crate) async fn open(&self, world: &World, rng: &mut Rng) -> Result<()> {
        let product = json!({"name": "A thing", "price": 1_000, "currency": "EUR", "stock": 5_000});
        for id in PRODUCTS {
            let path = format!("/products/{id}");
            let request = Request { system: SYSTEM, method: Method::PUT, path: &path, key: None, body: &product };
            let outcome = world.ask(rng, &request).await;
            ensure!(matches!(outcome, RequestOutcome::Done(_)), "{id}: {outcome:?}");
        }
        Ok(())
    }

    /// A customer after the other, until the traffic ends.
    pub(crate) async fn drive(&self, world: &World, mut rng: Rng) {
        let rng = &mut rng;
        while world.goes_on() {
            let product = PRODUCTS[rng.usize(..PRODUCTS.len())];
            match rng.u8(..6) {
                0 => self.price(world, rng, product).await,
                1 | 2 => self.move_goods(world, rng, product).await,
                3 => self.order(world, rng, product).await,
                _ => self.act(world, rng, product).await,
            }
        }
    }

    /// A client of the original design, until the traffic ends: it writes to the table, and locks
    /// the stock on its value.
    pub(crate) async fn drive_foreign(&self, world: &World, mut rng: Rng) {
        while world.goes_on() {
            tokio::time::sleep(Duration::from_millis(rng.u64(10..200))).await;
            let Ok(client) = world.with(async |stack| stack.dynamodb()).await else { continue };
            let now = Timestamp::now();
            // Whoever got no answer cannot know.
            if let Ok(true) =
                foreign_client::adjust_stock(&client, SHARED, rng.i64(-9..=9), "ADJUST", &now.to_string()).await
            {
                self.foreign.lock().unwrap_or_else(PoisonError::into_inner).push(format!("INVLOG#{now}"));
            }
        }
    }

    async fn price(&self, world: &World, rng: &mut Rng, product: &'static str) {
        let body = json!({"price": rng.u32(500..2_000), "currency": "EUR", "reason": "soak"});
        self.change(world, rng, (ShopAction::Price, product, Uuid::now_v7().to_string()), "price", &body).await;
    }

    async fn move_goods(&self, world: &World, rng: &mut Rng, product: &'static str) {
        let kind = ["IN", "OUT"][rng.usize(..2)];
        let body = json!({"type": kind, "quantity": rng.u32(1..=9), "changedBy": "soak"});
        self.change(world, rng, (ShopAction::Move, product, Uuid::now_v7().to_string()), "stock", &body).await;
    }

    /// Goods are kept for an order, and then it is paid, given up, or forgotten.
    async fn order(&self, world: &World, rng: &mut Rng, product: &'static str) {
        let order = Uuid::now_v7().to_string();
        let body = json!({"orderId": order, "quantity": rng.u32(1..=5), "expiresInSeconds": ([SHORT_S, 86_400][rng.usize(..2)])});
        let outcome =
            self.change(world, rng, (ShopAction::Reserve, product, order.clone()), "reservations", &body).await;
        let (action, end) = match rng.u8(..3) {
            _ if !matches!(outcome, RequestOutcome::Done(_)) => return,
            0 => (ShopAction::Commit, "commit"),
            1 => (ShopAction::Release, "release"),
            _ => return,
        };
        let path = format!("reservations/{order}/{end}");
        self.change(world, rng, (action, product, order), &path, &Value::Null).await;
    }

    async fn change(
        &self,
        world: &World,
        rng: &mut Rng,
        (action, product, name): (ShopAction, &'static str, String),
        path: &str,
        body: &Value,
    ) -> RequestOutcome {
        let path = format!("/products/{product}/{path}");
        let key = matches!(action, ShopAction::Price | ShopAction::Move).then_some(&*name);
        let outcome = world.ask(rng, &Request { system: SYSTEM, method: Method::POST, path: &path, key, body }).await;
        world.note(SYSTEM, &outcome);
        let mut changes = self.changes.lock().unwrap_or_else(PoisonError::into_inner);
        let may_be_gone = action == ShopAction::Reserve && body["expiresInSeconds"] == SHORT_S;
        changes.push(Change { action, product, name, may_be_gone, outcome: outcome.clone() });
        outcome
    }

    async fn act(&self, world: &World, rng: &mut Rng, product: &'static str) {
        let (id, user) = (Uuid::now_v7().to_string(), format!("shopper-{}", rng.u32(..SHOPPERS)));
        let body = json!({"id": id, "action": "view", "productId": product});
        let path = format!("/users/{user}/activities");
        let request = Request { system: SYSTEM, method: Method::POST, path: &path, key: None, body: &body };
        let outcome = world.ask(rng, &request).await;
        world.note(SYSTEM, &outcome);
        let mut activities = self.activities.lock().unwrap_or_else(PoisonError::into_inner);
        activities.insert(id, Activity { user, product, outcome });
    }

    /// Looks at the books, and at what people did.
    pub(crate) async fn check(&self, world: &World, stack: &Stack) -> Result<Vec<Check>> {
        let changes = self.changes.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let mut sound =
            Check::of("ledgers chain and sum to the stock, prices chain, reservations come to what is reserved");
        let mut once = Check::of("each change of the shop that was answered has taken effect, once");
        let mut beside =
            Check::of("no change is lost between the suite and a writer that locks the stock on its value");
        for product in PRODUCTS {
            let books = ShopRecords::of(&stack.dynamodb(), product).await?;
            if product == SHARED {
                self.beside_foreign(&books, &mut beside);
            } else {
                sound.compared += (books.movements.len() + books.prices.len() + books.reservations.len()) as u64;
                for mistake in books.mistakes() {
                    sound.mistake(format!("{product}: {mistake}"));
                }
            }
            for change in changes.iter().filter(|change| change.product == product) {
                let wrong = effect(change, &books);
                once.expect(wrong.is_none(), || format!("{}: {change:?}", wrong.unwrap_or_default()));
            }
        }
        Ok(vec![sound, once, beside, self.activities(world).await?])
    }

    fn beside_foreign(&self, books: &ShopRecords, beside: &mut Check) {
        for mistake in books.mistakes_in_any_order() {
            beside.mistake(mistake);
        }
        for key in &*self.foreign.lock().unwrap_or_else(PoisonError::into_inner) {
            let is_there = books.movements.iter().any(|row| text(row, "SK") == key);
            beside.expect(is_there, || format!("{key} is gone"));
        }
    }

    async fn activities(&self, world: &World) -> Result<Check> {
        let sent = self.activities.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let mut both = Check::of("each activity that was answered is told of its user and of its product, once");
        let mut found = BTreeMap::<(String, String), u32>::new();
        let users = (0..SHOPPERS).map(|n| format!("/users/shopper-{n}/activities"));
        for path in users.chain(PRODUCTS.map(|product| format!("/products/{product}/activities"))) {
            for activity in world.list(&path).await? {
                let id = activity["id"].as_str().unwrap_or_default();
                *found.entry((path.clone(), id.to_owned())).or_default() += 1;
            }
        }
        for (id, activity) in &sent {
            let Activity { user, product, outcome } = activity;
            for path in [format!("/users/{user}/activities"), format!("/products/{product}/activities")] {
                let times = found.remove(&(path, id.clone())).unwrap_or_default();
                let holds = match outcome {
                    RequestOutcome::Done(_) => times == 1,
                    RequestOutcome::Refused(_) => times == 0,
                    RequestOutcome::Unknown => times <= 1,
                };
                both.expect(holds, || format!("{id} is there {times} times: {activity:?}"));
            }
        }
        for stranger in found.keys() {
            both.mistake(format!("nobody sent {stranger:?}"));
        }
        Ok(both)
    }
}

/// The mistake in the effect of a change, if any.
fn effect(change: &Change, books: &ShopRecords) -> Option<&'static str> {
    let rows = |rows: &[_], name: &str| rows.iter().filter(|row| text(row, name) == change.name).count();
    let reservation = books.reservations.iter().find(|row| text(row, "OrderId") == change.name);
    let state = reservation.map_or("", |row| text(row, "State"));
    let times = match change.action {
        ShopAction::Price => rows(&books.prices, "RequestId"),
        ShopAction::Move => rows(&books.movements, "RequestId"),
        ShopAction::Reserve => rows(&books.reservations, "OrderId"),
        ShopAction::Commit => rows(&books.movements, "OrderId"),
        ShopAction::Release => usize::from(matches!(state, "RELEASED" | "EXPIRED")),
    };
    let wanted = match &change.outcome {
        RequestOutcome::Done(_) if change.may_be_gone => 0..=1,
        // It costs that already.
        RequestOutcome::Done(answer) if answer["changed"] == false => 0..=0,
        RequestOutcome::Done(_) => 1..=1,
        // A reservation that has expired meanwhile may be reported as expired.
        RequestOutcome::Refused(_) if change.action == ShopAction::Release => 0..=1,
        RequestOutcome::Refused(_) => 0..=0,
        RequestOutcome::Unknown => 0..=1,
    };
    match wanted.contains(&times) {
        true => None,
        false if times == 0 => Some("what was answered is not there"),
        false if times == 1 => Some("what was refused is there"),
        false => Some("it has taken effect more than once"),
    }
}
