//! TLS: a certificate from files, or one made here once and recognized by its fingerprint.

use std::io;
use std::path::Path;
use std::sync::Arc;

use rustls::ServerConfig;
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use store::disk::{Access, Disk as _, RealDisk, create_dirs, replace};

use crate::config::Tls;

/// The most bytes of a PEM file.
const MAX_PEM: u64 = 1 << 20;

/// How TLS is spoken, and the certificate's fingerprint if links have to carry it.
pub(crate) struct Certificate {
    pub(crate) config: Arc<ServerConfig>,
    pub(crate) fingerprint: Option<String>,
}

/// Why there is no certificate.
#[derive(Debug, thiserror::Error)]
pub enum CertificateError {
    /// A file could not be read or written.
    #[error("the certificate file {path} cannot be used: {source}")]
    File {
        /// The file.
        path: String,
        /// The system's words.
        source: io::Error,
    },
    /// A file is not what it should be.
    #[error("{path} is not a {what} in PEM: {problem}")]
    Pem {
        /// The file.
        path: String,
        /// What it should be.
        what: &'static str,
        /// What is wrong.
        problem: String,
    },
    /// No certificate could be made.
    #[error("no certificate could be made: {0}")]
    Make(#[from] rcgen::Error),
    /// Certificate and key do not go together.
    #[error("the certificate cannot be used: {0}")]
    Tls(#[from] rustls::Error),
}

/// Returns what the settings ask for; `None` for plain.
pub(crate) fn load(tls: &Tls, data_dir: &Path) -> Result<Option<Certificate>, CertificateError> {
    match tls {
        Tls::Plain | Tls::PlainAnywhere => Ok(None),
        Tls::Files { certificate, key } => {
            let config = config(certificate, key)?.0;
            Ok(Some(Certificate { config, fingerprint: None }))
        }
        Tls::SelfSigned => {
            let folder = data_dir.join("tls");
            let (certificate, key) = (folder.join("certificate.pem"), folder.join("key.pem"));
            if RealDisk.stat(&key).is_err() || RealDisk.stat(&certificate).is_err() {
                make(&folder, &certificate, &key)?;
            }
            let (config, first) = config(&certificate, &key)?;
            let fingerprint = Some(blake3::hash(&first).to_hex().to_string());
            Ok(Some(Certificate { config, fingerprint }))
        }
    }
}

/// Makes a certificate that says nothing but its key: it is recognized by its fingerprint.
fn make(folder: &Path, certificate: &Path, key: &Path) -> Result<(), CertificateError> {
    let file = |path: &Path| {
        let path = path.display().to_string();
        move |source| CertificateError::File { path, source }
    };
    create_dirs(&RealDisk, folder, Access::Private).map_err(file(folder))?;
    let made = rcgen::generate_simple_self_signed(["quire.invalid".to_owned()])?;
    let key_pem = made.signing_key.serialize_pem();
    replace(&RealDisk, key, key_pem.as_bytes()).map_err(file(key))?;
    let certificate_pem = made.cert.pem();
    replace(&RealDisk, certificate, certificate_pem.as_bytes()).map_err(file(certificate))
}

fn config(
    certificate: &Path,
    key: &Path,
) -> Result<(Arc<ServerConfig>, CertificateDer<'static>), CertificateError> {
    let read = |path: &Path| {
        RealDisk
            .read(path, MAX_PEM)
            .map_err(|source| CertificateError::File { path: path.display().to_string(), source })
    };
    let pem = |path: &Path, what, problem: String| CertificateError::Pem {
        path: path.display().to_string(),
        what,
        problem,
    };
    let chain = CertificateDer::pem_slice_iter(&read(certificate)?)
        .collect::<Result<Vec<_>, _>>()
        .map_err(|error| pem(certificate, "certificate", error.to_string()))?;
    let Some(first) = chain.first().cloned() else {
        return Err(pem(certificate, "certificate", "there is none in it".to_owned()));
    };
    let key = PrivateKeyDer::from_pem_slice(&read(key)?)
        .map_err(|error| pem(key, "private key", error.to_string()))?;
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let mut config = ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()?
        .with_no_client_auth()
        .with_single_cert(chain, key)?;
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    Ok((Arc::new(config), first))
}
