//! `quire update`: looks into and converts Yjs update files, in both formats.

use std::io::Read as _;
use std::path::Path;

use anyhow::{Context as _, bail};
use crdt::{ClientId, Doc, Options, StateVector, update};
use store::disk::{Disk as _, RealDisk, replace};

use crate::arguments::{Format, Update};
use crate::say;

/// Larger files are no updates of ours.
const MAX_BYTES: u64 = 1 << 30;

/// An update in the first format, and what it was in.
struct Read {
    v1: Vec<u8>,
    format: Format,
    bytes: usize,
}

pub(crate) fn run(command: Update) -> anyhow::Result<()> {
    match command {
        Update::Info { file, format } => info(&read(&file, format)?),
        Update::Text { file, root, format } => {
            let mut doc = document(&read(&file, format)?)?;
            let text = doc.text(&root).read(&doc);
            Ok(say::bytes(text.as_bytes())?)
        }
        Update::Merge { files, output, to } => {
            let updates = files
                .iter()
                .map(|file| read(file, None).map(|read| read.v1))
                .collect::<anyhow::Result<Vec<_>>>()?;
            let updates: Vec<&[u8]> = updates.iter().map(Vec::as_slice).collect();
            write(&output, &update::merge_v1(&updates)?, to)
        }
        Update::Diff { file, than, output, to } => {
            let (more, less) = (read(&file, None)?, read(&than, None)?);
            let known: StateVector = update::state_vector_v1(&less.v1)?;
            write(&output, &update::diff_v1(&more.v1, &known)?, to)
        }
        Update::Convert { file, output, to, format } => {
            write(&output, &read(&file, format)?.v1, to)
        }
    }
}

fn read(file: &Path, format: Option<Format>) -> anyhow::Result<Read> {
    let name = file.display();
    let bytes = if file == Path::new("-") {
        let mut bytes = Vec::new();
        std::io::stdin().lock().take(MAX_BYTES).read_to_end(&mut bytes)?;
        bytes
    } else {
        RealDisk.read(file, MAX_BYTES).with_context(|| format!("{name} cannot be read"))?
    };
    let v1 = |bytes: &[u8]| update::check_v1(bytes).map(|()| bytes.to_vec());
    let (v1, format) = match format {
        Some(Format::V1) => (v1(&bytes).map_err(anyhow::Error::from), Format::V1),
        Some(Format::V2) => (update::v2_to_v1(&bytes).map_err(anyhow::Error::from), Format::V2),
        // An update of one format is hardly ever one of the other: the lengths do not come out.
        None => match (v1(&bytes), update::v2_to_v1(&bytes)) {
            (Ok(v1), _) => (Ok(v1), Format::V1),
            (Err(_), Ok(v1)) => (Ok(v1), Format::V2),
            (Err(first), Err(second)) => {
                bail!("{name} is no Yjs update: read as V1: {first}; read as V2: {second}")
            }
        },
    };
    let v1 = v1.with_context(|| format!("{name} is no update of this format"))?;
    Ok(Read { v1, format, bytes: bytes.len() })
}

fn write(output: &Path, v1: &[u8], to: Format) -> anyhow::Result<()> {
    let bytes = match to {
        Format::V1 => v1.to_vec(),
        Format::V2 => update::v1_to_v2(v1)?,
    };
    if output == Path::new("-") {
        return Ok(say::bytes(&bytes)?);
    }
    let path = std::path::absolute(output)?;
    replace(&RealDisk, &path, &bytes)
        .with_context(|| format!("{} cannot be written", output.display()))
}

fn document(read: &Read) -> anyhow::Result<Doc> {
    let client = ClientId::new(0).context("a client")?;
    let mut doc = Doc::new(client, Options { gc: false, ..Options::default() });
    doc.apply_v1(&read.v1)?;
    Ok(doc)
}

fn info(read: &Read) -> anyhow::Result<()> {
    let doc = document(read)?;
    let format = match read.format {
        Format::V1 => "V1",
        Format::V2 => "V2",
    };
    say::result(&format!("format   {format}"));
    say::result(&format!("bytes    {}", read.bytes));
    let held = update::info_v1(&read.v1)?;
    say::result(&format!("clients  {}", held.clients.len()));
    for (client, first, end, structs) in &held.clients {
        say::result(&format!("client   {} {first}..{end} in {structs} structs", client.get()));
    }
    say::result(&format!("deleted  {} in {} ranges", held.deleted_units, held.deleted_ranges));
    match doc.waiting() {
        Some(waiting) => {
            say::result(&format!("waiting  {} bytes", waiting.bytes));
            for (client, clock) in waiting.missing {
                say::result(&format!("missing  client {} at {clock}", client.get()));
            }
        }
        None => say::result("waiting  nothing"),
    }
    Ok(())
}
