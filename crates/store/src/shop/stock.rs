//! Stock changes and the ledger of them.

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

/// A row of the ledger. Its previous stock is the new stock of the row before it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StockEntry {
    /// The product.
    pub product_id: ProductId,
    /// The id of the row.
    pub row: RowId,
    /// The type of the change.
    pub change_type: ChangeType,
    /// By how many pieces the stock has changed; negative if it fell.
    pub quantity: i64,
    /// The stock before.
    pub previous_stock: u64,
    /// The stock after. For a count, it is the counted number.
    pub new_stock: u64,
    /// The reason.
    pub reason: Option<ShortText>,
    /// The order, if any.
    pub order_id: Option<OrderId>,
    /// The author.
    pub changed_by: Option<ShortText>,
    /// The idempotency key of the request.
    pub idempotency_key: Option<IdempotencyKey>,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase")]
struct StockRow {
    #[serde(default)]
    entity_type: String,
    /// Rows of the original design have it only in their key.
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

/// The item of a row.
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

/// The row in an item, or in its image in the stream.
pub(super) fn read_stock(item: Item) -> Result<StockEntry, StoreError> {
    let sort = item.get(SORT_KEY).and_then(|sort| sort.as_s().ok()).cloned().unwrap_or_default();
    let product_id = keys::product_of(&item)?;
    let row: StockRow = read(item)?;
    let id = keys::row_id(INVENTORY_PREFIX, &sort)?;
    // A reason or author that breaks the suite's rules is left out, so that the row stays readable.
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
    /// A row with the change and nothing else.
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

/// A request for a stock change.
#[derive(Debug, Clone)]
pub struct StockRequest {
    /// The product.
    pub product_id: ProductId,
    /// The idempotency key, if any. Sending the request again changes nothing.
    pub key: Option<IdempotencyKey>,
    /// The change.
    pub movement: StockMovement,
    /// The order, if any. It identifies one movement of each type, so sending that again changes
    /// nothing either.
    pub order_id: Option<OrderId>,
    /// The reason.
    pub reason: Option<ShortText>,
    /// The author.
    pub changed_by: Option<ShortText>,
    /// The time.
    pub now: Moment,
    /// A fresh UUIDv7 for the row.
    pub row_id: Uuid,
}

/// Why the stock does not change.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StockChangeRefusal {
    /// There is no such product.
    NotFound,
    /// The product is archived.
    Archived,
    /// The stock is too low or too high.
    Stock(StockRefusal),
}

/// Changes stock and reads the ledger. Its requests are `BatchGetItem` and `TransactWriteItems` for
/// changes, and `Query`.
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

    /// Changes the stock. If too little is available, overdue reservations are released first. A
    /// refusal is stored: with a key for as long as its marker, without a key for a minute.
    pub async fn change(
        &self,
        request: &StockRequest,
    ) -> Result<ChangeOutcome<StockEntry>, ChangeError<StockChangeRefusal>> {
        let identity = RequestIdentity::of(request);
        let change = || self.change_where(request, &identity, |_| Ok(()));
        let change = || self.reservations.with_overdue_released(&request.product_id, request.now, change);
        self.changes.final_change(&identity.subject(request), change).await
    }

    /// Adds a movement of an imported ledger after the existing rows. The row has exactly the time
    /// of the request, or is refused.
    pub async fn record(
        &self,
        request: &StockRequest,
    ) -> Result<ChangeOutcome<StockEntry>, ChangeError<HistoryRowRefusal<StockChangeRefusal>>> {
        let allow = |product: &Product| HistoryRowRefusal::unless_later(product.stocked_at, request.now);
        self.change_where(request, &RequestIdentity::of(request), allow).await
    }

    async fn change_where<R: From<StockChangeRefusal> + Refusal>(
        &self,
        request: &StockRequest,
        identity: &RequestIdentity,
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
        self.changes.change(identity.subject(request), decide, read_stock).await
    }

    /// A page of a product's ledger.
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

/// The markers of a request, and where its refusal is stored.
struct RequestIdentity {
    markers: Vec<IdempotencyMarker>,
    memory: RefusalMemory,
}

impl RequestIdentity {
    fn of(request: &StockRequest) -> Self {
        let StockRequest { movement, order_id, .. } = request;
        let text = |text: &Option<ShortText>| text.as_ref().map(ShortText::to_string).unwrap_or_default();
        let (change_type, number) = (movement.change_type().as_str(), movement.number().to_string());
        let order = order_id.as_ref().map(OrderId::as_str).unwrap_or_default();
        let texts = [text(&request.reason), text(&request.changed_by)];
        let by_key = request.key.as_ref().map(|key| IdempotencyMarker {
            sort: keys::request(key),
            request_fingerprint: request_fingerprint(&["stock", change_type, &number, order, &texts[0], &texts[1]]),
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

/// The idempotency marker of an order's movement. A repeated request may have another reason.
pub(super) fn order_marker(order_id: &OrderId, movement: StockMovement) -> IdempotencyMarker {
    let change_type = movement.change_type();
    IdempotencyMarker {
        sort: keys::order(change_type, order_id),
        request_fingerprint: request_fingerprint(&[change_type.as_str(), &movement.number().to_string()]),
        reused: Reused::Order,
    }
}

/// The error for a refused stock change.
pub(super) fn unmoved(why: StockRefusal) -> ChangeError<StockChangeRefusal> {
    ChangeError::Refused(StockChangeRefusal::Stock(why))
}
