//! The steps that a template compiles to: each pushes one value, or a run of values that often stand together, onto
//! the message. A record is the run of its template's steps; nothing is looked up or allocated on the way.

use crate::encode::compile::{NAMES_EGRESS, NAMES_ENDS, NAMES_POLICIES};
use crate::encode::value::{
    cluster, endpoint_ports, milliseconds, proxy_snat, proxy_snat_port, push_field, seconds,
    service, v4, v6,
};
use crate::flow::Flow;
use crate::names::Names;
use crate::profile::field::Field;

/// One push. The runs exist for speed alone: they write what their fields would write one by one, which a test checks.
/// Each run is named for the constant in `encode::compile` that lists its fields.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Step {
    One(Field),
    Times,
    TransportV4,
    TransportV6,
    Counters,
    Kernel,
    AntreaHead,
    EndpointsV4,
    EndpointsV6,
    AntreaReverse,
    NamesEnds,
    NamesPolicies,
    NamesEgress,
    AntreaTailV4,
    AntreaTailV6,
}

/// Puts values together on the stack, so that the message grows once for all of them. The length is their sum.
macro_rules! push_run {
    ($out:ident, $len:literal, $($value:expr),* $(,)?) => {{
        let mut run = Run::<$len>::new();
        $(run.put($value);)*
        run.push_to($out);
    }};
}

impl Step {
    #[inline]
    pub(crate) fn push(self, flow: &Flow<'_>, out: &mut Vec<u8>) {
        let [total, reverse_total] = flow.totals;
        let [delta, reverse_delta] = flow.deltas;
        let u64 = u64::to_be_bytes;
        let u32 = u32::to_be_bytes;
        let u16 = u16::to_be_bytes;
        let ipv4 = |address| v4(address).octets();
        let ipv6 = |address| v6(address).octets();
        match self {
            Step::One(field) => push_field(field, flow, out),
            Step::Times => {
                push_run!(
                    out,
                    17,
                    u64(milliseconds(flow.start_ns)),
                    u64(milliseconds(flow.end_ns)),
                    [flow.reason]
                );
            }
            Step::TransportV4 => push_run!(
                out,
                13,
                ipv4(flow.source),
                ipv4(flow.destination),
                u16(flow.source_port),
                u16(flow.destination_port),
                [flow.protocol],
            ),
            Step::TransportV6 => push_run!(
                out,
                37,
                ipv6(flow.source),
                ipv6(flow.destination),
                u16(flow.source_port),
                u16(flow.destination_port),
                [flow.protocol],
            ),
            Step::Counters => push_run!(
                out,
                64,
                u64(total.packets),
                u64(total.octets),
                u64(reverse_total.packets),
                u64(reverse_total.octets),
                u64(delta.packets),
                u64(delta.octets),
                u64(reverse_delta.packets),
                u64(reverse_delta.octets),
            ),
            Step::Kernel => push_run!(
                out,
                16,
                u32(flow.zone.into()),
                u32(flow.reply_zone.into()),
                u32(flow.mark),
                u32(flow.id),
            ),
            Step::AntreaHead => {
                let (source_port, port) = endpoint_ports(flow);
                push_run!(
                    out,
                    46,
                    u32(seconds(flow.start_ns)),
                    u32(seconds(flow.end_ns)),
                    [flow.reason],
                    u16(source_port),
                    u16(port),
                    [flow.protocol],
                    u64(total.packets),
                    u64(total.octets),
                    u64(delta.packets),
                    u64(delta.octets),
                );
            }
            Step::EndpointsV4 => push_run!(out, 8, ipv4(flow.source), ipv4(flow.reply_source)),
            Step::EndpointsV6 => push_run!(out, 32, ipv6(flow.source), ipv6(flow.reply_source)),
            Step::AntreaReverse => push_run!(
                out,
                32,
                u64(reverse_total.packets),
                u64(reverse_total.octets),
                u64(reverse_delta.packets),
                u64(reverse_delta.octets),
            ),
            // Without names: an empty string or a zero each, one octet in any case.
            Step::NamesEnds => {
                out.extend_from_slice(flow.names.map_or(&[0; NAMES_ENDS.len()], Names::ends))
            }
            Step::NamesPolicies => {
                out.extend_from_slice(
                    flow.names
                        .map_or(&[0; NAMES_POLICIES.len()], Names::policies),
                );
            }
            Step::NamesEgress => {
                out.extend_from_slice(flow.names.map_or(&[0; NAMES_EGRESS.len()], Names::egress))
            }
            Step::AntreaTailV4 => push_run!(
                out,
                14,
                u16(proxy_snat_port(flow)),
                ipv4(cluster(flow)),
                ipv4(proxy_snat(flow)),
                ipv4(service(flow)),
            ),
            Step::AntreaTailV6 => push_run!(
                out,
                50,
                u16(proxy_snat_port(flow)),
                ipv6(cluster(flow)),
                ipv6(proxy_snat(flow)),
                ipv6(service(flow)),
            ),
        }
    }
}

/// A run of values on the stack.
struct Run<const N: usize> {
    octets: [u8; N],
    len: usize,
}

impl<const N: usize> Run<N> {
    #[inline(always)]
    fn new() -> Self {
        Self {
            octets: [0; N],
            len: 0,
        }
    }

    /// The lengths of all puts of a run add up to N; the compiler sees it and drops the check.
    #[inline(always)]
    fn put<const M: usize>(&mut self, value: [u8; M]) {
        if let Some(place) = self.octets.get_mut(self.len..self.len + M) {
            place.copy_from_slice(&value);
        }
        self.len += M;
    }

    #[inline(always)]
    fn push_to(&self, out: &mut Vec<u8>) {
        debug_assert_eq!(self.len, N);
        out.extend_from_slice(&self.octets);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::encode::compile::RUNS;
    use crate::flow::Counters;
    use crate::names::{NameTexts, PolicyNames};

    fn flow() -> Flow<'static> {
        // Every value differs from every other, so that none can stand in another's place unseen.
        Flow {
            source: "1.2.3.4".parse().unwrap(),
            destination: "5.6.7.8".parse().unwrap(),
            source_port: 0x0910,
            destination_port: 0x1112,
            protocol: 0x13,
            translated: false,
            reply_source: "20.21.22.23".parse().unwrap(),
            reply_destination: "24.25.26.27".parse().unwrap(),
            reply_source_port: 0x2829,
            reply_destination_port: 0x3031,
            start_ns: 0x3233_3435_3637_3839,
            end_ns: 0x4041_4243_4445_4647,
            reason: 0x48,
            totals: [
                Counters {
                    packets: 0x49,
                    octets: 0x50,
                },
                Counters {
                    packets: 0x51,
                    octets: 0x52,
                },
            ],
            deltas: [
                Counters {
                    packets: 0x53,
                    octets: 0x54,
                },
                Counters {
                    packets: 0x55,
                    octets: 0x56,
                },
            ],
            zone: 0x5758,
            reply_zone: 0x5960,
            mark: 0x6162_6364,
            id: 0x6566_6768,
            tcp_state: 0,
            names: None,
            service: false,
            node: "",
            cluster: "",
            denied: None,
        }
    }

    #[test]
    fn a_run_writes_what_its_fields_write_one_by_one() {
        let v6 = Flow {
            source: "1:2:3:4:5:6:7:8".parse().unwrap(),
            destination: "11:12:13:14:15:16:17:18".parse().unwrap(),
            ..flow()
        };
        let policy = |n: &str| PolicyNames {
            name: format!("{n}1"),
            namespace: format!("{n}23"),
            policy_type: 4,
            rule_name: format!("{n}567"),
            rule_action: 8,
        };
        let names = Names::new(NameTexts {
            source_pod_name: "a".into(),
            source_pod_namespace: "bb".into(),
            source_node_name: "ccc".into(),
            destination_pod_name: "dddd".into(),
            destination_pod_namespace: "eeeee".into(),
            destination_node_name: "ffffff".into(),
            destination_service_port_name: "ggggggg".into(),
            ingress_policy: policy("h"),
            egress_policy: policy("i"),
            flow_type: 9,
            egress_name: "j".into(),
            egress_ip: "kk".into(),
            egress_node_name: "lll".into(),
            ..NameTexts::default()
        });
        let named = Flow {
            names: Some(&names),
            ..v6.clone()
        };
        for flow in [flow(), v6, named] {
            for (fields, step) in RUNS {
                let (mut run, mut single) = (Vec::new(), Vec::new());
                step.push(&flow, &mut run);
                for field in fields {
                    push_field(*field, &flow, &mut single);
                }
                assert_eq!(run, single, "{step:?}");
            }
        }
    }

    #[test]
    fn steps_write_all_of_a_buffer_that_held_garbage() {
        let mut buffer = vec![0xa5; 4096];
        for field in Field::ALL {
            let mut fresh = Vec::new();
            push_field(*field, &flow(), &mut fresh);
            buffer.clear();
            push_field(*field, &flow(), &mut buffer);
            assert_eq!(buffer, fresh, "{field:?}");
            if field.specifier().length != crate::template::VARIABLE {
                assert_eq!(
                    buffer.len(),
                    usize::from(field.specifier().length),
                    "{field:?}"
                );
            }
        }
    }
}
