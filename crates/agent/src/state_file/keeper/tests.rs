//! When the file is written, by whom, and what is said of it. No kernel: connections are put into the table by hand.

use std::fs;
use std::path::Path;

use flow_table::{Counters, NamesId, Observation, Scope, Tuple};

use super::*;
use crate::kernel::notice::Notice;
use crate::names::Naming;

const BOOT: [u8; 16] = [7; 16];

fn shared() -> Arc<Shared> {
    Arc::new(Shared::for_tests(10_000, Naming::new(&Default::default())))
}

/// A folder of the test's own, gone with it.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let path =
            std::env::temp_dir().join(format!("ctipfix-keeper-{}-{name}", std::process::id()));
        fs::create_dir_all(&path).unwrap();
        Self(path)
    }

    fn file(&self) -> PathBuf {
        self.0.join("state")
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

fn seen(port: u16) -> Observation {
    let original = Tuple {
        source: "192.0.2.1".parse().unwrap(),
        destination: "198.51.100.1".parse().unwrap(),
        protocol: 17,
        source_port: port,
        destination_port: 53,
    };
    Observation {
        original,
        reply: original.inverse(),
        zone: 0,
        reply_zone: 0,
        id: u32::from(port),
        start_ns: Some(1_700_000_000_000_000_000),
        stop_ns: None,
        last_packet_ns: None,
        counters: Some([Counters::default(); 2]),
        mark: 0,
        status: 0,
        protocol_state: 0,
        timeout_s: Some(60),
        labels: [0; 16],
    }
}

/// One complete poll that meets so many connections.
fn poll(shared: &Shared, connections: u16) {
    let mut table = shared.table();
    let all: Vec<_> = (0..connections).map(seen).collect();
    let poll = table.begin_poll(Scope(0), now());
    table.observe(poll, &all, &mut |_: &Observation| Some(NamesId(0)), now());
    table.end_poll(poll, true, now());
}

/// Waits until the writing that was asked for is over.
fn saved(shared: &Shared) -> Vec<Notice> {
    let mut notices = Vec::new();
    while !notices.contains(&Notice::Saved) {
        notices.extend(shared.notices());
        std::thread::yield_now();
    }
    notices
}

fn entries(path: &Path) -> usize {
    let mut count = 0;
    let read = state_file::read(path, BOOT, |_| {}, |entries| count += entries.len());
    read.unwrap().expect("there is a file");
    count
}

#[test]
fn without_a_boot_id_no_file_is_kept_and_it_is_said() {
    let shared = shared();
    let unreadable = Err(io::ErrorKind::PermissionDenied.into());
    assert!(StateKeeper::open("state".into(), unreadable, &shared).is_none());
    let [Notice::Warning { code, message }] = &shared.notices()[..] else {
        panic!("a warning and nothing else")
    };
    assert_eq!(*code, "STATE_FILE_REFUSED");
    assert!(message.contains("boot's id"), "{message}");
}

#[test]
fn what_is_asked_for_is_written_and_answered_but_not_before_a_complete_poll() {
    let folder = Folder::new("asked");
    let shared = shared();
    let mut keeper = StateKeeper::open(folder.file(), Ok(BOOT), &shared).unwrap();
    keeper.keep(&shared, true);
    saved(&shared);
    assert!(!folder.file().exists());

    poll(&shared, 1000);
    keeper.complete_poll(&shared);
    keeper.keep(&shared, true);
    assert_eq!(saved(&shared), [Notice::Saved]);
    assert_eq!(entries(&folder.file()), 1000);
}

#[test]
fn nothing_is_written_before_its_minute_unless_it_is_asked_for() {
    let folder = Folder::new("minute");
    let shared = shared();
    let mut keeper = StateKeeper::open(folder.file(), Ok(BOOT), &shared).unwrap();
    poll(&shared, 1);
    keeper.complete_poll(&shared);
    keeper.keep(&shared, false);
    // As if the minute were over.
    keeper.next_ms = Some(now().monotonic_ms);
    keeper.keep(&shared, false);
    let next = keeper.next_ms.unwrap();
    assert!(next > now().monotonic_ms + INTERVAL_MS / 2);
    keeper.complete_poll(&shared);
    assert_eq!(keeper.next_ms, Some(next), "later polls put nothing off");
    while !folder.file().exists() {
        std::thread::yield_now();
    }
    // Dropped with a writing under way or none, it leaves no unfinished file.
    drop(keeper);
    assert_eq!(fs::read_dir(&folder.0).unwrap().count(), 1);
    assert!(shared.notices().is_empty(), "nobody asked");
}

#[test]
fn whoever_has_it_written_does_not_wait_for_that() {
    let folder = Folder::new("waits");
    let shared = shared();
    let mut keeper = StateKeeper::open(folder.file(), Ok(BOOT), &shared).unwrap();
    poll(&shared, 1);
    keeper.complete_poll(&shared);
    // What is written comes out of the table, which nobody gets while this thread holds it.
    let table = shared.table();
    keeper.keep(&shared, true);
    assert!(shared.notices().is_empty());
    drop(table);
    saved(&shared);
}

#[test]
fn a_failure_is_said_when_it_begins_and_again_after_a_success() {
    let folder = Folder::new("failing");
    let shared = shared();
    let mut keeper = StateKeeper::open(folder.file(), Ok(BOOT), &shared).unwrap();
    poll(&shared, 1);
    keeper.complete_poll(&shared);
    let mut save = || {
        keeper.keep(&shared, true);
        let notices = saved(&shared);
        let is_failure = |notice: &&Notice| matches!(notice, Notice::Warning { code, .. } if *code == "STATE_FILE_NOT_WRITTEN");
        notices.iter().filter(is_failure).count()
    };
    fs::create_dir(folder.file()).unwrap();
    assert_eq!([save(), save()], [1, 0]);
    fs::remove_dir(folder.file()).unwrap();
    assert_eq!(save(), 0);
    fs::remove_file(folder.file()).unwrap();
    fs::create_dir(folder.file()).unwrap();
    assert_eq!(save(), 1);
}

#[test]
fn a_file_that_cannot_be_used_is_said_and_replaced() {
    let folder = Folder::new("refused");
    fs::write(
        folder.file(),
        "something else, and longer than the head of a file",
    )
    .unwrap();
    let shared = shared();
    let mut keeper = StateKeeper::open(folder.file(), Ok(BOOT), &shared).unwrap();
    let refused = shared.notices();
    assert!(matches!(
        &refused[..],
        [Notice::Warning {
            code: "STATE_FILE_REFUSED",
            ..
        }]
    ));
    poll(&shared, 3);
    keeper.complete_poll(&shared);
    keeper.keep(&shared, true);
    saved(&shared);
    assert_eq!(entries(&folder.file()), 3);
}
