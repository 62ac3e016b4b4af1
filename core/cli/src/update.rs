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

/// An update that was read and checked.
struct Read {
    bytes: Vec<u8>,
    format: Format,
}

impl Read {
    /// The update in a format; handed on as it is if it is in that already.
    fn into_format(self, to: Format) -> anyhow::Result<Vec<u8>> {
        Ok(match (self.format, to) {
            (Format::V1, Format::V2) => update::v1_to_v2(&self.bytes)?,
            (Format::V2, Format::V1) => update::v2_to_v1(&self.bytes)?,
            _ => self.bytes,
        })
    }

    fn state_vector(&self) -> anyhow::Result<StateVector> {
        Ok(match self.format {
            Format::V1 => update::state_vector_v1(&self.bytes)?,
            Format::V2 => update::state_vector_v2(&self.bytes)?,
        })
    }
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
                .map(|file| read(file, None)?.into_format(to))
                .collect::<anyhow::Result<Vec<_>>>()?;
            let updates: Vec<&[u8]> = updates.iter().map(Vec::as_slice).collect();
            let merged = match to {
                Format::V1 => update::merge_v1(&updates)?,
                Format::V2 => update::merge_v2(&updates)?,
            };
            write(&output, &merged)
        }
        Update::Diff { file, than, output, to } => {
            let known = read(&than, None)?.state_vector()?;
            let more = read(&file, None)?.into_format(to)?;
            let rest = match to {
                Format::V1 => update::diff_v1(&more, &known)?,
                Format::V2 => update::diff_v2(&more, &known)?,
            };
            write(&output, &rest)
        }
        Update::Convert { file, output, to, format } => {
            write(&output, &read(&file, format)?.into_format(to)?)
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
    let check = |format| match format {
        Format::V1 => update::check_v1(&bytes),
        Format::V2 => update::check_v2(&bytes),
    };
    let format = match format {
        Some(format) => {
            check(format).with_context(|| format!("{name} is no update of this format"))?;
            format
        }
        // An update of one format is hardly ever one of the other: the lengths do not come out.
        None => match (check(Format::V1), check(Format::V2)) {
            (Ok(()), _) => Format::V1,
            (Err(_), Ok(())) => Format::V2,
            (Err(first), Err(second)) => {
                bail!("{name} is no Yjs update: read as V1: {first}; read as V2: {second}")
            }
        },
    };
    Ok(Read { bytes, format })
}

fn write(output: &Path, update: &[u8]) -> anyhow::Result<()> {
    if output == Path::new("-") {
        return Ok(say::bytes(update)?);
    }
    let path = std::path::absolute(output)?;
    replace(&RealDisk, &path, update)
        .with_context(|| format!("{} cannot be written", output.display()))
}

fn document(read: &Read) -> anyhow::Result<Doc> {
    let client = ClientId::new(0).context("a client")?;
    // Only looked at, so however much of it waits.
    let options = Options { gc: false, max_waiting: usize::MAX, ..Options::default() };
    let mut doc = Doc::new(client, options);
    match read.format {
        Format::V1 => doc.apply_v1(&read.bytes)?,
        Format::V2 => doc.apply_v2(&read.bytes)?,
    };
    Ok(doc)
}

fn info(read: &Read) -> anyhow::Result<()> {
    let doc = document(read)?;
    let (format, held) = match read.format {
        Format::V1 => ("V1", update::info_v1(&read.bytes)?),
        Format::V2 => ("V2", update::info_v2(&read.bytes)?),
    };
    say::result(&format!("format   {format}"));
    say::result(&format!("bytes    {}", read.bytes.len()));
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
