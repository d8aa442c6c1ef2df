//! How the owner and the kernel thread wake each other.

use std::os::fd::OwnedFd;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use rustix::event::{EventfdFlags, PollFd, PollFlags, eventfd};
use rustix::io::{Errno, read, write};
use rustix::time::Timespec;

/// What the owner asks of the kernel thread. Asking twice before it has looked is asking once, so this can
/// neither grow nor block.
#[derive(Debug)]
pub(crate) struct Requests {
    poll: AtomicBool,
    save: AtomicBool,
    stop: AtomicBool,
    bell: OwnedFd,
}

impl Requests {
    pub(crate) fn new() -> Result<Self, Errno> {
        Ok(Self {
            poll: AtomicBool::new(false),
            save: AtomicBool::new(false),
            stop: AtomicBool::new(false),
            bell: eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?,
        })
    }

    pub(crate) fn ask_poll(&self) {
        self.poll.store(true, Ordering::Release);
        self.ring();
    }

    pub(crate) fn ask_save(&self) {
        self.save.store(true, Ordering::Release);
        self.ring();
    }

    pub(crate) fn take_save(&self) -> bool {
        self.save.swap(false, Ordering::AcqRel)
    }

    /// Also cancels a poll under way: it looks at [`Requests::stopped`] at each receive buffer.
    pub(crate) fn ask_stop(&self) {
        self.stop.store(true, Ordering::Release);
        self.ring();
    }

    pub(crate) fn stopped(&self) -> bool {
        self.stop.load(Ordering::Acquire)
    }

    pub(crate) fn take_poll(&self) -> bool {
        self.poll.swap(false, Ordering::AcqRel)
    }

    /// Waits until somebody rings or `timeout` has passed.
    pub(crate) fn wait(&self, timeout: Duration) {
        let mut ready = [PollFd::new(&self.bell, PollFlags::IN)];
        let timeout = Timespec::try_from(timeout).ok();
        // EINTR and every other failure only make this return early: the caller looks at the flags again.
        let _ = rustix::event::poll(&mut ready, timeout.as_ref());
        let mut count = [0; 8];
        let _ = read(&self.bell, &mut count);
    }

    /// The counter of an eventfd cannot overflow here: a full one is a rung bell.
    fn ring(&self) {
        let _ = write(&self.bell, &1_u64.to_ne_bytes());
    }
}
