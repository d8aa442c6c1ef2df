//! Pods as JavaScript gives them.

use agent::{Pod, Pods};
use napi_derive::napi;

use crate::convert::invalid;
use crate::errors::{self, Result};

/// One Pod.
#[napi(object)]
pub struct NativePod {
    pub name: String,
    pub namespace: String,
    pub node: Option<String>,
    pub addresses: Vec<String>,
}

/// An IPv4-mapped address is IPv4 to conntrack.
pub fn pods(pods: Vec<NativePod>) -> Result<Pods> {
    let mut list = Vec::with_capacity(pods.len());
    for (place, pod) in pods.into_iter().enumerate() {
        let mut addresses = Vec::with_capacity(pod.addresses.len());
        for (at, text) in pod.addresses.iter().enumerate() {
            let address = text.parse::<std::net::IpAddr>().map_err(|_| {
                let path = format!("pods[{place}].addresses[{at}]");
                invalid(&path, text, "an IP address")
            })?;
            addresses.push(address.to_canonical());
        }
        list.push(Pod {
            name: pod.name,
            namespace: pod.namespace,
            node: pod.node.unwrap_or_default(),
            addresses,
        });
    }
    Pods::new(list).map_err(|cause| errors::agent(cause.into()))
}
