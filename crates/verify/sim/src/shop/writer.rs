//! One of the crowd: changes prices, moves goods, reserves them, and asks again when no answer
//! comes.

use std::cell::RefCell;
use std::rc::Rc;
use std::time::Duration;

use serde_json::{Value, json};
use tokio::time::sleep;

use super::world::{Answer, Call, PRODUCT, PRODUCTS, World};

pub(super) const PRICE: &str = "POST /products/{productId}/price";
pub(super) const MOVE: &str = "POST /products/{productId}/stock";
pub(super) const RESERVE: &str = "POST /products/{productId}/reservations";
pub(super) const COMMIT: &str = "POST /products/{productId}/reservations/{orderId}/commit";
pub(super) const RELEASE: &str = "POST /products/{productId}/reservations/{orderId}/release";

pub(super) const ORDER: &str = "POST /orders";
pub(super) const COMMIT_ORDER: &str = "POST /orders/{orderId}/commit";
pub(super) const RELEASE_ORDER: &str = "POST /orders/{orderId}/release";

/// How often a writer asks during a storm before giving up.
const TRIES_MAX: u8 = 8;

/// How often a writer asks in good weather, where nobody else changes the product.
const INSISTING_MAX: u8 = 4;

/// A request and all that was heard of it.
#[derive(Debug, Clone)]
pub(super) struct Asked {
    pub(super) call: Call,
    pub(super) answers: Vec<Answer>,
    /// How often no answer came.
    pub(super) unheard: usize,
}

impl Asked {
    /// Whether something was said that asking again would not change.
    pub(super) fn is_settled(&self) -> bool {
        self.answers.iter().any(is_final)
    }
}

fn is_final((status, body): &Answer) -> bool {
    match status {
        409 => body["type"] != "urn:tidemark:problem:conflict",
        status => *status < 500,
    }
}

/// Of the crowd, by number.
#[derive(Debug)]
pub(super) struct Writer {
    world: World,
    number: usize,
    pub(super) asked: RefCell<Vec<Asked>>,
}

impl Writer {
    pub(super) fn new(world: World, number: usize) -> Self {
        Self { world, number, asked: RefCell::default() }
    }

    /// Does some things, at about the same time as all the others.
    pub(super) async fn come(self: Rc<Self>, wave: u8) -> anyhow::Result<()> {
        let things = self.world.with(|state| state.history.rng.u8(1..3));
        for thing in 0..things {
            let wait_ms = self.world.with(|state| state.history.rng.u64(..400));
            sleep(Duration::from_millis(wait_ms)).await;
            for call in self.idea(&format!("{}-{wave}-{thing}", self.number)) {
                self.ask(call).await?;
            }
        }
        Ok(())
    }

    /// The next random action of the writer. Orders have two steps.
    fn idea(&self, name: &str) -> Vec<Call> {
        let (dice, number, with_key) = self
            .world
            .with(|state| (state.history.rng.u8(..100), state.history.rng.i64(1..6), state.history.rng.bool()));
        let call = |route, order_id: Option<&str>, body: Option<Value>| Call {
            route,
            order_id: order_id.map(str::to_owned),
            key: None,
            body,
        };
        let order = format!("o-{name}");
        let moved = |kind: &str, number: i64| {
            let body = json!({"type": kind, "quantity": number, "reason": "work", "changedBy": name});
            Call { key: Some(format!("k-{name}")), ..call(MOVE, None, Some(body)) }
        };
        match dice {
            0..20 => {
                // Few prices, so that they come back.
                let body = json!({"price": 900 + number * 50, "currency": "EUR", "changedBy": name});
                vec![Call { key: Some(format!("k-{name}")), ..call(PRICE, None, Some(body)) }]
            }
            20..35 => vec![moved("IN", number)],
            35..45 => vec![moved("OUT", number)],
            45..52 => vec![moved("ADJUST", if with_key { number } else { -number })],
            52..55 => vec![moved("COUNT", number * 10)],
            55..64 => {
                let body = json!({"type": "OUT", "quantity": number, "orderId": order});
                let key = with_key.then(|| format!("k-{name}"));
                vec![Call { key, ..call(MOVE, None, Some(body)) }]
            }
            _ => {
                let seconds = self.world.with(|state| state.history.rng.u32(1..12));
                // Orders of several lines have the last dice. One of their products comes twice.
                let (route, commit, release) = match dice {
                    86.. => (ORDER, COMMIT_ORDER, RELEASE_ORDER),
                    _ => (RESERVE, COMMIT, RELEASE),
                };
                let line = |product: &str, quantity| json!({"productId": product, "quantity": quantity});
                let body = match route {
                    ORDER => {
                        let lines = [line(PRODUCT, number), line(PRODUCTS[1], 6 - number), line(PRODUCT, 1)];
                        json!({"orderId": order, "lines": lines, "expiresInSeconds": seconds})
                    }
                    _ => json!({"orderId": order, "quantity": number, "expiresInSeconds": seconds}),
                };
                let reserve = Call { order_id: Some(order.clone()), ..call(route, None, Some(body)) };
                match dice {
                    64..74 | 86..93 => vec![reserve, call(commit, Some(&order), None)],
                    74..78 | 93..96 => vec![reserve, call(release, Some(&order), None)],
                    _ => vec![reserve],
                }
            }
        }
    }

    /// Asks until something is said, or patience is at its end.
    async fn ask(&self, call: Call) -> anyhow::Result<()> {
        let index = self.asked.borrow().len();
        self.asked.borrow_mut().push(Asked { call, answers: Vec::new(), unheard: 0 });
        let tries = self.world.with(|state| state.history.rng.u8(1..TRIES_MAX));
        for _ in 0..tries {
            self.ask_once(index).await?;
            if self.asked.borrow()[index].is_settled() {
                break;
            }
            let wait_ms = self.world.with(|state| state.history.rng.u64(..2_000));
            sleep(Duration::from_millis(wait_ms)).await;
        }
        Ok(())
    }

    async fn ask_once(&self, index: usize) -> anyhow::Result<()> {
        let call = self.asked.borrow()[index].call.clone();
        for outcome in self.world.ask(&call).await? {
            let asked = &mut self.asked.borrow_mut()[index];
            match outcome {
                Some(answer) => asked.answers.push(answer),
                None => asked.unheard += 1,
            }
        }
        Ok(())
    }

    /// After the faults stop, sends each unsettled request again. Without faults every request
    /// settles.
    pub(super) async fn insist(&self) -> anyhow::Result<()> {
        let all = self.asked.borrow().len();
        for index in 0..all {
            for _ in 0..INSISTING_MAX {
                if self.asked.borrow()[index].is_settled() {
                    break;
                }
                self.ask_once(index).await?;
            }
            let asked = self.asked.borrow()[index].clone();
            if !asked.is_settled() {
                self.world.complain(format!("nothing settles {asked:?}"));
            }
        }
        Ok(())
    }
}
