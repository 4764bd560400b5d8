//! Stock changes and the ledger of them.

use domain::shop::{ChangeType, IdempotencyKey, OrderId, Product, ProductId, RowId, StockMovement};
use domain::{Moment, ShortText};
use uuid::Uuid;

use super::change::{Before, ChangeError, ChangeOutcome, Changes, Decision, Plan, Subject};
use super::keys::{self, INVENTORY_PREFIX};
use super::ledger::{Ledger, LedgerPosition, LedgerQuery};
use super::marker::{IdempotencyMarker, Reused, order_marker, request_fingerprint};
use super::refusal::{HistoryRowRefusal, Refusal, RefusalMemory, StockChangeRefusal};
use super::reservations::Reservations;
use super::rows::{StockEntry, StoredReservation, read_stock, stock_item};
use super::write::Write;
use store_base::{Direction, Page};
use store_base::{StoreError, Table};

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
            // The goods of an order of several lines leave with all its lines.
            let reserved = identity.reservation.as_ref().and_then(|sort| before.beside(sort));
            if reserved.cloned().map(StoredReservation::read).transpose()?.is_some_and(|of| of.is_order_line) {
                return Err(ChangeError::Reused(Reused::Order));
            }
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
    /// The reservation of the order whose goods leave.
    reservation: Option<String>,
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
        let leaves = movement.change_type() == ChangeType::Out;
        let reservation = order_id.as_ref().filter(|_| leaves).map(keys::reservation);
        Self { markers: by_key.into_iter().chain(by_order).collect(), memory, reservation }
    }

    fn subject<'a>(&'a self, request: &'a StockRequest) -> Subject<'a> {
        let StockRequest { product_id, now, .. } = request;
        let (markers, memory, also_read) = (&self.markers, &self.memory, self.reservation.as_deref());
        Subject { product_id, markers, memory, beside: &[], also_read, now: *now }
    }
}
