//! What files a paper has, and what two people may do to them at once.
//!
//! Pure: no file is touched here and nobody asks the time. `replica` brings the bytes of the
//! folder and the documents; this crate judges names, tells text from figures, keeps the exact
//! bytes around the text, reads and writes the tree document, and finds differences.
//!
//! Reading order is the order below; a module uses only those above it.

mod names;

mod ids;

mod kinds;

mod text_format;

mod difference;

mod tree;

pub use difference::{Edit, difference};
pub use ids::{FileId, IdError, PaperId};
pub use kinds::{Ignored, MAX_BLOB_BYTES, MAX_TEXT_BYTES, ignored};
pub use names::{NameError, PaperPath};
pub use text_format::{Decoded, Encoding, Eol, NotText, TextFormat, Unwritable, decode, encode};
pub use tree::{Entry, Kind, Place, Tree, places};
