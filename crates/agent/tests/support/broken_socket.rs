//! Breaks a socket of a running exporter, as nothing but a kernel gone wrong would: what follows is the real way of a
//! failed system call through the threads that own it. The support's only unsafe code.
#![allow(
    unsafe_code,
    reason = "kept in this module alone, each block with its proof"
)]

use std::fs::{self, File};
use std::mem::ManuallyDrop;
use std::os::fd::{FromRawFd, OwnedFd, RawFd};

use rustix::io::{DupFlags, dup3};

/// A netlink socket of the exporter in the calling thread's network namespace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ExporterSocket {
    /// The one for counts, dumps and lookups.
    Requests,
    /// The one for events.
    Events,
}

impl ExporterSocket {
    /// Puts /dev/null in the socket's place: every use from now on fails with ENOTSOCK. Wants the namespace to itself: one
    /// exporter, and no other netfilter socket open.
    pub fn break_it(self) {
        let number = self.descriptor();
        let null = File::open("/dev/null").unwrap();
        // SAFETY: `number` is open, because the exporter's socket owns it while the exporter runs. dup3 gives the number
        // another file in one step, so that it is never free for anybody else, and the socket goes on owning it:
        // `ManuallyDrop` keeps this alias from closing it. A netlink socket has no memory mapped that could go with it.
        let mut place = unsafe { ManuallyDrop::new(OwnedFd::from_raw_fd(number)) };
        dup3(&null, &mut place, DupFlags::CLOEXEC).unwrap();
    }

    fn descriptor(self) -> RawFd {
        // sk Eth Pid Groups Rmem Wmem Dump Locks Drops Inode; Eth is the netlink family.
        const NETLINK_NETFILTER: &str = "12";
        let table = fs::read_to_string("/proc/thread-self/net/netlink").unwrap();
        let inodes: Vec<&str> = table
            .lines()
            .map(|line| line.split_whitespace().collect::<Vec<_>>())
            // The kernel's own end has no port.
            .filter(|words| words[1] == NETLINK_NETFILTER && words[2] != "0")
            .filter(|words| (words[3] != "00000000") == (self == Self::Events))
            .map(|words| words[9])
            .collect();
        assert_eq!(inodes.len(), 1, "{self:?} in\n{table}");
        let name = format!("socket:[{}]", inodes[0]);
        fs::read_dir("/proc/self/fd")
            .unwrap()
            .map(|entry| entry.unwrap())
            .find(|entry| {
                fs::read_link(entry.path()).is_ok_and(|target| target.to_str() == Some(&name))
            })
            .and_then(|entry| entry.file_name().to_str()?.parse().ok())
            .expect("the socket is this process's")
    }
}
