//! How the owner and the kernel thread wake each other.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::Arc;
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
    /// Shared with the socket, whose waits it ends.
    stop: Arc<AtomicBool>,
    bell: Bell,
}

impl Requests {
    pub(crate) fn new() -> Result<Self, Errno> {
        Ok(Self {
            poll: AtomicBool::new(false),
            save: AtomicBool::new(false),
            stop: Arc::default(),
            bell: Bell::new()?,
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

    /// True from the stop on.
    pub(crate) fn stop_flag(&self) -> Arc<AtomicBool> {
        Arc::clone(&self.stop)
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
        self.bell.silence();
    }

    /// Makes the kernel thread look.
    pub(crate) fn ring(&self) {
        self.bell.ring();
    }
}

/// An eventfd: rung from any thread, waited for with poll(2).
#[derive(Debug)]
pub(crate) struct Bell(OwnedFd);

impl Bell {
    pub(crate) fn new() -> Result<Self, Errno> {
        eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK).map(Self)
    }

    /// Rings until it is silenced. The counter of an eventfd cannot overflow here: a full one is a rung bell.
    pub(crate) fn ring(&self) {
        let _ = write(&self.0, &1_u64.to_ne_bytes());
    }

    pub(crate) fn silence(&self) {
        let mut count = [0; 8];
        let _ = read(&self.0, &mut count);
    }
}

impl AsFd for Bell {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rung(bell: &Bell) -> bool {
        let mut ready = [PollFd::new(bell, PollFlags::IN)];
        let now = Timespec::default();
        rustix::event::poll(&mut ready, Some(&now)).unwrap() == 1
    }

    #[test]
    fn a_bell_rings_until_it_is_silenced() {
        let bell = Bell::new().unwrap();
        assert!(!rung(&bell));
        bell.silence();
        for _ in 0..3 {
            bell.ring();
            bell.ring();
            assert!(rung(&bell) && rung(&bell));
            bell.silence();
            assert!(!rung(&bell));
        }
    }

    #[test]
    fn whoever_waits_has_heard_the_bell() {
        let requests = Requests::new().unwrap();
        assert!(!requests.take_poll() && !requests.take_save() && !requests.stopped());
        let asks: [fn(&Requests); 4] = [
            Requests::ask_poll,
            Requests::ask_save,
            Requests::ask_stop,
            Requests::ring,
        ];
        for ask in asks {
            ask(&requests);
            assert!(rung(&requests.bell));
            requests.wait(Duration::from_secs(60));
            assert!(!rung(&requests.bell));
        }
        assert!(requests.take_poll() && requests.take_save() && requests.stopped());
        assert!(!requests.take_poll() && !requests.take_save(), "asked once");
    }
}
