//! `NativeExporter`: an agent's exporter, owned by JavaScript.

use std::cell::{RefCell, RefMut};
use std::rc::{Rc, Weak};

use agent::{BatchId, EncodedBatch, FormatId};
use ipfix::Format;
use napi::bindgen_prelude::{Buffer, ClassInstance, Function};
use napi::{CleanupEnvHook, Env};
use napi_derive::napi;

use crate::convert::{self, NativeConfig, NativeFormat, NativeLoss, NativeOwnSession, count};
use crate::errors::{self, Result, error};
use crate::names::NativeNames;
use crate::notice::{self, NativeNotice};
use crate::snapshot::{self, NativeStats};
use crate::wake::waker;

/// The sets of one message; its header is each session's own.
#[napi(object)]
pub struct NativeMessage {
    pub body: Buffer,
    pub records: u32,
    /// Sums of the records' deltas, both directions, for the counts of what is lost.
    pub packets: f64,
    pub octets: f64,
}

/// Records taken from the table. To be settled exactly once.
#[napi(object)]
pub struct NativeBatch {
    pub id: u32,
    pub records: u32,
    /// Sums of the records' deltas, both directions.
    pub packets: f64,
    pub octets: f64,
    /// For each format asked for, in that order.
    pub messages: Vec<Vec<NativeMessage>>,
    /// For each format asked for: what none of its messages has room for.
    pub too_large: Vec<NativeAmount>,
}

/// Records, and the packets and octets of both directions that they tell of.
#[napi(object)]
pub struct NativeAmount {
    pub records: f64,
    pub packets: f64,
    pub octets: f64,
}

/// One exporter: a flow table, a kernel thread, batches in flight.
#[napi]
pub struct NativeExporter {
    /// None once closed. Shared with the clean-up hook of the environment, which runs on the same thread.
    exporter: Rc<RefCell<Option<agent::Exporter>>>,
    hook: Option<CleanupEnvHook<Held>>,
}

/// What the clean-up hook closes, if it is still there.
type Held = Weak<RefCell<Option<agent::Exporter>>>;

#[napi]
impl NativeExporter {
    /// Starts the kernel thread. `wake` is called when `notices()` has something new; it does not keep the
    /// event loop alive.
    #[napi(constructor, catch_unwind)]
    pub fn new(
        env: Env,
        config: NativeConfig,
        names: Vec<ClassInstance<'_, NativeNames>>,
        wake: Function<'_, (), ()>,
    ) -> Result<Self> {
        let mut config = convert::config(&config)?;
        for set in &names {
            config.names.put(set.set()?);
        }
        let exporter = agent::Exporter::start(config, waker(&wake)?).map_err(errors::agent)?;
        let exporter = Rc::new(RefCell::new(Some(exporter)));
        // process.exit() and worker.terminate() run no finalizers of live objects before threads must be gone.
        let hook = env
            .add_env_cleanup_hook(Rc::downgrade(&exporter), |held: Held| {
                if let Some(exporter) = held.upgrade() {
                    exporter.take();
                }
            })
            .map_err(errors::napi)?;
        Ok(Self {
            exporter,
            hook: Some(hook),
        })
    }

    /// Asks for a poll; its end is a notice.
    #[napi(catch_unwind)]
    pub fn poll(&self) -> Result<()> {
        self.exporter()?.poll();
        Ok(())
    }

    /// Asks for the state file to be written now; the notice `saved` says that it was tried.
    #[napi(catch_unwind)]
    pub fn save(&self) -> Result<()> {
        self.exporter()?.save();
        Ok(())
    }

    /// What happened since the last call.
    #[napi(catch_unwind)]
    pub fn notices(&self) -> Result<Vec<NativeNotice>> {
        Ok(self
            .exporter()?
            .notices()
            .into_iter()
            .map(notice::notice)
            .collect())
    }

    /// Adds a format, or finds the same one.
    #[napi(catch_unwind)]
    pub fn add_format(&self, format: NativeFormat) -> Result<u32> {
        self.exporter()?
            .add_format(convert::format(format)?)
            .map(|id| id.0)
            .map_err(errors::agent)
    }

    /// Milliseconds until a record is due, 0 when one is, null when nothing waits for a time.
    #[napi(catch_unwind)]
    pub fn next_deadline(&self) -> Result<Option<f64>> {
        Ok(self.exporter()?.next_deadline_ms().map(count))
    }

    /// Takes what is due: at most `maxRecords`, at most one message of the format with the largest ones.
    #[napi(catch_unwind)]
    pub fn take_batch(&self, formats: Vec<u32>, max_records: u32) -> Result<Option<NativeBatch>> {
        let formats: Vec<FormatId> = formats.into_iter().map(FormatId).collect();
        let max_records = usize::try_from(max_records).unwrap_or(usize::MAX);
        let batch = self
            .exporter()?
            .take_batch(&formats, max_records)
            .map_err(errors::agent)?;
        Ok(batch.map(native_batch))
    }

    /// Settles a batch as exported.
    #[napi(catch_unwind)]
    pub fn commit(&self, id: u32) -> Result<()> {
        self.exporter()?.commit(BatchId(id)).map_err(errors::agent)
    }

    /// Settles a batch as not exported: its records are due again.
    #[napi(catch_unwind)]
    pub fn rollback(&self, id: u32) -> Result<()> {
        self.exporter()?
            .rollback(BatchId(id))
            .map_err(errors::agent)
    }

    /// Leaves one of the agent's own sessions out of the export.
    #[napi(catch_unwind)]
    pub fn add_own(&self, session: NativeOwnSession) -> Result<()> {
        self.exporter()?
            .add_own(&convert::own_session(&session)?)
            .map_err(errors::agent)
    }

    /// Says that an own session is closed; it is left out until the kernel has forgotten it.
    #[napi(catch_unwind)]
    pub fn remove_own(&self, session: NativeOwnSession) -> Result<()> {
        self.exporter()?
            .remove_own(&convert::own_session(&session)?);
        Ok(())
    }

    /// Replaces all names of one kind, or throws and leaves the former ones.
    #[napi(catch_unwind)]
    pub fn set_names(&self, names: &NativeNames) -> Result<()> {
        let set = names.set()?;
        self.exporter()?.set_names(set);
        Ok(())
    }

    /// After the final poll: everything with something unexported becomes due.
    #[napi(catch_unwind)]
    pub fn begin_stop(&self) -> Result<()> {
        self.exporter()?.begin_stop();
        Ok(())
    }

    /// Counts what is still unexported as lost, and says how much it was.
    #[napi(catch_unwind)]
    pub fn left_at_stop(&self) -> Result<Vec<NativeLoss>> {
        let exporter = self.exporter()?;
        exporter.left_at_stop();
        Ok(convert::losses(&exporter.stats().table.losses))
    }

    /// A snapshot.
    #[napi(catch_unwind)]
    pub fn stats(&self) -> Result<NativeStats> {
        Ok(snapshot::stats(&self.exporter()?.stats()))
    }

    /// Cancels a poll under way, joins the kernel thread and lets go of everything: other calls throw `ERR_CLOSED` from
    /// then on. Calling it again does nothing.
    #[napi(catch_unwind)]
    pub fn close(&mut self, env: Env) -> Result<()> {
        self.exporter.take();
        match self.hook.take() {
            Some(hook) => env.remove_env_cleanup_hook(hook).map_err(errors::napi),
            None => Ok(()),
        }
    }

    /// The format of a session.
    pub(crate) fn format(&self, id: u32) -> Result<std::sync::Arc<Format>> {
        self.exporter()?.format(FormatId(id)).map_err(errors::agent)
    }

    /// JavaScript has one thread, and no method calls back into it: this is only taken when a method panicked
    /// half-way, and then it is free again.
    fn exporter(&self) -> Result<RefMut<'_, agent::Exporter>> {
        let exporter = self
            .exporter
            .try_borrow_mut()
            .map_err(|_| error("ERR_INTERNAL", "the exporter is in use"))?;
        RefMut::filter_map(exporter, Option::as_mut)
            .map_err(|_| error("ERR_CLOSED", "the exporter is closed"))
    }
}

fn native_batch(batch: EncodedBatch) -> NativeBatch {
    NativeBatch {
        id: batch.id.0,
        records: u32::try_from(batch.records).unwrap_or(u32::MAX),
        packets: count(batch.amount.packets),
        octets: count(batch.amount.octets),
        too_large: batch.too_large.iter().map(amount).collect(),
        messages: batch
            .bodies
            .into_iter()
            .map(|bodies| bodies.into_iter().map(message).collect())
            .collect(),
    }
}

fn amount(amount: &agent::Amount) -> NativeAmount {
    NativeAmount {
        records: count(amount.records),
        packets: count(amount.packets),
        octets: count(amount.octets),
    }
}

fn message(body: ipfix::Body) -> NativeMessage {
    NativeMessage {
        records: body.records,
        packets: count(body.packets),
        octets: count(body.total_octets),
        body: body.sets.into(),
    }
}
