//! What the kernel thread is started with, and how it opens its sockets.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use netfilter::SocketOptions;
use netfilter::netns::Netns;

use crate::Error;
use crate::kernel::event_reader::EventReader;
use crate::kernel::poll::Poller;
use crate::kernel::shared::Shared;
use crate::kernel::sockets::{RequestSocket, Sockets};
use crate::selection::Selection;

/// What the thread is started with.
pub(crate) struct KernelSide<S> {
    pub(crate) sockets: S,
    pub(crate) selection: Selection,
    pub(crate) netns: Option<Netns>,
    pub(crate) retry_timeout: Duration,
    pub(crate) state_file: Option<PathBuf>,
    /// Octets of the event socket's receive buffer; None: no events.
    pub(crate) event_buffer: Option<usize>,
}

impl<S: Sockets> KernelSide<S> {
    /// Enters the namespace and opens the sockets.
    pub(crate) fn open(&self, shared: &Arc<Shared>) -> Result<Poller<S::Requests>, Error> {
        if let Some(netns) = &self.netns {
            netns.enter()?;
        }
        // Events first: what happens before the first dump is then in one of the two.
        let events = match self.event_buffer {
            Some(octets) => Some(EventReader::start(
                &self.sockets,
                shared,
                &self.selection,
                octets,
            )?),
            None => None,
        };
        let socket = self.open_requests(shared)?;
        Ok(Poller::new(socket, self.selection.clone(), events))
    }

    /// Opens a socket for requests in the calling thread's namespace, and asks it how full the table is: the kernel says
    /// then whether it lets us in.
    pub(crate) fn open_requests(&self, shared: &Shared) -> Result<S::Requests, Error> {
        let mut socket = self.sockets.open_requests(SocketOptions {
            receive_timeout: self.retry_timeout,
            cancel: Some(shared.requests.stop_flag()),
            ..SocketOptions::default()
        })?;
        let counts = socket.counts()?;
        shared.set_kernel_counts(&counts);
        Ok(socket)
    }
}
