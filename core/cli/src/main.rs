//! `quire`: the same replica as the app's, without a window; the server; tools for update files.
//!
//! Standard output has results only (a link, a status, a text), so that it can be piped; all that
//! is said to a person goes to standard error. Exit codes: 0 done, 1 not done, 2 wrong arguments.

mod arguments;

mod say;

mod hosting;

mod paper;

mod serve;

mod status;

mod update;

use std::process::ExitCode;

use clap::Parser as _;
use tracing_subscriber::EnvFilter;

use crate::arguments::{Arguments, Command};

fn main() -> ExitCode {
    let filter = EnvFilter::try_from_env("QUIRE_LOG").unwrap_or_else(|_| EnvFilter::new("warn"));
    tracing_subscriber::fmt().with_env_filter(filter).with_writer(std::io::stderr).init();
    match run(Arguments::parse()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            say::to_person(&format!("quire: {error:#}"));
            ExitCode::FAILURE
        }
    }
}

fn run(arguments: Arguments) -> anyhow::Result<()> {
    match arguments.command {
        Command::Serve(serve) => serve::run(serve),
        Command::Share(share) => paper::share(&share),
        Command::Join(join) => paper::join(&join),
        Command::Sync(sync) => paper::sync(&sync),
        Command::Status(status) => status::run(&status),
        Command::Update(update) => update::run(update),
    }
}
