//! A dump ends when its reader wants it to, whatever the kernel still has to say.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test that cannot go on has to stop"
)]

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, channel};
use std::sync::{Arc, Mutex};

use agent::{DumpTask, Dumped, Selection, dump};
use netfilter::testing::{Entry, Maker, in_tracked_namespace, tuple};

const ENTRIES: u16 = 20_000;

/// A table of more receive buffers than a task keeps for its reader.
fn fill() {
    let entry = |port: u16| Entry::new(tuple(&format!("192.0.2.1:{port}"), "198.51.100.1:53", 17));
    let entries = (1..=ENTRIES).map(entry);
    Maker::open().unwrap().create(entries).unwrap();
}

#[test]
fn a_reader_that_has_enough_gets_no_further_buffer() {
    in_tracked_namespace(|| {
        fill();
        let cancel = Arc::new(AtomicBool::new(false));
        let mut parts = 0;
        let dumped = dump(&Selection::default(), None, &cancel, |_| {
            parts += 1;
            cancel.store(true, Ordering::Relaxed);
        })
        .unwrap();
        assert_eq!(parts, 1);
        assert!(!dumped.complete);
        assert!(dumped.connections < 1000, "{dumped:?}");
    });
}

#[test]
fn a_dump_in_which_nothing_is_selected_is_cancelled_too() {
    in_tracked_namespace(|| {
        fill();
        let selections = [
            Selection {
                protocols: Some(vec![200]),
                ..Selection::default()
            },
            Selection {
                zones: vec![1, 2],
                ..Selection::default()
            },
        ];
        for selection in selections {
            let cancel = Arc::new(AtomicBool::new(true));
            let dumped = dump(&selection, None, &cancel, |_| panic!("nothing is selected"));
            let nothing = Dumped {
                connections: 0,
                malformed: 0,
                complete: false,
            };
            assert_eq!(dumped.unwrap(), nothing);
        }
    });
}

/// A task whose thread, once it has something to tell, stays in its first wake-up until the gate is dropped.
struct Held {
    task: DumpTask,
    woken: Receiver<()>,
    gate: std::sync::mpsc::Sender<()>,
}

impl Held {
    fn start() -> Self {
        let (tell, woken) = channel();
        let (gate, wait) = channel::<()>();
        let wait = Mutex::new(wait);
        let wake = Box::new(move || {
            let _ = tell.send(());
            let _ = wait.lock().unwrap().recv();
        });
        let task = DumpTask::start(Selection::default(), None, wake).unwrap();
        Self { task, woken, gate }
    }
}

#[test]
fn closing_a_task_does_not_wait_for_its_thread() {
    in_tracked_namespace(|| {
        fill();
        let Held {
            mut task,
            woken,
            gate,
        } = Held::start();
        woken.recv().unwrap();
        // The thread is in its wake-up and cannot end before the gate opens: a close that waited would never return.
        task.close();
        assert!(task.read().done);
        task.close();
        drop(gate);
        drop(task);
        // Its other wake-ups, if any, are over: the thread has ended with the task.
        while woken.try_recv().is_ok() {}
        assert!(woken.recv().is_err());
    });
}

#[test]
fn a_task_hands_over_the_whole_table_and_says_when_it_was_all() {
    in_tracked_namespace(|| {
        fill();
        let (tell, woken) = channel();
        let wake = Box::new(move || {
            let _ = tell.send(());
        });
        let mut task = DumpTask::start(Selection::default(), None, wake).unwrap();
        let mut lines = 0;
        loop {
            let part = task.read();
            assert!(part.error.is_none(), "{part:?}");
            assert!(part.lines.len() <= 8, "as many as wait, no more");
            let octets = part.lines.iter().flatten();
            lines += octets.filter(|&&octet| octet == b'\n').count();
            if part.done {
                break;
            }
            // A part that brought something may not have been all: look again.
            if part.lines.is_empty() {
                woken.recv().unwrap();
            }
        }
        assert_eq!(lines, usize::from(ENTRIES));
    });
}

#[test]
fn what_the_kernel_refuses_is_the_last_word_of_a_task() {
    let netns = netfilter::netns::Netns::Name("no-such-namespace".into());
    let (tell, woken) = channel();
    let wake = Box::new(move || {
        let _ = tell.send(());
    });
    let mut task = DumpTask::start(Selection::default(), Some(netns), wake).unwrap();
    let mut error = None;
    loop {
        let part = task.read();
        error = error.or(part.error);
        if part.done {
            break;
        }
        woken.recv().unwrap();
    }
    assert_eq!(error.unwrap().code(), "ERR_NETNS");
}
