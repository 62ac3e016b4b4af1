//! `quire serve`: a server for everybody who has its address.

use server::{Config, Tls};

use crate::arguments::Serve;
use crate::{hosting, say};

pub(crate) fn run(serve: Serve) -> anyhow::Result<()> {
    let tls = match (serve.certificate, serve.key) {
        (Some(certificate), Some(key)) => Tls::Files { certificate, key },
        _ if serve.plain => Tls::PlainAnywhere,
        _ if serve.listen.ip().is_loopback() => Tls::Plain,
        _ => Tls::SelfSigned,
    };
    let config = Config {
        listen: serve.listen,
        tls,
        hosts: serve.host,
        origins: serve.origin,
        ..Config::loopback(serve.data.path()?.join("server"))
    };
    let runtime = hosting::runtime()?;
    let running = runtime.block_on(server::serve(config))?;
    say::to_person(&format!("Listening on {}. Stop with Ctrl+C.", running.address()));
    if let Some(fingerprint) = running.fingerprint() {
        say::to_person(&format!("Its certificate's fingerprint: {fingerprint}"));
    }
    hosting::wait_for_end(&runtime)?;
    say::to_person("Closing; everything is made durable.");
    runtime.block_on(running.stop());
    Ok(())
}
