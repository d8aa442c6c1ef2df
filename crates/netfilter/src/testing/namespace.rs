//! A test's own network namespace, for root and for everybody else.

use std::any::type_name;
use std::io::Write as _;
use std::panic::resume_unwind;
use std::process::{Command, Stdio};
use std::thread;

use crate::os::unshare_network;
use crate::{sysctl, tracking};

/// Set in a process that `unshare -Urn` has already given a user namespace.
const INSIDE: &str = "NETFILTER_TESTING_INSIDE";

/// Runs `body` on a thread of its own in a fresh network namespace and returns when it ends; its panic is the caller's.
/// Threads and processes that the body starts are in the namespace too.
///
/// A thread of root enters one directly. Otherwise the whole test is run again by `unshare -Urn` with this test's name,
/// found from `body`'s type: so `body` has to be a closure written in the test function itself, and the call its last
/// statement. Fails, and says why, where neither is allowed.
pub fn in_namespace<F: FnOnce() + Send + 'static>(body: F) {
    isolated(test_name::<F>(), body);
}

/// As [`in_namespace`], in a user namespace of its own also for root: what the first user namespace alone may do is refused
/// there, such as receive buffers beyond net.core.rmem_max.
pub fn in_user_namespace<F: FnOnce() + Send + 'static>(body: F) {
    match std::env::var_os(INSIDE) {
        Some(_) => on_namespace_thread(body).expect("a namespace is to be had in an own one"),
        None => again_under_unshare(test_name::<F>()),
    }
}

/// As [`in_namespace`], with [`track`] done.
pub fn in_tracked_namespace<F: FnOnce() + Send + 'static>(body: F) {
    isolated(test_name::<F>(), || {
        track();
        body();
    });
}

/// Runs `body` on a thread of its own in a fresh network namespace, as [`in_namespace`] does for root.
///
/// # Errors
/// When this process may not make one; `body` did not run then.
pub fn on_namespace_thread<T: Send + 'static>(
    body: impl FnOnce() -> T + Send + 'static,
) -> std::io::Result<T> {
    let thread = thread::spawn(|| {
        unshare_network()?;
        tracking::loopback_up().expect("the loopback interface comes up");
        Ok(body())
    });
    thread.join().unwrap_or_else(|panic| resume_unwind(panic))
}

fn isolated(test: &str, body: impl FnOnce() + Send + 'static) {
    // Where the right is missing it is missing on any thread: asked on one that ends at once.
    let allowed = thread::spawn(unshare_network).join();
    match allowed.expect("the probing thread does not panic") {
        Ok(()) => on_namespace_thread(body).expect("one was to be had a moment ago"),
        Err(errno) if std::env::var_os(INSIDE).is_some() => {
            panic!("no network namespace even inside `unshare -Urn`: {errno}")
        }
        Err(_) => again_under_unshare(test),
    }
}

/// Turns tracking, labels, accounting, timestamps and events on in the calling thread's namespace.
pub fn track() {
    tracking::enable().expect("tracking is turned on");
    tracking::enable_labels().expect("labels are turned on");
    for setting in ["acct", "timestamp", "events"] {
        sysctl::write(&format!("netfilter/nf_conntrack_{setting}"), 1)
            .expect("a setting of an own namespace can be written");
    }
}

/// Loads rules with the `nft` program.
pub fn nft(rules: &str) {
    let mut child = Command::new("nft")
        .args(["-f", "-"])
        .stdin(Stdio::piped())
        .spawn()
        .unwrap_or_else(|error| {
            panic!("this test needs the program `nft` (Debian package nftables): {error}")
        });
    let mut input = child.stdin.take().expect("the standard input is a pipe");
    input
        .write_all(rules.as_bytes())
        .expect("nft reads its rules");
    drop(input);
    let status = child.wait().expect("nft ends");
    assert!(
        status.success(),
        "nft refused the rules ({status}):\n{rules}"
    );
}

/// Runs a program of the machine and returns what it prints.
pub fn run(program: &str, arguments: &[&str]) -> String {
    let output = Command::new(program)
        .args(arguments)
        .output()
        .unwrap_or_else(|error| panic!("this test needs the program `{program}`: {error}"));
    assert!(
        output.status.success(),
        "{program} {arguments:?}: {}\n{}",
        output.status,
        String::from_utf8_lossy(&output.stderr)
    );
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// The test harness's name of the function in which a closure was written: its path without the crate.
fn test_name<F>() -> &'static str {
    let path = type_name::<F>();
    let path = path.split("::{{closure}}").next().unwrap_or(path);
    path.split_once("::").map_or(path, |(_, name)| name)
}

fn again_under_unshare(name: &str) {
    let binary = std::env::current_exe().expect("a test binary knows its path");
    let output = Command::new("unshare")
        .arg("-Urn")
        .arg(binary)
        .args(["--exact", name, "--nocapture", "--test-threads=1"])
        .env(INSIDE, "1")
        .output()
        .unwrap_or_else(|error| {
            panic!("this test needs the program `unshare` (util-linux): {error}")
        });
    let text = String::from_utf8_lossy(&output.stdout);
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(
        output.status.success() && text.contains("1 passed"),
        "{name} under `unshare -Urn`: {}. Where unshare itself failed, user namespaces are forbidden here \
(user.max_user_namespaces, seccomp, or kernel.apparmor_restrict_unprivileged_userns): run the tests as root.\n\
{text}\n{errors}",
        output.status
    );
}
