//! Where a test takes place: real conntrack in a namespace of its own, or a kernel by script. The same test runs in both.

use agent::{Config, Netlink, Sockets};
use netfilter::ConntrackSocket;
use netfilter::testing::{Entry, Maker};

use super::Run;
use super::pace::Pace;
use super::scripted::ScriptedKernel;

/// A kernel whose connections a test makes and ends.
pub trait World {
    type Sockets: Sockets;

    fn sockets(&self) -> Self::Sockets;
    fn create(&mut self, entries: impl IntoIterator<Item = Entry>);
    fn update(&mut self, entries: impl IntoIterator<Item = Entry>);
    fn delete(&mut self, entries: impl IntoIterator<Item = Entry>);
    /// Ends all.
    fn flush(&mut self);
    /// How many there are.
    fn entries(&mut self) -> usize;

    /// An exporter of this kernel whose threads the test paces.
    fn run(&self, config: Config) -> (Run, Pace) {
        Run::start_paced(self.sockets(), config)
    }
}

/// Conntrack of the calling thread's namespace.
pub struct RealConntrack {
    maker: Maker,
    counter: ConntrackSocket,
}

impl RealConntrack {
    pub fn here() -> Self {
        Self {
            maker: Maker::open().unwrap(),
            counter: ConntrackSocket::open().unwrap(),
        }
    }
}

impl World for RealConntrack {
    type Sockets = Netlink;

    fn sockets(&self) -> Netlink {
        Netlink
    }

    fn create(&mut self, entries: impl IntoIterator<Item = Entry>) {
        self.maker.create(entries).unwrap();
    }

    fn update(&mut self, entries: impl IntoIterator<Item = Entry>) {
        self.maker.update(entries).unwrap();
    }

    fn delete(&mut self, entries: impl IntoIterator<Item = Entry>) {
        self.maker.delete(entries).unwrap();
    }

    fn flush(&mut self) {
        self.maker.flush().unwrap();
    }

    fn entries(&mut self) -> usize {
        self.counter.counts().unwrap().entries as usize
    }
}

impl World for ScriptedKernel {
    type Sockets = Self;

    fn sockets(&self) -> Self {
        self.clone()
    }

    fn create(&mut self, entries: impl IntoIterator<Item = Entry>) {
        Self::create(self, entries);
    }

    fn update(&mut self, entries: impl IntoIterator<Item = Entry>) {
        Self::update(self, entries);
    }

    fn delete(&mut self, entries: impl IntoIterator<Item = Entry>) {
        Self::delete(self, entries);
    }

    fn flush(&mut self) {
        Self::flush(self);
    }

    fn entries(&mut self) -> usize {
        Self::entries(self)
    }
}

/// Makes two tests of a function that takes a [`World`]: `NAME::on_real_conntrack` and `NAME::by_script`.
#[macro_export]
macro_rules! in_both_worlds {
    ($($name:ident),+ $(,)?) => {$(
        mod $name {
            #[test]
            fn on_real_conntrack() {
                netfilter::testing::in_tracked_namespace(|| {
                    super::$name(super::support::world::RealConntrack::here());
                });
            }

            #[test]
            fn by_script() {
                super::$name(super::support::scripted::ScriptedKernel::default());
            }
        }
    )+};
}
