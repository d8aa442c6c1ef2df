//! From the fields of a template to its steps.

use crate::encode::step::Step;
use crate::profile::field::Field::{self, *};

const TIMES: &[Field] = &[StartMilliseconds, EndMilliseconds, EndReason];
const TRANSPORT_V4: &[Field] = &[
    SourceV4,
    DestinationV4,
    SourcePort,
    DestinationPort,
    Protocol,
];
const TRANSPORT_V6: &[Field] = &[
    SourceV6,
    DestinationV6,
    SourcePort,
    DestinationPort,
    Protocol,
];
const COUNTERS: &[Field] = &[
    PacketTotal,
    OctetTotal,
    ReversePacketTotal,
    ReverseOctetTotal,
    PacketDelta,
    OctetDelta,
    ReversePacketDelta,
    ReverseOctetDelta,
];
const KERNEL: &[Field] = &[IngressVrf, EgressVrf, Mark, ConntrackId];
const ANTREA_HEAD: &[Field] = &[
    StartSeconds,
    EndSeconds,
    EndReason,
    EndpointSourcePort,
    EndpointPort,
    Protocol,
    PacketTotal,
    OctetTotal,
    PacketDelta,
    OctetDelta,
];
const ENDPOINTS_V4: &[Field] = &[SourceV4, EndpointV4];
const ENDPOINTS_V6: &[Field] = &[SourceV6, EndpointV6];
const ANTREA_REVERSE: &[Field] = &[
    ReversePacketTotal,
    ReverseOctetTotal,
    ReversePacketDelta,
    ReverseOctetDelta,
];
/// What [`Names::ends`] holds.
pub(super) const NAMES_ENDS: &[Field] = &[
    SourcePodName,
    SourcePodNamespace,
    SourceNodeName,
    DestinationPodName,
    DestinationPodNamespace,
    DestinationNodeName,
];
/// What [`Names::policies`] holds.
pub(super) const NAMES_POLICIES: &[Field] = &[
    ServicePortName,
    IngressPolicyName,
    IngressPolicyNamespace,
    IngressPolicyType,
    IngressRuleName,
    IngressRuleAction,
    EgressPolicyName,
    EgressPolicyNamespace,
    EgressPolicyType,
    EgressRuleName,
    EgressRuleAction,
];
/// What [`Names::egress`] holds.
pub(super) const NAMES_EGRESS: &[Field] = &[FlowType, EgressName, EgressIp, EgressNodeName];
const ANTREA_TAIL_V4: &[Field] = &[ProxySnatPort, ClusterV4, ProxySnatV4, ServiceV4];
const ANTREA_TAIL_V6: &[Field] = &[ProxySnatPort, ClusterV6, ProxySnatV6, ServiceV6];

/// The runs, each with the fields that it writes. No run begins another.
pub(super) const RUNS: [(&[Field], Step); 14] = [
    (TIMES, Step::Times),
    (TRANSPORT_V4, Step::TransportV4),
    (TRANSPORT_V6, Step::TransportV6),
    (COUNTERS, Step::Counters),
    (KERNEL, Step::Kernel),
    (ANTREA_HEAD, Step::AntreaHead),
    (ENDPOINTS_V4, Step::EndpointsV4),
    (ENDPOINTS_V6, Step::EndpointsV6),
    (ANTREA_REVERSE, Step::AntreaReverse),
    (NAMES_ENDS, Step::NamesEnds),
    (NAMES_POLICIES, Step::NamesPolicies),
    (NAMES_EGRESS, Step::NamesEgress),
    (ANTREA_TAIL_V4, Step::AntreaTailV4),
    (ANTREA_TAIL_V6, Step::AntreaTailV6),
];

/// The steps that write these fields in this order.
pub(super) fn compile(fields: &[Field]) -> Box<[Step]> {
    let mut steps = Vec::with_capacity(fields.len());
    let mut rest = fields;
    while let [first, after @ ..] = rest {
        let run = RUNS
            .iter()
            .find_map(|(run, step)| Some((*step, rest.strip_prefix(*run)?)));
        let (step, after) = run.unwrap_or((Step::One(*first), after));
        steps.push(step);
        rest = after;
    }
    steps.into_boxed_slice()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn known_neighbours_are_one_step_and_any_other_field_is_one() {
        let fields = [
            Mark,
            StartMilliseconds,
            EndMilliseconds,
            EndReason,
            StartMilliseconds,
            EndReason,
        ];
        let expected = [
            Step::One(Mark),
            Step::Times,
            Step::One(StartMilliseconds),
            Step::One(EndReason),
        ];
        assert_eq!(compile(&fields)[..], expected);
    }
}
