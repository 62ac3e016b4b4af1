//! Who is there: the person on this device, the others, and their cursors.
//!
//! On the wire it is y-protocols awareness in the shape that y-codemirror.next writes, so that
//! other Yjs clients see us and we them. What comes from outside is taken as it makes sense: a
//! name is cut, an unknown color becomes one of ours.

use paper::FileId;
use serde_json::{Value, json};

/// How many colors there are for people.
pub const PERSON_COLORS: u8 = 8;

/// The colors as other Yjs clients want them: for a caret, and for a selection.
const CSS_COLORS: [&str; PERSON_COLORS as usize] =
    ["#007c77", "#533cb2", "#876a00", "#5a0843", "#d21f66", "#204662", "#0a4004", "#943a1c"];

/// Longer names are cut.
const MAX_NAME_CHARS: usize = 60;

/// A person, as the others see them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Person {
    /// The name, as typed.
    pub name: String,
    /// Which of the [`PERSON_COLORS`] colors.
    pub color: u8,
}

/// A person who has the paper open.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Presence {
    /// Tells two windows of one person apart; stays while they are there.
    pub id: String,
    /// Is it this device?
    pub me: bool,
    /// The name.
    pub name: String,
    /// Which of the [`PERSON_COLORS`] colors.
    pub color: u8,
    /// The file that they look at.
    pub file: Option<FileId>,
    /// The line that their cursor is on, from 1, if known.
    pub line: Option<u32>,
}

/// Somebody else's cursor in an editor.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cursor {
    /// The same as [`Presence::id`].
    pub id: String,
    /// The name.
    pub name: String,
    /// Which of the [`PERSON_COLORS`] colors.
    pub color: u8,
    /// The end of the selection that stays, in UTF-16 units.
    pub anchor: u32,
    /// The end that moves.
    pub head: u32,
}

/// What one client says of itself in one room.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Said {
    pub(crate) person: Person,
    /// In the tree's room: the file that they look at.
    pub(crate) file: Option<FileId>,
    /// In a file's room: the anchors (as JSON) of their selection, `anchor` and `head`.
    pub(crate) cursor: Option<(String, String)>,
}

impl Said {
    /// Returns the awareness state.
    pub(crate) fn write(&self) -> String {
        let color = CSS_COLORS[usize::from(self.person.color % PERSON_COLORS)];
        let name = cut(&self.person.name);
        let mut state = json!({
            "user": { "name": name, "color": color, "colorLight": format!("{color}33") }
        });
        if let Some(file) = self.file {
            state["file"] = Value::String(file.to_string());
        }
        if let Some((anchor, head)) = &self.cursor {
            let value = |text| serde_json::from_str(text).unwrap_or(Value::Null);
            let (anchor, head): (Value, Value) = (value(anchor), value(head));
            state["cursor"] = json!({ "anchor": anchor, "head": head });
        }
        state.to_string()
    }

    /// Reads an awareness state; `None` for one that is of nobody.
    pub(crate) fn read(client: u64, state: &str) -> Option<Self> {
        let state: Value = serde_json::from_str(state).ok()?;
        let user = state.get("user")?;
        let name = cut(user.get("name").and_then(Value::as_str).unwrap_or_default());
        let color = user.get("color").and_then(Value::as_str).unwrap_or_default();
        let file = state.get("file").and_then(Value::as_str);
        let cursor = state.get("cursor").filter(|cursor| cursor.is_object()).and_then(|cursor| {
            Some((cursor.get("anchor")?.to_string(), cursor.get("head")?.to_string()))
        });
        let name = if name.is_empty() { "Somebody".to_owned() } else { name };
        let person = Person { name, color: own_color(client, color) };
        Some(Self { person, file: file.and_then(|file| FileId::parse(file).ok()), cursor })
    }
}

fn own_color(client: u64, css: &str) -> u8 {
    let known = CSS_COLORS.iter().position(|color| color.eq_ignore_ascii_case(css));
    // Somebody from another program: any color, but always the same.
    let color = known.map_or(client % u64::from(PERSON_COLORS), |known| known as u64);
    u8::try_from(color).unwrap_or_default()
}

/// Returns the name as one line without anything that cannot be seen.
fn cut(name: &str) -> String {
    let seen = |&char: &char| {
        !char.is_control()
            && !matches!(char, '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}')
    };
    let name: String = name.chars().filter(seen).take(MAX_NAME_CHARS).collect();
    name.trim().to_owned()
}

/// Returns a client's id as it is shown to windows.
pub(crate) fn presence_id(client: u64) -> String {
    format!("{client:x}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_said_is_read_back() {
        let said = Said {
            person: Person { name: "Ann".into(), color: 4 },
            file: Some(FileId::from_bytes([1; 16])),
            cursor: Some((
                r#"{"tname":"text"}"#.into(),
                r#"{"item":{"client":1,"clock":2}}"#.into(),
            )),
        };
        assert_eq!(Said::read(7, &said.write()), Some(said));
    }

    #[test]
    fn others_are_taken_as_they_make_sense() {
        let check = |state: &str, expected: Option<(&str, u8)>| {
            let said = Said::read(9, state);
            let found = said.as_ref().map(|said| (said.person.name.as_str(), said.person.color));
            assert_eq!(found, expected, "{state}");
        };
        check("{}", None);
        check("nonsense", None);
        check(r#"{"user":{}}"#, Some(("Somebody", 1)));
        check(
            r##"{"user":{"name":"B\u202eo\n","color":"#30bced"},"cursor":null}"##,
            Some(("Bo", 1)),
        );
        check(
            r##"{"user":{"name":"Bo","color":"#943A1C"},"cursor":{"anchor":1}}"##,
            Some(("Bo", 7)),
        );
        check(r#"{"user":{"name":5,"color":[]},"file":"../x"}"#, Some(("Somebody", 1)));
        let long = format!(r#"{{"user":{{"name":"{}"}}}}"#, "x".repeat(999));
        assert_eq!(Said::read(1, &long).unwrap().person.name.len(), 60);
    }
}
