//! Passing bytes between two connections.
//!
//! Most connections to a thousand control planes are watches that nothing comes through for minutes. So a buffer is
//! taken only while there is something to pass on; [`tokio::io::copy_bidirectional`] would hold two of 8 KiB all the time.

use std::io;

use tokio::io::AsyncWriteExt;
use tokio::net::TcpStream;
use tokio::net::tcp::{ReadHalf, WriteHalf};

const CHUNK: usize = 16 * 1024;

/// Passes on everything that comes from either side, until both have ended or one is broken.
pub(super) async fn relay(a: &mut TcpStream, b: &mut TcpStream) -> io::Result<()> {
    let ((mut from_a, mut to_a), (mut from_b, mut to_b)) = (a.split(), b.split());
    tokio::try_join!(pass(&mut from_a, &mut to_b), pass(&mut from_b, &mut to_a))?;
    Ok(())
}

/// Passes on until the end, and then the end.
async fn pass(from: &mut ReadHalf<'_>, to: &mut WriteHalf<'_>) -> io::Result<()> {
    loop {
        from.readable().await?;
        let mut chunk = vec![0; CHUNK];
        match from.try_read(&mut chunk) {
            Ok(0) => return to.shutdown().await,
            Ok(read) => {
                chunk.truncate(read);
                to.write_all(&chunk).await?;
            }
            // It was a false alarm.
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
            Err(error) => return Err(error),
        }
    }
}

#[cfg(test)]
mod tests {
    use tokio::io::AsyncReadExt;
    use tokio::net::TcpListener;

    use super::*;

    async fn pair() -> (TcpStream, TcpStream) {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let (near, far) = tokio::join!(TcpStream::connect(address), listener.accept());
        (near.unwrap(), far.unwrap().0)
    }

    #[tokio::test]
    async fn all_is_passed_on_and_an_end_is_an_end_on_its_side_only() {
        let ((mut client, mut near), (mut far, mut server)) = (pair().await, pair().await);
        let relaying = tokio::spawn(async move { relay(&mut near, &mut far).await });
        let sent: Vec<u8> = (0..1_000_000_u32).map(|n| u8::try_from(n % 251).unwrap()).collect();
        let (mut got, expected) = (Vec::new(), sent.clone());
        let sending = async {
            client.write_all(&sent).await.unwrap();
            client.shutdown().await.unwrap();
        };
        tokio::join!(sending, async { server.read_to_end(&mut got).await.unwrap() });
        assert!(got == expected, "{} bytes came", got.len());
        // The client has said all it had to say, and is still answered.
        server.write_all(b"well").await.unwrap();
        drop(server);
        let mut answer = String::new();
        client.read_to_string(&mut answer).await.unwrap();
        assert_eq!(answer, "well");
        relaying.await.unwrap().unwrap();
    }
}
