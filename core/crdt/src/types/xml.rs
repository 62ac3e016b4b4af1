//! Shared XML: elements, fragments and hooks, which have children and attributes. XML texts are [`Text`](crate::Text)s.

use crate::doc::Doc;
use crate::doc::transaction::Transaction;
use crate::encoding::content::TypeKind;
use crate::error::Error;
use crate::structs::item::{Kind, NIL};
use crate::types::array::Array;
use crate::types::map::Map;
use crate::types::value::{New, Shared, Value, spell};

/// An XML element, fragment or hook in a document.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Xml(pub(crate) u32);

impl Xml {
    /// The name of an element or hook; `None` for a fragment.
    pub fn name(self, doc: &Doc) -> Option<&str> {
        match &doc.structs.types[self.0 as usize].kind {
            TypeKind::XmlElement(name) | TypeKind::XmlHook(name) => Some(name),
            _ => None,
        }
    }

    /// How many children there are.
    pub fn len(self, doc: &Doc) -> u32 {
        Array(self.0).len(doc)
    }

    /// Whether there are no children.
    pub fn is_empty(self, doc: &Doc) -> bool {
        self.len(doc) == 0
    }

    /// The children.
    pub fn children(self, doc: &Doc) -> Vec<Value> {
        Array(self.0).read(doc)
    }

    /// Returns a child.
    pub fn get(self, doc: &Doc, index: u32) -> Option<Value> {
        Array(self.0).get(doc, index)
    }

    /// Inserts children at an index.
    ///
    /// # Errors
    /// The index lies past the end; the parent was deleted; the client has made 2^32 units.
    pub fn insert(
        self,
        transaction: &mut Transaction<'_>,
        index: u32,
        children: Vec<New>,
    ) -> Result<(), Error> {
        Array(self.0).insert(transaction, index, children)
    }

    /// Deletes `len` children from an index on.
    ///
    /// # Errors
    /// The range runs past the end; the parent was deleted.
    pub fn delete(
        self,
        transaction: &mut Transaction<'_>,
        index: u32,
        len: u32,
    ) -> Result<(), Error> {
        Array(self.0).delete(transaction, index, len)
    }

    /// Returns an attribute.
    pub fn attribute(self, doc: &Doc, key: &str) -> Option<Value> {
        Map(self.0).get(doc, key)
    }

    /// The names of the attributes.
    pub fn attributes(self, doc: &Doc) -> Vec<String> {
        Map(self.0).keys(doc)
    }

    /// Sets an attribute.
    ///
    /// # Errors
    /// The element was deleted; the client has made 2^32 units.
    pub fn set_attribute(
        self,
        transaction: &mut Transaction<'_>,
        key: &str,
        value: impl Into<New>,
    ) -> Result<(), Error> {
        Map(self.0).insert(transaction, key, value)
    }

    /// Removes an attribute; returns whether there was one.
    pub fn remove_attribute(self, transaction: &mut Transaction<'_>, key: &str) -> bool {
        Map(self.0).remove(transaction, key)
    }

    /// The tree as Yjs's `toString` writes it: attributes by name, nothing escaped; whatever is no XML or text, hooks
    /// too, as `[object Object]`.
    pub fn to_xml(self, doc: &Doc) -> String {
        let mut out = String::new();
        write(doc, Shared::Xml(self), &mut out);
        out
    }
}

/// Writes a tree without recursion, so that depth costs no stack.
fn write(doc: &Doc, root: Shared, out: &mut String) {
    enum Step {
        Open(Shared),
        Say(String),
    }
    let mut steps = vec![Step::Open(root)];
    while let Some(step) = steps.pop() {
        let shared = match step {
            Step::Say(text) => {
                out.push_str(&text);
                continue;
            }
            Step::Open(shared) => shared,
        };
        let kind = &doc.structs.types[shared.handle() as usize].kind;
        let xml = match (shared, kind) {
            (Shared::Xml(xml), TypeKind::XmlElement(_) | TypeKind::XmlFragment) => xml,
            (Shared::Text(text), TypeKind::XmlText) => {
                out.push_str(&crate::types::text::to_xml(doc, text));
                continue;
            }
            (Shared::Text(text), _) => {
                out.push_str(&text.read(doc));
                continue;
            }
            _ => {
                out.push_str("[object Object]");
                continue;
            }
        };
        let mut inside = Vec::new();
        let name = xml.name(doc).map(str::to_lowercase);
        if let Some(name) = &name {
            out.extend(["<", name]);
            let mut keys = xml.attributes(doc);
            keys.sort_by(|left, right| left.encode_utf16().cmp(right.encode_utf16()));
            for key in keys {
                inside.push(Step::Say(format!(" {key}=\"")));
                inside.extend(xml.attribute(doc, &key).map(|value| match value {
                    Value::Any(value) => Step::Say(spell(&value)),
                    Value::Shared(shared) => Step::Open(shared),
                    Value::Doc(_) => Step::Say("[object Object]".to_owned()),
                }));
                inside.push(Step::Say("\"".to_owned()));
            }
            inside.push(Step::Say(">".to_owned()));
        }
        let structs = &doc.structs;
        let mut at = structs.types[xml.0 as usize].start;
        while at != NIL {
            let item = &structs.items[at];
            if !item.deleted && item.kind == Kind::Type {
                inside.push(Step::Open(Shared::of(structs, item.content)));
            }
            at = item.right;
        }
        inside.extend(name.map(|name| Step::Say(format!("</{name}>"))));
        steps.extend(inside.into_iter().rev());
    }
}

#[cfg(test)]
mod tests {
    use crate::{Any, ClientId, Doc, New, Object, Options, Shared, Subdoc, Value};

    #[test]
    fn what_is_no_xml_is_spelled_as_yjs_spells_it() {
        let mut doc = Doc::new(ClientId::new(1).unwrap(), Options::default());
        let xml = doc.xml("x");
        let mut transaction = doc.transact();
        let hook = New::XmlHook("hk".to_owned());
        xml.insert(&mut transaction, 0, vec![New::XmlText, hook, New::Text, New::Map]).unwrap();
        let bold: Object = [("bold".to_owned(), Any::Bool(true))].into_iter().collect();
        for at in [0, 2] {
            let Some(Value::Shared(Shared::Text(text))) = xml.get(transaction.doc(), at) else {
                panic!("no text")
            };
            text.insert_with(&mut transaction, 0, "hi", &bold).unwrap();
        }
        transaction.commit();
        assert_eq!(xml.to_xml(&doc), "<bold>hi</bold>[object Object]hi[object Object]");
    }

    #[test]
    fn types_and_documents_in_attributes_are_spelled_as_yjs_spells_them() {
        let mut doc = Doc::new(ClientId::new(1).unwrap(), Options::default());
        let xml = doc.xml("x");
        let mut transaction = doc.transact();
        xml.insert(&mut transaction, 0, vec![New::XmlElement("A".to_owned())]).unwrap();
        let Some(Value::Shared(Shared::Xml(outer))) = xml.get(transaction.doc(), 0) else {
            panic!("no element")
        };
        outer.set_attribute(&mut transaction, "text", New::Text).unwrap();
        outer.set_attribute(&mut transaction, "map", New::Map).unwrap();
        outer.set_attribute(&mut transaction, "doc", Subdoc::new("guid")).unwrap();
        outer.set_attribute(&mut transaction, "xml", New::XmlElement("B".to_owned())).unwrap();
        let Some(Value::Shared(Shared::Text(text))) = outer.attribute(transaction.doc(), "text")
        else {
            panic!("no text")
        };
        text.insert(&mut transaction, 0, "hi").unwrap();
        transaction.commit();
        assert_eq!(
            xml.to_xml(&doc),
            r#"<a doc="[object Object]" map="[object Object]" text="hi" xml="<b></b>"></a>"#
        );
    }
}
