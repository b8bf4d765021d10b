//! A TLS handshake between two ends in this process.

use std::ops::{Deref, DerefMut};

use rustls::{ClientConnection, ConnectionCommon, Error, ServerConnection, SideData};

/// Lets both ends prove who they are.
pub(super) fn between(mut client: ClientConnection, server: &mut ServerConnection) -> Result<(), Error> {
    while client.is_handshaking() || server.is_handshaking() {
        let said = pass(&mut client, server)?;
        let answered = pass(server, &mut client)?;
        if said + answered == 0 {
            return Err(Error::General("the handshake stands still".to_owned()));
        }
    }
    Ok(())
}

/// Hands over what one end has to say, and how many bytes that was.
fn pass<A: SideData, B: SideData>(
    from: &mut impl DerefMut<Target = ConnectionCommon<A>>,
    to: &mut impl DerefMut<Target = ConnectionCommon<B>>,
) -> Result<usize, Error> {
    let mut said = Vec::new();
    while from.deref().wants_write() {
        from.write_tls(&mut said).map_err(in_memory)?;
    }
    let mut left = said.as_slice();
    while !left.is_empty() {
        to.read_tls(&mut left).map_err(in_memory)?;
        to.process_new_packets()?;
    }
    Ok(said.len())
}

fn in_memory(error: std::io::Error) -> Error {
    Error::General(error.to_string())
}
