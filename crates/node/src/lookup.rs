//! `NativeLookup`: the addresses of one name, asked for on a thread of its own.
//!
//! getaddrinfo(3) answers as every program of the machine is answered (hosts, nsswitch.conf, search domains), cannot
//! be called off, and may wait for a minute. On Node's pool two such calls keep everybody else's names, and a third
//! part of the pool files; the process cannot end before they do. This thread is waited for by nobody.

use std::net::{SocketAddr, ToSocketAddrs};
use std::sync::mpsc::{Receiver, channel};

use napi::bindgen_prelude::Function;
use napi_derive::napi;

use crate::errors::{Result, error};
use crate::wake::waker;

/// What the resolver said.
#[napi(object)]
pub struct NativeAddresses {
    /// In the resolver's order (RFC 6724), each once. An address of link scope has its `%INDEX`.
    pub addresses: Vec<String>,
    /// Why there are none.
    pub error: Option<String>,
}

/// A look-up under way. `wake` is called when `read()` has its outcome; it does not keep the process alive.
#[napi]
pub struct NativeLookup {
    outcome: Receiver<std::io::Result<Vec<SocketAddr>>>,
}

#[napi]
impl NativeLookup {
    #[napi(constructor, catch_unwind)]
    pub fn new(name: String, wake: Function<'_, (), ()>) -> Result<Self> {
        let wake = waker(&wake)?;
        let (send, outcome) = channel();
        std::thread::Builder::new()
            .name("conntrack-dns".to_owned())
            .spawn(move || {
                let found = (name.as_str(), 0).to_socket_addrs().map(Iterator::collect);
                // Nobody may be left to hear it.
                drop(send.send(found));
                wake();
            })
            .map_err(|cause| error("ERR_SYSTEM", format!("start the look-up's thread: {cause}")))?;
        Ok(Self { outcome })
    }

    /// Null: not yet.
    #[napi(catch_unwind)]
    pub fn read(&self) -> Option<NativeAddresses> {
        let found = self.outcome.try_recv().ok()?;
        Some(match found {
            Ok(found) => {
                let mut addresses: Vec<String> = found.iter().map(text).collect();
                let mut seen = std::collections::HashSet::new();
                addresses.retain(|address| seen.insert(address.clone()));
                NativeAddresses {
                    addresses,
                    error: None,
                }
            }
            Err(cause) => {
                let text = cause.to_string();
                let reason = text.rsplit_once(": ").map_or(text.as_str(), |(_, why)| why);
                NativeAddresses {
                    addresses: Vec::new(),
                    error: Some(reason.to_owned()),
                }
            }
        })
    }
}

fn text(address: &SocketAddr) -> String {
    match address {
        SocketAddr::V6(v6) if v6.scope_id() != 0 => format!("{}%{}", v6.ip(), v6.scope_id()),
        _ => address.ip().to_string(),
    }
}
