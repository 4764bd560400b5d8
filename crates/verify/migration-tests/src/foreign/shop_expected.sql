-- The expected items and rejects of the shop.
CREATE VIEW expected.customers AS
SELECT *, 'CUSTOMER#' || id AS owner, lower(btrim(email)) AS address,
    CASE
        WHEN deleted_at IS NOT NULL THEN 'deleted'
        WHEN balance = 'NaN' THEN 'unreadable-number'
        WHEN NOT expected.readable(created_at) THEN 'unreadable-time'
    END AS fault
FROM customers;

CREATE VIEW expected.products AS
SELECT *, 'PRODUCT#' || id AS owner, CASE WHEN octet_length(description) > 409600 THEN 'too-large' END AS fault
FROM products;

-- What the state of a customer means for rows of the customer. Nobody needs to look at rows of a
-- deleted customer, so they keep that reason.
CREATE VIEW expected.customer_orders AS
SELECT orders.*, customers.owner, expected.local_time(placed_at, 'Europe/Berlin') AS placed,
    CASE
        WHEN orders.customer_id IS NULL THEN 'missing-value'
        WHEN customers.id IS NULL THEN 'orphan'
        WHEN customers.fault = 'deleted' THEN 'deleted'
        WHEN customers.fault IS NOT NULL THEN 'orphan'
    END AS owner_fault
FROM orders LEFT JOIN expected.customers ON customers.id = orders.customer_id;

CREATE VIEW expected.orders AS
SELECT *,
    CASE
        WHEN owner_fault IS NOT NULL THEN owner_fault
        WHEN deleted_at IS NOT NULL THEN 'deleted'
        WHEN status = 'draft' THEN NULL
        WHEN placed_at IS NULL THEN 'missing-value'
        WHEN NOT expected.readable(placed) THEN 'unreadable-time'
    END AS fault
FROM expected.customer_orders;

CREATE VIEW expected.addresses AS
SELECT addresses.*, owner,
    CASE
        WHEN fault = 'deleted' THEN 'deleted'
        WHEN fault IS NOT NULL THEN 'orphan'
        WHEN line_no < 0 THEN 'invalid-value'
        WHEN upper(country) NOT IN ('DE', 'JP', 'US') THEN 'unknown-value'
    END AS fault
FROM addresses JOIN expected.customers ON customers.id = addresses.customer_id;

CREATE VIEW expected.reviews AS
SELECT reviews.*, owner,
    CASE WHEN fault IS NOT NULL THEN 'orphan' WHEN octet_length(body) > 409600 THEN 'too-large' END AS fault
FROM reviews JOIN expected.products ON products.id = reviews.product_id;

CREATE VIEW expected.movements AS
SELECT movements.*, owner,
    CASE
        WHEN products.id IS NULL OR fault IS NOT NULL THEN 'orphan'
        WHEN NOT expected.readable(moved_at) THEN 'unreadable-time'
        WHEN movements.id < 0 THEN 'invalid-value'
    END AS fault
FROM stock_movements AS movements LEFT JOIN expected.products ON products.id = movements.product_id;

-- Of several customers with one address, the first one is found by it; of several products with one
-- article number, that with the least id.
CREATE VIEW expected.addresses_of_customers AS
SELECT *, row_number() OVER (PARTITION BY address ORDER BY created_at, id) AS place
FROM expected.customers WHERE fault IS NULL AND expected.key_part(address);

CREATE VIEW expected.article_numbers AS
SELECT *, row_number() OVER (PARTITION BY lower(sku) ORDER BY id) AS place
FROM expected.products WHERE fault IS NULL AND expected.key_part(sku);

CREATE VIEW expected.items AS
SELECT owner AS pk, 'PROFILE' AS sk, expected.attributes('customer', owner, jsonb_build_object(
    'Name', btrim(name), 'Email', email, 'Phone', phone, 'Balance', balance, 'Avatar', expected.bytes(avatar),
    'Born', CASE WHEN expected.readable(born) THEN expected.day(born) END,
    'Tags', CASE WHEN array_ndims(tags) = 1 THEN expected.text_set(VARIADIC tags) END,
    'Preferences', CASE WHEN expected.storable(preferences) THEN preferences END,
    'CreatedAt', expected.instant(created_at), 'UpdatedAt', expected.instant(coalesce(updated_at, created_at)))) AS attributes
FROM expected.customers WHERE fault IS NULL
UNION ALL
SELECT 'EMAIL#' || address, 'EMAIL', expected.attributes('email', owner, jsonb_build_object('Email', address))
FROM expected.addresses_of_customers WHERE place = 1
UNION ALL
SELECT owner, 'ADDRESS#' || kind || '#' || lpad(line_no::text, 5, '0'), expected.attributes('address', owner, jsonb_build_object(
    'Kind', kind, 'Recipient', nullif(recipient, ''), 'Lines', to_jsonb(lines), 'PostalCode', postal_code,
    'Country', upper(country)))
FROM expected.addresses WHERE fault IS NULL
UNION ALL
SELECT owner, 'ORDER#' || expected.sortable(placed) || '#' || lpad(id::text, 19, '0'),
    expected.attributes('order', owner, jsonb_build_object(
        'Number', number, 'Total', total, 'Currency', currency, 'Coupons', expected.text_set(VARIADIC coupons), 'Note', note,
        'Status', CASE status WHEN 'placed' THEN 'OPEN' WHEN 'paid' THEN 'PAID' WHEN 'shipped' THEN 'SENT'
            WHEN 'delivered' THEN 'DONE' WHEN 'cancelled' THEN 'VOID' WHEN 'refunded' THEN 'BACK' END,
        'PlacedAt', expected.instant(placed), 'Gift', meta -> 'gift', 'Meta', meta, 'UpdatedAt', expected.instant(updated_at),
        'Lines', (SELECT coalesce(jsonb_agg(jsonb_strip_nulls(jsonb_build_object('Line', line_no, 'Product', product_id,
            'Quantity', quantity, 'UnitPrice', unit_price, 'Total', order_lines.total, 'Options', options)) ORDER BY line_no), '[]')
            FROM order_lines WHERE order_id = orders.id)))
FROM expected.orders WHERE fault IS NULL AND status <> 'draft'
UNION ALL
SELECT 'ORDER#' || number, 'ORDER', expected.attributes('order_number', owner, jsonb_build_object(
    'Order', 'ORDER#' || expected.sortable(placed) || '#' || lpad(id::text, 19, '0'), 'UpdatedAt', expected.instant(updated_at)))
FROM expected.orders WHERE fault IS NULL AND status <> 'draft'
UNION ALL
SELECT owner, 'PRODUCT', expected.attributes('product', owner, jsonb_build_object(
    'Sku', sku, 'Title', title, 'Description', description, 'Price', price, 'Currency', currency, 'Attributes', attributes,
    'Weight', CASE WHEN expected.storable(weight::text::numeric) THEN weight::text::numeric END, 'Image', expected.bytes(image),
    'ReleasedOn', CASE WHEN isfinite(released_on) THEN expected.day(released_on) END, 'IsDiscontinued', discontinued,
    'CreatedAt', expected.instant(created_at), 'UpdatedAt', expected.instant(created_at)))
FROM expected.products WHERE fault IS NULL
UNION ALL
SELECT 'SKU#' || lower(sku), 'SKU', expected.attributes('sku', owner, jsonb_build_object('Product', id))
FROM expected.article_numbers WHERE place = 1
UNION ALL
SELECT owner, 'REVIEW#' || customer_id, expected.attributes('review', owner, jsonb_build_object(
    'Stars', stars, 'Body', nullif(body, ''), 'CreatedAt', expected.instant(created_at), 'UpdatedAt', expected.instant(created_at)))
FROM expected.reviews WHERE fault IS NULL
UNION ALL
SELECT 'REVIEWER#' || customer_id, 'REVIEW#' || lpad(product_id::text, 10, '0'),
    expected.attributes('reviewer', owner, jsonb_build_object('Stars', stars, 'UpdatedAt', expected.instant(created_at)))
FROM expected.reviews WHERE fault IS NULL
UNION ALL
SELECT owner, 'STOCK#' || expected.sortable(moved_at) || '#' || lpad(id::text, 19, '0'),
    expected.attributes('stock_movement', owner, jsonb_build_object(
        'Delta', delta, 'Reason', reason, 'MovedAt', expected.instant(moved_at), 'UpdatedAt', expected.instant(moved_at)))
FROM expected.movements WHERE fault IS NULL;

-- Rows that are rejected, and parts that are left out of rows that are not.
CREATE VIEW expected.rejects AS
SELECT source, reason, count(*) FROM (
    SELECT 'customers' AS source, fault AS reason FROM expected.customers
    UNION ALL SELECT 'customers', 'unreadable-time' FROM expected.customers WHERE fault IS NULL AND NOT expected.readable(born)
    UNION ALL SELECT 'customers', 'invalid-value' FROM expected.customers WHERE fault IS NULL AND array_ndims(tags) > 1
    UNION ALL SELECT 'customers', 'unreadable-json' FROM expected.customers WHERE fault IS NULL AND NOT expected.storable(preferences)
    UNION ALL SELECT 'customers', 'invalid-id' FROM expected.customers WHERE fault IS NULL AND NOT expected.key_part(address)
    UNION ALL SELECT 'customers', 'duplicate-email' FROM expected.addresses_of_customers WHERE place > 1
    UNION ALL SELECT 'addresses', fault FROM expected.addresses
    UNION ALL SELECT 'orders', fault FROM expected.orders
    UNION ALL SELECT 'order_lines', owner_fault FROM order_lines JOIN expected.orders ON orders.id = order_id
    UNION ALL SELECT 'products', fault FROM expected.products
    UNION ALL SELECT 'products', 'unreadable-number' FROM expected.products WHERE fault IS NULL AND NOT expected.storable(weight::text::numeric)
    UNION ALL SELECT 'products', 'invalid-id' FROM expected.products WHERE fault IS NULL AND NOT expected.key_part(sku)
    UNION ALL SELECT 'products', 'duplicate-sku' FROM expected.article_numbers WHERE place > 1
    UNION ALL SELECT 'reviews', fault FROM expected.reviews
    UNION ALL SELECT 'stock_movements', fault FROM expected.movements
) AS all_rejects WHERE reason IS NOT NULL GROUP BY source, reason;
