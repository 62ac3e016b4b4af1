//! What the server promises to whoever speaks to it, through its real sockets on this machine.

mod access;
mod desk;
mod figures;
mod lifecycle;
mod rooms;
