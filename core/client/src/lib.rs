//! How to stay connected to a server: the link in both senses.
//!
//! - [`server_address`]: where a server is and how its certificate is recognized,
//! - [`invitation`]: the text that is passed on, `quire://host/<paper>#<secret>`,
//! - `tls`: whom to trust,
//! - [`link`](mod@link): a socket that comes back by itself; it carries frames and knows no document,
//! - [`papers`]: registering a paper, and moving its figures.
//!
//! Which frames go over a [`Link`] is `protocol::Peer`'s business.

pub mod server_address;

pub mod invitation;

mod tls;

pub mod link;

pub mod papers;

pub use invitation::{Invitation, InvitationError};
pub use link::{Link, LinkEvent, Wire};
pub use papers::{Papers, PapersError};
pub use server_address::{AddressError, Fingerprint, ServerAddress, Transport};

/// Makes a new secret of this machine's randomness.
///
/// # Panics
/// When the operating system gives no random bytes: nothing safe could be done then.
pub fn new_secret() -> protocol::Secret {
    let mut bytes = [0; 20];
    getrandom::fill(&mut bytes).expect("the operating system gives random bytes");
    protocol::Secret::from_random(bytes)
}
