//! Takes what people wrote out of an update and leaves its structure, so that a document that shows a fault can be given
//! away: who typed where and how much stays, letters, values, keys and names go. The bytes are Yjs's.
//!
//! Each item is numbered. A text becomes the last digit of its number as often as it is long, a value the number, a key
//! or name the number where it first stood. The names of roots stay, as in Yjs.

use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::Arc;

use lib0::Any;
use lib0::any::Object;

use super::rewrite;
use crate::encoding::block::BlockKind;
use crate::encoding::content::{Content, TypeKind};
use crate::encoding::decoder::{Decoder, DecoderV1, DecoderV2, budget};
use crate::encoding::encoder::{Encoder, EncoderV1, EncoderV2};
use crate::encoding::subdoc::Subdoc;
use crate::error::Error;

/// What is taken out beside texts, values and keys of maps; everything, if nothing else is said.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Obfuscate {
    /// Names and values of formats. The end of a format stays an end.
    pub formatting: bool,
    /// Guids and options of subdocuments.
    pub subdocs: bool,
    /// Names of XML elements and hooks.
    pub xml_names: bool,
}

impl Default for Obfuscate {
    fn default() -> Self {
        Self { formatting: true, subdocs: true, xml_names: true }
    }
}

/// Takes out of an update of the first format what people wrote (`obfuscateUpdate`).
///
/// # Errors
/// The update is malformed.
pub fn obfuscate_v1(update: &[u8], what: Obfuscate) -> Result<Vec<u8>, Error> {
    obfuscate::<DecoderV1<'_>, EncoderV1>(update, what)
}

/// Takes out of an update of the second format what people wrote (`obfuscateUpdateV2`).
///
/// # Errors
/// The update is malformed.
pub fn obfuscate_v2(update: &[u8], what: Obfuscate) -> Result<Vec<u8>, Error> {
    obfuscate::<DecoderV2<'_>, EncoderV2>(update, what)
}

fn obfuscate<'u, D: Decoder<'u>, E: Encoder>(
    update: &'u [u8],
    what: Obfuscate,
) -> Result<Vec<u8>, Error> {
    let mut names = Names::default();
    let mut number: u32 = 0;
    rewrite::<D, E>(update, budget(update), |block| {
        let BlockKind::Item(item) = &mut block.kind else { return };
        names.replace(&mut item.content, number, what);
        if let Some(key) = item.key.as_mut().filter(|key| !key.is_empty()) {
            *key = Names::name(&mut names.keys, key, || number.to_string()).into();
        }
        number += 1;
    })
}

/// What names, keys and values of formats have become.
#[derive(Default)]
struct Names {
    keys: HashMap<String, String>,
    xml: HashMap<String, String>,
    formats: HashMap<String, String>,
    format_values: HashMap<String, u32>,
}

impl Names {
    fn name(
        known: &mut HashMap<String, String>,
        old: &str,
        new: impl FnOnce() -> String,
    ) -> String {
        known.entry(old.to_owned()).or_insert_with(new).clone()
    }

    fn replace(&mut self, content: &mut Content<'_>, number: u32, what: Obfuscate) {
        match content {
            Content::Json(values) | Content::Any(values) => {
                *values = Cow::Owned(vec![Any::from(number); values.len()]);
            }
            #[expect(clippy::cast_possible_truncation, reason = "as a byte of a Uint8Array")]
            Content::Binary(bytes) => *bytes = Cow::Owned(vec![number as u8]),
            Content::String(text, units) => {
                *text = Cow::Owned((number % 10).to_string().repeat(*units as usize));
            }
            Content::Embed(value) => *value = Cow::Owned(Any::Object(Object::default())),
            Content::Format(key, value) if what.formatting => {
                *key = Self::name(&mut self.formats, key, || number.to_string()).into();
                if **value != Any::Null {
                    let first = self.format_value(value, number);
                    let member = std::iter::once(("i".to_owned(), Any::from(first)));
                    *value = Arc::new(Any::Object(member.collect()));
                }
            }
            Content::Type(kind) if what.xml_names => match &**kind {
                TypeKind::XmlElement(name) => {
                    let name = Self::name(&mut self.xml, name, || format!("node-{number}"));
                    *kind = Cow::Owned(TypeKind::XmlElement(name));
                }
                TypeKind::XmlHook(name) => {
                    let name = Self::name(&mut self.xml, name, || format!("hook-{number}"));
                    *kind = Cow::Owned(TypeKind::XmlHook(name));
                }
                _ => {}
            },
            Content::Doc(subdoc) if what.subdocs => {
                *subdoc = Cow::Owned(Box::new(Subdoc::new(number.to_string())));
            }
            Content::Deleted(_) | Content::Format(..) | Content::Type(_) | Content::Doc(_) => {}
        }
    }

    /// The number of the item in which a format's value first stood. Objects, arrays and bytes are each a new one, as
    /// JavaScript tells them apart by identity.
    fn format_value(&mut self, value: &Any, number: u32) -> u32 {
        let key = match value {
            Any::Object(_) | Any::Array(_) | Any::Bytes(_) => return number,
            // -0 and 0 are one.
            Any::Number(zero) if *zero == 0.0 => format!("{:?}", Any::Number(0.0)),
            plain => format!("{plain:?}"),
        };
        *self.format_values.entry(key).or_insert(number)
    }
}
