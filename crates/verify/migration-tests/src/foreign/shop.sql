-- A shop: customers with addresses and orders, products with reviews and a partitioned stock ledger.
CREATE EXTENSION IF NOT EXISTS citext;

CREATE TYPE order_status AS ENUM ('draft', 'placed', 'paid', 'shipped', 'delivered', 'cancelled', 'refunded');
CREATE TYPE address_kind AS ENUM ('billing', 'shipping', 'other');
CREATE DOMAIN currency_code AS text CHECK (VALUE ~ '^[A-Z]{3}$');

CREATE TABLE customers (
    id uuid PRIMARY KEY,
    email text UNIQUE,
    phone text,
    name text NOT NULL,
    born date,
    tags text[] NOT NULL DEFAULT '{}',
    balance numeric(38,10) NOT NULL DEFAULT 0,
    preferences jsonb,
    avatar bytea,
    created_at timestamptz NOT NULL DEFAULT now(),
    updated_at timestamptz,
    deleted_at timestamptz,
    search_vector tsvector GENERATED ALWAYS AS (to_tsvector('simple', name)) STORED
);
-- The email addresses are unique as they were typed; this index only makes the search fast.
CREATE INDEX customers_email ON customers (lower(email)) WHERE deleted_at IS NULL;

CREATE TABLE addresses (
    customer_id uuid NOT NULL REFERENCES customers ON DELETE CASCADE,
    kind address_kind NOT NULL,
    line_no smallint NOT NULL,
    recipient text,
    lines text[],
    postal_code text,
    country char(2) NOT NULL,
    PRIMARY KEY (customer_id, kind, line_no)
);

CREATE TABLE products (
    id serial PRIMARY KEY,
    sku text NOT NULL UNIQUE,
    title citext NOT NULL,
    description text,
    price numeric(38,10) NOT NULL,
    currency currency_code NOT NULL,
    weight double precision,
    attributes jsonb NOT NULL DEFAULT '{}',
    image bytea,
    released_on date,
    discontinued boolean NOT NULL DEFAULT false,
    created_at timestamptz NOT NULL DEFAULT now()
);

-- The foreign key to customers was dropped when they were a service of their own for some time.
CREATE TABLE orders (
    id bigserial PRIMARY KEY,
    number text GENERATED ALWAYS AS ('SO-' || lpad(id::text, 12, '0')) STORED UNIQUE,
    customer_id uuid,
    status order_status NOT NULL DEFAULT 'draft',
    -- Local time of the shop in Berlin.
    placed_at timestamp,
    total numeric(38,10) NOT NULL DEFAULT 0,
    currency currency_code NOT NULL DEFAULT 'EUR',
    coupons text[],
    note text,
    meta jsonb,
    updated_at timestamptz NOT NULL DEFAULT now(),
    deleted_at timestamptz
);
CREATE INDEX orders_customer ON orders (customer_id, placed_at);

CREATE TABLE order_lines (
    order_id bigint NOT NULL REFERENCES orders ON DELETE CASCADE,
    line_no integer NOT NULL,
    product_id integer REFERENCES products ON DELETE SET NULL,
    quantity integer NOT NULL CHECK (quantity <> 0),
    unit_price numeric(38,10) NOT NULL,
    total numeric GENERATED ALWAYS AS (quantity * unit_price) STORED,
    options jsonb,
    PRIMARY KEY (order_id, line_no)
);

CREATE TABLE reviews (
    product_id integer NOT NULL REFERENCES products ON DELETE CASCADE,
    customer_id uuid NOT NULL REFERENCES customers ON DELETE CASCADE,
    stars smallint CHECK (stars BETWEEN 1 AND 5),
    body text,
    created_at timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (product_id, customer_id)
);

CREATE TABLE stock_movements (
    id bigint NOT NULL,
    product_id integer NOT NULL,
    delta bigint NOT NULL,
    reason text,
    moved_at timestamptz NOT NULL,
    PRIMARY KEY (id, moved_at)
) PARTITION BY RANGE (moved_at);
CREATE TABLE stock_movements_2024 PARTITION OF stock_movements FOR VALUES FROM ('2024-01-01 00:00Z') TO ('2025-01-01 00:00Z');
CREATE TABLE stock_movements_2025 PARTITION OF stock_movements FOR VALUES FROM ('2025-01-01 00:00Z') TO ('2026-01-01 00:00Z');
CREATE TABLE stock_movements_other PARTITION OF stock_movements DEFAULT;

CREATE VIEW live_customers AS SELECT id, name, email FROM customers WHERE deleted_at IS NULL;
CREATE VIEW sales_of_days AS
    SELECT placed_at::date AS day, currency, count(*) AS orders, sum(total) AS total
    FROM orders WHERE status NOT IN ('draft', 'cancelled') AND deleted_at IS NULL GROUP BY 1, 2;
