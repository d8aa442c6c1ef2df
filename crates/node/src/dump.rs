//! `NativeDump`: one pass over the kernel's table, on a thread of its own.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, TryRecvError, sync_channel};
use std::thread::JoinHandle;

use napi::bindgen_prelude::{Buffer, Function};
use napi_derive::napi;

use crate::convert::{self, NativeSelection};
use crate::errors::{Result, error};
use crate::wake::waker;

/// What has been read so far.
#[napi(object)]
pub struct NativeDumpPart {
    /// JSON lines, each Buffer holding whole ones.
    pub json: Vec<Buffer>,
    /// No more will come.
    pub done: bool,
    pub error: Option<String>,
    pub code: Option<String>,
}

enum Part {
    Lines(Vec<u8>),
    Failed { code: String, message: String },
}

/// Receive buffers that wait for JavaScript; the thread pauses when there are more.
const WAITING: usize = 8;

/// A dump under way. `wake` is called when `read()` has something new.
#[napi]
pub struct NativeDump {
    parts: Option<Receiver<Part>>,
    waiting: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

#[napi]
impl NativeDump {
    #[napi(constructor, catch_unwind)]
    pub fn new(selection: NativeSelection, wake: Function<'_, (), ()>) -> Result<Self> {
        let (selection, netns) = convert::selection(&selection)?;
        let wake = waker(&wake)?;
        let waiting = Arc::new(AtomicBool::new(false));
        let said = Arc::clone(&waiting);
        let (send, parts) = sync_channel(WAITING);
        let thread = std::thread::Builder::new()
            .name("conntrack-dump".to_owned())
            .spawn(move || {
                let tell = || {
                    if !said.swap(true, Ordering::AcqRel) {
                        wake();
                    }
                };
                run(&selection, netns.as_ref(), &send, &tell);
                drop(send);
                said.store(false, Ordering::Release);
                tell();
            })
            .map_err(|cause| error("ERR_SYSTEM", format!("start the dump's thread: {cause}")))?;
        Ok(Self {
            parts: Some(parts),
            waiting,
            thread: Some(thread),
        })
    }

    /// What has come since the last call.
    #[napi(catch_unwind)]
    pub fn read(&mut self) -> NativeDumpPart {
        self.waiting.store(false, Ordering::Release);
        let mut part = NativeDumpPart {
            json: Vec::new(),
            done: false,
            error: None,
            code: None,
        };
        let Some(parts) = &self.parts else {
            part.done = true;
            return part;
        };
        // As many as wait now: more would keep the event loop for as long as the kernel has entries.
        for _ in 0..WAITING {
            match parts.try_recv() {
                Ok(Part::Lines(lines)) => part.json.push(lines.into()),
                Ok(Part::Failed { code, message }) => {
                    part.code = Some(code);
                    part.error = Some(message);
                }
                Err(TryRecvError::Empty) => return part,
                Err(TryRecvError::Disconnected) => {
                    part.done = true;
                    return part;
                }
            }
        }
        part
    }

    /// Stops the dump and joins its thread. Calling it again does nothing.
    #[napi(catch_unwind)]
    pub fn close(&mut self) {
        // Without a receiver the thread's next send fails, and it ends.
        self.parts = None;
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

impl Drop for NativeDump {
    fn drop(&mut self) {
        self.close();
    }
}

fn run(
    selection: &agent::Selection,
    netns: Option<&netfilter::netns::Netns>,
    send: &SyncSender<Part>,
    tell: &dyn Fn(),
) {
    let sink = |lines| {
        let sent = send.send(Part::Lines(lines)).is_ok();
        tell();
        sent
    };
    let failed = match catch_unwind(AssertUnwindSafe(|| agent::dump(selection, netns, sink))) {
        Ok(Ok(dumped)) if dumped.complete => return,
        Ok(Ok(_)) => Part::Failed {
            code: "ERR_INCOMPLETE".to_owned(),
            message:
                "the kernel did not give the whole table: connections may be missing, try again"
                    .to_owned(),
        },
        Ok(Err(cause)) => Part::Failed {
            code: cause.code().to_owned(),
            message: cause.to_string(),
        },
        Err(_) => Part::Failed {
            code: "ERR_INTERNAL".to_owned(),
            message: "the dump stopped by an internal error".to_owned(),
        },
    };
    let _ = send.send(failed);
}
