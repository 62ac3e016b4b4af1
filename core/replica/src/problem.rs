//! What can go wrong for the person in front of the screen, in words.

use std::path::PathBuf;

/// Why a request was not carried out. All is as it was before the request.
///
/// Its text says what happened and what to do, and is fit to be shown.
#[derive(Clone, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Problem {
    /// The folder is not there, no folder, or may not be read or written.
    #[error("The folder {} cannot be used: {cause}. Check that it exists and may be read and written.", folder.display())]
    Folder {
        /// Which folder.
        folder: PathBuf,
        /// What the system said.
        cause: String,
    },
    /// The folder is no paper.
    #[error("The folder {} is not a paper yet. Share it, or join a paper into it, first.", folder.display())]
    NotAPaper {
        /// Which folder.
        folder: PathBuf,
    },
    /// `.quire/paper.toml` cannot be understood.
    #[error("{} cannot be read: {cause}. Repair it or remove it; without it the folder becomes a new paper.", path.display())]
    PaperToml {
        /// Where it is.
        path: PathBuf,
        /// What is wrong in it.
        cause: String,
    },
    /// The folder belongs to another paper.
    #[error("The folder {} already holds another paper. Choose an empty folder.", folder.display())]
    OtherPaper {
        /// Which folder.
        folder: PathBuf,
    },
    /// The paper is open in another process.
    #[error("This paper is already open in another Quire ({holder}). Close it there first.")]
    OpenElsewhere {
        /// Who holds it, as far as known.
        holder: String,
    },
    /// The documents cannot be read or kept.
    #[error("The paper's store cannot be used: {cause}")]
    Store {
        /// What the store said.
        cause: String,
    },
    /// The link is no link.
    #[error("This is not a link to a paper: {cause}. A link looks like quire://host/PAPER#SECRET.")]
    Link {
        /// What is wrong with it.
        cause: String,
    },
    /// The server cannot be reached.
    #[error(
        "The server does not answer: {cause}. Check the network and the address, then try again."
    )]
    Unreachable {
        /// What was met.
        cause: String,
    },
    /// The server said no.
    #[error("The server refused: {cause}. Ask for a new link.")]
    Refused {
        /// What it said.
        cause: String,
    },
    /// The time was over.
    #[error("Not done in time: {waiting}.")]
    Late {
        /// What was waited for.
        waiting: String,
    },
    /// A file's name is not allowed.
    #[error("{path} cannot be a file's name here: {cause}.")]
    Name {
        /// The name.
        path: String,
        /// What is wrong with it.
        cause: String,
    },
    /// There is a file of this name.
    #[error("There is already a file {path}. Choose another name.")]
    NameTaken {
        /// The name.
        path: String,
    },
    /// There is no such file, or it has gone.
    #[error("This file is no longer in the paper.")]
    NoSuchFile,
    /// The file is not a text.
    #[error("{path} is not a text that can be edited here.")]
    NotText {
        /// The file.
        path: String,
    },
    /// The replica has ended.
    #[error("The paper is closed.")]
    Closed,
}

impl Problem {
    /// The server cannot be reached; what was met may be a whole sentence.
    pub(crate) fn unreachable(cause: &str) -> Self {
        Self::Unreachable { cause: cause.trim_end_matches('.').to_owned() }
    }

    /// The server said no; what it said may be a whole sentence.
    pub(crate) fn refused(cause: &str) -> Self {
        Self::Refused { cause: cause.trim_end_matches('.').to_owned() }
    }

    /// Will waiting not help?
    pub(crate) fn is_final(&self) -> bool {
        matches!(self, Self::Refused { .. } | Self::Store { .. } | Self::Closed)
    }
}
