//! A dump on a thread of its own: [`DumpTask`] owns the thread, wakes its reader, and tells whether that was all.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, TryRecvError, sync_channel};
use std::thread::JoinHandle;

use netfilter::netns::Netns;

use super::dump;
use crate::Error;
use crate::selection::Selection;

/// What has been read since the last look.
#[derive(Debug, Default)]
pub struct DumpPart {
    /// JSON lines, each element holding whole ones.
    pub lines: Vec<Vec<u8>>,
    /// No more will come.
    pub done: bool,
    /// Why the lines are not the whole table; the last thing before the end.
    pub error: Option<Error>,
}

/// A dump under way.
#[derive(Debug)]
pub struct DumpTask {
    /// None once closed.
    results: Option<Receiver<Result<Vec<u8>, Error>>>,
    /// The reader has been woken and has not looked yet.
    woken: Arc<AtomicBool>,
    cancel: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

/// Receive buffers that wait for the reader; the thread pauses when there are more.
const WAITING: usize = 8;

impl DumpTask {
    /// Starts the thread, in `netns` if there is one. `wake` is called from the thread when [`DumpTask::read`] has something
    /// new, once until the reader has looked.
    ///
    /// # Errors
    /// A selection that cannot be meant, or a thread that cannot be had.
    pub fn start(
        selection: Selection,
        netns: Option<Netns>,
        wake: Box<dyn Fn() + Send + Sync>,
    ) -> Result<Self, Error> {
        selection.check()?;
        let woken = Arc::new(AtomicBool::new(false));
        let cancel = Arc::new(AtomicBool::new(false));
        let (send, results) = sync_channel(WAITING);
        let (said, cancelled) = (Arc::clone(&woken), Arc::clone(&cancel));
        let thread = std::thread::Builder::new()
            .name("conntrack-dump".to_owned())
            .spawn(move || {
                let tell = || {
                    if !said.swap(true, Ordering::AcqRel) {
                        wake();
                    }
                };
                run(&selection, netns.as_ref(), &cancelled, &send, &tell);
                drop(send);
                // The end is news even to a reader who is about to look.
                said.store(false, Ordering::Release);
                tell();
            })
            .map_err(|source| Error::System {
                operation: "start the dump's thread",
                source,
            })?;
        Ok(Self {
            results: Some(results),
            woken,
            cancel,
            thread: Some(thread),
        })
    }

    /// What has come since the last call; after [`DumpTask::close`] that nothing will.
    pub fn read(&mut self) -> DumpPart {
        self.woken.store(false, Ordering::Release);
        let mut part = DumpPart::default();
        let Some(results) = &self.results else {
            part.done = true;
            return part;
        };
        // As many as wait now: more would keep the reader for as long as the kernel has entries.
        for _ in 0..WAITING {
            match results.try_recv() {
                Ok(Ok(lines)) => part.lines.push(lines),
                Ok(Err(error)) => part.error = Some(error),
                Err(TryRecvError::Empty) => break,
                Err(TryRecvError::Disconnected) => {
                    part.done = true;
                    break;
                }
            }
        }
        part
    }

    /// Cancels the dump and waits for nothing: the thread ends by itself within a receive buffer. Calling it again does
    /// nothing.
    pub fn close(&mut self) {
        self.cancel.store(true, Ordering::Release);
        // Without a receiver a thread that waits for room goes on, and sees the flag.
        self.results = None;
    }
}

impl Drop for DumpTask {
    /// Waits for the thread: whoever unloads its code may do so afterwards.
    fn drop(&mut self) {
        self.close();
        if let Some(thread) = self.thread.take() {
            // It catches its own panics.
            let _ = thread.join();
        }
    }
}

fn run(
    selection: &Selection,
    netns: Option<&Netns>,
    cancel: &Arc<AtomicBool>,
    send: &SyncSender<Result<Vec<u8>, Error>>,
    tell: &dyn Fn(),
) {
    let sink = |lines| {
        if send.send(Ok(lines)).is_err() {
            cancel.store(true, Ordering::Release);
        }
        tell();
    };
    let error = match catch_unwind(AssertUnwindSafe(|| dump(selection, netns, cancel, sink))) {
        Ok(Ok(dumped)) if dumped.complete => return,
        Ok(Ok(_)) => Error::IncompleteDump,
        Ok(Err(error)) => error,
        Err(_) => Error::Internal("the dump"),
    };
    let _ = send.send(Err(error));
}
