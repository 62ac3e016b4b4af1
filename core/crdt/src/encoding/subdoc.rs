//! What a document holds of a subdocument: its name and options, never its contents.
//!
//! A subdocument is a [`Doc`](crate::Doc) of its own, which the caller makes, stores and sends beside the one it stands
//! in. Its options travel as an object. Yjs makes a document of them as soon as it reads them and writes again only what
//! that keeps; so do we.

use lib0::Any;
use lib0::any::Object;

use crate::id::Id;

/// A document inside another one, by name: an element of an array or the value of a key.
#[derive(Debug, Clone, PartialEq)]
pub struct Subdoc {
    /// The name by which everybody knows the same subdocument.
    pub guid: String,
    /// Whatever the caller wants to say of it (`meta`); `Null`: nothing.
    pub meta: Any,
    /// Whether it drops the contents of what is deleted.
    pub gc: bool,
    /// Whether everybody who sees it should load it at once (`autoLoad`).
    pub auto_load: bool,
    /// Whether it should be loaded here (`shouldLoad`). Never written: others decide for themselves.
    pub should_load: bool,
    /// The unit that holds it; `None` if it stands in no document yet.
    pub(crate) place: Option<Id>,
}

impl Subdoc {
    /// Makes one to be put into a document: collected, loaded here and by others on demand, as Yjs's `new Doc`.
    pub fn new(guid: impl Into<String>) -> Self {
        Self {
            guid: guid.into(),
            meta: Any::Null,
            gc: true,
            auto_load: false,
            should_load: true,
            place: None,
        }
    }

    /// Reads the options as they travel; `None` if there are none to read, on which Yjs fails.
    pub(crate) fn from_options(guid: String, options: Any) -> Option<Self> {
        let mut subdoc = Self { should_load: false, ..Self::new(guid) };
        let members = match options {
            Any::Undefined | Any::Null => return None,
            Any::Object(members) => members,
            _ => Object::default(),
        };
        for (key, value) in members.iter().filter(|(_, value)| **value != Any::Undefined) {
            match (key, value) {
                ("guid", Any::String(guid)) => guid.clone_into(&mut subdoc.guid),
                ("gc", value) => subdoc.gc = is_true(value),
                ("autoLoad", value) => subdoc.auto_load = is_true(value),
                ("shouldLoad", value) => subdoc.should_load = is_true(value),
                ("meta", value) => subdoc.meta = value.clone(),
                _ => {}
            }
        }
        subdoc.should_load |= subdoc.auto_load;
        Some(subdoc)
    }

    /// The options as they travel: only those that are not as usual.
    pub(crate) fn options(&self) -> Any {
        let gc = (!self.gc).then_some(("gc", Any::Bool(false)));
        let auto_load = self.auto_load.then_some(("autoLoad", Any::Bool(true)));
        let has_meta = !matches!(self.meta, Any::Null | Any::Undefined);
        let meta = has_meta.then(|| ("meta", self.meta.clone()));
        let members = [gc, auto_load, meta].into_iter().flatten();
        Any::Object(members.map(|(key, value)| (key.to_owned(), value)).collect())
    }
}

/// Whether JavaScript takes a value for true.
fn is_true(value: &Any) -> bool {
    match value {
        Any::Undefined | Any::Null => false,
        Any::Bool(value) => *value,
        Any::Number(number) => *number != 0.0 && !number.is_nan(),
        Any::BigInt(number) => *number != 0,
        Any::String(text) => !text.is_empty(),
        Any::Bytes(_) | Any::Array(_) | Any::Object(_) => true,
    }
}
