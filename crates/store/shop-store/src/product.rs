//! The products and the list of them.

use domain::shop::{ChangeType, Product, ProductForm, ProductId, ProductRefusal, RowId, StockMovement};
use domain::{Moment, ShortText};
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use super::change::{Before, ChangeError, ChangeOutcome, Changes, Decision, Plan, Subject};
use super::keys::{ARCHIVED, Item, METADATA, PARTITION_KEY, PRODUCTS, SORT_KEY, key, product, read, s};
use super::rows::{PriceEntry, StockEntry, price_item, read_product, stock_item};
use super::write::Write;
use store_base::Page;
use store_base::RowReader;
use store_base::{StoreError, Table};

/// A product in the list.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ListedProduct {
    /// The id.
    pub id: String,
    /// The name.
    pub name: String,
}

/// The position at which a page of the list ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProductPosition(String);

/// A request to create or change a product.
#[derive(Debug, Clone)]
pub struct PutProduct {
    /// The id.
    pub id: ProductId,
    /// The new values.
    pub form: ProductForm,
    /// The author.
    pub changed_by: Option<ShortText>,
    /// The time.
    pub now: Moment,
    /// A fresh UUIDv7 for the first rows of its price history and its ledger.
    pub row_id: Uuid,
}

/// Creates, changes, reads and lists products. Its requests are `BatchGetItem` and
/// `TransactWriteItems` for changes, `GetItem` and `Query`.
#[derive(Debug, Clone)]
pub struct Products {
    changes: Changes,
}

impl Products {
    /// The products in `table`.
    pub fn new(table: &Table) -> Self {
        Self { changes: Changes { table: table.clone() } }
    }

    /// A product; `None` when it does not exist.
    pub async fn get(&self, id: &ProductId) -> Result<Option<Product>, StoreError> {
        let Changes { table } = &self.changes;
        let request = table.get_item(key(product(id), METADATA));
        request.send().await?.item.map(read_product).transpose()
    }

    /// The sort keys of everything in a product's own partition: the product, its ledgers, its
    /// reservations and its markers.
    pub async fn sort_keys(&self, id: &ProductId) -> Result<Vec<String>, StoreError> {
        self.changes.table.sort_keys([PARTITION_KEY, SORT_KEY], &product(id)).await
    }

    /// Deletes a product: these items of its partition, and its name from the lists.
    pub async fn delete(&self, id: &ProductId, sort_keys: Vec<String>) -> Result<(), StoreError> {
        let names = [PRODUCTS, ARCHIVED].map(|list| key(list, id.as_str()));
        let rows = sort_keys.into_iter().map(|sort| key(product(id), sort));
        self.changes.table.batch_delete(names.into_iter().chain(rows)).await
    }

    /// Creates a product, or sets the values of an existing one. A product that is archived or
    /// restored moves to the other list. The same values again change nothing.
    pub async fn put(&self, put: &PutProduct) -> Result<(Product, IsNew), ChangeError<ProductRefusal>> {
        let subject = Subject::repeatable(&put.id, &[], put.now);
        let decide = |before: &Before| {
            let listed = |of: &Product| {
                let mut item = key(list(of.archived_at.is_some()), of.id.as_str());
                item.insert("Name".to_owned(), s(of.name.as_str()));
                Write::any(item)
            };
            let (of, is_new, mut writes) = match &before.product {
                Some(known) => match put.form.update(known, put.now).map_err(ChangeError::Refused)? {
                    None => {
                        // The SDK repeats a request whose reply was lost. It then finds the product
                        // that it has created.
                        let is_own = known.version == 1 && known.created_at == put.now;
                        return Ok(Decision::Nothing((known.clone(), IsNew(is_own))));
                    }
                    Some(changed) => (changed, IsNew(false), Vec::new()),
                },
                None => {
                    let created = put.form.create(put.id.clone(), put.now).map_err(ChangeError::Refused)?;
                    let entry = PriceEntry {
                        change: created.first_price(put.row_id),
                        product_id: created.id.clone(),
                        reason: None,
                        changed_by: put.changed_by.clone(),
                        idempotency_key: None,
                    };
                    let mut writes = vec![Write::new(price_item(&entry)?)];
                    // The initial stock is recorded as a count.
                    let created = match put.form.stock.filter(|counted| counted.get() > 0) {
                        None => created,
                        Some(counted) => {
                            let moved =
                                created.level.apply(StockMovement::Count(counted)).map_err(StoreError::unreadable)?;
                            let row = RowId::following(None, put.now, put.row_id);
                            let entry = StockEntry {
                                changed_by: put.changed_by.clone(),
                                ..StockEntry::new(&put.id, row, ChangeType::Count, moved)
                            };
                            writes.push(Write::new(stock_item(&entry)?));
                            Product { level: moved.after, stocked_at: Some(row.at), ..created }
                        }
                    };
                    (created, IsNew(true), writes)
                }
            };
            writes.push(listed(&of));
            let was_archived = before.product.as_ref().map(|known| known.archived_at.is_some());
            if let Some(other) = was_archived.filter(|was_archived| *was_archived != of.archived_at.is_some()) {
                writes.push(Write::delete(key(list(other), put.id.as_str())));
            }
            let row = METADATA.to_owned();
            Ok(Decision::Write(Box::new(Plan { product: of.clone(), writes, row, outcome: (of, is_new) })))
        };
        // The subject has no markers, so no earlier request can be found.
        let known = |_| Err(StoreError::unreadable("a request without a marker was found"));
        match self.changes.change(subject, decide, known).await? {
            ChangeOutcome::Applied(outcome) | ChangeOutcome::AlreadyApplied(outcome) => Ok(outcome),
        }
    }

    /// A page of the archived or of the other products, sorted by id, at most `limit` of them.
    pub async fn list(
        &self,
        are_archived: bool,
        limit: u16,
        after: Option<&ProductPosition>,
    ) -> Result<Page<ListedProduct, ProductPosition>, StoreError> {
        let Changes { table } = &self.changes;
        let query = table.query().key_condition_expression("PK = :pk");
        let query = query.expression_attribute_values(":pk", s(list(are_archived))).limit(i32::from(limit) + 1);
        let start = after.map(|ProductPosition(id)| key(list(are_archived), id));
        // A thousand names fit the megabyte at which DynamoDB ends a page.
        let mut items = query.set_exclusive_start_key(start).send().await?.items.unwrap_or_default();
        let has_more = items.len() > usize::from(limit);
        items.truncate(limit.into());
        let last = items.last().filter(|_| has_more).and_then(|item| item.get(SORT_KEY)?.as_s().ok());
        let next = last.cloned().map(ProductPosition);
        let mut reader = RowReader::new([PARTITION_KEY, SORT_KEY]);
        let items = items.into_iter().filter_map(|item| reader.read(item, listed)).collect();
        Ok(Page { items, next, skipped: reader.skipped() })
    }
}

/// The partition of the list for a product.
fn list(is_archived: bool) -> &'static str {
    if is_archived { ARCHIVED } else { PRODUCTS }
}

fn listed(item: Item) -> Result<ListedProduct, StoreError> {
    #[derive(Deserialize)]
    struct Row {
        #[serde(rename = "SK")]
        id: String,
        #[serde(rename = "Name")]
        name: String,
    }
    let Row { id, name } = read(item)?;
    Ok(ListedProduct { id, name })
}

/// Whether the product was created by this call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct IsNew(pub bool);
