//! The messages of y-protocols, and their two framings.
//!
//! ```text
//! one room a socket (y-websocket):    message message ...
//! many rooms a socket (Hocuspocus):   varString room name, message
//!                                     or one byte 9 (ping) or 10 (pong)
//! message:  0 sync        0 step 1: bytes (state vector)
//!                         1 step 2: bytes (update V1)
//!                         2 update: bytes (update V1)
//!           1 awareness   bytes
//!           2 auth        one room:   0 denied: string (why)
//!                         many rooms: 0 token: string, 1 denied: string, 2 allowed: string (scope)
//!           3 query awareness
//!           4 sync, as an answer (many rooms; read as 0)
//!           5 stateless: string    6 the same, between servers    7 close: string
//!           8 sync status: 1 taken (and durable), 0 not taken     9 ping    10 pong
//! ```
//! All numbers are variable-length. Towards y-websocket clients a frame has exactly one message,
//! since they read no further; on input a frame may have several.

use lib0::{Reader, write_var_bytes, write_var_str, write_var_u64};

use crate::Error;

/// How messages are put into the frames of a socket.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Framing {
    /// The socket is one room; frames have messages only.
    OneRoom,
    /// Each frame starts with the room's name.
    ManyRooms,
}

/// One message, borrowing from the frame that it was read from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Message<'a> {
    /// "This is what I have": an encoded state vector.
    Step1(&'a [u8]),
    /// "This is what you lack": an update V1, the answer to [`Message::Step1`].
    Step2(&'a [u8]),
    /// A change, as an update V1.
    Update(&'a [u8]),
    /// Awareness states.
    Awareness(&'a [u8]),
    /// Asks for all awareness states.
    QueryAwareness,
    /// The secret with which a room is entered (many rooms).
    Token(&'a str),
    /// Asks for the token again (many rooms, from the server).
    TokenQuery,
    /// The room may not be entered; the reason in words.
    Denied(&'a str),
    /// The room may be entered, and only read when `read_only`.
    Allowed {
        /// Whether changes will be refused.
        read_only: bool,
    },
    /// Text for the application.
    Stateless(&'a str),
    /// The other side left this room.
    Close(&'a str),
    /// Whether an update or step 2 was taken.
    SyncStatus {
        /// Taken, and safe from a crash of the other side.
        taken: bool,
    },
    /// "Are you there?"
    Ping,
    /// The answer to [`Message::Ping`].
    Pong,
    /// A type that is not known here: passed over.
    Unknown(u64),
}

/// One frame of a many-rooms socket.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RoomFrame<'a> {
    /// The room as the other side addresses it; empty for [`Message::Ping`] and [`Message::Pong`].
    pub address: &'a str,
    /// What is said.
    pub message: Message<'a>,
}

impl<'a> Message<'a> {
    /// Reads one message.
    pub fn read(reader: &mut Reader<'a>, framing: Framing) -> Result<Self, Error> {
        let kind = reader.var_u64().map_err(malformed("type of message"))?;
        Ok(match kind {
            0 | 4 => {
                let step = reader.var_u64().map_err(malformed("kind of sync message"))?;
                if step > 2 {
                    return Err(Error::UnknownSync { kind: step });
                }
                let bytes = reader.var_bytes().map_err(malformed("sync message"))?;
                match step {
                    0 => Self::Step1(bytes),
                    1 => Self::Step2(bytes),
                    _ => Self::Update(bytes),
                }
            }
            1 => Self::Awareness(reader.var_bytes().map_err(malformed("awareness"))?),
            2 => read_auth(reader, framing)?,
            3 => Self::QueryAwareness,
            5 => Self::Stateless(reader.var_str().map_err(malformed("stateless message"))?),
            7 => Self::Close(optional_str(reader)?),
            8 => {
                let taken = reader.var_u64().map_err(malformed("sync status"))? == 1;
                Self::SyncStatus { taken }
            }
            9 => Self::Ping,
            10 => Self::Pong,
            other => Self::Unknown(other),
        })
    }

    /// Appends this message as the given framing has it.
    ///
    /// What only a many-rooms socket can say is left out in a one-room socket.
    pub fn write(&self, out: &mut Vec<u8>, framing: Framing) {
        let many = framing == Framing::ManyRooms;
        match *self {
            Self::Step1(bytes) => write_sync(out, 0, bytes),
            Self::Step2(bytes) => write_sync(out, 1, bytes),
            Self::Update(bytes) => write_sync(out, 2, bytes),
            Self::Awareness(bytes) => {
                write_var_u64(out, 1);
                write_var_bytes(out, bytes);
            }
            Self::QueryAwareness => write_var_u64(out, 3),
            Self::Denied(reason) => {
                write_var_u64(out, 2);
                write_var_u64(out, u64::from(many));
                write_var_str(out, reason);
            }
            _ if !many => {}
            Self::Token(token) => {
                write_var_u64(out, 2);
                write_var_u64(out, 0);
                write_var_str(out, token);
            }
            Self::TokenQuery => {
                write_var_u64(out, 2);
                write_var_u64(out, 0);
            }
            Self::Allowed { read_only } => {
                write_var_u64(out, 2);
                write_var_u64(out, 2);
                write_var_str(out, if read_only { "readonly" } else { "read-write" });
            }
            Self::Stateless(text) => {
                write_var_u64(out, 5);
                write_var_str(out, text);
            }
            Self::Close(reason) => {
                write_var_u64(out, 7);
                write_var_str(out, reason);
            }
            Self::SyncStatus { taken } => {
                write_var_u64(out, 8);
                write_var_u64(out, u64::from(taken));
            }
            Self::Ping => write_var_u64(out, 9),
            Self::Pong => write_var_u64(out, 10),
            Self::Unknown(kind) => write_var_u64(out, kind),
        }
    }

    /// Returns this message as a whole frame of a one-room socket.
    pub fn one_room(&self) -> Vec<u8> {
        let mut frame = Vec::with_capacity(self.len_hint());
        self.write(&mut frame, Framing::OneRoom);
        frame
    }

    /// Returns this message as a whole frame of a many-rooms socket.
    pub fn many_rooms(&self, address: &str) -> Vec<u8> {
        let mut frame = Vec::with_capacity(self.len_hint() + address.len());
        if !matches!(self, Self::Ping | Self::Pong) {
            write_var_str(&mut frame, address);
        }
        self.write(&mut frame, Framing::ManyRooms);
        frame
    }

    fn len_hint(&self) -> usize {
        16 + match self {
            Self::Step1(b) | Self::Step2(b) | Self::Update(b) | Self::Awareness(b) => b.len(),
            _ => 0,
        }
    }
}

impl<'a> RoomFrame<'a> {
    /// Reads one frame of a many-rooms socket; what follows the message is passed over.
    pub fn read(frame: &'a [u8]) -> Result<Self, Error> {
        match frame {
            [9] => return Ok(Self { address: "", message: Message::Ping }),
            [10] => return Ok(Self { address: "", message: Message::Pong }),
            _ => {}
        }
        let mut reader = Reader::new(frame);
        let address = reader.var_str().map_err(malformed("room name"))?;
        Ok(Self { address, message: Message::read(&mut reader, Framing::ManyRooms)? })
    }
}

fn read_auth<'a>(reader: &mut Reader<'a>, framing: Framing) -> Result<Message<'a>, Error> {
    let kind = reader.var_u64().map_err(malformed("kind of authentication message"))?;
    if framing == Framing::ManyRooms && kind == 0 && reader.remaining() == 0 {
        return Ok(Message::TokenQuery);
    }
    Ok(match (framing, kind) {
        (Framing::OneRoom, 0) | (Framing::ManyRooms, 1) => Message::Denied(optional_str(reader)?),
        (Framing::ManyRooms, 0) => Message::Token(reader.var_str().map_err(malformed("token"))?),
        (Framing::ManyRooms, 2) => {
            let scope = reader.var_str().map_err(malformed("scope"))?;
            Message::Allowed { read_only: scope != "read-write" }
        }
        _ => Message::Unknown(2),
    })
}

fn optional_str<'a>(reader: &mut Reader<'a>) -> Result<&'a str, Error> {
    if reader.remaining() == 0 {
        return Ok("");
    }
    reader.var_str().map_err(malformed("text"))
}

fn write_sync(out: &mut Vec<u8>, step: u64, bytes: &[u8]) {
    write_var_u64(out, 0);
    write_var_u64(out, step);
    write_var_bytes(out, bytes);
}

pub(crate) fn malformed(what: &'static str) -> impl Fn(lib0::ReadError) -> Error {
    move |source| Error::Malformed { what, source }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ALL: [Message<'_>; 16] = [
        Message::Step1(&[0]),
        Message::Step2(&[0, 0]),
        Message::Update(&[1, 2, 3]),
        Message::Awareness(&[0]),
        Message::QueryAwareness,
        Message::Token("secret"),
        Message::TokenQuery,
        Message::Denied("no"),
        Message::Allowed { read_only: false },
        Message::Allowed { read_only: true },
        Message::Stateless("hello"),
        Message::Close("bye"),
        Message::SyncStatus { taken: true },
        Message::SyncStatus { taken: false },
        Message::Ping,
        Message::Pong,
    ];

    #[test]
    fn many_rooms_messages_are_read_as_they_are_written() {
        for message in ALL {
            let frame = message.many_rooms("paper/tree");
            let read = RoomFrame::read(&frame).unwrap();
            assert_eq!(read.message, message);
            let alone = matches!(message, Message::Ping | Message::Pong);
            assert_eq!(read.address, if alone { "" } else { "paper/tree" });
        }
    }

    #[test]
    fn one_room_messages_are_read_as_they_are_written() {
        for message in ALL {
            let frame = message.one_room();
            if !frame.is_empty() {
                let read = Message::read(&mut Reader::new(&frame), Framing::OneRoom).unwrap();
                assert_eq!(read, message);
            }
        }
    }

    #[test]
    fn the_answer_for_an_empty_document_is_as_yjs_writes_it() {
        assert_eq!(Message::Step2(&[0, 0]).one_room(), [0, 1, 2, 0, 0]);
        assert_eq!(Message::Awareness(&[0]).one_room(), [1, 1, 0]);
    }

    #[test]
    fn no_strict_prefix_of_a_message_panics_or_is_taken_for_a_longer_one() {
        for message in ALL {
            let frame = message.many_rooms("paper/tree");
            for end in 0..frame.len() {
                if let Ok(read) = RoomFrame::read(&frame[..end]) {
                    assert_ne!(read.message, message, "{message:?} cut at {end}");
                }
            }
        }
    }

    #[test]
    fn a_length_beyond_the_frame_is_refused() {
        let huge = [0, 2, 0xff, 0xff, 0xff, 0xff, 0x0f, 1, 2];
        assert!(Message::read(&mut Reader::new(&huge), Framing::OneRoom).is_err());
        assert!(matches!(
            Message::read(&mut Reader::new(&[0, 3, 0]), Framing::OneRoom),
            Err(Error::UnknownSync { kind: 3 })
        ));
    }
}
