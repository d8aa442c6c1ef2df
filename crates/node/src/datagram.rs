//! `NativeDatagramSocket`: a UDP socket that never sends a fragment and hears which of its datagrams were refused.

use std::os::fd::IntoRawFd;

use agent::DatagramSocket;
use napi::bindgen_prelude::Buffer;
use napi_derive::napi;

use crate::errors::{self, Result, error};

/// A datagram socket, and a duplicate of its descriptor for Node, which sends on it.
#[napi]
pub struct NativeDatagramSocket {
    socket: Option<DatagramSocket>,
}

#[napi]
impl NativeDatagramSocket {
    /// Unbound and not connected.
    #[napi(constructor, catch_unwind)]
    pub fn new(ipv6: bool) -> Result<Self> {
        let socket = DatagramSocket::new(ipv6).map_err(errors::agent)?;
        Ok(Self {
            socket: Some(socket),
        })
    }

    /// A duplicate of the descriptor, which the caller owns.
    #[napi(catch_unwind)]
    pub fn descriptor(&self) -> Result<i32> {
        let copy = self.open()?.duplicate().map_err(errors::agent)?;
        Ok(copy.into_raw_fd())
    }

    /// Octets of the largest packet, IP header included, that gets to the end of the path. Null: unknown, or larger ones
    /// may be cut into fragments. The socket must be connected.
    #[napi(catch_unwind)]
    pub fn path_mtu(&self) -> Result<Option<u32>> {
        Ok(self.open()?.path_mtu())
    }

    /// The first 18 octets of each datagram that was refused since the last call, as far as the refusals quote them.
    #[napi(catch_unwind)]
    pub fn refused(&self) -> Result<Vec<Buffer>> {
        Ok(self
            .open()?
            .refused()
            .into_iter()
            .map(Buffer::from)
            .collect())
    }

    /// Closes this descriptor, not Node's. Calling it again does nothing.
    #[napi(catch_unwind)]
    pub fn close(&mut self) {
        self.socket = None;
    }

    fn open(&self) -> Result<&DatagramSocket> {
        self.socket
            .as_ref()
            .ok_or_else(|| error("ERR_CLOSED", "the datagram socket is closed"))
    }
}
