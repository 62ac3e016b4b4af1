//! Editors: opening and closing them, their edits, and what they are told of others' edits.

use std::time::Instant;

use paper::{FileId, Kind};

use super::{EventLoop, PLACE, read_place};
use crate::clock::now;
use crate::documents::{Name, News, Origin};
use crate::editor::{Buffer, Change, Edit, Editor, EditorId, Opened, Patch, Selection, changes};
use crate::notification::{Level, Notification};
use crate::presence::Said;
use crate::problem::Problem;

impl EventLoop {
    pub(super) fn open_editor(&mut self, file: FileId, now: Instant) -> Result<Opened, Problem> {
        let entry = self.documents.entries().get(&file).ok_or(Problem::NoSuchFile)?;
        let Kind::Text { format, .. } = entry.kind else {
            return Err(Problem::NotText { path: entry.path.clone() });
        };
        let text = self.documents.text(file).ok_or(Problem::NoSuchFile)?;
        let editor = EditorId(self.next_editor);
        self.next_editor += 1;
        self.buffers.entry(file).or_insert_with(|| Buffer::new(&text));
        self.editors.insert(editor, Editor::new(file));
        let head = self.place.filter(|(last, _)| *last == file).map(|(_, head)| head);
        let head = head.or_else(|| self.head_of(file));
        self.place = Some((file, head.unwrap_or_default()));
        self.place_kept.get_or_insert(now);
        self.say_all(now);
        self.presence_changed = true;
        Ok(Opened {
            editor,
            file,
            version: 0,
            text,
            encoding: format.encoding.label().to_owned(),
            eol: format.eol.label().to_owned(),
            head,
        })
    }

    pub(super) fn edit(&mut self, edit: &Edit) {
        let Some(editor) = self.editors.get(&edit.editor) else { return };
        if editor.version() != edit.version {
            // The window has, or is about to get, the patches that it lacks.
            return;
        }
        let file = editor.file;
        let checked = self.buffers.get(&file).map(|buffer| buffer.check(&edit.updates));
        if !matches!(checked, Some(Ok(()))) {
            self.end_editor(edit.editor, "An edit did not fit the text; it is opened anew.");
            return;
        }
        for step in &edit.updates {
            let done =
                self.documents.edit(file, Origin::Editor(edit.editor), |transaction, text| {
                    for change in step.iter().rev() {
                        text.delete(transaction, change.from, change.to - change.from)?;
                        text.insert(transaction, change.from, &change.insert)?;
                    }
                    Ok(())
                });
            if let Err(error) = done {
                self.notice(Level::Bad, format!("An edit could not be kept: {error}."), Some(file));
                self.end_editor(edit.editor, "An edit could not be kept; it is opened anew.");
                return;
            }
            let news = self.documents.take_news();
            if news.is_empty() {
                // Changes nothing, but the window counts it.
                self.push_patch(edit.editor, Patch { own: true, changes: step.clone() });
            }
            for news in news {
                self.pass_on_edit(edit.editor, file, step, &news);
            }
        }
    }

    pub(super) fn pass_on_edit(
        &mut self,
        own: EditorId,
        file: FileId,
        step: &[Change],
        news: &News,
    ) {
        let now = now();
        if let Some(connection) = &mut self.connection {
            connection.on_news(news, &self.documents);
        }
        self.mirror.changed(file, now);
        if let Some(buffer) = self.buffers.get_mut(&file) {
            let applied = buffer.apply(step);
            debug_assert!(applied.is_ok(), "the edit was checked before");
        }
        for id in self.editors_of(file) {
            self.push_patch(id, Patch { own: id == own, changes: step.to_vec() });
        }
    }

    /// Somebody else changed a text.
    pub(super) fn patch_editors(&mut self, file: FileId, news: &News) {
        let changes = changes(&news.delta);
        if changes.is_empty() {
            return;
        }
        let Some(buffer) = self.buffers.get_mut(&file) else { return };
        let fits = buffer.apply(&changes).is_ok();
        for id in self.editors_of(file) {
            if fits {
                self.push_patch(id, Patch { own: false, changes: changes.clone() });
            } else {
                self.end_editor(id, "The text is opened anew.");
            }
        }
    }

    pub(super) fn editors_of(&self, file: FileId) -> Vec<EditorId> {
        self.editors.iter().filter(|(_, editor)| editor.file == file).map(|(id, _)| *id).collect()
    }

    pub(super) fn push_patch(&mut self, id: EditorId, patch: Patch) {
        let Some(editor) = self.editors.get_mut(&id) else { return };
        let (_, patches) = self.patches.entry(id).or_insert_with(|| (editor.version(), Vec::new()));
        editor.step(&patch.changes);
        patches.push(patch);
        self.presence_changed = true;
    }

    pub(super) fn select(&mut self, selection: Selection, now: Instant) {
        let Some(editor) = self.editors.get_mut(&selection.editor) else { return };
        if !editor.select(selection.version, selection.anchor, selection.head) {
            return;
        }
        let file = editor.file;
        let (anchor, head) = editor.selection.unwrap_or_default();
        self.place = Some((file, head));
        self.place_kept.get_or_insert(now);
        if self.connection.is_none() {
            return;
        }
        let anchors = self.documents.anchor(file, anchor).zip(self.documents.anchor(file, head));
        let said = Said { person: self.person.clone(), file: None, cursor: anchors };
        if let Some(connection) = &mut self.connection {
            connection.say(Name::File(file), Some(said), &self.documents, now);
        }
        self.say_where(now);
        self.presence_changed = true;
    }

    pub(super) fn close_editor(&mut self, id: EditorId, now: Instant) {
        let Some(editor) = self.editors.remove(&id) else { return };
        self.patches.remove(&id);
        self.cursors.remove(&id);
        self.keep_place();
        let file = editor.file;
        if self.editors_of(file).is_empty() {
            self.buffers.remove(&file);
            if let Some(connection) = &mut self.connection {
                connection.say(Name::File(file), None, &self.documents, now);
            }
        }
        self.say_where(now);
    }

    pub(super) fn end_editor(&mut self, id: EditorId, reason: &str) {
        self.close_editor(id, now());
        (self.notify)(Notification::EditorClosed { editor: id, reason: reason.to_owned() });
    }

    /// Says everywhere who and where we are.
    pub(super) fn say_all(&mut self, now: Instant) {
        let open: Vec<(FileId, Option<(u32, u32)>)> =
            self.editors.values().map(|editor| (editor.file, editor.selection)).collect();
        for (file, selection) in open {
            let anchors = selection.and_then(|(anchor, head)| {
                self.documents.anchor(file, anchor).zip(self.documents.anchor(file, head))
            });
            let said = Said { person: self.person.clone(), file: None, cursor: anchors };
            if let Some(connection) = &mut self.connection {
                connection.say(Name::File(file), Some(said), &self.documents, now);
            }
        }
        self.say_where(now);
        self.presence_changed = true;
    }

    pub(super) fn say_where(&mut self, now: Instant) {
        let file = self.place.map(|(file, _)| file).filter(|file| self.buffers.contains_key(file));
        let said = Said { person: self.person.clone(), file, cursor: None };
        if let Some(connection) = &mut self.connection {
            connection.say(Name::Tree, Some(said), &self.documents, now);
        }
    }

    pub(super) fn head_of(&self, file: FileId) -> Option<u32> {
        let place = self.documents.store().meta(&format!("{PLACE}/{file}"))?;
        read_place(&place).map(|(_, head)| head)
    }

    pub(super) fn keep_place(&mut self) {
        self.place_kept = None;
        let Some((file, head)) = self.place else { return };
        let place = format!("{file} {head}");
        for key in [PLACE.to_owned(), format!("{PLACE}/{file}")] {
            if self.documents.store().meta(&key).as_deref() == Some(place.as_bytes()) {
                continue;
            }
            // Only a convenience: whoever cannot keep it has been told of the store's trouble.
            if let Ok(lsn) = self.documents.store().put_meta(&key, place.as_bytes()) {
                self.documents.note_written(lsn);
            }
        }
    }
}
