//! What holds for every message and all bytes.

use proptest::prelude::*;
use serde_json::{Map, Value, json};

use crate::decode::Decoder;
use crate::encode::write_value;
use crate::error::ProtoError;
use crate::table::{Field, Kind, Label, Message, Shape, table};
use crate::wire::Writer;

fn encoded(message: &Message, value: &Value) -> Result<Vec<u8>, ProtoError> {
    let mut writer = Writer::default();
    write_value(&mut writer, message, message.name, Some(value), 1)?;
    Ok(writer.bytes)
}

fn decoded(message: &Message, bytes: &[u8]) -> Result<Value, ProtoError> {
    Decoder::new(bytes.len()).value(message, bytes, 1)
}

/// Values out of nothing but a number (splitmix64).
struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (mixed ^ (mixed >> 31)) % sides
    }

    fn message(&mut self, message: &Message, budget: usize) -> Value {
        let number = self.roll(1000);
        let schema_kind = message.fields.iter().find(|field| field.name == "schema").map(|field| field.kind);
        let mut schema = || match schema_kind {
            Some(kind) if budget > 0 => self.one(kind, budget - 1),
            _ => json!({}),
        };
        match message.shape {
            Shape::Time => json!(format!("20{:02}-02-28T23:59:5{}Z", number % 100, number % 10)),
            Shape::MicroTime => json!(format!("2024-02-29T00:00:00.{number:06}Z")),
            Shape::Duration => json!(format!("{}m{}s", 1 + number % 59, number % 60)),
            Shape::Quantity => json!(format!("{number}Mi")),
            Shape::IntOrString if number.is_multiple_of(2) => json!(number),
            Shape::IntOrString => json!(format!("{number}%")),
            Shape::Raw => json!({"any": [number, {"é": true}]}),
            Shape::List => json!(["a", "", number.to_string()]),
            Shape::SchemaOrBool if number.is_multiple_of(2) => json!(number.is_multiple_of(4)),
            Shape::SchemaOrList if number.is_multiple_of(2) => json!([schema(), schema()]),
            Shape::SchemaOrStrings if number.is_multiple_of(2) => json!(["x", "y"]),
            Shape::SchemaOrBool | Shape::SchemaOrList | Shape::SchemaOrStrings => schema(),
            Shape::Object => {
                let mut object = Map::new();
                self.fields(message, budget, &mut object);
                Value::Object(object)
            }
        }
    }

    fn fields(&mut self, message: &Message, budget: usize, object: &mut Map<String, Value>) {
        for field in &message.fields {
            if field.is_inlined() {
                if let Kind::Message(index) = field.kind {
                    self.fields(table().message(index).unwrap(), budget, object);
                }
            } else if self.roll(3) > 0 && (budget > 0 || !matches!(field.kind, Kind::Message(_))) {
                object.insert(field.name.to_owned(), self.field(field, budget.saturating_sub(1)));
            }
        }
    }

    fn field(&mut self, field: &Field, budget: usize) -> Value {
        let count = 1 + self.roll(2);
        match field.label {
            Label::One | Label::Pointer => self.one(field.kind, budget),
            Label::List => (0..count).map(|_| self.one(field.kind, budget)).collect(),
            Label::Map => (0..count).map(|key| (format!("k/{key}"), self.one(field.kind, budget))).collect(),
        }
    }

    /// A value that is not zero, so that it must come back.
    fn one(&mut self, kind: Kind, budget: usize) -> Value {
        let number = 1 + self.roll(1 << 30) as i64;
        match kind {
            Kind::String => json!(format!("text {number} ü")),
            Kind::Bytes => json!("AP/+"),
            Kind::Bool => json!(true),
            Kind::Int32 => json!(if number % 2 == 0 { number } else { -number }),
            Kind::Int64 => json!(number << 20),
            Kind::Double => json!(number as f64 + 0.5),
            Kind::Message(index) => self.message(table().message(index).unwrap(), budget),
        }
    }
}

/// Whether all of `part` is in `whole`.
fn holds(whole: &Value, part: &Value) -> bool {
    match (whole, part) {
        (Value::Object(whole), Value::Object(part)) => {
            part.iter().all(|(name, part)| whole.get(name).is_some_and(|whole| holds(whole, part)))
        }
        (Value::Array(whole), Value::Array(part)) => {
            whole.len() == part.len() && whole.iter().zip(part).all(|(whole, part)| holds(whole, part))
        }
        (whole, part) => whole == part,
    }
}

fn any_message() -> impl Strategy<Value = &'static Message> {
    (0..table().len()).prop_map(|index| table().message(index).unwrap())
}

#[test]
fn every_message_survives_the_way_there_and_back() {
    for index in 0..table().len() {
        let message = table().message(index).unwrap();
        let value = Dice(u64::from(index)).message(message, 3);
        let bytes = encoded(message, &value).unwrap_or_else(|error| panic!("{}: {error}", message.name));
        let back = decoded(message, &bytes).unwrap_or_else(|error| panic!("{}: {error}", message.name));
        assert!(holds(&back, &value), "{}: {value} became {back}", message.name);
        assert!(encoded(message, &back).unwrap() == bytes, "{}: {back}", message.name);
    }
}

proptest! {
    #[test]
    fn any_value_survives_the_way_there_and_back(message in any_message(), seed: u64) {
        let value = Dice(seed).message(message, 3);
        let bytes = encoded(message, &value).unwrap();
        let back = decoded(message, &bytes).unwrap();
        prop_assert!(holds(&back, &value), "{value} became {back}");
        prop_assert_eq!(encoded(message, &back).unwrap(), bytes);
    }

    #[test]
    fn damaged_bytes_are_refused_or_are_another_value(
        message in any_message(),
        seed: u64,
        position: prop::sample::Index,
        byte: u8,
        cut: bool,
    ) {
        let mut bytes = encoded(message, &Dice(seed).message(message, 3)).unwrap();
        prop_assume!(!bytes.is_empty());
        let position = position.index(bytes.len());
        if cut {
            bytes.truncate(position);
        }
        if let Some(damaged) = bytes.get_mut(position) {
            *damaged = byte;
        }
        if let Ok(value) = decoded(message, &bytes) {
            prop_assert_eq!(decoded(message, &encoded(message, &value).unwrap()).unwrap(), value);
        }
    }

    #[test]
    fn arbitrary_bytes_do_no_harm(message in any_message(), bytes: Vec<u8>) {
        if let Ok(value) = decoded(message, &bytes) {
            prop_assert!(encoded(message, &value).is_ok());
        }
        for envelope in [[b"k8s\0\x0a\x09\x0a\x02v1\x12\x03Pod", bytes.as_slice()].concat(), bytes] {
            if let Ok(object) = crate::decode(&envelope) {
                prop_assert!(crate::encode(&object.value).is_ok());
            }
            if let Ok(event) = crate::decode_watch_event(&envelope) {
                prop_assert!(crate::encode(&event.object.value).is_ok());
            }
        }
    }

    #[test]
    fn arbitrary_values_do_no_harm(message in any_message(), other in any_message(), seed: u64) {
        // The value of another message is wrong in most places.
        if let Ok(bytes) = encoded(message, &Dice(seed).message(other, 3)) {
            prop_assert!(decoded(message, &bytes).is_ok());
        }
    }
}
