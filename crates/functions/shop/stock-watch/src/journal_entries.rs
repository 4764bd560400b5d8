//! The journal entries for changes of the shop.

use domain::journal::{Entry, SuiteEvent};
use domain::shop::{Amount, Product, StockAlert, WatchedStock};
use shop_store::{PriceEntry, StockEntry};

/// The entry for a price that has come into effect.
pub(crate) fn price_entry(entry: &PriceEntry) -> Entry {
    let event = SuiteEvent::PriceChanged {
        product_id: entry.product_id.as_str(),
        price: entry.change.price.amount.get(),
        previous_price: entry.change.previous.map(Amount::get),
        currency: entry.change.price.currency.as_str(),
    };
    event.entry(entry.change.row.at.timestamp(), &entry.change.row.to_string())
}

/// The entry for a stock movement; `None` for a count that confirmed the expected stock.
pub(crate) fn stock_entry(entry: &StockEntry) -> Option<Entry> {
    let event = SuiteEvent::StockMoved {
        product_id: entry.product_id.as_str(),
        change_type: entry.change_type.as_str(),
        quantity: entry.quantity,
        stock: entry.new_stock,
    };
    (entry.quantity != 0).then(|| event.entry(entry.row.at.timestamp(), &entry.row.to_string()))
}

/// The stock alerts for a change of a product. The product's version identifies the change.
pub(crate) fn alert_entries([before, after]: &[Product; 2]) -> Vec<(StockAlert, Entry)> {
    let watched =
        |product: &Product| WatchedStock { stock: product.level.stock(), threshold: product.low_stock_threshold.get() };
    let product_id = after.id.as_str();
    // An imported movement has its own time, which may be before the product's last change.
    let at = after.stocked_at.filter(|_| before.stocked_at != after.stocked_at).unwrap_or(after.updated_at);
    let alerts = watched(before).alerts(watched(after)).into_iter().map(|alert| {
        let WatchedStock { stock, threshold } = watched(after);
        let event = match alert {
            StockAlert::Low => SuiteEvent::LowStock { product_id, stock, threshold },
            StockAlert::Out => SuiteEvent::OutOfStock { product_id },
        };
        (alert, event.entry(at.timestamp(), &format!("{product_id} {}", after.version)))
    });
    alerts.collect()
}
