//! A document, or a part of it, as JSON: what JavaScript's `JSON.stringify` makes of Yjs's `toJSON`.
//!
//! Texts are strings without formats, XML is a string of its tags, a subdocument is an object without members, and a
//! root that nobody has asked for by a type is left out. The text is written without recursion, so that depth costs no
//! stack.

use std::collections::HashMap;

use lib0::any::Object;
use lib0::{Any, json};

use crate::doc::Doc;
use crate::encoding::content::TypeKind;
use crate::types::map::Map;
use crate::types::text::to_xml;
use crate::types::value::{Shared, Value};

impl Doc {
    /// The roots by name, as the text of a JSON object.
    pub fn to_json(&self) -> String {
        let structs = &self.structs;
        let roots = structs.roots_in_order().into_iter().filter_map(|root| {
            let known = &structs.types[root as usize];
            let name = structs.key(known.name).to_owned();
            (known.kind != TypeKind::Untyped)
                .then(|| (name, Value::Shared(Shared::of(structs, root))))
        });
        let mut steps = Vec::new();
        add_object(&mut steps, roots.collect());
        write(self, steps)
    }
}

impl Shared {
    /// What it shows, as the text of a JSON value.
    pub fn to_json(self, doc: &Doc) -> String {
        write(doc, vec![Step::Value(Value::Shared(self))])
    }
}

enum Step {
    Raw(String),
    Value(Value),
}

/// Adds the steps that write an object; the last one added is the first one taken.
fn add_object(steps: &mut Vec<Step>, mut members: Vec<(String, Value)>) {
    members.retain(|(_, value)| *value != Value::Any(Any::Undefined));
    // In JavaScript's order: keys that are array indices come first.
    let keys: Object = members.iter().map(|(key, _)| (key.clone(), Any::Undefined)).collect();
    let places: HashMap<&str, usize> = keys.iter().map(|(key, _)| key).zip(0..).collect();
    members.sort_by_key(|(key, _)| places.get(key.as_str()).copied());
    steps.push(Step::Raw("}".to_owned()));
    for (at, (key, value)) in members.into_iter().enumerate().rev() {
        let comma = if at == 0 { "" } else { "," };
        steps.push(Step::Value(value));
        steps.push(Step::Raw(format!("{comma}{}:", string(key))));
    }
    steps.push(Step::Raw("{".to_owned()));
}

fn add_array(steps: &mut Vec<Step>, values: Vec<Value>) {
    steps.push(Step::Raw("]".to_owned()));
    for (at, value) in values.into_iter().enumerate().rev() {
        steps.push(Step::Value(value));
        if at > 0 {
            steps.push(Step::Raw(",".to_owned()));
        }
    }
    steps.push(Step::Raw("[".to_owned()));
}

fn string(text: String) -> String {
    json::stringify(&Any::String(text)).unwrap_or_default()
}

fn write(doc: &Doc, mut steps: Vec<Step>) -> String {
    let entries = |map: Map| -> Vec<(String, Value)> {
        let value = |key: String| map.get(doc, &key).map(|value| (key, value));
        map.keys(doc).into_iter().filter_map(value).collect()
    };
    let mut out = String::new();
    while let Some(step) = steps.pop() {
        match step {
            Step::Raw(text) => out.push_str(&text),
            Step::Value(Value::Any(value)) => {
                out.push_str(json::stringify(&value).as_deref().unwrap_or("null"));
            }
            Step::Value(Value::Doc(_)) => out.push_str("{}"),
            Step::Value(Value::Shared(shared)) => {
                match (shared, &doc.structs.types[shared.handle() as usize].kind) {
                    (Shared::Map(map), _) => add_object(&mut steps, entries(map)),
                    (Shared::Xml(xml), TypeKind::XmlHook(_)) => {
                        add_object(&mut steps, entries(Map(xml.0)));
                    }
                    (Shared::Array(array), _) => add_array(&mut steps, array.read(doc)),
                    (Shared::Text(text), TypeKind::XmlText) => {
                        out.push_str(&string(to_xml(doc, text)));
                    }
                    (Shared::Text(text), _) => out.push_str(&string(text.read(doc))),
                    (Shared::Xml(xml), _) => out.push_str(&string(xml.to_xml(doc))),
                }
            }
        }
    }
    out
}
