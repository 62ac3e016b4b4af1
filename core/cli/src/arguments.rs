//! The arguments, as people type them.

use std::net::SocketAddr;
use std::path::PathBuf;

use anyhow::Context as _;
use clap::{Args, Parser, Subcommand, ValueEnum};

/// Write LaTeX papers together, from the command line.
#[derive(Debug, Parser)]
#[command(name = "quire", version, about, max_term_width = 100)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Run a server where papers are shared.
    Serve(Serve),
    /// Share the paper in a folder; prints the secret link and keeps the folder level.
    Share(Share),
    /// Fetch a paper into a folder and keep it level.
    Join(Join),
    /// Keep a folder level that was shared or joined before.
    Sync(Sync),
    /// Tell how the paper in a folder stands. Changes nothing.
    Status(Status),
    /// Look into and convert Yjs update files.
    #[command(subcommand)]
    Update(Update),
}

/// Where Quire keeps what it needs.
#[derive(Debug, Args)]
pub(crate) struct DataDir {
    /// The folder for all that is not in the paper's folder
    #[arg(long, env = "QUIRE_DATA_DIR", value_name = "FOLDER")]
    data_dir: Option<PathBuf>,
}

impl DataDir {
    pub(crate) fn path(&self) -> anyhow::Result<PathBuf> {
        let usual = || replica::default_data_dir();
        self.data_dir
            .clone()
            .or_else(usual)
            .context("this system names no folder for data; give one with --data-dir")
    }
}

/// How a replica on the command line behaves.
#[derive(Debug, Args)]
pub(crate) struct Desk {
    #[command(flatten)]
    pub(crate) data: DataDir,
    /// Stop with success as soon as folder and server are level, and all is safe on both sides
    #[arg(long)]
    pub(crate) once: bool,
    /// With --once: give up after this many seconds
    #[arg(long, default_value_t = 300, value_name = "SECONDS")]
    pub(crate) within: u64,
    /// The name that the others see
    #[arg(long, env = "QUIRE_NAME")]
    pub(crate) name: Option<String>,
}

#[derive(Debug, Args)]
pub(crate) struct Serve {
    #[command(flatten)]
    pub(crate) data: DataDir,
    /// Where to listen; other machines can reach every address but `127.0.0.1` and `[::1]`
    #[arg(long, default_value = "127.0.0.1:4750", value_name = "ADDRESS:PORT")]
    pub(crate) listen: SocketAddr,
    /// A certificate (chain) as PEM; without it one is made for addresses that others can reach
    #[arg(long, requires = "key", value_name = "FILE")]
    pub(crate) certificate: Option<PathBuf>,
    /// The certificate's private key as PEM
    #[arg(long, requires = "certificate", value_name = "FILE")]
    pub(crate) key: Option<PathBuf>,
    /// No encryption, even where others can reach it: behind a proxy that does it
    #[arg(long, conflicts_with = "certificate")]
    pub(crate) plain: bool,
    /// A host name under which a proxy passes requests on; may be given several times
    #[arg(long, value_name = "NAME")]
    pub(crate) host: Vec<String>,
    /// An origin (`https://example.org`) whose web pages may connect; may be given several times
    #[arg(long, value_name = "ORIGIN")]
    pub(crate) origin: Vec<String>,
}

#[derive(Debug, Args)]
pub(crate) struct Share {
    /// The paper's folder
    pub(crate) folder: PathBuf,
    /// Share it at this server instead of hosting it here
    #[arg(long, value_name = "URL")]
    pub(crate) server: Option<String>,
    /// The fingerprint of that server's certificate, if it has no public one
    #[arg(long, requires = "server", value_name = "HEX")]
    pub(crate) fingerprint: Option<String>,
    /// Host it at this address instead of on this machine alone
    #[arg(long, conflicts_with = "server", value_name = "ADDRESS:PORT")]
    pub(crate) listen: Option<SocketAddr>,
    #[command(flatten)]
    pub(crate) desk: Desk,
}

#[derive(Debug, Args)]
pub(crate) struct Join {
    /// The secret link
    pub(crate) link: String,
    /// The folder to fetch it into: new, empty, or with the same files
    pub(crate) folder: PathBuf,
    #[command(flatten)]
    pub(crate) desk: Desk,
}

#[derive(Debug, Args)]
pub(crate) struct Sync {
    /// The paper's folder
    pub(crate) folder: PathBuf,
    #[command(flatten)]
    pub(crate) desk: Desk,
}

#[derive(Debug, Args)]
pub(crate) struct Status {
    /// The paper's folder
    pub(crate) folder: PathBuf,
    /// As JSON, for programs
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) data: DataDir,
}

/// The two formats of Yjs updates.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    V1,
    V2,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Update {
    /// Tell what is in an update.
    Info {
        /// The update file; - for standard input
        file: PathBuf,
        /// Its format, if it is not to be found out
        #[arg(long)]
        format: Option<Format>,
    },
    /// Print the text that an update holds.
    Text {
        /// The update file; - for standard input
        file: PathBuf,
        /// The name of the root text
        #[arg(long, default_value = "text")]
        root: String,
        /// Its format, if it is not to be found out
        #[arg(long)]
        format: Option<Format>,
    },
    /// Make one update of several.
    Merge {
        /// The update files
        #[arg(required = true)]
        files: Vec<PathBuf>,
        /// Where the result goes; - for standard output
        #[arg(short, long)]
        output: PathBuf,
        /// The result's format
        #[arg(long, default_value = "v1")]
        to: Format,
    },
    /// Make an update of what one has and another lacks.
    Diff {
        /// The update file that has more
        file: PathBuf,
        /// The update file that has less
        than: PathBuf,
        /// Where the result goes; - for standard output
        #[arg(short, long)]
        output: PathBuf,
        /// The result's format
        #[arg(long, default_value = "v1")]
        to: Format,
    },
    /// Write an update in the other format.
    Convert {
        /// The update file; - for standard input
        file: PathBuf,
        /// Where the result goes; - for standard output
        #[arg(short, long)]
        output: PathBuf,
        /// The result's format
        #[arg(long)]
        to: Format,
        /// Its own format, if it is not to be found out
        #[arg(long)]
        format: Option<Format>,
    },
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory as _;

    use super::*;

    #[test]
    fn the_arguments_contradict_each_other_nowhere() {
        Arguments::command().debug_assert();
    }
}
