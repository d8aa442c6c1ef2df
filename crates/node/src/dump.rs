//! `NativeDump`: one pass over the kernel's table, on a thread of its own.

use agent::DumpTask;
use napi::bindgen_prelude::{Buffer, Function};
use napi_derive::napi;

use crate::convert::{self, NativeSelection};
use crate::errors::{self, Result};
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

/// A dump under way. `wake` is called when `read()` has something new.
#[napi]
pub struct NativeDump {
    task: DumpTask,
}

#[napi]
impl NativeDump {
    #[napi(constructor, catch_unwind)]
    pub fn new(selection: NativeSelection, wake: Function<'_, (), ()>) -> Result<Self> {
        let (selection, netns) = convert::selection(&selection)?;
        let task = DumpTask::start(selection, netns, waker(&wake)?).map_err(errors::agent)?;
        Ok(Self { task })
    }

    /// What has come since the last call.
    #[napi(catch_unwind)]
    pub fn read(&mut self) -> NativeDumpPart {
        let part = self.task.read();
        NativeDumpPart {
            json: part.lines.into_iter().map(Buffer::from).collect(),
            done: part.done,
            code: part.error.as_ref().map(|error| error.code().to_owned()),
            error: part.error.map(|error| error.to_string()),
        }
    }

    /// Cancels the dump, without waiting for its end. Calling it again does nothing.
    #[napi(catch_unwind)]
    pub fn close(&mut self) {
        self.task.close();
    }
}
