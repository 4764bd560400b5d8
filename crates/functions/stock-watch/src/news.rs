//! What is worth an entry in the journal.

use domain::journal::{Entry, News};
use domain::shop::{Amount, Notice, Product, Watched};
use store::shop::{PriceEntry, StockEntry};

/// A price that has come into effect.
pub(crate) fn priced(entry: &PriceEntry) -> Entry {
    let news = News::PriceChanged {
        product_id: entry.product_id.as_str(),
        price: entry.change.price.amount.get(),
        previous_price: entry.change.previous.map(Amount::get),
        currency: entry.change.price.currency.as_str(),
    };
    news.entry(entry.change.row.at.timestamp(), &entry.change.row.to_string())
}

/// Goods that have moved; `None` for a count that has found what was thought.
pub(crate) fn moved(entry: &StockEntry) -> Option<Entry> {
    let news = News::StockMoved {
        product_id: entry.product_id.as_str(),
        change_type: entry.change_type,
        quantity: entry.quantity,
        stock: entry.new_stock,
    };
    (entry.quantity != 0).then(|| news.entry(entry.row.at.timestamp(), &entry.row.to_string()))
}

/// What a change of a product gives notice of. Its version names the change.
pub(crate) fn noticed([before, after]: &[Product; 2]) -> Vec<(Notice, Entry)> {
    let watched =
        |product: &Product| Watched { stock: product.level.stock(), threshold: product.low_stock_threshold.get() };
    let product_id = after.id.as_str();
    // Of an imported movement the row's own time, which may lie before the product's last change.
    let at = after.stocked_at.filter(|_| before.stocked_at != after.stocked_at).unwrap_or(after.updated_at);
    let notices = watched(before).notices(watched(after)).into_iter().map(|notice| {
        let Watched { stock, threshold } = watched(after);
        let news = match notice {
            Notice::Low => News::LowStock { product_id, stock, threshold },
            Notice::Out => News::OutOfStock { product_id },
        };
        (notice, news.entry(at.timestamp(), &format!("{product_id} {}", after.version)))
    });
    notices.collect()
}
