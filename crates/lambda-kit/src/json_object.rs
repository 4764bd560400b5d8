//! Reads bodies that must be JSON objects, and in which no object has a member twice.

use std::collections::BTreeSet;
use std::fmt;

use serde::de::{Deserialize, Deserializer, Error, MapAccess, SeqAccess, Visitor};
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

/// JSON in which no object has a member twice, at any depth. Of two members, one program reads the
/// first and another one the last.
#[derive(Debug)]
struct Unrepeated;

/// Reads JSON, and refuses it if an object has a member twice.
pub fn read<'de, T: Deserialize<'de>>(json: &'de [u8]) -> Result<T, serde_json::Error> {
    refuse_repeated_members(json).and_then(|()| serde_json::from_slice(json))
}

fn refuse_repeated_members(json: &[u8]) -> Result<(), serde_json::Error> {
    serde_json::from_slice(json).map(|Unrepeated| ())
}

impl<'de> Deserialize<'de> for Unrepeated {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(Self)
    }
}

impl<'de> Visitor<'de> for Unrepeated {
    type Value = Self;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("JSON")
    }

    fn visit_unit<E>(self) -> Result<Self, E> {
        Ok(self)
    }

    fn visit_bool<E>(self, _: bool) -> Result<Self, E> {
        Ok(self)
    }

    fn visit_i64<E>(self, _: i64) -> Result<Self, E> {
        Ok(self)
    }

    fn visit_u64<E>(self, _: u64) -> Result<Self, E> {
        Ok(self)
    }

    fn visit_f64<E>(self, _: f64) -> Result<Self, E> {
        Ok(self)
    }

    fn visit_str<E>(self, _: &str) -> Result<Self, E> {
        Ok(self)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut values: A) -> Result<Self, A::Error> {
        while values.next_element::<Self>()?.is_some() {}
        Ok(self)
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<Self, A::Error> {
        let mut names = BTreeSet::new();
        while let Some((name, Self)) = members.next_entry::<String, Self>()? {
            if let Some(name) = names.replace(name) {
                return Err(A::Error::custom(format_args!("the member `{name}` is repeated")));
            }
        }
        Ok(self)
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
    fn json_object_refuses_an_array_for_a_struct_only() {
        let read = |json: &str| serde_json::from_str::<JsonObject<Pair>>(json).map(|object| object.0).ok();
        assert_eq!(read(r#"{"a":1,"b":2}"#), Some(Pair { a: 1, b: Some(2) }));
        assert_eq!(read(r#"{"a":1}"#), Some(Pair { a: 1, b: None }));
        assert_eq!((read("[1,2]"), read("null")), (None, None));
        let value = serde_json::from_str::<JsonObject<Value>>("[1,null]").map(|object| object.0);
        assert_eq!(value.ok(), Some(json!([1, null])));
        assert_eq!(serde_json::from_str::<JsonObject<Vec<u8>>>("[1]").ok(), Some(JsonObject(vec![1])));
    }

    #[test]
    fn a_repeated_member_is_refused_at_any_depth() {
        for (json, is_fine) in [
            (r#"{"a":1,"b":[null,true,-1,1.5,"x",{"a":{}}]}"#, true),
            (r#"{"a":1,"a":1}"#, false),
            (r#"{"a":1,"\u0061":1}"#, false),
            (r#"[{"b":{"a":1,"a":2}}]"#, false),
            ("[1", false),
        ] {
            assert_eq!(refuse_repeated_members(json.as_bytes()).is_ok(), is_fine, "{json}");
        }
    }
}
