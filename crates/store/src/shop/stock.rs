//! Stock: how goods move, and the ledger of it.

use domain::Moment;
use domain::ShortText;
use domain::shop::{
    ChangeType, IdempotencyKey, OrderId, Product, ProductId, RowId, StockChange, StockMovement, StockRefusal,
};
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use super::change::{
    Before, ChangeError, ChangeOutcome, Changes, Decision, HistoryRowRefusal, IdempotencyMarker, Plan, Reused, Subject,
    request_fingerprint,
};
use super::keys::{self, INVENTORY_PREFIX, Item, SORT_KEY, key, read};
use super::ledger::{Ledger, LedgerPosition, LedgerQuery};
use super::refusals::{Refusal, RefusalMemory};
use super::reservations::Reservations;
use super::write::Write;
use crate::series::{Direction, Page};
use crate::{StoreError, Table};

/// A row of the ledger. It begins with the stock that the row before it has left.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StockEntry {
    /// Whose stock.
    pub product_id: ProductId,
    /// Which row.
    pub row: RowId,
    /// What it is about.
    pub change_type: ChangeType,
    /// By how much the stock grew; negative where it fell.
    pub quantity: i64,
    /// The stock before.
    pub previous_stock: u64,
    /// The stock after. Of a count, it is what was counted.
    pub new_stock: u64,
    /// Why.
    pub reason: Option<ShortText>,
    /// For which order.
    pub order_id: Option<OrderId>,
    /// By whom.
    pub changed_by: Option<ShortText>,
    /// The request that made it.
    pub idempotency_key: Option<IdempotencyKey>,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase")]
struct StockRow {
    #[serde(default)]
    entity_type: String,
    /// The original design's rows name it in their key alone.
    #[serde(default)]
    product_id: String,
    change_type: String,
    quantity: i64,
    previous_stock: u64,
    new_stock: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    counted: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    order_id: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    changed_by: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    request_id: Option<String>,
    #[serde(default)]
    created_at: String,
}

/// The row's item.
pub(super) fn stock_item(entry: &StockEntry) -> Result<Item, StoreError> {
    let row = StockRow {
        entity_type: "INVENTORY_LOG".to_owned(),
        product_id: entry.product_id.to_string(),
        change_type: entry.change_type.to_string(),
        quantity: entry.quantity,
        previous_stock: entry.previous_stock,
        new_stock: entry.new_stock,
        counted: (entry.change_type == ChangeType::Count).then_some(entry.new_stock),
        reason: entry.reason.as_ref().map(ShortText::to_string),
        order_id: entry.order_id.as_ref().map(OrderId::to_string),
        changed_by: entry.changed_by.as_ref().map(ShortText::to_string),
        request_id: entry.idempotency_key.as_ref().map(IdempotencyKey::to_string),
        created_at: entry.row.at.to_string(),
    };
    let mut item: Item = serde_dynamo::to_item(row).map_err(StoreError::unreadable)?;
    item.extend(key(keys::product(&entry.product_id), keys::row(INVENTORY_PREFIX, entry.row)));
    Ok(item)
}

/// The row of an item, or of an image of it in the stream.
pub(super) fn read_stock(item: Item) -> Result<StockEntry, StoreError> {
    let sort = item.get(SORT_KEY).and_then(|sort| sort.as_s().ok()).cloned().unwrap_or_default();
    let product_id = keys::product_of(&item)?;
    let row: StockRow = read(item)?;
    let id = keys::row_id(INVENTORY_PREFIX, &sort)?;
    // A text that breaks the suite's rules says less than the row without it.
    let text = |text: &Option<String>| text.as_deref().and_then(|text| ShortText::new(text).ok());
    let entry = || {
        Some(StockEntry {
            product_id: product_id.clone(),
            row: id,
            change_type: row.change_type.parse().ok()?,
            quantity: row.quantity,
            previous_stock: row.previous_stock,
            new_stock: row.new_stock,
            reason: text(&row.reason),
            order_id: row.order_id.as_deref().and_then(|order_id| OrderId::new(order_id).ok()),
            changed_by: text(&row.changed_by),
            idempotency_key: row.request_id.as_deref().map(IdempotencyKey::new).transpose().ok()?,
        })
    };
    entry().ok_or_else(|| StoreError::unreadable(format!("PRODUCT#{product_id} {sort}")))
}

impl StockEntry {
    /// A row that says nothing but what moved.
    pub(super) fn new(product_id: &ProductId, row: RowId, change_type: ChangeType, moved: StockChange) -> Self {
        Self {
            product_id: product_id.clone(),
            row,
            change_type,
            quantity: moved.delta(),
            previous_stock: moved.before.stock(),
            new_stock: moved.after.stock(),
            reason: None,
            order_id: None,
            changed_by: None,
            idempotency_key: None,
        }
    }
}

/// A movement of goods that somebody asks for.
#[derive(Debug, Clone)]
pub struct StockRequest {
    /// Of which product.
    pub product_id: ProductId,
    /// What the request is called: sent again, it changes nothing.
    pub key: Option<IdempotencyKey>,
    /// What moves.
    pub movement: StockMovement,
    /// For which order. It names one movement of each type: sent again, that changes nothing either.
    pub order_id: Option<OrderId>,
    /// Why.
    pub reason: Option<ShortText>,
    /// By whom.
    pub changed_by: Option<ShortText>,
    /// The time.
    pub now: Moment,
    /// A fresh UUIDv7 for the row.
    pub row_id: Uuid,
}

/// Why goods do not move.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StockChangeRefusal {
    /// There is no such product.
    NotFound,
    /// It is archived.
    Archived,
    /// There are too few of it, or too many.
    Stock(StockRefusal),
}

/// Moves goods and shows the ledger. Its requests are those of a change, and `Query`.
#[derive(Debug, Clone)]
pub struct Stock {
    changes: Changes,
    ledger: Ledger,
    reservations: Reservations,
}

impl Stock {
    /// The stock in `table`.
    pub fn new(table: &Table) -> Self {
        let ledger = Ledger { table: table.clone(), prefix: INVENTORY_PREFIX };
        let reservations = Reservations::new(table);
        Self { changes: Changes { table: table.clone() }, ledger, reservations }
    }

    /// Moves goods. Where too few are free, overdue reservations are given back first. What is refused stays refused: under a key as long as the
    /// key is remembered, for an order without a key for a minute.
    pub async fn change(
        &self,
        request: &StockRequest,
    ) -> Result<ChangeOutcome<StockEntry>, ChangeError<StockChangeRefusal>> {
        let named = Named::of(request);
        let change = || self.change_where(request, &named, |_| Ok(()));
        let change = || self.reservations.with_overdue_released(&request.product_id, request.now, change);
        self.changes.final_change(&named.subject(request), change).await
    }

    /// Puts a movement of a ledger that was kept elsewhere behind those that are known: its row has exactly the request's time, or it is not taken.
    pub async fn record(
        &self,
        request: &StockRequest,
    ) -> Result<ChangeOutcome<StockEntry>, ChangeError<HistoryRowRefusal<StockChangeRefusal>>> {
        let allow = |product: &Product| HistoryRowRefusal::unless_later(product.stocked_at, request.now);
        self.change_where(request, &Named::of(request), allow).await
    }

    async fn change_where<R: From<StockChangeRefusal> + Refusal>(
        &self,
        request: &StockRequest,
        named: &Named,
        allow: impl Fn(&Product) -> Result<(), R>,
    ) -> Result<ChangeOutcome<StockEntry>, ChangeError<R>> {
        let refused = |why: StockChangeRefusal| ChangeError::Refused(R::from(why));
        let StockRequest { product_id, movement, order_id, now, .. } = request;
        let decide = |before: &Before| {
            let product = before.product.as_ref().ok_or_else(|| refused(StockChangeRefusal::NotFound))?;
            allow(product).map_err(ChangeError::Refused)?;
            if product.archived_at.is_some() {
                return Err(refused(StockChangeRefusal::Archived));
            }
            let moved = product.level.apply(*movement).map_err(|why| refused(StockChangeRefusal::Stock(why)))?;
            let row = RowId::following(product.stocked_at, *now, request.row_id);
            let entry = StockEntry {
                reason: request.reason.clone(),
                order_id: order_id.clone(),
                changed_by: request.changed_by.clone(),
                idempotency_key: request.key.clone(),
                ..StockEntry::new(product_id, row, movement.change_type(), moved)
            };
            let product = Product { level: moved.after, stocked_at: Some(row.at), ..product.changed(*now) };
            let writes = vec![Write::new(stock_item(&entry)?)];
            let row = keys::row(INVENTORY_PREFIX, row);
            Ok(Decision::Write(Box::new(Plan { product, writes, row, outcome: entry })))
        };
        self.changes.change(named.subject(request), decide, read_stock).await
    }

    /// Rows of a product's ledger.
    pub async fn page(
        &self,
        product_id: &ProductId,
        slice: LedgerQuery,
        direction: Direction,
        limit: u16,
        after: Option<&LedgerPosition>,
    ) -> Result<Page<StockEntry, LedgerPosition>, StoreError> {
        self.ledger.page(product_id, slice, direction, limit.into(), after, read_stock).await
    }
}

/// What a request goes by.
struct Named {
    markers: Vec<IdempotencyMarker>,
    memory: RefusalMemory,
}

impl Named {
    fn of(request: &StockRequest) -> Self {
        let StockRequest { movement, order_id, .. } = request;
        let text = |text: &Option<ShortText>| text.as_ref().map(ShortText::to_string).unwrap_or_default();
        let (change_type, number) = (movement.change_type().as_str(), movement.number().to_string());
        let order = order_id.as_ref().map(OrderId::as_str).unwrap_or_default();
        let said = [text(&request.reason), text(&request.changed_by)];
        let by_key = request.key.as_ref().map(|key| IdempotencyMarker {
            sort: keys::request(key),
            request_fingerprint: request_fingerprint(&["stock", change_type, &number, order, &said[0], &said[1]]),
            reused: Reused::Key,
        });
        let memory = by_key
            .clone()
            .map_or_else(|| RefusalMemory::apart(&[change_type, &number, order]), RefusalMemory::IdempotencyMarker);
        let by_order = order_id.as_ref().map(|order_id| order_marker(order_id, *movement));
        Self { markers: by_key.into_iter().chain(by_order).collect(), memory }
    }

    fn subject<'a>(&'a self, request: &'a StockRequest) -> Subject<'a> {
        let StockRequest { product_id, now, .. } = request;
        Subject { product_id, markers: &self.markers, memory: &self.memory, beside: &[], now: *now }
    }
}

/// What an order's movement is remembered by. Its reason may be worded anew.
pub(super) fn order_marker(order_id: &OrderId, movement: StockMovement) -> IdempotencyMarker {
    let change_type = movement.change_type();
    IdempotencyMarker {
        sort: keys::order(change_type, order_id),
        request_fingerprint: request_fingerprint(&[change_type.as_str(), &movement.number().to_string()]),
        reused: Reused::Order,
    }
}

/// What the goods do not allow.
pub(super) fn unmoved(why: StockRefusal) -> ChangeError<StockChangeRefusal> {
    ChangeError::Refused(StockChangeRefusal::Stock(why))
}
