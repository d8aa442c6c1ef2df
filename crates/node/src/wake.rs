//! Calls a JavaScript function from another thread, without keeping the event loop alive.

use napi::bindgen_prelude::Function;
use napi::threadsafe_function::ThreadsafeFunctionCallMode;

use crate::errors::{self, Result};

/// A call that any thread may make. At most one waits in Node's queue: one more would say nothing new, and
/// is dropped. After the environment has gone, calls do nothing.
pub fn waker(function: &Function<'_, (), ()>) -> Result<Box<dyn Fn() + Send + Sync>> {
    let wake = function
        .build_threadsafe_function()
        .weak::<true>()
        .max_queue_size::<1>()
        .build()
        .map_err(errors::napi)?;
    Ok(Box::new(move || {
        wake.call((), ThreadsafeFunctionCallMode::NonBlocking);
    }))
}
