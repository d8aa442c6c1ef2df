//! Plain JavaScript objects, to and from the agent's types.

use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use agent::{
    Extras, FormatSpec, LabelBits, NamesConfig, Network, OwnSession, Prefixes, ProfileName,
    RuleLabels, Selection,
};
use flow_table::{InitialDelta, Losses, WhenFull};
use napi_derive::napi;
use netfilter::netns::Netns;
use netfilter::{Family, Masked};

use crate::errors::{self, Result, error};

/// A mark and the bits of it that matter.
#[napi(object)]
pub struct NativeMask {
    pub value: u32,
    pub mask: u32,
}

/// Which connections. Empty lists select all; `protocols` may be left out but not empty.
#[napi(object)]
pub struct NativeSelection {
    #[napi(ts_type = "Array<'ipv4' | 'ipv6'>")]
    pub families: Vec<String>,
    pub zones: Vec<u32>,
    pub protocols: Option<Vec<u32>>,
    pub mark: Option<NativeMask>,
    pub exclude: Vec<String>,
    pub netns: Option<String>,
}

/// How connections are read and kept. Times are milliseconds.
#[napi(object)]
pub struct NativeConfig {
    pub selection: NativeSelection,
    #[napi(ts_type = "'poll' | 'events'")]
    pub source: String,
    pub active_timeout: f64,
    pub idle_timeout: f64,
    pub stale_timeout: f64,
    pub max_connections: Option<u32>,
    #[napi(ts_type = "'reject-new' | 'evict-idle'")]
    pub when_full: String,
    #[napi(ts_type = "'zero' | 'total'")]
    pub initial_delta: String,
    pub state_file: Option<String>,
    pub poll_retry_timeout: f64,
    /// For Antrea's aggregator: each record ends at least a second after the former one of its connection.
    pub seconds_end_monotonic: bool,
    pub event_buffer_size: u32,
    /// Marks of connections to Services; all connections to a Service's address without it.
    pub service_mark: Option<NativeMask>,
    /// Bits of the labels that carry rules' numbers. Default: 0 to 31 and 32 to 63.
    pub rule_labels: Option<NativeRuleLabels>,
    /// Where Pods have their addresses.
    pub pod_networks: Vec<String>,
    /// How long a rule stays known at least that is gone.
    pub poll_interval: f64,
    /// For records of the standard profile.
    pub node_name: Option<String>,
    pub cluster_name: Option<String>,
}

/// Bits of the labels: the first one, and how many.
#[napi(object)]
pub struct NativeLabelBits {
    pub first: u32,
    pub count: u32,
}

/// Where rules' numbers stand in the labels.
#[napi(object)]
pub struct NativeRuleLabels {
    pub ingress: NativeLabelBits,
    pub egress: NativeLabelBits,
}

/// One of the agent's own sessions to a collector.
#[napi(object)]
pub struct NativeOwnSession {
    pub protocol: u32,
    pub local_address: String,
    pub local_port: u32,
    pub remote_address: String,
    pub remote_port: u32,
}

/// How records are encoded for a collector.
#[napi(object)]
pub struct NativeFormat {
    #[napi(ts_type = "'standard' | 'antrea'")]
    pub profile: String,
    pub fields: Option<Vec<String>>,
    /// Whether records of the standard profile without `fields` end with the names of both ends.
    pub names: bool,
    /// Whether they end with the node's name, and with that of its cluster.
    pub node: bool,
    pub cluster: bool,
    pub domain: u32,
    pub max_message_size: u32,
}

/// What was lost for one reason, both directions together.
#[napi(object)]
pub struct NativeLoss {
    pub reason: String,
    pub records: f64,
    pub packets: f64,
    pub octets: f64,
}

pub fn selection(selection: &NativeSelection) -> Result<(Selection, Option<Netns>)> {
    let mut families = Vec::new();
    for family in &selection.families {
        families.push(match family.as_str() {
            "ipv4" => Family::Ipv4,
            "ipv6" => Family::Ipv6,
            other => return Err(invalid("families", other, "ipv4 or ipv6")),
        });
    }
    let zones: Result<Vec<u16>> = selection
        .zones
        .iter()
        .map(|&zone| number("zones", zone))
        .collect();
    let protocols: Option<Result<Vec<u8>>> = selection.protocols.as_ref().map(|numbers| {
        numbers
            .iter()
            .map(|&protocol| number("protocols", protocol))
            .collect()
    });
    let exclude: Result<Vec<Network>> = selection
        .exclude
        .iter()
        .map(|text| {
            text.parse()
                .map_err(|cause: agent::SelectionError| error(INVALID, cause.to_string()))
        })
        .collect();
    let selection_of_agent = Selection {
        family: Selection::family_of(&families),
        zones: zones?,
        protocols: protocols.transpose()?,
        mark: selection.mark.as_ref().map(masked),
        exclude: exclude?,
    };
    let netns = selection.netns.as_deref().map(Netns::parse);
    Ok((selection_of_agent, netns))
}

pub fn config(config: &NativeConfig) -> Result<agent::Config> {
    let (selection, netns) = selection(&config.selection)?;
    Ok(agent::Config {
        selection,
        netns,
        active_timeout: duration("activeTimeout", config.active_timeout)?,
        idle_timeout: duration("idleTimeout", config.idle_timeout)?,
        stale_timeout: duration("staleTimeout", config.stale_timeout)?,
        max_connections: config
            .max_connections
            .and_then(|max| usize::try_from(max).ok()),
        when_full: match config.when_full.as_str() {
            "reject-new" => WhenFull::RejectNew,
            "evict-idle" => WhenFull::EvictIdle,
            other => return Err(invalid("whenFull", other, "reject-new or evict-idle")),
        },
        initial_delta: match config.initial_delta.as_str() {
            "zero" => InitialDelta::Zero,
            "total" => InitialDelta::Total,
            other => return Err(invalid("initialDelta", other, "zero or total")),
        },
        poll_retry_timeout: duration("pollRetryTimeout", config.poll_retry_timeout)?,
        events: match config.source.as_str() {
            "poll" => false,
            "events" => true,
            other => return Err(invalid("source", other, "poll or events")),
        },
        event_buffer: usize::try_from(config.event_buffer_size).unwrap_or(usize::MAX),
        seconds_end_monotonic: config.seconds_end_monotonic,
        state_file: config.state_file.as_deref().map(PathBuf::from),
        names: names(config)?,
    })
}

fn names(config: &NativeConfig) -> Result<NamesConfig> {
    let bits = |what, bits: &NativeLabelBits| {
        let got = format!("{} bits from {} on", bits.count, bits.first);
        let wrong = || invalid(what, &got, "1 to 32 of the bits 0 to 127");
        LabelBits::new(number(what, bits.first)?, number(what, bits.count)?).ok_or_else(wrong)
    };
    let rule_labels = match &config.rule_labels {
        Some(labels) => RuleLabels {
            ingress: bits("ruleLabels.ingress", &labels.ingress)?,
            egress: bits("ruleLabels.egress", &labels.egress)?,
        },
        None => RuleLabels::default(),
    };
    let pod_networks = Prefixes::new("podNetworks", &config.pod_networks);
    Ok(NamesConfig {
        service_mark: config.service_mark.as_ref().map(masked),
        rule_labels,
        pod_networks: Arc::new(pod_networks.map_err(|cause| errors::agent(cause.into()))?),
        poll_interval: duration("pollInterval", config.poll_interval)?,
        node: config.node_name.clone(),
        cluster: config.cluster_name.clone(),
        ..NamesConfig::default()
    })
}

fn masked(mask: &NativeMask) -> Masked {
    Masked {
        value: mask.value,
        mask: mask.mask,
    }
}

pub fn own_session(session: &NativeOwnSession) -> Result<OwnSession> {
    Ok(OwnSession {
        protocol: number("protocol", session.protocol)?,
        local: endpoint("localAddress", &session.local_address, session.local_port)?,
        remote: endpoint(
            "remoteAddress",
            &session.remote_address,
            session.remote_port,
        )?,
    })
}

pub fn format(format: NativeFormat) -> Result<FormatSpec> {
    Ok(FormatSpec {
        profile: match (format.profile.as_str(), format.fields) {
            ("standard", None) => ProfileName::StandardWith(Extras {
                names: format.names,
                node: format.node,
                cluster: format.cluster,
            }),
            ("standard", fields) => ProfileName::Standard(fields),
            ("antrea", None) => ProfileName::Antrea,
            ("antrea", Some(_)) => {
                return Err(error(
                    INVALID,
                    "fields: the antrea profile has a fixed list of elements",
                ));
            }
            (other, _) => return Err(invalid("profile", other, "standard or antrea")),
        },
        domain: format.domain,
        max_message_size: usize::try_from(format.max_message_size).unwrap_or(usize::MAX),
    })
}

/// Counters cross as numbers: exact up to 2^53, which no counter of a node reaches in its life.
pub fn count(value: u64) -> f64 {
    value as f64
}

pub fn size(value: usize) -> f64 {
    value as f64
}

pub fn losses(losses: &Losses) -> Vec<NativeLoss> {
    losses
        .iter()
        .map(|(reason, lost)| NativeLoss {
            reason: reason.name().to_owned(),
            records: count(lost.records),
            packets: count(lost.packets),
            octets: count(lost.octets),
        })
        .collect()
}

const INVALID: &str = "ERR_OPTION";

pub fn invalid(what: &str, got: &str, expected: &str) -> napi::Error<crate::errors::Code> {
    error(INVALID, format!("{what}: got '{got}', expected {expected}"))
}

pub fn number<T: TryFrom<u32>>(what: &str, value: u32) -> Result<T> {
    T::try_from(value).map_err(|_| invalid(what, &value.to_string(), "a smaller number"))
}

pub fn duration(what: &str, milliseconds: f64) -> Result<Duration> {
    Duration::try_from_secs_f64(milliseconds / 1000.0).map_err(|_| {
        invalid(
            what,
            &milliseconds.to_string(),
            "milliseconds, not negative",
        )
    })
}

/// An IPv4-mapped address is IPv4 to conntrack, and a zone index (`%eth0`) is no part of a tuple.
fn endpoint(what: &str, address: &str, port: u32) -> Result<SocketAddr> {
    let plain = address.split_once('%').map_or(address, |(plain, _)| plain);
    let ip: IpAddr = plain
        .parse()
        .map_err(|_| invalid(what, address, "an IP address"))?;
    Ok(SocketAddr::new(ip.to_canonical(), number("port", port)?))
}
