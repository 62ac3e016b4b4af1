//! Reads updates in both formats; the layout is drawn in [`encoder`](crate::encoding::encoder).
//!
//! Everything is checked here, before a document is touched (but an empty one, which can be put back): lengths against the bytes that remain, clocks against 32
//! bits, clients against 53, nesting, kinds. An update of the second format may lawfully hold more structs than bytes,
//! since its columns are run-length encoded (100,000 letters typed at the start and deleted are 45 bytes); the cap is 4
//! structs a byte and 2^20.

use std::borrow::Cow;
use std::collections::HashSet;
use std::sync::Arc;

use lib0::columns::{IntDiffOptRleReader, RleReader, StringReader, UintOptRleReader};
use lib0::{Any, ReadError, Reader, json};

use crate::encoding::block::{Block, BlockKind, ItemBlock, OwnPlain, Parent, Piece, Plain};
use crate::encoding::content::{Content, TypeKind};
use crate::encoding::delete_set::{DeleteSet, Range};
use crate::encoding::subdoc::Subdoc;
use crate::id::{ClientId, Id};

/// Where each field of an update comes from.
pub(crate) trait Decoder<'a>: Sized + Clone {
    fn open(bytes: &'a [u8]) -> Result<Self, ReadError>;
    fn rest(&mut self) -> &mut Reader<'a>;
    fn left_id(&mut self) -> Result<Id, ReadError>;
    fn right_id(&mut self) -> Result<Id, ReadError>;
    fn client(&mut self) -> Result<ClientId, ReadError>;
    fn info(&mut self) -> Result<u8, ReadError>;
    /// A string and its length in UTF-16 units.
    fn string(&mut self) -> Result<(Cow<'a, str>, usize), ReadError>;
    fn parent_info(&mut self) -> Result<bool, ReadError>;
    fn type_number(&mut self) -> Result<u64, ReadError>;
    fn len(&mut self) -> Result<u64, ReadError>;
    fn json(&mut self) -> Result<Any, ReadError>;
    fn key(&mut self) -> Result<Cow<'a, str>, ReadError>;
    /// A text or tombstone with an origin, if that is what comes next, all is well with it and it can be read at once;
    /// else nothing is read.
    #[inline]
    fn plain(&mut self, _client: ClientId, _clock: u32) -> Option<Plain<'a>> {
        None
    }
    /// A text or tombstone whose origins are of its own client, if that is what comes next and it can be read at once;
    /// else nothing is read.
    fn own_plain(
        &mut self,
        client: ClientId,
        clock: u32,
    ) -> Result<Option<OwnPlain<'a>>, ReadError>;
    fn reset_deletes(&mut self);
    /// A clock and a length.
    fn delete(&mut self) -> Result<(u64, u64), ReadError>;
}

#[inline]
fn client_id(reader: &Reader<'_>, number: u64) -> Result<ClientId, ReadError> {
    ClientId::new(number).ok_or_else(|| reader.error("client beyond 53 bits"))
}

#[inline]
fn narrow(reader: &Reader<'_>, number: u64) -> Result<u32, ReadError> {
    u32::try_from(number).map_err(|_| reader.error("clock or length beyond 32 bits"))
}

/// The first format.
#[derive(Clone)]
pub(crate) struct DecoderV1<'a> {
    reader: Reader<'a>,
    /// See [`EncoderV1::with_values`](crate::encoding::encoder::EncoderV1::with_values).
    has_values: bool,
    own: Spelled,
}

/// How a client is spelled, in up to eight bytes: so it is seen at once whether it stands somewhere.
#[derive(Clone, Default)]
struct Spelled {
    client: Option<ClientId>,
    bytes: u64,
    mask: u64,
    len: usize,
}

impl Spelled {
    fn new(client: ClientId) -> Self {
        let mut bytes = Vec::with_capacity(8);
        lib0::write_var_u64(&mut bytes, client.get());
        let len = bytes.len();
        bytes.resize(8, 0);
        let word = bytes.first_chunk::<8>().copied().map_or(0, u64::from_le_bytes);
        Self { client: Some(client), bytes: word, mask: u64::MAX >> (64 - 8 * len), len }
    }
}

impl<'a> DecoderV1<'a> {
    /// Reads what has values where the format has JSON texts.
    pub(crate) fn with_values(bytes: &'a [u8]) -> Self {
        Self { reader: Reader::new(bytes), has_values: true, own: Spelled::default() }
    }

    #[inline]
    fn id(&mut self) -> Result<Id, ReadError> {
        let client = self.client()?;
        Ok(Id { client, clock: self.reader.var_u32()? })
    }

    /// As [`Decoder::own_plain`], but what was read is lost if it is none.
    #[inline]
    fn quick_own(reader: &mut Reader<'a>, own: &Spelled, clock: u32) -> Option<OwnPlain<'a>> {
        let id = |reader: &mut Reader<'a>| {
            if reader.peek()? & own.mask != own.bytes {
                return None;
            }
            reader.skip(own.len);
            reader.quick_var_u32().filter(|&of| of < clock)
        };
        let info = reader.u8().ok()?;
        if info & 0xc0 == 0 {
            return None;
        }
        let origin = if info & 0x80 != 0 { Some(id(reader)?) } else { None };
        let right_origin = if info & 0x40 != 0 { Some(id(reader)?) } else { None };
        let len = reader.quick_var_u32()?;
        let (len, text) = match info & 0x1f {
            1 => (len, None),
            4 => {
                let bytes = reader.bytes(len as usize).ok()?;
                let units = if bytes.is_ascii() {
                    len
                } else {
                    u32::try_from(lib0::utf16::len(str::from_utf8(bytes).ok()?)).ok()?
                };
                (units, Some(Cow::Borrowed(bytes)))
            }
            _ => return None,
        };
        clock.checked_add(len)?;
        (len > 0).then_some(OwnPlain { len, origin, right_origin, text })
    }

    /// As [`Decoder::plain`], but what was read is lost if it is none.
    #[inline]
    fn quick_plain(reader: &mut Reader<'a>, client: ClientId, clock: u32) -> Option<Plain<'a>> {
        let id = |reader: &mut Reader<'a>| {
            let of = ClientId::new(reader.quick_var_u64()?)?;
            let id = Id { client: of, clock: u32::try_from(reader.quick_var_u64()?).ok()? };
            (of != client || id.clock < clock).then_some(id)
        };
        let info = reader.u8().ok()?;
        if info & 0xc0 == 0 {
            return None;
        }
        let origin = if info & 0x80 != 0 { Some(id(reader)?) } else { None };
        let right_origin = if info & 0x40 != 0 { Some(id(reader)?) } else { None };
        let len = reader.quick_var_u64()?;
        let (len, text) = match info & 0x1f {
            1 => (len, None),
            4 => {
                let text = str::from_utf8(reader.bytes(usize::try_from(len).ok()?).ok()?).ok()?;
                (lib0::utf16::len(text) as u64, Some(Cow::Borrowed(text)))
            }
            _ => return None,
        };
        let len = u32::try_from(len).ok().filter(|&len| len > 0)?;
        clock.checked_add(len)?;
        Some(Plain { client, clock, len, origin, right_origin, text })
    }
}

impl<'a> Decoder<'a> for DecoderV1<'a> {
    fn open(bytes: &'a [u8]) -> Result<Self, ReadError> {
        Ok(Self { reader: Reader::new(bytes), has_values: false, own: Spelled::default() })
    }
    #[inline]
    fn rest(&mut self) -> &mut Reader<'a> {
        &mut self.reader
    }
    #[inline]
    fn left_id(&mut self) -> Result<Id, ReadError> {
        self.id()
    }
    #[inline]
    fn right_id(&mut self) -> Result<Id, ReadError> {
        self.id()
    }
    #[inline]
    fn client(&mut self) -> Result<ClientId, ReadError> {
        let number = self.reader.var_u64()?;
        client_id(&self.reader, number)
    }
    #[inline]
    fn info(&mut self) -> Result<u8, ReadError> {
        self.reader.u8()
    }
    #[inline]
    fn string(&mut self) -> Result<(Cow<'a, str>, usize), ReadError> {
        let text = self.reader.var_str()?;
        Ok((Cow::Borrowed(text), lib0::utf16::len(text)))
    }
    fn parent_info(&mut self) -> Result<bool, ReadError> {
        Ok(self.reader.var_u64()? == 1)
    }
    fn type_number(&mut self) -> Result<u64, ReadError> {
        self.reader.var_u64()
    }
    #[inline]
    fn len(&mut self) -> Result<u64, ReadError> {
        self.reader.var_u64()
    }
    fn json(&mut self) -> Result<Any, ReadError> {
        if self.has_values {
            return Any::read(&mut self.reader);
        }
        let text = self.reader.var_str()?;
        // What the second format brings in and JSON has no text for is written like this: it must be read again.
        if text == "undefined" {
            return Ok(Any::Undefined);
        }
        json::parse(text).ok_or_else(|| self.reader.error("not JSON"))
    }
    fn key(&mut self) -> Result<Cow<'a, str>, ReadError> {
        self.reader.var_str().map(Cow::Borrowed)
    }
    #[inline]
    fn plain(&mut self, client: ClientId, clock: u32) -> Option<Plain<'a>> {
        let mut reader = self.reader.clone();
        let plain = Self::quick_plain(&mut reader, client, clock)?;
        self.reader = reader;
        Some(plain)
    }
    #[inline]
    fn own_plain(
        &mut self,
        client: ClientId,
        clock: u32,
    ) -> Result<Option<OwnPlain<'a>>, ReadError> {
        if self.own.client != Some(client) {
            self.own = Spelled::new(client);
        }
        let mut reader = self.reader.clone();
        let plain = Self::quick_own(&mut reader, &self.own, clock);
        if plain.is_some() {
            self.reader = reader;
        }
        Ok(plain)
    }
    fn reset_deletes(&mut self) {}
    fn delete(&mut self) -> Result<(u64, u64), ReadError> {
        Ok((self.reader.var_u64()?, self.reader.var_u64()?))
    }
}

/// The second format.
#[derive(Clone)]
pub(crate) struct DecoderV2<'a> {
    keys: Vec<Cow<'a, str>>,
    key_clocks: IntDiffOptRleReader<'a>,
    clients: UintOptRleReader<'a>,
    left_clocks: IntDiffOptRleReader<'a>,
    right_clocks: IntDiffOptRleReader<'a>,
    infos: RleReader<'a>,
    strings: StringReader<'a>,
    parent_infos: RleReader<'a>,
    type_numbers: UintOptRleReader<'a>,
    lens: UintOptRleReader<'a>,
    rest: Reader<'a>,
    delete_end: u64,
}

impl<'a> DecoderV2<'a> {
    /// Reads bytes that have no columns, only the rest: a Yjs snapshot.
    pub(crate) fn open_rest(bytes: &'a [u8]) -> Self {
        let none = Reader::new(&[]);
        Self {
            keys: Vec::new(),
            key_clocks: IntDiffOptRleReader::new(none.clone()),
            clients: UintOptRleReader::new(none.clone()),
            left_clocks: IntDiffOptRleReader::new(none.clone()),
            right_clocks: IntDiffOptRleReader::new(none.clone()),
            infos: RleReader::new(none.clone()),
            strings: StringReader::default(),
            parent_infos: RleReader::new(none.clone()),
            type_numbers: UintOptRleReader::new(none.clone()),
            lens: UintOptRleReader::new(none),
            rest: Reader::new(bytes),
            delete_end: 0,
        }
    }
}

impl<'a> Decoder<'a> for DecoderV2<'a> {
    fn open(bytes: &'a [u8]) -> Result<Self, ReadError> {
        let mut rest = Reader::new(bytes);
        // A feature flag that Yjs writes as 0 and does not look at.
        let _ = rest.var_u64()?;
        Ok(Self {
            keys: Vec::new(),
            key_clocks: IntDiffOptRleReader::new(rest.var_reader()?),
            clients: UintOptRleReader::new(rest.var_reader()?),
            left_clocks: IntDiffOptRleReader::new(rest.var_reader()?),
            right_clocks: IntDiffOptRleReader::new(rest.var_reader()?),
            infos: RleReader::new(rest.var_reader()?),
            strings: StringReader::new(rest.var_reader()?)?,
            parent_infos: RleReader::new(rest.var_reader()?),
            type_numbers: UintOptRleReader::new(rest.var_reader()?),
            lens: UintOptRleReader::new(rest.var_reader()?),
            rest,
            delete_end: 0,
        })
    }
    #[inline]
    fn rest(&mut self) -> &mut Reader<'a> {
        &mut self.rest
    }
    #[inline]
    fn left_id(&mut self) -> Result<Id, ReadError> {
        let client = self.client()?;
        let clock = self.left_clocks.read()?;
        Ok(Id { client, clock: narrow(&self.rest, clock)? })
    }
    #[inline]
    fn right_id(&mut self) -> Result<Id, ReadError> {
        let client = self.client()?;
        let clock = self.right_clocks.read()?;
        Ok(Id { client, clock: narrow(&self.rest, clock)? })
    }
    #[inline]
    fn client(&mut self) -> Result<ClientId, ReadError> {
        let number = self.clients.read()?;
        client_id(&self.rest, number)
    }
    #[inline]
    fn info(&mut self) -> Result<u8, ReadError> {
        self.infos.read()
    }
    #[inline]
    fn string(&mut self) -> Result<(Cow<'a, str>, usize), ReadError> {
        self.strings.read()
    }
    fn parent_info(&mut self) -> Result<bool, ReadError> {
        Ok(self.parent_infos.read()? == 1)
    }
    fn type_number(&mut self) -> Result<u64, ReadError> {
        self.type_numbers.read()
    }
    #[inline]
    fn len(&mut self) -> Result<u64, ReadError> {
        self.lens.read()
    }
    fn json(&mut self) -> Result<Any, ReadError> {
        Any::read(&mut self.rest)
    }
    fn key(&mut self) -> Result<Cow<'a, str>, ReadError> {
        let clock = usize::try_from(self.key_clocks.read()?).unwrap_or(usize::MAX);
        if let Some(key) = self.keys.get(clock) {
            return Ok(key.clone());
        }
        let (key, _) = self.strings.read()?;
        self.keys.push(key.clone());
        Ok(key)
    }
    #[inline]
    fn own_plain(
        &mut self,
        client: ClientId,
        clock: u32,
    ) -> Result<Option<OwnPlain<'a>>, ReadError> {
        let info = self.infos.peek()?;
        let ids = u64::from(info >> 7) + u64::from(info >> 6 & 1);
        if ids == 0 || !matches!(info & 0x1f, 1 | 4) || !self.clients.pass(client.get(), ids)? {
            return Ok(None);
        }
        self.infos.read()?;
        let at = self.rest.position();
        let own = |number: u64| match u32::try_from(number) {
            Ok(of) if of < clock => Ok(Some(of)),
            _ => Err(ReadError { at, what: "an item depends on itself" }),
        };
        let origin = if info & 0x80 != 0 { own(self.left_clocks.read()?)? } else { None };
        let right_origin = if info & 0x40 != 0 { own(self.right_clocks.read()?)? } else { None };
        let (len, text) = if info & 0x1f == 1 {
            (self.lens.read()?, None)
        } else {
            let (text, units) = self.strings.read()?;
            let bytes = match text {
                Cow::Borrowed(text) => Cow::Borrowed(text.as_bytes()),
                Cow::Owned(text) => Cow::Owned(text.into_bytes()),
            };
            (units as u64, Some(bytes))
        };
        let len = check_len(at, clock, len)?;
        Ok(Some(OwnPlain { len, origin, right_origin, text }))
    }
    fn reset_deletes(&mut self) {
        self.delete_end = 0;
    }
    fn delete(&mut self) -> Result<(u64, u64), ReadError> {
        let clock = self.delete_end + self.rest.var_u64()?;
        let len = self.rest.var_u64()? + 1;
        self.delete_end = clock + len;
        Ok((clock, len))
    }
}

/// An update, read and checked.
#[derive(Debug, Clone, PartialEq, Default)]
pub(crate) struct Update<'a> {
    /// Each client once, in the order of the update; the blocks of a client follow each other without a gap.
    pub(crate) clients: Vec<(ClientId, Vec<Block<'a>>)>,
    pub(crate) deletes: DeleteSet,
}

impl<'a> Update<'a> {
    /// Reads an update of a stranger.
    pub(crate) fn read<D: Decoder<'a>>(bytes: &'a [u8]) -> Result<Self, ReadError> {
        Self::read_with_budget::<D>(bytes, budget(bytes))
    }

    /// Reads what this crate wrote itself: no cap on the number of structs, since it may be what many updates came to.
    pub(crate) fn read_own<D: Decoder<'a>>(bytes: &'a [u8]) -> Result<Self, ReadError> {
        Self::read_with_budget::<D>(bytes, u64::MAX)
    }

    /// Reads an update of at most `budget` structs.
    fn read_with_budget<D: Decoder<'a>>(bytes: &'a [u8], budget: u64) -> Result<Self, ReadError> {
        let mut clients: Vec<(ClientId, Vec<Block<'a>>)> = Vec::new();
        let mut decoder = D::open(bytes)?;
        let deletes = walk(&mut decoder, budget, |piece| {
            let block = piece.into_block();
            match clients.last_mut() {
                Some((client, blocks)) if *client == block.client => blocks.push(block),
                _ => clients.push((block.client, vec![block])),
            }
            true
        })?;
        Ok(Self { clients, deletes })
    }
}

/// The structs a stranger's update of so many bytes may have at most.
pub(crate) fn budget(bytes: &[u8]) -> u64 {
    bytes.len().saturating_mul(4).saturating_add(1 << 20) as u64
}

/// The structs that a document may come to by what others tell it: about as many as there is memory for.
pub(crate) const MOST: u64 = if cfg!(test) { 1 << 20 } else { 1 << 24 };

/// The structs that what was saved may have at most: those of the largest document, its own edits, and what waits.
/// Without a limit a few bytes on disk might stand for 2^32 of each client.
pub(crate) fn own_budget(bytes: &[u8]) -> u64 {
    budget(bytes) + MOST + (1 << 22)
}

/// Reads and checks an update; hands each struct on, until one is refused (`false`), which is an error too.
pub(crate) fn walk<'a, D: Decoder<'a>>(
    decoder: &mut D,
    mut budget: u64,
    mut each: impl FnMut(Piece<'a>) -> bool,
) -> Result<DeleteSet, ReadError> {
    let clients = decoder.rest().var_u64()?;
    if clients > decoder.rest().remaining() as u64 {
        return Err(decoder.rest().error("count runs past the end"));
    }
    // Yjs writes the highest client first: only where one is not below the one before, all are looked through.
    let mut seen = Seen::default();
    for _ in 0..clients {
        let structs = decoder.rest().var_u64()?;
        if structs > budget {
            return Err(decoder.rest().error("more structs than an update of this size can hold"));
        }
        budget -= structs;
        let client = decoder.client()?;
        let mut clock = decoder.rest().var_u32()?;
        if !seen.add(client) {
            return Err(decoder.rest().error("a client appears twice"));
        }
        for _ in 0..structs {
            let piece = read_piece(decoder, client, clock)?;
            clock = piece.end();
            if !each(piece) {
                return Err(decoder.rest().error("a struct that was refused"));
            }
        }
    }
    let deletes = read_deletes(decoder)?;
    if !decoder.rest().is_empty() {
        return Err(decoder.rest().error("bytes after the end of an update"));
    }
    Ok(deletes)
}

/// The clients of an update so far. As long as they descend, the last one says whether another is new.
#[derive(Default)]
struct Seen {
    last: Option<ClientId>,
    before: Vec<ClientId>,
    unsorted: HashSet<ClientId>,
}

impl Seen {
    /// Adds a client; returns whether it is new.
    fn add(&mut self, client: ClientId) -> bool {
        if self.unsorted.is_empty() && self.last.is_none_or(|last| client < last) {
            self.before.extend(self.last.replace(client));
            return true;
        }
        self.unsorted.extend(self.before.drain(..).chain(self.last.take()));
        self.unsorted.insert(client)
    }
}

/// An update that was read and checked to its end.
pub(crate) struct Checked<'a> {
    pub(crate) deletes: DeleteSet,
    /// Whether each client comes once, the highest first, as Yjs writes them.
    pub(crate) is_descending: bool,
    /// The struct, if there is only one: then nothing is allocated.
    only: Option<Piece<'a>>,
    more: Vec<Option<Piece<'a>>>,
}

impl<'a> Checked<'a> {
    /// Reads an update of at most `budget` structs; `None` if it has more than `most`.
    pub(crate) fn read<D: Decoder<'a>>(
        bytes: &'a [u8],
        budget: u64,
        most: usize,
    ) -> Result<Option<Self>, ReadError> {
        let (mut only, mut more, mut is_descending) = (None, Vec::new(), true);
        let mut client: Option<ClientId> = None;
        let mut is_over = false;
        let read = walk(&mut D::open(bytes)?, budget, |piece| {
            is_descending &= client.is_none_or(|last| piece.client() <= last);
            if client.replace(piece.client()).is_none() {
                only = Some(piece);
            } else {
                more.extend(only.take().map(Some));
                more.push(Some(piece));
            }
            is_over = more.len() > most;
            !is_over
        });
        if is_over {
            return Ok(None);
        }
        Ok(Some(Self { deletes: read?, is_descending, only, more }))
    }

    /// How many structs it has.
    pub(crate) fn len(&self) -> usize {
        self.more.len() + usize::from(self.only.is_some())
    }

    /// The structs in their order, each to be taken.
    pub(crate) fn pieces(&mut self) -> &mut [Option<Piece<'a>>] {
        if self.only.is_some() { std::slice::from_mut(&mut self.only) } else { &mut self.more }
    }
}

/// Reads a struct: a text or tombstone in its fields, anything else as a block.
#[inline]
pub(crate) fn read_piece<'a, D: Decoder<'a>>(
    decoder: &mut D,
    client: ClientId,
    clock: u32,
) -> Result<Piece<'a>, ReadError> {
    if let Some(plain) = decoder.plain(client, clock) {
        return Ok(Piece::Plain(plain));
    }
    let at = decoder.rest().position();
    let info = decoder.info()?;
    if info & 0xc0 == 0 || !matches!(info & 0x1f, 1 | 4) {
        return Ok(Piece::Block(Box::new(read_block(decoder, client, clock, at, info)?)));
    }
    let origin = if info & 0x80 != 0 { Some(decoder.left_id()?) } else { None };
    let right_origin = if info & 0x40 != 0 { Some(decoder.right_id()?) } else { None };
    let (len, text) = if info & 0x1f == 1 {
        (decoder.len()?, None)
    } else {
        let (text, units) = decoder.string()?;
        (units as u64, Some(text))
    };
    let own = |id: Option<Id>| id.is_some_and(|id| id.client == client && id.clock >= clock);
    if own(origin) || own(right_origin) {
        return Err(ReadError { at, what: "an item depends on itself" });
    }
    let len = check_len(at, clock, len)?;
    Ok(Piece::Plain(Plain { client, clock, len, origin, right_origin, text }))
}

/// Checks the length of a struct, which began at a byte.
#[inline]
fn check_len(at: usize, clock: u32, len: u64) -> Result<u32, ReadError> {
    if len == 0 {
        return Err(ReadError { at, what: "a struct of length 0" });
    }
    u32::try_from(len)
        .ok()
        .filter(|len| clock.checked_add(*len).is_some())
        .ok_or(ReadError { at, what: "clock or length beyond 32 bits" })
}

/// Reads the rest of a struct that began at a byte with its info.
fn read_block<'a, D: Decoder<'a>>(
    decoder: &mut D,
    client: ClientId,
    clock: u32,
    at: usize,
    info: u8,
) -> Result<Block<'a>, ReadError> {
    let (len, kind) = match info & 0x1f {
        0 => (decoder.len()?, BlockKind::Gc),
        10 => (decoder.rest().var_u64()?, BlockKind::Skip),
        number => {
            let item = read_item(decoder, info, number)?;
            let own =
                |id: Option<Id>| id.is_some_and(|id| id.client == client && id.clock >= clock);
            let parent = match item.parent {
                Some(Parent::Item(id)) => Some(id),
                _ => None,
            };
            if own(item.origin) || own(item.right_origin) || own(parent) {
                return Err(ReadError { at, what: "an item depends on itself" });
            }
            (item.content.len() as u64, BlockKind::Item(item))
        }
    };
    let len = check_len(at, clock, len)?;
    Ok(Block { client, clock, len, kind })
}

#[inline]
fn read_item<'a, D: Decoder<'a>>(
    decoder: &mut D,
    info: u8,
    number: u8,
) -> Result<ItemBlock<'a>, ReadError> {
    let origin = if info & 0x80 != 0 { Some(decoder.left_id()?) } else { None };
    let right_origin = if info & 0x40 != 0 { Some(decoder.right_id()?) } else { None };
    let mut parent = None;
    let mut key = None;
    if origin.is_none() && right_origin.is_none() {
        parent = Some(if decoder.parent_info()? {
            Parent::Root(decoder.string()?.0)
        } else {
            Parent::Item(decoder.left_id()?)
        });
        if info & 0x20 != 0 {
            key = Some(decoder.string()?.0);
        }
    }
    Ok(ItemBlock { origin, right_origin, parent, key, content: read_content(decoder, number)? })
}

#[inline]
fn read_content<'a, D: Decoder<'a>>(decoder: &mut D, number: u8) -> Result<Content<'a>, ReadError> {
    match number {
        1 => {
            let len = decoder.len()?;
            Ok(Content::Deleted(narrow(decoder.rest(), len)?))
        }
        4 => {
            let (text, units) = decoder.string()?;
            Ok(Content::String(text, narrow(decoder.rest(), units as u64)?))
        }
        _ => read_rare_content(decoder, number),
    }
}

/// Reads a content that is neither text nor a tombstone.
fn read_rare_content<'a, D: Decoder<'a>>(
    decoder: &mut D,
    number: u8,
) -> Result<Content<'a>, ReadError> {
    Ok(match number {
        2 => {
            let count = decoder.len()?;
            let mut values = Vec::new();
            for _ in 0..count {
                let (text, _) = decoder.string()?;
                let value =
                    if text == "undefined" { Some(Any::Undefined) } else { json::parse(&text) };
                values.push(value.ok_or_else(|| decoder.rest().error("not JSON"))?);
                // Lengths of strings may be one run: an empty one costs nothing, but it is no JSON either.
            }
            Content::Json(Cow::Owned(values))
        }
        3 => Content::Binary(Cow::Borrowed(decoder.rest().var_bytes()?)),
        5 => Content::Embed(Cow::Owned(decoder.json()?)),
        6 => {
            let key = decoder.key()?;
            Content::Format(key, Arc::new(decoder.json()?))
        }
        7 => Content::Type(Cow::Owned(match decoder.type_number()? {
            0 => TypeKind::Array,
            1 => TypeKind::Map,
            2 => TypeKind::Text,
            3 => TypeKind::XmlElement(decoder.key()?.into_owned()),
            4 => TypeKind::XmlFragment,
            5 => TypeKind::XmlHook(decoder.key()?.into_owned()),
            6 => TypeKind::XmlText,
            _ => return Err(decoder.rest().error("unknown kind of shared type")),
        })),
        8 => {
            let count = decoder.len()?;
            if count > decoder.rest().remaining() as u64 {
                return Err(decoder.rest().error("count runs past the end"));
            }
            let mut values = Vec::new();
            for _ in 0..count {
                values.push(Any::read(decoder.rest())?);
            }
            Content::Any(Cow::Owned(values))
        }
        9 => {
            let (guid, _) = decoder.string()?;
            let options = Any::read(decoder.rest())?;
            let subdoc = Subdoc::from_options(guid.into_owned(), options)
                .ok_or_else(|| decoder.rest().error("a subdocument without options"))?;
            Content::Doc(Cow::Owned(Box::new(subdoc)))
        }
        _ => return Err(decoder.rest().error("unknown kind of content")),
    })
}

pub(crate) fn read_deletes<'a, D: Decoder<'a>>(decoder: &mut D) -> Result<DeleteSet, ReadError> {
    let clients = decoder.rest().var_u64()?;
    if clients > decoder.rest().remaining() as u64 {
        return Err(decoder.rest().error("count runs past the end"));
    }
    let mut deletes = DeleteSet::default();
    for _ in 0..clients {
        decoder.reset_deletes();
        let number = decoder.rest().var_u64()?;
        let client = client_id(decoder.rest(), number)?;
        let count = decoder.rest().var_u64()?;
        if count > decoder.rest().remaining() as u64 / 2 {
            return Err(decoder.rest().error("count runs past the end"));
        }
        let mut ranges = Vec::new();
        for _ in 0..count {
            let (clock, len) = decoder.delete()?;
            let clock = narrow(decoder.rest(), clock)?;
            let len = narrow(decoder.rest(), len)?;
            if clock.checked_add(len).is_none() {
                return Err(decoder.rest().error("clock or length beyond 32 bits"));
            }
            // Yjs writes no empty range and ignores one.
            if len > 0 {
                ranges.push(Range { clock, len });
            }
        }
        deletes.add_all(client, ranges);
    }
    Ok(deletes)
}
