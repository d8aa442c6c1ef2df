//! The antrea profile: the 43 elements that Antrea's flow aggregator expects, in its order, one template a family.

use super::field::Field::{self, *};
use super::shape::Family;

/// The fields of one family. The aggregator checks neither order nor count politely: both are its contract.
pub(super) fn fields(family: Family) -> Vec<Field> {
    let mut fields = vec![
        StartSeconds,
        EndSeconds,
        EndReason,
        EndpointSourcePort,
        EndpointPort,
        Protocol,
    ];
    fields.extend([PacketTotal, OctetTotal, PacketDelta, OctetDelta]);
    fields.extend(match family {
        Family::V4 => [SourceV4, EndpointV4],
        Family::V6 => [SourceV6, EndpointV6],
    });
    fields.extend([
        ReversePacketTotal,
        ReverseOctetTotal,
        ReversePacketDelta,
        ReverseOctetDelta,
    ]);
    fields.extend([SourcePodName, SourcePodNamespace, SourceNodeName]);
    fields.extend([
        DestinationPodName,
        DestinationPodNamespace,
        DestinationNodeName,
    ]);
    fields.extend([ServicePort, ServicePortName]);
    fields.extend([
        IngressPolicyName,
        IngressPolicyNamespace,
        IngressPolicyType,
        IngressRuleName,
        IngressRuleAction,
    ]);
    fields.extend([
        EgressPolicyName,
        EgressPolicyNamespace,
        EgressPolicyType,
        EgressRuleName,
        EgressRuleAction,
    ]);
    fields.extend([
        TcpState,
        FlowType,
        EgressName,
        EgressIp,
        EgressNodeName,
        ProxySnatPort,
    ]);
    fields.extend(match family {
        Family::V4 => [ClusterV4, ProxySnatV4, ServiceV4],
        Family::V6 => [ClusterV6, ProxySnatV6, ServiceV6],
    });
    fields
}
