//! Okusuri's migration from PostgreSQL to DynamoDB: the mapping of its tables, and what the mapping
//! cannot say.

mod extension;

use tidemark_migrate::Product;

/// The program `okusuri-migrate`.
pub const PRODUCT: Product = Product {
    name: "okusuri-migrate",
    mapping: Some(include_str!("../okusuri.toml")),
    conversions: extension::CONVERSIONS,
    extension: Some(extension::make),
};
