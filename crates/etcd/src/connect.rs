//! A TLS connection to one member.

use std::{io, sync::Arc};

use hyper_util::rt::TokioIo;
use rustls::{ClientConfig, RootCertStore, crypto::aws_lc_rs};
use rustls_pki_types::{CertificateDer, PrivateKeyDer, ServerName, pem::PemObject as _};
use tokio::{
    io::{AsyncBufReadExt as _, BufReader},
    net::TcpStream,
};
use tokio_rustls::{TlsConnector, client::TlsStream};

use crate::{Access, Error};

/// What both sides of every connection must prove.
pub(crate) fn tls(access: &Access) -> Result<Arc<ClientConfig>, Error> {
    let unusable =
        |what: &str, why: &dyn std::fmt::Display| Error::Invalid(format!("{what} for etcd is unusable: {why}"));
    let certificates = |what: &str, pem: &str| {
        let all: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(pem.as_bytes()).collect();
        all.map_err(|why| unusable(what, &why))
    };
    let mut roots = RootCertStore::empty();
    for authority in certificates("the CA", &access.ca)? {
        roots.add(authority).map_err(|why| unusable("the CA", &why))?;
    }
    let key = PrivateKeyDer::from_pem_slice(access.key.expose().as_bytes());
    let key = key.map_err(|why| unusable("the key of the client certificate", &why))?;
    let mut config = ClientConfig::builder_with_provider(Arc::new(aws_lc_rs::default_provider()))
        .with_safe_default_protocol_versions()
        .map_err(|why| unusable("TLS", &why))?
        .with_root_certificates(roots)
        .with_client_auth_cert(certificates("the client certificate", &access.certificate)?, key)
        .map_err(|why| unusable("the client certificate", &why))?;
    config.alpn_protocols = vec![b"h2".to_vec()];
    Ok(Arc::new(config))
}

/// Connects, and waits for the first word of the server, which speaks first. With TLS 1.3 a client certificate is judged after
/// the handshake; whoever writes before that may find the connection closed and never learn why.
pub(crate) async fn connect(
    address: String,
    name: ServerName<'static>,
    tls: Arc<ClientConfig>,
) -> io::Result<TokioIo<BufReader<TlsStream<TcpStream>>>> {
    let stream = TcpStream::connect(address).await?;
    stream.set_nodelay(true)?;
    let mut stream = BufReader::new(TlsConnector::from(tls).connect(name, stream).await?);
    stream.fill_buf().await?;
    Ok(TokioIo::new(stream))
}
