//! Reads bodies that must be JSON objects.

use serde::de::{Deserialize, Deserializer, Visitor};
use serde::forward_to_deserialize_any;

/// Reads a struct from a JSON object only. A derived struct also accepts an array and assigns its
/// values to the members in the order of their declaration. No client was promised that, and a
/// member added in between would change the meaning of an array.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct JsonObject<T>(pub T);

impl<'de, T: Deserialize<'de>> Deserialize<'de> for JsonObject<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        T::deserialize(StructsAreMaps(deserializer)).map(Self)
    }
}

/// Reads a struct as a map. Other types, and the values inside a struct, are read as usual.
struct StructsAreMaps<D>(D);

impl<'de, D: Deserializer<'de>> Deserializer<'de> for StructsAreMaps<D> {
    type Error = D::Error;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, D::Error> {
        self.0.deserialize_any(visitor)
    }

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _name: &'static str,
        _fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, D::Error> {
        self.0.deserialize_map(visitor)
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, D::Error> {
        self.0.deserialize_option(visitor)
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(self, name: &'static str, visitor: V) -> Result<V::Value, D::Error> {
        self.0.deserialize_newtype_struct(name, visitor)
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        name: &'static str,
        variants: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, D::Error> {
        self.0.deserialize_enum(name, variants, visitor)
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf unit unit_struct seq tuple tuple_struct map
        identifier ignored_any
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    #[derive(Debug, PartialEq, serde::Deserialize)]
    struct Pair {
        a: u8,
        b: Option<u8>,
    }

    #[test]
    fn a_struct_is_not_read_from_an_array_and_other_types_are_unchanged() {
        let read = |json: &str| serde_json::from_str::<JsonObject<Pair>>(json).map(|object| object.0).ok();
        assert_eq!(read(r#"{"a":1,"b":2}"#), Some(Pair { a: 1, b: Some(2) }));
        assert_eq!(read(r#"{"a":1}"#), Some(Pair { a: 1, b: None }));
        assert_eq!((read("[1,2]"), read(r#"{"a":1,"a":2}"#), read("null")), (None, None, None));
        let value = serde_json::from_str::<JsonObject<Value>>("[1,null]").map(|object| object.0);
        assert_eq!(value.ok(), Some(json!([1, null])));
        assert_eq!(serde_json::from_str::<JsonObject<Vec<u8>>>("[1]").ok(), Some(JsonObject(vec![1])));
    }
}
