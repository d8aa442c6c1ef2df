//! `NativeSocket`: what the kernel knows of a socket that Node owns.

use agent::SessionSocket;
use napi_derive::napi;

use crate::convert::count;
use crate::errors::{self, Result, error};

/// How far TCP has come with the octets written to a socket, each counted from the connection's first.
#[napi(object)]
pub struct NativeProgress {
    /// The peer's kernel has acknowledged these.
    pub acknowledged: f64,
    /// These have left at least once. What lies beyond cannot have arrived.
    pub sent: f64,
}

/// A duplicate of a socket's descriptor, made while the socket is alive, so that it can still be asked after
/// Node has closed its own. It holds back the FIN: close it in the same turn as the socket.
#[napi]
pub struct NativeSocket {
    socket: Option<SessionSocket>,
}

#[napi]
impl NativeSocket {
    /// Duplicates `fd`, with close-on-exec.
    #[napi(constructor, catch_unwind)]
    pub fn new(fd: i32) -> Result<Self> {
        let socket = SessionSocket::duplicate(fd).map_err(errors::agent)?;
        Ok(Self {
            socket: Some(socket),
        })
    }

    /// How far the octets of a TCP client's socket have come. Also answers after the connection was reset, for
    /// the state in which it ended.
    #[napi(catch_unwind)]
    pub fn progress(&self) -> Result<NativeProgress> {
        let progress = self.open()?.progress().map_err(errors::agent)?;
        Ok(NativeProgress {
            acknowledged: count(progress.acknowledged),
            sent: count(progress.sent),
        })
    }

    /// The last close of this connection is a reset: what is queued is thrown away, nothing more leaves.
    #[napi(catch_unwind)]
    pub fn reset_on_close(&self) -> Result<()> {
        self.open()?.reset_on_close().map_err(errors::agent)
    }

    /// Closes the duplicate. Calling it again does nothing.
    #[napi(catch_unwind)]
    pub fn close(&mut self) {
        self.socket = None;
    }

    fn open(&self) -> Result<&SessionSocket> {
        self.socket
            .as_ref()
            .ok_or_else(|| error("ERR_CLOSED", "the socket's duplicate is closed"))
    }
}
