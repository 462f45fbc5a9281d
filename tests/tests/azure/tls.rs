//! TLS with the client's own settings: the provider of cryptography, and the root certificates.

use std::{fs, path::Path, process::Stdio, sync::Arc};

use anyhow::{Context, Result};
use rcgen::{CertifiedKey, generate_simple_self_signed};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpListener,
    process::Command,
    task::JoinHandle,
};
use tokio_rustls::{
    TlsAcceptor,
    rustls::{
        ServerConfig,
        crypto::ring,
        pki_types::{PrivateKeyDer, pem::PemObject},
    },
};

use crate::protocol::ROW;

/// Starts a server that answers each connection with a row, and returns its port and its certificate.
async fn start() -> Result<(u16, String, JoinHandle<()>)> {
    let CertifiedKey { cert, signing_key } = generate_simple_self_signed(vec!["localhost".to_owned()])?;
    let key = PrivateKeyDer::from_pem_slice(signing_key.serialize_pem().as_bytes())?;
    let config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()?
        .with_no_client_auth()
        .with_single_cert(vec![cert.der().clone()], key)?;
    let acceptor = TlsAcceptor::from(Arc::new(config));
    let listener = TcpListener::bind(("127.0.0.1", 0)).await?;
    let port = listener.local_addr()?.port();
    let answer = format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{ROW}", ROW.len());
    let task = tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            // A client that does not trust the certificate ends the handshake.
            let Ok(mut stream) = acceptor.accept(stream).await else { continue };
            let _ = stream.read(&mut [0; 4096]).await;
            let _ = stream.write_all(answer.as_bytes()).await;
            let _ = stream.shutdown().await;
        }
    });
    Ok((port, cert.pem(), task))
}

/// Reads a row in a process that trusts the certificates of this file. Returns its output and its error.
async fn read(port: u16, certificates: &Path) -> Result<(String, String)> {
    let connection_string = format!("AccountName=acc;AccountKey=c2VjcmV0;TableEndpoint=https://localhost:{port}");
    let output = Command::new(env!("CARGO_BIN_EXE_program"))
        .args(["reader", &connection_string, "Posts", "p", "r"])
        .env("SSL_CERT_FILE", certificates)
        .env_remove("SSL_CERT_DIR")
        .stdin(Stdio::null())
        .kill_on_drop(true)
        .output()
        .await
        .context("the program")?;
    Ok((String::from_utf8(output.stdout)?, String::from_utf8(output.stderr)?))
}

#[tokio::test]
async fn the_certificates_of_the_system_are_trusted_and_no_others() -> Result<()> {
    let (port, certificate, server) = start().await?;
    let folder = tempfile::tempdir()?;
    let (trusted, empty) = (folder.path().join("trusted.pem"), folder.path().join("empty.pem"));
    fs::write(&trusted, certificate)?;
    fs::write(&empty, "")?;
    let (read_with, error) = read(port, &trusted).await?;
    assert_eq!((read_with.as_str(), error.as_str()), ("true\n", ""));
    // Without certificates of its own, the system trusts Mozilla's, of which this one is none.
    let (read_without, error) = read(port, &empty).await?;
    assert_eq!(read_without, "");
    assert!(error.contains("no connection") && error.contains("invalid peer certificate"), "{error}");
    server.abort();
    Ok(())
}
