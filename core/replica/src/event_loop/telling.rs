//! What is told to whoever listens, and answered to whoever waits.

use std::time::{Duration, Instant};

use paper::FileId;

use super::{EventLoop, JOIN_PATIENCE, MAX_NOTICES, answer};
use crate::clock::wall_ms;
use crate::connection::Connection;
use crate::documents::Name;
use crate::notification::{
    Level, Network, Notice, Notification, PaperView, Saved, Sharing, Status,
};
use crate::presence::{Cursor, Presence, presence_id};
use crate::problem::Problem;

impl EventLoop {
    pub(super) fn notice(&mut self, level: Level, text: String, file: Option<FileId>) {
        if self.notices.back().is_some_and(|last| last.text == text) {
            return;
        }
        if self.notices.len() == MAX_NOTICES {
            self.notices.pop_front();
        }
        let notice = Notice { time_ms: wall_ms(), level, text, file };
        self.notices.push_back(notice.clone());
        (self.notify)(Notification::Notice(notice));
    }

    /// The status comes first: whoever hears that an edit was taken must not still read "saved" from before it.
    pub(super) fn tell(&mut self) {
        let status = self.current_status();
        if self.status.as_ref() != Some(&status) {
            self.status = Some(status.clone());
            (self.notify)(Notification::Status(status));
        }
        for (editor, (version, patches)) in std::mem::take(&mut self.patches) {
            (self.notify)(Notification::Patches { editor, version, patches });
        }
        if self.mirror.take_files_changed() {
            (self.notify)(Notification::Files(self.mirror.files(&self.documents)));
        }
        if std::mem::take(&mut self.presence_changed) {
            self.tell_cursors();
        }
    }

    pub(super) fn tell_cursors(&mut self) {
        let Some(connection) = &self.connection else {
            for (editor, cursors) in &mut self.cursors {
                if !std::mem::take(cursors).is_empty()
                    && let Some(state) = self.editors.get(editor)
                {
                    let (version, cursors) = (state.version(), Vec::new());
                    (self.notify)(Notification::Cursors { editor: *editor, version, cursors });
                }
            }
            return;
        };
        for (&id, editor) in &self.editors {
            let others = connection.others(Name::File(editor.file), &self.documents);
            let cursors: Vec<Cursor> = others
                .into_iter()
                .filter_map(|(client, said)| {
                    let (anchor, head) = said.cursor?;
                    Some(Cursor {
                        id: presence_id(client),
                        name: said.person.name,
                        color: said.person.color,
                        anchor: self.documents.resolve(editor.file, &anchor)?,
                        head: self.documents.resolve(editor.file, &head)?,
                    })
                })
                .collect();
            let known = self.cursors.entry(id).or_default();
            if *known != cursors {
                known.clone_from(&cursors);
                let version = editor.version();
                (self.notify)(Notification::Cursors { editor: id, version, cursors });
            }
        }
    }

    pub(super) fn current_status(&self) -> Status {
        let saved = match &self.not_durable {
            Some(problem) => Saved::Failed { problem: problem.clone() },
            None if self.durable >= self.documents.written() => Saved::Saved,
            None => Saved::Saving,
        };
        let network = match (&self.connection, self.offline_since_ms) {
            (None, _) => Network::Alone,
            (Some(_), Some(since_ms)) => Network::Offline { since_ms },
            (Some(connection), None) => connection.network(),
        };
        let connection = self.connection.as_ref();
        Status {
            saved,
            network,
            unsent: connection.map_or(0, |connection| connection.unsent(&self.documents)),
            received_ms: connection.and_then(Connection::received_ms),
            people: self.people(),
            sharing: connection.map(|connection| Sharing {
                link: connection.invitation().link(),
                server: connection.invitation().server.to_string(),
            }),
        }
    }

    pub(super) fn people(&self) -> Vec<Presence> {
        let here = self.place.filter(|(file, _)| self.buffers.contains_key(file));
        let line = |file: FileId, head: u32| self.buffers.get(&file).map(|text| text.line(head));
        let mut people = vec![Presence {
            id: presence_id(self.documents.client().get()),
            me: true,
            name: self.person.name.clone(),
            color: self.person.color,
            file: here.map(|(file, _)| file),
            line: here.and_then(|(file, head)| line(file, head)),
        }];
        let Some(connection) = &self.connection else { return people };
        for (client, said) in connection.others(Name::Tree, &self.documents) {
            let head = said.file.and_then(|file| {
                let there = connection.others(Name::File(file), &self.documents);
                let (_, said) = there.into_iter().find(|(other, _)| *other == client)?;
                self.documents.resolve(file, &said.cursor?.1)
            });
            people.push(Presence {
                id: presence_id(client),
                me: false,
                name: said.person.name,
                color: said.person.color,
                file: said.file,
                line: said.file.zip(head).and_then(|(file, head)| line(file, head)),
            });
        }
        people
    }

    pub(super) fn view(&self) -> PaperView {
        PaperView {
            id: self.documents.paper(),
            title: self.title.clone(),
            folder: self.folder.clone(),
            me: self.person.clone(),
            files: self.mirror.files(&self.documents),
            status: self.current_status(),
            last_file: self.place.map(|(file, _)| file),
            last_head: self.place.map(|(_, head)| head),
        }
    }

    pub(super) fn answer_waiters(&mut self, now: Instant) {
        if !self.levels.is_empty() {
            let level = self.why_not_level();
            self.levels.retain(|waiter| match &level {
                None => {
                    answer(&waiter.reply, Ok(()));
                    false
                }
                Some(problem) if waiter.deadline <= now || problem.is_final() => {
                    answer(&waiter.reply, Err(problem.clone()));
                    false
                }
                Some(_) => true,
            });
        }
        if !self.joins.is_empty() {
            let refused = match self.connection.as_ref().map(Connection::network) {
                Some(Network::Refused { problem }) => Some(problem),
                _ => None,
            };
            let unreachable = match self.connection.as_ref().map(Connection::network) {
                Some(Network::Unreachable { problem, since_ms, .. })
                    if wall_ms().saturating_sub(since_ms) > as_ms(JOIN_PATIENCE) =>
                {
                    Some(problem)
                }
                _ => None,
            };
            let done = self.complete && self.mirror.is_level();
            self.joins.retain(|waiter| {
                let result = if done {
                    Ok(())
                } else if let Some(cause) = &refused {
                    Err(Problem::refused(cause))
                } else if let Some(cause) = &unreachable {
                    Err(Problem::unreachable(cause))
                } else if waiter.deadline <= now {
                    Err(Problem::Late { waiting: "the paper has not come whole".to_owned() })
                } else {
                    return true;
                };
                answer(&waiter.reply, result);
                false
            });
        }
    }

    /// Returns what is missing until folder, documents and server are level.
    pub(super) fn why_not_level(&self) -> Option<Problem> {
        if let Some(cause) = &self.not_durable {
            return Some(Problem::Store { cause: cause.clone() });
        }
        let late = |waiting: String| Some(Problem::Late { waiting });
        match self.connection.as_ref().map(|connection| (connection, connection.network())) {
            Some((_, Network::Refused { problem })) => {
                return Some(Problem::refused(&problem));
            }
            Some((_, Network::Unreachable { problem, .. })) => {
                return Some(Problem::unreachable(&problem));
            }
            Some((connection, _)) if !connection.is_level(&self.documents) => {
                return late("the server and this computer are not level yet".to_owned());
            }
            _ => {}
        }
        if !self.complete {
            return late("the paper has not come whole".to_owned());
        }
        if !self.mirror.is_level() {
            return late(self.mirror.waiting().unwrap_or_else(|| "the folder".to_owned()));
        }
        if self.durable < self.documents.written() {
            return late("the last changes are not on disk".to_owned());
        }
        None
    }
}

fn as_ms(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}
