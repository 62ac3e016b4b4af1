//! A display to show windows on: the person's own, or a virtual one that ends with this program.

use std::env;
use std::io::{BufRead as _, BufReader};
use std::process::{Child, Command, Stdio};

use anyhow::{Context as _, Result, bail};

/// A virtual display. Ends when dropped.
#[derive(Debug)]
pub(crate) struct Virtual {
    server: Child,
    name: String,
}

impl Virtual {
    /// Starts Xvfb on a free display number.
    pub(crate) fn start() -> Result<Self> {
        let mut server = Command::new("Xvfb")
            .args(["-displayfd", "1", "-screen", "0", "1440x900x24", "-nolisten", "tcp"])
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .context("Xvfb could not be started; cargo xtask setup installs it")?;
        let mut number = String::new();
        if let Some(out) = server.stdout.take() {
            BufReader::new(out).read_line(&mut number)?;
        }
        let number = number.trim();
        if number.is_empty() {
            bail!("Xvfb ended before it had a display; Xvfb -displayfd 1 tells why");
        }
        let name = format!(":{number}");
        Ok(Self { server, name })
    }

    /// Returns its name, as `DISPLAY` wants it.
    pub(crate) fn name(&self) -> &str {
        &self.name
    }
}

impl Drop for Virtual {
    fn drop(&mut self) {
        // It may have ended by itself; then there is nothing to end.
        drop(self.server.kill());
        drop(self.server.wait());
    }
}

/// Refuses to go on where no window could appear.
pub(crate) fn required() -> Result<()> {
    let wanted = cfg!(target_os = "linux");
    if wanted && env::var_os("DISPLAY").is_none() && env::var_os("WAYLAND_DISPLAY").is_none() {
        bail!(
            "There is no display to open a window on. On a machine without one, start it under a \
             virtual one:\n    xvfb-run cargo xtask run --pair"
        );
    }
    Ok(())
}
