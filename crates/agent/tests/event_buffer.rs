//! The event socket's receive buffer, where the kernel grants less than was asked for.
#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "a test that cannot go on has to stop"
)]

mod support;

use agent::Notice;
use netfilter::testing::{in_user_namespace, track};

use support::scripted::ScriptedKernel;
use support::world::World;
use support::{Run, with_events};

const ASKED: usize = 64 << 20;

fn warning(run: &mut Run) -> String {
    run.poll();
    let capped = |notice: &Notice| matches!(notice, Notice::Warning { code, .. } if *code == "EVENT_BUFFER_CAPPED");
    match run.wait(capped) {
        Notice::Warning { message, .. } => message,
        other => unreachable!("{other:?}"),
    }
}

#[test]
fn a_buffer_that_the_kernel_caps_is_warned_of_with_both_sizes_and_the_remedy() {
    in_user_namespace(|| {
        track();
        let most = netfilter::sysctl::read("core/rmem_max").unwrap();
        assert!((most as usize) < ASKED);
        let mut run = Run::start(agent::Config {
            event_buffer: ASKED,
            ..with_events()
        });
        let message = warning(&mut run);
        for part in [
            &format!("{most} octets instead of the {ASKED}"),
            &format!("sysctl -w net.core.rmem_max={ASKED}"),
            "CAP_NET_ADMIN",
        ] {
            assert!(message.contains(part), "{message}");
        }
    });
}

#[test]
fn a_buffer_that_is_granted_is_not_warned_of() {
    let kernel = ScriptedKernel::default();
    let (mut run, _) = World::run(&kernel, with_events());
    run.poll();
    run.settled();
    assert!(
        !run.rest()
            .iter()
            .any(|notice| matches!(notice, Notice::Warning { .. }))
    );

    kernel.cap_buffers(212_992);
    let (mut run, _) = World::run(&kernel, with_events());
    assert!(warning(&mut run).contains("212992 octets instead of the 8388608"));
}
