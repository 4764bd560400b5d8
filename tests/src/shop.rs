//! A shop straight on the table: products and stock as the store writes them, and no function is
//! asked.

use anyhow::{Context, Result, anyhow};
use aws_sdk_dynamodb::Client;
use domain::Moment;
use domain::ShortText;
use domain::shop::{
    Amount, Currency, HoldTime, IdempotencyKey, Money, OrderId, OrderLines, ProductForm, ProductId, Quantity,
    StockCount, StockMovement,
};
use shop_store::{
    ChangeError, OrderRequest, Orders, PriceRequest, Prices, Products, PutProduct, ReservationRequest, Reservations,
    Stock, StockRequest,
};
use uuid::Uuid;

/// The shop of a table, at a time that goes on when told.
#[derive(Debug)]
pub struct Shop {
    /// The time of the next change.
    pub now: Moment,
    products: Products,
    prices: Prices,
    stock: Stock,
    reservations: Reservations,
    orders: Orders,
}

impl Shop {
    /// The shop in `table`.
    pub fn new(client: &Client, table: &str, now: Moment) -> Self {
        Self {
            now,
            products: Products::new(&store_base::Table::new(client.clone(), table)),
            prices: Prices::new(&store_base::Table::new(client.clone(), table)),
            stock: Stock::new(&store_base::Table::new(client.clone(), table)),
            reservations: Reservations::new(&store_base::Table::new(client.clone(), table)),
            orders: Orders::new(&store_base::Table::new(client.clone(), table)),
        }
    }

    /// A product that costs 19.99 EUR, of which so many are there; 3 of them are few.
    pub async fn product(&self, id: &str, count: i64) -> Result<()> {
        let price = Money { amount: Amount::new(1_999)?, currency: Currency::new("EUR")? };
        let (name, threshold) = (ShortText::new(id)?, StockCount::new(3)?);
        let form =
            ProductForm { name, price: Some(price), stock: None, low_stock_threshold: Some(threshold), archived: None };
        let put =
            PutProduct { id: ProductId::new(id)?, form, changed_by: None, now: self.now, row_id: Uuid::from_u128(1) };
        self.products.put(&put).await.map_err(why)?;
        if count > 0 { self.move_goods(id, "COUNT", count, None).await } else { Ok(()) }
    }

    /// Archives a product.
    pub async fn archive(&self, id: &str) -> Result<()> {
        let name = ShortText::new(id)?;
        let form = ProductForm { name, price: None, stock: None, low_stock_threshold: None, archived: Some(true) };
        let put =
            PutProduct { id: ProductId::new(id)?, form, changed_by: None, now: self.now, row_id: Uuid::from_u128(1) };
        self.products.put(&put).await.map_err(why)?;
        Ok(())
    }

    /// Gives a product another price in EUR, by a row of that id.
    pub async fn reprice(&self, id: &str, cents: u64, row_id: u128) -> Result<()> {
        let request = PriceRequest {
            product_id: ProductId::new(id)?,
            key: IdempotencyKey::new(&format!("sample-row-{row_id}"))?,
            price: Money { amount: Amount::new(cents)?, currency: Currency::new("EUR")? },
            reason: Some(ShortText::new("season")?),
            changed_by: Some(ShortText::new("Ann")?),
            now: self.now,
            row_id: Uuid::from_u128(row_id),
        };
        self.prices.change(&request).await.map_err(why)?;
        Ok(())
    }

    /// Moves goods, the same ones once at a time.
    pub async fn move_goods(&self, id: &str, change_type: &str, number: i64, order_id: Option<&str>) -> Result<()> {
        let request = StockRequest {
            product_id: ProductId::new(id)?,
            key: Some(IdempotencyKey::new(&format!("{change_type}-{}", self.now))?),
            movement: StockMovement::new(change_type.parse()?, number)?,
            order_id: order_id.map(OrderId::new).transpose()?,
            reason: None,
            changed_by: None,
            now: self.now,
            row_id: Uuid::now_v7(),
        };
        self.stock.change(&request).await.map_err(why)?;
        Ok(())
    }

    /// Keeps goods for an order, a quarter of an hour long.
    pub async fn reserve(&self, id: &str, order_id: &str, quantity: i64) -> Result<()> {
        let request = ReservationRequest {
            product_id: ProductId::new(id)?,
            order_id: OrderId::new(order_id)?,
            quantity: Quantity::new(quantity)?,
            hold_time: HoldTime::default(),
            now: self.now,
        };
        self.reservations.reserve(&request).await.map_err(why)?;
        Ok(())
    }

    /// Keeps one product's goods for an order of its own, a quarter of an hour long.
    pub async fn order(&self, id: &str, order_id: &str, quantity: i64) -> Result<()> {
        let lines = OrderLines::new(vec![(ProductId::new(id)?, Quantity::new(quantity)?)])?;
        let order_id = OrderId::new(order_id)?;
        let request = OrderRequest { order_id, lines, hold_time: HoldTime::default(), now: self.now };
        self.orders.reserve(&request).await.map_err(why)?;
        Ok(())
    }

    /// Hands an order's goods over.
    pub async fn commit(&self, id: &str, order_id: &str) -> Result<()> {
        let (id, order_id) = (ProductId::new(id)?, OrderId::new(order_id)?);
        self.reservations.commit(&id, &order_id, self.now, Uuid::now_v7()).await.map_err(why)?;
        Ok(())
    }

    /// Gives an order's goods back.
    pub async fn release(&self, id: &str, order_id: &str) -> Result<()> {
        let (id, order_id) = (ProductId::new(id)?, OrderId::new(order_id)?);
        self.reservations.release(&id, &order_id, self.now).await.map_err(why)?;
        Ok(())
    }

    /// How many are there, and how many of them are reserved.
    pub async fn level(&self, id: &str) -> Result<(u64, u64)> {
        let product = self.products.get(&ProductId::new(id)?).await?.context("no such product")?;
        Ok((product.level.stock(), product.level.reserved()))
    }

    /// Where a reservation stands, if there is one.
    pub async fn state(&self, id: &str, order_id: &str) -> Result<Option<String>> {
        let reservation = self.reservations.get(&ProductId::new(id)?, &OrderId::new(order_id)?).await?;
        Ok(reservation.map(|reservation| reservation.state.as_str().to_owned()))
    }
}

fn why<R: std::fmt::Debug>(error: ChangeError<R>) -> anyhow::Error {
    anyhow!("{error:?}")
}

/// The stock that the sample events ask for: cups enough, no place for more sand, plates that are
/// reserved in every way, and an archived tray.
pub async fn stock_samples(client: &Client, table: &str) -> Result<()> {
    let mut shop = Shop::new(client, table, Moment::parse("2025-10-02T10:30:00.5Z")?);
    for (id, count) in [("cup", 100), ("plate", 20), ("sand", 1_000_000_000_000), ("tray", 4)] {
        shop.product(id, count).await?;
    }
    shop.archive("tray").await?;
    // Far from now: nothing of it expires while a test looks at it.
    shop.now = Moment::parse("2096-10-02T07:00:00Z")?;
    for (order_id, quantity) in [
        ("o-committed", 2),
        ("o-expired", 1),
        ("o-given-up", 1),
        ("o-open", 12),
        ("o-paid", 2),
        ("o-released", 1),
        ("o-shipped", 1),
    ] {
        shop.reserve("plate", order_id, quantity).await?;
    }
    for order_id in ["o-late", "o-open", "o-sent"] {
        shop.order("cup", order_id, 1).await?;
    }
    shop.orders.commit(&OrderId::new("o-sent")?, shop.now, Uuid::now_v7()).await.map_err(why)?;
    shop.commit("plate", "o-committed").await?;
    shop.release("plate", "o-released").await?;
    shop.move_goods("plate", "OUT", 1, Some("o-shipped")).await?;
    shop.now = Moment::parse("2096-10-02T08:00:00Z")?;
    shop.orders.release(&OrderId::new("o-late")?, shop.now).await.map_err(why)?;
    shop.release("plate", "o-expired").await
}

/// The prices that the sample events ask for: those of a lamp, over a month's and a year's end, and
/// three products to change.
pub async fn price_samples(client: &Client, table: &str) -> Result<()> {
    let mut shop = Shop::new(client, table, Moment::parse("2025-10-02T10:30:00.5Z")?);
    for id in ["lamp", "mug", "pot", "vase"] {
        shop.product(id, 0).await?;
    }
    for (row_id, (now, cents)) in (2..).zip([
        ("2025-10-10T00:00:00Z", 1_499),
        ("2025-10-31T23:59:59.999999999Z", 1_799),
        ("2025-11-01T00:00:00Z", 1_699),
        ("2026-01-01T00:00:00Z", 1_899),
    ]) {
        shop.now = Moment::parse(now)?;
        shop.reprice("lamp", cents, row_id).await?;
    }
    Ok(())
}
