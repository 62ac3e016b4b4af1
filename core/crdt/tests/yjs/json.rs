//! What documents show, and what is put into them, in JSON: so that a test reads as what it expects.

use crdt::{
    Any, ClientId, Delta, Doc, Event, Inserted, KeyChange, New, Object, Options, PathStep, Shared,
    Text, Value,
};
use serde_json::{Value as Json, json};

/// A document of a client, which collects what is deleted.
pub(crate) fn doc(client: u64) -> Doc {
    Doc::new(ClientId::new(client).unwrap(), Options::default())
}

/// A document of a client, which keeps what is deleted.
pub(crate) fn doc_with_history(client: u64) -> Doc {
    Doc::new(ClientId::new(client).unwrap(), Options { gc: false, ..Options::default() })
}

/// A plain value.
pub(crate) fn any(json: Json) -> Any {
    match json {
        Json::Null => Any::Null,
        Json::Bool(value) => Any::Bool(value),
        Json::Number(number) => Any::Number(number.as_f64().unwrap()),
        Json::String(text) => Any::String(text),
        Json::Array(values) => Any::Array(values.into_iter().map(any).collect()),
        Json::Object(members) => {
            Any::Object(members.into_iter().map(|(key, value)| (key, any(value))).collect())
        }
    }
}

/// Attributes, or the members of any object.
pub(crate) fn object(json: Json) -> Object {
    match any(json) {
        Any::Object(object) => object,
        other => panic!("{other:?} is no object"),
    }
}

/// Plain values to be put into an array.
pub(crate) fn values(json: Json) -> Vec<New> {
    match json {
        Json::Array(values) => values.into_iter().map(|value| New::Any(any(value))).collect(),
        other => panic!("{other} is no array"),
    }
}

/// A delta as Quill writes it.
pub(crate) fn steps(json: Json) -> Vec<Delta> {
    let Json::Array(steps) = json else { panic!("{json} is no delta") };
    let step = |step: Json| {
        let attributes = object(step.get("attributes").cloned().unwrap_or_else(|| json!({})));
        let count =
            |key: &str| step.get(key).map(|count| u32::try_from(count.as_u64().unwrap()).unwrap());
        match (step.get("insert"), count("retain"), count("delete")) {
            (Some(Json::String(text)), None, None) => {
                Delta::Insert(Inserted::Text(text.clone()), attributes)
            }
            (Some(value), None, None) => {
                Delta::Insert(Inserted::Embed(any(value.clone())), attributes)
            }
            (None, Some(len), None) => Delta::Retain(len, attributes),
            (None, None, Some(len)) => Delta::Delete(len),
            _ => panic!("{step} is no step of a delta"),
        }
    };
    steps.into_iter().map(step).collect()
}

/// The JSON of a plain value.
pub(crate) fn plain(value: &Any) -> Json {
    match value {
        Any::Undefined | Any::Null => Json::Null,
        Any::Bool(value) => json!(value),
        // Whole numbers as such: JSON's `1` and `1.0` are not equal here.
        #[expect(clippy::cast_possible_truncation, reason = "whole and below 2^53")]
        Any::Number(number) if number.fract() == 0.0 && number.abs() < 9e15 => {
            json!(*number as i64)
        }
        Any::Number(number) => json!(number),
        Any::BigInt(number) => json!(number),
        Any::String(text) => json!(text),
        Any::Bytes(bytes) => json!(bytes),
        Any::Array(values) => values.iter().map(plain).collect(),
        Any::Object(object) => object_json(object),
    }
}

fn object_json(object: &Object) -> Json {
    Json::Object(object.iter().map(|(key, value)| (key.to_owned(), plain(value))).collect())
}

/// What a value shows.
pub(crate) fn shown(doc: &Doc, value: &Value) -> Json {
    match value {
        Value::Any(value) => plain(value),
        Value::Shared(shared) => content(doc, *shared),
        Value::Doc(subdoc) => json!({ "subdocument": subdoc.guid }),
    }
}

/// What a shared type shows: a text its characters, XML its tags.
pub(crate) fn content(doc: &Doc, shared: impl Into<Shared>) -> Json {
    match shared.into() {
        Shared::Text(text) => json!(text.read(doc)),
        Shared::Array(array) => array.read(doc).iter().map(|value| shown(doc, value)).collect(),
        Shared::Map(map) => {
            let member = |key: String| {
                let value = shown(doc, &map.get(doc, &key).unwrap());
                (key, value)
            };
            Json::Object(map.keys(doc).into_iter().map(member).collect())
        }
        Shared::Xml(xml) => json!(xml.to_xml(doc)),
    }
}

/// A text as a delta, as Yjs's `toDelta` writes it.
pub(crate) fn delta(doc: &Doc, text: Text) -> Json {
    delta_json(doc, &text.delta(doc))
}

/// The JSON of a delta.
pub(crate) fn delta_json(doc: &Doc, steps: &[Delta]) -> Json {
    let step = |step: &Delta| {
        let (mut json, attributes) = match step {
            Delta::Insert(inserted, attributes) => {
                let inserted = match inserted {
                    Inserted::Text(text) => json!(text),
                    Inserted::Embed(value) => plain(value),
                    Inserted::Shared(shared) => content(doc, *shared),
                    Inserted::Values(values) => {
                        values.iter().map(|value| shown(doc, value)).collect()
                    }
                };
                (json!({ "insert": inserted }), Some(attributes))
            }
            Delta::Retain(len, attributes) => (json!({ "retain": len }), Some(attributes)),
            Delta::Delete(len) => (json!({ "delete": len }), None),
        };
        if let Some(attributes) = attributes.filter(|attributes| !attributes.is_empty()) {
            json["attributes"] = object_json(attributes);
        }
        json
    };
    steps.iter().map(step).collect()
}

/// The hexadecimal digits of bytes.
pub(crate) fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |text, byte| text + &format!("{byte:02x}"))
}

/// Events as JSON: the path to what changed, and how its elements or text and its keys did, where they did.
pub(crate) fn events(doc: &Doc, events: &[Event]) -> Json {
    let event = |event: &Event| {
        let step = |step: &PathStep| match step {
            PathStep::Key(key) => json!(**key),
            PathStep::Index(index) => json!(index),
        };
        let mut json = json!({ "path": event.path.iter().map(step).collect::<Json>() });
        if !event.delta.is_empty() {
            json["delta"] = delta_json(doc, &event.delta);
        }
        if !event.keys.is_empty() {
            let keys = event.keys.iter().map(|(key, change)| {
                let change = match change {
                    KeyChange::Added => json!({ "action": "add" }),
                    KeyChange::Updated(old) => {
                        json!({ "action": "update", "oldValue": shown(doc, old) })
                    }
                    KeyChange::Removed(old) => {
                        json!({ "action": "delete", "oldValue": shown(doc, old) })
                    }
                };
                (key.to_string(), change)
            });
            json["keys"] = Json::Object(keys.collect());
        }
        json
    };
    events.iter().map(event).collect()
}
