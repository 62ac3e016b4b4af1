//! The doors: one function each.

#![expect(clippy::unwrap_used, reason = "what does not hold panics")]

mod conversation;
mod documents;
mod folder;
pub(crate) mod stored;
mod values;

/// The longest input worth trying, in bytes; `cargo xtask fuzz` makes no longer ones.
pub const MAX_LEN: usize = 1024;

/// A door for foreign bytes.
#[derive(Debug, Clone, Copy)]
pub struct Target {
    /// What it is called by; its folder in `corpus/` as well.
    pub name: &'static str,
    /// Goes through the door; panics when a promise does not hold.
    pub run: fn(&[u8]),
}

const fn target(name: &'static str, run: fn(&[u8])) -> Target {
    Target { name, run }
}

/// All doors.
pub const TARGETS: [Target; 22] = [
    target("update-v1", documents::update_v1),
    target("update-v2", documents::update_v2),
    target("tools-v1", documents::tools_v1),
    target("tools-v2", documents::tools_v2),
    target("state-vector", documents::state_vector),
    target("snapshot", documents::snapshot),
    target("anchor", documents::anchor),
    target("script", documents::script),
    target("any", values::any),
    target("json", values::json),
    target("columns", values::columns),
    target("frames", conversation::frames),
    target("awareness", conversation::awareness),
    target("links", conversation::links),
    target("log", stored::log),
    target("stored-snapshot", stored::snapshot),
    target("stored-file", stored::file),
    target("text-format", folder::text_format),
    target("name", folder::name),
    target("tree", folder::tree),
    target("paper-toml", folder::paper_toml),
    target("three-way", folder::three_way),
];

/// Returns the target of a name.
pub fn named(name: &str) -> Option<Target> {
    TARGETS.into_iter().find(|target| target.name == name)
}
